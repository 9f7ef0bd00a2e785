"""The home directory of a sandboxed skill: its size is limited while it runs, and the next run finds what is in it.

With bubblewrap a run works on a copy in memory. When it ends, the files that it changed replace those of the kept
directory, and those that it deleted are deleted there. Of two runs at the same time, both changes are kept; of one
file, the later one. Without bubblewrap a run works in the kept directory, which is measured again and again.
"""

import asyncio
import fcntl
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from tocsin.core.errors import ConfigError, ProcessError
from tocsin.core.ids import new_id
from tocsin.core.process.sandbox import Level, ResourceLimits, WritableFolders
from tocsin.core.storage.files import make_directory
from tocsin.core.tasks import to_the_end
from tocsin.features.skills.snapshot import DIRECTORY, MAX_DEPTH, drop_set_uid, tidy_below

_PAGE = 4096
_MIB = 1024**2
_CHUNK = 1024**2
_CHANGES = ("st_ino", "st_mode", "st_size", "st_mtime_ns", "st_ctime_ns")

Entries = Mapping[str, os.stat_result]  # by path below the directory


class _TooMuchError(ConfigError):
    """A directory holds more than a skill may keep."""


class SkillHome:
    """The home directory of one run."""

    def __init__(self, kept: Path, limits: ResourceLimits, level: Level) -> None:
        """Create the stored directory; raises ConfigError if it exceeds the limit already, or cannot be used."""
        self.path = kept
        self._limits = limits
        self._folders = WritableFolders(kept, limits) if level is Level.BUBBLEWRAP else None
        self._before: Entries = {}  # what the run began with
        try:
            make_directory(kept)
            drop_set_uid(kept)
            reason = self._measure()
        except OSError as error:
            raise ConfigError(f"cannot use {kept}: {error.strerror}", hint="check its permissions") from None
        if reason:
            hint = "delete there what the skill does not need, or raise SKILL_HOME_MIB"
            raise ConfigError(f"{reason} in {kept}", hint=hint)

    async def attach(self, pid: int) -> None:
        """Copy the stored files into the home directory of a program that is about to start."""
        if self._folders is not None:
            await self._folders.open(pid)
            await to_the_end(asyncio.to_thread(self._fill))

    def excess(self) -> str:
        """Return which limit the program has reached, or `""`. Blocks."""
        if self._folders is not None:
            return self._folders.excess()
        with suppress(OSError):  # a program without bubblewrap may close or delete anything
            return self._measure()
        return ""

    def settle(self) -> str:
        """Keep what the run left, unless it reached a limit; return why that was not done, or `""`. Blocks."""
        if self._folders is None:
            with suppress(OSError):
                drop_set_uid(self.path)
            return ""
        try:
            return self.excess() or self._keep()
        except (OSError, ConfigError) as error:
            return f"the changes to its home directory could not be stored: {error}"
        finally:
            self._folders.close()

    def _measure(self) -> str:
        try:
            with _locked(self.path, fcntl.LOCK_SH) as kept:
                self._check(_entries(kept))
        except _TooMuchError as error:
            return str(error)
        return ""

    def _check(self, entries: Entries) -> None:
        """Raise _TooMuchError if the files do not fit into the directory in memory, where they take whole pages."""
        if len(entries) > self._limits.writable_files:
            raise _TooMuchError(f"it has more than {self._limits.writable_files:,} files")
        used = sum(-(-entry.st_size // _PAGE) * _PAGE for entry in entries.values() if stat.S_ISREG(entry.st_mode))
        if used > self._limits.home_bytes:
            raise _TooMuchError(f"it has more than {self._limits.home_bytes // _MIB} MiB")

    def _fill(self) -> None:
        if self._folders is None or (home := self._folders.home) is None:
            return
        try:
            with _locked(self.path, fcntl.LOCK_SH) as kept:
                _copy(kept, home, lambda _: True, self._limits.home_bytes)
        except (OSError, ConfigError) as error:
            raise ProcessError(f"cannot copy {self.path}: {error}") from None
        self._before = _entries(home)

    def _keep(self) -> str:
        if self._folders is None or (home := self._folders.home) is None:
            return ""
        tidy_below(home)
        after = _entries(home)
        changed = {path for path, entry in after.items() if _differ(entry, self._before.get(path))}
        gone = {
            path: entry
            for path, entry in self._before.items()
            if path not in after or stat.S_IFMT(entry.st_mode) != stat.S_IFMT(after[path].st_mode)
        }
        if not changed and not gone:
            return ""
        with _locked(self.path, fcntl.LOCK_EX) as kept:
            staying = {path: entry for path, entry in _entries(kept).items() if path not in gone}
            self._check(staying | {path: after[path] for path in changed})
            for path in sorted(gone, reverse=True):  # what is in a directory goes before it
                _remove(kept, path, gone[path])
            _copy(home, kept, changed.__contains__, self._limits.home_bytes)
        return ""


@contextmanager
def _locked(folder: Path, kind: int) -> Iterator[int]:
    """Open a directory for one run at a time, or for many that read."""
    descriptor = os.open(folder, DIRECTORY)
    try:
        fcntl.flock(descriptor, kind)
        yield descriptor
    finally:
        os.close(descriptor)


def _entries(top: int) -> Entries:
    """Return all that is below a directory; raises OSError, and _TooMuchError where it is too deep."""
    found: dict[str, os.stat_result] = {}
    for place, names, here in _walk(top):
        for name in names:
            with suppress(FileNotFoundError):
                found[os.path.normpath(f"{place}/{name}")] = os.stat(name, dir_fd=here, follow_symlinks=False)
    return found


def _walk(top: int) -> Iterator[tuple[str, list[str], int]]:
    """Yield each directory below `top`, the names in it and its descriptor; links are not followed."""
    for place, directories, files, here in os.fwalk(".", dir_fd=top, onerror=_fail):
        if place.count("/") > MAX_DEPTH:
            raise _TooMuchError(f"it has more than {MAX_DEPTH} levels")
        yield place, [*directories, *files], here


def _fail(error: OSError) -> None:
    raise error


def _differ(entry: os.stat_result, before: os.stat_result | None) -> bool:
    if before is None or stat.S_IFMT(entry.st_mode) != stat.S_IFMT(before.st_mode):
        return True
    is_file = not stat.S_ISDIR(entry.st_mode)
    return is_file and any(getattr(entry, name) != getattr(before, name) for name in _CHANGES)


def _copy(source: int, target: int, wanted: Callable[[str], bool], left: int) -> None:
    """Copy files, directories and links below `source`, of at most `left` bytes; no link is followed on either side.

    Programs of the run may still change `source`.
    """
    for place, names, here in _walk(source):
        copied = [name for name in names if wanted(os.path.normpath(f"{place}/{name}"))]
        if not copied:
            continue
        there = _descend(target, place)
        try:
            for name in copied:
                left -= _copy_one(name, here, there, left)
        finally:
            os.close(there)


def _descend(top: int, folder: str, *, make: bool = True) -> int:
    """Open a directory below `top`, which the caller closes."""
    here = os.dup(top)
    for part in PurePath(folder).parts:
        try:
            if make:
                _make(part, here)
            below = os.open(part, DIRECTORY, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def _make(name: str, here: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=here)


def _copy_one(name: str, here: int, there: int, left: int) -> int:
    """Copy a file, folder or link, and return its size; pipes, sockets and devices are skipped."""
    mode, new = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode, f".{new_id()}"
    if stat.S_ISDIR(mode):
        _make(name, there)
        return 0
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(name, dir_fd=here), new, dir_fd=there)
        os.rename(new, name, src_dir_fd=there, dst_dir_fd=there)
        return 0
    if not stat.S_ISREG(mode):
        return 0
    source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=here)
    try:
        size = _write(source, new, there, left)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(new, dir_fd=there)
        raise
    finally:
        os.close(source)
    os.rename(new, name, src_dir_fd=there, dst_dir_fd=there)
    return size


def _write(source: int, new: str, there: int, left: int) -> int:
    found, size = os.fstat(source), 0
    target = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=there)
    try:
        while content := os.read(source, _CHUNK):
            size += len(content)
            if size > left:
                raise _TooMuchError("it exceeds the size limit")
            os.write(target, content)
        os.fchmod(target, stat.S_IMODE(found.st_mode) & 0o777 | stat.S_IRUSR | stat.S_IWUSR)
        os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
    finally:
        os.close(target)
    return size


def _remove(top: int, path: str, entry: os.stat_result) -> None:
    """Delete a file, or a directory that is empty; another run may have done so, or put something into it."""
    folder, name = os.path.split(path)
    with suppress(OSError):
        here = _descend(top, folder, make=False)
        try:
            (os.rmdir if stat.S_ISDIR(entry.st_mode) else os.unlink)(name, dir_fd=here)
        finally:
            os.close(here)
