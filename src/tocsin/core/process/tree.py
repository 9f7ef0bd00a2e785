"""The process tree, from /proc, so on Linux only."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_PARENT, _SESSION, _RESIDENT = 1, 3, 21  # fields of /proc/<pid>/stat after the name; source: proc(5)


class Process(NamedTuple):
    """A process of this machine."""

    pid: int
    parent: int
    session: int
    resident_bytes: int


def list_tree(leader: int) -> list[Process]:
    """Return the leader of a session, its descendants, and its whole session; empty without /proc.

    A process that left the session and lost its parent is not found, unless a PID namespace keeps it below the leader.
    """
    below: dict[int, list[Process]] = {}
    waiting = []
    for process in _processes():
        if leader in {process.pid, process.session}:
            waiting.append(process)
        else:
            below.setdefault(process.parent, []).append(process)
    found = []
    while waiting:
        process = waiting.pop()
        found.append(process)
        waiting += below.pop(process.pid, ())
    return found


def _processes() -> Iterator[Process]:
    try:
        names = os.listdir(_PROC)  # noqa: PTH208  # a third of the time; there may be thousands
    except OSError:
        return
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123  # likewise
                fields = file.read().rpartition(b")")[2].split()
        except OSError:  # it has just ended
            continue
        if len(fields) > _RESIDENT:
            parent, session, pages = (int(fields[at]) for at in (_PARENT, _SESSION, _RESIDENT))
            yield Process(int(name), parent, session, pages * _PAGE_BYTES)
