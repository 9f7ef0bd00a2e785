"""What the engine asks a feature about its kind of run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tocsin.core.audit.actions import AuditAction
from tocsin.runs.model import Run
from tocsin.runs.recorder import Work


@dataclass(frozen=True, slots=True)
class RunMessage:
    """A message with the result of a run; `destination` is a profile or `<channel>:<target>`."""

    destination: str
    text: str
    source: str  # of its audit entry


@dataclass(frozen=True, slots=True)
class DelayedRun:
    """A queued run that does not begin before a time."""

    run: Run
    not_before: float


@dataclass(frozen=True, slots=True)
class RunAuditEntry:
    """The audit entry about the end of a run."""

    action: AuditAction
    detail: str
    facts: Mapping[str, object] = field(default_factory=dict)


class RunType:
    """One kind of run. A subclass overrides what its feature does; `request` is what `RunSpec.request` was."""

    kind: ClassVar[str]
    source: ClassVar[str]  # of the audit entry of a run that names none
    queues: ClassVar[bool] = False  # the engine begins queued runs in their turn

    def owns(self, params: Mapping[str, Any]) -> bool:
        """Whether a run with these parameters is of this type, where several features have runs of the kind."""
        return True

    def may_continue(self, run: Run, request: Mapping[str, Any]) -> bool:
        """Whether another process can continue a run that its process leaves."""
        return False

    async def resume(self, run: Run, request: Mapping[str, Any]) -> Work | None:
        """Return the work that continues such a run; `None` lets it end as interrupted."""
        return None

    def retry(self, run: Run, now: float) -> DelayedRun | None:
        """Return the run that follows a failed one; its output and notices then belong to that one."""
        return None

    async def message(self, run: Run, request: Mapping[str, Any]) -> RunMessage | None:
        """Return the message to enqueue about an ended run; it may be asked for more than once."""
        return None

    async def note(self, run: Run, output: str) -> Mapping[str, Any]:
        """Update the feature's tables; return what `entry` and `tell` need, stored as JSON until they are done.

        It is called again if the process dies before that is stored: it writes with `note_once`. `output` is the
        destination of the message, empty if there is none or a target refused it.
        """
        return {}

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry | None:
        """Return the audit entry of an ended run."""
        return None

    async def tell(self, run: Run, noted: Mapping[str, Any]) -> None:
        """Notify the operator; called again with the same `noted` if the process died meanwhile."""
