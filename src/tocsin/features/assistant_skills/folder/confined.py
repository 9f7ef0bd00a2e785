"""A folder that is opened once and never left: what skills read and list starts there.

Every name of a path is opened from the directory before it, without following links, so no symbolic link, `..` or
renamed directory leads out, also if the folder changes meanwhile.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from tocsin.core.errors import TocsinError

MAX_FILE_BYTES = 1024 * 1024
MAX_DEPTH = 64
MAX_ENTRIES = 100_000
# Credentials of remotes stand in .git, and its hooks are programs.
CLOSED = ".git"

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: it may be a pipe.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class ConfinementError(TocsinError):
    """A path leads out of the folder, or to something that is not a file in it."""

    code = "confined"


class ConfinedFolder:
    """One folder; use it in a `with` block."""

    def __init__(self, path: Path) -> None:
        """Open the folder; raises ConfinementError."""
        self.path = path
        try:
            self._top = os.open(path, _DIRECTORY & ~os.O_NOFOLLOW)
        except OSError as error:
            raise ConfinementError(f"cannot open {path}: {error.strerror}", hint="check the folder") from None

    def __enter__(self) -> "ConfinedFolder":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        os.close(self._top)

    def read(self, path: str, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        """Return the content of a regular file; raises ConfinementError, also for one that is too large."""
        with self._open_file(path) as (descriptor, found):
            if found.st_size > max_bytes:
                raise ConfinementError(f"{path} is larger than {max_bytes:,} bytes", hint="larger files are not read")
            content = _read_whole(descriptor, max_bytes)
        if len(content) > max_bytes:
            raise ConfinementError(
                f"{path} grew beyond {max_bytes:,} bytes during reading", hint="larger files are not read"
            )
        return content

    def stamp(self, path: str) -> tuple[int, int, int]:
        """Return inode, size and time of a file, which change with it; raises ConfinementError."""
        with self._open_file(path) as (_, found):
            return found.st_ino, found.st_size, found.st_mtime_ns

    def files(self, below: str = "") -> Iterator[str]:
        """Yield the regular files below a directory, sorted, without `.git` and names that are not UTF-8."""
        parts = parts_of(below) if below else ()
        descriptor = self._open_directory(parts, below)
        yield from _walk(descriptor, "/".join(parts), len(parts), [MAX_ENTRIES])

    def is_directory(self, path: str) -> bool:
        """Whether a directory is there that can be entered."""
        with suppress(ConfinementError):
            os.close(self._open_directory(parts_of(path), path))
            return True
        return False

    def is_free(self, path: str) -> bool:
        """Whether nothing stands there, and a file could be made without following a link."""
        here = os.dup(self._top)
        *above, name = parts_of(path)
        try:
            for part in above:
                below = os.open(part, _DIRECTORY, dir_fd=here)
                os.close(here)
                here = below
            os.stat(name, dir_fd=here, follow_symlinks=False)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        finally:
            os.close(here)
        return False

    def replace(self, path: str, content: bytes) -> None:
        """Replace a file by a new one; raises ConfinementError.

        Missing directories are made. A hard link elsewhere keeps the old content.
        """
        *above, name = parts_of(path)
        here = self._open_directory(tuple(above), path, make=True)
        temporary = f".tocsin-{os.urandom(8).hex()}.tmp"
        try:
            mode = _mode_of(here, name, path)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=here), "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fchmod(stream.fileno(), mode)
                os.fsync(stream.fileno())
            os.rename(temporary, name, src_dir_fd=here, dst_dir_fd=here)
        except OSError as error:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=here)
            raise _refused(path, error) from None
        finally:
            os.close(here)

    def _open_file(self, path: str) -> "_OpenFile":
        *above, name = parts_of(path)
        here = self._open_directory(tuple(above), path)
        try:
            return _OpenFile(os.open(name, _FILE, dir_fd=here), path)
        except OSError as error:
            raise _refused(path, error) from None
        finally:
            os.close(here)

    def _open_directory(self, parts: tuple[str, ...], path: str, *, make: bool = False) -> int:
        here = os.dup(self._top)
        for name in parts:
            try:
                below = _enter(here, name, make=make)
            except OSError as error:
                raise _refused(path, error) from None
            finally:
                os.close(here)
            here = below
        return here


class _OpenFile:
    """A regular file that is open during a `with` block."""

    def __init__(self, descriptor: int, path: str) -> None:
        self._descriptor = descriptor
        self._found = os.fstat(descriptor)
        if not stat.S_ISREG(self._found.st_mode):
            os.close(descriptor)
            raise ConfinementError(f"{path} is not a regular file", hint="only regular files are read")

    def __enter__(self) -> tuple[int, os.stat_result]:
        return self._descriptor, self._found

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        os.close(self._descriptor)


def parts_of(path: str) -> tuple[str, ...]:
    """Return the names of a relative path; raises ConfinementError for one that is none or leads out."""
    if not path or "\0" in path or path.startswith(("/", "~")):
        raise ConfinementError(
            f"{path[:100]!r} is not a path in the folder", hint="use a path relative to the watched folder"
        )
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    if (
        not parts
        or ".." in parts
        or len(parts) > MAX_DEPTH
        or any(len(part.encode(errors="replace")) > 255 for part in parts)
    ):
        raise ConfinementError(f"{path[:100]!r} is outside the folder", hint="use a path inside the watched folder")
    if not _is_text(path):
        raise ConfinementError(f"{path[:100]!r} is not valid UTF-8", hint="rename it")
    if any(_is_closed(part) for part in parts):
        raise ConfinementError(
            f"skills cannot access {path[:100]!r}", hint=f"{CLOSED} contains credentials and programs"
        )
    return parts


def _is_text(name: str) -> bool:
    """Whether a name can be stored and shown to a model."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_closed(name: str) -> bool:
    # Some file systems take other spellings for the same name, and drop characters that are not shown.
    plain = "".join(character for character in name if character.isprintable()).casefold().rstrip(". ")
    return plain == CLOSED or plain.startswith("git~")


