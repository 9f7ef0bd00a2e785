"""The audit log as the rest of the program uses it: a failure to record never stops the recorded work."""

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import NamedTuple

from tocsin.core.audit.actions import AuditAction, AuditField, AuditSource
from tocsin.core.audit.log import AuditError, AuditLog
from tocsin.core.text.strings import number_of

log = logging.getLogger(__name__)

AUDIT = AuditSource("audit", "the audit log itself")
AUDIT_LOST = AuditAction(
    "audit.lost",
    "Entries before this one could not be written; the log of the service names them.",
    (AuditField("lost", "number of entries that were not written"),),
)

OnRecord = Callable[[AuditAction, Mapping[str, object]], None]


class AuditedCaller(NamedTuple):
    """The caller of a request: only entries of this source name it, not those of runs that the request starts."""

    source: str
    facts: Mapping[str, object]


# The caller, while a request of the dashboard is handled.
AUDITED_CALLER: ContextVar[AuditedCaller | None] = ContextVar("AUDITED_CALLER", default=None)


def facts_of_caller(source: str) -> Mapping[str, object]:
    """Return the facts about the caller of the current request for entries of a source; empty without a request."""
    caller = AUDITED_CALLER.get()
    return caller.facts if caller is not None and caller.source == source else {}


class AuditTrail:
    """Records events. A message that was sent stays sent even if the disk is full."""

    def __init__(self, audit: AuditLog) -> None:
        self.log = audit
        self.problem = ""  # why the last entry could not be written
        self._lost = 0
        self._reporting = threading.Lock()
        self._observers: list[OnRecord] = []

    def observe(self, observer: OnRecord) -> None:
        """Call `observer` with action and metadata of every later entry."""
        self._observers.append(observer)

    async def check(self) -> str:
        """Return why entries cannot be written, or nothing; if some were lost, try to write how many.

        Without the attempt, a service that gets no work while it is unhealthy would never be healthy again.
        """
        if self._lost:
            await asyncio.to_thread(self._report_lost)  # it may wait for the lock of another process
        return self.problem

    def record(self, action: AuditAction, detail: str, *, source: str, metadata: Mapping[str, object]) -> None:
        """Append an entry; a failure is logged and kept as `problem` until a later entry succeeds."""
        metadata = {**facts_of_caller(source), **metadata}
        for observer in self._observers:
            observer(action, metadata)
        try:
            self.log.append(action.name, detail, source=source, metadata=metadata)
        except AuditError as error:
            self.problem = error.sentence()
            self._lost += 1
            log.error(  # noqa: TRY400  # the sentence says it all; a traceback would only hide it
                "an audit entry was lost", extra={"action": action.name, "detail": detail, "reason": self.problem}
            )
        else:
            self.problem = ""
            if self._lost:
                self._report_lost()

    def _report_lost(self) -> None:
        if not self._reporting.acquire(blocking=False):
            return
        try:
            lost = self._lost
            if lost:
                detail = f"{number_of(lost, 'earlier line')} could not be written"
                self.log.append(AUDIT_LOST.name, detail, source=AUDIT.name, metadata={"lost": lost})
                self._lost -= lost
                self.problem = ""
        except AuditError as error:
            self.problem = error.sentence()
        finally:
            self._reporting.release()
