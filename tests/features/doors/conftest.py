"""Doors in a directory of their own, with the front door and the worker, and a channel that keeps what is queued."""

import gzip
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.clocks import SteppedClock
from tests.web.asgi_client import Answer, Client

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part
from tocsin.channels.model import native
from tocsin.delivery.model import Delivery
from tocsin.delivery.store import DeliveryFilter
from tocsin.features.doors.feature import FEATURE
from tocsin.features.doors.front import DoorsAtTheDoor, front_routes
from tocsin.features.doors.model import DoorAddress, DoorRequestRecord
from tocsin.features.doors.service import Doors
from tocsin.messaging.outbound.caller import Caller
from tocsin.testing.features import FeatureBench, open_feature
from tocsin.web.front.app import FrontDependencies, build_front_door
from tocsin.web.http.metrics import Metrics

TEST = Caller("cli")
PROFILES = "oncall:\n- {channel: echo, target: alerts}\nquiet:\n- {channel: echo, target: quiet}\n"
PROFILES += "plain:\n- {channel: texts, target: all}\n- {channel: echo, target: all}\n"


class EchoAdapter(OutboundAdapter):
    """Takes every message; its messages can be edited."""

    spec = ChannelSpec(
        "echo",
        "Echo",
        "Echo",
        abilities={name: native() for name in ("title", "priority", "type", "click", "key", "attach", "withdraw")},
    )

    async def deliver(self, part: Part) -> str:
        return ""

    async def probe(self) -> str:
        return "echo"


class TextsAdapter(EchoAdapter):
    """Takes texts alone: neither files nor changes."""

    spec = ChannelSpec("texts", "Texts", "Texts")


def names_of(sent: Delivery) -> list[str]:
    """Return the names of the files of a message."""
    return [each["name"] for each in sent.content.get("attach", ())]


@dataclass
class FrontBench:
    """An open feature behind the front door of one process."""

    bench: FeatureBench
    clock: SteppedClock
    client: Client = field(init=False)
    metrics: Metrics = field(init=False)

    def __post_init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Open the front door, as a process that starts."""
        self.doors.at_the_door = None
        self.metrics = Metrics()
        parts = FrontDependencies(
            settings=self.bench.app.settings,
            limiter=self.bench.app.stores.limiter,
            routes=front_routes(self.doors),
            metrics=self.metrics,
        )
        self.client = Client(build_front_door(parts), documented=False)

    @property
    def doors(self) -> Doors:
        return self.bench.service

    @property
    def at_the_door(self) -> DoorsAtTheDoor:
        return self.doors.at_the_door

    async def add(self, name: str = "alerts", secret: str = "", **fields: Any) -> DoorAddress:
        return await self.doors.add(name, {"profile": "oncall", **fields}, TEST, secret)

    async def post(
        self, path: str, body: object = b"", *headers: tuple[str, str], method: str = "POST", peer: str = ""
    ) -> Answer:
        """Make a request with `body` as JSON, or as it is when it is bytes."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = () if isinstance(body, bytes) else (("Content-Type", "application/json"),)
        return await self.client.request(method, path, *kind, *headers, body=[raw], peer=peer)

    async def work(self) -> list[Delivery]:
        """Let the worker look once; return all deliveries, the oldest first."""
        await self.at_the_door.worker.step()
        return await self.deliveries()

    async def deliveries(self) -> list[Delivery]:
        found = await self.bench.app.outbox.store.search(DeliveryFilter(limit=500))
        return sorted(found.items, key=lambda each: each.id)  # an edit takes the place of what it edits

    async def last(self, name: str = "alerts") -> DoorRequestRecord:
        """Return the newest request of a door."""
        return (await self.doors.requests(name))[0]


@asynccontextmanager
async def open_front(
    tmp_path: Path, env: Mapping[str, str] | None = None, *, profiles: str = PROFILES, **options: Any
) -> AsyncIterator[FrontBench]:
    clock = SteppedClock()
    (tmp_path / "profiles.yaml").write_text(profiles)
    async with open_feature(
        FEATURE, tmp_path, env, clock=clock, channels=[EchoAdapter, TextsAdapter], **options
    ) as bench:
        yield FrontBench(bench, clock)


@pytest.fixture
async def front(tmp_path: Path) -> AsyncIterator[FrontBench]:
    async with open_front(tmp_path) as front:
        yield front


@cache
def gzip_bomb() -> bytes:
    """Return 64 KiB of gzip that unpack to 64 MiB, made at the first call."""
    return gzip.compress(bytes(64 * 1024 * 1024), mtime=0)
