"""What a Redis server can do to the queue, and what the queue says then."""

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer, running_redis
from tests.delivery.store_contract import (
    RULES,
    SENT,
    claim_one,
    find_all,
    messages,
    new,
    put,
    put_one,
    retry,
    two_clocks,
)
from tests.docs.pages import ROOT
from tests.facts import mentions
from tests.redis_clients import patient_redis
from tests.waiting import PATIENCE_S, eventually

from tocsin.core.errors import ConfigError, StoreUnavailableError
from tocsin.core.storage.redis_address import without_password
from tocsin.core.storage.redis_client import RedisClient, open_redis
from tocsin.core.storage.redis_failures import ACL_RULES
from tocsin.core.storage.redis_identity import RedisIdentity
from tocsin.core.time.clock import Clock, SystemClock
from tocsin.delivery.model import LEASE_S, DeliveryStatus, Policy, Rate
from tocsin.delivery.redis.health import read_health
from tocsin.delivery.redis.store import SCAN_LIMIT, RedisStore
from tocsin.delivery.store import ChannelRules, DeliveryFilter
from tocsin.testing.fakes import FakeClock

SHORT_S = 0.5

Connect = Callable[..., RedisStore]


@pytest.fixture
async def connect() -> AsyncIterator[Connect]:
    """Open stores, closed at the end."""
    clients: list[RedisClient] = []

    def connect(url: str, answer_timeout_s: float = PATIENCE_S) -> RedisStore:
        clients.append(open_redis(url, answer_timeout_s=answer_timeout_s))
        return RedisStore(clients[-1], SystemClock())

    yield connect
    for client in clients:
        await client.aclose()


@pytest.fixture
def store(connect: Connect, private_redis: RedisServer) -> RedisStore:
    return connect(private_redis.url)


@pytest.fixture
def hasty(connect: Connect, private_redis: RedisServer) -> RedisStore:
    """Return a store that soon gives up on a server that is paused."""
    return connect(private_redis.url, SHORT_S)


async def until_it_works(call: Callable[[], Awaitable[object]]) -> None:
    """Call until it stops failing."""

    async def works() -> bool:
        try:
            await call()
        except StoreUnavailableError:
            await asyncio.sleep(0.05)
            return False
        return True

    await eventually(works)


# Crashes


async def test_a_killed_server_loses_nothing_that_was_accepted(store: RedisStore, private_redis: RedisServer):
    acknowledged: list[str] = []
    stop = False

    async def keep_accepting(caller: int) -> None:
        while not stop:
            try:
                accepted = await put(store, *(new(f"{caller}", f"t{n}") for n in range(5)))
            except StoreUnavailableError:
                await asyncio.sleep(0.02)
            else:
                acknowledged.extend(delivery.id for delivery in accepted)

    callers = [asyncio.create_task(keep_accepting(n)) for n in range(16)]
    for _ in range(3):
        before = len(acknowledged)
        while len(acknowledged) < before + 300:  # noqa: ASYNC110  # what is waited for knows no events
            await asyncio.sleep(0.005)
        await asyncio.to_thread(private_redis.restart)
        await until_it_works(store.counts)
    stop = True
    await asyncio.gather(*callers)
    kept = {delivery.id for delivery in await find_all(store, DeliveryFilter(limit=1000))}
    assert set(acknowledged) - kept == set()
    assert len(acknowledged) >= 900


async def test_a_killed_server_forgets_no_lease_no_wait_and_no_outcome(store: RedisStore, private_redis: RedisServer):
    sent, waits, held = await put(store, new("sent", "a"), new("waits", "b"), new("held", "c"))
    claimed = await store.claim_due("w1", 10, RULES)
    await store.finish("w1", sent.id, SENT)
    await store.finish("w1", waits.id, retry(60))
    await store.progress("w1", held.id, 1, 2)
    before = [await store.get(delivery.id) for delivery in claimed]
    private_redis.restart()
    assert [await store.get(delivery.id) for delivery in claimed] == before
    assert await store.claim_due("w2", 10, RULES) == []
    assert await store.renew("w1", [held.id]) == {held.id}


