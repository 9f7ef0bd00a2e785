"""Process identities, with which another process can prove that a process has ended.

Work that a process has claimed is given to another one only if the first is dead. A process ID alone proves nothing: it
is reused, each container has its own, and they start again after a reboot.
"""

import os
import socket
from functools import cache
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_LONGEST_PID = 9  # digits: the maximum of `os.kill`
_STATE, _THREADS, _START = 0, 17, 19  # fields of /proc/<pid>/stat after the name; source: proc(5)


class _Identity(NamedTuple):
    pid: str
    start: str  # clock ticks since the boot
    namespace: str
    boot: str
    host: str  # last, because a host name may contain any character


def own_identity() -> str:
    """Return a globally unique identity of this process; a fork has another one."""
    return read_identity(os.getpid())


def read_identity(pid: int) -> str:
    """Return the identity of a process of this machine; if it has ended, one that no other process has."""
    stat = _stat(pid)
    start = stat[_START] if len(stat) > _START else ""
    return ":".join(_Identity(str(pid), start, _namespace(), boot_id(), socket.gethostname()))


def is_dead(identity: str) -> bool:
    """Whether the process with this `own_identity` has provably ended.

    False if nothing can be proved: on another machine, in another container, without /proc.
    """
    return _proved_end(identity) is True


def is_alive(identity: str) -> bool:
    """Whether the process with this `own_identity` provably runs; false if nothing can be proved."""
    return _proved_end(identity) is False


def is_elsewhere(identity: str) -> bool:
    """Whether the process with this `own_identity` belongs to another machine or a container of another name."""
    return identity.split(":", len(_Identity._fields) - 1)[-1] != socket.gethostname()


@cache
def boot_id() -> str:
    """Return the identity of the current boot, or an empty text if the system has none."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return _boot_id_of_macos()


def _proved_end(identity: str) -> bool | None:
    """Return whether it has ended, `None` if unknown."""
    fields = identity.split(":", len(_Identity._fields) - 1)
    if len(fields) != len(_Identity._fields):
        return None
    other = _Identity(*fields)
    boot = boot_id()
    if other.host != socket.gethostname() or not boot or not other.boot:
        return None
    if other.boot != boot:
        return True
    if not other.namespace or other.namespace != _namespace():
        return None
    return _has_ended(other)


def _has_ended(other: _Identity) -> bool | None:
    if not (other.pid.isdecimal() and len(other.pid) <= _LONGEST_PID and other.start.isdecimal()):
        return None
    pid = int(other.pid)
    try:
        os.kill(pid, 0)  # checks without sending a signal; /proc may hide the processes of other users
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it belongs to another user
    stat = _stat(pid)
    if len(stat) <= _START:
        return None
    # A zombie keeps its PID until its parent waits for it.
    unreaped = stat[_STATE] in {"Z", "X"} and stat[_THREADS] in {"0", "1"}
    return unreaped or stat[_START] != other.start


def _stat(pid: int) -> list[str]:
    """Return the fields after the name, which may contain blanks and brackets; empty if unreadable."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  # a third of the time, at each start of a command
            return file.read().decode(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _namespace() -> str:
    try:
        # `pid:[4026531836]`: the colon is our own separator.
        return os.readlink("/proc/self/ns/pid").removeprefix("pid:")  # noqa: PTH115  # see `_stat`
    except OSError:
        return ""


def _boot_id_of_macos() -> str:
    import ctypes

    name, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)
    ask = getattr(ctypes.CDLL(None), "sysctlbyname", None)
    return name.value.decode() if ask and ask(b"kern.bootsessionuuid", name, ctypes.byref(size), None, 0) == 0 else ""
