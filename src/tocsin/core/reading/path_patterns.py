"""Patterns as in `.gitignore`; untrusted patterns and file names cannot cause errors or slow matching.

Matching takes linear time, because the library uses RE2, which is installed.
"""

import re
from collections.abc import Iterable
from functools import lru_cache


class PathPatterns:
    """Ordered patterns; the last one that matches a path decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Compile the patterns; raise ValueError for an invalid one, and if they exceed the memory limit of RE2."""
        import pathspec
        import re2  # type: ignore[import-untyped]  # it has no type hints

        try:
            self._spec = pathspec.GitIgnoreSpec.from_lines(lines)
        except (ValueError, re.error, re2.error, RecursionError, OverflowError):
            raise ValueError("not a valid .gitignore pattern") from None

    def deciding(self, path: str) -> tuple[bool | None, int | None]:
        """Return whether a path is included, `None` if no pattern matches it, and the index of the deciding pattern."""
        # A name may have any bytes, but RE2 accepts only UTF-8.
        found = self._spec.check_file(path.encode(errors="surrogateescape").decode(errors="replace"))
        return found.include, found.index

    def take(self, path: str) -> bool:
        return bool(self.deciding(path)[0])


@lru_cache(maxsize=256)  # a folder is matched file by file
def compiled_patterns(lines: tuple[str, ...]) -> PathPatterns:
    """Return compiled patterns from a cache; raise ValueError for an invalid one."""
    return PathPatterns(lines)


def is_pattern(line: str) -> bool:
    """Whether a line is a valid pattern."""
    try:
        PathPatterns([line])
    except ValueError:
        return False
    return True