async def test_a_server_that_is_gone_is_told_and_its_return_needs_nobody(store: RedisStore, private_redis: RedisServer):
    await put(store, new())
    private_redis.kill()
    for _ in range(3):
        with pytest.raises(StoreUnavailableError, match="cannot connect") as raised:
            await store.claim_due("w1", 1, RULES)
        assert "REDIS_URL" in raised.value.hint
    assert not (await store.health()).ok
    private_redis.start()
    await until_it_works(lambda: claim_one(store))


async def test_a_flushed_server_is_worked_with_at_once(store: RedisStore, private_redis: RedisServer):
    await put(store, new("1", "a"), new("2", "b"))
    claimed = await claim_one(store)
    private_redis.ask("FLUSHALL")
    private_redis.ask("SCRIPT", "FLUSH")
    assert not await store.finish("w1", claimed.id, SENT)
    assert await store.renew("w1", [claimed.id]) == set()
    await put(store, new("3"))
    again = await claim_one(store)
    assert again.message == "3"
    assert await store.finish("w1", again.id, SENT)
    assert sum((await store.counts()).values()) == 1


# A server that hangs


async def test_a_paused_server_is_told_in_time_and_its_return_needs_nobody(
    store: RedisStore, hasty: RedisStore, private_redis: RedisServer
):
    await put(store, new())
    private_redis.pause()
    for call in (hasty.counts, lambda: hasty.seconds_to_next(RULES), lambda: put(hasty, new())):
        with pytest.raises(StoreUnavailableError, match="respond"):
            await call()
    assert "respond" in (await hasty.health()).problems[0]
    private_redis.resume()
    await until_it_works(lambda: claim_one(store))


async def test_a_claim_whose_answer_was_lost_is_answered_by_the_next_one(hasty: RedisStore, private_redis: RedisServer):
    assert await hasty.claim_due("w1", 2, RULES) == []  # from now on the server knows the script
    await put(hasty, *(new(str(n), f"t{n}", policy=Policy.AT_MOST_ONCE) for n in range(3)))
    private_redis.pause()
    with pytest.raises(StoreUnavailableError):
        await hasty.claim_due("w1", 2, RULES)
    private_redis.resume()
    claimed = await hasty.claim_due("w1", 3, RULES)
    assert sorted(messages(claimed)) == ["0", "1", "2"]
    assert {delivery.attempts for delivery in claimed} == {1}
    for delivery in claimed:
        assert await hasty.finish("w1", delivery.id, SENT)
    assert await hasty.claim_due("w1", 3, RULES) == []


async def test_a_cancelled_claim_is_not_lost_either(store: RedisStore, private_redis: RedisServer):
    assert await store.claim_due("w1", 2, RULES) == []
    await put(store, new(policy=Policy.AT_MOST_ONCE))
    private_redis.pause()
    claim = asyncio.create_task(store.claim_due("w1", 2, RULES))
    await asyncio.sleep(0.05)
    claim.cancel()
    with pytest.raises(asyncio.CancelledError):
        await claim
    private_redis.resume()
    assert (await claim_one(store)).attempts == 1


async def test_an_outcome_whose_answer_was_lost_can_be_told_again(
    store: RedisStore, hasty: RedisStore, private_redis: RedisServer
):
    await put(store, new("1"), new("2"))
    claimed = await claim_one(store)
    assert not await store.finish("w9", claimed.id, SENT)
    private_redis.pause()
    with pytest.raises(StoreUnavailableError):
        await hasty.finish("w1", claimed.id, SENT)
    private_redis.resume()
    assert await store.finish("w1", claimed.id, SENT)
    assert await store.finish("w1", claimed.id, SENT)
    assert not await store.finish("w2", claimed.id, SENT)
    assert (await store.counts())[DeliveryStatus.SENT] == 1
    assert (await claim_one(store)).message == "2"


async def test_calls_that_are_cut_short_mix_up_no_answers(store: RedisStore):
    ids = [(await put_one(store, new(str(n)))).id for n in range(50)]
    for n in range(200):
        task = asyncio.create_task(store.get(ids[n % 50]))
        for _ in range(n % 7):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert (await store.get(ids[(n + 1) % 50])).message == str((n + 1) % 50)


# A server that refuses


