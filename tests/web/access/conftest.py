"""Who may sign in, over a database of its own, with hashes that cost next to nothing."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.web.access.accounts import Accounts

from tocsin.core.storage.database import Database
from tocsin.testing.fakes import FakeClock
from tocsin.web.access.schema import MIGRATIONS


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = Database(tmp_path / "tocsin.db", {"web_access": MIGRATIONS})
    yield database
    await database.aclose()


@pytest.fixture
def accounts(database: Database, clock: FakeClock, tmp_path: Path) -> Accounts:
    return Accounts(database, clock, tmp_path)
