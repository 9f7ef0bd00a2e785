"""The files to watch in a folder: neither ignored by git nor temporary files of editors."""

import re
from contextlib import suppress
from pathlib import Path

from tocsin.core.reading.path_patterns import PathPatterns, is_pattern

IGNORE_FILE = ".gitignore"
_MAX_IGNORE_BYTES = 64 * 1024  # it may be untrusted, and costs processor time
_VERSION_CONTROL = {".git", ".hg", ".svn", ".jj"}
# vim, emacs, JetBrains, GNOME, LibreOffice, nano, Kate, downloads, and our own files that are being replaced.
_TEMPORARY = re.compile(
    r".*~|\..*\.sw[a-z]|4913|\.#.*|#.*#|.*___jb_(?:tmp|old)___|\.goutputstream-\w+|\.~lock\..*#|.*\.(?:tmp|part|crdownload)"
    r"|.*\.kate-swp|\.DS_Store|\.nfs[0-9a-f]{8,}|.*\.(?:tmp|bak)\.\d+",
    re.IGNORECASE,
)


def is_temporary(name: str) -> bool:
    """Whether editors or downloads use the name for temporary files."""
    return bool(_TEMPORARY.fullmatch(name))


class IgnoreRules:
    """The `.gitignore` files of a folder, read when first needed; paths are relative to the folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._specs: dict[str, PathPatterns | None] = {}
        self._directories: dict[str, bool] = {}

    def forget(self) -> None:
        """Read the rules again, because one of the files has changed."""
        self._specs.clear()
        self._directories.clear()

    def ignores(self, path: str) -> bool:
        *above, name = path.split("/")
        if is_temporary(name) or _VERSION_CONTROL.intersection(above):
            return True
        return self.ignores_directory("/".join(above)) or self._decides(path, "/".join(above))

    def ignores_directory(self, path: str) -> bool:
        """Whether a directory is ignored with all of its content, as git does."""
        if not path:
            return False
        if path not in self._directories:
            above = path.rpartition("/")[0]
            self._directories[path] = self.ignores_directory(above) or self._decides(f"{path}/", above)
        return self._directories[path]

    def _decides(self, path: str, above: str) -> bool:
        """Return the decision of the rules in the parent directories; the innermost one that matches wins."""
        parts = above.split("/") if above else []
        decided = False
        for depth in range(len(parts) + 1):
            place = "/".join(parts[:depth])
            spec = self._spec(place)
            if spec is None:
                continue
            include, _ = spec.deciding(path.removeprefix(f"{place}/") if place else path)
            decided = decided if include is None else include
        return decided

    def _spec(self, place: str) -> PathPatterns | None:
        if place not in self._specs:
            files = [self._root / place / IGNORE_FILE]
            files += [] if place else [self._root / ".git" / "info" / "exclude"]
            lines = [line for file in files for line in _lines(file)]
            self._specs[place] = _compiled(lines) if lines else None
        return self._specs[place]


def _lines(file: Path) -> list[str]:
    with suppress(OSError):
        if file.is_file() and file.stat().st_size <= _MAX_IGNORE_BYTES:
            return file.read_text("utf-8", "replace").splitlines()
    return []


def _compiled(lines: list[str]) -> PathPatterns | None:
    """Return the compiled rules; invalid lines are skipped, as in git, and so are rules beyond the limit."""
    for taken in (lambda _: True, is_pattern):
        with suppress(ValueError):
            return PathPatterns(filter(taken, lines))
    return None
