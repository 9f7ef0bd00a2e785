"""Read the content of a changed file without following a link that replaced the file or a parent directory."""

import os
import stat
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # opening a pipe would wait


def text_below(folder: Path, path: Path, max_bytes: int) -> str:
    """Return the text of a regular file; empty if it is gone, too large, not text, or behind a link below `folder`."""
    try:
        with os.fdopen(_open(*_split(folder, path)), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return ""
            content = stream.read(max_bytes + 1)
        return content.decode() if len(content) <= max_bytes else ""
    except (OSError, ValueError):
        return ""


def _split(folder: Path, path: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the part of a path whose links are the operator's, and the names below it, which must not be links."""
    for top in (folder, folder.resolve()):
        if path.is_relative_to(top) and path != top:
            return top, path.relative_to(top).parts
    return path.parent, (path.name,)  # a person named a file that lies elsewhere


def _open(top: Path, names: tuple[str, ...]) -> int:
    here = os.open(top, _FOLDER & ~os.O_NOFOLLOW)
    for name, flags in zip(names, [*[_FOLDER] * (len(names) - 1), _FILE], strict=True):
        try:
            below = os.open(name, flags, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here
