"""Append to the audit log: one JSON line a `write`, chained, in order across processes.

Beside the log stands a head file: the end of the chain, and where the log then ended. It is locked
for each append and survives rotation, so no append reads the log, the chain goes on in the next
file, and removed last lines show. The line is written before the head: a process killed in between
leaves the head one line behind, and the next append catches up. Nothing is fsynced; after a power
failure `verify` names what is missing.

The chain shows careless or partial changes. Who may write to the folder can also compute it anew;
against that, note `Verification.last` and `last_hash` elsewhere.
"""

import errno
import fcntl
import os
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from tocsin.core.audit import reader
from tocsin.core.audit.encoding import encode_fields, unchanged
from tocsin.core.audit.reader import Anchor, AuditEntry
from tocsin.core.errors import TocsinError

if TYPE_CHECKING:
    from pathlib import Path

    from tocsin.core.audit.chain import Verification

__all__ = ["AuditEntry", "AuditError", "AuditLog"]

LOCK_WAIT_S = 5.0  # a line takes microseconds: a process that holds the lock longer is suspended
HEAD_BYTES = 256

_HINTS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free space on its disk, or rotate it"),
    **dict.fromkeys((errno.EISDIR, errno.ENXIO), "move away what is in its place"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "let this user write to it and its folder"),
}
_NOTHING: Mapping[str, object] = {}


class AuditError(TocsinError):
    """The audit log cannot be read or written; no partial line remains."""

    code: ClassVar[str] = "audit-failed"


