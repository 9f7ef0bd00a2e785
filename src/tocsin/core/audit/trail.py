"""The audit log as the rest of the program uses it: a failure to record never stops the recorded work."""

import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import NamedTuple

from tocsin.core.audit.actions import AuditAction
from tocsin.core.audit.log import AuditError, AuditLog

log = logging.getLogger(__name__)

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
        self.problem = ""  # why the last entry could not be written; health checks report it
        self._observers: list[OnRecord] = []

    def observe(self, observer: OnRecord) -> None:
        """Call `observer` with action and metadata of every later entry."""
        self._observers.append(observer)

    def record(self, action: AuditAction, detail: str, *, source: str, metadata: Mapping[str, object]) -> None:
        """Append an entry; a failure is logged and kept as `problem` until a later entry succeeds."""
        metadata = {**facts_of_caller(source), **metadata}
        for observer in self._observers:
            observer(action, metadata)
        try:
            self.log.append(action.name, detail, source=source, metadata=metadata)
        except AuditError as error:
            self.problem = error.sentence()
            log.error(  # noqa: TRY400  # the sentence says it all; a traceback would only hide it
                "an audit entry was lost", extra={"action": action.name, "detail": detail, "reason": self.problem}
            )
        else:
            self.problem = ""
