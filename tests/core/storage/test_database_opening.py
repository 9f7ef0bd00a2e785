"""A database that is opened when it is first used: a command that only lists leaves no file behind."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S

from tocsin.core.storage.database import Database, DatabaseError

SCHEMA = {"notes": ("CREATE TABLE notes (text TEXT NOT NULL);",)}


class Opener:
    """Names the tables of a database below `place`; counts how often it is asked, which an opening does once."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.asked = 0
        self.begun = threading.Event()
        self.may_go = threading.Event()
        self.may_go.set()

    def __call__(self) -> dict[str, tuple[str, ...]]:
        self.asked += 1
        self.begun.set()
        assert self.may_go.wait(PATIENCE_S)
        return SCHEMA


@pytest.fixture
def opener(tmp_path: Path) -> Opener:
    return Opener(tmp_path / "data")


@pytest.fixture
async def database(opener: Opener) -> AsyncIterator[Database]:
    made = Database(opener.place / "tocsin.db", opener)
    yield made
    await made.aclose()


async def add(database: Database, text: str) -> int:
    return await database.write(lambda c: c.execute("INSERT INTO notes VALUES (?)", [text]).rowcount)


async def count(database: Database) -> int:
    return await database.read(lambda c: c.execute("SELECT count(*) FROM notes").fetchone()[0])


async def test_nothing_is_opened_before_it_is_used(database: Database, opener: Opener):
    assert database.problem == ""
    assert (opener.asked, opener.place.exists()) == (0, False)


async def test_it_is_opened_once_for_all_that_use_it_at_the_same_time(database: Database, opener: Opener):
    await asyncio.gather(*(add(database, str(n)) for n in range(10)))
    assert await count(database) == 10
    assert opener.asked == 1


async def test_closing_what_was_never_used_opens_nothing(database: Database, opener: Opener):
    await database.aclose()
    assert opener.asked == 0


async def test_after_closing_nothing_is_opened_any_more(database: Database, opener: Opener):
    await database.aclose()
    with pytest.raises(DatabaseError, match="closed"):
        await add(database, "late")
    assert opener.asked == 0


async def test_after_use_and_closing_it_is_closed(database: Database, opener: Opener):
    await add(database, "x")
    await database.aclose()
    for late in (add(database, "y"), count(database)):
        with pytest.raises(DatabaseError, match="closed"):
            await late
    assert opener.asked == 1


async def test_a_failure_to_open_is_told_and_tried_again(database: Database, opener: Opener):
    opener.place.write_text("a file where a directory belongs")
    for use in (add(database, "x"), count(database)):
        with pytest.raises(DatabaseError):
            await use
    assert database.problem
    opener.place.unlink()
    await add(database, "x")
    assert database.problem == ""
    assert await count(database) == 1


async def test_a_write_that_fails_is_the_problem_until_one_works(database: Database):
    await database.write(lambda c: c.execute("PRAGMA max_page_count = 1").fetchall())
    with pytest.raises(DatabaseError):
        await add(database, "x" * 100_000)
    assert "full" in database.problem
    await database.write(lambda c: c.execute("PRAGMA max_page_count = 100000").fetchall())
    await add(database, "x" * 100_000)
    assert database.problem == ""


async def test_opening_that_takes_long_does_not_hold_up_the_program(database: Database, opener: Opener):
    opener.may_go.clear()
    use = asyncio.create_task(add(database, "x"))
    await asyncio.to_thread(opener.begun.wait, PATIENCE_S)
    assert not use.done(), "the loop goes on while another process keeps the file locked"
    opener.may_go.set()
    assert await use == 1


async def test_who_gives_up_waiting_leaves_no_second_database_behind(database: Database, opener: Opener):
    opener.may_go.clear()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(add(database, "x"), 0.01)
    second = asyncio.create_task(add(database, "y"))
    await asyncio.sleep(0)
    opener.may_go.set()
    await second
    assert opener.asked == 1


async def test_closing_waits_for_an_opening_that_is_under_way(database: Database, opener: Opener):
    opener.may_go.clear()
    use = asyncio.create_task(add(database, "x"))
    await asyncio.to_thread(opener.begun.wait, PATIENCE_S)
    closing = asyncio.create_task(database.aclose())
    await asyncio.sleep(0)
    opener.may_go.set()
    await closing
    await asyncio.wait([use])
    with pytest.raises(DatabaseError, match="closed"):
        await database.read(lambda c: c.execute("SELECT 1").fetchone())


async def test_where_only_writes_make_it_a_read_finds_empty_tables_and_leaves_nothing_behind(opener: Opener):
    path = opener.place / "tocsin.db"
    carrier, keeper = Database(path, opener, only_writes_make_it=True), Database(path, opener)

    async def texts() -> list[str]:
        return [row["text"] for row in await carrier.read(lambda c: c.execute("SELECT text FROM notes").fetchall())]

    assert [await texts() for _ in range(9)] == [[]] * 9
    assert (carrier.path.exists(), opener.place.exists()) == (False, False)
    await keeper.write(lambda c: c.execute("INSERT INTO notes VALUES ('by another process')").rowcount)
    assert (carrier.path.exists(), await texts()) == (True, ["by another process"])
    await carrier.aclose()
    await keeper.aclose()
    with pytest.raises(DatabaseError):
        await texts()
