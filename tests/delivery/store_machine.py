"""A model of the queue that drives a store through random histories and compares every answer.

Subclass `StoreMachine`, override `opened`, and give `MyMachine.TestCase` a name that pytest collects.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule
from tests.delivery.store_contract import (
    DEAD,
    RULES,
    SENT,
    UNCERTAIN,
    check_ledger,
    new,
    retry,
    throttled,
    two_clocks,
)

from tocsin.delivery.model import (
    LEASE_S,
    OPEN,
    REPLAYABLE,
    SCHEDULE_S,
    WAITING,
    AttemptOutcome,
    Delivery,
    DeliveryStatus,
    Policy,
)
from tocsin.delivery.store import DeliveryStore, TransitionError
from tocsin.testing.fakes import FakeClock

T = TypeVar("T")

LANES = [("bell", "a"), ("bell", "b"), ("horn", "a")]
WORKERS = ["w1", "w2"]
OUTCOMES = [SENT, SENT, DEAD, UNCERTAIN, retry(5), retry(30), throttled(7), throttled(20, account=True)]
# A handle that is opened anew measures the time with the server's clock until its second call.
SLACK_S = 0.2


@dataclass(slots=True)
class Known:
    """What the model knows of one delivery; times as the store must keep them."""

    delivery: Delivery
    place: int
    status: DeliveryStatus = DeliveryStatus.QUEUED
    attempts: int = 0
    failures: int = 0
    due: float = 0.0  # monotonic
    expires_at: float | None = None
    holder: str = ""
    lease_end: float = 0.0
    parts_sent: int = 0

    @property
    def lane(self) -> tuple[str, str]:
        return self.delivery.channel, self.delivery.target


class StoreMachine(RuleBasedStateMachine):
    """Two workers, three lanes, and a clock that jumps."""

    ids: Bundle[str] = Bundle("ids")
    claims: Bundle[tuple[str, str]] = Bundle("claims")

    def opened(self, clock: FakeClock) -> AbstractAsyncContextManager[DeliveryStore]:
        """Open the store of this history; called again, the same deliveries are there."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.clock = two_clocks()
        self.known: dict[str, Known] = {}
        self.keys: dict[str, str] = {}
        self.blocked: dict[object, float] = {}
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.store: DeliveryStore

    def do(self, call: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(call)

    @initialize()
    def open(self) -> None:
        self.store = self.do(self.stack.enter_async_context(self.opened(self.clock)))

    @rule()
    def open_again(self) -> None:
        """The process is restarted."""
        self.do(self.store.renew("nobody", []))  # the last one to see the time
        self.do(self.stack.aclose())
        self.open()

    @rule(
        target=ids,
        lanes=st.lists(st.sampled_from(LANES), min_size=1, max_size=4),
        policy=st.sampled_from(Policy),
        start=st.sampled_from([None, None, None, -5, 15]),
        end=st.sampled_from([None, None, None, 8, 60]),
        key=st.sampled_from([None, None, "k1", "k2"]),
    )
    def enqueue(
        self, lanes: list[tuple[str, str]], policy: Policy, start: float | None, end: float | None, key: str | None
    ) -> Any:
        now = self.clock.now()
        batch = [
            new(
                f"m{len(self.known)}.{i}",
                target,
                channel,
                policy=policy,
                not_before=None if start is None else now + start,
                expires_at=None if end is None else now + end,
                idempotency_key=key,
            )
            for i, (channel, target) in enumerate(lanes)
        ]
        accepted = self.do(self.store.enqueue_many(batch))
        fresh = []
        for delivery in accepted:
            known = self.keys.get(key, "") if key else ""
            age = abs(now - self.known[known].delivery.created_at) if known else 0.0
            if known and age < 3600:
                assert delivery.id == known
            if delivery.id in self.known:
                assert key, "an id was given out twice"
                continue
            self.known[delivery.id] = Known(delivery, len(self.known), expires_at=delivery.expires_at)
            fresh.append(delivery.id)
            if key:
                self.keys[key] = delivery.id
        return multiple(*fresh)

    @rule(target=claims, worker=st.sampled_from(WORKERS), limit=st.integers(1, 4))
    def claim(self, worker: str, limit: int) -> Any:
        claimed = self.do(self.store.claim_due(worker, limit, RULES))
        assert len(claimed) <= limit
        self.end_leases()
        self.expire()
        due = {known.lane: known for known in self.due_now()}
        assert len({(d.channel, d.target) for d in claimed}) == len(claimed), "two of one lane"
        unsure = self.unsure_lanes()
        for delivery in claimed:
            first = due.pop((delivery.channel, delivery.target), None)
            if (delivery.channel, delivery.target) in unsure:
                first = self.known[delivery.id]
                assert first.status in WAITING
            assert first is not None, f"{delivery.message} is not due"
            assert first.delivery.id == delivery.id, f"{first.delivery.message} comes before {delivery.message}"
            first.status, first.holder, first.attempts = DeliveryStatus.SENDING, worker, first.attempts + 1
            first.lease_end = self.clock.monotonic() + LEASE_S
            assert (delivery.status, delivery.attempts) == (DeliveryStatus.SENDING, first.attempts)
            assert (delivery.parts_sent, delivery.failures) == (first.parts_sent, first.failures)
        assert len(claimed) == limit or not due.keys() - unsure, "what is due was withheld"
        return multiple(*((worker, delivery.id) for delivery in claimed))

    @rule(claim=consumes(claims), outcome=st.sampled_from(OUTCOMES))
    def finish(self, claim: tuple[str, str], outcome: AttemptOutcome) -> None:
        worker, id_ = claim
        known = self.known[id_]
        before = self.do(self.store.get(id_))
        done = self.do(self.store.finish(worker, id_, outcome))
        if not self.holds(worker, known):
            assert not done or known.holder == f"was {worker}"  # a repeated call may be told that it was done
            assert self.do(self.store.get(id_)) == before
            return
        assert done or self.lapsed(known)
        if done:
            self.apply(known, outcome)

    @rule(claim=claims)
    def worker_forgets(self, claim: tuple[str, str]) -> None:
        """A crash: only the lease can end it."""
        known = self.known[claim[1]]
        if known.status is DeliveryStatus.SENDING:
            self.clock.advance(max(0.0, known.lease_end - self.clock.monotonic()))

    @rule(claim=claims, sent=st.integers(1, 3))
    def progress(self, claim: tuple[str, str], sent: int) -> None:
        worker, id_ = claim
        known = self.known[id_]
        kept = self.do(self.store.progress(worker, id_, sent, 3))
        if kept:
            assert self.holds(worker, known)
            known.parts_sent = sent
        else:
            assert not self.holds(worker, known) or self.lapsed(known)

    @rule(worker=st.sampled_from(WORKERS))
    def renew(self, worker: str) -> None:
        mine = self.do(self.store.renew(worker, list(self.known)))
        for id_, known in self.known.items():
            if id_ in mine:
                assert self.holds(worker, known)
                known.lease_end = self.clock.monotonic() + LEASE_S
            else:
                assert not self.holds(worker, known) or self.lapsed(known)

    @rule(claim=consumes(claims))
    def release(self, claim: tuple[str, str]) -> None:
        worker, id_ = claim
        known = self.known[id_]
        held = self.holds(worker, known)
        self.do(self.store.release(worker, [id_]))
        if held and self.do(self.store.get(id_)).status is DeliveryStatus.QUEUED:
            known.attempts -= 1
            self.wait(known)
        elif held:
            assert self.lapsed(known)

    @rule(id_=ids)
    def cancel(self, id_: str) -> None:
        known = self.known[id_]
        allowed = known.status in WAITING
        try:
            assert self.do(self.store.cancel(id_)).status is DeliveryStatus.CANCELLED
        except TransitionError:
            assert not allowed
        else:
            assert allowed
            known.status = DeliveryStatus.CANCELLED

    @rule(id_=ids)
    def replay(self, id_: str) -> None:
        known = self.known[id_]
        allowed = known.status in REPLAYABLE
        try:
            assert self.do(self.store.replay(id_)).status is DeliveryStatus.QUEUED
        except TransitionError:
            assert not allowed
        else:
            assert allowed
            known.expires_at, known.failures = None, 0
            self.wait(known)

    @rule(seconds=st.sampled_from([1.0, 5.0, 9.0, 10.0, 31.0, 120.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(seconds=st.sampled_from([-3600.0, 3600.0, 10 * 365 * 86400.0, -10 * 365 * 86400.0]))
    def wall_clock_jumps(self, seconds: float) -> None:
        self.clock.jump(seconds)

    @invariant()
    def the_ledger_balances(self) -> None:
        if not hasattr(self, "store"):
            return
        expected = dict.fromkeys(DeliveryStatus, 0)
        for known in self.known.values():
            expected[known.status] += 1
        assert self.do(self.store.counts()) == expected

    @invariant()
    def the_next_time_is_not_too_late(self) -> None:
        if not hasattr(self, "store"):
            return
        wait_s = self.do(self.store.seconds_to_next(RULES))
        if any(known.status in OPEN for known in self.known.values()):
            assert wait_s is not None
        if {known.lane for known in self.due_now()} - self.unsure_lanes():
            assert wait_s is not None
            assert wait_s < SLACK_S

    def teardown(self) -> None:
        """Send all that is left: nothing is lost, and everything comes to one end."""
        try:
            if hasattr(self, "store"):
                self.do(self.drain())
        finally:
            self.do(self.stack.aclose())
            self.runner.close()

    async def drain(self) -> None:
        self.clock.jump(100 * 365 * 86400.0 - self.clock.now())  # past every wall time
        for _ in range(40 * len(self.known) + 10):
            for delivery in await self.store.claim_due("last", 10, RULES):
                assert await self.store.finish("last", delivery.id, SENT)
            wait_s = await self.store.seconds_to_next(RULES)
            if wait_s is None:
                break
            self.clock.advance(max(wait_s, 0.001))
        for id_ in self.known:
            delivery = await self.store.get(id_)
            assert delivery.status not in OPEN, delivery
        await check_ledger(self.store)

    # What the model knows

    def holds(self, worker: str, known: Known) -> bool:
        return known.status is DeliveryStatus.SENDING and known.holder == worker

    def lapsed(self, known: Known) -> bool:
        return known.lease_end <= self.clock.monotonic() + SLACK_S

    def wait(self, known: Known) -> None:
        known.status, known.holder, known.due = DeliveryStatus.QUEUED, "", 0.0

    def end_leases(self) -> None:
        for known in self.known.values():
            if known.status is not DeliveryStatus.SENDING or not self.lapsed(known):
                continue
            self.wait(known)
            if known.delivery.policy is Policy.AT_MOST_ONCE:
                known.status = DeliveryStatus.UNCERTAIN
            elif known.failures >= len(SCHEDULE_S):
                known.status = DeliveryStatus.DEAD
            else:
                known.failures += 1

    def expire(self) -> None:
        for known in self.known.values():
            if known.status in WAITING and known.expires_at is not None and known.expires_at <= self.clock.now():
                known.status = DeliveryStatus.EXPIRED

    def apply(self, known: Known, outcome: AttemptOutcome) -> None:
        known.status, known.holder = outcome.status, f"was {known.holder}"
        known.parts_sent = outcome.parts_sent
        if outcome.status is DeliveryStatus.RETRY_WAIT:
            known.due = self.clock.monotonic() + outcome.wait_s
            known.failures += not outcome.throttled
        throttles: dict[object, bool] = {
            known.lane: outcome.throttled,
            known.delivery.channel: outcome.throttles_account,
        }
        for name, throttle in throttles.items():
            if throttle:
                self.blocked[name] = max(known.due, self.blocked.get(name, 0.0))

    def unsure_lanes(self) -> set[tuple[str, str]]:
        """Lanes with a retry that a clock set back has put before its time: it may let others pass or not."""
        return {
            known.lane
            for known in self.known.values()
            if known.status in WAITING and known.attempts and (known.delivery.not_before or 0) > self.clock.now()
        }

    def due_now(self) -> list[Known]:
        """The first of each lane, where it may go: no lane in flight, no wait, no expired one."""
        firsts: dict[tuple[str, str], Known] = {}
        in_flight = {known.lane for known in self.known.values() if known.status is DeliveryStatus.SENDING}
        for known in sorted(self.known.values(), key=lambda known: known.place):
            not_before = known.delivery.not_before
            scheduled = not_before is not None and not_before > self.clock.now()
            if known.status in WAITING and not scheduled and known.lane not in in_flight:
                firsts.setdefault(known.lane, known)
        now = self.clock.monotonic() + SLACK_S
        return [
            known
            for lane, known in firsts.items()
            if max(known.due, self.blocked.get(lane, 0.0), self.blocked.get(lane[0], 0.0)) <= now
        ]
