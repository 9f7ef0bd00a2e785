"""Everything that leaves goes through here, so audit and metrics are written once."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tocsin.channels.contract import Outgoing, Receipt, SendResult
from tocsin.channels.registry import Registry
from tocsin.core.audit_trail import AuditTrail
from tocsin.core.errors import ChannelError, FailureKind, RemoteError, TocsinError
from tocsin.core.text import truncate
from tocsin.delivery.model import Delivery, NewDelivery
from tocsin.messaging.caller import Caller
from tocsin.messaging.outbox import Outbox

if TYPE_CHECKING:
    from tocsin.messaging.profiles import Profiles

__all__ = ["Caller", "Messenger", "NotifyResult", "Observer"]

Observer = Callable[[Receipt], None]

# What an audit line shows of a name that the caller chose: a long one must not push the rest out.
SHOWN = 200


@dataclass(frozen=True, slots=True)
class NotifyResult:
    """The outcome of one fan-out: a send result for every target of the profile, in its order."""

    profile: str
    results: tuple[SendResult, ...]

    @property
    def sent(self) -> int:
        """How many targets got the message."""
        return sum(result.ok for result in self.results)

    @property
    def failed(self) -> int:
        """How many targets did not."""
        return len(self.results) - self.sent

    @property
    def ok(self) -> bool:
        """Whether every target got the message."""
        return self.failed == 0


class Messenger:
    """Sends, tests and fans out; each of these writes exactly one audit entry."""

    def __init__(
        self, registry: Registry, profiles: Callable[[], "Profiles"], audit: AuditTrail, outbox: Outbox
    ) -> None:
        self._registry = registry
        self._profiles = profiles
        self._audit = audit
        self._outbox = outbox
        self._observers: list[Observer] = []

    def observe(self, observer: Observer) -> None:
        """Call `observer` with the receipt of every send from now on."""
        self._observers.append(observer)

    async def send(self, channel: str, target: str, message: str, caller: Caller) -> Receipt:
        """Send one message now; never raises."""
        with self._admitting_interruption("msg.send", f"on {channel} to {target}", caller):
            receipt = await self._transmit(channel, Outgoing(target, message), caller)
        result = receipt.result
        self._record("msg.send", _sentence(result), caller, _facts(receipt))
        return receipt

    async def test(self, channel: str, caller: Caller) -> SendResult:
        """Verify a channel's credentials without sending; never raises."""
        try:
            adapter = self._registry.adapter(channel)
        except TocsinError as error:
            result = SendResult(False, self._registry.kind_of(channel), "", error=error.sentence())
        else:
            result = await adapter.test_connection()
        outcome = result.message if result.ok else f"failed: {result.error}"
        self._record("msg.test", f"{result.channel}: {outcome}", caller, {"channel": result.channel, "ok": result.ok})
        return result

    async def notify(self, profile: str, message: str, caller: Caller) -> NotifyResult:
        """Send to every target of a profile at the same time; raises UnknownProfileError or ConfigError alone."""
        import asyncio

        entries = self._profiles().get(profile).entries
        with self._admitting_interruption("msg.notify", f"to profile {profile}", caller):
            receipts = await asyncio.gather(
                *(self._transmit(entry.channel, Outgoing(entry.target, message), caller) for entry in entries)
            )
        outcome = NotifyResult(profile, tuple(receipt.result for receipt in receipts))
        self._record(
            "msg.notify",
            f"profile {profile}: {outcome.sent} of {len(entries)} targets got the message",
            caller,
            {"profile": profile, "ok": outcome.ok, "targets": [_facts(receipt) for receipt in receipts]},
        )
        return outcome

    async def notify_by_queue(self, profile: str, message: str, caller: Caller) -> NotifyResult:
        """Queue the message for every target of a profile; a target that cannot be sent to is a failed result.

        Raises UnknownProfileError, ConfigError, and what the store raises when nothing was queued.
        """
        prepared: list[NewDelivery | SendResult] = []
        for entry in self._profiles().get(profile).entries:
            try:
                prepared.append(self._outbox.prepare(entry.channel, entry.target, message, caller.source))
            except TocsinError as error:
                prepared.append(SendResult(False, entry.channel, entry.target, error=error.sentence()))
        accepted = iter(
            await self._outbox.enqueue([item for item in prepared if isinstance(item, NewDelivery)], caller)
        )
        results = [item if isinstance(item, SendResult) else _queued(next(accepted)) for item in prepared]
        return NotifyResult(profile, tuple(results))

    async def _transmit(self, channel: str, outgoing: Outgoing, caller: Caller) -> Receipt:
        try:
            adapter = self._registry.adapter(channel)
        except TocsinError as error:
            failure = error if isinstance(error, RemoteError) else ChannelError(str(error), provider_code=error.code)
            kind = self._registry.kind_of(channel)
            receipt = Receipt(SendResult(False, kind, outgoing.target, error=error.sentence()), failure=failure)
        else:
            receipt = await adapter.transmit(outgoing)
            await self._outbox.keep(outgoing, receipt, caller.source)
        for observer in self._observers:
            observer(receipt)
        return receipt

    @contextmanager
    def _admitting_interruption(self, action: str, where: str, caller: Caller) -> Iterator[None]:
        """Write the entry of a send that is cut off, at the end of the service: it may have gone out."""
        from asyncio import CancelledError

        try:
            yield
        except CancelledError:
            detail = f"interrupted {truncate(where, SHOWN)}: outcome unknown"
            self._record(action, detail, caller, {"ok": False, "error_class": str(FailureKind.AMBIGUOUS)})
            raise

    def _record(self, action: str, detail: str, caller: Caller, facts: Mapping[str, object]) -> None:
        self._audit.record(action, detail, source=caller.source, metadata={**facts, **caller.facts})


def _queued(delivery: Delivery) -> SendResult:
    return SendResult(True, delivery.channel, delivery.target, message=f"delivery={delivery.id}")


def _sentence(result: SendResult) -> str:
    to = f"{truncate(result.channel, SHOWN)} to {truncate(result.target, SHOWN)}"
    outcome = f"({result.message})" if result.ok else f": {truncate(result.error, 5 * SHOWN)}"
    return f"sent on {to} {outcome}" if result.ok else f"not sent on {to}{outcome}"


def _facts(receipt: Receipt) -> dict[str, object]:
    """Return what an audit line says of one send; the text of the message is nobody's business there."""
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
    return facts
