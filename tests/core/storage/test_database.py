"""SQLite with group commit: what was acknowledged is on the disk, whatever happens next."""

import asyncio
import os
import random
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import PATIENCE_S, eventually

from tocsin.core.storage.database import MAX_BATCH, Database, DatabaseError

SCHEMA = {"notes": ("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);",)}
PRELUDE = f"""
import asyncio, resource, sys
from pathlib import Path
from tocsin.core.storage.database import Database, DatabaseError
path = Path(sys.argv[1])
schema = {SCHEMA!r}
def add(text):
    return lambda c: c.execute("INSERT INTO notes (text) VALUES (?)", [text]).lastrowid
def count(c):
    return c.execute("SELECT count(*) FROM notes").fetchone()[0]
"""


def add(text: str):
    return lambda c: c.execute("INSERT INTO notes (text) VALUES (?)", [text]).lastrowid


def texts(connection: sqlite3.Connection) -> list[str]:
    return [row["text"] for row in connection.execute("SELECT text FROM notes ORDER BY id")]


def started(script: str, *args: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", PRELUDE + script, *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def on_disk(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {text for (text,) in connection.execute("SELECT text FROM notes")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "test.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[Database]:
    database = Database(path, SCHEMA)
    await database.read(texts)
    yield database
    await database.aclose()


async def write_at_once(database: Database, works: Sequence[Callable[[sqlite3.Connection], Any]]) -> list[Any]:
    """Hand in all of these before the writer takes the first; return how they end."""
    begun, all_there = threading.Event(), threading.Event()

    def hold_up(_: sqlite3.Connection) -> bool:
        begun.set()
        return all_there.wait(PATIENCE_S)

    holding = asyncio.create_task(database.write(hold_up))
    await eventually(begun.is_set)
    writes = [asyncio.create_task(database.write(work)) for work in works]
    await asyncio.sleep(0)
    all_there.set()
    assert await holding
    return await asyncio.gather(*writes, return_exceptions=True)


async def test_many_writers_share_one_commit(database: Database):
    statements: list[str] = []
    await database.write(lambda c: c.set_trace_callback(statements.append))
    before = statements.count("COMMIT")
    await write_at_once(database, [add(str(n)) for n in range(MAX_BATCH)])
    assert statements.count("COMMIT") - before == 2  # one is of what held up the writer
    assert len(await database.read(texts)) == MAX_BATCH


async def test_a_batch_has_a_bound(database: Database):
    statements: list[str] = []
    await database.write(lambda c: c.set_trace_callback(statements.append))
    await asyncio.gather(*(database.write(add(str(n))) for n in range(3 * MAX_BATCH)))
    assert statements.count("COMMIT") >= 3


async def test_every_writer_gets_the_result_of_its_own_job(database: Database):
    assert await asyncio.gather(*(database.write(lambda _, n=n: n) for n in range(100))) == list(range(100))


async def test_a_failing_job_undoes_its_own_changes_and_leaves_its_batch_mates_alone(database: Database):
    def half(connection: sqlite3.Connection) -> None:
        add("half")(connection)
        raise KeyError("made-up")

    results = await asyncio.gather(
        database.write(add("one")),
        database.write(half),
        database.write(add("one")),
        database.write(lambda c: c.execute("SELECT nonsense FROM nowhere").fetchall()),
        database.write(lambda c: c.execute("INSERT INTO notes (text) VALUES (?)", ["\ud800"]).lastrowid),
        database.write(add("two")),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [
        int,
        KeyError,
        sqlite3.IntegrityError,
        sqlite3.OperationalError,
        UnicodeEncodeError,
        int,
    ]
    assert await database.read(texts) == ["one", "two"]
    assert database.problem == ""


async def test_a_job_must_not_hand_out_a_cursor(database: Database):
    with pytest.raises(TypeError, match="cursor"):
        await database.write(lambda c: c.execute("INSERT INTO notes (text) VALUES ('x')"))
    with pytest.raises(TypeError, match="cursor"):
        await database.read(lambda c: c.execute("SELECT * FROM notes"))
    assert await database.read(texts) == []


async def test_a_read_sees_what_was_written_before_and_cannot_write(database: Database):
    await database.write(add("one"))
    assert await asyncio.gather(*(database.read(texts) for _ in range(20))) == [["one"]] * 20
    with pytest.raises(DatabaseError, match="readonly"):
        await database.read(add("two"))


async def test_a_write_whose_caller_has_gone_is_made_all_the_same(database: Database):
    task = asyncio.create_task(database.write(add("one")))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    await database.write(add("two"))
    assert await database.read(texts) == ["one", "two"]


def test_a_loop_that_ended_before_its_write_does_not_end_the_writer(path: Path):
    database = Database(path, SCHEMA)

    async def leave() -> None:
        task = asyncio.ensure_future(database.write(lambda _: time.sleep(0.05)))
        await asyncio.sleep(0)
        task.cancel()

    async def come_back() -> None:
        await database.write(add("one"))
        assert await database.read(texts) == ["one"]
        await database.aclose()

    asyncio.run(leave())
    asyncio.run(come_back())


async def test_closing_finishes_the_writes_that_wait(path: Path):
    database = Database(path, SCHEMA)
    await database.read(texts)
    writes = [asyncio.create_task(database.write(add(str(n)))) for n in range(2 * MAX_BATCH)]
    await asyncio.sleep(0)
    await asyncio.gather(database.aclose(), database.aclose())
    assert len(await asyncio.gather(*writes)) == len(on_disk(path)) == 2 * MAX_BATCH


async def test_a_closed_database_says_so(path: Path):
    database = Database(path, SCHEMA)
    await database.read(texts)
    await database.aclose()
    await database.aclose()
    for call in (database.write(add("late")), database.read(texts)):
        with pytest.raises(DatabaseError, match="closed"):
            await call


async def test_an_acknowledged_write_is_on_the_disk_and_not_only_in_the_kernel(database: Database):
    full, wal = 2, "wal"
    assert await database.write(lambda c: c.execute("PRAGMA synchronous").fetchone()[0]) == full
    assert await database.write(lambda c: c.execute("PRAGMA journal_mode").fetchone()[0]) == wal


async def test_only_the_owner_may_read_the_files(path: Path):
    old = os.umask(0)
    try:
        database = Database(path, SCHEMA)
        await database.write(add("one"))
        files = list(path.parent.iterdir())
        assert {file.name for file in files} >= {"test.db", "test.db-wal", "test.db-shm"}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        await database.aclose()
    finally:
        os.umask(old)


# Trouble with the disk


async def test_a_full_database_refuses_the_batch_keeps_nothing_of_it_and_recovers(database: Database):
    await database.write(add("before"))
    pages = await database.write(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
    await database.write(lambda c: c.execute(f"PRAGMA max_page_count = {pages + 2}").fetchone()[0])
    results = await write_at_once(database, [add(f"{n}" * 3000) for n in range(10)])
    assert {type(result) for result in results} == {DatabaseError}
    assert "free some disk space" in results[0].hint
    assert "free some disk space" in database.problem
    assert await database.read(texts) == ["before"]
    await database.write(lambda c: c.execute("PRAGMA max_page_count = 100000").fetchone()[0])
    await database.write(add("after"))
    assert await database.read(texts) == ["before", "after"]
    assert database.problem == ""


FULL_DISK = """
async def main():
    database = Database(path, schema)
    await database.write(add("before"))
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = Path(f"{path}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10_000, unlimited[1]))
    writes = (database.write(add(f"{n}" * 20_000)) for n in range(5))
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert all(isinstance(result, DatabaseError) for result in results), results
    assert "free space" in results[0].hint, results[0].hint
    assert database.problem
    assert await database.read(count) == 1
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    await database.write(add("after"))
    assert await database.read(count) == 2
    assert not database.problem
    await database.aclose()
asyncio.run(main())
"""


def test_a_disk_that_takes_no_more_bytes_loses_nothing_and_is_used_again_when_it_does(path: Path):
    child = started(FULL_DISK, path)
    assert child.communicate(timeout=PATIENCE_S) == ("", None)
    assert child.returncode == 0
    assert on_disk(path) == {"before", "after"}


async def test_a_database_that_another_one_keeps_locked_gives_up_with_a_hint_and_recovers(path: Path):
    database = Database(path, SCHEMA, busy_timeout_s=0.05)
    await database.read(texts)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseError, match="locked") as caught:
            await database.write(add("one"))
        assert "another process" in caught.value.hint
        other.execute("ROLLBACK")
    await database.write(add("two"))
    assert await database.read(texts) == ["two"]
    await database.aclose()


async def test_a_file_that_is_no_database_is_refused_with_a_hint(tmp_path: Path):
    path = tmp_path / "broken.db"
    path.write_bytes(b"not a database at all " * 1000)
    with pytest.raises(DatabaseError) as caught:
        await Database(path, SCHEMA).read(texts)
    assert "backup" in caught.value.hint
    assert path.read_bytes().startswith(b"not a database")


async def test_a_directory_that_cannot_be_made_is_refused_with_a_hint(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseError) as caught:
        await Database(tmp_path / "file" / "x.db", SCHEMA).read(texts)
    assert caught.value.hint


# Several processes, and their ends

WRITER = """
async def main():
    database = Database(path, schema)
    for n in range(int(sys.argv[3])):
        await database.write(add(f"{sys.argv[2]}-{n}"))
    await database.aclose()
asyncio.run(main())
"""


def test_several_processes_write_at_once(path: Path):
    children = [started(WRITER, path, name, 150) for name in range(4)]
    assert [child.wait(PATIENCE_S) for child in children] == [0] * 4
    assert on_disk(path) == {f"{name}-{n}" for name in range(4) for n in range(150)}
    for child in children:
        child.communicate()


def test_several_processes_create_the_same_database_at_once(path: Path):
    children = [started(WRITER, path, name, 1) for name in range(4)]
    assert [child.wait(PATIENCE_S) for child in children] == [0] * 4
    assert len(on_disk(path)) == 4
    for child in children:
        child.communicate()


async def test_opening_waits_for_one_who_is_just_creating_the_tables(path: Path):
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE elsewhere (x)")
        timer = threading.Timer(0.1, other.execute, ["COMMIT"])
        timer.start()
        database = Database(path, SCHEMA)
        await database.write(add("one"))
        timer.join()
    await database.aclose()
    assert on_disk(path) == {"one"}


ENDLESS = """
async def main():
    database = Database(path, schema)
    async def write(name):
        n = 0
        while True:
            await database.write(add(f"{sys.argv[2]}-{name}-{n}"))
            print(f"{sys.argv[2]}-{name}-{n}", flush=True)
            n += 1
    await asyncio.gather(*(write(name) for name in range(16)))
asyncio.run(main())
"""


def test_killing_the_writer_loses_nothing_that_was_acknowledged(path: Path):
    chance = random.Random(7)
    acknowledged: set[str] = set()
    # Four at a time write to the same file; each is killed at a moment of its own.
    for generation in range(2):
        children = [started(ENDLESS, path, f"{generation}.{name}") for name in range(4)]
        for child in children:
            assert child.stdout is not None
            acknowledged.update(child.stdout.readline().strip() for _ in range(6))
            time.sleep(chance.uniform(0, 0.05))
            child.kill()
        for child in children:
            assert child.stdout is not None
            with child, child.stdout:
                acknowledged.update(line.strip() for line in child.stdout if line.endswith("\n"))
    assert len(acknowledged) >= 2 * 4 * 6
    assert acknowledged <= on_disk(path)


# Migrations


def versions(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT component, version FROM migrations").fetchall())


def columns(path: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]


async def migrated(path: Path, *scripts: str, **others: Sequence[str]) -> None:
    database = Database(path, {"a": scripts, **others})
    try:
        await database.read(lambda c: c.execute("SELECT 1").fetchone())
    finally:
        await database.aclose()


ONE = "CREATE TABLE a (x INTEGER);\nCREATE TRIGGER t AFTER INSERT ON a BEGIN\n SELECT 1;\n SELECT 2;\nEND;\n"
TWO = "ALTER TABLE a ADD COLUMN y TEXT;\n-- filled for those that are there\nUPDATE a SET y = 'old'"


async def test_a_new_database_gets_every_migration_of_every_component(path: Path):
    await migrated(path, ONE, TWO, b=("CREATE TABLE b (z);",))
    assert versions(path) == {"a": 2, "b": 1}
    assert columns(path, "a") == ["x", "y"]
    assert columns(path, "b") == ["z"]


async def test_an_old_database_gets_what_it_lacks_and_keeps_its_rows(path: Path):
    await migrated(path, ONE)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO a VALUES (1)")
    await migrated(path, ONE, TWO)
    await migrated(path, ONE, TWO)
    assert versions(path) == {"a": 2}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT * FROM a").fetchall() == [(1, "old")]


async def test_a_migration_that_fails_leaves_the_database_as_it_was(path: Path):
    await migrated(path, ONE)
    with pytest.raises(DatabaseError, match="no such table: nowhere"):
        await migrated(path, ONE, TWO, "CREATE TABLE c (x);\nINSERT INTO nowhere VALUES (1);")
    assert versions(path) == {"a": 1}
    assert columns(path, "a") == ["x"]
    assert columns(path, "c") == []


async def test_a_database_of_a_newer_program_is_refused_and_left_alone(path: Path):
    await migrated(path, ONE, TWO)
    with pytest.raises(DatabaseError, match="newer version") as caught:
        await migrated(path, ONE)
    assert "install that version" in caught.value.hint
    assert versions(path) == {"a": 2}


async def test_tables_of_a_component_that_is_not_loaded_now_are_kept(path: Path):
    await migrated(path, ONE, b=("CREATE TABLE b (z);",))
    await migrated(path, ONE)
    assert versions(path) == {"a": 1, "b": 1}
