"""Keys of requests that may be repeated: one suite over both places they are kept in."""

import asyncio
import contextlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer, running_redis
from tests.waiting import PATIENCE_S

from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.ids import new_id
from tocsin.core.storage.database import Database
from tocsin.core.storage.redis_client import RedisClient, open_redis
from tocsin.messaging.outbound.idempotency import (
    KEPT_S,
    LEASE_S,
    MIGRATIONS,
    RENEW_S,
    IdempotencyKeys,
    KeyReusedError,
    SqliteKeys,
    StillRunningError,
    StoredResponse,
    keep_lease,
)
from tocsin.messaging.outbound.redis_idempotency import RedisKeys, key_names
from tocsin.testing.fakes import FakeClock


class Place(ABC):
    """Where keys are kept, and how a test lets time pass there."""

    @abstractmethod
    def open(self) -> IdempotencyKeys:
        """Return keys as another process would open them."""

    @abstractmethod
    async def end_lease(self, key: str) -> None:
        """Let the lease of `key` run out."""

    @abstractmethod
    async def end_day(self, key: str) -> None:
        """Let 24 hours pass."""

    @abstractmethod
    async def change_lease(self, key: str) -> None:
        """Give the lease of `key` another length."""

    @abstractmethod
    async def is_lease_full(self, key: str) -> bool:
        """Whether the lease of `key` has its full length, or had it a moment ago."""

    @abstractmethod
    async def go_away(self) -> None:
        """Take the place away from whoever uses it."""


@dataclass
class SqlitePlace(Place):
    database: Database
    clock: FakeClock = field(default_factory=FakeClock)

    def open(self) -> IdempotencyKeys:
        return SqliteKeys(self.database, self.clock)

    async def end_lease(self, key: str) -> None:
        self.clock.advance(LEASE_S)

    async def end_day(self, key: str) -> None:
        self.clock.advance(KEPT_S + 1)

    async def change_lease(self, key: str) -> None:
        self.clock.advance(LEASE_S - 1)

    async def is_lease_full(self, key: str) -> bool:
        sql = "SELECT lease_until FROM idempotency WHERE key = ?"
        until = await self.database.read(lambda c: c.execute(sql, [key]).fetchone()[0])
        return bool(LEASE_S - 1 < until - self.clock.monotonic() <= LEASE_S)

    async def go_away(self) -> None:
        await self.database.aclose()


