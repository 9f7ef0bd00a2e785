"""Who is alive: proved where that is possible, else believed as long as there are signs of life."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer
from tests.redis_clients import patient_redis

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.process.beats import MIGRATIONS, Beats, RedisBeats, SqliteBeats
from tocsin.core.process.presence import BEAT_S, SILENCE_S, Presence
from tocsin.core.storage.database import Database
from tocsin.testing.fakes import FakeClock

SCHEMA = {"presence": MIGRATIONS}


class Hosts:
    """Processes on several hosts that share a store; `dead` and `alive` are what can be proved."""

    def __init__(self, shared: Beats) -> None:
        self.shared = shared
        self.clock = FakeClock()
        self.dead: set[str] = set()
        self.alive: set[str] = set()

    def process(self, identity: str) -> Presence:
        proofs = {"is_dead": self.dead.__contains__, "is_alive": self.alive.__contains__}
        return Presence(self.shared, self.clock, identity, **proofs)

    async def beats(self) -> dict[str, int]:
        return await self.shared.all()


@pytest.fixture(params=["sqlite", "redis"])
async def hosts(request: pytest.FixtureRequest, tmp_path: Path, redis_server: RedisServer) -> AsyncIterator[Hosts]:
    if request.param == "redis":
        client = patient_redis(redis_server.url)
        yield Hosts(RedisBeats(client, prefix=f"test-{new_id()}"))
        await client.aclose()
        return
    database = Database(tmp_path / "tocsin.db", SCHEMA)
    yield Hosts(SqliteBeats(database))
    await database.aclose()


async def test_signs_of_life_differ_from_each_other_and_are_written_at_most_every_ten_seconds(hosts: Hosts):
    me, seen = hosts.process("me"), []
    for _ in range(6):
        await me.beat()
        seen.append((await hosts.beats())["me"])
        hosts.clock.advance(BEAT_S / 2)
    assert seen == [1, 1, 2, 2, 3, 3]


async def test_what_is_proved_needs_no_silence(hosts: Hosts):
    hosts.dead.add("dead")
    hosts.alive.add("alive")
    me = hosts.process("me")
    assert await me.gone({"dead", "alive", "unknown"}) == {"dead"}
    hosts.clock.advance(SILENCE_S)
    assert await me.gone({"dead", "alive", "unknown"}) == {"dead", "unknown"}


async def test_a_sign_of_life_begins_the_minute_of_silence_anew(hosts: Hosts):
    me, other = hosts.process("me"), hosts.process("other")
    await other.beat()
    for _ in range(10):
        assert await me.gone({"other"}) == set()
        hosts.clock.advance(SILENCE_S - 1)
        await other.beat()
    assert await me.gone({"other"}) == set()
    hosts.clock.advance(SILENCE_S)
    assert await me.gone({"other"}) == {"other"}


async def test_a_process_is_never_gone_for_itself(hosts: Hosts):
    hosts.dead.add("me")
    me = hosts.process("me")
    for _ in range(2):
        assert await me.gone({"me"}) == set()
        hosts.clock.advance(SILENCE_S)


async def test_callers_that_ask_about_others_do_not_disturb_each_other(hosts: Hosts):
    me = hosts.process("me")
    for _ in range(6):
        assert await me.gone({"one"}) == await me.gone({"two"}) == set()
        hosts.clock.advance(SILENCE_S / 6)
    assert (await me.gone({"one"}), await me.gone({"two"})) == ({"one"}, {"two"})


async def test_who_was_not_asked_about_for_long_is_watched_anew(hosts: Hosts):
    me = hosts.process("me")
    await me.gone({"other"})
    hosts.clock.advance(2 * SILENCE_S)
    assert await me.gone({"other"}) == set()


async def test_who_leaves_removes_its_signs_of_life_and_may_come_back(hosts: Hosts):
    me, other = hosts.process("me"), hosts.process("other")
    await me.leave()
    for presence in (me, other):
        await presence.beat()
    await me.leave()
    assert await hosts.beats() == {"other": 1}
    await me.beat()
    assert await hosts.beats() == {"other": 1, "me": 1}


async def test_a_sign_of_life_that_could_not_be_written_is_due_at_once(tmp_path: Path):
    database, clock = Database(tmp_path / "tocsin.db", SCHEMA), FakeClock()
    me = Presence(SqliteBeats(database), clock, "me")
    await database.aclose()
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            await me.beat()
    await me.leave()


async def test_old_signs_of_life_are_removed_and_those_of_the_living_stay(hosts: Hosts):
    hosts.dead.add("dead")
    hosts.alive.add("alive")
    names = ("me", "dead", "alive", "silent", "busy")
    processes = {name: hosts.process(name) for name in names}
    for process in processes.values():
        await process.beat()
    assert await processes["me"].prune() == 1
    hosts.clock.advance(BEAT_S)
    await processes["busy"].beat()
    assert await processes["me"].prune() == 1
    assert sorted(await hosts.beats()) == ["alive", "busy", "me"]
