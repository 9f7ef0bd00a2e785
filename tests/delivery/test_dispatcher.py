"""The dispatcher, in time that moves only when nothing else can: against scripted channels and the stand-ins."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.clocks import SteppedClock
from tests.delivery.store_contract import RULES, new

from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.contract import COMMONMARK, ChannelSpec, OutboundAdapter, Part, Receipt, Tools
from tocsin.channels.guildchat import GuildchatAdapter
from tocsin.channels.registry import Registry
from tocsin.channels.teamchat import TeamchatAdapter
from tocsin.core.config.variables import Variable
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.http.direct import DirectTransport
from tocsin.core.storage.database import Database, DatabaseError
from tocsin.core.time.ratelimit import SHARE
from tocsin.delivery.dispatcher import DRAIN_S, LONGEST_PAUSE_S, Dispatcher
from tocsin.delivery.model import (
    HEARTBEAT_S,
    LEASE_S,
    SCHEDULE_S,
    AttemptOutcome,
    Delivery,
    DeliveryStatus,
    NewDelivery,
    Policy,
    Rate,
)
from tocsin.delivery.sqlite.schema import MIGRATIONS
from tocsin.delivery.sqlite.store import SqliteStore
from tocsin.testing.fakes import settings_of
from tocsin_standins import StandinCluster, open_standins
from tocsin_standins.botchat.server import BotChat
from tocsin_standins.faults import Fault
from tocsin_standins.guildchat.server import ANNOUNCEMENTS, GENERAL, OPS, GuildChat
from tocsin_standins.teamchat.server import TeamChat

NOTHING_HAPPENS_FOR = 25  # turns of the event loop: then all tasks wait for time, or for the test
TINY_S = 1e-6

Deliver = Callable[[Part], Awaitable[str]]


class Watched:
    """Lends a part of ours and counts the calls; `broken` makes them all fail."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self.busy = 0
        self.idle = asyncio.Event()
        self.calls: list[str] = []
        self.broken: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._part, name)

        async def call(*args: Any, **keywords: Any) -> Any:
            self.calls.append(name)
            if self.broken:
                raise self.broken
            self.busy += 1
            self.idle.clear()
            try:
                return await method(*args, **keywords)
            finally:
                self.busy -= 1
                if not self.busy:
                    self.idle.set()

        return call


def channel(kind: str, deliver: Deliver, **spec: Any) -> type[OutboundAdapter]:
    """Make a channel whose messages go to `deliver`."""

    async def call(_: OutboundAdapter, part: Part) -> str:
        return await deliver(part)

    async def probe(_: OutboundAdapter) -> str:
        return kind

    members = {"spec": ChannelSpec(kind, kind, kind, **spec), "deliver": call, "probe": probe}
    return type(kind.title(), (OutboundAdapter,), members)


def refusal(kind: FailureKind = FailureKind.TRANSIENT, **facts: Any) -> ChannelError:
    return ChannelError("refused", kind=kind, **facts)


class Provider:
    """Takes messages in and remembers when; does first what `script` says for the text, each once."""

    def __init__(self, clock: SteppedClock) -> None:
        self._clock = clock
        self.taken: list[tuple[str, str]] = []
        self.times: list[float] = []
        self.script: dict[str, list[BaseException | asyncio.Event]] = {}
        self.hanging = 0

    async def __call__(self, part: Part) -> str:
        steps = self.script.get(part.text, [])
        step = steps.pop(0) if steps else None
        if isinstance(step, asyncio.Event):
            self.hanging += 1
            try:
                await step.wait()
            finally:
                self.hanging -= 1
        elif step is not None:
            raise step
        self.taken.append((part.target, part.text))
        self.times.append(self._clock.monotonic())
        return f"id={len(self.taken)}"

    @property
    def texts(self) -> list[str]:
        return [text for _, text in self.taken]


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # what is waited for knows no events
        await asyncio.sleep(0)


class World:
    """One queue, any number of dispatchers on it, and time in the test's hands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = SteppedClock(monotonic=5_000.0)
        self.start = self.clock.monotonic()
        self.http = Watched(DirectTransport())
        self.bell = Provider(self.clock)
        self.horn = Provider(self.clock)
        self.stack = AsyncExitStack()
        self.watched: list[Watched] = [self.http]
        self.store = self.open_store()
        self.tasks: list[asyncio.Task[None]] = []

    def open_store(self) -> Watched:
        database = Database(self.path, {"delivery": MIGRATIONS})
        self.stack.push_async_callback(database.aclose)
        self.watched.append(Watched(SqliteStore(database, self.clock, boot=lambda: "boot")))
        return self.watched[-1]

    def registry(self, *classes: type[OutboundAdapter], env: Mapping[str, str] | None = None) -> Registry:
        settings = settings_of(classes, {"TOCSIN_DATA_DIR": str(self.path.parent), **(env or {})})
        return Registry(classes, settings, lambda: Tools(self.http, self.clock))

    def usual(self, **spec: Any) -> Registry:
        return self.registry(channel("bell", self.bell, **spec), channel("horn", self.horn))

    def start_dispatcher(
        self, registry: Registry | None = None, store: Watched | None = None, **how: Any
    ) -> Dispatcher:
        dispatcher = Dispatcher(store or self.store, registry or self.usual(), self.clock, **how)
        self.tasks.append(asyncio.create_task(dispatcher.run()))
        return dispatcher

    async def put(self, *deliveries: NewDelivery) -> list[Delivery]:
        return await self.store.enqueue_many(deliveries)

    async def settle(self) -> None:
        """Let everybody work until all wait for time, or for the test."""
        quiet = 0
        while quiet < NOTHING_HAPPENS_FOR:
            await asyncio.sleep(0)
            quiet += 1
            for part in self.watched:
                if part.busy:
                    quiet = 0
                    await part.idle.wait()

    async def pass_time(self, seconds: float) -> None:
        end = self.clock.monotonic() + seconds
        await self.settle()
        while (at := self.clock.next_wake()) is not None and at <= end:
            self.clock.advance(at - self.clock.monotonic())
            await self.settle()
        self.clock.advance(end - self.clock.monotonic())
        await self.settle()

    async def crash(self) -> None:
        """End every dispatcher without a word."""
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)
        self.tasks.clear()

    async def get(self, delivery: Delivery) -> Delivery:
        found: Delivery = await self.store.get(delivery.id)
        return found

    async def counts(self) -> dict[str, int]:
        counts = await self.store.counts()
        return {str(status): n for status, n in counts.items() if n}

    async def close(self) -> None:
        if self.tasks:
            await self.crash()
        await self.http.aclose()
        await self.stack.aclose()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path / "queue.db")
    yield world
    await world.close()


@pytest.fixture
def alarms(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return the phrases of the dispatcher's own ERROR and WARNING entries so far."""
    return lambda: [r.message for r in caplog.records if r.levelno >= logging.WARNING and "dispatcher" in r.name]


