"""One town of stand-ins per test, and a plain HTTP client."""

from collections.abc import AsyncIterator, Awaitable, Callable

import aiohttp
import pytest
from tests.waiting import PATIENCE_S, eventually

from tocsin.testing.fakes import FakeClock
from tocsin_standins import StandinCluster, open_standins


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_800_000_000.0)


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
