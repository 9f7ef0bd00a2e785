"""The outcomes of sends, and what the audit log says of them."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tocsin.channels.contract import Receipt, SendResult
from tocsin.core.errors import RemoteError, TocsinError
from tocsin.core.text.strings import truncate
from tocsin.delivery.model import Delivery
from tocsin.messaging.outbound.outbox import may_be_out

if TYPE_CHECKING:
    from tocsin.channels.dressing import MessagePlan

# Characters of a caller's name in an audit line, so that a long one leaves room for the rest.
SHOWN = 200


@dataclass(frozen=True, slots=True)
class NotifyResult:
    """The outcome of one fan-out: a send result per target of the profile, in its order."""

    profile: str
    results: tuple[SendResult, ...]
    failures: tuple[RemoteError | None, ...] = ()  # of each result of a direct fan-out

    @property
    def sent(self) -> int:
        """The number of targets that received the message."""
        return sum(result.ok for result in self.results)

    @property
    def failed(self) -> int:
        """The number of targets that did not."""
        return len(self.results) - self.sent

    @property
    def ok(self) -> bool:
        """Whether every target received the message."""
        return self.failed == 0


@dataclass(frozen=True, slots=True)
class PlannedTarget:
    """The preview of a message for one target, or why it would be refused."""

    channel: str
    target: str
    plan: "MessagePlan | TocsinError"
    skipped: str = ""  # why the profile leaves the target out


def with_id(receipt: Receipt, id_: str) -> Receipt:
    """Return `receipt` with the id of its record; dataclasses.replace takes four times as long."""
    tries, ref, text_sent = (receipt.attempts, receipt.duration_ms), receipt.ref, receipt.text_sent
    parts = receipt.parts_sent, receipt.parts_total
    return Receipt(receipt.result, *parts, *tries, receipt.failure, id_, receipt.provider_id, ref, text_sent)


def with_position(result: SendResult, place: str) -> SendResult:
    """Return a result whose error begins with the position of the mistake in the file."""
    return replace(result, error=f"{place}{result.error}") if place else result


def queued_result(delivery: Delivery) -> SendResult:
    """Return the result of a message that was queued."""
    return SendResult(True, delivery.channel, delivery.target, message=f"delivery={delivery.id}")


def outcome_of(receipt: Receipt) -> tuple[str, str]:
    """Return the parts of an audit line before and after the target."""
    result = receipt.result
    if result.ok:
        return "sent", f" ({result.message})"
    return "perhaps sent" if may_be_out(receipt) else "not sent", f": {truncate(result.error, 5 * SHOWN)}"


def facts_of(receipt: Receipt) -> dict[str, object]:
    """Return the audit metadata of one send, without the message's text (docs/decisions/0008)."""
    result = receipt.result
    facts: dict[str, object] = {
        "channel": truncate(result.channel, SHOWN),
        "target": truncate(result.target, SHOWN),
        "ok": result.ok,
        "attempts": receipt.attempts,
        "duration_ms": receipt.duration_ms,
    }
    if receipt.failure:
        facts["error_class"] = str(receipt.failure.kind)
        if receipt.delivery:
            facts["delivery"] = receipt.delivery
    return facts