# Order


async def test_messages_to_one_target_go_out_in_order_and_to_many_side_by_side(world: World):
    hold = asyncio.Event()
    world.bell.script = {"a0": [hold], "b0": [hold], "c0": [hold]}
    await world.put(*(new(f"{target}{n}", target) for n in range(4) for target in "abc"))
    world.start_dispatcher()
    await world.settle()
    assert world.bell.hanging == 3
    assert world.bell.texts == []
    hold.set()
    await world.pass_time(1)
    for target in "abc":
        assert [text for to, text in world.bell.taken if to == target] == [f"{target}{n}" for n in range(4)]
    assert await world.counts() == {"sent": 12}


async def test_parse_mode_and_extras_reach_the_channel(world: World):
    seen: list[Part] = []

    async def ring(part: Part) -> str:
        seen.append(part)
        return "rung"

    extra = {"reply_to": 7, "buttons": [[["Yes", "yes"]]]}
    delivery = NewDelivery("bell", "door", "**hi**", "test", parse_mode=COMMONMARK, extra=extra)
    (accepted,) = await world.put(delivery)
    world.start_dispatcher(world.registry(channel("bell", ring)))
    await world.pass_time(1)
    assert (await world.get(accepted)).status is DeliveryStatus.SENT
    assert [(part.text, part.parse_mode, part.extra) for part in seen] == [("hi", COMMONMARK, extra)]


async def test_a_hanging_target_delays_no_other(world: World):
    world.bell.script = {"hangs": [asyncio.Event()]}
    await world.put(new("hangs", "a"), new("behind", "a"), *(new(str(n), f"t{n}") for n in range(100)))
    world.start_dispatcher()
    await world.pass_time(1)
    assert sorted(world.bell.texts, key=int) == [str(n) for n in range(100)]


async def test_a_hanging_channel_takes_no_place_of_another_one(world: World):
    world.bell.script = {str(n): [asyncio.Event()] for n in range(10)}
    await world.put(*(new(str(n), f"t{n}", "bell") for n in range(10)), *(new("x", f"t{n}", "horn") for n in range(10)))
    world.start_dispatcher(slots=2)
    await world.pass_time(1)
    assert world.bell.hanging == 2
    assert len(world.horn.taken) == 10


class Looked(Watched):
    """Lends a store and does something after each look for work."""

    def __init__(self, part: Any, after: Callable[[], Awaitable[None]]) -> None:
        super().__init__(part)
        self._after = after

    def __getattr__(self, name: str) -> Any:
        call = super().__getattr__(name)
        if name != "seconds_to_next":
            return call

        async def look(*args: Any) -> Any:
            found = await call(*args)
            await self._after()
            return found

        return look


async def test_a_backlog_on_one_channel_does_not_starve_another_one(world: World):
    await world.put(*(new(str(n), f"t{n}", "bell") for n in range(60)), new("urgent", "t", "horn"))
    before: list[int] = []

    async def ring(part: Part) -> str:
        if part.text == "0":
            await asyncio.Event().wait()  # so that there is always one place, and never two
        return await world.bell(part)

    async def note(part: Part) -> str:
        before.append(len(world.bell.taken))
        return await world.horn(part)

    registry = world.registry(channel("bell", ring), channel("horn", note))
    world.start_dispatcher(registry, slots=2)
    await world.pass_time(2)
    assert len(world.bell.taken) == 59
    assert before[0] <= 2


async def test_many_workers_make_one_send_of_one_publish(world: World):
    await world.put(*(new(str(n), f"t{n % 40}") for n in range(200)))
    stores = [world.store, world.open_store(), world.open_store()]
    for n in range(6):
        world.start_dispatcher(store=stores[n % 3], slots=4)
    await world.pass_time(3)
    assert sorted(world.bell.texts, key=int) == [str(n) for n in range(200)]
    assert await world.counts() == {"sent": 200}


# Being told, and being idle


