"""Patterns as in `.gitignore`: what strangers write as patterns or names of files is refused or matched, and no more.

Matching takes linear time, because the library finds RE2 installed.
"""

import re
from collections.abc import Iterable
from functools import lru_cache


class PathPatterns:
    """Patterns in their order; the last one that matches a path decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Raises ValueError for an invalid pattern, and if they do not fit into the memory of RE2."""
        import pathspec
        import re2  # type: ignore[import-untyped]  # it has no types

        try:
            self._spec = pathspec.GitIgnoreSpec.from_lines(lines)
        except (ValueError, re.error, re2.error, RecursionError, OverflowError):
            raise ValueError("not a valid .gitignore pattern") from None

    def deciding(self, path: str) -> tuple[bool | None, int | None]:
        """Return whether a path is taken, None where no pattern matches it, and which pattern says so."""
        # A name may have any bytes, and RE2 takes only UTF-8.
        found = self._spec.check_file(path.encode(errors="surrogateescape").decode(errors="replace"))
        return found.include, found.index

    def take(self, path: str) -> bool:
        """Whether a path is taken."""
        return bool(self.deciding(path)[0])


@lru_cache(maxsize=256)  # a folder is matched file by file
def compiled_patterns(lines: tuple[str, ...]) -> PathPatterns:
    """Return patterns that were valid before."""
    return PathPatterns(lines)


def is_pattern(line: str) -> bool:
    """Whether this is a pattern."""
    try:
        PathPatterns([line])
    except ValueError:
        return False
    return True
