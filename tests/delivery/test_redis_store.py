"""The queue in Redis: the contract of every store, and what only a server can do to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from tests.delivery.conftest import RedisServer
from tests.delivery.store_contract import OpenStore, StoreContract

from tocsin.core.ids import new_id
from tocsin.core.storage.redis_client import open_redis
from tocsin.core.time.clock import Clock
from tocsin.delivery.redis.store import RedisStore
from tocsin.delivery.store import DeliveryStore


class TestRedisStore(StoreContract):
    """Runs the contract; each test has a prefix of its own."""

    @pytest.fixture
    def open_store(self, redis_server: RedisServer) -> OpenStore:
        prefix = f"test-{new_id()}"

        @asynccontextmanager
        async def opened(clock: Clock) -> AsyncIterator[DeliveryStore]:
            client = open_redis(redis_server.url)
            yield RedisStore(client, clock, prefix=prefix)
            await client.aclose()

        return opened
