"""Watch a folder: what was created, changed, deleted or renamed in it, and what was committed.

The kernel tells what was touched; what became of it is found by looking: editors write beside a file and rename, so
the single events say little. An index, kept as hashes, of names and of what a renaming leaves as it is (inode, size,
time) tells a new file from a changed one and a renamed one from both.
"""

import asyncio
import errno
import logging
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tocsin.core.errors import ConfigError
from tocsin.core.watching.commit_log import CommitLog
from tocsin.core.watching.ignored_files import IGNORE_FILE, IgnoreRules, is_temporary

log = logging.getLogger(__name__)

# Changes are told when there was none for STEP_MS, and at the latest after DEBOUNCE_MS.
STEP_MS, DEBOUNCE_MS = 50, 200
POLL_MS = 1000
# Where changes are made on other machines, this one's kernel does not tell them.
_REMOTE = {
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "9p",
    "afs",
    "ceph",
    "glusterfs",
    "lustre",
    "vboxsf",
    "prl_fs",
    "fuse.sshfs",
}


class ChangeKind(StrEnum):
    """What happened to a file."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    MOVED = "moved"
    COMMITTED = "committed"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One change; paths start at the watched folder, with `/` between names."""

    folder: Path
    kind: ChangeKind
    path: str  # empty for a commit
    old_path: str = ""  # of a moved file
    commit: str = ""
    subject: str = ""  # the first line of the message of a commit


