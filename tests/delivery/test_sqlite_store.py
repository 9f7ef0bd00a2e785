"""The delivery store in SQLite: the contract, and what it promises beyond."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from tests.delivery.store_contract import (
    DEAD,
    RULES,
    SENT,
    OpenStore,
    StoreContract,
    find_all,
    messages,
    new,
    retry,
    throttled,
    two_clocks,
)
from tests.delivery.store_machine import StoreMachine

from tocsin.core.ids import new_id
from tocsin.core.storage.database import Database, DatabaseError
from tocsin.core.time.clock import Clock
from tocsin.delivery.model import LEASE_S, SCHEDULE_S, DeliveryStatus, Policy, Rate
from tocsin.delivery.sqlite.lanes import FULL_S, TIDY_BATCH, Now, seconds_to_next
from tocsin.delivery.sqlite.schema import MIGRATIONS
from tocsin.delivery.sqlite.search import search
from tocsin.delivery.sqlite.store import UNWELL_S, SqliteStore
from tocsin.delivery.store import ChannelRules, DeliveryFilter, DeliveryStore, TransitionError, UnknownDeliveryError
from tocsin.testing.fakes import FakeClock

SCHEMA = {"delivery": MIGRATIONS}
HISTORIES = settings(
    max_examples=12, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


@asynccontextmanager
async def opened(path: Path, clock: Clock, boot: str = "boot-1") -> AsyncIterator[SqliteStore]:
    database = Database(path, SCHEMA)
    try:
        yield SqliteStore(database, clock, boot=lambda: boot)
    finally:
        await database.aclose()


def rebooted(uptime_s: float = 0.0) -> FakeClock:
    """Return the clock one minute later, after a boot that was `uptime_s` ago."""
    return FakeClock(two_clocks().now() + 60, monotonic=uptime_s)


async def rows(database: Database, table: str) -> int:
    return await database.read(lambda c: c.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queue.db"


@pytest.fixture
def clock() -> FakeClock:
    return two_clocks()


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    database = Database(path, SCHEMA)
    yield database
    await database.aclose()


@pytest.fixture
def store(database: Database, clock: FakeClock) -> SqliteStore:
    return SqliteStore(database, clock, boot=lambda: "boot-1")


class TestContract(StoreContract):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> OpenStore:
        def open_store(clock: Clock) -> AbstractAsyncContextManager[DeliveryStore]:
            return opened(tmp_path / "queue.db", clock)

        return open_store


def test_no_history_breaks_the_promises_of_the_queue(tmp_path: Path):
    numbers = count()

    class SqliteMachine(StoreMachine):
        def __init__(self) -> None:
            super().__init__()
            self.path = tmp_path / f"{next(numbers)}.db"

        def opened(self, clock: FakeClock) -> AbstractAsyncContextManager[DeliveryStore]:
            return opened(self.path, clock)

    run_state_machine_as_test(SqliteMachine, settings=HISTORIES)


# A reboot


async def test_after_a_reboot_everything_waits_as_long_as_before(path: Path):
    old, new_boot = two_clocks(), rebooted()
    async with opened(path, old) as store:
        await store.enqueue_many(
            [new("retry", "a"), new("scheduled", "b", not_before=old.now() + 600), new("now", "c")]
        )
        claimed = {d.message: d for d in await store.claim_due("w1", 10, RULES)}
        await store.finish("w1", claimed["retry"].id, retry(300))
    async with opened(path, new_boot, "boot-2") as store:
        # Asked first, as a dispatcher does: an old time must not look like a wait of weeks.
        assert (await store.seconds_to_next(RULES) or 0) == 0
        assert messages(await store.claim_due("w2", 10, RULES)) == ["now"]
        new_boot.advance(240 - 0.1)
        assert messages(await store.claim_due("w2", 10, RULES)) == ["now"]  # that worker has died as well
        new_boot.advance(0.2)
        assert messages(await store.claim_due("w2", 10, RULES)) == ["retry"]
        new_boot.advance(300)
        assert "scheduled" in messages(await store.claim_due("w2", 10, RULES))


@pytest.mark.parametrize("uptime_s", [0.0, 4_000.0, 90_000.0])
async def test_a_lease_from_before_a_reboot_has_ended(path: Path, uptime_s: float):
    async with opened(path, two_clocks()) as store:
        await store.enqueue_many([new("1"), new("2", "window", policy=Policy.AT_MOST_ONCE)])
        assert len(await store.claim_due("w1", 10, RULES)) == 2
    async with opened(path, rebooted(uptime_s), "boot-2") as store:
        assert messages(await store.claim_due("w2", 10, RULES)) == ["1"]
        assert (await store.counts())[DeliveryStatus.UNCERTAIN] == 1


@pytest.mark.parametrize("account", [False, True])
async def test_a_wait_that_a_provider_asked_for_outlives_a_reboot(path: Path, account: bool):
    old, new_boot = two_clocks(), rebooted()
    async with opened(path, old) as store:
        first, *_ = await store.enqueue_many([new("first"), new("second"), new("other", "window")])
        await store.finish("w1", (await store.claim_due("w1", 1, RULES))[0].id, throttled(3600, account=account))
        await store.cancel(first.id)
    async with opened(path, new_boot, "boot-2") as store:
        new_boot.advance(3540 - 0.1)
        now = ["other"] if not account else []
        assert messages(await store.claim_due("w2", 10, RULES)) == now
        new_boot.advance(0.2)
        assert "second" in messages(await store.claim_due("w2", 10, RULES))


@pytest.mark.parametrize("uptime_s", [0.0, 90_000.0])
async def test_after_a_reboot_a_listing_tells_the_wait_before_any_service_has_started(path: Path, uptime_s: float):
    async with opened(path, two_clocks()) as store:
        [delivery] = await store.enqueue_many([new()])
        await store.hold(delivery.channel, delivery.target, 3600, "busy")
        before = await store.get(delivery.id)
    async with opened(path, rebooted(uptime_s), "boot-2") as store:
        for shown in (await store.get(delivery.id), *(await store.search(DeliveryFilter())).items):
            assert shown.error == before.error
            assert shown.next_attempt_at == pytest.approx(before.next_attempt_at)
    assert "busy" in before.error


async def test_without_a_reboot_nothing_is_adopted(path: Path, clock: FakeClock):
    async with opened(path, clock) as first, opened(path, clock) as second:
        await first.enqueue_many([new()])
        (claimed,) = await first.claim_due("w1", 1, RULES)
        assert await second.claim_due("w2", 1, RULES) == []
        assert await first.finish("w1", claimed.id, SENT)


async def test_a_lease_that_ends_later_than_any_can_is_from_a_boot_that_nobody_named(path: Path):
    async with opened(path, two_clocks(), "") as store:
        await store.enqueue_many([new()])
        await store.claim_due("w1", 1, RULES)
    async with opened(path, rebooted(1.0), "") as store:
        assert await store.seconds_to_next(RULES) == 0
        assert messages(await store.claim_due("w2", 1, RULES)) == ["hello"]


# Time is taken when the write is made


async def test_a_lease_begins_when_it_is_given_and_not_when_it_was_asked_for(path: Path, clock: FakeClock):
    database = Database(path, SCHEMA)
    store = SqliteStore(database, clock, boot=lambda: "boot-1")
    await store.enqueue_many([new()])
    busy = asyncio.create_task(database.write(lambda _: clock.advance(LEASE_S - 1)))  # the disk is slow
    await asyncio.sleep(0)
    (claimed,) = await store.claim_due("w1", 1, RULES)
    await busy
    clock.advance(LEASE_S - 1)
    assert await store.claim_due("w2", 1, RULES) == []
    assert await store.finish("w1", claimed.id, SENT)
    await database.aclose()


# What is kept, and for how long


async def test_a_worker_that_dies_of_a_message_again_and_again_is_not_given_it_for_ever(
    store: SqliteStore, clock: FakeClock
):
    await store.enqueue_many([new()])
    tries = 0
    while await store.claim_due("w1", 1, RULES):
        tries += 1
        clock.advance(LEASE_S)
    assert tries == len(SCHEDULE_S) + 1
    assert (await store.counts())[DeliveryStatus.DEAD] == 1


async def test_buckets_that_are_full_again_are_forgotten(database: Database, store: SqliteStore, clock: FakeClock):
    rules = {"bell": ChannelRules(target_rate=Rate(1, 1.0), account_rate=Rate(1000, 1.0))}
    await store.enqueue_many([new(target=f"t{n}") for n in range(150)])
    for _ in range(150):
        clock.advance(0.01)
        (claimed,) = await store.claim_due("w1", 64, rules)
        await store.finish("w1", claimed.id, SENT)
    assert await rows(database, "pace") > 100
    clock.advance(FULL_S + 2)
    assert await store.claim_due("w1", 10, rules) == []
    assert await rows(database, "pace") == 0
    assert await rows(database, "lanes") == 0


async def test_a_wait_that_a_provider_asked_for_is_not_forgotten(
    database: Database, store: SqliteStore, clock: FakeClock
):
    await store.enqueue_many([new("1"), new("2")])
    (claimed,) = await store.claim_due("w1", 1, RULES)
    await store.finish("w1", claimed.id, throttled(3600))
    clock.advance(3600 + FULL_S - 1)
    await store.claim_due("w1", 0, RULES)
    assert await rows(database, "pace") == 1
    clock.advance(2)
    await store.claim_due("w1", 0, RULES)
    assert await rows(database, "pace") == 0


async def test_a_schedule_of_many_does_not_hold_up_one_claim(store: SqliteStore, clock: FakeClock):
    later = clock.now() + 60
    await store.enqueue_many([new(str(n), f"t{n}", not_before=later) for n in range(2 * TIDY_BATCH)])
    clock.advance(60)
    sent = []
    while (wait_s := await store.seconds_to_next(RULES)) is not None:
        assert wait_s == 0
        claimed = await store.claim_due("w1", 400, RULES)
        await asyncio.gather(*(store.finish("w1", delivery.id, SENT) for delivery in claimed))
        sent += messages(claimed)
    assert len(sent) == len(set(sent)) == 2 * TIDY_BATCH


async def test_what_came_of_age_by_a_wrong_clock_waits_again_when_that_is_put_right(
    store: SqliteStore, clock: FakeClock
):
    await store.enqueue_many([new("early", not_before=clock.now() + 60), new("now")])
    (now,) = await store.claim_due("w1", 10, RULES)
    clock.jump(10 * 365 * 86400.0)
    assert await store.claim_due("w1", 10, RULES) == []  # in its lane, and behind what is being sent
    clock.jump(-10 * 365 * 86400.0)
    await store.finish("w1", now.id, SENT)
    assert await store.claim_due("w1", 10, RULES) == []
    assert await store.seconds_to_next(RULES) == pytest.approx(60)
    clock.advance(60)
    assert messages(await store.claim_due("w1", 10, RULES)) == ["early"]


async def test_what_expires_in_front_of_a_lane_lets_the_next_one_go(store: SqliteStore, clock: FakeClock):
    first, _ = await store.enqueue_many([new("1", expires_at=clock.now() + 60), new("2")])
    await store.claim_due("w1", 1, RULES)
    await store.finish("w1", first.id, retry(7200))
    clock.advance(60)
    assert await store.seconds_to_next(RULES) == 0
    assert messages(await store.claim_due("w1", 1, RULES)) == ["2"]
    expired = await store.get(first.id)
    assert expired.status is DeliveryStatus.EXPIRED
    assert expired.next_attempt_at is None
    assert "refused" in expired.error, "why it was not sent before is still there"


async def test_lanes_that_always_have_more_take_turns(store: SqliteStore, clock: FakeClock):
    targets = [f"t{n}" for n in range(6)]
    await store.enqueue_many([new(str(n), target) for target in targets for n in range(20)])
    turns = []
    for _ in range(60):
        clock.advance(0.01)
        (claimed,) = await store.claim_due("w1", 1, RULES)
        turns.append(claimed.target)
        await store.finish("w1", claimed.id, SENT)
    assert set(Counter(turns).values()) == {10}


async def test_a_part_waits_for_its_turn_in_every_bucket_and_delays_the_next_message(
    store: SqliteStore, clock: FakeClock
):
    rate = Rate(1, 0.95)  # with our share of it, one a second
    rules = ChannelRules(target_rate=rate, group_rate=Rate(1, 2.85), group_prefix="-")
    await store.enqueue_many([new("1", "-g"), new("2", "-g")])
    (claimed,) = await store.claim_due("w1", 10, {"bell": rules})
    assert await store.pace("bell", "-g", rules) == pytest.approx(3.0)
    clock.advance(3.0)
    assert await store.pace("bell", "-g", rules) == pytest.approx(3.0)
    clock.advance(3.0)
    await store.finish("w1", claimed.id, SENT)
    assert await store.claim_due("w1", 10, {"bell": rules}) == []
    assert await store.seconds_to_next({"bell": rules}) == pytest.approx(3.0)


async def test_a_part_waits_as_long_as_the_provider_asked_for(store: SqliteStore):
    await store.enqueue_many([new("1"), new("2", "window")])
    one, _ = await store.claim_due("w1", 10, RULES)
    assert await store.pace("bell", "window", ChannelRules()) == 0
    await store.finish("w1", one.id, throttled(100, account=True))
    assert await store.pace("bell", "window", ChannelRules()) == pytest.approx(100)


async def test_text_that_no_encoding_can_hold_is_stored_readably(store: SqliteStore, clock: FakeClock):
    (accepted,) = await store.enqueue_many([new("half \ud83d pair", idempotency_key="\udc00")])
    assert accepted.message == "half \ufffd pair"
    assert await store.get(accepted.id) == accepted
    (claimed,) = await store.claim_due("w1", 1, RULES)
    await store.finish("w1", claimed.id, replace(DEAD, error="no \ud800"))
    direct = replace(await store.get(accepted.id), id=new_id(), message="\ud83d", idempotency_key=None)
    await store.record(direct)
    assert (await store.get(direct.id)).message == "\ufffd"
    with pytest.raises(UnknownDeliveryError):
        await store.get("\ud800")


async def test_a_direct_send_is_recorded_once_and_takes_no_key_from_another(store: SqliteStore):
    (known,) = await store.enqueue_many([new(idempotency_key="k")])
    direct = replace(known, id=new_id(), status=DeliveryStatus.SENT, finished_at=known.created_at)
    await store.record(direct)
    await store.record(direct)
    assert (await store.get(direct.id)).idempotency_key is None
    assert (await store.get(known.id)).idempotency_key == "k"
    failed = replace(direct, id=new_id(), status=DeliveryStatus.DEAD, idempotency_key="free")
    await store.record(failed)
    (again,) = await store.enqueue_many([new(idempotency_key="free")])
    assert again.id != failed.id
    with pytest.raises(TransitionError):
        await store.record(replace(known, id=new_id()))


# Searching


async def test_addresses_and_signs_can_be_searched_for(store: SqliteStore):
    await store.enqueue_many([new("disk full!", "a.b@example.org"), new("a and b", "#ops-alerts")])
    for text, found in {
        "a.b@example.org": ["disk full!"],
        "b@ex": ["disk full!"],
        "#ops-alerts": ["a and b"],
        "ops-al": ["a and b"],
        "full!": ["disk full!"],
        "disk - !!!": ["disk full!"],
    }.items():
        assert messages((await store.search(DeliveryFilter(text=text))).items) == found, text


async def test_words_narrow_a_search_together_with_every_other_field_and_page_by_page(
    store: SqliteStore, clock: FakeClock
):
    start = clock.now()
    for n in range(12):
        clock.advance(1)
        await store.enqueue_many([new(f"{'disk' if n % 2 else 'fan'} {n}", f"t{n}", "bell" if n < 10 else "horn")])
    for claimed in await store.claim_due("w1", 6, {"bell": ChannelRules()}):
        await store.finish("w1", claimed.id, SENT)
    assert messages(await find_all(store, DeliveryFilter(text="disk", limit=2))) == [
        f"disk {n}" for n in (11, 9, 7, 5, 3, 1)
    ]
    for query, found in {
        DeliveryFilter(text="disk", status=DeliveryStatus.SENT): [5, 3, 1],
        DeliveryFilter(text="disk", status=DeliveryStatus.QUEUED): [11, 9, 7],
        DeliveryFilter(text="disk", status=DeliveryStatus.DEAD): [],
        DeliveryFilter(text="disk", channel="horn"): [11],
        DeliveryFilter(text="disk", target="t3"): [3],
        DeliveryFilter(text="disk", since=start + 8): [11, 9, 7],
        DeliveryFilter(text="disk", since=start + 100): [],
    }.items():
        assert messages(await find_all(store, replace(query, limit=1))) == [f"disk {n}" for n in found], query


def test_no_text_breaks_the_search():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        connection.executescript(MIGRATIONS[0])

        @given(text=st.text(max_size=30))
        def check(text: str) -> None:
            assert search(connection, DeliveryFilter(text=text)).items == []

        check()


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_page_has_at_least_one_delivery(store: SqliteStore, limit: int):
    await store.enqueue_many([new("1"), new("2")])
    page = await store.search(DeliveryFilter(limit=limit))
    assert messages(page.items) == ["2"]
    assert page.next_cursor


async def test_what_was_accepted_while_the_clock_was_wrong_is_found_by_its_time(store: SqliteStore, clock: FakeClock):
    start = clock.now()
    await store.enqueue_many([new("before")])
    clock.jump(-3600)
    await store.enqueue_many([new("set back")])
    clock.jump(3600)
    clock.advance(1)
    await store.enqueue_many([new("after")])
    assert messages((await store.search(DeliveryFilter(since=start))).items) == ["after", "before"]
    assert messages((await store.search(DeliveryFilter(since=start + 9))).items) == []


# Health


async def test_a_disk_that_works_again_is_noticed_though_nothing_is_queued(
    database: Database, store: SqliteStore, clock: FakeClock
):
    assert (await store.health()).ok
    pages = await database.write(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
    await database.write(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").fetchone()[0])
    with pytest.raises(DatabaseError):
        await store.enqueue_many([new("x" * 10_000) for _ in range(50)])
    await database.write(lambda c: c.execute("PRAGMA max_page_count = 100000").fetchone()[0])
    database.problem = "the disk was full"  # nothing was written since
    assert not (await store.health()).ok  # a moment ago it was not
    clock.advance(UNWELL_S)
    assert (await store.health()).ok


async def test_a_disk_that_is_full_makes_the_store_unwell(path: Path, clock: FakeClock):
    database = Database(path, SCHEMA, busy_timeout_s=0.01)
    store = SqliteStore(database, clock)
    await store.health()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseError):
            await store.enqueue_many([new()])
        health = await store.health()
        assert not health.ok
        assert "locked" in health.problems[0]
        other.execute("ROLLBACK")
    await store.health()
    clock.advance(UNWELL_S)
    assert (await store.health()).ok
    await database.aclose()


async def test_deliveries_of_the_version_before_are_still_there(tmp_path: Path, clock: FakeClock):
    path = tmp_path / "old.db"
    old = Database(path, {"delivery": MIGRATIONS[:1]})
    row = ["id-1", "bell", "door", "hello", "test", "queued", "at_least_once", clock.now()]
    columns = "id, channel, target, message, source, status, policy, created_at"
    await old.write(
        lambda c: c.execute(f"INSERT INTO deliveries ({columns}) VALUES ({','.join('?' * 8)})", row).rowcount
    )
    await old.write(
        lambda c: c.execute("INSERT INTO lanes (channel, target, due_mono) VALUES ('bell', 'door', 0)").rowcount
    )
    await old.aclose()
    database = Database(path, SCHEMA)
    store = SqliteStore(database, clock)
    (claimed,) = await store.claim_due("w1", 1, RULES)
    await database.aclose()
    assert (claimed.id, claimed.message, claimed.extra) == ("id-1", "hello", {})


# Cost


async def test_no_step_of_the_queue_reads_a_whole_table(database: Database, store: SqliteStore, clock: FakeClock):
    """Run every step once and ask SQLite how it would run each statement again."""
    statements: set[str] = set()
    await store.seconds_to_next(RULES)
    await database.write(lambda c: c.set_trace_callback(statements.add))
    rules = {"bell": ChannelRules(target_rate=Rate(1, 1.0), account_rate=Rate(30, 1.0))}
    start = clock.now()
    first, *_ = await store.enqueue_many(
        [new("1", idempotency_key="k"), new("2", "b", not_before=start + 1), new("3", "c", expires_at=start + 1)]
    )
    await store.claim_due("w1", 10, rules)
    await store.renew("w1", [first.id])
    await store.progress("w1", first.id, 1, 2)
    await store.finish("w1", first.id, throttled(1))
    clock.advance(LEASE_S + FULL_S)
    claimed = await store.claim_due("w1", 10, rules)
    await store.release("w1", [d.id for d in claimed])
    await store.cancel(first.id)
    await store.replay(first.id)
    await store.prune(start)
    await database.write(lambda c: c.set_trace_callback(None))
    changing = ("SELECT", "UPDATE", "DELETE")
    checked = 0
    for sql in statements:
        # The settings of the word index are one line, and SQLite's own business.
        if sql.startswith(changing) and "boot" not in sql and "delivery_words_config" not in sql:
            plan = await database.read(lambda c, sql=sql: [r["detail"] for r in c.execute(f"EXPLAIN QUERY PLAN {sql}")])
            scans = [step for step in plan if step.startswith("SCAN") and "LIST SUBQUERY" not in step]
            assert scans == [], sql
            assert all("TEMP B-TREE" not in step for step in plan), sql
            checked += 1
    assert checked > 20


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (DeliveryFilter(), "SCAN d"),
        (DeliveryFilter(status=DeliveryStatus.DEAD), "deliveries_status (status=?)"),
        (DeliveryFilter(status=DeliveryStatus.SENT), "deliveries_status (status=?)"),
        (DeliveryFilter(status=DeliveryStatus.SENT, since=5.0), "deliveries_status (status=? AND seq>?)"),
        (DeliveryFilter(status=DeliveryStatus.DEAD, target="t", channel="c"), "deliveries_status (status=?)"),
        (DeliveryFilter(status=DeliveryStatus.SENT, target="t"), "deliveries_target (target=?)"),
        (DeliveryFilter(target="t", since=5.0, cursor="7"), "deliveries_target (target=? AND seq>? AND seq<?)"),
        (DeliveryFilter(channel="c"), "deliveries_channel (channel=?)"),
        (DeliveryFilter(channel="c", cursor="7"), "deliveries_channel (channel=? AND seq<?)"),
        (DeliveryFilter(since=5.0), "INTEGER PRIMARY KEY (rowid>?)"),
        (DeliveryFilter(since=5.0), "COVERING INDEX deliveries_created (created_at>?)"),
        (DeliveryFilter(text="disk", status=DeliveryStatus.DEAD), "INTEGER PRIMARY KEY (rowid=?)"),
    ],
)
def test_every_search_reads_an_index_from_its_newest_end(query: DeliveryFilter, index: str):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        connection.executescript(MIGRATIONS[0])
        statements: list[str] = []
        connection.set_trace_callback(statements.append)
        search(connection, query)
        connection.set_trace_callback(None)
        plan = [row["detail"] for row in connection.execute(f"EXPLAIN QUERY PLAN {statements[0]}")]
    assert any(index in step for step in plan), plan
    assert all("TEMP B-TREE" not in step for step in plan), plan


async def test_a_claim_costs_the_same_however_much_is_queued(database: Database, store: SqliteStore, clock: FakeClock):
    """Counted in steps of SQLite's machine, which no other process on this computer can slow down."""
    rules = {"horn": ChannelRules(account_rate=Rate(1, 1000.0))}

    async def cost() -> int:
        steps = 0

        def count_step() -> int:
            nonlocal steps
            steps += 1
            return 0

        await database.write(lambda c: c.set_progress_handler(count_step, 1))
        (claimed,) = await store.claim_due("w1", 1, {"bell": ChannelRules()})
        await store.finish("w1", claimed.id, SENT)
        assert await store.claim_due("w1", 64, rules) == [], "the account's pace forbids"
        await database.write(lambda c: c.set_progress_handler(None, 1))
        return steps

    await store.enqueue_many([new(str(n), "one", channel) for n in range(10) for channel in RULES])
    assert len(await store.claim_due("w1", 64, rules)) == 1
    few = await cost()
    await store.enqueue_many([new("later", "one", not_before=clock.now() + 60) for _ in range(5_000)])
    await store.enqueue_many([new(str(n), "one") for n in range(10_000)])
    await store.enqueue_many([new("x", f"t{n}", channel) for n in range(5_000) for channel in RULES])
    assert await cost() < 1.5 * few


def test_the_next_time_is_found_without_counting_lanes():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.row_factory = sqlite3.Row
        connection.executescript(MIGRATIONS[0])
        now, steps = Now(1000.0, 50.0), []

        def ask() -> int:
            steps.clear()
            connection.set_progress_handler(lambda: steps.append(1) and 0, 1)
            assert seconds_to_next(connection, {"bell": ChannelRules()}, now) == 7
            connection.set_progress_handler(None, 1)
            return len(steps)

        def fill(numbers: range) -> None:
            lanes = [("bell", f"{worker}{n}", 57.0 + n, worker, 60.0) for n in numbers for worker in ("", "w")]
            connection.executemany(
                "INSERT INTO lanes (channel, target, due_mono, worker, lease_until) VALUES (?, ?, ?, ?, ?)", lanes
            )
            rows = [(f"{n}", "bell", "t", "", "", "queued", "", 0.0, 1, 1010.0 + n, 1020.0 + n) for n in numbers]
            connection.executemany(
                "INSERT INTO deliveries (id, channel, target, message, source, status, policy, created_at, asleep,"
                " not_before, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

        fill(range(10))
        few = ask()
        fill(range(10, 2000))
        assert ask() < 1.2 * few