async def refusal(store: RedisStore) -> str:
    with pytest.raises(StoreUnavailableError) as raised:
        await put(store, new())
    return raised.value.sentence()


async def test_a_wrong_password_is_told_without_the_password(connect: Connect):
    with running_redis(requirepass="right-one") as locked:
        path = str(locked.socket)
        for user in (":wrong-one@", "nobody:wrong-one@"):
            sentence = await refusal(connect(f"unix://{user}{path}"))
            assert mentions(sentence, "unix://", path, "REDIS_URL")
        assert "password" in await refusal(connect(f"unix://{path}"))
        assert (await connect(f"unix://:right-one@{path}").counts())[DeliveryStatus.QUEUED] == 0
        health = await connect(f"unix://:wrong-one@{path}").health()
    assert (health.backend, health.ok) == ("redis", False)
    assert "wrong-one" not in str(health)


async def test_a_password_where_none_is_needed_is_told(connect: Connect, redis_server: RedisServer):
    sentence = await refusal(connect(f"unix://:secret@{redis_server.socket}"))
    assert "password" in sentence
    assert "secret" not in sentence


async def test_an_absent_server_and_an_absent_database_are_told(connect: Connect, redis_server: RedisServer):
    assert "cannot connect" in await refusal(connect("redis://:secret@127.0.0.1:1/0"))
    assert "cannot connect" in await refusal(connect("unix:///nowhere/redis.sock"))
    assert "database" in await refusal(connect(f"{redis_server.url}?db=999"))


async def test_a_user_without_rights_is_told(connect: Connect, private_redis: RedisServer):
    private_redis.ask("ACL", "SETUSER", "guest", "on", "nopass", "~*", "+ping")
    assert "grant it" in await refusal(connect(f"unix://guest:x@{private_redis.socket}"))


async def test_a_replica_is_told(connect: Connect, private_redis: RedisServer):
    store = connect(private_redis.url)
    await put(store, new())
    private_redis.ask("REPLICAOF", "127.0.0.1", "1")
    assert "read-only" in await refusal(store)
    with pytest.raises(StoreUnavailableError, match="replica"):
        await store.claim_due("w1", 1, RULES)
    assert any("replica" in problem for problem in (await store.health()).problems)


async def test_full_memory_refuses_more_but_what_was_accepted_goes_out(store: RedisStore, private_redis: RedisServer):
    await put(store, new("1"), new("2", "b"))
    private_redis.ask("CONFIG", "SET", "maxmemory", "1mb")
    assert "maxmemory" in await refusal(store)
    first, second = await store.claim_due("w1", 2, RULES)
    assert await store.renew("w1", [first.id]) == {first.id}
    assert await store.progress("w1", first.id, 1, 2)
    assert await store.finish("w1", first.id, SENT)
    await store.release("w1", [second.id])
    assert (await store.cancel(second.id)).status is DeliveryStatus.CANCELLED
    assert await store.prune(time.time() + 60) == 2


async def test_a_user_with_the_least_rights_can_do_all_that_is_needed(connect: Connect, private_redis: RedisServer):
    private_redis.ask("ACL", "SETUSER", "tocsin", "on", ">pw", *ACL_RULES.split())
    store = connect(f"unix://tocsin:pw@{private_redis.socket}")
    await put(store, new())
    assert await store.finish("w1", (await claim_one(store)).id, SENT)
    assert (await store.health()).ok


@pytest.mark.parametrize("page", ["docs/delivery.md", "deploy/README.md"])
def test_the_rights_of_that_user_stand_in_the_documentation(page: str):
    assert f"user tocsin on >example-password {ACL_RULES}\n" in (ROOT / page).read_text("utf-8")


@pytest.mark.parametrize(
    "url",
    ["http://:secret@host/0", "redis://:secret@host:port/0", "secret", "", "redis://:secret@[::1/0"],
)
def test_an_address_that_is_none_is_told_without_its_password(url: str):
    with pytest.raises(ConfigError) as raised:
        open_redis(url)
    assert "secret" not in raised.value.sentence()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://user:se%40cret@host:6380/2?client_name=secret", "redis://host:6380/2"),
        ("rediss://:secret@host", "rediss://host:6379"),
        ("redis://:secret@[::1]:1/0", "redis://[::1]:1/0"),
        ("unix://:secret@/run/redis.sock?db=3&password=secret", "unix:///run/redis.sock?db=3"),
        ("redis://", "redis://localhost:6379"),
    ],
)
def test_an_address_is_shown_without_user_and_password(url: str, shown: str):
    assert without_password(url) == shown


