"""Work for a caller ends when the caller leaves."""

import asyncio
from typing import Any

import pytest
from fastapi import Request

from tocsin.rest.callers import while_connected
from tocsin.rest.problems import HttpProblemError


def request_of(*messages: str) -> Request:
    """Return a request whose client does that, and then waits."""
    left = list(messages)

    async def receive() -> dict[str, Any]:
        if not left:
            await asyncio.Event().wait()
        return {"type": left.pop(0), "body": b"", "more_body": False}

    return Request({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)


async def test_work_for_a_client_that_waits_is_done():
    assert await while_connected(request_of("http.request"), asyncio.sleep(0, "done")) == "done"
    with pytest.raises(KeyError):
        await while_connected(request_of(), _failing())


async def test_work_for_a_client_that_leaves_is_cancelled():
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with pytest.raises(HttpProblemError):
        await while_connected(request_of("http.request", "http.disconnect"), work())
    await asyncio.sleep(0)
    assert ended == ["cancelled"]


async def _failing() -> None:
    raise KeyError("made up")
