"""Changes from the Linux kernel: inotify(7).

The calls are made directly: no package reports an overflow of the kernel's queue, after which every file must be
checked again.
"""

import asyncio
import errno
import os
import struct
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from tocsin.core.watching.touched import TouchedPaths, WatchBackend, WatchLimitError

# Events of one action, such as a save, arrive together; they are reported when none arrived for STEP_S, at the latest
# after GROUP_S.
STEP_S, GROUP_S = 0.05, 0.2
_READ_BYTES = 256 * 1024
# Further events wait in the kernel's queue, which is limited; an overflow is reported.
_MAX_BUFFERED_BYTES = 4 * 1024 * 1024
_LIMITS = Path("/proc/sys/fs/inotify")

# Source: include/uapi/linux/inotify.h.
_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
_CREATE, _DELETE, _OVERFLOW, _IGNORED, _ISDIR = 0x100, 0x200, 0x4000, 0x8000, 0x40000000
_ONLYDIR, _DONT_FOLLOW, _EXCL_UNLINK = 0x01000000, 0x02000000, 0x04000000
_MASK = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
    | _ONLYDIR | _DONT_FOLLOW | _EXCL_UNLINK
)  # fmt: skip
_HEADER = struct.Struct("iIII")  # watch, mask, cookie, length of the name


class InotifySource:
    """The events of directories; a directory that is created later must also be entered."""

    backend = WatchBackend.INOTIFY

    def __init__(self) -> None:
        """Open a kernel queue; raise WatchLimitError."""
        import ctypes  # late: most commands read rules and watch nothing

        self._errno = ctypes.get_errno
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise _limit(self._errno(), "max_user_instances")
        self._places: dict[int, str] = {}  # directory by watch
        self._chunks: deque[bytes] = deque()
        self._arrived = asyncio.Event()
        self._buffered = self._count = 0
        self._reads = False

    def enter(self, directory: str) -> None:
        """Watch a directory; one that is missing or unreadable is skipped."""
        watch = self._libc.inotify_add_watch(self._fd, os.fsencode(directory), _MASK)
        if watch >= 0:
            self._places[watch] = directory
            return
        code = self._errno()
        if code not in {errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP}:
            raise _limit(code, "max_user_watches")

    async def wait(self) -> None:
        self._buffered = 0  # `collect` has consumed the buffer
        self._read_on()
        await self._arrived.wait()
        loop = asyncio.get_running_loop()
        until = loop.time() + GROUP_S
        seen = -1
        while self._count != seen and loop.time() < until:
            seen = self._count
            await asyncio.sleep(STEP_S)
        self._arrived.clear()

    def collect(self) -> TouchedPaths:
        """Return the paths with events, and forget deleted directories."""
        touched = TouchedPaths()
        while self._chunks:
            for watch, mask, name in _events(self._chunks.popleft()):
                if mask & _OVERFLOW:
                    touched.everything = True
                elif mask & _IGNORED:
                    self._places.pop(watch, None)
                elif (place := self._places.get(watch)) is not None and name:
                    self._take(touched, f"{place}/{os.fsdecode(name)}", mask)
        if touched.everything:
            self._places.clear()  # the directories are known again when all were entered
        return touched

    async def aclose(self) -> None:
        if self._fd >= 0:
            self._stop_reading()
            os.close(self._fd)
            self._fd = -1

    def _take(self, touched: TouchedPaths, path: str, mask: int) -> None:
        if mask & _ISDIR:
            if mask & _MOVED_FROM:
                self._leave(path)
            elif not mask & (_CREATE | _DELETE | _MOVED_TO):
                return  # its permissions were changed
        touched.paths[path] = touched.paths.get(path, False) or bool(mask & _MODIFY)

    def _leave(self, directory: str) -> None:
        """Stop watching a directory that was moved away; at its destination, it is entered again."""
        below = f"{directory}/"
        gone = [watch for watch, place in self._places.items() if place == directory or place.startswith(below)]
        for watch in gone:
            del self._places[watch]
            self._libc.inotify_rm_watch(self._fd, watch)

    def _read_on(self) -> None:
        if not self._reads:
            asyncio.get_running_loop().add_reader(self._fd, self._read)
            self._reads = True

    def _stop_reading(self) -> None:
        if self._reads:
            asyncio.get_running_loop().remove_reader(self._fd)
            self._reads = False

    def _read(self) -> None:
        try:
            chunk = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return
        self._chunks.append(chunk)
        self._buffered += len(chunk)
        self._count += 1
        self._arrived.set()
        if self._buffered > _MAX_BUFFERED_BYTES:
            self._stop_reading()


def user_limit(name: str) -> int | None:
    """Return a limit of inotify such as `max_user_watches`, `None` if it is unknown."""
    try:
        return int((_LIMITS / name).read_text())
    except (OSError, ValueError):
        return None


def _events(chunk: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at < len(chunk):
        watch, mask, _, length = _HEADER.unpack_from(chunk, at)
        at += _HEADER.size
        yield watch, mask, chunk[at : at + length].rstrip(b"\0")
        at += length


def _limit(code: int, name: str) -> WatchLimitError:
    if code not in {errno.ENOSPC, errno.EMFILE}:
        return WatchLimitError(f"the kernel cannot watch folders: {os.strerror(code)}")
    if code == errno.EMFILE and _fits_descriptors():
        return WatchLimitError("this process has too many open files", hint="raise the limit (ulimit -n)")
    now = user_limit(name)
    told = f" ({now:,})" if now else ""
    more = max(2 * (now or 0), {"max_user_watches": 524_288}.get(name, 1024))
    return WatchLimitError(
        f"the limit fs.inotify.{name}{told} is reached",
        hint=f"raise it: sudo sysctl fs.inotify.{name}={more}; add it to /etc/sysctl.d/ to make it permanent",
    )


def _fits_descriptors() -> bool:
    """Whether no other file can be opened either: then the limit of the process is reached."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return True
    return False