def _enter(here: int, name: str, *, make: bool) -> int:
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, 0o755, dir_fd=here)
    return os.open(name, _DIRECTORY, dir_fd=here)


def _walk(here: int, prefix: str, depth: int, left: list[int]) -> Iterator[str]:
    """Yield the files below an open directory, which is closed at the end."""
    try:
        with os.scandir(here) as found:
            entries = sorted(
                (entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False))
                for entry in found
                if _is_text(entry.name)
            )
        for name, is_directory, is_file in entries:
            left[0] -= 1
            if left[0] < 0:
                return
            path = f"{prefix}/{name}" if prefix else name
            if is_file:
                yield path
            elif is_directory and depth < MAX_DEPTH and not _is_closed(name):
                with suppress(OSError):
                    yield from _walk(os.open(name, _DIRECTORY, dir_fd=here), path, depth + 1, left)
    finally:
        os.close(here)


def _read_whole(descriptor: int, max_bytes: int) -> bytes:
    pieces, size = [], 0
    while size <= max_bytes and (piece := os.read(descriptor, min(65536, max_bytes + 1 - size))):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _mode_of(here: int, name: str, path: str) -> int:
    """Return the rights that a file has, for its new content; those of a new one are 644. Never set-uid."""
    try:
        found = os.stat(name, dir_fd=here, follow_symlinks=False)
    except FileNotFoundError:
        return 0o644
    if not stat.S_ISREG(found.st_mode):
        raise ConfinementError(f"{path} is not a regular file", hint="only regular files are written")
    return stat.S_IMODE(found.st_mode) & 0o777


def _refused(path: str, error: OSError) -> ConfinementError:
    if error.errno in {errno.ELOOP, errno.EMLINK}:
        return ConfinementError(f"{path} is a symbolic link", hint="symbolic links are not followed")
    if error.errno == errno.ENOTDIR:
        return ConfinementError(f"{path} contains a link, or a component that is not a directory")
    return ConfinementError(f"cannot open {path}: {error.strerror}")
