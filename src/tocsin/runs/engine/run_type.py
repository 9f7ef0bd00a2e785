"""The interface through which the engine asks a feature about its kind of run."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tocsin.core.audit.actions import AuditAction
from tocsin.core.text.measures import escaped_code_points, utf16_units
from tocsin.core.text.strings import truncate
from tocsin.core.text.visible import one_line
from tocsin.runs.engine.overlap import StartPolicy
from tocsin.runs.model import FAILING, LOG_MAX_BYTES, SUCCESSFUL, Run
from tocsin.runs.queue import QueuedRow
from tocsin.runs.recorder import Work

_MAX_TITLE = 250  # docs/messages.md
# A message with a button is one message, because a press edits it: Slack and Telegram take 4,000, of which escapes and
# the title have a share. A longer text has no button, so that all of it is shown.
_MAX_WITH_BUTTON = 3_800
RETRY = "retry"  # the name of the button that repeats a run


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunMessage:
    """A message with the result of a run.

    `destination` is a profile or `<channel>:<target>`; `content` has the other fields of the message.
    """

    destination: str
    text: str
    source: str  # the source of its audit entry
    content: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def about(cls, run: Run, destination: str, text: str, source: str, public_url: str) -> "RunMessage":
        """Return the message about an ended run: the first line of `text` is its title, and its page is its link."""
        title, _, rest = text.partition("\n")
        content: dict[str, Any] = {
            "title": truncate(one_line(title), _MAX_TITLE),
            "type": "success" if run.status in SUCCESSFUL else "failure",
        }
        page = {"url": f"{public_url}/#/runs/{run.id}"} if public_url else {}
        if page:
            content["click"] = page["url"]
        if run.status in FAILING and max(escaped_code_points(text), utf16_units(text)) <= _MAX_WITH_BUTTON:
            content["actions"] = [{"action": "call", "label": "Retry", "name": RETRY, "value": run.id, **page}]
        return cls(destination, rest.strip("\n"), source, content)


def message_key(run: Run) -> str:
    """Return the idempotency key of the message about a run; a number for each target follows it."""
    return f"{run.kind}:{run.id}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DelayedRun:
    """A queued run that does not begin before a time."""

    run: Run
    not_before: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunAuditEntry:
    """The audit entry about the end of a run."""

    action: AuditAction
    detail: str
    facts: Mapping[str, object] = field(default_factory=dict)


class RunType:
    """A kind of run; subclasses override the methods that their feature needs.

    `request` is the value of `RunSpec.request`.
    """

    kind: ClassVar[str]
    source: ClassVar[str]  # the audit source for runs that specify none

    def owns(self, params: Mapping[str, Any]) -> bool:
        """Whether a run with these parameters has this type, if several features have runs of the same kind."""
        return True

    def may_continue(self, run: Run, request: Mapping[str, Any]) -> bool:
        """Whether another process can continue a run whose process has stopped."""
        return False

    async def resume(self, run: Run, request: Mapping[str, Any]) -> Work | None:
        """Return the work that continues such a run, or starts a queued one; `None` ends it as interrupted."""
        return None

    def start_policy(self, queued: QueuedRow) -> StartPolicy:
        """Return when a queued run begins."""
        return StartPolicy()

    def log_max_bytes(self, run: Run) -> int:
        """Return how much of the output of a queued or continued run is kept."""
        return LOG_MAX_BYTES

    def retry(self, run: Run, now: float) -> DelayedRun | None:
        """Return the retry of a failed run, which then delivers the output and the notices instead."""
        return None

    async def message(self, run: Run, request: Mapping[str, Any]) -> RunMessage | None:
        """Return the message to enqueue for an ended run; may be called more than once."""
        return None

    async def note(self, run: Run, output: str) -> Mapping[str, Any]:
        """Update the feature's tables; return the data for `entry` and `tell`, stored as JSON until they are done.

        Called again if the process dies before the data is stored, so it must write with `note_once`. `output` is the
        destination of the message, empty if there is none or if a target refused it.
        """
        return {}

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry | None:
        return None

    async def tell(self, run: Run, noted: Mapping[str, Any]) -> None:
        """Notify the operator; called again with the same `noted` if the process died meanwhile."""
