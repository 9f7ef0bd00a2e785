"""Claim due deliveries from the store, send them, and record the outcomes.

Any number of dispatchers may run concurrently, in one process or in many: the store gives each lane to one of them.
"""

import asyncio
import json
import logging
import os
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from random import random

from tocsin.channels.attempt import Progress
from tocsin.channels.contract import OutboundAdapter, Outgoing, Receipt, SendResult
from tocsin.channels.model import NO_REF, HeldError, UnknownAttempt
from tocsin.channels.registry import Registry
from tocsin.core.errors import ChannelError, FailureKind, TocsinError
from tocsin.core.ids import new_id
from tocsin.core.service import BACK_OFF_S, ServiceLoop
from tocsin.core.time.clock import Clock
from tocsin.core.time.ratelimit import SHARE
from tocsin.core.tracing.spans import SpanKind, span, stored_traceparent
from tocsin.delivery.keyed import KeyedReceipt, choose_operation, encode_ref, last_keyed, thread_of, transmit_keyed
from tocsin.delivery.model import (
    HEARTBEAT_S,
    AttemptOutcome,
    Delivery,
    DeliveryStatus,
    Failure,
    MessageOperation,
    Policy,
    judge,
)
from tocsin.delivery.store import ChannelRules, DeliveryStore

log = logging.getLogger(__name__)

OnAttempt = Callable[[Delivery, Receipt, AttemptOutcome], None]

# How soon a dispatcher notices deliveries that another process queued; each look is one small read.
POLL_S = 0.25
SLOTS = 64  # per channel, so that a channel that hangs takes no slots of another one
# Avoid a busy loop: the wait before due deliveries held by a rate are looked at again.
LEAST_WAIT_S = 0.01
# The longest wait between two parts; for longer ones, the lane is released with its progress.
LONGEST_PAUSE_S = 30.0
# The grace period for running sends at a stop; no lease ends before (LEASE_S - HEARTBEAT_S).
DRAIN_S = 5.0


class InterruptedSendError(TocsinError):
    """The send was interrupted between two parts."""

    code = "send-interrupted"


@dataclass(slots=True)
class InFlightDelivery:
    """A delivery that is being sent."""

    delivery: Delivery
    task: asyncio.Task[None] | None = None
    parts_sent: int = 0
    parts_total: int = 0
    ref: str = ""  # JSON; of the first part, for later ones
    lost: bool = False  # another worker has taken it over; this one must stop
    interrupted: bool = False  # no part is in flight: the delivery can be released
    finishing: bool = False  # the outcome is known, but not recorded yet
    operation: MessageOperation = MessageOperation.SEND
    keyed: KeyedReceipt | None = None  # of a delivery with a key
    looked: bool = False  # for what an earlier attempt may have sent


