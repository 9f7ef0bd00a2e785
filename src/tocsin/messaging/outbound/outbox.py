"""The durable queue's interface: queue messages, record direct sends, replay, retry and cancel."""

import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tocsin.channels.action_tokens import with_secret
from tocsin.channels.attempt import to_failure
from tocsin.channels.contract import NO_CONTENT, OutboundAdapter, Outgoing, Receipt, SendResult
from tocsin.channels.model import Support, with_key
from tocsin.channels.registry import Registry
from tocsin.core.audit.actions import AuditAction
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import ChannelError, ConfigError, FailureKind, TocsinError, TooManyPartsError
from tocsin.core.ids import new_id
from tocsin.core.text.strings import normalise, truncate
from tocsin.core.time.clock import Clock
from tocsin.core.tracing.spans import SpanKind, current_tracer, span, stored_traceparent
from tocsin.delivery.keyed import KeyedReceipt, Transmit, encode_ref, find_keyed, last_keyed, thread_of, transmit_keyed
from tocsin.delivery.model import (
    CONTENT,
    OPEN,
    AttemptOutcome,
    Delivery,
    DeliveryStatus,
    MessageOperation,
    NewDelivery,
    Policy,
)
from tocsin.delivery.short_ids import whole_id
from tocsin.delivery.store import DeliveryStore
from tocsin.messaging.outbound.audit_actions import (
    MSG_CANCEL,
    MSG_DISMISS,
    MSG_QUEUE,
    MSG_REPLAY,
    MSG_RETRY,
    QUEUE,
    record_send,
)
from tocsin.messaging.outbound.caller import Caller

if TYPE_CHECKING:
    from tocsin.channels.dressing import MessagePlan

    # Sending needs nothing of the receiving side, which takes 4 ms to import.
    from tocsin.messaging.inbound.handling import Reply

# The first characters of an id are its time in milliseconds (RFC 9562).
_TIME_OF_ID = 13
_NOTED = 1_000  # recent deliveries with a key; fewer than this are queued during one call

# Appended to a shortened reply.
CUT = "\n\n[shortened: the full text would need {parts:,} messages; the limit is {limit:,} (MAX_PARTS)]"

# Characters of foreign text in an audit line.
SHOWN = 200

log = logging.getLogger(__name__)


