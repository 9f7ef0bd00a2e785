"""Patterns of RE2, which take linear time whatever they are matched with."""

from functools import lru_cache
from typing import Any

# RE2 compiles the costliest pattern of this size in 8 ms, and in 60 ms with its own default of 8 MiB.
_MAX_MEMORY = 1024 * 1024


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """Return a pattern; raises ValueError with what is wrong with it."""
    import re2  # type: ignore[import-untyped]  # it has no annotations

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
