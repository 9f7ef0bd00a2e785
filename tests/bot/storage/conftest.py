"""Places where the bot keeps its records; a place opens them for as many hosts as a test likes."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

import pytest
from tests.redis_clients import patient_redis

from tocsin.bot.schema import SCHEMAS
from tocsin.bot.storage.shared_stores import redis_bot_stores
from tocsin.bot.storage.stores import BotStores, sqlite_bot_stores
from tocsin.core.storage.database import Database
from tocsin.core.storage.redis_client import RedisClient
from tocsin.testing import FakeClock

HOUR_S = 3600.0


class BotPlace(ABC):
    """Where records are kept, and how a test lets time pass there."""

    @abstractmethod
    def open(self) -> BotStores:
        """Return the stores as another process would open them."""

    @abstractmethod
    async def advance(self, seconds: float) -> None:
        """Let time pass."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close everything."""


@dataclass
class SqliteBotPlace(BotPlace):
    path: Path
    clock: FakeClock = field(default_factory=FakeClock)
    opened: list[Database] = field(default_factory=list)

    def open(self) -> BotStores:
        self.opened.append(Database(self.path, SCHEMAS))
        return sqlite_bot_stores(self.opened[-1], self.clock)

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    async def aclose(self) -> None:
        for database in self.opened:
            await database.aclose()


@dataclass
class RedisBotPlace(BotPlace):
    """The server has a clock of its own: instead of letting time pass, everything is made older."""

    url: str
    prefix: str = field(default_factory=lambda: f"test{uuid4().hex}")
    opened: list[RedisClient] = field(default_factory=list)

    def open(self) -> BotStores:
        self.opened.append(patient_redis(self.url))
        return redis_bot_stores(self.opened[-1], prefix=self.prefix)

    async def advance(self, seconds: float) -> None:
        client = self.opened[0]
        for name in ("previews", "plans"):
            key = f"{{{self.prefix}:bot}}:{name}-by-time"
            for member in await client.command("ZRANGE", key, 0, -1):
                await client.command("ZINCRBY", key, -seconds, member)

    async def aclose(self) -> None:
        for client in self.opened:
            await client.aclose()


@pytest.fixture(params=["sqlite", "redis", "cluster", "sentinel"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[BotPlace]:
    made: BotPlace
    if request.param == "sqlite":
        made = SqliteBotPlace(tmp_path / "tocsin.db")
    else:
        servers = {"redis": "unsaved_redis", "cluster": "redis_cluster", "sentinel": "redis_sentinels"}
        made = RedisBotPlace(request.getfixturevalue(servers[request.param]).url)
    yield made
    await made.aclose()