async def test_what_is_queued_here_is_sent_at_once_and_what_is_queued_elsewhere_soon(world: World):
    dispatcher = world.start_dispatcher()
    await world.pass_time(1)
    await world.put(new("here"))
    dispatcher.wake()
    await world.settle()
    assert world.bell.texts == ["here"]
    await world.put(new("elsewhere"))
    await world.pass_time(0.3)
    assert world.bell.texts == ["here", "elsewhere"]


async def test_a_wake_up_in_the_middle_of_a_look_is_not_lost(world: World):
    queued: list[Delivery] = []

    async def queue_one() -> None:
        if not queued:
            queued.extend(await world.put(new()))
            dispatcher.wake()

    dispatcher = world.start_dispatcher(store=Looked(world.store, queue_one))
    await world.settle()
    assert world.bell.texts == ["hello"]


async def test_an_idle_dispatcher_only_looks_four_times_a_second(world: World):
    world.start_dispatcher()
    await world.settle()
    world.store.calls.clear()
    await world.pass_time(10)
    assert set(world.store.calls) == {"seconds_to_next"}
    assert len(world.store.calls) <= 41


# Waiting


async def test_the_schedule_ends_with_dead(world: World):
    world.bell.script = {"hello": [refusal() for _ in range(20)]}
    (delivery,) = await world.put(new())
    world.start_dispatcher()
    await world.pass_time(0.1)
    for failures, wait_s in enumerate(SCHEDULE_S, 1):
        waiting = await world.get(delivery)
        assert (waiting.status, waiting.failures, waiting.attempts) == (DeliveryStatus.RETRY_WAIT, failures, failures)
        left_s = (waiting.next_attempt_at or 0) - world.clock.now()
        assert wait_s - 1 < left_s < wait_s * 1.1
        world.clock.advance(left_s - 0.01)
        await world.settle()
        assert (await world.get(delivery)).attempts == failures, "never early"
        await world.pass_time(0.1)
    dead = await world.get(delivery)
    assert (dead.status, dead.attempts, dead.error_class) == (DeliveryStatus.DEAD, len(SCHEDULE_S) + 1, "transient")


@pytest.mark.parametrize("told_s", [0.7, 2.0, 59.5, 3600.0])
async def test_a_wait_that_the_provider_asks_for_is_kept_to_the_moment(world: World, told_s: float):
    refused = refusal(FailureKind.RATE_LIMITED, retry_after_s=told_s)
    world.bell.script = {"first": [refused]}
    await world.put(new("first", "a"), new("second", "a"), new("other", "b"))
    world.start_dispatcher()
    await world.settle()
    assert world.bell.texts == ["other"], "the lane waits, and no other one"
    world.clock.advance(told_s - 0.5)
    await world.pass_time(0.5 - TINY_S)
    assert world.bell.texts == ["other"]
    await world.pass_time(0.05)
    assert world.bell.texts == ["other", "first", "second"]
    assert world.bell.times[1] == pytest.approx(world.start + told_s, abs=0.02)


# Parts


def parts_of(*texts: str) -> NewDelivery:
    return new("\n\n".join(texts))


TWO_PARTS = {"chunk_at": 8, "max_length": 8}


async def test_a_message_of_parts_resumes_at_the_part_that_failed(world: World):
    world.bell.script = {"part two": [refusal()]}
    (delivery,) = await world.put(parts_of("part one", "part two", "part 333"))
    world.start_dispatcher(world.usual(**TWO_PARTS))
    await world.pass_time(1)
    waiting = await world.get(delivery)
    assert (waiting.status, waiting.parts_sent, waiting.parts_total) == (DeliveryStatus.RETRY_WAIT, 1, 3)
    await world.pass_time(6)
    assert world.bell.texts == ["part one", "part two", "part 333"]
    sent = await world.get(delivery)
    assert (sent.status, sent.parts_sent, sent.provider_id) == (DeliveryStatus.SENT, 3, "id=2")


async def test_parts_keep_the_pace_of_the_target_and_so_does_what_comes_after(world: World):
    await world.put(parts_of("part one", "part two", "part 333"), new("after"))
    rate = Rate(1, 2.0)
    world.start_dispatcher(world.usual(target_rate=rate, **TWO_PARTS))
    await world.pass_time(10)
    gaps = [later - earlier for earlier, later in zip(world.bell.times, world.bell.times[1:], strict=False)]
    assert len(gaps) == 3
    assert all(2.0 / SHARE - TINY_S <= gap < 2.0 / SHARE + 0.1 for gap in gaps)


async def test_parts_of_many_messages_share_the_pace_of_the_account(world: World):
    await world.put(*(new("part one\n\npart two\n\npart 333", f"t{n}") for n in range(10)))
    world.start_dispatcher(world.usual(account_rate=Rate(5, 1.0), **TWO_PARTS))
    await world.pass_time(10)
    assert len(world.bell.times) == 30
    assert all(later - earlier >= 1.0 for earlier, later in zip(world.bell.times, world.bell.times[5:], strict=False))


async def test_a_crash_between_two_parts_repeats_none_of_them(world: World):
    (delivery,) = await world.put(parts_of("part one", "part two", "part 333"))
    slow = {"target_rate": Rate(1, 5.0), **TWO_PARTS}
    world.start_dispatcher(world.usual(**slow))
    await world.pass_time(1)
    await world.crash()
    assert world.bell.texts == ["part one"]
    world.start_dispatcher(world.usual(**slow))
    await world.pass_time(LEASE_S + 12)
    assert world.bell.texts == ["part one", "part two", "part 333"]
    assert (await world.get(delivery)).status is DeliveryStatus.SENT


