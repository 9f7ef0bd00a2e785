"""Sessions: how long they last, what ends them, and what is stored of them."""

import pytest

from tocsin.core.storage.database import Database
from tocsin.testing.fakes import FakeClock
from tocsin.web.access.sessions import LIFETIME_S, MAX_SESSIONS, REMEMBERED_S, LoginSessions

NOW = "the present credential"


@pytest.fixture
def sessions(database: Database, clock: FakeClock) -> LoginSessions:
    return LoginSessions(database, clock)


@pytest.mark.parametrize(("remember", "lifetime"), [(False, 12 * 3600), (True, 30 * 86400)])
async def test_a_session_ends_when_it_was_not_used_for_its_lifetime(
    sessions: LoginSessions, clock: FakeClock, lifetime: float, *, remember: bool
):
    started = await sessions.start("anna", NOW, remember=remember)
    assert started.expires_at == clock.now() + lifetime
    clock.advance(lifetime - 1)
    found = await sessions.find(started.id, NOW)
    assert found is not None
    assert (found.user, found.renewed, found.expires_at) == ("anna", True, clock.now() + lifetime)
    clock.advance(lifetime - 1)
    assert await sessions.find(started.id, NOW) is not None, "use moves its end"
    clock.advance(lifetime)
    assert await sessions.find(started.id, NOW) is None


async def test_a_session_in_use_is_not_written_with_every_request(sessions: LoginSessions, clock: FakeClock):
    started = await sessions.start("anna", NOW, remember=False)
    renewed = []
    for _ in range(10):
        clock.advance(60)
        found = await sessions.find(started.id, NOW)
        renewed.append(found.renewed if found else None)
    assert renewed == [False, True] * 5


async def test_a_session_is_of_no_use_after_the_login_changed(sessions: LoginSessions):
    started = await sessions.start("anna", NOW, remember=True)
    assert await sessions.find(started.id, "another credential") is None
    await sessions.start("anna", "another credential", remember=False)
    assert await sessions.find(started.id, NOW) is None, "and it is deleted at the next login"


async def test_signing_in_ends_the_session_that_the_browser_had(sessions: LoginSessions):
    first = await sessions.start("anna", NOW, remember=False)
    second = await sessions.start("anna", NOW, remember=False, replacing=first.id)
    assert first.id != second.id
    assert await sessions.find(first.id, NOW) is None
    assert await sessions.find(second.id, NOW) is not None


async def test_a_session_that_was_ended_is_gone_and_ending_it_again_is_no_error(sessions: LoginSessions):
    one = await sessions.start("anna", NOW, remember=False)
    other = await sessions.start("anna", NOW, remember=False)
    assert await sessions.end(one.id) == "anna"
    assert await sessions.end(one.id) == ""
    assert await sessions.find(one.id, NOW) is None
    assert await sessions.find(other.id, NOW) is not None


@pytest.mark.parametrize("text", ["", "x", "ü" * 43, "A" * 43, "A" * 44, "a\0" * 20, "\ud800" * 43, "' OR 1=1 --"])
async def test_what_is_no_session_finds_none(sessions: LoginSessions, text: str):
    await sessions.start("anna", NOW, remember=False)
    assert await sessions.find(text, NOW) is None
    assert await sessions.end(text) == ""


async def test_the_database_holds_nothing_with_which_somebody_could_go_on(sessions: LoginSessions, database: Database):
    started = await sessions.start("anna", NOW, remember=False)
    assert len(started.id) == 43, "256 random bits"
    await database.aclose()
    stored = b"".join(path.read_bytes() for path in database.path.parent.glob("tocsin.db*"))
    assert b"anna" in stored
    assert started.id.encode() not in stored


async def test_of_too_many_sessions_those_unused_for_longest_end(sessions: LoginSessions, clock: FakeClock):
    first, used = [await sessions.start("anna", NOW, remember=True) for _ in range(2)]
    clock.advance(REMEMBERED_S / 100)
    await sessions.find(used.id, NOW)
    for _ in range(MAX_SESSIONS - 1):
        await sessions.start("anna", NOW, remember=False)
    assert await sessions.find(first.id, NOW) is None
    assert await sessions.find(used.id, NOW) is not None


async def test_ended_sessions_are_deleted_at_the_next_login(
    sessions: LoginSessions, clock: FakeClock, database: Database
):
    for _ in range(3):
        await sessions.start("anna", NOW, remember=False)
    clock.advance(LIFETIME_S)
    await sessions.start("anna", NOW, remember=False)
    count = await database.read(lambda c: c.execute("SELECT count(*) FROM access_sessions").fetchone()[0])
    assert count == 1
