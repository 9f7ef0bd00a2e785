"""Files of the operator: replaced atomically, read within limits, and watched for changes."""

import errno
import fcntl
import logging
import os
import pwd
import shlex
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from tocsin.core.errors import ConfigError, TocsinError

log = logging.getLogger(__name__)

T = TypeVar("T")

# The largest files have some hundred lines. For 1 MiB, the YAML parser takes seconds.
MAX_FILE_BYTES = 1024 * 1024
# Editors that write a new file beside the old one, or truncate it first, leave a gap of milliseconds.
GONE_AFTER_S = 2.0
# File systems use timestamps of this resolution: a newer timestamp may hide a second change.
COARSEST_STAMP_NS = 2_000_000_000
# A file that was changed since then may be half written, and half a command is another command.
QUIET_NS = 300_000_000

LOCK_TIMEOUT_S = 10.0
_LOCK_LOOK_S = 0.02
_NO_LOCKS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}

_WRITE_HINTS = {
    errno.ENOSPC: "free some disk space",
    errno.EDQUOT: "free some disk space",
    errno.ENOENT: "create the directory",
    errno.EROFS: "the file system is read-only; choose another directory",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "correct the symbolic links in the path",
}
_MENDABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.ENAMETOOLONG, errno.ELOOP}


class WriteError(TocsinError):
    """A file could not be written; its previous content is unchanged."""

    code = "write-failed"


def write_atomically(path: Path, data: bytes | str, mode: int = 0o600, *, read_back: bool = False) -> None:
    """Replace the content of `path` atomically and durably.

    With `read_back`, the new file is read and compared before it replaces the old one. Only a killed process leaves its
    temporary file: `.tocsin-`, the name of the file, a random word and `.tmp`.

    A symbolic link stays and its target is replaced. Readers see the old file or the new one. Raises WriteError; then
    nothing has changed and no temporary file is left.
    """
    content = data.encode() if isinstance(data, str) else data
    try:
        place = Path(os.path.realpath(path))  # unlike Path.resolve, it does not fail for a loop of links
        temporary = place.parent / f".tocsin-{place.name[:40]}-{os.urandom(8).hex()}.tmp"
        try:
            _write_new(temporary, content, mode)
            if read_back:
                _compare(temporary, content)
            temporary.replace(place)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        _sync_directory(place.parent)
    except OSError as error:
        hint = _WRITE_HINTS.get(error.errno or 0, "check the permissions of the file and its directory")
        raise WriteError(f"cannot write {path}: {_reason(error)}", hint=hint) from None