class Dispatcher:
    """Sends deliveries until it is stopped."""

    def __init__(
        self,
        store: DeliveryStore,
        registry: Registry,
        clock: Clock,
        *,
        slots: int = SLOTS,
        on_attempt: OnAttempt | None = None,
    ) -> None:
        """`on_attempt` receives the receipt and the outcome of every attempt."""
        self.worker = f"{socket.gethostname()}:{os.getpid()}:{new_id()[-8:]}"
        self._store = store
        self._registry = registry
        self._clock = clock
        self._slots = slots
        self._on_attempt = on_attempt
        self._rules: dict[str, ChannelRules] = {}
        self._changes = 0  # of the registry, when the rules were loaded
        self._running: dict[str, InFlightDelivery] = {}
        self._renew_at = 0.0  # monotonic
        self._loop = ServiceLoop("the dispatcher", self._step, clock, on_failure=_step_failed, drain_s=DRAIN_S)

    def wake(self) -> None:
        """Look for work immediately, because something was queued in this process."""
        self._loop.wake()

    def stop(self) -> None:
        """Claim nothing more; `run` returns when all running sends have finished, or after `DRAIN_S`."""
        self._loop.stop()

    async def run(self) -> None:
        """Send until `stop`; retry a failing store with exponential back-off."""
        self._rules = self._load_rules()
        await self._loop.run()

    def _load_rules(self) -> dict[str, ChannelRules]:
        """Return the rules of every channel that can send; deliveries of other channels stay queued."""
        rules = {}
        self._changes = self._registry.changes
        for kind in self._registry.configured():
            try:
                rules[kind] = channel_rules(self._registry.adapter(kind))
            except TocsinError as error:
                _report("the deliveries of a channel remain queued", error, logging.ERROR, channel=kind)
        return rules

    async def _step(self) -> float:
        """Start the deliveries that are due; return the number of seconds until more can be due."""
        await self._renew()
        if self._changes != self._registry.changes:
            self._rules = self._load_rules()
        busy = Counter(sending.delivery.channel for sending in self._running.values())
        # Channels without a free slot are left out of the next claim, so that their backlog does not hold up other
        # channels.
        rules = {kind: rule for kind, rule in self._rules.items() if busy[kind] < self._slots}
        if self._rules and not rules:
            return POLL_S
        next_s = await self._store.seconds_to_next(rules)
        if next_s is None or next_s > 0:
            return POLL_S if next_s is None else min(next_s, POLL_S)
        free = self._slots - max((busy[kind] for kind in rules), default=0)
        claimed = await self._store.claim_due(self.worker, free, rules)
        if self._loop.stopping:
            await self._store.release(self.worker, [delivery.id for delivery in claimed])
            return 0.0
        for delivery in claimed:
            sending = InFlightDelivery(delivery, None, delivery.parts_sent, delivery.parts_total)
            self._running[delivery.id] = sending
            sending.task = self._loop.start(self._deliver(sending), name=f"delivery {delivery.id}")
        return 0.0 if claimed else LEAST_WAIT_S

    async def _renew(self) -> None:
        """Renew the leases of running sends if that is due; cancel sends whose lease was lost.

        Must run before every claim: after a long stall, a claim would treat this worker's own deliveries as abandoned.
        """
        now = self._clock.monotonic()
        if now < self._renew_at:
            return
        ids = list(self._running)
        held = await self._store.renew(self.worker, ids) if ids else set()
        self._renew_at = now + HEARTBEAT_S
        for id_ in set(ids) - held:
            sending = self._running.get(id_)
            if sending and sending.task and not sending.finishing:
                log.warning("a lease was lost; the send was stopped", extra={"delivery": id_})
                sending.task.cancel()

    async def _deliver(self, sending: InFlightDelivery) -> None:
        """Make one attempt and record it; never raises, because an exception would end all other deliveries."""
        delivery = sending.delivery
        facts = {"channel": delivery.channel, "delivery": delivery.id, "attempt": delivery.attempts}
        parent = stored_traceparent(delivery.extra)
        try:
            with span("deliver message", SpanKind.CONSUMER, parent=parent, **facts) as attempt:
                receipt = await self._send(sending)
                if sending.lost:
                    log.warning("another worker took over a delivery", extra={"delivery": delivery.id})
                elif sending.interrupted:
                    await self._store.release(self.worker, [delivery.id])
                else:
                    outcome = self._judge(sending, receipt)
                    attempt.set(outcome=outcome.status)
                    if outcome.error_class:
                        attempt.fail(outcome.error_class)
                    self._notify(delivery, receipt, outcome)
                    await self._finish(sending, outcome)
        except Exception as error:  # noqa: BLE001  # its lease ends, and it is found again
            _report("the result of a delivery could not be stored", error, logging.ERROR, delivery=delivery.id)
        finally:
            if self._running.get(delivery.id) is sending:
                del self._running[delivery.id]

    async def _send(self, sending: InFlightDelivery) -> Receipt:
        delivery = sending.delivery

        async def between_parts(progress: Progress) -> None:
            await self._between_parts(sending, progress)

        outgoing = Outgoing(
            delivery.target,
            delivery.message,
            delivery.id,
            delivery.parse_mode,
            delivery.parts_sent,
            delivery.parts_total,
            delivery.extra,
            delivery.content,
            ref=json.loads(delivery.ref) if delivery.ref and delivery.parts_sent else NO_REF,
        )
        adapter = self._registry.adapter(delivery.channel)
        if delivery.error_class == FailureKind.AMBIGUOUS and adapter.finds_sent():
            held = delivery.policy is Policy.AT_MOST_ONCE
            sending.looked = True
            outgoing = replace(outgoing, unknown=UnknownAttempt(delivery.created_at, held=held))
        if delivery.thread:
            root = await self._store.thread_root(delivery.channel, delivery.target, delivery.thread)
            outgoing = replace(outgoing, thread=thread_of(delivery.thread, root))
        try:
            if delivery.key:
                return await self._send_keyed(sending, outgoing, adapter)
            return await adapter.transmit(outgoing, patient=False, between_parts=between_parts)
        except (asyncio.CancelledError, SystemExit, GeneratorExit) as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # This task was not cancelled: the channel's code raised the exception, and only subclasses of `Exception`
            # are caught there.
            return _unknown_outcome(sending, error)

    async def _send_keyed(self, sending: InFlightDelivery, outgoing: Outgoing, adapter: OutboundAdapter) -> Receipt:
        """Send, edit or withdraw the message of a key, which no other delivery of the lane changes meanwhile."""
        delivery = sending.delivery
        found = await last_keyed(self._store, delivery.channel, delivery.target, delivery.key)
        sending.operation = choose_operation(delivery, found[0], adapter)
        if sending.operation is not delivery.operation:
            sending.lost = not await self._store.begin_change(self.worker, delivery.id, sending.operation)
            if sending.lost:
                return Receipt(SendResult(False, delivery.channel, delivery.target))

        async def transmit(one: Outgoing) -> Receipt:
            return await adapter.transmit(one, patient=False)

        sending.keyed = await transmit_keyed(delivery, outgoing, found, adapter, transmit)
        return sending.keyed.receipt

    async def _between_parts(self, sending: InFlightDelivery, progress: Progress) -> None:
        """Record the progress and wait for the rate; raise if sending must not continue."""
        sending.parts_sent, sending.parts_total = progress.sent, progress.total
        # Later parts with files refer to the first one, whose ID an attempt after a crash would not know.
        sending.ref = json.dumps(dict(progress.ref)) if progress.total > progress.texts else ""
        sending.lost = not await self._record_progress(sending)
        if not sending.lost and not self._loop.stopping:
            wait_s = await self._pace(sending.delivery)
            sending.interrupted = wait_s > LONGEST_PAUSE_S
            if not sending.interrupted:
                await self._clock.sleep(wait_s)
        sending.interrupted = sending.interrupted or self._loop.stopping
        if sending.lost or sending.interrupted:
            # `transmit` returns this as a failure, which is discarded.
            raise InterruptedSendError("the send was stopped between two parts")

    async def _record_progress(self, sending: InFlightDelivery) -> bool:
        """Record the progress; return False if another worker has taken the delivery over."""
        try:
            return await self._store.progress(
                self.worker, sending.delivery.id, sending.parts_sent, sending.parts_total, sending.ref
            )
        except TocsinError as error:
            _report("the progress of a delivery could not be stored", error, logging.WARNING)
            return True  # the part is sent already; the outcome will record it

    async def _pace(self, delivery: Delivery) -> float:
        rules = self._rules[delivery.channel]
        try:
            return await self._store.pace(delivery.channel, delivery.target, rules)
        except TocsinError:
            rate = rules.target_rate
            return rate.interval_s / SHARE if rate else 0.0

    def _notify(self, delivery: Delivery, receipt: Receipt, outcome: AttemptOutcome) -> None:
        if self._on_attempt is None:
            return
        try:
            self._on_attempt(delivery, receipt, outcome)
        except Exception:
            log.exception("an observer of deliveries failed")

    def _judge(self, sending: InFlightDelivery, receipt: Receipt) -> AttemptOutcome:
        failure = receipt.failure
        repeats = self._rules[sending.delivery.channel].recognises_repeats
        if failure is None:
            ref = encode_ref(receipt) if sending.delivery.thread else ""
            outcome = AttemptOutcome(
                DeliveryStatus.SENT,
                receipt.parts_sent,
                receipt.parts_total,
                receipt.provider_id,
                ref=ref,
                note=receipt.result.message if sending.looked else "",
                duration_ms=receipt.duration_ms,
            )
            if keyed := sending.keyed:
                outcome = replace(
                    outcome,
                    operation=keyed.operation,
                    revision=keyed.revision,
                    ref=keyed.ref,
                    note=receipt.result.message,
                    kept_files=keyed.files,
                )
        else:
            facts = Failure(
                failure.kind, failure.shortened(receipt.result.error), failure.retry_after_s, failure.whole_account
            )
            outcome = judge(
                facts,
                sending.delivery,
                recognises_repeats=repeats and not isinstance(failure, HeldError),
                jitter=random(),  # noqa: S311  # jitter
                operation=sending.operation,
            )
            if receipt.text_sent:
                outcome = replace(outcome, ref=encode_ref(receipt))
        sent, total = receipt.parts_sent, receipt.parts_total
        if failure is None and total:
            return outcome
        if not total:  # the attempt ended before the text was split, so the number of its parts is unknown
            sent, total = sending.parts_sent, sending.parts_total
        return outcome.with_progress(sent, total, receipt.duration_ms)

    async def _finish(self, sending: InFlightDelivery, outcome: AttemptOutcome) -> None:
        """Record the outcome; while the store is unavailable, retry."""
        delivery = sending.delivery
        sending.finishing = True
        for attempt in count():
            try:
                held = await self._store.finish(self.worker, delivery.id, outcome)
                break
            except TocsinError as error:
                level = logging.DEBUG if attempt else logging.WARNING
                _report(
                    "an outcome will be stored when the queue is available again", error, level, delivery=delivery.id
                )
                await self._clock.sleep(BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)])
        if not held:
            log.warning("a lease was lost before the outcome was stored", extra={"delivery": delivery.id})
        elif outcome.status in {DeliveryStatus.DEAD, DeliveryStatus.UNCERTAIN}:
            facts = {"delivery": delivery.id, "channel": delivery.channel, "status": str(outcome.status)}
            log.warning("a delivery was not sent", extra={**facts, "reason": outcome.error})


