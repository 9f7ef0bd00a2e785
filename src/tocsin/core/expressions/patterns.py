"""RE2 patterns, which match in linear time."""

from functools import lru_cache
from typing import Any

# RE2 compiles the costliest pattern of this size in 8 ms; with its default of 8 MiB, in 60 ms.
_MAX_MEMORY = 1024 * 1024


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern; raise ValueError with the reason if it is invalid."""
    import re2  # type: ignore[import-untyped]  # it has no type hints

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ValueError(f"{_shown(pattern)} is not a valid pattern: {reason}") from None


def _shown(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 200 else f"{pattern[:200]}…")
