"""A database that is opened when it is first used: a command that only lists leaves no file behind."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.waiting import PATIENCE_S

from tocsin.core.storage.database import Database, DatabaseError
from tocsin.core.storage.database_lazy import LazyDatabase

SCHEMA = {"notes": ("CREATE TABLE notes (text TEXT NOT NULL);",)}


class Opener:
    """Opens a database below `place`, and counts."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.asked = 0
        self.opened: list[Database] = []
        self.begun = threading.Event()
        self.may_go = threading.Event()
        self.may_go.set()

    def __call__(self) -> Database:
        self.asked += 1
        self.begun.set()
        assert self.may_go.wait(PATIENCE_S)
        self.opened.append(Database(self.place / "tocsin.db", SCHEMA))
        return self.opened[-1]


@pytest.fixture
def opener(tmp_path: Path) -> Opener:
    return Opener(tmp_path / "data")


@pytest.fixture
async def lazy(opener: Opener) -> AsyncIterator[LazyDatabase]:
    made = LazyDatabase(opener)
    yield made
    await made.aclose()


async def add(lazy: LazyDatabase, text: str) -> int:
    return await lazy.write(lambda c: c.execute("INSERT INTO notes VALUES (?)", [text]).rowcount)


async def count(lazy: LazyDatabase) -> int:
    return await lazy.read(lambda c: c.execute("SELECT count(*) FROM notes").fetchone()[0])


async def test_nothing_is_opened_before_it_is_used(lazy: LazyDatabase, opener: Opener):
    assert lazy.problem == ""
    assert (opener.asked, opener.place.exists()) == (0, False)


async def test_it_is_opened_once_for_all_that_use_it_at_the_same_time(lazy: LazyDatabase, opener: Opener):
    await asyncio.gather(*(add(lazy, str(n)) for n in range(10)))
    assert await count(lazy) == 10
    assert opener.asked == 1


async def test_closing_what_was_never_used_opens_nothing(lazy: LazyDatabase, opener: Opener):
    await lazy.aclose()
    assert opener.asked == 0


async def test_after_closing_nothing_is_opened_any_more(lazy: LazyDatabase, opener: Opener):
    await lazy.aclose()
    with pytest.raises(DatabaseError, match="closed"):
        await add(lazy, "late")
    assert opener.asked == 0


async def test_after_use_and_closing_it_is_closed(lazy: LazyDatabase, opener: Opener):
    await add(lazy, "x")
    await lazy.aclose()
    for late in (add(lazy, "y"), count(lazy)):
        with pytest.raises(DatabaseError, match="closed"):
            await late
    assert opener.asked == 1


async def test_a_failure_to_open_is_told_and_tried_again(lazy: LazyDatabase, opener: Opener):
    opener.place.write_text("a file where a directory belongs")
    for use in (add(lazy, "x"), count(lazy)):
        with pytest.raises(DatabaseError):
            await use
    assert "cannot be used" in lazy.problem
    opener.place.unlink()
    await add(lazy, "x")
    assert lazy.problem == ""
    assert await count(lazy) == 1


async def test_a_write_that_fails_is_the_problem_until_one_works(lazy: LazyDatabase):
    await lazy.write(lambda c: c.execute("PRAGMA max_page_count = 1").fetchall())
    with pytest.raises(DatabaseError):
        await add(lazy, "x" * 100_000)
    assert "full" in lazy.problem
    await lazy.write(lambda c: c.execute("PRAGMA max_page_count = 100000").fetchall())
    await add(lazy, "x" * 100_000)
    assert lazy.problem == ""


async def test_opening_that_takes_long_does_not_hold_up_the_program(lazy: LazyDatabase, opener: Opener):
    opener.may_go.clear()
    use = asyncio.create_task(add(lazy, "x"))
    await asyncio.to_thread(opener.begun.wait, 5)
    assert not use.done(), "the loop goes on while another process keeps the file locked"
    opener.may_go.set()
    assert await use == 1


async def test_who_gives_up_waiting_leaves_no_second_database_behind(lazy: LazyDatabase, opener: Opener):
    opener.may_go.clear()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(add(lazy, "x"), 0.01)
    second = asyncio.create_task(add(lazy, "y"))
    await asyncio.sleep(0)
    opener.may_go.set()
    await second
    assert len(opener.opened) == 1


async def test_closing_waits_for_an_opening_that_is_under_way(lazy: LazyDatabase, opener: Opener):
    opener.may_go.clear()
    use = asyncio.create_task(add(lazy, "x"))
    await asyncio.to_thread(opener.begun.wait, 5)
    closing = asyncio.create_task(lazy.aclose())
    await asyncio.sleep(0)
    opener.may_go.set()
    await closing
    await asyncio.wait([use])
    with pytest.raises(DatabaseError, match="closed"):
        await opener.opened[0].read(lambda c: c.execute("SELECT 1").fetchone())
