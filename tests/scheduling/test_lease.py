"""One process of several holds a lease, and what a former holder still writes is refused."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tocsin.core.storage.database import Database
from tocsin.scheduling.lease import BEAT_S, MIGRATIONS, SILENCE_S, Lease, LeaseLostError
from tocsin.testing.fakes import FakeClock


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "tocsin.db", {"scheduling": MIGRATIONS})
    yield database
    await database.aclose()


def lease_of(database: Database, holder: str, clock: FakeClock, dead: tuple[str, ...] = ()) -> Lease:
    return Lease(database, "scheduler", clock, holder, is_dead=lambda identity: identity in dead)


async def test_the_second_process_gets_it_when_the_first_gives_it_back(database: Database):
    clock = FakeClock()
    one, two = lease_of(database, "one", clock), lease_of(database, "two", clock)
    assert await one.keep()
    assert not await two.keep()
    await one.release()
    assert await two.keep()
    assert not await one.keep()


async def test_a_silent_holder_loses_it_within_ten_seconds_and_cannot_write_any_more(database: Database):
    clock = FakeClock()
    one, two = lease_of(database, "one", clock), lease_of(database, "two", clock)
    assert await one.keep()
    waited = 0.0
    while not await two.keep():
        clock.advance(1)
        waited += 1
    assert waited <= 10
    assert not one.held
    with pytest.raises(LeaseLostError):
        await database.write(one.confirm)
    await database.write(two.confirm)
    assert not await one.keep()


async def test_a_holder_that_is_proved_dead_loses_it_at_once(database: Database):
    clock = FakeClock()
    assert await lease_of(database, "one", clock).keep()
    assert await lease_of(database, "two", clock, dead=("one",)).keep()


async def test_a_holder_that_beats_keeps_it(database: Database):
    clock = FakeClock()
    one, two = lease_of(database, "one", clock), lease_of(database, "two", clock)
    for _ in range(int(4 * SILENCE_S)):
        assert await one.keep()
        assert not await two.keep()
        clock.advance(BEAT_S / 2)


async def test_of_two_that_take_it_at_the_same_time_one_gets_it(database: Database):
    clock = FakeClock()
    first = lease_of(database, "gone", clock)
    assert await first.keep()
    rivals = [lease_of(database, name, clock, dead=("gone",)) for name in ("one", "two", "three")]
    assert [await rival.keep() for rival in rivals].count(True) == 1


async def test_each_term_has_a_higher_token(database: Database):
    clock = FakeClock()
    tokens = []
    for name in ("one", "two", "one"):
        lease = lease_of(database, name, clock)
        assert await lease.keep()
        tokens.append(lease.token)
        await lease.release()
    assert tokens == sorted(set(tokens))


async def test_a_service_ends_although_its_lease_cannot_be_given_back(
    database: Database, caplog: pytest.LogCaptureFixture
):
    lease = lease_of(database, "one", FakeClock())
    assert await lease.keep()
    await database.aclose()
    await lease.release()
    assert "a lease could not be released" in caplog.text
