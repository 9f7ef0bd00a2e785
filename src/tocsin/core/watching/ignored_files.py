"""Which files of a folder count: not those that git ignores, and not the temporary files of editors."""

import re
from contextlib import suppress
from pathlib import Path

from tocsin.core.reading.path_patterns import PathPatterns, is_pattern

IGNORE_FILE = ".gitignore"
_MAX_IGNORE_BYTES = 64 * 1024  # a stranger may have written it, and it costs processor time
_VERSION_CONTROL = {".git", ".hg", ".svn", ".jj"}
# vim, emacs, JetBrains, GNOME, LibreOffice, nano, Kate, downloads, and our own files that are being replaced.
_TEMPORARY = re.compile(
    r".*~|\..*\.sw[a-z]|4913|\.#.*|#.*#|.*___jb_(?:tmp|old)___|\.goutputstream-\w+|\.~lock\..*#|.*\.(?:tmp|part|crdownload)"
    r"|.*\.kate-swp|\.DS_Store|\.nfs[0-9a-f]{8,}|.*\.(?:tmp|bak)\.\d+",
    re.IGNORECASE,
)


def is_temporary(name: str) -> bool:
    """Whether an editor or a download makes files of that name and takes them away again."""
    return bool(_TEMPORARY.fullmatch(name))


class IgnoreRules:
    """The `.gitignore` files of a folder, read when they are first needed; paths start at the folder."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._specs: dict[str, PathPatterns | None] = {}
        self._directories: dict[str, bool] = {}

    def forget(self) -> None:
        """Read the rules anew: one of the files has changed."""
        self._specs.clear()
        self._directories.clear()

    def ignores(self, path: str) -> bool:
        """Whether a file does not count."""
        *above, name = path.split("/")
        if is_temporary(name) or _VERSION_CONTROL.intersection(above):
            return True
        return self.ignores_directory("/".join(above)) or self._decides(path, "/".join(above))

    def ignores_directory(self, path: str) -> bool:
        """Whether a directory is left out, and all that is in it: git does not look into it."""
        if not path:
            return False
        if path not in self._directories:
            above = path.rpartition("/")[0]
            self._directories[path] = self.ignores_directory(above) or self._decides(f"{path}/", above)
        return self._directories[path]

    def _decides(self, path: str, above: str) -> bool:
        """Return what the rules of the directories above say; the innermost one that says something wins."""
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
    """Return the rules; a line that is not a pattern is left out, as git does, and so are more than can be matched."""
    for taken in (lambda _: True, is_pattern):
        with suppress(ValueError):
            return PathPatterns(filter(taken, lines))
    return None