@dataclass
class RedisPlace(Place):
    server: RedisServer
    opened: list[RedisClient] = field(default_factory=list)
    killed: bool = False

    def open(self) -> IdempotencyKeys:
        self.opened.append(open_redis(self.server.url, answer_timeout_s=PATIENCE_S))
        return RedisKeys(self.opened[-1])

    async def command(self, *words: str | int) -> object:
        return await self.opened[0].command(*words)

    async def end_lease(self, key: str) -> None:
        assert await self.command("DEL", key_names(key)[1]) == 1

    async def end_day(self, key: str) -> None:
        left = await self.command("TTL", key_names(key)[0])
        assert isinstance(left, int)
        assert KEPT_S - 60 < left <= KEPT_S
        await self.command("PEXPIREAT", key_names(key)[0], 1)

    async def change_lease(self, key: str) -> None:
        # To more than the usual: the time of the server passes, on a busy machine before anybody could renew it.
        await self.command("PEXPIRE", key_names(key)[1], round(PATIENCE_S * 1_000))

    async def is_lease_full(self, key: str) -> bool:
        left = await self.command("PTTL", key_names(key)[1])
        assert isinstance(left, int)
        return LEASE_S / 2 < left / 1_000 <= LEASE_S

    async def go_away(self) -> None:
        self.killed = True
        self.server.kill()

    async def aclose(self) -> None:
        if self.killed:
            self.server.start()
        for client in self.opened:
            await client.aclose()


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest.fixture(params=["sqlite", "redis"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    if request.param == "sqlite":
        database = Database(tmp_path / "tocsin.db", {"idempotency": MIGRATIONS})
        yield SqlitePlace(database)
        await database.aclose()
        return
    made = RedisPlace(request.getfixturevalue("server"))
    yield made
    await made.aclose()


@pytest.fixture
def keys(place: Place) -> IdempotencyKeys:
    return place.open()


@pytest.fixture
def key() -> str:
    """A key that no other test has."""
    return f"test-{new_id()}"


async def test_a_new_key_is_taken(keys: IdempotencyKeys, key: str):
    assert await keys.begin(key, "body") is None


@pytest.mark.parametrize(
    ("status", "body"), [(200, "{}"), (502, '{"error":"ünï 👍🏽"}'), (202, "a\0b" + "x" * 100_000)]
)
async def test_a_finished_key_gives_its_answer_to_everybody(
    place: Place, keys: IdempotencyKeys, key: str, status: int, body: str
):
    await keys.begin(key, "body")
    await keys.finish(key, status, body)
    assert await keys.begin(key, "body") == StoredResponse(status, body)
    assert await place.open().begin(key, "body") == StoredResponse(status, body)


async def test_a_key_that_is_worked_on_is_refused_to_others(place: Place, keys: IdempotencyKeys, key: str):
    await keys.begin(key, "body")
    for other in (keys, place.open()):
        with pytest.raises(StillRunningError):
            await other.begin(key, "body")


@pytest.mark.parametrize("finished", [True, False])
async def test_another_body_is_refused_whether_the_first_has_ended_or_not(
    keys: IdempotencyKeys, key: str, finished: bool
):
    await keys.begin(key, "body")
    if finished:
        await keys.finish(key, 200, "{}")
    with pytest.raises(KeyReusedError):
        await keys.begin(key, "other")


async def test_a_forgotten_key_is_new_for_any_body(keys: IdempotencyKeys, key: str):
    await keys.begin(key, "body")
    await keys.forget(key)
    assert await keys.begin(key, "other") is None


async def test_a_key_whose_worker_died_is_taken_over_by_one(place: Place, keys: IdempotencyKeys, key: str):
    await keys.begin(key, "body")
    await place.end_lease(key)
    assert await keys.begin(key, "body") == StoredResponse()
    with pytest.raises(StillRunningError):
        await place.open().begin(key, "body")
    await keys.finish(key, 502, "gone")
    assert await keys.begin(key, "body") == StoredResponse(502, "gone")


async def test_a_key_whose_worker_died_is_not_for_another_body(place: Place, keys: IdempotencyKeys, key: str):
    await keys.begin(key, "body")
    await place.end_lease(key)
    with pytest.raises(KeyReusedError):
        await keys.begin(key, "other")


async def test_a_key_that_another_process_takes_while_the_database_is_awaited_still_runs(tmp_path: Path):
    clock = FakeClock()
    database = Database(tmp_path / "keys.db", {"idempotency": MIGRATIONS})
    keys = SqliteKeys(database, clock)
    await keys.begin("first", "body")
    with contextlib.closing(sqlite3.connect(tmp_path / "keys.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(keys.begin("key", "body"))
        await asyncio.sleep(0)
        clock.advance(1)
        row = ("key", "body", clock.now(), clock.monotonic() + LEASE_S)
        other.execute("INSERT INTO idempotency (key, digest, created_at, lease_until) VALUES (?, ?, ?, ?)", row)
        other.execute("COMMIT")
        with pytest.raises(StillRunningError):
            await waiting
    await database.aclose()


async def test_of_many_at_the_same_time_one_gets_the_key(place: Place, key: str):
    outcomes = await asyncio.gather(*(place.open().begin(key, "body") for _ in range(8)), return_exceptions=True)
    assert [outcome for outcome in outcomes if not isinstance(outcome, StillRunningError)] == [None]


async def test_a_renewed_lease_lasts_as_long_as_a_new_one(place: Place, keys: IdempotencyKeys, key: str):
    await keys.begin(key, "body")
    assert await place.is_lease_full(key)
    await place.change_lease(key)
    assert not await place.is_lease_full(key)
    await keys.renew(key)
    assert await place.is_lease_full(key)


async def test_a_finished_key_is_new_after_24_hours(place: Place, keys: IdempotencyKeys, key: str):
    await keys.begin(key, "body")
    await keys.finish(key, 200, "{}")
    await place.end_day(key)
    assert await keys.begin(key, "other") is None


async def test_keys_that_look_like_one_another_are_apart(keys: IdempotencyKeys, key: str):
    alike = [key, f"{key}:lease", key.upper(), f"{key} ", f"{key}*", f"{key}%"]
    for number, name in enumerate(alike):
        assert await keys.begin(name, str(number)) is None
    for number, name in enumerate(alike):
        await keys.finish(name, 200 + number, name)
    assert [(await keys.begin(name, str(n))) for n, name in enumerate(alike)] == [
        StoredResponse(200 + n, name) for n, name in enumerate(alike)
    ]


async def test_what_ends_after_the_key_did_leaves_nothing_behind(place: Place, keys: IdempotencyKeys, key: str):
    await keys.begin(key, "body")
    await place.end_day(key)
    await keys.forget(key)
    await keys.renew(key)
    await keys.finish(key, 200, "of then")
    assert await keys.begin(key, "other") is None
    with pytest.raises(StillRunningError):
        await keys.begin(key, "other")


async def test_a_place_that_is_away_is_an_error_with_a_sentence(place: Place, keys: IdempotencyKeys, key: str):
    await keys.begin(key, "body")
    await place.go_away()
    for call in (keys.begin(key, "x"), keys.renew(key), keys.finish(key, 200, ""), keys.forget(key)):
        with pytest.raises(TocsinError) as raised:
            await call
        assert raised.value.sentence()


async def test_keys_outlast_a_crash_of_redis(server: RedisServer, key: str):
    place = RedisPlace(server)
    keys = place.open()
    await keys.begin(key, "body")
    await keys.finish(key, 200, "{}")
    server.restart()
    assert await keys.begin(key, "body") == StoredResponse(200, "{}")
    await place.aclose()


async def test_keys_outlast_a_restart_of_the_program_and_of_the_machine(tmp_path: Path):
    clock = FakeClock()
    for answer in (None, StoredResponse()):
        database = Database(tmp_path / "tocsin.db", {"idempotency": MIGRATIONS})
        assert await SqliteKeys(database, clock).begin("k", "body") == answer
        await database.aclose()
        clock = FakeClock(clock.now() - 86_400)  # monotonic time begins anew with the machine
    database = Database(tmp_path / "tocsin.db", {"idempotency": MIGRATIONS})
    await SqliteKeys(database, clock).finish("k", 200, "{}")
    await database.aclose()
    database = Database(tmp_path / "tocsin.db", {"idempotency": MIGRATIONS})
    assert await SqliteKeys(database, clock).begin("k", "body") == StoredResponse(200, "{}")
    await database.aclose()


async def test_old_keys_do_not_pile_up(tmp_path: Path):
    database, clock = Database(tmp_path / "tocsin.db", {"idempotency": MIGRATIONS}), FakeClock()
    keys = SqliteKeys(database, clock)
    for n in range(5):
        await keys.begin(f"k{n}", "body")
    clock.advance(KEPT_S + 1)
    await keys.begin("new", "body")
    kept = await database.read(lambda c: [row[0] for row in c.execute("SELECT key FROM idempotency")])
    assert kept == ["new"]
    await database.aclose()


# --- while a slow send runs


class CountingKeys:
    """Counts renewals, the first of which fail; passes the others on."""

    def __init__(self, failures: int = 0, of: IdempotencyKeys | None = None) -> None:
        self._of = of
        self.renewed = 0
        self.enough = asyncio.Event()
        self._failures = failures

    async def renew(self, key: str) -> None:
        self.renewed += 1
        if self.renewed <= self._failures:
            raise StoreUnavailableError("away")
        if self._of:
            await self._of.renew(key)
        if self.renewed >= self._failures + 3:
            self.enough.set()


@pytest.mark.parametrize("failures", [0, 2])
async def test_the_lease_is_lease_full_again_and_again_even_after_one_that_failed(failures: int):
    keys = CountingKeys(failures)
    async with keep_lease(keys, "k", every_s=0.001):  # type: ignore[arg-type]
        await asyncio.wait_for(keys.enough.wait(), PATIENCE_S)
    renewed = keys.renewed
    for _ in range(5):
        await asyncio.sleep(0.002)
    assert keys.renewed == renewed, "and not once it has ended"


async def test_nobody_takes_over_while_the_lease_is_held(place: Place, keys: IdempotencyKeys, key: str):
    await keys.begin(key, "body")
    for _ in range(3):
        await place.change_lease(key)
        counting = CountingKeys(of=keys)
        async with keep_lease(counting, key, every_s=0.001):  # type: ignore[arg-type]
            await asyncio.wait_for(counting.enough.wait(), PATIENCE_S)
            with pytest.raises(StillRunningError):
                await place.open().begin(key, "body")
        assert await place.is_lease_full(key)


def test_the_lease_outlasts_three_renewals():
    assert 3 * RENEW_S < LEASE_S


class SwallowingKeys:
    """Renews through a client that takes a cancellation for a time-out of its own."""

    def __init__(self) -> None:
        self.renewing = asyncio.Event()

    async def renew(self, key: str) -> None:
        self.renewing.set()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()


async def test_the_renewal_ends_with_the_request_even_where_its_cancellation_is_swallowed():
    swallowing = SwallowingKeys()
    before = asyncio.all_tasks()
    async with keep_lease(swallowing, "key", every_s=0):  # type: ignore[arg-type]
        await asyncio.wait_for(swallowing.renewing.wait(), PATIENCE_S)
        (renewal,) = asyncio.all_tasks() - before
    done, _ = await asyncio.wait([renewal], timeout=PATIENCE_S)
    renewal.cancel()
    assert done == {renewal}


async def test_what_is_kept_under_a_former_name_answers_the_same_request_once(keys: IdempotencyKeys, key: str):
    await keys.begin(key, "body")
    await keys.finish(key, 200, "{}")
    assert await keys.begin(f"b-{key}", "other body", former=key) is None
    for _ in range(2):
        assert await keys.begin(f"a-{key}", "body", former=key) == StoredResponse(200, "{}")
    assert await keys.begin(f"c-{key}", "body", former=key) is None


async def test_a_request_under_a_former_name_that_still_runs_is_not_begun_again(
    place: Place, keys: IdempotencyKeys, key: str
):
    await keys.begin(key, "body")
    with pytest.raises(StillRunningError):
        await keys.begin(f"a-{key}", "body", former=key)


async def test_a_request_under_a_former_name_whose_process_died_is_taken_over(
    place: Place, keys: IdempotencyKeys, key: str
):
    await keys.begin(key, "body")
    await place.end_lease(key)
    assert await keys.begin(f"a-{key}", "body", former=key) == StoredResponse()
    with pytest.raises(StillRunningError):
        await place.open().begin(f"a-{key}", "body")