@contextmanager
def only_writer(
    path: Path,
    timeout_s: float = LOCK_TIMEOUT_S,
    *,
    name: str = "",
    error: type[TocsinError] = ConfigError,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Hold an exclusive lock for changes to a file or folder, and block until it is free; its directory must exist.

    The lock is `flock` on an empty file beside it, which stays; on a network file system, it applies to other hosts,
    too, or is not supported. Raises `error`, whose message calls the path `name`, if another process holds the lock too
    long or the file system has no locks, and WriteError if the lock file cannot be opened.
    """
    lock = path.with_name(f"{path.name}.lock")
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as refused:
        raise WriteError(f"cannot open {lock}: {refused.strerror}", hint="make the directory writable") from None
    try:
        give_up_at = monotonic() + timeout_s
        while not _takes_lock(descriptor, lock, error):
            if monotonic() >= give_up_at:
                sentence = f"another process has been changing {name or path} for {timeout_s:.0f} s"
                raise error(sentence, hint="stop it, or try again")
            sleep(_LOCK_LOOK_S)
        yield
    finally:
        os.close(descriptor)  # releases the lock, as the end of the process does


def refused_by_system(error: OSError) -> TocsinError | None:
    """Return the error about a file or directory that the operator can fix, or `None` for a bug of ours."""
    if error.errno not in _MENDABLE or not isinstance(error.filename, (str, Path)):
        return None
    hint = _WRITE_HINTS.get(error.errno, "check its owner, and the permissions of its parent directory")
    return TocsinError(f"cannot use {error.filename}: {_reason(error)}", hint=hint)


def make_directory(path: Path, mode: int = 0o700) -> None:
    """Create a directory and its missing parents, all with `mode` whatever the umask."""
    if path.is_dir():
        return
    try:
        path.mkdir(mode=mode, exist_ok=True)
    except FileNotFoundError:
        make_directory(path.parent, mode)
        path.mkdir(mode=mode, exist_ok=True)
    path.chmod(mode)


def refuse_others(path: Path) -> None:
    """Raise ConfigError if users other than this one and root may change a file or directory; may raise OSError.

    The owner's own group counts as the owner: many systems create one for each user.
    """
    found = path.stat()
    me = os.geteuid()
    if found.st_uid not in {me, 0}:
        raise ConfigError(f"{path} belongs to another user", hint=f"chown {me} {shlex.quote(str(path))}")
    by_group = found.st_mode & stat.S_IWGRP and found.st_gid != _own_group(found.st_uid)
    if by_group or found.st_mode & stat.S_IWOTH:
        raise ConfigError(f"other users can write to {path}", hint=f"chmod go-w {shlex.quote(str(path))}")


def read_limited(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a regular file; raise ConfigError if it is too large or unreadable."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would block until its other end is open
            raise ConfigError(f"{path} is not a regular file", hint="replace it with a regular file")
        with path.open("rb") as stream:
            content = stream.read(max_bytes + 1)
    except OSError as error:
        hint = "create it" if isinstance(error, FileNotFoundError) else "check the file and its permissions"
        raise ConfigError(f"cannot read {path}: {_reason(error)}", hint=hint) from None
    if len(content) > max_bytes:
        raise ConfigError(f"{path} is larger than {max_bytes:,} bytes", hint="remove unneeded parts")
    return content


class _Stamp(NamedTuple):
    """The attributes that change with a file; the inode distinguishes a replaced file from an edited one."""

    modified_ns: int
    changed_ns: int  # unlike the modification time, programs cannot set it
    size: int
    inode: int


class WatchedFile(Generic[T]):
    """The parsed content of a file that may be edited while the program runs.

    Every access checks the file's stamp and reads the file again after a change. If the file cannot be read or parsed,
    the last valid value stays active; `problem` has the reason, which is logged once per change. A missing file
    counts as `empty`, but a dangling symbolic link does not. A file that disappears or becomes empty counts as `empty`
    only after two seconds, and with a warning in the log.
    """

    def __init__(
        self,
        path: Path,
        parse: Callable[[bytes], T],
        empty: T,
        *,
        is_run: bool = False,
        rests: bool = False,
        now_ns: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Watch `path`; `parse` raises ConfigError for content that must not come into force.

        With `is_run`, the content is executed: the file is rejected while other users may write to it. With `rests`, a
        change takes effect only when the file was not written for a moment: half a file may be valid, and do something
        else.
        """
        self.path = path
        self._is_run = is_run
        self._rests = rests
        self._parse = parse
        self._empty = empty
        self._now_ns = now_ns
        self._monotonic = monotonic
        self._lock = Lock()
        self._value = empty
        self._good = False  # whether `_value` was read from a file
        self._problem: ConfigError | None = None
        self._stamp: _Stamp | None = None  # of the content read last; None if it may be outdated
        self._content: bytes | None = None  # read last
        self._inode = 0  # of the file that was read last
        self._gone_since: float | None = None

    @property
    def value(self) -> T:
        """The last valid value."""
        return self.read()[0]

    @property
    def problem(self) -> ConfigError | None:
        """Why the current content of the file is not used, or `None`."""
        return self.read()[1]

    def read(self) -> tuple[T, ConfigError | None]:
        """Return the value and the problem of the same moment."""
        with self._lock:
            self._refresh()
            return self._value, self._problem

    def _refresh(self) -> None:
        try:
            stamp = self._look()
            if stamp is None:
                self._miss()
                return
            self._gone_since = None
            if stamp == self._stamp:
                return
            self._stamp = None
            if self._is_run:
                refuse_others(self.path)
            if self._rests and self._is_being_written(stamp):
                return
            self._inode = stamp.inode
            self._take(read_limited(self.path))
        except ConfigError as error:
            self._content = None
            self._reject(error)
        else:
            self._stamp = stamp if self._now_ns() - stamp.modified_ns > COARSEST_STAMP_NS else None

    def _is_being_written(self, stamp: _Stamp) -> bool:
        """Whether the active file was written a moment ago.

        A file that replaced another one is complete. So is one whose last change was not a write, such as a rename: a
        write sets both times.
        """
        written = stamp.inode == self._inode and stamp.changed_ns == stamp.modified_ns
        return self._good and written and 0 <= self._now_ns() - stamp.changed_ns < QUIET_NS

    def _look(self) -> _Stamp | None:
        """Return the file's stamp, or `None` if the file is missing or empty."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            if self.path.is_symlink():
                sentence = f"{self.path} is a symbolic link to a file that does not exist"
                raise ConfigError(sentence, hint="create that file, or remove the link") from None
            return None
        except OSError as error:
            sentence = f"cannot read {self.path}: {_reason(error)}"
            raise ConfigError(sentence, hint="check the permissions of its directories") from None
        stamp = _Stamp(found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        return stamp if stamp.size or not stat.S_ISREG(found.st_mode) else None

    def _take(self, content: bytes) -> None:
        """Put `content` into force unless it was read last."""
        if content == self._content:
            return
        self._content = content
        try:
            value = self._parse(content)
        except ConfigError as error:
            self._reject(error)
            return
        if value == self._empty and self._value != self._empty:
            log.warning("a file no longer has any entries: %s", self.path)
        elif self._problem:
            log.info("a file was loaded again: %s", self.path)
        self._accept(value)

    def _accept(self, value: T) -> None:
        self._value, self._good, self._problem = value, True, None

    def _reject(self, error: ConfigError) -> None:
        if str(error) != str(self._problem):
            force = "the last valid version remains active" if self._good else "no earlier version is available"
            log.warning("a file was rejected, %s: %s", force, error.sentence())
        self._problem = error

    def _miss(self) -> None:
        """Drop the value if the file has been missing for long enough."""
        if self._value == self._empty and self._problem is None:
            return
        now = self._monotonic()
        if self._gone_since is None:
            self._gone_since = now
        if self._good and now - self._gone_since < GONE_AFTER_S:
            return
        log.warning("a file is missing or empty and is treated as having no entries: %s", self.path)
        self._stamp = self._content = None
        self._accept(self._empty)


def _takes_lock(descriptor: int, lock: Path, error: type[TocsinError]) -> bool:
    """Return whether the lock was acquired; False while another process holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as refused:
        if refused.errno not in _NO_LOCKS:
            raise
        sentence = f"cannot lock {lock}: its file system does not support locks"
        raise error(sentence, hint="put the data directory on a file system that supports locks") from None
    return True


def _own_group(user: int) -> int:
    """Return the primary group of a user, or our own for a user that the system does not know."""
    try:
        return pwd.getpwuid(user).pw_gid
    except KeyError:
        return os.getegid()


def _write_new(path: Path, content: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, mode), "wb") as stream:
        os.fchmod(stream.fileno(), mode)  # the umask may have removed bits
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _compare(path: Path, content: bytes) -> None:
    if path.read_bytes() != content:
        raise OSError(errno.EIO, "the disk returned different bytes than were written")


def _sync_directory(path: Path) -> None:
    """Make the new directory entry durable, if the file system supports that."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in {errno.EINVAL, errno.ENOTSUP}:
            raise
    finally:
        os.close(descriptor)


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__
