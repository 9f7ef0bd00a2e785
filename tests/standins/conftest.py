"""One town of stand-ins per test, and a plain HTTP client."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest

from tocsin.standins import Town, open_standins


class Clock:
    """A clock that stands still until it is set forward."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def town() -> AsyncIterator[Town]:
    async with open_standins() as town:
        yield town


@pytest.fixture
def until() -> Callable[[Callable[[], object]], Awaitable[None]]:
    """Wait for something that sends no signal, at most three seconds."""

    async def until(condition: Callable[[], object]) -> None:
        async with asyncio.timeout(3):
            while not condition():  # noqa: ASYNC110 - what is waited for knows no events
                await asyncio.sleep(0.001)

    return until


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        yield session