class Outbox:
    """Accepts messages for the queue; a returned delivery is durable."""

    def __init__(
        self,
        store: DeliveryStore,
        registry: Registry,
        audit: AuditTrail,
        clock: Clock,
        *,
        observers: Sequence[Callable[[Receipt], None]] = (),
    ) -> None:
        """`observers` receive the receipt of every attempt that the queue makes in this process."""
        self.store = store
        self.channels = registry
        self._audit = audit
        self.clock = clock
        self._observers = observers
        self._noted: deque[str] = deque(maxlen=_NOTED)
        self._wakers: list[Callable[[], None]] = []

    def on_queued(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever this process changes the queue."""
        self._wakers.append(wake)

    def kind_of(self, channel: str) -> str:
        """Return the channel kind of a name or alias."""
        return self.channels.kind_of(channel)

    def count_parts(self, channel: str, target: str, message: str) -> int:
        """Return the number of messages that a text would be split into; raises like `prepare`."""
        return len(self.channels.adapter(channel).check(Outgoing(target, message))[1])

    def plan(
        self, channel: str, target: str, message: str, *, parse_mode: str = "", content: Mapping[str, Any] = NO_CONTENT
    ) -> "MessagePlan":
        """Return what a message would become, without sending it; raises like `prepare`."""
        outgoing = Outgoing(target, message, parse_mode=parse_mode, content=content)
        return self.channels.adapter(channel).dresser.plan(with_key(outgoing))

    def prepare(
        self,
        channel: str,
        target: str,
        message: str,
        source: str,
        policy: str = "",
        *,
        parse_mode: str = "",
        content: Mapping[str, Any] = NO_CONTENT,
    ) -> NewDelivery:
        """Check a message as a direct send does, and return the message to queue.

        Raises UnknownChannelError, or ChannelError when target or text cannot be sent.
        """
        return self.prepare_outgoing(
            channel, Outgoing(target, message, parse_mode=parse_mode, content=content), source, policy
        )

    def prepare_outgoing(self, channel: str, outgoing: Outgoing, source: str, policy: str = "") -> NewDelivery:
        """Check a message with extras like `prepare`, and return the message to queue."""
        adapter, outgoing = self.channels.adapter(channel), with_secret(outgoing)
        try:
            checked, _ = adapter.check(with_key(outgoing))
        except TocsinError:
            raise
        except Exception as error:  # the channel's code; a direct send also turns this into a result
            log.exception("adapter raised an unexpected error")
            reason = f"unexpected {type(error).__name__}"
            raise ChannelError(reason, hint="this is a bug; see the log for details") from None
        usual = Policy.AT_MOST_ONCE if adapter.spec.at_most_once else Policy.AT_LEAST_ONCE
        if policy and policy not in set(Policy):
            raise ConfigError(f"unknown policy {policy[:50]!r}", hint=f"choose from {', '.join(Policy)}")
        chosen = Policy(policy) if policy else usual
        text, mode, extra = normalise(outgoing.text), outgoing.parse_mode, _stored_extra(outgoing, adapter)
        if not (content := extra.get(CONTENT, NO_CONTENT)):
            return NewDelivery(adapter.spec.kind, checked, text, source, policy=chosen, parse_mode=mode, extra=extra)
        ttl = content.get("ttl", 0)
        return NewDelivery(
            adapter.spec.kind,
            checked,
            text,
            source,
            policy=chosen,
            parse_mode=mode,
            expires_at=self.clock.now() + ttl if ttl else None,
            extra=extra,
            key=content.get("key", ""),
            thread=content.get("thread", ""),
        )

    def prepare_withdrawal(self, channel: str, target: str, key: str, source: str) -> NewDelivery:
        """Return the delivery that withdraws the message of a key.

        Raises UnknownChannelError, or ChannelError for an invalid target or key, and if the channel cannot withdraw.
        """
        adapter = self.channels.adapter(channel)
        checked, _ = adapter.check(Outgoing(target, "withdraw", content={"key": key}))
        if not key or adapter.spec.ability("withdraw").support is Support.REFUSED:
            raise ChannelError(
                f"{adapter.spec.label} cannot withdraw a message" if key else "the key is empty",
                hint="send a correction instead" if key else "use the key that the message was sent with",
            )
        return NewDelivery(adapter.spec.kind, checked, "", source, key=key, operation=MessageOperation.WITHDRAW)

    async def enqueue(self, new: Sequence[NewDelivery], caller: Caller) -> list[Delivery]:
        """Queue prepared messages, all or none; write one audit entry per message."""
        before = new_id()[:_TIME_OF_ID]
        accepted = await (self._enqueue_traced(new) if current_tracer() else self.store.enqueue_many(new))
        for delivery in (delivery for delivery in accepted if self._is_new(delivery, before)):
            facts = {"delivery": delivery.id, "channel": delivery.channel, "target": delivery.target}
            detail = f"queued on {delivery.channel} to {delivery.target}"
            self._audit.record(MSG_QUEUE, detail, source=caller.source, metadata={**facts, **caller.facts})
        self._wake()
        return accepted

    async def _enqueue_traced(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        """Store deliveries, each with a span of its own, whose trace the attempts continue."""
        spans = [
            span("queue message", SpanKind.PRODUCER, parent=stored_traceparent(item.extra), channel=item.channel)
            for item in new
        ]
        with ExitStack() as stack:
            for each in spans:
                stack.enter_context(each)
            traced = [item.with_traceparent(each.traceparent) for item, each in zip(new, spans, strict=True)]
            accepted = await self.store.enqueue_many(traced)
            for each, delivery in zip(spans, accepted, strict=True):
                each.set(delivery=delivery.id)
            return accepted

    async def queue_replies(
        self, channel: str, target: str, replies: "Sequence[Reply]", key: str, caller: Caller
    ) -> list[Delivery]:
        """Queue texts for a chat, in order, all or none; the same `key` queues them once, within 24 hours.

        A text too long for MAX_PARTS is shortened, with a note, because a person waits for it. Raises
        UnknownChannelError, ChannelError for a text that cannot be sent, and the store's errors.
        """
        outgoing = [Outgoing(target, reply.text, parse_mode=reply.parse_mode, extra=reply.extra) for reply in replies]
        return await self.queue_outgoing(channel, outgoing, key, caller)

    async def queue_outgoing(
        self, channel: str, outgoing: Sequence[Outgoing], key: str, caller: Caller
    ) -> list[Delivery]:
        """Queue messages with their fields; the rest is as in `queue_replies`."""
        prepared = [self._prepare_reply(channel, item, caller.source) for item in outgoing]
        new = [item.with_terms(None, None, f"{key}:{number}") for number, item in enumerate(prepared)]
        return await self.enqueue(new, caller)

    def _prepare_reply(self, channel: str, reply: Outgoing, source: str) -> NewDelivery:
        """Prepare a reply, shortened if it would become too many messages."""
        text, note, room = reply.text, "", len(reply.text)
        while True:
            try:
                return self.prepare_outgoing(channel, reply, source)
            except TooManyPartsError as error:
                note = note or CUT.format(parts=error.parts, limit=error.limit)
                room = min(room * 9 // 10, room * error.limit // error.parts)
                if not room:
                    raise
                reply = replace(reply, text=truncate(text, room, ellipsis="") + note)

    def _is_new(self, delivery: Delivery, before: str) -> bool:
        """Whether `delivery` was queued after `before`; with a known key, it was queued and audited earlier."""
        if delivery.idempotency_key is None:
            return True
        if delivery.id[:_TIME_OF_ID] < before or delivery.id in self._noted:
            return False
        self._noted.append(delivery.id)  # the same key may occur twice at the same time, and in one call
        return True

    async def cancel_waiting(self, withdrawal: NewDelivery, caller: Caller) -> int:
        """Cancel the waiting deliveries of the key of a withdrawal; return how many there were."""
        found = await find_keyed(self.store, withdrawal.channel, withdrawal.target, withdrawal.key)
        cancelled = [each for each in found if each.operation is not MessageOperation.WITHDRAW]
        for delivery in cancelled:
            await self.cancel(delivery.id, caller)
        return len(cancelled)

    async def with_thread(self, kind: str, outgoing: Outgoing) -> Outgoing:
        """Return the message with the first one of its thread; raises what the store raises."""
        name = str(outgoing.content.get("thread", ""))
        root = await self.store.thread_root(kind, normalise(outgoing.target), name)
        return replace(outgoing, thread=thread_of(name, root))

    async def transmit_now(
        self, adapter: OutboundAdapter, outgoing: Outgoing, operation: MessageOperation, transmit: Transmit
    ) -> KeyedReceipt:
        """Send, edit or withdraw the message of a key directly; never raises, except when cancelled."""
        kind, key = adapter.spec.kind, str(outgoing.content.get("key", ""))
        try:
            if operation is MessageOperation.WITHDRAW:
                new = self.prepare_withdrawal(kind, outgoing.target, key, "")
            else:
                new = self.prepare_outgoing(kind, outgoing, "")
            delivery = new.accepted(self.clock.now())
            found = await last_keyed(self.store, kind, delivery.target, key)
        except TocsinError as error:
            failure = to_failure(error, adapter.spec.how_to_install)
            result = SendResult(False, kind, outgoing.target, error=error.sentence())
            return KeyedReceipt(Receipt(result, failure=failure), operation)
        return await transmit_keyed(delivery, replace(outgoing, target=delivery.target), found, adapter, transmit)

    async def keep(
        self, outgoing: Outgoing, receipt: Receipt, source: str, id: str, keyed: KeyedReceipt | None = None
    ) -> bool:
        """Record the outcome of a direct send, once per `id`; return whether it is recorded.

        Never raises: the message is sent already.
        """
        try:
            finished = self._finished(outgoing, receipt, source, id)
            if (thread := outgoing.content and outgoing.content.get("thread")) or receipt.text_sent:
                finished = replace(finished, thread=thread or "", ref=encode_ref(receipt))
            if keyed:
                key, revision = outgoing.content["key"], keyed.revision if receipt.result.ok else 0
                finished = replace(
                    finished,
                    key=key,
                    operation=keyed.operation,
                    revision=revision,
                    note=receipt.result.message,
                    ref=keyed.ref,
                ).keeping(keyed.files)
            await self.store.record(finished)
        except Exception as error:  # noqa: BLE001  # the message is out: whatever fails now must not fail the send
            reason = {"reason": str(error)}
            log.error("a direct send could not be recorded", extra=reason)  # noqa: TRY400  # the reason says it all
            return False
        return True

    def _finished(self, outgoing: Outgoing, receipt: Receipt, source: str, id_: str) -> Delivery:
        now = self.clock.now()
        result = receipt.result
        return Delivery(
            id=id_,
            channel=result.channel,
            target=normalise(result.target),
            message=normalise(outgoing.text),
            source=source,
            status=_status(receipt),
            policy=Policy.AT_MOST_ONCE,
            created_at=now - receipt.duration_ms / 1000,
            attempts=receipt.attempts,
            parse_mode=outgoing.parse_mode,
            extra=_stored_extra(outgoing),
            parts_sent=receipt.parts_sent,
            parts_total=receipt.parts_total,
            provider_id=receipt.provider_id,
            error=result.error,
            error_class=str(receipt.failure.kind) if receipt.failure else "",
            finished_at=now,
            duration_ms=receipt.duration_ms,
            dismissed=not result.ok,  # the caller has the result
        )

    async def get(self, id: str) -> Delivery:
        """Return one delivery; here and below, `id` may be a short ID."""
        return await self.store.get(await whole_id(self.store, id))

    async def replay(self, id: str, caller: Caller) -> Delivery:
        """Queue a finished, unsent delivery again."""
        delivery = await self.store.replay(await whole_id(self.store, id))
        self._note(MSG_REPLAY, delivery, caller)
        self._wake()
        return delivery

    async def dismiss(self, id: str, caller: Caller) -> Delivery:
        """Mark a delivery that ended unsent as no longer needing a person."""
        delivery = await self.store.dismiss(await whole_id(self.store, id))
        self._note(MSG_DISMISS, delivery, caller)
        return delivery

    async def retry(self, id: str, caller: Caller) -> Delivery:
        """Retry a waiting delivery now."""
        delivery = await self.store.retry(await whole_id(self.store, id))
        self._note(MSG_RETRY, delivery, caller)
        self._wake()
        return delivery

    async def cancel(self, id: str, caller: Caller) -> Delivery:
        """Cancel a waiting delivery."""
        delivery = await self.store.cancel(await whole_id(self.store, id))
        self._note(MSG_CANCEL, delivery, caller)
        self._wake()  # the next delivery of its target may start
        return delivery

    def record_attempt(self, delivery: Delivery, receipt: Receipt, outcome: AttemptOutcome) -> None:
        """Notify observers of an attempt of the queue; if it ended the delivery, write the audit entry."""
        for observer in self._observers:
            observer(receipt)
        if outcome.status in OPEN:
            return
        said = receipt.result.message or truncate(outcome.error, SHOWN)
        status = str(outcome.status)
        facts = {
            "delivery": delivery.id,
            "channel": delivery.channel,
            "target": delivery.target,
            "ok": receipt.result.ok,
            "status": status,
            "attempts": delivery.attempts,
        }
        record_send(self._audit, status, f" ({said})", source=QUEUE.name, metadata=facts)

    def _wake(self) -> None:
        for wake in self._wakers:
            wake()

    def _note(self, action: AuditAction, delivery: Delivery, caller: Caller) -> None:
        facts = {"delivery": delivery.id, "channel": delivery.channel, "target": delivery.target}
        detail = f"delivery {delivery.id} on {delivery.channel} to {delivery.target}"
        self._audit.record(action, detail, source=caller.source, metadata={**facts, **caller.facts})


def _stored_extra(outgoing: Outgoing, adapter: OutboundAdapter | None = None) -> Mapping[str, Any]:
    """Return the extras of a message with its content, as a delivery stores them."""
    if not outgoing.content:
        return outgoing.extra
    content = adapter.dresser.read(outgoing.content) if adapter else None
    return {**outgoing.extra, CONTENT: content.as_stored() if content else dict(outgoing.content)}


def _status(receipt: Receipt) -> DeliveryStatus:
    if receipt.result.ok:
        return DeliveryStatus.SENT
    return DeliveryStatus.UNCERTAIN if may_be_out(receipt) else DeliveryStatus.DEAD


def may_be_out(receipt: Receipt) -> bool:
    """Whether a failed send may have reached the target."""
    return receipt.failure is not None and receipt.failure.kind is FailureKind.AMBIGUOUS
