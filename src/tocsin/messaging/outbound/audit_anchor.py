"""Record the end of the audit chain in a place outside this machine's reach.

The chain has no key, so a process that can write to the data directory can recompute it. A number and a hash recorded
elsewhere then contradict the forged chain.
"""

import asyncio
import fcntl
import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tocsin.core.audit.chain import ChainProblem
from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.reader import Anchor, open_regular
from tocsin.core.errors import TocsinError
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox

log = logging.getLogger(__name__)

STATE_FILE = "audit.anchored"
_ANCHOR = re.compile(rb"^([^ \n]+) ([0-9]{1,18}) ([0-9a-f]{64})$", re.MULTILINE)
SOURCE = "audit"


class AuditAnchor:
    """Records number and hash of the newest entry after every `every` entries.

    `destination` is the path of a file, or `<channel>:<target>`. A lock chooses one of the serving processes.
    """

    def __init__(self, destination: str, every: int, audit: AuditLog, outbox: Outbox) -> None:
        self._destination = destination
        self._every = every
        self._audit = audit
        self._outbox = outbox
        self._state = audit.path.with_name(STATE_FILE)
        self._failing = False

    async def note_if_due(self) -> None:
        """Record the end of the chain if that is due; a failure is logged once and retried at the next call."""
        try:
            await self._note_if_due()
        except (OSError, TocsinError) as error:
            if not self._failing:
                reason = error.sentence() if isinstance(error, TocsinError) else str(error)
                log.warning("anchoring the audit log failed; check AUDIT_ANCHOR", extra={"reason": reason})
            self._failing = True
        else:
            self._failing = False

    async def _note_if_due(self) -> None:
        seq, digest = self._audit.tip()
        if not seq or seq < self._last() + self._every:
            return
        with self._try_lock() as first:
            if not first or seq < self._last() + self._every:
                return
            line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {seq} {digest}\n"
            await self._note(seq, digest, line)
            _append(self._state, line)

    async def _note(self, seq: int, digest: str, line: str) -> None:
        if self._destination.startswith("/"):
            # In a thread, because the file may be on another host, which can hang.
            await asyncio.to_thread(_append, Path(self._destination), line)
            return
        channel, _, target = self._destination.partition(":")
        text = f"Audit log, entry {seq}: {digest}\nTo verify: tocsin audit verify --anchor {seq}:{digest}"
        new = self._outbox.prepare(channel, target, text, SOURCE).with_terms(None, None, f"audit-anchor:{seq}:{digest}")
        await self._outbox.enqueue([new], Caller(SOURCE))

    def _last(self) -> int:
        with suppress(FileNotFoundError):
            return max((anchor.seq for anchor in read_anchors(self._state)), default=0)
        return 0

    @contextmanager
    def _try_lock(self) -> Iterator[bool]:
        with os.fdopen(_open_to_append(self._state), "ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            yield True


def read_anchors(path: Path) -> list[Anchor]:
    """Return the anchors of a file in their order; raise OSError if it cannot be read."""
    with os.fdopen(open_regular(path), "rb") as file:
        return [
            Anchor(int(seq), digest, at.decode(errors="replace")) for at, seq, digest in _ANCHOR.findall(file.read())
        ]


def _append(path: Path, line: str) -> None:
    with os.fdopen(_open_to_append(path), "a", encoding="ascii") as file:
        file.write(line)


def _open_to_append(path: Path) -> int:
    """Open a file; create it with mode 600, whatever the umask is."""
    flags = os.O_WRONLY | os.O_APPEND
    try:
        new = open_regular(path, flags | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return open_regular(path, flags)
    os.fchmod(new, 0o600)
    return new


def load_anchors(data_dir: Path, destination: str) -> tuple[list[Anchor], list[ChainProblem]]:
    """Return the recorded anchors, the most remote first, and the anchor files that cannot be read."""
    anchors: list[Anchor] = []
    problems = []
    state = data_dir / STATE_FILE
    for path in (state, *([Path(destination)] if destination.startswith("/") else [])):
        try:
            anchors = read_anchors(path) + anchors
        except OSError as error:
            # The anchor files do not exist before the first anchor.
            if not anchors and isinstance(error, (FileNotFoundError, NotADirectoryError)):
                continue
            reason = f"cannot read the anchors: {error.strerror or type(error).__name__}"
            problems.append(ChainProblem(0, reason, str(path)))
    return anchors, problems


def retention_start(days: int, now: float) -> str:
    """Return the time, as in an entry, before which lines may be missing; empty if all lines must exist."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now - days * 86400)) if days else ""
