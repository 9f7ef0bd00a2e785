"""The inbox in SQLite: the contract of every inbox, and what only files can do to it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.messaging.inbound.inbox_hall import SCHEMAS, SteppedClock, message
from tests.messaging.inbound.inbox_store_contract import InboxStoreContract, OpenInbox, accepted

from tocsin.core.storage.database import Database, DatabaseError
from tocsin.messaging.inbound.schema import MIGRATIONS
from tocsin.messaging.inbound.sqlite_store import SqliteInbox


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    made = Database(tmp_path / "tocsin.db", SCHEMAS)
    yield made
    await made.aclose()


@pytest.fixture
def store(database: Database) -> SqliteInbox:
    return SqliteInbox(database, SteppedClock())


class TestSqliteInbox(InboxStoreContract):
    """Runs the contract."""

    @pytest.fixture
    def open_store(self, database: Database) -> OpenInbox:
        return lambda clock, **bounds: SqliteInbox(database, clock, **bounds)


async def test_what_answers_an_event_directly_is_nowhere_on_the_disk(store: SqliteInbox, tmp_path: Path):
    await accepted(store, message(reply_context={"token": "very secret"}))
    assert all(b"very secret" not in path.read_bytes() for path in tmp_path.iterdir())


async def test_neither_events_nor_the_place_are_stored_when_one_of_them_cannot_be(store: SqliteInbox):
    await store.accept([], "me", ("poller", 1))
    with pytest.raises(OverflowError):
        await store.accept([message("one", "c", "a")], "me", ("poller", 2**70))
    assert (await store.cursor("poller"), await store.search()) == (1, [])
    assert await accepted(store, message("one", "c", "a")) == [True]


async def test_what_cannot_be_stored_is_an_error(store: SqliteInbox, database: Database):
    await database.aclose()
    with pytest.raises(DatabaseError):
        await accepted(store, message())


async def test_open_events_outlive_the_upgrade_that_moves_signs_of_life(tmp_path: Path):
    path, clock = tmp_path / "older.db", SteppedClock()
    older = Database(path, {"inbox": MIGRATIONS[:1]})
    await SqliteInbox(older, clock).accept([message()], "me")
    await older.write(lambda c: c.execute("INSERT INTO inbox_owners VALUES ('me', 3)").fetchall())
    await older.aclose()
    newer = Database(path, SCHEMAS)
    assert await SqliteInbox(newer, clock).owners() == {"me": 1}
    await newer.aclose()
