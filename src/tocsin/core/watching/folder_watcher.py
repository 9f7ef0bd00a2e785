"""Watch a folder: what was created, changed, deleted or renamed in it, and what was committed.

The kernel tells what was touched; what became of it is found by looking: editors write beside a file and rename, so
the single events say little. An index of names and of what a renaming leaves as it is (inode, size, time) tells a new
file from a changed one and a renamed one from both. Where the kernel has lost events, or a folder was away, the whole
folder is compared with the index: nothing that is still to be seen is missed.
"""

import asyncio
import logging
import os
import stat
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TypeVar

from tocsin.core.errors import ConfigError
from tocsin.core.watching.commit_log import CommitLog
from tocsin.core.watching.file_index import FileIndex, identity_of_version
from tocsin.core.watching.ignored_files import IGNORE_FILE, IgnoreRules, is_temporary
from tocsin.core.watching.inotify import InotifySource
from tocsin.core.watching.sources import PollingSource, WatchfilesSource
from tocsin.core.watching.touched import ChangeSource, TouchedPaths, WatchBackend, WatchLimitError

log = logging.getLogger(__name__)

T = TypeVar("T")

CHECK_S = 1.0  # how soon it is noticed that the folder itself is gone, or there again
_HAS_INOTIFY = os.uname().sysname == "Linux"
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


class _FolderReturnedError(Exception):
    """The folder is there again, or another one stands in its place."""