class FolderWatcher:
    """Tells the changes of one folder, in batches."""

    def __init__(self, folder: Path, *, poll: bool | None = None, ignore: bool = True) -> None:
        """`poll` looks again and again instead of asking the kernel; `None` decides by the file system.

        `ignore` leaves out what git ignores; temporary files of editors are left out anyway.
        """
        self.folder = Path(os.path.realpath(folder))
        self.polls = _is_remote(self.folder) if poll is None else poll
        self.ready = asyncio.Event()  # set when changes are seen from now on
        self._rules = IgnoreRules(self.folder) if ignore else None
        self._index: dict[int, int] = {}  # by the hash of a path: the hash of `_identity`
        self._commits = CommitLog(self.folder)

    async def changes(self, stop: asyncio.Event | None = None) -> AsyncGenerator[tuple[FileChange, ...]]:
        """Yield what changed until `stop` is set; raises ConfigError for a folder that cannot be watched."""
        if not self.folder.is_dir():
            raise ConfigError(f"{self.folder} is not a folder", hint="name a folder that is there")
        # The kernel is asked before the index is made: what changes meanwhile is seen twice, not never.
        touched = self._touched(stop or asyncio.Event())
        try:
            async for paths in touched:
                found = await asyncio.to_thread(self._judge, paths)
                if found:
                    yield found
        finally:
            await touched.aclose()

    async def _touched(self, stop: asyncio.Event) -> AsyncGenerator[frozenset[str]]:
        while not stop.is_set():
            try:
                async for paths in self._watch(stop):
                    yield paths
                return
            except OSError as error:
                if self.polls or error.errno not in {errno.ENOSPC, errno.EMFILE, errno.ENOSYS, None}:
                    raise ConfigError(f"{self.folder} cannot be watched: {error}", hint="check its rights") from None
                log.warning("a folder is polled", extra={"folder": str(self.folder), "reason": str(error)})
                self.polls = True

    async def _watch(self, stop: asyncio.Event) -> AsyncIterator[frozenset[str]]:
        import watchfiles

        places = [self.folder, *self._commits.outside()]
        watching = watchfiles.awatch(
            *places,
            watch_filter=None,
            stop_event=stop,
            debounce=DEBOUNCE_MS,
            step=STEP_MS,
            force_polling=self.polls,
            poll_delay_ms=POLL_MS,
            ignore_permission_denied=True,
        )
        coming = asyncio.ensure_future(anext(watching, None))
        try:
            await asyncio.sleep(0)  # by now the kernel is asked: what changes from here on is told
            if not coming.done():
                await asyncio.to_thread(self._take_stock)
                self.ready.set()
            while (found := await coming) is not None:
                coming = asyncio.ensure_future(anext(watching, None))
                yield frozenset(path for _, path in found)
        finally:
            coming.cancel()
            with suppress(asyncio.CancelledError):
                await coming
            await watching.aclose()

    def _take_stock(self) -> None:
        """Make the index, and note where the log of commits ends."""
        self._commits.skip()
        for path, identity in self._files(""):
            self._index[hash(path)] = identity

    def _files(self, below: str) -> Iterator[tuple[str, int]]:
        """Yield the files below a directory that count, with their identities."""
        waiting = [below]
        while waiting:
            place = waiting.pop()
            with suppress(OSError), os.scandir(self.folder / place) as entries:
                for entry in entries:
                    path = f"{place}/{entry.name}" if place else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if not self._ignores_below(path):
                            waiting.append(path)
                    elif entry.is_file(follow_symlinks=False) and not self._ignores(path):
                        yield path, _identity(entry.stat(follow_symlinks=False))

    def _ignores(self, path: str) -> bool:
        return self._rules.ignores(path) if self._rules else is_temporary(path.rpartition("/")[2])

    def _ignores_below(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        return name == ".git" or (self._rules is not None and self._rules.ignores_directory(path))

    def _judge(self, touched: Iterable[str]) -> tuple[FileChange, ...]:
        """Return what became of the paths that were touched."""
        names = set[str]()
        is_committed = False
        for path in touched:
            relative = self._relative(path)
            is_committed |= self._commits.may_have_grown(path)
            if relative and not relative.startswith(".git/"):
                names.add(relative)
        if self._rules and any(name.rpartition("/")[2] == IGNORE_FILE for name in names):
            self._rules.forget()
        found = [*self._files_changed(names)]
        if is_committed:
            found += [
                FileChange(self.folder, ChangeKind.COMMITTED, "", commit=commit.id, subject=commit.subject)
                for commit in self._commits.new()
            ]
        return tuple(found)

    def _files_changed(self, names: set[str]) -> Iterator[FileChange]:
        present, gone = dict[str, int](), dict[str, int]()
        directories = list[str]()
        for name in names:
            identity, is_directory = _look(self.folder / name)
            if is_directory:
                directories.append(name)
                present.update(self._files(name) if not self._ignores_below(name) else ())
            elif identity and not self._ignores(name):
                present[name] = identity
            elif hash(name) in self._index:
                gone[name] = self._index.pop(hash(name))
        vanished = [name for name in names if name not in gone and name not in present and name not in directories]
        old_names = {identity: name for name, identity in gone.items()}
        for path, identity in sorted(present.items()):
            known = self._index.get(hash(path))
            self._index[hash(path)] = identity
            old = old_names.pop(identity, "") or self._moved_with(path, identity, directories, vanished)
            if old:
                yield FileChange(self.folder, ChangeKind.MOVED, path, old)
            elif known is None:
                yield FileChange(self.folder, ChangeKind.CREATED, path)
            elif path in names:
                yield FileChange(self.folder, ChangeKind.MODIFIED, path)
        for path in sorted(old_names.values()):
            yield FileChange(self.folder, ChangeKind.DELETED, path)

    def _moved_with(self, path: str, identity: int, directories: Iterable[str], vanished: Iterable[str]) -> str:
        """Return where a file was before its directory was renamed."""
        for directory in directories:
            rest = path.removeprefix(f"{directory}/")
            for place in vanished if rest != path else ():
                if self._index.get(hash(f"{place}/{rest}")) == identity:
                    del self._index[hash(f"{place}/{rest}")]
                    return f"{place}/{rest}"
        return ""

    def _relative(self, path: str) -> str:
        """Return a path from the folder; empty for the folder itself and for what lies elsewhere."""
        top = f"{self.folder}/"
        return path.removeprefix(top) if path.startswith(top) else ""


def _look(path: Path) -> tuple[int, bool]:
    """Return the identity of a regular file, 0 where there is none, and whether it is a directory."""
    with suppress(OSError):
        found = path.lstat()
        return _identity(found) if stat.S_ISREG(found.st_mode) else 0, stat.S_ISDIR(found.st_mode)
    return 0, False


def _identity(found: os.stat_result) -> int:
    """Return what a renaming leaves as it is; the inode alone is given to the next file as soon as one is deleted."""
    return hash((found.st_ino, found.st_size, found.st_mtime_ns)) or 1


def _is_remote(folder: Path) -> bool:
    """Whether the folder lies on a file system of another machine."""
    best, kind = "", ""
    with suppress(OSError):
        for line in Path("/proc/mounts").read_text("utf-8", "replace").splitlines():
            _, place, found, *_ = line.split(" ")
            place = place.replace("\\040", " ")
            if (folder == Path(place) or Path(place) in folder.parents) and len(place) >= len(best):
                best, kind = place, found
    return kind in _REMOTE
