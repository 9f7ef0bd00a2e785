"""What becomes of an Idempotency-Key whose first request ends in another way than by its answer."""

import pytest
from fastapi import Request
from fastapi.responses import JSONResponse

from tocsin.core.errors import ConfigError
from tocsin.core.storage.database import Database
from tocsin.messaging.outbound import idempotency
from tocsin.messaging.outbound.idempotency import LEASE_S, SqliteKeys
from tocsin.rest.once import answer_once
from tocsin.rest.problems import HttpProblemError
from tocsin.testing.fakes import FakeClock


@pytest.fixture
async def clock():
    return FakeClock()


@pytest.fixture
async def keys(tmp_path, clock):
    database = Database(tmp_path / "tocsin.db", lambda: {"idempotency": idempotency.MIGRATIONS})
    yield SqliteKeys(database, clock)
    await database.aclose()


def request() -> Request:
    async def receive():
        return {"type": "http.request", "body": b"{}", "more_body": False}

    scope = {"type": "http", "method": "POST", "path": "/api/x", "query_string": b"", "headers": [], "server": ("h", 1)}
    return Request({**scope, "scheme": "http"}, receive)


async def done():
    return JSONResponse({"done": True}, 201)


async def test_a_request_that_fails_unexpectedly_is_not_done_again(keys, clock):
    async def breaks():
        raise RuntimeError("after the effect")

    with pytest.raises(RuntimeError):
        await answer_once(request(), keys, "k", breaks)
    with pytest.raises(HttpProblemError) as early:
        await answer_once(request(), keys, "k", done)
    assert early.value.code == "conflict"
    clock.advance(LEASE_S + 1)
    with pytest.raises(HttpProblemError) as late:
        await answer_once(request(), keys, "k", done)
    assert late.value.code == "upstream-timeout"


async def test_a_request_that_is_refused_leaves_its_key_free(keys):
    async def refuses():
        raise ConfigError("no such target")

    with pytest.raises(ConfigError):
        await answer_once(request(), keys, "k", refuses)
    assert (await answer_once(request(), keys, "k", done)).status_code == 201