async def test_an_account_that_is_throttled_between_two_parts_gives_the_message_back(world: World):
    world.bell.script = {
        "throttle": [refusal(FailureKind.RATE_LIMITED, retry_after_s=2 * LONGEST_PAUSE_S, whole_account=True)]
    }
    long, _ = await world.put(
        NewDelivery("bell", "a", "part one\n\npart two\n\npart 333", "test", policy=Policy.AT_MOST_ONCE),
        new("throttle", "b", not_before=world.clock.now() + 1),
    )
    world.start_dispatcher(world.usual(target_rate=Rate(1, 3.0), **TWO_PARTS))
    await world.pass_time(5)
    assert world.bell.texts == ["part one", "part two"]
    given_back = await world.get(long)
    assert (given_back.status, given_back.parts_sent) == (DeliveryStatus.QUEUED, 2)
    await world.pass_time(2 * LONGEST_PAUSE_S - 4.1)
    assert len(world.bell.texts) == 2
    await world.pass_time(5)
    assert world.bell.texts.count("part 333") == 1
    assert await world.counts() == {"sent": 2}


async def test_a_try_that_ends_before_the_text_is_split_forgets_no_progress(world: World):
    registry = world.usual(**TWO_PARTS)
    world.bell.script = {"part two": [refusal()]}
    (delivery,) = await world.put(parts_of("part one", "part two"))
    world.start_dispatcher(registry)
    await world.pass_time(1)

    def refuse(_: str) -> str:
        raise ChannelError("no such target any more")

    registry.adapter("bell").check_target = refuse  # type: ignore[method-assign]  # the operator changed a setting
    await world.pass_time(6)
    dead = await world.get(delivery)
    assert (dead.status, dead.parts_sent, dead.parts_total) == (DeliveryStatus.DEAD, 1, 2)


# Leases


async def test_a_send_that_takes_long_keeps_its_lease(world: World):
    hold = asyncio.Event()
    world.bell.script = {"hello": [hold]}
    (delivery,) = await world.put(new())
    world.start_dispatcher()
    await world.settle()  # the first one has taken it before there is a second one
    world.start_dispatcher(store=world.open_store())
    await world.pass_time(4 * LEASE_S)
    assert world.store.calls.count("renew") >= 4 * LEASE_S / HEARTBEAT_S - 2
    hold.set()
    await world.pass_time(1)
    assert world.bell.texts == ["hello"]
    assert (await world.get(delivery)).attempts == 1


async def test_a_program_that_stood_still_does_not_take_itself_for_dead(world: World):
    hold = asyncio.Event()
    world.bell.script = {"hello": [hold]}
    (delivery,) = await world.put(new())
    world.start_dispatcher()
    await world.settle()
    world.clock.advance(10 * LEASE_S)  # SIGSTOP, and later SIGCONT
    await world.pass_time(1)
    hold.set()
    await world.pass_time(1)
    assert world.bell.texts == ["hello"]
    assert (await world.get(delivery)).attempts == 1


async def test_who_lost_the_lease_stops_sending(world: World, alarms: Callable[[], list[str]]):
    world.bell.script = {"hello": [asyncio.Event()]}
    await world.put(new())
    world.start_dispatcher()
    await world.settle()
    world.clock.advance_unnoticed(LEASE_S)
    (taken,) = await world.store.claim_due("another", 1, RULES)
    assert world.bell.hanging == 1
    await world.pass_time(HEARTBEAT_S + 0.5)
    assert world.bell.hanging == 0
    assert len(alarms()) == 1
    assert (await world.get(taken)).status is DeliveryStatus.SENDING


async def test_who_lost_the_lease_sends_no_further_part(world: World, alarms: Callable[[], list[str]]):
    hold = asyncio.Event()
    world.bell.script = {"part one": [hold]}
    await world.put(parts_of("part one", "part two"))
    world.start_dispatcher(world.usual(**TWO_PARTS))
    await world.settle()
    world.clock.advance_unnoticed(LEASE_S)
    await world.store.claim_due("another", 1, RULES)
    hold.set()
    await world.settle()
    assert world.bell.texts == ["part one"]
    assert alarms() == ["another worker took over a delivery"]


async def test_who_lost_the_lease_does_not_overwrite_what_another_one_wrote(world: World):
    hold = asyncio.Event()
    world.bell.script = {"hello": [hold]}
    (delivery,) = await world.put(new())
    world.start_dispatcher()
    await world.settle()
    world.clock.advance_unnoticed(LEASE_S)
    await world.store.claim_due("another", 1, RULES)
    hold.set()
    await world.settle()
    assert (await world.get(delivery)).status is DeliveryStatus.SENDING


async def test_a_dead_workers_messages_are_due_again_within_the_lease(world: World):
    world.bell.script = {"again": [asyncio.Event()], "once": [asyncio.Event()]}
    again, once = await world.put(new("again", "a"), new("once", "b", policy=Policy.AT_MOST_ONCE))
    world.start_dispatcher()
    await world.settle()
    await world.crash()
    world.start_dispatcher()
    await world.pass_time(LEASE_S + 0.1)
    assert world.bell.texts == ["again"]
    assert (await world.get(once)).status is DeliveryStatus.UNCERTAIN
    assert (await world.get(again)).attempts == 2


# A store that is away


