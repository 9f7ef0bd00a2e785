"""The data directory of a browser: who uses it, how large it is, when it was used, how its last session ended.

Source of the names: Chromium, chrome/browser/process_singleton_posix.cc and chrome/common/chrome_constants.cc.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tocsin.core.process.detaching import process_exists

PORT_FILE = "DevToolsActivePort"
_LOCK, _SOCKET = "SingletonLock", "SingletonSocket"
_STATE, _PREFERENCES = "Local State", Path("Default", "Preferences")
_ENDED_WELL = {"Normal", "SessionEnded"}
_ANSWERS_WITHIN_S = 1.0
_MAX_PREFERENCES = 16 * 1024 * 1024


class Holder(NamedTuple):
    """The process that the lock of a directory names."""

    host: str
    pid: int

    @property
    def is_elsewhere(self) -> bool:
        """Whether the process is on another machine or in another container, where it cannot be checked."""
        return self.host != socket.gethostname()


def holder_of(directory: Path) -> Holder | None:
    """Return which browser uses a directory; None also for a lock that its browser left behind.

    As Chromium does: a lock of this machine counts while its process runs and is a browser, one of another machine
    always.
    """
    named = _named_in_lock(directory)
    if named is None or named.is_elsewhere:
        return named
    return named if process_exists(named.pid) and (_somebody_listens(directory) or _is_browser(named.pid)) else None


def forget_elsewhere(directory: Path) -> None:
    """Remove a lock that names another machine; any other one stays."""
    named = _named_in_lock(directory)
    if named and named.is_elsewhere:
        (directory / _LOCK).unlink(missing_ok=True)


def port_in(directory: Path) -> int | None:
    """Return the debugging port that a browser chose, once it has written it."""
    try:
        first = (directory / PORT_FILE).read_text(encoding="ascii").partition("\n")[0]
    except (OSError, ValueError):
        return None
    return int(first) if first.isdecimal() and 0 < int(first) < 65536 else None


def ended_well(directory: Path, since: float) -> bool:
    """Whether the browser wrote after `since` that it was closed; one that is killed does not come to that."""
    path = directory / _PREFERENCES
    try:
        if path.stat().st_mtime < since or path.stat().st_size > _MAX_PREFERENCES:
            return False
        return json.loads(path.read_bytes())["profile"]["exit_type"] in _ENDED_WELL
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def last_used_at(directory: Path) -> float | None:
    """Return when a browser last wrote its state, in Unix seconds."""
    with suppress(OSError):
        return (directory / _STATE).stat().st_mtime
    return None


def size_of(directory: Path) -> int | None:
    """Return the size of all files in bytes; `None` if the directory does not exist. Slow for a large one."""
    return sum(_sizes(directory)) if directory.is_dir() else None


def _sizes(directory: Path | os.DirEntry[str]) -> Iterator[int]:
    with suppress(OSError), os.scandir(directory) as entries:  # a browser at work removes files all the time
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    yield from _sizes(entry)
                else:
                    yield entry.stat(follow_symlinks=False).st_size


def _named_in_lock(directory: Path) -> Holder | None:
    try:
        host, _, pid = os.readlink(directory / _LOCK).rpartition("-")  # noqa: PTH115  # it is a text, no path
    except OSError:
        return None
    return Holder(host, int(pid)) if pid.isdecimal() and len(pid) < 10 else None


def _somebody_listens(directory: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_ANSWERS_WITHIN_S)
        try:
            connection.connect(os.readlink(directory / _SOCKET))  # noqa: PTH115  # the link itself may be too long
        except OSError:
            return False
    return True


def _is_browser(pid: int) -> bool:
    try:
        return "chrom" in Path(f"/proc/{pid}/exe").readlink().name.lower()
    except OSError:
        return False
