"""The queue in Redis: the contract of every store, and what only a server can do to it."""

from functools import partial

import pytest
from tests.delivery.conftest import RedisServer, queue_in_redis
from tests.delivery.store_contract import OpenStore, StoreContract

from tocsin.core.ids import new_id


class TestRedisStore(StoreContract):
    """Runs the contract; each test has a prefix of its own."""

    @pytest.fixture
    def open_store(self, redis_server: RedisServer) -> OpenStore:
        return partial(queue_in_redis, redis_server.url, f"test-{new_id()}")