@pytest.mark.parametrize("error", [DatabaseError("the disk is full"), RuntimeError("a bug")])
async def test_a_store_that_fails_is_asked_patiently_and_outcomes_are_kept(
    world: World, error: Exception, alarms: Callable[[], list[str]]
):
    hold = asyncio.Event()
    world.bell.script = {"1": [hold]}
    one, two = await world.put(new("1", "a"), new("2", "b", not_before=world.clock.now() + 5))
    dispatcher = world.start_dispatcher()
    await world.pass_time(1)
    world.store.broken = DatabaseError("the disk is full")
    hold.set()
    await world.settle()
    world.store.broken = error if isinstance(error, DatabaseError) else DatabaseError("the disk is full")
    world.store.calls.clear()
    for _ in range(60):
        dispatcher.wake()
        await world.pass_time(1)
    assert len(world.store.calls) < 80, "no busy loop"
    world.store.broken = None
    await world.pass_time(3)
    assert world.bell.texts == ["1", "2"]
    assert [(await world.get(d)).attempts for d in (one, two)] == [1, 1]
    waits = "an outcome will be stored when the queue is available again"
    assert sorted(alarms()) == [waits, "the queue cannot be processed"], "an outage is told once"


async def test_a_store_with_a_bug_does_not_end_the_dispatcher(world: World, alarms: Callable[[], list[str]]):
    world.start_dispatcher()
    await world.settle()
    world.store.broken = RuntimeError("a bug")
    await world.pass_time(30)
    world.store.broken = None
    await world.put(new())
    await world.pass_time(3)
    assert world.bell.texts == ["hello"]
    assert alarms() == ["the queue cannot be processed"]


# Stopping


async def test_a_stop_lets_what_is_being_sent_finish_and_takes_nothing_more(world: World):
    hold = asyncio.Event()
    world.bell.script = {"1": [hold]}
    await world.put(new("1"), new("2"))
    dispatcher = world.start_dispatcher()
    await world.settle()
    dispatcher.stop()
    await world.put(new("3", "window"))
    dispatcher.wake()
    await world.pass_time(DRAIN_S - 1)
    assert not world.tasks[0].done()
    hold.set()
    await world.settle()
    assert world.tasks[0].done()
    assert world.bell.texts == ["1"]
    assert await world.counts() == {"sent": 1, "queued": 2}


async def test_a_stop_ends_what_hangs_and_its_lease_brings_it_back(world: World):
    world.bell.script = {"hangs": [asyncio.Event()]}
    await world.put(new("hangs"))
    dispatcher = world.start_dispatcher()
    await world.settle()
    dispatcher.stop()
    await world.pass_time(DRAIN_S + 0.1)
    assert world.tasks[0].done()
    assert world.bell.hanging == 0
    world.start_dispatcher()
    await world.pass_time(LEASE_S)
    assert world.bell.texts == ["hangs"]


async def test_a_stop_keeps_the_leases_of_what_is_finishing(world: World):
    hold = asyncio.Event()
    world.bell.script = {"hello": [hold]}
    await world.put(new())
    dispatcher = world.start_dispatcher()
    await world.pass_time(LEASE_S - 0.1)
    dispatcher.stop()
    await world.settle()
    world.start_dispatcher(store=world.open_store())
    await world.pass_time(DRAIN_S - 1)
    hold.set()
    await world.pass_time(1)
    assert world.bell.texts == ["hello"]


async def test_what_is_claimed_while_the_program_stops_is_given_back(world: World):
    (delivery,) = await world.put(NewDelivery("bell", "door", "hello", "test", policy=Policy.AT_MOST_ONCE))
    dispatcher = world.start_dispatcher()
    await until(lambda: "claim_due" in world.store.calls)
    dispatcher.stop()
    await world.settle()
    assert world.tasks[0].done()
    queued = await world.get(delivery)
    assert (queued.status, queued.attempts) == (DeliveryStatus.QUEUED, 0)
    world.start_dispatcher()
    await world.settle()
    assert world.bell.texts == ["hello"]


async def test_a_stop_between_two_parts_gives_the_message_back_with_its_progress(world: World):
    text = "part one\n\npart two\n\npart 333"
    (delivery,) = await world.put(NewDelivery("bell", "door", text, "test", policy=Policy.AT_MOST_ONCE))
    paced = {"target_rate": Rate(1, 2.0), **TWO_PARTS}
    dispatcher = world.start_dispatcher(world.usual(**paced))
    await world.pass_time(1)
    dispatcher.stop()
    await world.pass_time(DRAIN_S)
    given_back = await world.get(delivery)
    assert (given_back.status, given_back.parts_sent) == (DeliveryStatus.QUEUED, 1)
    world.start_dispatcher(world.usual(**paced))
    await world.pass_time(10)
    assert world.bell.texts == ["part one", "part two", "part 333"]


# Channels with bugs, and observers


class Unheard(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ValueError("made-up"), DeliveryStatus.DEAD),
        (ExceptionGroup("made-up", [KeyError("x")]), DeliveryStatus.DEAD),
        (ModuleNotFoundError("no x", name="x"), DeliveryStatus.DEAD),
        (TimeoutError(), DeliveryStatus.RETRY_WAIT),
        (asyncio.CancelledError(), DeliveryStatus.RETRY_WAIT),
        (SystemExit(3), DeliveryStatus.RETRY_WAIT),
        (GeneratorExit(), DeliveryStatus.RETRY_WAIT),
    ],
)
async def test_whatever_a_channel_raises_ends_its_own_delivery_alone(
    world: World, error: BaseException, status: DeliveryStatus
):
    world.bell.script = {"bad": [error]}
    bad, *_ = await world.put(new("bad", "a"), new("good", "b"), new("good", "c", "horn"))
    world.start_dispatcher()
    await world.pass_time(1)
    assert (world.bell.texts, world.horn.texts) == (["good"], ["good"])
    ended = await world.get(bad)
    assert ended.status is status
    assert ended.error
    await world.put(new("later", "b"))
    await world.pass_time(1)
    assert world.bell.texts == ["good", "later"]


