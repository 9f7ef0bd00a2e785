"""The contracts of the stores over Valkey, where it is installed: it is spoken to as Redis is."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer, queue_in_redis
from tests.delivery.store_contract import OpenStore, StoreContract
from tests.messaging.inbound.inbox_store_contract import InboxStoreContract, OpenInbox
from tests.redis_clients import patient_redis

from tocsin.core.ids import new_id
from tocsin.core.time.clock import SystemClock
from tocsin.delivery.redis.store import RedisStore
from tocsin.messaging.inbound.redis.store import RedisInbox

PROGRAM = "valkey-server"
if shutil.which(PROGRAM) is None:
    pytest.skip(f"{PROGRAM} is not installed (from Debian 13 on: apt-get install {PROGRAM})", allow_module_level=True)


@pytest.fixture(scope="module")
def valkey() -> Iterator[str]:
    """Return the address of a server; each test has a prefix of its own."""
    with tempfile.TemporaryDirectory(prefix="valkey-") as directory:
        server = RedisServer(Path(directory), PROGRAM)
        server.start()
        yield server.url
        server.stop()


class TestQueueInValkey(StoreContract):
    """Runs the contract of the delivery queue."""

    @pytest.fixture
    def open_store(self, valkey: str) -> OpenStore:
        return partial(queue_in_redis, valkey, f"test-{new_id()}")


class TestInboxInValkey(InboxStoreContract):
    """Runs the contract of the inbox."""

    @pytest.fixture
    async def open_store(self, valkey: str) -> AsyncIterator[OpenInbox]:
        client, prefix = patient_redis(valkey), f"test-{new_id()}"
        yield lambda clock, **bounds: RedisInbox(client, clock, prefix=prefix, **bounds)
        await client.aclose()


async def test_a_safe_valkey_is_healthy(valkey: str):
    client = patient_redis(valkey)
    assert (await RedisStore(client, SystemClock()).health()).problems == []
    await client.aclose()
