"""The dashboard of a whole program with every channel and feature; nothing leaves the process."""

from contextlib import asynccontextmanager

import pytest
from tests.web.conftest import SCHEMAS, TEAMCHAT, make_app

from tocsin.core.storage.database import Database
from tocsin.testing.dashboard import open_dashboard
from tocsin.testing.fakes import FakeClock, ScriptedTransport


@asynccontextmanager
async def open_program(folder, transport, env=None):
    """Open the program, with one configured channel and the settings in `env`."""
    database = Database(folder / "tocsin.db", SCHEMAS)
    app = make_app(folder, {**TEAMCHAT, "REDIS_URL": "off", **(env or {})}, transport, FakeClock(), database)
    yield app
    for part in (app.features, app.runs, app.presence, app.messenger, database):
        await part.aclose()
    app.audit.log.close()


@pytest.fixture
def transport():
    return ScriptedTransport()


@pytest.fixture
async def program(tmp_path, transport):
    async with open_program(tmp_path, transport) as app:
        yield app


@pytest.fixture
async def whole(program):
    """Return a client of its dashboard."""
    async with open_dashboard(program) as client:
        yield client