# Settings that lose deliveries


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"appendonly": "no"}, "appendonly yes"),
        ({"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}, "maxmemory-policy noeviction"),
    ],
    ids=["appendonly", "maxmemory-policy"],
)
async def test_a_setting_that_loses_deliveries_is_named(connect: Connect, settings: dict[str, str], named: str):
    with running_redis(**settings) as careless:
        health = await connect(careless.url).health()
    assert not health.ok
    assert len(health.problems) == 1
    assert named in health.problems[0]


async def test_a_server_that_answers_before_it_writes_is_named(connect: Connect):
    with running_redis(appendfsync="everysec") as usual:
        health = await connect(usual.url).health()
    assert health.ok  # a kill may cost two seconds, a setting above everything
    assert len(health.problems) == 1
    assert "appendfsync always" in health.problems[0]


async def test_a_server_that_does_not_tell_its_settings_is_taken_as_it_is(connect: Connect, private_redis: RedisServer):
    private_redis.ask("ACL", "SETUSER", "tocsin", "on", ">pw", *ACL_RULES.split(), "-config|get")
    assert (await connect(f"unix://tocsin:pw@{private_redis.socket}").health()).ok


async def test_evicting_only_what_has_an_end_of_its_own_is_no_problem(connect: Connect):
    with running_redis(**{"maxmemory": "100mb", "maxmemory-policy": "volatile-lru"}) as careful:
        assert (await connect(careful.url).health()).ok


# The queue's own time


@pytest.fixture
async def shared(redis_server: RedisServer, request: pytest.FixtureRequest) -> AsyncIterator[RedisClient]:
    client = patient_redis(redis_server.url)
    yield client
    await client.aclose()


async def jump(client: RedisClient, prefix: str, seconds: int) -> None:
    """Let the server's clock have jumped by `seconds` since it was last looked at."""
    await client.command("HINCRBY", f"{{{prefix}:delivery}}:clock", "server", -seconds * 1_000_000)


@pytest.mark.parametrize("seconds", [-3600, 3600, 10 * 365 * 86400])
async def test_no_jump_of_the_servers_clock_ends_a_lease_or_a_wait(shared: RedisClient, seconds: int):
    clock = two_clocks()
    prefix = f"jump{seconds}"
    store = RedisStore(shared, clock, prefix=prefix)
    await put(store, new("1", "a"), new("2", "b"))
    first, second = await store.claim_due("w1", 2, RULES)
    await store.finish("w1", second.id, retry(60))
    await jump(shared, prefix, seconds)
    clock.advance(LEASE_S - 1)
    assert await store.claim_due("w2", 2, RULES) == []
    assert await store.renew("w1", [first.id]) == {first.id}
    clock.advance(LEASE_S + 1)
    assert messages(await store.claim_due("w2", 2, RULES)) == ["1"]


async def test_a_server_clock_set_back_makes_no_newcomer_early(shared: RedisClient):
    clock = two_clocks()
    await put(RedisStore(shared, clock, prefix="back"), new())
    await claim_one(RedisStore(shared, clock, prefix="back"))
    await jump(shared, "back", -3600)
    newcomer = RedisStore(shared, clock, prefix="back")
    assert await newcomer.claim_due("w2", 1, RULES) == []
    clock.advance(LEASE_S + 1)
    assert len(await newcomer.claim_due("w2", 1, RULES)) == 1


async def test_a_newcomer_measures_the_time_nobody_was_there_with_the_servers_clock(shared: RedisClient):
    clock = two_clocks()
    await put(RedisStore(shared, clock, prefix="alone"), new())
    await claim_one(RedisStore(shared, clock, prefix="alone"))
    await jump(shared, "alone", 11)
    assert len(await RedisStore(shared, clock, prefix="alone").claim_due("w2", 1, RULES)) == 1


