"""Patterns of RE2, which take linear time whatever they are matched with."""

from functools import lru_cache
from typing import Any


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """Return a pattern; raises ValueError with what is wrong with it."""
    import re2  # type: ignore[import-untyped]  # it has no annotations

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ValueError(f"{pattern!r} is not a pattern: {reason}") from None
