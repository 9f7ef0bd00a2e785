"""New databases as copies of an empty one: to make a hundred tables by migrations takes longer than most tests."""

import sqlite3
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tocsin.core.storage.database import Database, Schemas

_MIGRATE = Database.migrate
_TURN = threading.Lock()


@pytest.fixture(scope="module", autouse=True)
def copied_tables() -> Iterator[None]:
    """Copy the tables of a new database. A conftest imports this; what is about migrations itself does without."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Database, "migrate", _copy_or_migrate)
        yield


def _copy_or_migrate(database: Database, connection: sqlite3.Connection, schemas: Schemas) -> None:
    with _TURN:
        if not connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            _empty(tuple((component, tuple(scripts)) for component, scripts in schemas.items())).backup(connection)
    _MIGRATE(database, connection, schemas)  # which finds nothing to do


@cache
def _empty(schemas: tuple[tuple[str, tuple[str, ...]], ...]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    _MIGRATE(Database(Path("made-ahead"), {}), connection, dict(schemas))
    return connection