async def test_an_observer_is_told_of_every_try_and_may_fail(world: World, alarms: Callable[[], list[str]]):
    world.bell.script = {"hello": [refusal()]}
    (delivery,) = await world.put(new())
    seen: list[tuple[str, bool]] = []

    def fail(of: Delivery, receipt: Receipt, _: AttemptOutcome) -> None:
        seen.append((of.id, receipt.result.ok))
        raise ValueError("made-up")

    world.start_dispatcher(on_attempt=fail)
    await world.pass_time(6)
    assert seen == [(delivery.id, False), (delivery.id, True)]
    assert (await world.get(delivery)).status is DeliveryStatus.SENT
    assert set(alarms()) == {"an observer of deliveries failed"}


async def test_what_ends_unsent_is_told_in_the_log_with_its_reason(world: World, caplog: pytest.LogCaptureFixture):
    world.bell.script = {"hello": [refusal(FailureKind.PERMANENT)]}
    (delivery,) = await world.put(new())
    world.start_dispatcher()
    await world.settle()
    (entry,) = [r for r in caplog.records if "delivery" in r.message]
    assert (entry.__dict__["delivery"], entry.__dict__["reason"]) == (delivery.id, "refused")
    assert (await world.get(delivery)).status is DeliveryStatus.DEAD


KEY = Variable("BELL_KEY", str, "", "A key.", secret=True, required=True)


async def test_deliveries_of_a_channel_that_is_no_longer_configured_stay_queued(world: World):
    bell = channel("bell", world.bell, secrets=(KEY,))
    (delivery,) = (
        await world.put(new("bell"), new("horn", channel="horn"))[:1] if False else await world.put(new("bell"))
    )
    await world.put(new("horn", channel="horn"))
    world.start_dispatcher(world.registry(bell, channel("horn", world.horn)))
    await world.pass_time(60)
    assert (world.bell.texts, world.horn.texts) == ([], ["horn"])
    assert (await world.get(delivery)).status is DeliveryStatus.QUEUED
    await world.crash()
    world.start_dispatcher(world.registry(bell, env={"BELL_KEY": "k"}))
    await world.pass_time(1)
    assert world.bell.texts == ["bell"]


async def test_deliveries_of_a_channel_that_cannot_be_made_stay_queued(world: World, alarms: Callable[[], list[str]]):
    class Broken(channel("bell", world.bell)):  # type: ignore[misc]
        def __init__(self, *_: Any) -> None:
            raise ValueError("made-up")

    await world.put(new("bell"), new("horn", channel="horn"))
    world.start_dispatcher(world.registry(Broken, channel("horn", world.horn)))
    await world.pass_time(5)
    assert world.horn.texts == ["horn"]
    assert await world.counts() == {"queued": 1, "sent": 1}
    assert alarms() == ["the deliveries of a channel remain queued"]


async def test_what_expires_does_so_though_no_channel_is_configured(world: World):
    await world.put(new(expires_at=world.clock.now() + 5))
    world.start_dispatcher(world.registry())
    await world.pass_time(6)
    assert await world.counts() == {"expired": 1}


# The stand-ins, by real HTTP


@pytest.fixture
async def town() -> AsyncIterator[StandinCluster]:
    async with open_standins() as town:
        yield town


def providers(world: World, town: StandinCluster, **env: str) -> Registry:
    return world.registry(TeamchatAdapter, BotchatAdapter, GuildchatAdapter, env={**town.environment(), **env})


@contextmanager
def arrivals(world: World, town: StandinCluster) -> Iterator[list[tuple[float, str, str]]]:
    """Collect when, on what channel and what arrives."""
    found: list[tuple[float, str, str]] = []
    end = town.recorder.on_message(
        lambda m: found.append((world.clock.monotonic() - world.start, m.channel, f"{m.kind} {m.text}"))
    )
    yield found
    end()


async def test_a_chat_that_is_throttled_waits_as_told_and_other_chats_do_not(world: World, town: StandinCluster):
    town.botchat.faults.push(Fault.rate_limited(7))
    with arrivals(world, town) as arrived:
        await world.put(new("1", "1001", "botchat"), new("2", "1001", "botchat"))
        world.start_dispatcher(providers(world, town))
        await world.settle()
        await world.put(new("other", "1002", "botchat"))
        await world.pass_time(6.99)
        assert [text for _, _, text in arrived] == ["message other"]
        await world.pass_time(2)
    assert [text for _, _, text in arrived] == ["message other", "message 1", "message 2"]
    assert 7.0 <= arrived[1][0] < 7.1


