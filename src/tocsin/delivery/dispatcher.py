"""The dispatcher: takes what is due from the store, sends it, and writes down what it came to.

Any number of them work side by side, in one process or in many: the store hands each lane to one.
"""

import asyncio
import logging
import os
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from random import random

from tocsin.channels.contract import OutboundAdapter, Outgoing, Receipt, SendResult
from tocsin.channels.registry import Registry
from tocsin.core.errors import ChannelError, FailureKind, TocsinError
from tocsin.core.ids import new_id
from tocsin.core.service import BACK_OFF_S, ServiceLoop
from tocsin.core.time.clock import Clock
from tocsin.core.time.ratelimit import SHARE
from tocsin.delivery.model import HEARTBEAT_S, AttemptOutcome, Delivery, DeliveryStatus, Failure, judge
from tocsin.delivery.store import ChannelRules, DeliveryStore

log = logging.getLogger(__name__)

OnAttempt = Callable[[Delivery, Receipt, AttemptOutcome], None]

# How soon a dispatcher notices what another process queued; each look is one small read.
POLL_S = 0.25
SLOTS = 64  # of each channel: one that hangs takes none of another's
# Never spin: what is due but held by a rate is looked at again after that.
LEAST_WAIT_S = 0.01
# Between two parts, a longer wait is the queue's: the lane is given back with its progress.
LONGEST_PAUSE_S = 30.0
# At a stop, what is being sent may finish for so long; no lease ends before (LEASE_S - HEARTBEAT_S).
DRAIN_S = 5.0


class InterruptedSendError(TocsinError):
    """The sending ends between two parts."""

    code = "send-interrupted"