class AuditLog:
    """An audit log. Threads, forks and other processes may append to the same file."""

    def __init__(
        self,
        path: "Path",
        *,
        redact: Callable[[str], str] = unchanged,
        masks_all: Callable[[], bool] = lambda: True,
        now: Callable[[], float] = time.time,
        lock_wait_s: float = LOCK_WAIT_S,
    ) -> None:
        self.path = path.absolute()
        self._name = str(self.path)
        self._head_name = f"{self.path}.head"
        self._lock_wait_s = lock_wait_s
        self._redact = redact
        self._masks_all = masks_all
        self._now = now
        self._second = -1
        self._second_text = ""
        self._fork_mutex = threading.Lock()
        self._forget()

    def __del__(self) -> None:
        """Close the files when the log is garbage-collected, such as in a short command."""
        self._close_files()

    def _forget(self) -> None:
        """Reset the state: at the start, and in a forked child."""
        self._mutex = threading.Lock()
        self._log = self._head = -1
        self._head_text = b""  # what we wrote to the head file; empty: check everything again
        self._seq, self._hash = reader.GENESIS
        self._inode = self._size = 0
        self._tick = 0  # the millisecond of the last check of the log's name
        self._pid = os.getpid()
        self._before = b""  # terminates a torn line
        self._prev = ""  # begins a file, or records a lost head

    def append(self, action: str, detail: str, *, source: str, metadata: Mapping[str, object] = _NOTHING) -> None:
        """Append one line; raise AuditError without leaving a partial line.

        Values without a JSON type are written as text. `metadata` must not contain the log's own keys, `chain` and
        `masking`.
        """
        fields = encode_fields(action, detail, source, metadata, self._redact)
        if not self._masks_all():
            fields = encode_fields(action, detail, source, {**metadata, "masking": "incomplete"}, self._redact)
        if self._pid != os.getpid():
            self._leave_to_parent()
        with self._mutex:
            try:
                self._lock()
                try:
                    self._write(fields)
                finally:
                    if self._head >= 0:
                        fcntl.flock(self._head, fcntl.LOCK_UN)
            except OSError as error:
                raise _failure("write", self._name, error) from error

    def tail(self, limit: int) -> list[AuditEntry]:
        """Return the last `limit` entries of the live file, the newest first."""
        return list(islice(self.newest(), max(0, limit)))

    def search(self, query: str, limit: int) -> list[AuditEntry]:
        """Return up to `limit` entries with `query` in a text, a key or a value, the newest first.

        The search ignores case and excludes the hashes of the chain.
        """
        with _opened(self._name) as log:
            found = reader.search_entries(log, query) if log is not None else iter(())
            return list(islice(found, max(0, limit)))

    def newest(self) -> Iterator[AuditEntry]:
        """Yield the entries of the live file, the newest first, and read only as far as needed."""
        with _opened(self._name) as log:
            if log is not None:
                yield from reader.newest_entries(log)

    def verify(self, *, keep_since: str = "", anchors: Collection[Anchor] = ()) -> "Verification":
        """Verify every line of the live file and of the rotated ones; appends may continue meanwhile.

        Lines older than `keep_since` (a time as in `ts`) may be missing. `anchors` are hashes stored elsewhere; of two
        for the same line, the first counts.
        """
        from tocsin.core.audit.chain import Verifier, split_lines

        with _opened(self._head_name) as head_file:
            head = None
            if head_file is not None:  # the lock: log and head are read at the same moment
                self._wait_for(fcntl.LOCK_SH, head_file)
                head = reader.decode_head(os.pread(head_file, HEAD_BYTES, 0))
            with _opened(self._name) as log:
                size = os.fstat(log).st_size if log is not None else 0
                if head_file is not None:
                    fcntl.flock(head_file, fcntl.LOCK_UN)
                verifier = Verifier(self.path, head, keep_since=keep_since, anchors=anchors)
                if log is None:
                    return verifier.verify(None)
                with open(log, "rb", buffering=reader.SEARCH_CHUNK, closefd=False) as stream:
                    return verifier.verify(split_lines(stream, size))

    def tip(self) -> tuple[int, str]:
        """Return number and hash of the newest line from the head file; number 0 if there is none."""
        with _opened(self._head_name) as head_file:
            head = reader.decode_head(os.pread(head_file, HEAD_BYTES, 0)) if head_file is not None else None
        tip = head.tip if head else reader.GENESIS
        return tip.seq, tip.hash.decode()

    def close(self) -> None:
        """Close the files; a later append opens them again."""
        with self._mutex:
            self._close_files()

    def _write(self, fields: str) -> None:
        """Write the line at once, then the head; a failed write leaves the log unchanged."""
        if not self._in_step() and not self._follow():
            self._catch_up()
        seq = self._seq + 1
        signed = f'{{"ts":"{self._timestamp()}",{fields}"chain":{{"seq":{seq},{self._prev}"hash":"'.encode()
        digest = sha256(self._hash + signed).hexdigest().encode()
        line = b'%b%b%b"}}}\n' % (self._before, signed, digest)
        try:
            written = os.write(self._log, line)
        except OSError:
            self._undo()
            raise
        if written != len(line):
            self._undo()
            raise OSError(errno.ENOSPC, "only part of the line was written")
        self._before, self._prev = b"", ""
        self._seq, self._hash = seq, digest
        self._size += written
        self._save_head()

    def _in_step(self) -> bool:
        """Whether the log is unchanged since our last line: not appended to, rotated or truncated.

        The most expensive check, of the name, is made once per millisecond: a rename may follow right after it anyway.
        """
        if not self._head_text or os.lseek(self._log, 0, os.SEEK_END) != self._size:
            return False
        if os.pread(self._head, len(self._head_text), 0) != self._head_text:
            return False
        if (tick := time.monotonic_ns() // 1_000_000) == self._tick:
            return True
        self._tick = tick
        return self._is_current(self._inode)

    def _follow(self) -> bool:
        """Continue from the head if other processes only appended to the same file."""
        text = os.pread(self._head, HEAD_BYTES, 0)
        head = reader.decode_head(text)
        if head is None or self._log < 0 or not head.size:
            return False
        found = os.fstat(self._log)
        if (found.st_ino, found.st_size) != (head.inode, head.size) or not self._is_current(found.st_ino):
            return False
        self._seq, self._hash = head.tip
        self._inode, self._size = head.inode, head.size
        self._before, self._prev = b"", ""
        self._head_text = text
        return True

    def _is_current(self, inode: int) -> bool:
        """Whether the log's name still refers to this file."""
        with suppress(FileNotFoundError):
            return os.stat(self._name).st_ino == inode  # noqa: PTH116  # half of Path.stat's time
        return False

    def _undo(self) -> None:
        """Truncate the partial line after a failed write; the next append handles a remaining one."""
        if os.fstat(self._log).st_size > self._size:
            os.ftruncate(self._log, self._size)

    def _timestamp(self) -> str:
        """Return the time in UTC with milliseconds; the part up to the second is cached."""
        second, milliseconds = divmod(int(self._now() * 1000), 1000)
        if second != self._second:
            self._second = second
            self._second_text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._second_text}.{milliseconds:03}Z"

    def _save_head(self) -> None:
        """Write the end of the chain and of the log to the head; if that fails, the next append catches up."""
        head = b"%d %b %d %d\n" % (self._seq, self._hash, self._inode, self._size)
        self._head_text = b""
        with suppress(OSError):
            self._head_text = head if os.pwrite(self._head, head, 0) == len(head) else b""

    def _catch_up(self) -> None:
        """Read the changes of other processes: new lines, a new file, a torn line, a lost head."""
        self._head_text = b""
        while not os.fstat(self._head).st_nlink:  # removed: other processes lock another file
            self._close_files()
            self._lock()
        self._open_log()
        head = reader.decode_head(os.pread(self._head, HEAD_BYTES, 0))
        newest = reader.last_tip(self._log)
        if head is None:
            tip = newest or max(reader.rotated_tips(self.path), default=reader.GENESIS)
        else:
            known = head.inode == self._inode and head.size <= self._size
            tip = reader.advance(self._log, head.tip, head.size if known else 0)
        self._seq, self._hash = tip
        self._prev = f'"prev":"{self._hash.decode()}",' if newest is None or head is None else ""
        if head is None and (newest or reader.rotated(self.path)):
            self._prev += '"head":"lost",'
        torn = self._size > 0 and os.pread(self._log, 1, self._size - 1) != b"\n"
        self._before = b"\n" if torn else b""
        if head is None and newest is None:
            self._begin_head()

    def _begin_head(self) -> None:
        """Create a head before the first line, with room to grow, so that a full disk fails here."""
        head = reader.Head(reader.Tip(self._seq, self._hash), 0, 0).encode().ljust(HEAD_BYTES)
        if os.pwrite(self._head, head, 0) != HEAD_BYTES:
            raise OSError(errno.ENOSPC, f"cannot write {self._head_name}")

    def _lock(self) -> None:
        if self._head < 0:
            self._head = self._create(self._head_name)
        self._wait_for(fcntl.LOCK_EX, self._head)

    def _wait_for(self, kind: int, fd: int) -> None:
        """Acquire the lock, but do not wait forever for a process that was suspended while holding it."""
        deadline = 0.0
        while True:
            try:
                return fcntl.flock(fd, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                deadline = deadline or time.monotonic() + self._lock_wait_s
                if time.monotonic() > deadline:
                    raise AuditError(
                        f"another process has held the lock of {self._name} for {self._lock_wait_s:g} s",
                        hint=f"find it with `fuser {self._head_name}`, and end or resume it",
                    ) from None
                time.sleep(0.0002)

    def _open_log(self) -> None:
        if self._log >= 0:
            os.close(self._log)
            self._log = -1
        self._log = self._create(self._name, os.O_APPEND)
        found = os.fstat(self._log)
        self._inode, self._size = found.st_ino, found.st_size

    def _create(self, name: str, flags: int = 0) -> int:
        """Open a file for reading and writing; create it and its folder if needed."""
        from tocsin.core.storage.files import make_directory  # it imports logging, which reading does not need

        make_directory(self.path.parent)
        file = os.open(name, flags | os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
        if stat.S_ISFIFO(os.fstat(file).st_mode):  # it would consume the lines
            os.close(file)
            raise OSError(errno.ENXIO, "not a regular file")
        return file

    def _leave_to_parent(self) -> None:
        """Close the files that a fork inherited: their lock would be the parent's lock."""
        with self._fork_mutex:
            if self._pid != os.getpid():
                self._close_files()
                self._forget()

    def _close_files(self) -> None:
        for fd in (self._log, self._head):
            if fd >= 0:
                os.close(fd)
        self._log = self._head = -1
        self._head_text = b""


@contextmanager
def _opened(name: str) -> Iterator[int | None]:
    """Open a file for reading; yield None if it does not exist."""
    file = None
    try:
        with suppress(FileNotFoundError):
            file = reader.open_regular(name)
        yield file
    except OSError as error:
        raise _failure("read", name, error) from error
    finally:
        if file is not None:
            os.close(file)


def _failure(verb: str, name: str, error: OSError) -> AuditError:
    """Return the error with a sentence and a hint for an OSError."""
    reason = error.strerror or str(error)
    hint = _HINTS.get(error.errno or 0, "check the disk")
    return AuditError(f"cannot {verb} the audit log {name}: {reason}", hint=hint)