class BusyClock(FakeClock):
    """Time passes with every look at it."""

    def monotonic(self) -> float:
        self.advance(0.01)
        return super().monotonic()


async def test_a_busy_client_does_not_slow_the_time_down(shared: RedisClient):
    store = RedisStore(shared, BusyClock(), prefix="busy")
    await put(store, new())
    await store.finish("w1", (await claim_one(store)).id, retry(1))
    looks = 0
    while not await store.claim_due("w1", 1, RULES):
        looks += 1
        assert looks < 60
    assert looks >= 1 / 0.02 - 5


# Fairness


async def test_the_lane_that_has_waited_longest_goes_first_whatever_its_channel(shared: RedisClient):
    clock = two_clocks()
    store = RedisStore(shared, clock, prefix="fair")
    for n in range(6):
        await put(store, new(str(n), f"t{n}", "horn" if n % 2 else "bell"))
        clock.advance(1)
    assert messages(await store.claim_due("w1", 4, RULES)) == ["0", "1", "2", "3"]


# Room


async def test_an_emptied_queue_leaves_nothing_behind(shared: RedisClient):
    clock = two_clocks()
    store = RedisStore(shared, clock, prefix="room")
    rate = Rate(1, 1.0)
    rules = {"bell": ChannelRules(rate, rate, "t", rate), "horn": ChannelRules()}
    await put(
        store,
        *(new(str(n), f"t{n % 3}", idempotency_key=f"k{n}", expires_at=clock.now() + 500) for n in range(9)),
        new("later", not_before=clock.now() + 100),
    )
    while (wait_s := await store.seconds_to_next(rules)) is not None:
        clock.advance(wait_s)
        for delivery in await store.claim_due("w1", 10, rules):
            await store.finish("w1", delivery.id, SENT)
    clock.advance(2)
    await store.claim_due("w1", 1, rules)
    assert await store.prune(clock.now() + 1) == 10
    keys = await shared.command("KEYS", "*room:*")
    # The stream of changes holds a bounded number of IDs, for who looks at them live.
    kept = {"{room:delivery}:clock", "{room:delivery}:seq", "{room:delivery}:changes"}
    assert {key.decode() for key in keys} == kept