class FolderWatcher:
    """Tells the changes of one folder, in batches."""

    def __init__(self, folder: Path, *, poll: bool | None = None, ignore: bool = True, recursive: bool = True) -> None:
        """`poll` looks again and again instead of asking the kernel; `None` decides by the file system.

        `ignore` leaves out what git ignores; temporary files of editors are left out anyway. Without `recursive`,
        the folders below are no part of it.
        """
        self.folder = Path(os.path.realpath(folder))
        self.ready = asyncio.Event()  # set when changes are seen from now on
        self.reason = ""  # why the folder is polled though the kernel was asked, with what to do
        self.problem = ""  # why nothing is seen at present
        self._polls = _is_remote(self.folder) if poll is None else poll
        self._recursive = recursive
        self._rules = IgnoreRules(self.folder) if ignore else None
        self._index = FileIndex()
        self._commits = CommitLog(self.folder)
        self._source: ChangeSource = PollingSource()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="watch")
        self._root = (0, 0)  # device and inode of the folder

    @property
    def backend(self) -> WatchBackend:
        """How changes are noticed."""
        if self._polls:
            return WatchBackend.POLLING
        return WatchBackend.INOTIFY if _HAS_INOTIFY else WatchBackend.FSEVENTS

    async def changes(self, stop: asyncio.Event | None = None) -> AsyncGenerator[tuple[FileChange, ...]]:
        """Yield what changed until `stop` is set; raises ConfigError for a folder that cannot be watched.

        A folder that goes away is waited for: files that are missing when it returns count as deleted only then.
        """
        stop = stop or asyncio.Event()
        try:
            await self._in_thread(partial(_refuse_unreadable, self.folder))
            await self._open()
            await self._seen(self._take_stock)
            self.ready.set()
            while await self._next(stop):
                try:
                    found = await self._seen(self._look)
                except _FolderReturnedError:
                    await self._open()
                    found = await self._seen(self._look_at_all)
                if found:
                    yield found
        finally:
            await self._source.aclose()
            self._thread.shutdown(wait=False)

    async def _open(self) -> None:
        """Ask the kernel anew, if it may be asked."""
        await self._source.aclose()
        self._source = PollingSource()
        if self._polls:
            return
        try:
            self._source = self._ask_kernel()
            await asyncio.sleep(0)  # a source that works in a task has begun by now
        except WatchLimitError as error:
            self._poll_because(error)

    def _ask_kernel(self) -> ChangeSource:
        if _HAS_INOTIFY:
            return InotifySource()
        source = WatchfilesSource([self.folder, *self._commits.outside()], recursive=self._recursive)
        source.start()
        return source

    async def _seen(self, look: Callable[[], tuple[FileChange, ...]]) -> tuple[FileChange, ...]:
        """Return what is found in a thread; where the kernel watches no more directories, by polling."""
        try:
            return await self._in_thread(look)
        except WatchLimitError as error:
            self._poll_because(error)
            await self._open()
            # What was found and not told yet is in no index: it is found again.
            return await self._in_thread(look if look == self._take_stock else self._look_at_all)

    async def _in_thread(self, look: Callable[[], T]) -> T:
        """Look in a thread of its own: a network that hangs stops nothing else."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, look)

    def _poll_because(self, error: WatchLimitError) -> None:
        log.warning("a folder is watched by polling", extra={"folder": str(self.folder), "reason": error.sentence()})
        self._polls, self.reason = True, error.sentence()

    async def _next(self, stop: asyncio.Event) -> bool:
        """Wait until there may be something to see; return False when it is time to stop."""
        coming, stopped = asyncio.ensure_future(self._source.wait()), asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait((coming, stopped), timeout=CHECK_S, return_when=asyncio.FIRST_COMPLETED)
            # A group that has begun is waited for: to cut it in two would part the halves of a renaming.
            while not (coming.done() or stopped.done()) and not await self._in_thread(self._root_has_changed):
                await asyncio.wait((coming, stopped), timeout=CHECK_S, return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                coming.result()
            return not stop.is_set()
        finally:
            for task in (coming, stopped):
                task.cancel()
            await asyncio.wait((coming, stopped))

    def _root_has_changed(self) -> bool:
        return bool(self.problem) or self._identify() != self._root

    def _identify(self) -> tuple[int, int]:
        """Return device and inode of the folder; (0, 0) where it is not there."""
        with suppress(OSError):
            found = self.folder.stat()
            if stat.S_ISDIR(found.st_mode):
                return found.st_dev, found.st_ino
        return 0, 0

    def _take_stock(self) -> tuple[FileChange, ...]:
        """Make the index, and note where the log of commits ends."""
        self._root = self._identify()
        self._commits.skip()
        self._enter_commits()
        for path, identity in self._files(""):
            self._index.put(path, identity)
        return ()

    def _look(self) -> tuple[FileChange, ...]:
        """Return what became of what was touched; raises _FolderReturnedError, WatchLimitError."""
        touched = self._source.collect()
        root = self._identify()
        if root == (0, 0) or (root[0] != self._root[0] and _is_empty(self.folder)):
            # An empty folder on another device is where a file system was mounted.
            if not self.problem:
                log.warning("a watched folder does not exist", extra={"folder": str(self.folder)})
            self.problem = f"{self.folder} does not exist"
            return ()
        if self.problem or root != self._root:
            raise _FolderReturnedError
        return self._judge(touched)

    def _look_at_all(self) -> tuple[FileChange, ...]:
        """Return all that differs from the index."""
        if self.problem:
            log.info("a watched folder exists again", extra={"folder": str(self.folder)})
        self._root, self.problem = self._identify(), ""
        if self._rules:
            self._rules.forget()
        return self._judge(TouchedPaths(everything=True))

    def _files(self, below: str) -> Iterator[tuple[str, int]]:
        """Yield the files below a directory that count, with their identities; the kernel reports each directory.

        A directory is entered before it is read: what is made in it meanwhile is seen twice, not never.
        """
        waiting = [below]
        while waiting:
            place = waiting.pop()
            self._source.enter(f"{self.folder}/{place}" if place else str(self.folder))
            with suppress(OSError), os.scandir(self.folder / place) as entries:
                for entry in entries:
                    path = f"{place}/{entry.name}" if place else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if not self._ignores_below(path):
                            waiting.append(path)
                    elif entry.is_file(follow_symlinks=False) and not self._ignores(path):
                        with suppress(OSError):
                            yield path, identity_of_version(entry.stat(follow_symlinks=False))

    def _ignores(self, path: str) -> bool:
        return self._rules.ignores(path) if self._rules else is_temporary(path.rpartition("/")[2])

    def _ignores_below(self, path: str) -> bool:
        if not self._recursive or path.rpartition("/")[2] == ".git":
            return True
        return self._rules is not None and self._rules.ignores_directory(path)

    def _judge(self, touched: TouchedPaths) -> tuple[FileChange, ...]:
        """Return what became of the paths that were touched."""
        names, is_committed = dict[str, bool](), touched.everything
        for path, written in touched.paths.items():
            is_committed |= self._commits.may_have_grown(path)
            relative = self._relative(path)
            if self._concerns(relative):
                names[relative] = written
        if self._rules and any(name.rpartition("/")[2] == IGNORE_FILE for name in names):
            self._rules.forget()
            for _ in self._files(""):  # enters the directories that are not ignored any more
                pass
        if is_committed:
            self._enter_commits()
        found = [*self._files_changed(names, everything=touched.everything)]
        if is_committed:
            found += [
                FileChange(self.folder, ChangeKind.COMMITTED, "", commit=commit.id, subject=commit.subject)
                for commit in self._commits.new()
            ]
        return tuple(found)

    def _concerns(self, relative: str) -> bool:
        in_git = relative == ".git" or relative.startswith(".git/")
        return bool(relative) and not in_git and (self._recursive or "/" not in relative)

    def _enter_commits(self) -> None:
        for place in self._commits.places():
            self._source.enter(str(place))

    def _files_changed(self, names: dict[str, bool], *, everything: bool) -> Iterator[FileChange]:
        present, missing = self._sort(names, everything=everything)
        gone = dict[str, int]()
        for path in missing:
            if was := self._index.pop(path):
                gone[path] = was
        old_names = {identity: path for path, identity in gone.items()}
        # Events of the kernel come in the order in which it was touched.
        for path, identity in sorted(present.items()) if everything else present.items():
            known = self._index.get(path)
            self._index.put(path, identity)
            if known is None or known != identity or names.get(path):
                old = old_names.get(identity)
                if old is not None and old in gone:
                    del gone[old]
                    yield FileChange(self.folder, ChangeKind.MOVED, path, old)
                else:
                    yield FileChange(self.folder, ChangeKind.CREATED if known is None else ChangeKind.MODIFIED, path)
        for path in sorted(gone):
            yield FileChange(self.folder, ChangeKind.DELETED, path)

    def _sort(self, names: dict[str, bool], *, everything: bool) -> tuple[dict[str, int], list[str]]:
        """Return the files that are there, with their identities, and those of the index that are not."""
        if everything:
            present = dict(self._files(""))
            return present, [path for path in self._index.below([""]) if path not in present]
        present, missing, directories = dict[str, int](), list[str](), list[str]()
        for name in names:
            identity, is_directory = _look_at(self.folder / name)
            if is_directory and not self._ignores_below(name):
                present.update(self._files(name))
            elif identity and not self._ignores(name):
                present[name] = identity
            if not identity:
                # Whatever was below it, unless it was a file.
                (directories if self._index.get(name) is None else missing).append(name)
        missing += self._index.below(directories)
        return present, [path for path in missing if path not in present]

    def _relative(self, path: str) -> str:
        """Return a path from the folder; empty for the folder itself and for what lies elsewhere."""
        top = f"{self.folder}/"
        return path.removeprefix(top) if path.startswith(top) else ""


def _refuse_unreadable(folder: Path) -> None:
    if not folder.is_dir():
        raise ConfigError(f"{folder} is not a folder", hint="use an existing folder")
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise ConfigError(f"cannot watch {folder}: {error.strerror}", hint="check its permissions") from None


def _is_empty(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is None
    except OSError:
        return True


def _look_at(path: Path) -> tuple[int, bool]:
    """Return the identity of a regular file, 0 where there is none, and whether it is a directory."""
    with suppress(OSError):
        found = path.lstat()
        return identity_of_version(found) if stat.S_ISREG(found.st_mode) else 0, stat.S_ISDIR(found.st_mode)
    return 0, False


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
