"""One town of stand-ins per test, and a plain HTTP client."""

from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from tests.waiting import PATIENCE_S, eventually

from tocsin_standins import StandinCluster, open_standins


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
async def town() -> AsyncIterator[StandinCluster]:
    async with open_standins() as town:
        yield town


@pytest.fixture
def until() -> Callable[[Callable[[], object]], Awaitable[None]]:
    """Wait for something that sends no signal."""
    return eventually


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE_S)) as session:
        yield session