@dataclass(slots=True)
class InFlightDelivery:
    """One delivery that is being sent."""

    delivery: Delivery
    task: asyncio.Task[None] | None = None
    parts_sent: int = 0
    parts_total: int = 0
    lost: bool = False  # another worker has taken it over; this one must not go on
    interrupted: bool = False  # nothing is in flight: it can be given back
    finishing: bool = False  # the outcome is known and only has to be written down


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
        """`on_attempt` gets receipt and outcome of every try."""
        self.worker = f"{socket.gethostname()}:{os.getpid()}:{new_id()[-8:]}"
        self._store = store
        self._registry = registry
        self._clock = clock
        self._slots = slots
        self._on_attempt = on_attempt
        self._rules: dict[str, ChannelRules] = {}
        self._running: dict[str, InFlightDelivery] = {}
        self._renew_at = 0.0  # monotonic
        self._loop = ServiceLoop("the dispatcher", self._step, clock, on_failure=_step_failed, drain_s=DRAIN_S)

    def wake(self) -> None:
        """Look for work at once: something was queued in this process."""
        self._loop.wake()

    def stop(self) -> None:
        """Take nothing more; `run` returns when what is being sent has finished, or after `DRAIN_S`."""
        self._loop.stop()

    async def run(self) -> None:
        """Send until `stop`; a failing store is retried with exponential back-off."""
        self._rules = self._usable()
        await self._loop.run()

    def _usable(self) -> dict[str, ChannelRules]:
        """Return the rules of every channel that can send; the others' deliveries stay queued."""
        rules = {}
        for kind in self._registry.configured():
            try:
                rules[kind] = rules_of(self._registry.adapter(kind))
            except TocsinError as error:
                _report("the deliveries of a channel remain queued", error, logging.ERROR, channel=kind)
        return rules

    async def _step(self) -> float:
        """Start whatever may be sent now; return how long nothing more can be due."""
        await self._renew()
        busy = Counter(sending.delivery.channel for sending in self._running.values())
        # Who has taken all its places is left out of the next claim, so that a backlog holds up no other channel.
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
        """Renew the leases of what is being sent, when it is time; stop sending what is no longer ours.

        Comes before every claim: after a long stall, a claim would take our own deliveries for a dead
        worker's.
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
        """Make one try and write it down; never raises, because an error would end all the others."""
        try:
            receipt = await self._send(sending)
            if sending.lost:
                log.warning("another worker took over a delivery", extra={"delivery": sending.delivery.id})
            elif sending.interrupted:
                await self._store.release(self.worker, [sending.delivery.id])
            else:
                outcome = self._judge(sending, receipt)
                self._tell(sending.delivery, receipt, outcome)
                await self._finish(sending, outcome)
        except Exception as error:  # noqa: BLE001  # its lease ends, and it is found again
            _report("the result of a delivery could not be stored", error, logging.ERROR, delivery=sending.delivery.id)
        finally:
            if self._running.get(sending.delivery.id) is sending:
                del self._running[sending.delivery.id]

    async def _send(self, sending: InFlightDelivery) -> Receipt:
        delivery = sending.delivery

        async def between_parts(sent: int, total: int) -> None:
            await self._between_parts(sending, sent, total)

        outgoing = Outgoing(
            delivery.target,
            delivery.message,
            delivery.id,
            delivery.parse_mode,
            delivery.parts_sent,
            delivery.parts_total,
            delivery.extra,
        )
        adapter = self._registry.adapter(delivery.channel)
        try:
            return await adapter.transmit(outgoing, patient=False, between_parts=between_parts)
        except (asyncio.CancelledError, SystemExit, GeneratorExit) as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # This task was not cancelled: a channel let it out, as only errors of the kind `Exception` are caught.
            return _unexplained(sending, error)

    async def _between_parts(self, sending: InFlightDelivery, sent: int, total: int) -> None:
        """Keep the progress and wait for the pace; raise when the sending must not go on."""
        sending.parts_sent, sending.parts_total = sent, total
        sending.lost = not await self._keep_progress(sending)
        if not sending.lost and not self._loop.stopping:
            wait_s = await self._pace(sending.delivery)
            sending.interrupted = wait_s > LONGEST_PAUSE_S
            if not sending.interrupted:
                await self._clock.sleep(wait_s)
        sending.interrupted = sending.interrupted or self._loop.stopping
        if sending.lost or sending.interrupted:
            # `transmit` returns it as a failure, which is dropped.
            raise InterruptedSendError("the send was stopped between two parts")

    async def _keep_progress(self, sending: InFlightDelivery) -> bool:
        """Write down how far it got; false when the delivery is no longer ours."""
        try:
            return await self._store.progress(self.worker, sending.delivery.id, sending.parts_sent, sending.parts_total)
        except TocsinError as error:
            _report("the progress of a delivery could not be stored", error, logging.WARNING)
            return True  # what is out is out: the outcome will tell

    async def _pace(self, delivery: Delivery) -> float:
        rules = self._rules[delivery.channel]
        try:
            return await self._store.pace(delivery.channel, delivery.target, rules)
        except TocsinError:
            rate = rules.target_rate
            return rate.interval_s / SHARE if rate else 0.0

    def _tell(self, delivery: Delivery, receipt: Receipt, outcome: AttemptOutcome) -> None:
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
            outcome = AttemptOutcome(DeliveryStatus.SENT, provider_id=receipt.provider_id)
        else:
            facts = Failure(
                failure.kind, failure.shortened(receipt.result.error), failure.retry_after_s, failure.whole_account
            )
            outcome = judge(facts, sending.delivery, recognises_repeats=repeats, jitter=random())  # noqa: S311  # jitter
        sent, total = receipt.parts_sent, receipt.parts_total
        if not total:  # the try ended before the text was split: nothing new is known of its parts
            sent, total = sending.parts_sent, sending.parts_total
        return outcome.with_progress(sent, total, receipt.duration_ms)

    async def _finish(self, sending: InFlightDelivery, outcome: AttemptOutcome) -> None:
        """Write the outcome down; while the store is away, keep it and try again."""
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


def rules_of(adapter: OutboundAdapter) -> ChannelRules:
    """Return what the store must know of a channel."""
    spec = adapter.spec
    return ChannelRules(
        target_rate=spec.target_rate,
        group_rate=spec.group_rate,
        group_prefix=spec.group_prefix,
        account_rate=spec.account_rate,
        recognises_repeats=spec.recognises_repeats,
    )


def _unexplained(sending: InFlightDelivery, error: BaseException) -> Receipt:
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
    """Log an expected error as its sentence, any other one with its trace."""
    if isinstance(error, TocsinError):
        log.log(level, phrase, extra={**facts, "reason": error.sentence()})
    else:
        log.log(level, phrase, exc_info=error, extra=facts)
