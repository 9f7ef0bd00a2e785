"""The dashboard of a whole program with every channel and feature; nothing leaves the process."""

import pytest
from tests.web.conftest import SCHEMAS, TEAMCHAT, make_app

from tocsin.core.storage.database import Database
from tocsin.testing.dashboard import open_dashboard
from tocsin.testing.fakes import FakeClock, ScriptedTransport


@pytest.fixture
def transport():
    return ScriptedTransport()


@pytest.fixture
async def program(tmp_path, transport):
    """Return the program, with one configured channel."""
    clock = FakeClock()
    database = Database(tmp_path / "tocsin.db", SCHEMAS)
    app = make_app(tmp_path, {**TEAMCHAT, "REDIS_URL": "off"}, transport, clock, database)
    yield app
    for part in (app.features, app.runs, app.presence, app.messenger, database):
        await part.aclose()
    app.audit.log.close()


@pytest.fixture
async def whole(program):
    """Return a client of its dashboard."""
    async with open_dashboard(program) as client:
        yield client
