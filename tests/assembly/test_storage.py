"""The file of the database: what was deleted is given back to the disk."""

from pathlib import Path

from tocsin.assembly.storage import give_back
from tocsin.core.storage.database import Database

SCHEMA = {"notes": ("CREATE TABLE notes (text TEXT NOT NULL);",)}


async def test_what_deleting_has_freed_is_given_back_but_for_a_tenth(tmp_path: Path):
    database = Database(tmp_path / "tocsin.db", SCHEMA)
    rows = [["x" * 4_000] for _ in range(3_000)]
    await database.write(lambda c: c.executemany("INSERT INTO notes VALUES (?)", rows).rowcount)
    await database.write(lambda c: c.execute("DELETE FROM notes WHERE rowid > 100").rowcount)

    async def pages() -> tuple[int, int]:
        return await database.read(
            lambda c: tuple(c.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
        )

    before, _ = await pages()
    await give_back(database)
    after, free = await pages()
    assert before > 3_000
    assert (after < 150, free <= after // 10 + 1) == (True, True)
    assert await database.read(lambda c: c.execute("SELECT count(*) FROM notes").fetchone()[0]) == 100
    await database.aclose()
    assert (tmp_path / "tocsin.db").stat().st_size < 1_000_000
