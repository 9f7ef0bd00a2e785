"""Watch a folder for created, changed, deleted and renamed files, and for commits.

The kernel reports paths with events; their meaning is found by comparison, because editors write a new file and rename
it, so that single events say little. An index of names and of attributes that a rename preserves (inode, size, time)
distinguishes new, changed and renamed files. If the kernel has lost events, or the folder was missing, the whole folder
is compared with the index, so that no lasting change is missed.
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

CHECK_S = 1.0  # the interval of checks whether the folder itself was removed or has returned
_HAS_INOTIFY = os.uname().sysname == "Linux"
# File systems on which other machines make changes, which this kernel does not report.
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
    """The kind of a change to a file."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    MOVED = "moved"
    COMMITTED = "committed"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change; paths are relative to the watched folder, with `/` as the separator."""

    folder: Path
    kind: ChangeKind
    path: str  # empty for a commit
    old_path: str = ""  # of a moved file
    commit: str = ""
    subject: str = ""  # the first line of the commit message


class _FolderReturnedError(Exception):
    """The folder has returned, or another one has replaced it."""


class FolderWatcher:
    """Reports the changes of a folder, in batches."""

    def __init__(self, folder: Path, *, poll: bool | None = None, ignore: bool = True, recursive: bool = True) -> None:
        """Configure the watcher; `poll` scans repeatedly instead of using kernel events; `None` decides automatically.

        `ignore` excludes files that git ignores; temporary files of editors are always excluded. Without `recursive`,
        subfolders are excluded.
        """
        self.folder = Path(os.path.realpath(folder))
        self.ready = asyncio.Event()  # set when changes are detected from now on
        self.reason = ""  # why the folder is polled although kernel events were requested, and the remedy
        self.problem = ""  # why nothing is detected at present
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
        """The method of detecting changes."""
        if self._polls:
            return WatchBackend.POLLING
        return WatchBackend.INOTIFY if _HAS_INOTIFY else WatchBackend.FSEVENTS

    async def changes(self, stop: asyncio.Event | None = None) -> AsyncGenerator[tuple[FileChange, ...]]:
        """Yield changes until `stop` is set; raise ConfigError for a folder that cannot be watched.

        The watcher waits for a folder that disappears: missing files count as deleted only when it has returned.
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
        """Open a new event source, from the kernel if possible."""
        await self._source.aclose()
        self._source = PollingSource()
        if self._polls:
            return
        try:
            self._source = self._ask_kernel()
            await asyncio.sleep(0)  # a source that runs in a task has started by now
        except WatchLimitError as error:
            self._poll_because(error)

    def _ask_kernel(self) -> ChangeSource:
        if _HAS_INOTIFY:
            return InotifySource()
        source = WatchfilesSource([self.folder, *self._commits.outside()], recursive=self._recursive)
        source.start()
        return source

    async def _seen(self, look: Callable[[], tuple[FileChange, ...]]) -> tuple[FileChange, ...]:
        """Return the changes that `look` finds in a thread; switch to polling if the kernel's limit is reached."""
        try:
            return await self._in_thread(look)
        except WatchLimitError as error:
            self._poll_because(error)
            await self._open()
            # Unreported changes are not in the index, and so are found again.
            return await self._in_thread(look if look == self._take_stock else self._look_at_all)

    async def _in_thread(self, look: Callable[[], T]) -> T:
        """Run `look` in a separate thread: a hanging network file system must not block anything else."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, look)

    def _poll_because(self, error: WatchLimitError) -> None:
        log.warning("a folder is watched by polling", extra={"folder": str(self.folder), "reason": error.sentence()})
        self._polls, self.reason = True, error.sentence()

    async def _next(self, stop: asyncio.Event) -> bool:
        """Wait for possible changes; return False at the stop."""
        coming, stopped = asyncio.ensure_future(self._source.wait()), asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait((coming, stopped), timeout=CHECK_S, return_when=asyncio.FIRST_COMPLETED)
            # Wait for the end of a group of events: splitting it would separate the halves of a rename.
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
        """Return device and inode of the folder, (0, 0) if it is missing."""
        with suppress(OSError):
            found = self.folder.stat()
            if stat.S_ISDIR(found.st_mode):
                return found.st_dev, found.st_ino
        return 0, 0

    def _take_stock(self) -> tuple[FileChange, ...]:
        """Build the index, and record the end of the commit log."""
        self._root = self._identify()
        self._commits.skip()
        self._enter_commits()
        for path, identity in self._files(""):
            self._index.put(path, identity)
        return ()

    def _look(self) -> tuple[FileChange, ...]:
        """Return the changes behind the events; raise _FolderReturnedError, WatchLimitError."""
        touched = self._source.collect()
        root = self._identify()
        if root == (0, 0) or (root[0] != self._root[0] and _is_empty(self.folder)):
            # An empty folder on another device is the mount point of a missing file system.
            if not self.problem:
                log.warning("a watched folder does not exist", extra={"folder": str(self.folder)})
            self.problem = f"{self.folder} does not exist"
            return ()
        if self.problem or root != self._root:
            raise _FolderReturnedError
        return self._judge(touched)

    def _look_at_all(self) -> tuple[FileChange, ...]:
        """Return all differences from the index."""
        if self.problem:
            log.info("a watched folder exists again", extra={"folder": str(self.folder)})
        self._root, self.problem = self._identify(), ""
        if self._rules:
            self._rules.forget()
        return self._judge(TouchedPaths(everything=True))

    def _files(self, below: str) -> Iterator[tuple[str, int]]:
        """Yield the watched files below a directory with their identities; the kernel reports each directory.

        A directory is entered before it is read: a file that is created meanwhile is found twice instead of never.
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
        """Return the changes of the paths with events."""
        names, is_committed = dict[str, bool](), touched.everything
        for path, written in touched.paths.items():
            is_committed |= self._commits.may_have_grown(path)
            relative = self._relative(path)
            if self._concerns(relative):
                names[relative] = written
        if self._rules and any(name.rpartition("/")[2] == IGNORE_FILE for name in names):
            self._rules.forget()
            for _ in self._files(""):  # enters directories that are no longer ignored
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
        # In the order of the kernel's events.
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
        """Return the existing files with their identities, and the missing files of the index."""
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
                # All files below it, unless it was a file.
                (directories if self._index.get(name) is None else missing).append(name)
        missing += self._index.below(directories)
        return present, [path for path in missing if path not in present]

    def _relative(self, path: str) -> str:
        """Return a path relative to the folder; empty for the folder itself and for paths outside it."""
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
    """Return the identity of a regular file, else 0, and whether it is a directory."""
    with suppress(OSError):
        found = path.lstat()
        return identity_of_version(found) if stat.S_ISREG(found.st_mode) else 0, stat.S_ISDIR(found.st_mode)
    return 0, False


def _is_remote(folder: Path) -> bool:
    """Whether the folder is on a network file system."""
    best, kind = "", ""
    with suppress(OSError):
        for line in Path("/proc/mounts").read_text("utf-8", "replace").splitlines():
            _, place, found, *_ = line.split(" ")
            place = place.replace("\\040", " ")
            if (folder == Path(place) or Path(place) in folder.parents) and len(place) >= len(best):
                best, kind = place, found
    return kind in _REMOTE