async def test_a_search_for_a_rare_word_answers_soon_and_goes_on_from_its_cursor(shared: RedisClient):
    store = RedisStore(shared, two_clocks(), prefix="rare")
    await put(store, new("needle"))
    for _ in range(4):
        await put(store, *(new(f"hay {n}", f"t{n}") for n in range(SCAN_LIMIT // 3)))
    page = await store.search(DeliveryFilter(text="needle"))
    assert list(page.items) == []
    assert page.next_cursor
    assert messages(await find_all(store, DeliveryFilter(text="needle"))) == ["needle"]
    assert messages(await find_all(store, DeliveryFilter(target="door", text="needle"))) == ["needle"]


# What may be wrong with the server, or be another one


async def told(client: RedisClient, directory: Path, clock: Clock | None = None) -> tuple[bool, str]:
    """Return what a process says of its Redis that begins now, with this data directory."""
    identity = RedisIdentity(client, directory / "redis.json")
    health = await RedisStore(client, clock or SystemClock(), identity=identity).health()
    return health.ok, " ".join(health.problems)


async def test_a_redis_that_was_emptied_restored_or_exchanged_is_noticed(private_redis: RedisServer, tmp_path: Path):
    client = patient_redis(private_redis.url)
    assert await told(client, tmp_path) == (True, "")
    store = RedisStore(client, SystemClock())
    await put(store, new("1"), new("2"))
    assert await told(client, tmp_path) == (True, "")
    saved = await client.command("GET", "{tocsin:delivery}:seq")
    await put(store, new("3"))
    assert await told(client, tmp_path) == (True, "")
    await client.command("SET", "{tocsin:delivery}:seq", saved)
    ok, problem = await told(client, tmp_path)
    assert not ok
    assert mentions(problem, "3 messages", "2")
    assert await told(client, tmp_path) == (True, ""), "said by the process that noticed, not for ever"
    await client.command("FLUSHALL")
    ok, problem = await told(client, tmp_path)
    assert "was emptied" in problem
    await client.command("HSET", "tocsin:installation", "id", "somebody else's")
    ok, problem = await told(client, tmp_path)
    assert not ok
    assert "directory" in problem
    (tmp_path / "redis.json").unlink()
    assert await told(client, tmp_path) == (True, "")
    await client.aclose()


async def test_a_redis_restored_from_yesterday_is_named_and_what_was_sent_since_goes_out_again(
    store: RedisStore, private_redis: RedisServer, tmp_path: Path
):
    client = open_redis(private_redis.url, answer_timeout_s=PATIENCE_S)
    aof, copy = private_redis.directory / "appendonlydir", tmp_path / "yesterday"
    await put(store, new("of yesterday", idempotency_key="k1"))
    private_redis.stop()
    shutil.copytree(aof, copy)
    private_redis.start()
    await store.finish("w1", (await claim_one(store)).id, SENT)
    await put(store, new("of today", idempotency_key="k2"))
    assert await told(client, tmp_path) == (True, "")
    private_redis.stop()
    shutil.rmtree(aof)
    shutil.copytree(copy, aof)
    private_redis.start()
    ok, problem = await told(client, tmp_path)
    assert not ok
    assert mentions(problem, "2 messages", "1")
    assert messages(await store.claim_due("w1", 9, RULES)) == ["of yesterday"], "nobody knows that it was sent"
    again = await put_one(store, new("of today", "window", idempotency_key="k2"))
    assert again.status == "queued", "whoever repeats a request loses nothing"
    await client.aclose()


async def test_a_second_redis_that_was_named_by_mistake_is_noticed_by_each_host_that_knows_the_first(
    private_redis: RedisServer, tmp_path: Path
):
    with running_redis() as second:
        right, wrong = (open_redis(one.url, answer_timeout_s=PATIENCE_S) for one in (private_redis, second))
        elsewhere = tmp_path / "of the other installation"
        elsewhere.mkdir()
        assert await told(wrong, elsewhere) == (True, "")
        assert await told(right, tmp_path) == (True, "")
        ok, problem = await told(wrong, tmp_path)
        assert not ok
        assert mentions(problem, wrong.where)
        assert await told(right, tmp_path) == (True, "")
        for client in (right, wrong):
            await client.aclose()


async def test_what_endangers_messages_is_named(private_redis: RedisServer, tmp_path: Path):
    client = patient_redis(private_redis.url, wait_replicas=1)
    private_redis.ask("CONFIG", "SET", "min-replicas-to-write", "0")
    problems = (await read_health(client, time.time())).problems
    assert "has 0 of the 1 replicas required by REDIS_WAIT_REPLICAS" in problems[0]
    await client.aclose()
    client = patient_redis(private_redis.url)
    for ahead_s, way in ((300, "300 s ahead of"), (-300, "300 s behind")):
        health = await read_health(client, time.time() + ahead_s)
        assert health.ok
        assert mentions(health.problems[0], way)
    private_redis.ask("CONFIG", "SET", "maxmemory", "100")
    ok, problem = await told(client, tmp_path)
    assert not ok
    assert "maxmemory" in problem
    private_redis.ask("CONFIG", "SET", "maxmemory-policy", "volatile-lru", "maxmemory", "100mb")
    assert "idempotency keys" in (await read_health(client, time.time())).problems[0]
    await client.aclose()


async def test_a_full_server_accepts_nothing_and_finishes_what_it_has(connect: Connect, private_redis: RedisServer):
    store = connect(private_redis.url)
    await put(store, new("1", "a"), new("2", "b"))
    private_redis.ask("CONFIG", "SET", "maxmemory", "1")
    assert "maxmemory" in await refusal(store)
    first, second = await store.claim_due("w1", 2, RULES)
    assert await store.finish("w1", first.id, SENT)
    assert await store.finish("w1", second.id, retry(60))


async def test_a_replica_refuses_in_a_sentence(connect: Connect, private_redis: RedisServer):
    store = connect(private_redis.url)
    await put(store, new("before"))
    private_redis.ask("REPLICAOF", "127.0.0.1", "1")
    assert "read-only" in await refusal(store)
    private_redis.ask("REPLICAOF", "NO", "ONE")
    assert (await claim_one(store)).message == "before"