@pytest.mark.parametrize(("scope", "others_wait"), [("user", False), ("shared", False), ("global", True)])
async def test_a_global_throttle_holds_the_whole_account(
    world: World, town: StandinCluster, scope: str, others_wait: bool
):
    town.guildchat.faults.push(Fault.rate_limited(4, scope=scope))
    with arrivals(world, town) as arrived:
        await world.put(new("1", OPS, "guildchat"))
        world.start_dispatcher(providers(world, town))
        await world.settle()
        await world.put(new("2", GENERAL, "guildchat"), new("x", "#ops", "teamchat"))
        await world.pass_time(3.99)
        assert ("guildchat" not in [name for _, name, _ in arrived]) is others_wait
        assert "teamchat" in [name for _, name, _ in arrived]
        await world.pass_time(2)
    assert sorted(text for _, name, text in arrived if name == "guildchat") == ["message 1", "message 2"]
    assert 4.0 <= next(at for at, _, text in arrived if text == "message 1") < 4.2


@pytest.mark.parametrize("fault", [Fault.reset_after_accept(), Fault.broken_json()], ids=lambda fault: fault.kind)
@pytest.mark.parametrize("policy", list(Policy))
async def test_a_message_that_may_have_arrived_is_sent_again_or_held_by_its_policy(
    world: World, town: StandinCluster, fault: Fault, policy: Policy
):
    town.teamchat.faults.push(fault)
    (delivery,) = await world.put(NewDelivery("teamchat", "#ops", "hello", "test", policy=policy))
    world.start_dispatcher(providers(world, town))
    await world.pass_time(7)
    again = policy is Policy.AT_LEAST_ONCE
    assert len(town.recorder.of("teamchat")) == (2 if again else 1)
    assert (await world.get(delivery)).status is (DeliveryStatus.SENT if again else DeliveryStatus.UNCERTAIN)


@pytest.mark.parametrize("policy", list(Policy))
async def test_a_provider_that_recognises_repeats_shows_one_message_in_either_policy(
    world: World, town: StandinCluster, policy: Policy
):
    # The channel itself asks twice, so the first try of the queue is ambiguous only after two of them.
    town.guildchat.faults.push(Fault.reset_after_accept(), times=2)
    (delivery,) = await world.put(NewDelivery("guildchat", OPS, "hello", "test", policy=policy))
    world.start_dispatcher(providers(world, town))
    await world.pass_time(7)
    assert len(town.recorder.of("guildchat")) == 1
    assert len(town.recorder.of("guildchat", kind="duplicate")) == 2
    sent = await world.get(delivery)
    assert (sent.status, sent.attempts) == (DeliveryStatus.SENT, 2)


def finding(world: World, town: StandinCluster, *scopes: str) -> Registry:
    town.teamchat.scopes |= set(scopes)
    return providers(world, town, TEAMCHAT_FIND_SENT="true")


@pytest.mark.parametrize("target", ["C00000OPS", "#ops", "U00ALICE1", "C00000OPS/{root}"])
@pytest.mark.parametrize("policy", list(Policy))
async def test_a_message_that_arrived_is_found_in_the_history_instead_of_sent_again(
    world: World, town: StandinCluster, policy: Policy, target: str
):
    registry = finding(world, town, "channels:history", "channels:read", "groups:read", "im:write")
    root = (await registry.adapter("teamchat").send("C00000OPS", "root")).message.removeprefix("ts=")
    town.teamchat.faults.push(Fault.reset_after_accept())
    (delivery,) = await world.put(NewDelivery("teamchat", target.format(root=root), "hello", "test", policy=policy))
    world.start_dispatcher(registry)
    await world.pass_time(7)
    [arrived] = [each for each in town.recorder.of("teamchat") if each.text == "hello"]
    sent = await world.get(delivery)
    assert (sent.status, sent.attempts) == (DeliveryStatus.SENT, 2)
    assert sent.note == f"ts={arrived.id} (found: an earlier attempt had sent it)"


@pytest.mark.parametrize("policy", list(Policy))
async def test_a_message_that_is_not_in_the_history_is_sent_in_either_policy(
    world: World, town: StandinCluster, policy: Policy
):
    registry = finding(world, town, "channels:history")
    town.teamchat.faults.push(Fault.reset(), Fault.rate_limited(9))  # the second is met by the history
    (delivery,) = await world.put(NewDelivery("teamchat", "C00000OPS", "hello", "test", policy=policy))
    world.start_dispatcher(registry)
    await world.pass_time(60)
    sent = await world.get(delivery)
    assert (sent.status, sent.attempts, "found" in sent.note) == (DeliveryStatus.SENT, 3, False)
    assert len(town.recorder.of("teamchat")) == 1


@pytest.mark.parametrize("policy", list(Policy))
async def test_without_an_answer_of_the_history_the_policy_decides_and_the_note_says_so(
    world: World, town: StandinCluster, policy: Policy
):
    town.teamchat.faults.push(Fault.reset_after_accept())
    (delivery,) = await world.put(NewDelivery("teamchat", "C00000OPS", "hello", "test", policy=policy))
    world.start_dispatcher(finding(world, town))
    await world.pass_time(7)
    ended, again = await world.get(delivery), policy is Policy.AT_LEAST_ONCE
    assert len(town.recorder.of("teamchat")) == (2 if again else 1)
    assert ended.status is (DeliveryStatus.SENT if again else DeliveryStatus.UNCERTAIN)
    assert "could not be looked for: missing_scope: add the scope channels:history" in (ended.note or ended.error)


async def test_trouble_at_a_provider_is_waited_out(world: World, town: StandinCluster):
    town.teamchat.faults.push(Fault.status(502), Fault.error("internal_error"))
    (delivery,) = await world.put(new("hello", "#ops", "teamchat", policy=Policy.AT_MOST_ONCE))
    world.start_dispatcher(providers(world, town))
    await world.pass_time(0.5)
    assert (await world.get(delivery)).status is DeliveryStatus.RETRY_WAIT
    await world.pass_time(45)
    sent = await world.get(delivery)
    assert (sent.status, sent.attempts) == (DeliveryStatus.SENT, 3)
    assert len(town.recorder.of("teamchat")) == 1


