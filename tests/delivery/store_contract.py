"""The contract of every delivery store: subclass `StoreContract` and override the fixture `open_store`.

It returns a factory of async context managers: each call opens the same deliveries once more.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

import pytest
from tests.facts import mentions

from tocsin.core.errors import LONGEST_TOLD_S, ChannelError
from tocsin.core.ids import new_id
from tocsin.core.records.as_json import to_json
from tocsin.core.time.clock import Clock
from tocsin.core.time.ratelimit import SHARE
from tocsin.delivery.model import (
    IDEMPOTENCY_S,
    LEASE_S,
    MAX_EXTRA_BYTES,
    NEEDING_PERSON,
    OPEN,
    REPLAYABLE,
    WAITING,
    AttemptOutcome,
    Delivery,
    DeliveryStatus,
    NewDelivery,
    Policy,
    Rate,
    retry_schedule,
)
from tocsin.delivery.store import (
    ChannelRules,
    DeliveryFilter,
    DeliveryHold,
    DeliveryStore,
    TransitionError,
    UnknownDeliveryError,
)
from tocsin.testing.fakes import FakeClock

OpenStore = Callable[[Clock], AbstractAsyncContextManager[DeliveryStore]]

RULES = {"bell": ChannelRules(), "horn": ChannelRules()}
SENT = AttemptOutcome(DeliveryStatus.SENT, parts_sent=1, parts_total=1, provider_id="ts=1", duration_ms=12)
DEAD = AttemptOutcome(DeliveryStatus.DEAD, error="no such target", error_class="permanent")
UNCERTAIN = AttemptOutcome(DeliveryStatus.UNCERTAIN, error="no answer", error_class="ambiguous")
# More than the error of a double, less than anybody notices.
TINY_S = 1e-5


def two_clocks() -> FakeClock:
    """Return a clock whose wall time and monotonic time cannot be taken for each other."""
    return FakeClock(monotonic=5_000.0)


def new(
    message: str = "hello",
    target: str = "door",
    channel: str = "bell",
    *,
    policy: Policy = Policy.AT_LEAST_ONCE,
    not_before: float | None = None,
    expires_at: float | None = None,
    idempotency_key: str | None = None,
) -> NewDelivery:
    return NewDelivery(
        channel,
        target,
        message,
        "test",
        policy=policy,
        not_before=not_before,
        expires_at=expires_at,
        idempotency_key=idempotency_key,
    )


def finished(at: float) -> Delivery:
    """Return a delivery that was sent without the queue."""
    return Delivery(
        new_id(),
        "bell",
        "door",
        "direct",
        "cli",
        DeliveryStatus.SENT,
        Policy.AT_MOST_ONCE,
        created_at=at,
        finished_at=at,
    )


def retry(wait_s: float) -> AttemptOutcome:
    return AttemptOutcome(DeliveryStatus.RETRY_WAIT, error="refused", error_class="transient", wait_s=wait_s)


def throttled(wait_s: float, *, account: bool = False) -> AttemptOutcome:
    return AttemptOutcome(
        DeliveryStatus.RETRY_WAIT,
        error="slow down",
        error_class="rate_limited",
        wait_s=wait_s,
        throttled=True,
        throttles_account=account,
    )


def messages(deliveries: Sequence[Delivery]) -> list[str]:
    return [delivery.message for delivery in deliveries]


async def claim_one(store: DeliveryStore, worker: str = "w1") -> Delivery:
    (delivery,) = await store.claim_due(worker, 1, RULES)
    return delivery


async def put(store: DeliveryStore, *deliveries: NewDelivery) -> list[Delivery]:
    return await store.enqueue_many(deliveries)


async def put_one(store: DeliveryStore, delivery: NewDelivery) -> Delivery:
    (accepted,) = await store.enqueue_many([delivery])
    return accepted


async def end(store: DeliveryStore, status: DeliveryStatus) -> Delivery:
    """Bring a new delivery to one of the final states."""
    now = (await put_one(store, new("for the time", target="clock"))).created_at
    delivery = await put_one(store, new("ends", expires_at=now if status is DeliveryStatus.EXPIRED else None))
    if status is DeliveryStatus.CANCELLED:
        await store.cancel(delivery.id)
    for claimed in await store.claim_due("w1", 10, RULES):
        if claimed.id == delivery.id:
            await store.finish("w1", claimed.id, AttemptOutcome(status, error="said so"))
        else:
            await store.finish("w1", claimed.id, SENT)
    ended = await store.get(delivery.id)
    assert ended.status is status
    return ended


async def find_all(store: DeliveryStore, query: DeliveryFilter) -> list[Delivery]:
    """Follow the cursor to the end."""
    found: list[Delivery] = []
    while True:
        page = await store.search(query)
        assert len(page.items) <= query.limit
        found += page.items
        if not page.next_cursor:
            return found
        query = replace(query, cursor=page.next_cursor)


async def send_all(
    stores: Sequence[DeliveryStore], clock: FakeClock, rules: Mapping[str, ChannelRules], limit: int = 10
) -> list[float]:
    """Send everything with one worker a store in turns; return when each claim was, in seconds."""
    start, times = clock.monotonic(), []
    for step in range(10_000):
        store = stores[step % len(stores)]
        for delivery in await store.claim_due(f"w{step % len(stores)}", limit, rules):
            times.append(clock.monotonic() - start)
            assert await store.finish(f"w{step % len(stores)}", delivery.id, SENT)
        wait_s = await store.seconds_to_next(rules)
        if wait_s is None:
            return times
        clock.advance(max(wait_s, 0.001))
    raise AssertionError("the queue never runs dry")


def check_pace(times: Sequence[float], rate: Rate) -> None:
    """Fail when more went out than `rate` allows, or less than nine tenths of it."""
    for i, begin in enumerate(times):
        for k, time in enumerate(times[i + rate.burst :], 1):
            assert time - begin >= k * rate.interval_s - TINY_S
    assert times[-1] <= (len(times) - rate.burst) * rate.interval_s / 0.9 + 0.01 * len(times)


class StoreContract:
    """What every store does, one sentence a test."""

    @pytest.fixture
    def open_store(self) -> OpenStore:
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> FakeClock:
        return two_clocks()

    @pytest.fixture
    async def store(self, open_store: OpenStore, clock: FakeClock) -> AsyncIterator[DeliveryStore]:
        async with open_store(clock) as store:
            yield store
            await check_ledger(store)

    # Accepting

    async def test_an_accepted_delivery_is_queued_as_it_was_given(self, store: DeliveryStore, clock: FakeClock):
        given = replace(
            new("Grüße 👋\n\0 \x7f", "tür:1|2 ", expires_at=clock.now() + 60, idempotency_key="k"),
            parse_mode="Markdown",
        )
        accepted = await put_one(store, given)
        assert accepted.status is DeliveryStatus.QUEUED
        assert accepted.created_at == clock.now()
        assert (accepted.attempts, accepted.failures, accepted.finished_at) == (0, 0, None)
        for name in NewDelivery.__slots__:
            assert getattr(accepted, name) == getattr(given, name), name
        assert await store.get(accepted.id) == accepted

    async def test_what_only_the_channel_knows_comes_back_at_every_step(self, store: DeliveryStore):
        extra = {
            "reply_to": 7,
            "buttons": [[["Yes 😀 ü", "confirm:1"], ["No", "cancel:1"]]],
            "deep": {"a": None},
        }
        accepted = await put_one(store, replace(new(), extra=extra))
        assert accepted.extra == extra
        assert (await store.get(accepted.id)).extra == extra
        claimed = await claim_one(store)
        assert claimed.extra == extra
        assert await store.finish("w1", claimed.id, DEAD)
        assert (await store.replay(claimed.id)).extra == extra
        assert [found.extra for found in (await store.search(DeliveryFilter())).items] == [extra]

    async def test_a_record_keeps_what_only_the_channel_knows(self, store: DeliveryStore, clock: FakeClock):
        await store.record(replace(finished(clock.now()), extra={"reply_to": "7"}))
        assert [found.extra for found in (await store.search(DeliveryFilter())).items] == [{"reply_to": "7"}]

    @pytest.mark.parametrize(
        ("extra", "reason"),
        [
            ({"buttons": "x" * MAX_EXTRA_BYTES}, "the extras of the message have 16,399 bytes, limit 16,384"),
            ({"buttons": object()}, "the extras of the message cannot be represented as JSON"),
            ({"x": float("nan")}, "the extras of the message cannot be represented as JSON"),
        ],
        ids=["too long", "no JSON", "no number"],
    )
    async def test_extras_that_cannot_be_kept_are_refused_and_nothing_is_accepted(
        self, store: DeliveryStore, clock: FakeClock, extra: dict[str, object], reason: str
    ):
        with pytest.raises(ChannelError, match=reason):
            await put(store, new("1"), replace(new("2"), extra=extra))
        with pytest.raises(ChannelError, match=reason):
            await store.record(replace(finished(clock.now()), extra=extra))
        assert (await store.search(DeliveryFilter())).items == []

    async def test_half_a_character_is_no_reason_to_refuse(self, store: DeliveryStore):
        accepted = await put_one(store, new("half \ud83d", "door \udcff", idempotency_key="\ud83d"))
        accepted.message.encode()
        accepted.target.encode()
        assert await store.get(accepted.id) == accepted
        assert (await put_one(store, new(idempotency_key="\ud83d"))).id == accepted.id
        assert len((await store.search(DeliveryFilter(target=accepted.target))).items) == 1
        claimed = await claim_one(store)
        assert await store.finish("w1", claimed.id, replace(DEAD, error="said \ud83d", provider_id="\udcff"))

    async def test_accepting_nothing_is_nothing(self, store: DeliveryStore):
        assert await store.enqueue_many([]) == []

    async def test_a_batch_is_answered_in_its_order_with_ids_of_their_own(self, store: DeliveryStore):
        accepted = await put(store, *(new(str(n), f"t{n % 3}") for n in range(50)))
        assert messages(accepted) == [str(n) for n in range(50)]
        assert len({delivery.id for delivery in accepted}) == 50

    async def test_a_second_delivery_with_the_same_key_is_the_first_one(self, store: DeliveryStore):
        first = await put_one(store, new("first", idempotency_key="k"))
        assert await put_one(store, new("second", "elsewhere", idempotency_key="k")) == first
        assert (await store.counts())[DeliveryStatus.QUEUED] == 1

    async def test_a_known_key_comes_back_as_the_delivery_stands_now(self, store: DeliveryStore):
        await put(store, new(idempotency_key="k"))
        await store.finish("w1", (await claim_one(store)).id, SENT)
        again = await put_one(store, new(idempotency_key="k"))
        assert (again.status, again.provider_id) == (DeliveryStatus.SENT, "ts=1")
        assert await store.claim_due("w1", 1, RULES) == []

    async def test_a_key_that_comes_twice_in_one_batch_makes_one_delivery(self, store: DeliveryStore):
        a, b, c = await put(store, new("1", idempotency_key="k"), new("2"), new("3", idempotency_key="k"))
        assert a == c != b
        assert sum((await store.counts()).values()) == 2

    async def test_two_callers_with_the_same_key_at_once_make_one_delivery(self, store: DeliveryStore):
        both = await asyncio.gather(*(put_one(store, new(idempotency_key="k")) for _ in range(8)))
        assert len({delivery.id for delivery in both}) == 1

    async def test_a_key_is_kept_for_a_day(self, store: DeliveryStore, clock: FakeClock):
        first = await put_one(store, new(idempotency_key="k"))
        clock.advance(IDEMPOTENCY_S - 1)
        assert (await put_one(store, new(idempotency_key="k"))).id == first.id
        clock.advance(2)
        second = await put_one(store, new(idempotency_key="k"))
        assert second.id != first.id
        assert (await put_one(store, new(idempotency_key="k"))).id == second.id

    async def test_what_was_accepted_is_there_for_everyone_who_opens_the_store(
        self, open_store: OpenStore, clock: FakeClock
    ):
        async with open_store(clock) as store:
            accepted = await put_one(store, new())
        async with open_store(clock) as store:
            assert await store.get(accepted.id) == accepted
            assert (await claim_one(store)).id == accepted.id

    async def test_a_finished_delivery_that_was_sent_directly_can_be_recorded(
        self, store: DeliveryStore, clock: FakeClock
    ):
        direct = Delivery(
            id=new_id(),
            channel="bell",
            target="door",
            message="direct",
            source="cli",
            status=DeliveryStatus.SENT,
            policy=Policy.AT_MOST_ONCE,
            created_at=clock.now() - 1,
            attempts=1,
            parts_sent=2,
            parts_total=2,
            provider_id="ts=9",
            finished_at=clock.now(),
            duration_ms=40,
        )
        await store.record(direct)
        assert await store.get(direct.id) == direct
        assert (await store.counts())[DeliveryStatus.SENT] == 1
        assert await store.claim_due("w1", 10, RULES) == []
        assert await store.seconds_to_next(RULES) is None
        assert messages(await find_all(store, DeliveryFilter(text="direct"))) == ["direct"]

    async def test_a_direct_send_that_certainly_failed_can_be_replayed(self, store: DeliveryStore, clock: FakeClock):
        failed = replace(
            await end(store, DeliveryStatus.DEAD), id=new_id(), message="failed", parts_sent=1, parts_total=3
        )
        await store.record(failed)
        await store.replay(failed.id)
        claimed = await claim_one(store)
        assert (claimed.id, claimed.parts_sent, claimed.parts_total) == (failed.id, 1, 3)

    # Handing out

    async def test_a_claimed_delivery_is_sending_and_its_try_counted(self, store: DeliveryStore):
        accepted = await put_one(store, new())
        claimed = await claim_one(store)
        assert (claimed.id, claimed.status, claimed.attempts) == (accepted.id, DeliveryStatus.SENDING, 1)
        assert await store.get(claimed.id) == claimed

    async def test_one_delivery_of_a_lane_is_in_flight_at_a_time(self, store: DeliveryStore):
        await put(store, *(new(str(n)) for n in range(5)))
        assert messages(await store.claim_due("w1", 10, RULES)) == ["0"]
        assert await store.claim_due("w1", 10, RULES) == []
        assert await store.claim_due("w2", 10, RULES) == []
        await put(store, new("late"))
        assert await store.claim_due("w2", 10, RULES) == []

    async def test_a_lane_goes_out_in_the_order_of_acceptance(self, store: DeliveryStore):
        await put(store, *(new(str(n)) for n in range(6)))
        await put(store, *(new(str(n)) for n in range(6, 12)))
        order = []
        while claimed := await store.claim_due("w1", 10, RULES):
            order += messages(claimed)
            assert await store.finish("w1", claimed[0].id, SENT)
        assert order == [str(n) for n in range(12)]

    async def test_lanes_go_side_by_side(self, store: DeliveryStore):
        await put(store, *(new(str(n), f"t{n % 4}", "bell" if n % 2 else "horn") for n in range(20)))
        claimed = await store.claim_due("w1", 10, RULES)
        assert sorted(messages(claimed)) == ["0", "1", "2", "3"]

    async def test_the_same_target_on_two_channels_is_two_lanes(self, store: DeliveryStore):
        await put(store, new("1", channel="bell"), new("2", channel="horn"))
        assert sorted(messages(await store.claim_due("w1", 10, RULES))) == ["1", "2"]

    async def test_lanes_whose_names_look_alike_are_apart(self, store: DeliveryStore):
        await put(store, new("1", ""), new("2", ":"), new("3", "::"), new("4", "a:b"), new("5", "a"), new("6", "a|b"))
        assert len(await store.claim_due("w1", 10, RULES)) == 6

    async def test_a_hanging_target_holds_up_no_other(self, store: DeliveryStore):
        await put(store, new("hangs", "a"), new("waits", "a"), new("goes", "b"), new("follows", "b"))
        first = {d.message: d for d in await store.claim_due("w1", 10, RULES)}
        await store.finish("w1", first["goes"].id, SENT)
        assert messages(await store.claim_due("w1", 10, RULES)) == ["follows"]

    async def test_a_worker_gets_no_more_lanes_than_it_asks_for(self, store: DeliveryStore):
        await put(store, *(new(str(n), f"t{n}", "bell" if n % 2 else "horn") for n in range(10)))
        claimed = await store.claim_due("w1", 3, RULES)
        assert len(claimed) == 3
        claimed += await store.claim_due("w2", 100, RULES)
        assert sorted(messages(claimed)) == [str(n) for n in range(10)]

    async def test_only_channels_with_rules_are_handed_out(self, store: DeliveryStore):
        await put(store, new("1", channel="bell"), new("2", channel="horn"))
        assert messages(await store.claim_due("w1", 10, {"horn": ChannelRules()})) == ["2"]
        assert await store.seconds_to_next({"whistle": ChannelRules()}) != 0
        assert await store.claim_due("w1", 10, {}) == []

    async def test_each_delivery_goes_to_one_of_many_workers(self, store: DeliveryStore):
        await put(store, *(new(str(n), f"t{n}") for n in range(60)))
        batches = await asyncio.gather(*(store.claim_due(f"w{n}", 7, RULES) for n in range(10)))
        assert sorted(messages([d for batch in batches for d in batch]), key=int) == [str(n) for n in range(60)]

    async def test_every_channel_gets_its_turn(self, store: DeliveryStore, clock: FakeClock):
        await put(store, *(new(f"b{n}", f"t{n}", "bell") for n in range(30)))
        clock.advance(0.5)
        await put(store, new("h", "t", "horn"))
        order = []
        while claimed := await store.claim_due("w1", 2, RULES):
            order += messages(claimed)
            await asyncio.gather(*(store.finish("w1", d.id, SENT) for d in claimed))
            clock.advance(0.5)
        assert "h" in order

    # Leases

    async def test_a_dead_workers_delivery_is_sent_again(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new())
        claimed = await claim_one(store)
        clock.advance(LEASE_S - 0.1)
        assert await store.claim_due("w2", 1, RULES) == []
        clock.advance(0.1 + TINY_S)
        again = await claim_one(store, "w2")
        assert (again.id, again.attempts) == (claimed.id, 2)

    async def test_a_dead_workers_delivery_keeps_its_place_in_the_lane(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("1"), new("2"))
        await claim_one(store)
        clock.advance(LEASE_S + 1)
        assert (await claim_one(store, "w2")).message == "1"

    @pytest.mark.parametrize("source", ["test", "bot"])
    async def test_a_delivery_that_ends_every_worker_ends_as_dead(
        self, store: DeliveryStore, clock: FakeClock, source: str
    ):
        await put(store, replace(new("poison"), source=source), new("next"))
        for tries in range(1, len(retry_schedule(source)) + 2):
            claimed = await claim_one(store, f"w{tries}")
            assert (claimed.message, claimed.attempts) == ("poison", tries)
            clock.advance(LEASE_S + 1)
        assert (await claim_one(store, "last")).message == "next"
        (dead,) = await find_all(store, DeliveryFilter(status=DeliveryStatus.DEAD))
        assert (dead.message, dead.error_class, dead.finished_at) == ("poison", "ambiguous", clock.now())

    async def test_a_dead_workers_delivery_that_may_not_arrive_twice_is_uncertain(
        self, store: DeliveryStore, clock: FakeClock
    ):
        await put(store, new("1", policy=Policy.AT_MOST_ONCE), new("2"))
        claimed = await claim_one(store)
        clock.advance(LEASE_S + 1)
        assert messages(await store.claim_due("w2", 10, RULES)) == ["2"]
        held = await store.get(claimed.id)
        assert (held.status, held.error_class, held.attempts) == (DeliveryStatus.UNCERTAIN, "ambiguous", 1)
        assert held.finished_at == clock.now()
        assert held.error

    async def test_a_channel_that_recognises_repeats_gets_it_again_in_either_policy(
        self, store: DeliveryStore, clock: FakeClock
    ):
        rules = {"bell": ChannelRules(recognises_repeats=True)}
        await put(store, new(policy=Policy.AT_MOST_ONCE))
        assert len(await store.claim_due("w1", 1, rules)) == 1
        clock.advance(LEASE_S + 1)
        (again,) = await store.claim_due("w2", 1, rules)
        assert again.attempts == 2

    async def test_a_delivery_that_may_not_arrive_twice_and_ends_every_worker_ends_as_uncertain(
        self, store: DeliveryStore, clock: FakeClock
    ):
        rules = {"bell": ChannelRules(recognises_repeats=True)}
        await put(store, new(policy=Policy.AT_MOST_ONCE))
        for tries in range(1, len(retry_schedule("test")) + 2):
            (claimed,) = await store.claim_due(f"w{tries}", 1, rules)
            assert claimed.attempts == tries
            clock.advance(LEASE_S + 1)
        assert await store.claim_due("last", 1, rules) == []
        assert (await store.get(claimed.id)).status is DeliveryStatus.UNCERTAIN

    async def test_a_dead_workers_delivery_becomes_due_though_nobody_else_has_its_channel(
        self, store: DeliveryStore, clock: FakeClock
    ):
        await put(store, new())
        claimed = await claim_one(store)
        clock.advance(LEASE_S + 1)
        assert await store.claim_due("w2", 1, {"horn": ChannelRules()}) == []
        assert (await store.get(claimed.id)).status in WAITING

    async def test_a_renewed_lease_lasts_as_long_again(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new())
        claimed = await claim_one(store)
        for _ in range(5):
            clock.advance(LEASE_S - 1)
            assert await store.renew("w1", [claimed.id]) == {claimed.id}
            assert await store.claim_due("w2", 1, RULES) == []
        clock.advance(LEASE_S - 1)
        assert await store.finish("w1", claimed.id, SENT)

    async def test_renewing_tells_which_leases_are_still_the_workers(self, store: DeliveryStore):
        await put(store, *(new(str(n), f"t{n}") for n in range(4)))
        a, b, c = await store.claim_due("w1", 3, RULES)
        other = await claim_one(store, "w2")
        await store.finish("w1", c.id, SENT)
        assert await store.renew("w1", [a.id, b.id, c.id, other.id, new_id()]) == {a.id, b.id}
        assert await store.renew("w1", []) == set()

    async def test_who_lost_a_lease_can_neither_finish_nor_progress_nor_renew(
        self, store: DeliveryStore, clock: FakeClock
    ):
        await put(store, new())
        slow = await claim_one(store, "slow")
        clock.advance(LEASE_S + 1)
        taken = await claim_one(store, "quick")
        assert taken.id == slow.id
        assert not await store.progress("slow", slow.id, 1, 2)
        assert not await store.finish("slow", slow.id, SENT)
        assert await store.renew("slow", [slow.id]) == set()
        await store.release("slow", [slow.id])
        assert await store.get(slow.id) == taken
        assert await store.finish("quick", slow.id, DEAD)
        assert not await store.finish("slow", slow.id, SENT)
        assert (await store.get(slow.id)).status is DeliveryStatus.DEAD

    async def test_who_lost_a_lease_is_told_so_though_it_finished_an_earlier_try(
        self, store: DeliveryStore, clock: FakeClock
    ):
        await put(store, new())
        await store.finish("w1", (await claim_one(store, "w1")).id, retry(1))
        clock.advance(2)
        claimed = await claim_one(store, "w1")
        clock.advance(LEASE_S + 1)
        taken = await claim_one(store, "w2")
        assert not await store.finish("w1", claimed.id, SENT)
        assert await store.get(claimed.id) == taken

    async def test_who_lost_a_lease_cannot_change_what_became_uncertain(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new(policy=Policy.AT_MOST_ONCE))
        slow = await claim_one(store, "slow")
        clock.advance(LEASE_S + 1)
        await store.claim_due("quick", 1, RULES)
        assert not await store.finish("slow", slow.id, SENT)
        assert (await store.get(slow.id)).status is DeliveryStatus.UNCERTAIN

    async def test_nobody_can_finish_what_was_never_claimed(self, store: DeliveryStore):
        accepted = await put_one(store, new())
        assert not await store.finish("w1", accepted.id, SENT)
        assert not await store.finish("w1", new_id(), SENT)
        assert not await store.progress("w1", new_id(), 1, 2)
        assert await store.get(accepted.id) == accepted

    async def test_a_released_delivery_is_queued_as_before(self, store: DeliveryStore):
        first, _ = await put(store, new("1"), new("2"))
        claimed = await claim_one(store)
        await store.release("w1", [claimed.id, new_id()])
        assert await store.get(first.id) == first
        again = await claim_one(store, "w2")
        assert (again.message, again.attempts) == ("1", 1)

    async def test_no_jump_of_the_wall_clock_ends_a_lease(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new())
        claimed = await claim_one(store)
        for jump in (3600, -7200, 10 * 365 * 86400):
            clock.jump(jump)
            assert await store.claim_due("w2", 1, RULES) == []
        assert await store.finish("w1", claimed.id, SENT)

    # Outcomes

    async def test_a_sent_delivery_keeps_what_the_provider_said(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new())
        claimed = await claim_one(store)
        clock.advance(2)
        assert await store.finish("w1", claimed.id, SENT)
        sent = await store.get(claimed.id)
        assert (sent.status, sent.provider_id, sent.duration_ms) == (DeliveryStatus.SENT, "ts=1", 12)
        assert (sent.parts_sent, sent.parts_total, sent.error, sent.error_class) == (1, 1, "", "")
        assert (sent.finished_at, sent.next_attempt_at) == (clock.now(), None)
        assert await store.seconds_to_next(RULES) is None

    @pytest.mark.parametrize("outcome", [DEAD, UNCERTAIN], ids=["dead", "uncertain"])
    async def test_a_delivery_that_failed_for_good_does_not_hold_up_the_lane(
        self, store: DeliveryStore, clock: FakeClock, outcome: AttemptOutcome
    ):
        await put(store, new("1"), new("2"))
        claimed = await claim_one(store)
        assert await store.finish("w1", claimed.id, outcome)
        ended = await store.get(claimed.id)
        assert (ended.status, ended.error, ended.error_class) == (outcome.status, outcome.error, outcome.error_class)
        assert ended.finished_at == clock.now()
        assert (await claim_one(store)).message == "2"

    async def test_a_retry_waits_as_long_as_its_outcome_says_and_no_longer(
        self, store: DeliveryStore, clock: FakeClock
    ):
        await put(store, new())
        for failures, wait_s in enumerate((5.0, 30.25, 43200.0), 1):
            claimed = await claim_one(store)
            assert await store.finish("w1", claimed.id, retry(wait_s))
            waiting = await store.get(claimed.id)
            assert (waiting.status, waiting.failures, waiting.attempts) == (
                DeliveryStatus.RETRY_WAIT,
                failures,
                failures,
            )
            assert waiting.next_attempt_at == pytest.approx(clock.now() + wait_s, abs=TINY_S)
            assert (waiting.finished_at, waiting.error, waiting.error_class) == (None, "refused", "transient")
            clock.advance(wait_s - 0.01)
            assert await store.claim_due("w1", 1, RULES) == []
            clock.advance(0.01 + TINY_S)
        claimed = await claim_one(store)
        assert (claimed.attempts, claimed.next_attempt_at) == (4, None)

    async def test_a_retry_goes_before_what_was_accepted_later(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("1"), new("2"))
        await store.finish("w1", (await claim_one(store)).id, retry(5))
        clock.advance(6)
        assert (await claim_one(store)).message == "1"

    async def test_a_retry_is_in_order_so_the_lane_waits_with_it(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("1"), new("2"), new("other", "window"))
        claimed = {d.message: d for d in await store.claim_due("w1", 10, RULES)}
        await store.finish("w1", claimed["1"].id, retry(5))
        clock.advance(1)
        assert await store.claim_due("w1", 10, RULES) == []

    @pytest.mark.parametrize("jump", [-3600.0, 3600.0, 10 * 365 * 86400.0])
    async def test_no_jump_of_the_wall_clock_shortens_or_lengthens_a_retry(
        self, store: DeliveryStore, clock: FakeClock, jump: float
    ):
        await put(store, new())
        await store.finish("w1", (await claim_one(store)).id, retry(30))
        clock.jump(jump)
        clock.advance(29.9)
        assert await store.claim_due("w1", 1, RULES) == []
        clock.advance(0.2)
        assert len(await store.claim_due("w1", 1, RULES)) == 1

    async def test_a_throttled_try_does_not_move_the_schedule(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new())
        await store.finish("w1", (await claim_one(store)).id, throttled(3))
        waiting = await store.get((await find_all(store, DeliveryFilter()))[0].id)
        assert (waiting.failures, waiting.attempts, waiting.status) == (0, 1, DeliveryStatus.RETRY_WAIT)

    async def test_a_throttled_try_holds_the_whole_lane_and_no_other(self, store: DeliveryStore, clock: FakeClock):
        first, _, _ = await put(store, new("1"), new("2"), new("3", "window"))
        claimed = {d.message: d for d in await store.claim_due("w1", 10, RULES)}
        await store.finish("w1", claimed["1"].id, throttled(64.57))
        await store.finish("w1", claimed["3"].id, SENT)
        await store.cancel(first.id)  # the wait is the lane's, not this delivery's
        await put(store, new("4", "window"))
        (other,) = await store.claim_due("w1", 10, RULES)
        assert other.message == "4"
        await store.finish("w1", other.id, SENT)
        clock.advance(64.56)
        assert await store.claim_due("w2", 10, RULES) == []
        clock.advance(0.01 + TINY_S)
        assert messages(await store.claim_due("w2", 10, RULES)) == ["2"]

    async def test_a_target_that_was_throttled_outside_the_queue_is_held_and_no_other(
        self, store: DeliveryStore, clock: FakeClock
    ):
        await put(store, new("1", "a"), new("2", "b"))
        await store.hold("bell", "a", 40, "slow down")
        await store.hold("bell", "a", 5, "slow down")  # the longer promise counts
        (other,) = await store.claim_due("w1", 10, RULES)
        assert other.message == "2"
        await store.finish("w1", other.id, SENT)
        clock.advance(39.9)
        assert await store.claim_due("w1", 10, RULES) == []
        clock.advance(0.1 + TINY_S)
        assert messages(await store.claim_due("w1", 10, RULES)) == ["1"]

    async def test_a_throttled_account_holds_every_lane_of_the_channel_and_no_other(
        self, store: DeliveryStore, clock: FakeClock
    ):
        await put(store, new("1", "a"), new("2", "b"), new("h", channel="horn"))
        claimed = await store.claim_due("w1", 1, {"bell": ChannelRules()})
        await store.finish("w1", claimed[0].id, throttled(3600, account=True))
        (other,) = await store.claim_due("w2", 10, RULES)
        assert other.message == "h"
        await store.finish("w2", other.id, SENT)
        await put(store, new("3", "c"))
        clock.advance(3599.9)
        assert await store.claim_due("w2", 10, RULES) == []
        clock.advance(0.1 + TINY_S)
        assert sorted(messages(await store.claim_due("w2", 10, RULES))) == ["1", "2", "3"]

    async def test_a_failure_of_the_whole_account_holds_every_lane_until_the_retry(
        self, store: DeliveryStore, clock: FakeClock
    ):
        await put(store, new("1", "a"), new("2", "b"))
        claimed = await claim_one(store)
        await store.finish("w1", claimed.id, replace(retry(30), throttles_account=True))
        assert (await store.get(claimed.id)).failures == 1
        clock.advance(29.9)
        assert await store.claim_due("w1", 10, RULES) == []
        clock.advance(0.2)
        assert len(await store.claim_due("w1", 10, RULES)) == 2

    async def test_a_short_wait_does_not_cut_a_longer_one(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("1", "a"), new("2", "b"))
        one, two = await store.claim_due("w1", 2, RULES)
        await store.finish("w1", one.id, throttled(60, account=True))
        await store.finish("w1", two.id, throttled(1, account=True))
        clock.advance(30)
        assert await store.claim_due("w1", 10, RULES) == []

    async def test_progress_is_kept_for_the_next_try(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new())
        claimed = await claim_one(store)
        assert await store.progress("w1", claimed.id, 1, 3)
        assert await store.progress("w1", claimed.id, 2, 3)
        clock.advance(LEASE_S + 1)
        again = await claim_one(store, "w2")
        assert (again.parts_sent, again.parts_total) == (2, 3)

    async def test_an_outcome_says_how_many_parts_went_out(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new())
        outcome = replace(retry(5), parts_sent=2, parts_total=4)
        await store.finish("w1", (await claim_one(store)).id, outcome)
        clock.advance(6)
        again = await claim_one(store)
        assert (again.parts_sent, again.parts_total) == (2, 4)

    # Pacing

    @pytest.mark.parametrize("rate", [Rate(1, 1.0), Rate(20, 60.0, burst=5), Rate(30, 1.0)], ids=str)
    async def test_a_target_gets_no_more_than_its_rate_and_its_share(
        self, store: DeliveryStore, clock: FakeClock, rate: Rate
    ):
        await put(store, *(new(str(n)) for n in range(20)))
        check_pace(await send_all([store], clock, {"bell": ChannelRules(target_rate=rate)}), rate)

    async def test_two_targets_are_paced_apart(self, store: DeliveryStore, clock: FakeClock):
        rules = {"bell": ChannelRules(target_rate=Rate(1, 1.0))}
        await put(store, *(new(str(n), f"t{n % 2}") for n in range(10)))
        times = await send_all([store], clock, rules)
        assert len(times) == 10
        assert times[-1] < 6

    async def test_a_group_has_its_own_rate_besides(self, store: DeliveryStore, clock: FakeClock):
        group = Rate(20, 60.0, burst=3)
        rules = {"bell": ChannelRules(target_rate=Rate(1, 1.0), group_rate=group, group_prefix="-")}
        await put(store, *(new(str(n), "-100") for n in range(8)), *(new(str(n), "100") for n in range(8)))
        start = clock.monotonic()
        by_target: dict[str, list[float]] = {"-100": [], "100": []}
        while (wait_s := await store.seconds_to_next(rules)) is not None:
            clock.advance(max(wait_s, 0.001))
            for delivery in await store.claim_due("w1", 10, rules):
                by_target[delivery.target].append(clock.monotonic() - start)
                await store.finish("w1", delivery.id, SENT)
        check_pace(by_target["-100"], group)
        check_pace(by_target["-100"][:3], Rate(1, 1.0))
        check_pace(by_target["100"], Rate(1, 1.0))

    async def test_an_account_has_one_rate_for_all_its_targets(self, store: DeliveryStore, clock: FakeClock):
        rate = Rate(10, 1.0, burst=2)
        rules = {"bell": ChannelRules(account_rate=rate), "horn": ChannelRules()}
        await put(store, *(new(str(n), f"t{n}") for n in range(30)))
        check_pace(await send_all([store], clock, rules), rate)

    async def test_claims_that_come_a_little_late_cost_an_account_none_of_its_messages(
        self, store: DeliveryStore, clock: FakeClock
    ):
        rate, count = Rate(30, 1.0), 60
        rules, interval_s = {"bell": ChannelRules(account_rate=rate)}, rate.interval_s / SHARE
        await put(store, *(new(str(n), f"t{n}") for n in range(count)))
        times: list[float] = []
        while (wait_s := await store.seconds_to_next(rules)) is not None:
            clock.advance(max(wait_s, 0.0) + 0.08 * interval_s * (len(times) % 2))
            for delivery in await store.claim_due("w1", 10, rules):
                times.append(clock.monotonic())
                await store.finish("w1", delivery.id, SENT)
        assert times[-1] - times[0] <= count * interval_s
        for begin in times:
            assert sum(begin <= time < begin + 1 - TINY_S for time in times) <= 30

    async def test_a_burst_goes_out_at_once_and_comes_back_with_time(self, store: DeliveryStore, clock: FakeClock):
        rules = {"bell": ChannelRules(account_rate=Rate(1, 1.0, burst=3))}
        await put(store, *(new(str(n), f"t{n}") for n in range(10)))
        assert len(await store.claim_due("w1", 10, rules)) == 3
        clock.advance(1.1)
        assert len(await store.claim_due("w1", 10, rules)) == 1
        clock.advance(100)
        assert len(await store.claim_due("w1", 10, rules)) == 3

    async def test_further_parts_take_their_turn_in_the_buckets(self, store: DeliveryStore, clock: FakeClock):
        rule = ChannelRules(target_rate=Rate(1, 1.0), account_rate=Rate(10, 1.0))
        await put(store, new("1"), new("2"), new("3", "window"))
        (claimed,) = await store.claim_due("w1", 1, {"bell": rule})
        for _ in range(3):
            wait_s = await store.pace("bell", claimed.target, rule)
            assert 1 - TINY_S <= wait_s < 1.1
            clock.advance(wait_s)
        await store.finish("w1", claimed.id, SENT)
        other = await store.claim_due("w1", 10, {"bell": rule})
        assert messages(other) == []  # the account has just sent a part
        clock.advance(0.2)
        assert messages(await store.claim_due("w1", 10, {"bell": rule})) == ["3"]
        clock.advance(0.7)
        assert await store.claim_due("w1", 10, {"bell": rule}) == []
        clock.advance(0.2)
        assert messages(await store.claim_due("w1", 10, {"bell": rule})) == ["2"]

    async def test_a_part_waits_for_its_place_behind_all_that_was_taken_before(
        self, store: DeliveryStore, clock: FakeClock
    ):
        rule = ChannelRules(target_rate=Rate(1, 1.0, burst=2))
        waits = [await store.pace("bell", "door", rule) for _ in range(5)]
        assert waits[:2] == [0, 0]
        for n, wait_s in enumerate(waits[2:], 1):
            assert n - TINY_S <= wait_s < n * 1.1
        assert await store.pace("bell", "window", rule) == 0
        assert await store.pace("bell", "door", ChannelRules()) >= 0

    async def test_a_part_waits_as_long_as_its_lane_is_throttled(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new())
        await store.finish("w1", (await claim_one(store)).id, throttled(40))
        assert await store.pace("bell", "door", ChannelRules()) == pytest.approx(40, abs=TINY_S)

    async def test_workers_share_the_pace(self, open_store: OpenStore, clock: FakeClock):
        rate = Rate(5, 1.0, burst=2)
        async with open_store(clock) as one, open_store(clock) as two:
            await put(one, *(new(str(n), f"t{n}") for n in range(15)))
            await two.counts()
            rules = {"bell": ChannelRules(account_rate=rate)}
            times = await send_all([one, two], clock, rules)
        assert len(times) == 15
        for begin, time in zip(times, times[rate.burst :], strict=False):
            assert time - begin >= rate.interval_s - 0.01  # two handles, two views of the time

    async def test_no_jump_of_the_wall_clock_opens_a_bucket(self, store: DeliveryStore, clock: FakeClock):
        rules = {"bell": ChannelRules(target_rate=Rate(1, 60.0))}
        await put(store, new("1"), new("2"))
        (claimed,) = await store.claim_due("w1", 1, rules)
        await store.finish("w1", claimed.id, SENT)
        for jump in (3600, -7200, 10 * 365 * 86400):
            clock.jump(jump)
            assert await store.claim_due("w1", 1, rules) == []

    # Scheduling

    async def test_nothing_goes_out_before_its_time(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new(not_before=clock.now() + 3600))
        clock.advance(3599.9)
        assert await store.claim_due("w1", 1, RULES) == []
        clock.advance(0.1)
        assert len(await store.claim_due("w1", 1, RULES)) == 1

    async def test_a_time_in_the_past_is_now(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new(not_before=clock.now() - 3600))
        assert len(await store.claim_due("w1", 1, RULES)) == 1

    async def test_a_scheduled_delivery_lets_others_pass(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("later", not_before=clock.now() + 60), new("now"))
        claimed = await claim_one(store)
        assert claimed.message == "now"
        await store.finish("w1", claimed.id, SENT)
        clock.advance(61)
        assert (await claim_one(store)).message == "later"

    async def test_a_scheduled_delivery_does_not_break_into_a_lane_in_flight(
        self, store: DeliveryStore, clock: FakeClock
    ):
        await put(store, new("later", not_before=clock.now() + 5), new("now"))
        claimed = await claim_one(store)
        clock.advance(6)
        assert await store.claim_due("w2", 10, RULES) == []
        await store.finish("w1", claimed.id, SENT)
        assert (await claim_one(store)).message == "later"

    async def test_a_clock_set_back_does_not_send_early(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new(not_before=clock.now() + 60))
        clock.jump(-3600)
        clock.advance(61)
        assert await store.claim_due("w1", 1, RULES) == []
        clock.jump(3600)
        assert len(await store.claim_due("w1", 1, RULES)) == 1

    async def test_a_clock_set_back_holds_back_what_had_come_due(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("later", not_before=clock.now() + 10))
        clock.advance(11)
        await store.claim_due("w1", 1, {"horn": ChannelRules()})
        clock.jump(-3600)
        await put(store, new("now"))
        assert messages(await store.claim_due("w1", 10, RULES)) == ["now"]

    async def test_a_replay_keeps_its_time(self, store: DeliveryStore, clock: FakeClock):
        scheduled = await put_one(store, new(not_before=clock.now() + 10))
        await store.cancel(scheduled.id)
        await store.replay(scheduled.id)
        assert await store.claim_due("w1", 10, RULES) == []
        clock.advance(10)
        assert len(await store.claim_due("w1", 10, RULES)) == 1

    async def test_what_is_past_its_time_expires_wherever_it_stands_in_the_lane(
        self, store: DeliveryStore, clock: FakeClock
    ):
        end_at = clock.now() + 10
        first, second, third = await put(store, new("1"), new("2", expires_at=end_at), new("3", expires_at=end_at + 90))
        await claim_one(store)
        clock.advance(9)
        await store.renew("w1", [first.id])
        await store.claim_due("w1", 1, RULES)
        assert (await store.get(second.id)).status is DeliveryStatus.QUEUED
        clock.advance(1)
        await store.claim_due("w1", 1, RULES)
        expired = await store.get(second.id)
        assert (expired.status, expired.finished_at, expired.attempts) == (DeliveryStatus.EXPIRED, clock.now(), 0)
        assert (await store.get(third.id)).status is DeliveryStatus.QUEUED
        await store.finish("w1", first.id, SENT)
        assert (await claim_one(store)).message == "3"

    async def test_a_retry_that_waits_past_its_end_expires(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("1", expires_at=clock.now() + 10), new("2"))
        claimed = await claim_one(store)
        await store.finish("w1", claimed.id, retry(60))
        clock.advance(11)
        assert messages(await store.claim_due("w1", 10, RULES)) == ["2"]
        assert (await store.get(claimed.id)).status is DeliveryStatus.EXPIRED

    async def test_an_expired_retry_still_tells_why_it_was_not_sent(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new(expires_at=clock.now() + 10))
        claimed = await claim_one(store)
        await store.finish("w1", claimed.id, retry(60))
        clock.advance(11)
        await store.claim_due("w1", 10, RULES)
        assert "refused" in (await store.get(claimed.id)).error

    async def test_what_is_being_sent_does_not_expire(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new(expires_at=clock.now() + 5))
        claimed = await claim_one(store)
        clock.advance(6)
        assert await store.claim_due("w2", 1, RULES) == []
        assert await store.finish("w1", claimed.id, SENT)

    async def test_expired_before_it_came_in_is_expired_and_never_sent(self, store: DeliveryStore, clock: FakeClock):
        accepted = await put_one(store, new(expires_at=clock.now() - 1))
        assert await store.claim_due("w1", 1, RULES) == []
        assert (await store.get(accepted.id)).status is DeliveryStatus.EXPIRED

    # When to look again

    async def test_an_empty_queue_has_no_next_time(self, store: DeliveryStore):
        assert await store.seconds_to_next(RULES) is None
        assert await store.seconds_to_next({}) is None

    async def test_what_is_due_is_due_now(self, store: DeliveryStore):
        await put(store, new())
        assert await store.seconds_to_next(RULES) == 0

    async def test_the_next_time_is_gone_when_everything_is_finished(self, store: DeliveryStore):
        a, b = await put(store, new("1"), new("2"))
        await store.cancel(b.id)
        await store.finish("w1", (await claim_one(store)).id, SENT)
        assert (await store.get(a.id)).status is DeliveryStatus.SENT
        assert await store.seconds_to_next(RULES) is None

    async def test_the_next_time_is_never_later_than_a_retry(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new())
        await store.finish("w1", (await claim_one(store)).id, retry(30))
        wait_s = await store.seconds_to_next(RULES)
        assert wait_s == pytest.approx(30, abs=TINY_S)

    async def test_the_next_time_is_never_later_than_a_scheduled_delivery(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new(not_before=clock.now() + 30))
        wait_s = await store.seconds_to_next(RULES)
        assert wait_s == pytest.approx(30, abs=TINY_S)

    async def test_the_next_time_is_never_later_than_the_end_of_a_lease(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new())
        await claim_one(store)
        wait_s = await store.seconds_to_next(RULES)
        assert wait_s is not None
        assert wait_s <= LEASE_S + TINY_S

    async def test_the_next_time_is_never_later_than_a_wait_of_the_account(
        self, store: DeliveryStore, clock: FakeClock
    ):
        await put(store, new("1", "a"), new("2", "b"))
        claimed = await claim_one(store)
        await store.finish("w1", claimed.id, throttled(20, account=True))
        await store.claim_due("w1", 10, RULES)
        wait_s = await store.seconds_to_next(RULES)
        assert wait_s == pytest.approx(20, abs=TINY_S)

    # Looking up

    async def test_an_unknown_id_is_told_apart_from_a_wrong_state(self, store: DeliveryStore):
        for call in (store.get, store.replay, store.cancel):
            with pytest.raises(UnknownDeliveryError):
                await call(new_id())
            with pytest.raises(UnknownDeliveryError):
                await call("no id at all \0 é \udcff")

    async def test_a_search_finds_the_newest_first(self, store: DeliveryStore, clock: FakeClock):
        for n in range(3):
            await put(store, new(f"{n}a"), new(f"{n}b"))
            clock.advance(1)
        assert messages(await find_all(store, DeliveryFilter())) == ["2b", "2a", "1b", "1a", "0b", "0a"]

    @pytest.mark.parametrize("limit", [1, 3, 7, 100])
    async def test_a_cursor_leads_through_everything_once(self, store: DeliveryStore, clock: FakeClock, limit: int):
        for n in range(4):
            await put(store, *(new(f"{n}{m}") for m in range(5)))
            clock.advance(1)
        found = await find_all(store, DeliveryFilter(limit=limit))
        assert messages(found) == [f"{n}{m}" for n in (3, 2, 1, 0) for m in (4, 3, 2, 1, 0)]

    async def test_what_comes_in_while_somebody_pages_moves_no_page(self, store: DeliveryStore, clock: FakeClock):
        await put(store, *(new(str(n)) for n in range(6)))
        page = await store.search(DeliveryFilter(limit=3))
        await put(store, new("same moment"))
        clock.advance(1)
        await put(store, new("later"))
        rest = await find_all(store, DeliveryFilter(limit=3, cursor=page.next_cursor))
        assert messages([*page.items, *rest]) == ["5", "4", "3", "2", "1", "0"]

    async def test_what_leaves_a_search_while_somebody_pages_moves_no_page(self, store: DeliveryStore):
        first, *_ = await put(store, *(new(str(n), f"t{n}") for n in range(7)))
        page = await store.search(DeliveryFilter(status=DeliveryStatus.QUEUED, limit=3))
        await store.cancel(page.items[-1].id)
        await store.cancel(first.id)
        rest = await find_all(store, DeliveryFilter(status=DeliveryStatus.QUEUED, limit=3, cursor=page.next_cursor))
        assert messages([*page.items, *rest]) == ["6", "5", "4", "3", "2", "1"]

    async def test_a_cursor_nobody_gave_out_is_no_error(self, store: DeliveryStore):
        await put(store, new())
        for cursor in ("x", ":", "1:2:3", "-1", "é"):
            await store.search(DeliveryFilter(cursor=cursor))

    async def test_a_search_by_key_finds_each_message_with_it(self, store: DeliveryStore):
        keyed = [replace(new(text, target), key="disk") for text, target in (("1", "door"), ("2", "hall"))]
        await put(store, *keyed, replace(new("3"), key="disk2"), new("4"))
        for query, names in (
            (DeliveryFilter(key="disk"), {"1", "2"}),
            (DeliveryFilter(key="disk", channel="bell", target="door"), {"1"}),
            (DeliveryFilter(key="disk", status=DeliveryStatus.QUEUED, text="2"), {"2"}),
            (DeliveryFilter(key="dis"), set()),
        ):
            assert {found.message for found in (await store.search(query)).items} == names

    async def test_every_field_of_a_query_narrows_it(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("1", "door", "bell"), new("2", "window", "bell"), new("3", "door", "horn"))
        clock.advance(10)
        since = clock.now()
        await put(store, new("4", "door", "bell"))
        for claimed in await store.claim_due("w1", 2, {"bell": ChannelRules()}):
            await store.finish("w1", claimed.id, SENT)
        expected = {
            DeliveryFilter(channel="bell"): {"1", "2", "4"},
            DeliveryFilter(target="door"): {"1", "3", "4"},
            DeliveryFilter(target="door", channel="bell"): {"1", "4"},
            DeliveryFilter(status=DeliveryStatus.SENT): {"1", "2"},
            DeliveryFilter(status=DeliveryStatus.QUEUED, channel="horn"): {"3"},
            DeliveryFilter(since=since): {"4"},
            DeliveryFilter(since=since - 10): {"1", "2", "3", "4"},
            DeliveryFilter(since=since, status=DeliveryStatus.SENT): set(),
            DeliveryFilter(target="doo"): set(),
            DeliveryFilter(channel="whistle"): set(),
        }
        for query, names in expected.items():
            assert set(messages(await find_all(store, query))) == names, query

    async def test_words_are_looked_for_in_message_and_target_whatever_their_case(self, store: DeliveryStore):
        await put(
            store,
            new("Disk FULL on host7", "ops"),
            new("disk replaced", "ops"),
            new("Grüße vom Deich", "kitchen-door"),
        )
        expected = {
            "disk": {"Disk FULL on host7", "disk replaced"},
            "full disk": {"Disk FULL on host7"},
            "disk ops": {"Disk FULL on host7", "disk replaced"},
            "GRÜSSE": None,  # how far letters are folded is the store's affair
            "deich": {"Grüße vom Deich"},
            "kitchen": {"Grüße vom Deich"},
            "disk kitchen": set(),
            'full" OR "disk': None,
            "'; DROP TABLE": set(),
            "*": None,
            " ".join(f"word{number}" for number in range(20_000)): set(),
            "   ": {"Disk FULL on host7", "disk replaced", "Grüße vom Deich"},
        }
        for text, found in expected.items():
            result = set(messages(await find_all(store, DeliveryFilter(text=text))))
            assert found is None or result == found, text

    async def test_a_search_shows_the_state_of_now(self, store: DeliveryStore):
        await put(store, new())
        claimed = await claim_one(store)
        assert [d.status for d in await find_all(store, DeliveryFilter(status=DeliveryStatus.SENDING))] == [
            DeliveryStatus.SENDING
        ]
        await store.finish("w1", claimed.id, DEAD)
        assert await find_all(store, DeliveryFilter(status=DeliveryStatus.SENDING)) == []
        assert await find_all(store, DeliveryFilter(status=DeliveryStatus.DEAD)) == [await store.get(claimed.id)]

    # Changing by hand

    @pytest.mark.parametrize("status", sorted(REPLAYABLE))
    async def test_what_was_not_sent_can_be_replayed(
        self, store: DeliveryStore, clock: FakeClock, status: DeliveryStatus
    ):
        ended = await end(store, status)
        clock.advance(100)
        queued = await store.replay(ended.id)
        assert (queued.status, queued.failures, queued.finished_at) == (DeliveryStatus.QUEUED, 0, None)
        assert queued.created_at == ended.created_at
        assert await store.get(ended.id) == queued
        claimed = await claim_one(store)
        assert (claimed.id, claimed.attempts) == (ended.id, ended.attempts + 1)
        assert await store.finish("w1", ended.id, SENT)
        assert (await store.get(ended.id)).status is DeliveryStatus.SENT

    async def test_a_replay_starts_the_schedule_anew(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new())
        for _ in range(3):
            await store.finish("w1", (await claim_one(store)).id, retry(1))
            clock.advance(1.1)
        claimed = await claim_one(store)
        assert claimed.failures == 3
        await store.finish("w1", claimed.id, DEAD)
        await store.replay(claimed.id)
        assert (await claim_one(store)).failures == 0

    async def test_a_replay_goes_on_from_the_first_unsent_part(self, store: DeliveryStore):
        await put(store, new())
        claimed = await claim_one(store)
        await store.progress("w1", claimed.id, 2, 5)
        await store.finish("w1", claimed.id, replace(UNCERTAIN, parts_sent=2, parts_total=5))
        await store.replay(claimed.id)
        again = await claim_one(store)
        assert (again.parts_sent, again.parts_total) == (2, 5)

    async def test_a_replay_waits_for_what_is_in_flight_in_its_lane(self, store: DeliveryStore):
        await put(store, new("1"), new("2"))
        first = await claim_one(store)
        await store.finish("w1", first.id, DEAD)
        second = await claim_one(store)
        await store.replay(first.id)
        assert await store.claim_due("w2", 10, RULES) == []
        await store.finish("w1", second.id, SENT)
        assert (await claim_one(store)).id == first.id

    async def test_only_what_is_finished_unsent_can_be_replayed(self, store: DeliveryStore):
        queued = await put_one(store, new())
        with pytest.raises(TransitionError):
            await store.replay(queued.id)
        claimed = await claim_one(store)
        with pytest.raises(TransitionError):
            await store.replay(claimed.id)
        await store.finish("w1", claimed.id, retry(60))
        with pytest.raises(TransitionError):
            await store.replay(claimed.id)
        await store.replay((await store.cancel(claimed.id)).id)
        await store.finish("w1", (await claim_one(store)).id, SENT)
        with pytest.raises(TransitionError):
            await store.replay(claimed.id)

    @pytest.mark.parametrize("status", sorted(NEEDING_PERSON))
    async def test_what_ended_unsent_counts_until_it_is_dismissed_and_again_after_a_replay(
        self, store: DeliveryStore, status: DeliveryStatus
    ):
        ended, missing = await end(store, status), DeliveryFilter(status, undismissed=True)
        assert [one.id for one in (await store.search(missing)).items] == [ended.id]
        dismissed = await store.dismiss(ended.id)
        assert (dismissed.dismissed, dismissed.status) == (True, status)
        assert await store.get(ended.id) == dismissed
        assert (await store.search(missing)).items == []
        assert [one.id for one in (await store.search(DeliveryFilter(status))).items] == [ended.id]
        assert (await store.replay(ended.id)).dismissed is False

    async def test_only_what_ended_unsent_and_needs_a_person_can_be_dismissed(self, store: DeliveryStore):
        queued = await put_one(store, new())
        with pytest.raises(TransitionError):
            await store.dismiss(queued.id)
        await store.cancel(queued.id)
        with pytest.raises(TransitionError):
            await store.dismiss(queued.id)
        with pytest.raises(UnknownDeliveryError):
            await store.dismiss("nosuch")

    async def test_what_waits_can_be_cancelled(self, store: DeliveryStore, clock: FakeClock):
        first, second, third = await put(store, new("1"), new("2"), new("3", "window", not_before=clock.now() + 60))
        for waiting in (first, third):
            cancelled = await store.cancel(waiting.id)
            assert (cancelled.status, cancelled.finished_at) == (DeliveryStatus.CANCELLED, clock.now())
            assert await store.get(waiting.id) == cancelled
        clock.advance(100)
        assert [d.id for d in await store.claim_due("w1", 10, RULES)] == [second.id]

    async def test_a_retry_can_be_cancelled_and_the_lane_goes_on(self, store: DeliveryStore):
        await put(store, new("1"), new("2"))
        claimed = await claim_one(store)
        await store.finish("w1", claimed.id, retry(3600))
        assert (await store.cancel(claimed.id)).status is DeliveryStatus.CANCELLED
        assert (await claim_one(store)).message == "2"

    async def test_what_is_sent_or_being_sent_cannot_be_cancelled(self, store: DeliveryStore):
        await put(store, new())
        claimed = await claim_one(store)
        with pytest.raises(TransitionError):
            await store.cancel(claimed.id)
        assert await store.get(claimed.id) == claimed
        await store.finish("w1", claimed.id, SENT)
        with pytest.raises(TransitionError):
            await store.cancel(claimed.id)

    # Why something waits

    async def test_an_absurd_wait_leaves_the_record_readable_and_the_target_free_once_it_is_cancelled(
        self, store: DeliveryStore
    ):
        await put(store, new("1"), new("2"))
        await store.finish("w1", (await claim_one(store)).id, throttled(400_000_000_000))
        held, _ = sorted((await store.search(DeliveryFilter())).items, key=lambda delivery: delivery.message)
        assert to_json(held)["next_attempt_at"] == "9999-12-31T23:59:59.000Z"
        assert to_json(await store.cancel(held.id))["status"] == "cancelled"
        assert (await claim_one(store)).message == "2"

    async def test_what_was_told_to_a_target_holds_it_after_a_cancel_too(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("1"), new("2"))
        claimed = await claim_one(store)
        await store.finish("w1", claimed.id, throttled(LONGEST_TOLD_S))
        await store.cancel(claimed.id)
        clock.advance(LONGEST_TOLD_S - 0.1)
        assert await store.claim_due("w1", 10, RULES) == []
        clock.advance(0.1 + TINY_S)
        assert (await claim_one(store)).message == "2"

    async def test_a_message_behind_a_held_target_says_why_it_waits_and_until_when(
        self, store: DeliveryStore, clock: FakeClock
    ):
        await put(store, new("1"), new("2"), new("3", "window"))
        claimed = await claim_one(store)
        await store.finish("w1", claimed.id, throttled(60))
        await store.cancel(claimed.id)
        found = {delivery.message: delivery for delivery in (await store.search(DeliveryFilter())).items}
        assert "target" in found["2"].error
        assert (found["2"].status, found["2"].error_class) == (DeliveryStatus.QUEUED, "rate_limited")
        assert found["2"].next_attempt_at == pytest.approx(clock.now() + 60, abs=TINY_S)
        assert (found["3"].error, found["3"].next_attempt_at) == ("", None)
        assert await store.get(found["2"].id) == found["2"]

    async def test_a_hold_told_outside_the_queue_says_its_reason(self, store: DeliveryStore, clock: FakeClock):
        waiting = await put_one(store, new())
        await store.hold("bell", "door", 40, "429 Too Many Requests")
        assert (await store.get(waiting.id)).error == "the target is on hold: 429 Too Many Requests"
        clock.advance(41)
        assert (await store.get(waiting.id)).error == ""

    async def test_a_message_behind_a_throttled_account_says_so(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("1", "a"), new("2", "b"))
        claimed = await claim_one(store)
        await store.finish("w1", claimed.id, throttled(3600, account=True))
        (waiting,) = (await store.search(DeliveryFilter(status=DeliveryStatus.QUEUED))).items
        assert "account" in waiting.error
        assert waiting.next_attempt_at == pytest.approx(clock.now() + 3600, abs=TINY_S)

    async def test_a_message_behind_one_that_is_tried_again_says_which(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("1"), new("2"))
        first = await claim_one(store)
        await store.finish("w1", first.id, retry(30))
        (second,) = (await store.search(DeliveryFilter(status=DeliveryStatus.QUEUED))).items
        assert mentions(second.error, first.id)
        assert second.next_attempt_at == pytest.approx(clock.now() + 30, abs=TINY_S)
        assert (await store.get(first.id)).error == "refused"

    async def test_what_is_sent_after_a_hold_shows_nothing_of_it(self, store: DeliveryStore, clock: FakeClock):
        waiting = await put_one(store, new())
        await store.hold("bell", "door", 40, "slow down")
        clock.advance(41)
        claimed = await claim_one(store)
        assert (claimed.error, claimed.error_class) == ("", "")
        await store.finish("w1", claimed.id, SENT)
        ended = await store.get(waiting.id)
        assert (ended.error, ended.error_class, ended.next_attempt_at) == ("", "", None)

    async def test_the_holds_of_whole_accounts_are_told_by_channel(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("1"), new("2", channel="horn"))
        for claimed in await store.claim_due("w1", 2, RULES):
            await store.finish("w1", claimed.id, throttled(3600, account=claimed.channel == "bell"))
        holds = await store.account_holds(["bell", "horn", "gong"])
        assert holds == {"bell": DeliveryHold(pytest.approx(clock.now() + 3600, abs=TINY_S), "slow down")}
        clock.advance(3601)
        assert await store.account_holds(["bell"]) == {}

    # Trying again at once

    async def test_what_waits_for_its_next_try_is_tried_now(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new("1"), new("2"))
        claimed = await claim_one(store)
        await store.finish("w1", claimed.id, retry(3600))
        hurried = await store.retry(claimed.id)
        assert (hurried.status, hurried.failures, hurried.error) == (DeliveryStatus.RETRY_WAIT, 1, "refused")
        assert hurried.next_attempt_at == pytest.approx(clock.now(), abs=TINY_S)
        assert await store.seconds_to_next(RULES) == 0
        again = await claim_one(store)
        assert (again.id, again.attempts) == (claimed.id, 2)

    async def test_a_try_at_once_is_one_of_the_schedule(self, store: DeliveryStore):
        await put(store, new())
        for failures in range(3):
            claimed = await claim_one(store)
            assert claimed.failures == failures
            await store.finish("w1", claimed.id, retry(3600))
            await store.retry(claimed.id)

    async def test_a_try_at_once_is_not_before_the_provider_allows_it(self, store: DeliveryStore, clock: FakeClock):
        await put(store, new())
        claimed = await claim_one(store)
        await store.finish("w1", claimed.id, throttled(60))
        hurried = await store.retry(claimed.id)
        assert hurried.next_attempt_at == pytest.approx(clock.now() + 60, abs=TINY_S)
        clock.advance(59)
        assert await store.claim_due("w1", 1, RULES) == []
        clock.advance(1 + TINY_S)
        assert (await claim_one(store)).id == claimed.id

    async def test_only_what_waits_for_its_next_try_can_be_tried_now(self, store: DeliveryStore):
        await put(store, new("1"), new("2", "window"))
        one, two = await store.claim_due("w1", 2, RULES)
        await store.finish("w1", two.id, SENT)
        queued = await put_one(store, new("3", "wall"))
        for delivery in (one, two, queued):
            with pytest.raises(TransitionError, match=r"delivery .* is (sending|sent|queued)"):
                await store.retry(delivery.id)
        with pytest.raises(UnknownDeliveryError):
            await store.retry(new_id())

    # Short ids

    async def test_a_delivery_is_found_by_the_beginning_of_its_id_and_of_its_last_group(self, store: DeliveryStore):
        first, second, direct = *(await put(store, new("1"), new("2"))), finished(1_700_000_000.0)
        await store.record(direct)
        for delivery in (first, second, direct):
            tail = delivery.id.rpartition("-")[2]
            assert await store.matching([delivery.id, delivery.id[:-1], tail, tail[:10]], 9) == [[delivery.id]] * 4
        common = first.id[:6]  # of the same minutes
        (found,) = await store.matching([common], 9)
        assert set(found) == {first.id, second.id, direct.id}
        assert [len(ids) for ids in await store.matching([common, common], 2)] == [2, 2]

    async def test_what_no_id_begins_with_is_not_found(self, store: DeliveryStore):
        delivery = await put_one(store, new())
        texts = ["zz", "%", "*", "[", delivery.id + "0", delivery.id[1:20], "ff" * 6]
        assert await store.matching(texts, 9) == [[]] * len(texts)
        assert await store.matching([], 9) == []

    async def test_a_pruned_delivery_is_not_found_by_its_short_id(self, store: DeliveryStore, clock: FakeClock):
        ended = await end(store, DeliveryStatus.DEAD)
        clock.advance(1)
        await store.prune(clock.now())
        assert await store.matching([ended.id, ended.id.rpartition("-")[2]], 9) == [[], []]

    # Book-keeping

    async def test_the_counts_name_every_state_and_add_up(self, store: DeliveryStore):
        assert await store.counts() == dict.fromkeys(DeliveryStatus, 0)
        for status in sorted(REPLAYABLE):
            await end(store, status)  # and one that was sent
        await put(store, new("1", "a"), new("2", "a"), new("3", "b"))
        claimed = await store.claim_due("w1", 10, RULES)
        await store.finish("w1", claimed[0].id, retry(60))
        counts = await store.counts()
        assert counts == {
            DeliveryStatus.SENT: 4,
            DeliveryStatus.SUPERSEDED: 0,
            **dict.fromkeys(REPLAYABLE, 1),
            DeliveryStatus.QUEUED: 1,
            DeliveryStatus.SENDING: 1,
            DeliveryStatus.RETRY_WAIT: 1,
        }

    async def test_pruning_forgets_what_finished_long_ago_and_nothing_else(
        self, store: DeliveryStore, clock: FakeClock
    ):
        old = [await end(store, status) for status in sorted(REPLAYABLE)]
        waiting = await put_one(store, new("waits", "x", idempotency_key="w", not_before=clock.now() + 10**6))
        clock.advance(100)
        line = clock.now()
        kept = await end(store, DeliveryStatus.DEAD)
        assert await store.prune(line) == 2 * len(old)
        for gone in old:
            with pytest.raises(UnknownDeliveryError):
                await store.get(gone.id)
        assert {d.id for d in await find_all(store, DeliveryFilter(target="door"))} == {kept.id}
        assert await store.get(waiting.id) == waiting
        assert await store.prune(line) == 0
        assert sum((await store.counts()).values()) == 3

    async def test_a_pruned_delivery_gives_its_key_back(self, store: DeliveryStore, clock: FakeClock):
        first = await put_one(store, new(idempotency_key="k"))
        await store.finish("w1", (await claim_one(store)).id, SENT)
        clock.advance(1)
        assert await store.prune(clock.now()) == 1
        assert (await put_one(store, new(idempotency_key="k"))).id != first.id

    async def test_a_replayed_delivery_is_not_pruned(self, store: DeliveryStore, clock: FakeClock):
        ended = await end(store, DeliveryStatus.DEAD)
        await store.replay(ended.id)
        clock.advance(100)
        await store.prune(clock.now())
        assert (await store.get(ended.id)).status is DeliveryStatus.QUEUED

    async def test_a_sound_store_says_so(self, store: DeliveryStore):
        health = await store.health()
        assert (health.ok, list(health.problems)) == (True, [])
        assert health.backend


async def check_ledger(store: DeliveryStore) -> None:
    """accepted = sent + dead + uncertain + cancelled + expired + open, whichever way one counts."""
    everything = await find_all(store, DeliveryFilter(limit=100))
    counts = await store.counts()
    assert sum(counts.values()) == len(everything) == len({d.id for d in everything})
    for status, count in counts.items():
        assert count == sum(d.status is status for d in everything), status
    for delivery in everything:
        assert (delivery.finished_at is None) == (delivery.status in OPEN), delivery
