"""Change the tables of a feature at the end of a run, exactly once per run."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from tocsin.core.storage.database import Database

_KEPT = 10_000  # a run is settled within moments, or when its process is found dead


async def note_once(
    database: Database, run_id: str, work: Callable[[sqlite3.Connection], Mapping[str, Any]]
) -> Mapping[str, Any]:
    """Run `work`, which changes tables, in a transaction, and return its result.

    For a known run, return the stored result instead. The run may be in another store, so the change persists even
    if the process dies before it has settled the run.
    """

    def once(connection: sqlite3.Connection) -> Mapping[str, Any]:
        row = connection.execute("SELECT noted FROM run_notes WHERE run_id = ?", [run_id]).fetchone()
        if row is not None:
            known: Mapping[str, Any] = json.loads(row["noted"])
            return known
        noted = work(connection)
        added = connection.execute("INSERT INTO run_notes (run_id, noted) VALUES (?, ?)", [run_id, json.dumps(noted)])
        connection.execute("DELETE FROM run_notes WHERE seq <= ?", [(added.lastrowid or 0) - _KEPT])
        return noted

    return await database.write(once)