async def test_a_refusal_for_good_ends_as_dead_and_the_next_one_goes(world: World, town: StandinCluster):
    dead, _ = await world.put(new("1", "#no-such-channel", "teamchat"), new("2", "#ops", "teamchat"))
    world.start_dispatcher(providers(world, town))
    await world.pass_time(1)
    ended = await world.get(dead)
    assert (ended.status, ended.attempts, ended.error_class) == (DeliveryStatus.DEAD, 1, "permanent")
    assert "channel_not_found" in ended.error
    assert [m.text for m in town.recorder.of("teamchat")] == ["2"]


async def test_a_long_text_goes_on_where_the_provider_failed(world: World, town: StandinCluster):
    text = "\n\n".join(f"{n}" * 90 for n in range(4))
    town.teamchat.faults.push(Fault.rate_limited(3).only("chat.postMessage"))
    (delivery,) = await world.put(new(text, "#ops", "teamchat"))
    world.start_dispatcher(providers(world, town, TEAMCHAT_CHUNK_AT="100"))
    await world.pass_time(5)
    town.teamchat.faults.push(Fault.status(503))
    await world.pass_time(30)
    assert [m.text[0] for m in town.recorder.of("teamchat")] == ["0", "1", "2", "3"]
    assert (await world.get(delivery)).status is DeliveryStatus.SENT


async def test_chats_groups_and_parts_are_paced_so_that_the_provider_never_refuses(world: World):
    async with BotChat(paced=True, clock=world.clock.monotonic) as botchat:
        env = {"BOTCHAT_BOT_TOKEN": botchat.token, "BOTCHAT_API_URL": botchat.api_url}
        queued = await world.put(
            new("\n\n".join(f"{n}" * 3_900 for n in range(8)), "-555", "botchat"),  # in 8 parts
            *(new(f"group {n}", "-555", "botchat") for n in range(15)),
            *(new(f"chat {n}", "1001", "botchat") for n in range(30)),
            *(new("hello", f"{3000 + n}", "botchat") for n in range(100)),
        )
        world.start_dispatcher(world.registry(BotchatAdapter, env=env))
        await world.pass_time(80)
        assert len(botchat.recorder.of("botchat")) == len(queued) + 7
        assert {(await world.get(d)).attempts for d in queued} == {1}
        assert [m.text[:7] for m in botchat.recorder.of(target="-555")] == [
            *(f"{n}" * 7 for n in range(8)),
            *(f"group {n}"[:7] for n in range(15)),
        ]


@pytest.mark.parametrize(("channel", "place", "several"), [("botchat", "-555", 3), ("teamchat", "#ops", 3)])
async def test_a_few_messages_in_a_row_do_not_wait_for_each_other(
    world: World, town: StandinCluster, channel: str, place: str, several: int
):
    await world.put(*(new(str(n), place, channel) for n in range(several)))
    world.start_dispatcher(providers(world, town))
    await world.pass_time(0.5)
    assert len(town.recorder.of(channel)) == several


async def test_a_group_gets_at_most_20_messages_in_any_minute(world: World):
    async with BotChat(paced=True, clock=world.clock.monotonic) as botchat:
        env = {"BOTCHAT_BOT_TOKEN": botchat.token, "BOTCHAT_API_URL": botchat.api_url}
        queued = await world.put(*(new(str(n), "-555", "botchat") for n in range(25)))
        world.start_dispatcher(world.registry(BotchatAdapter, env=env))
        await world.pass_time(5)
        assert len(botchat.recorder.of("botchat")) >= 5
        await world.pass_time(90)
        assert len(botchat.recorder.of("botchat")) == 25
        assert {(await world.get(delivery)).attempts for delivery in queued} == {1}


async def test_pacing_gives_no_provider_a_reason_to_refuse(world: World):
    queued = await world.put(
        *(new(f"b{n}", "1001", "botchat") for n in range(3)),
        *(new("x", f"{1002 + n}", "botchat") for n in range(45)),
        *(new(f"t{n}", "#ops", "teamchat") for n in range(3)),
        *(new(f"g{n}", place, "guildchat") for n in range(3) for place in (OPS, GENERAL, ANNOUNCEMENTS)),
    )
    time: dict[str, Any] = {"paced": True, "clock": world.clock.monotonic}
    async with TeamChat(**time) as teamchat, BotChat(**time) as botchat, GuildChat(**time) as guildchat:
        env = {
            "TEAMCHAT_BOT_TOKEN": teamchat.token,
            "TEAMCHAT_API_URL": teamchat.api_url,
            "BOTCHAT_BOT_TOKEN": botchat.token,
            "BOTCHAT_API_URL": botchat.api_url,
            "GUILDCHAT_BOT_TOKEN": guildchat.token,
            "GUILDCHAT_API_URL": guildchat.api_url,
        }
        world.start_dispatcher(world.registry(TeamchatAdapter, BotchatAdapter, GuildchatAdapter, env=env))
        await world.pass_time(30)
        ended = [await world.get(delivery) for delivery in queued]
        assert {(d.status, d.attempts) for d in ended} == {(DeliveryStatus.SENT, 1)}
        assert [m.text for m in botchat.recorder.of("botchat", target="1001")] == ["b0", "b1", "b2"]
