"""Heartbeats in a directory of their own, with the front door and the watch, on a clock that the test moves."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.clocks import SteppedClock
from tests.web.asgi_client import Answer, Client

from tocsin.features.heartbeats.feature import FEATURE
from tocsin.features.heartbeats.front import HeartbeatsAtTheDoor, front_routes
from tocsin.features.heartbeats.model import Heartbeat, HeartbeatState
from tocsin.features.heartbeats.service import Heartbeats
from tocsin.messaging.outbound.caller import Caller
from tocsin.testing.features import FeatureBench, open_feature
from tocsin.web.front.app import FrontDependencies, build_front_door
from tocsin.web.http.metrics import Metrics

STEP_S = 9.5  # and up to 5 s until the next note: less than what counts as an absence
TEST = Caller("cli")


@dataclass
class Door:
    """An open feature behind the front door of one process."""

    bench: FeatureBench
    clock: SteppedClock
    client: Client = field(init=False)
    metrics: Metrics = field(init=False)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Open the front door, as a process that starts."""
        self.heartbeats.at_the_door = None
        self.metrics = Metrics()
        parts = FrontDependencies(
            settings=self.bench.app.settings,
            limiter=self.bench.app.stores.limiter,
            routes=front_routes(self.heartbeats),
            metrics=self.metrics,
        )
        self.client = Client(build_front_door(parts))

    @property
    def heartbeats(self) -> Heartbeats:
        return self.bench.service

    @property
    def at_the_door(self) -> HeartbeatsAtTheDoor:
        return self.heartbeats.at_the_door

    async def add(self, name: str, **fields: Any) -> Heartbeat:
        return await self.heartbeats.add(name, {"grace": "1m", **fields}, TEST)

    async def ping(self, name: str, action: str = "", method: str = "GET", **request: Any) -> Answer:
        """Send a ping to a heartbeat by its UUID."""
        found = await self.heartbeats.get(name)
        return await self.client.request(method, f"/ping/{found.code}{action}", **request)

    async def step(self, *, after_s: float = 0.0) -> None:
        """Let time pass, and let the watch look in between: a longer pause would count as an absence."""
        while after_s > STEP_S:
            self.clock.advance(STEP_S)
            after_s -= STEP_S
            await self.at_the_door.watch.step()
        self.clock.advance(after_s)
        await self.at_the_door.watch.step()

    async def settle(self) -> None:
        """Begin to watch, until silence counts."""
        await self.step()
        await self.step(after_s=61)

    async def restart(self, *, away_s: float) -> None:
        """Stop, and start after a while."""
        await self.at_the_door.watch.lease.release()
        self.clock.advance(away_s)
        self.open()
        await self.step()

    async def state(self, name: str) -> HeartbeatState:
        return (await self.heartbeats.get(name)).state(self.clock.now())

    async def ledger(self, name: str) -> list[str]:
        """Return the states of all instants, the oldest first."""
        found = await self.heartbeats.get(name)
        return [str(instant.state) for instant in await self.heartbeats.store.instants(found.id)]

    def told(self) -> list[str]:
        """Return the titles of the notices."""
        return [notice.title for notice in self.bench.notices]


@asynccontextmanager
async def open_door(
    tmp_path: Path, env: Mapping[str, str] | None = None, *, clock: SteppedClock | None = None, **options: Any
) -> AsyncIterator[Door]:
    clock = clock or SteppedClock()
    async with open_feature(FEATURE, tmp_path, env, clock=clock, **options) as bench:
        yield Door(bench, clock)


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[Door]:
    async with open_door(tmp_path) as door:
        yield door