def channel_rules(adapter: OutboundAdapter) -> ChannelRules:
    """Return the rules by which the store claims deliveries of a channel."""
    spec = adapter.spec
    return ChannelRules(
        target_rate=spec.target_rate,
        group_rate=spec.group_rate,
        group_prefix=spec.group_prefix,
        account_rate=adapter.account_rate(),
        recognises_repeats=spec.recognises_repeats or adapter.finds_sent(),
    )


def _unknown_outcome(sending: InFlightDelivery, error: BaseException) -> Receipt:
    delivery = sending.delivery
    sentence = f"outcome unknown: the channel raised {type(error).__name__}, which is a bug in the channel"
    log.error("a channel stopped the send", exc_info=error, extra={"delivery": delivery.id})
    return Receipt(
        SendResult(False, delivery.channel, delivery.target, error=sentence),
        failure=ChannelError(sentence, kind=FailureKind.AMBIGUOUS),
    )


async def _step_failed(error: Exception, before: int) -> None:
    _report("the queue cannot be processed", error, logging.DEBUG if before else logging.ERROR)


def _report(phrase: str, error: Exception, level: int, **facts: str) -> None:
    """Log an expected error as a sentence, and any other one with its traceback."""
    if isinstance(error, TocsinError):
        log.log(level, phrase, extra={**facts, "reason": error.sentence()})
    else:
        log.log(level, phrase, exc_info=error, extra=facts)
