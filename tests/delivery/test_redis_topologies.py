"""The queue and the bus behind Sentinels and in a cluster, on real servers."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
import trustme
from tests.delivery.conftest import RedisServer, queue_in_redis
from tests.delivery.redis_topologies import ClusterSetup, RedisNode, SentinelSetup, cluster_setup, sentinel_setup
from tests.delivery.store_contract import SENT, OpenStore, StoreContract, claim_one, new, put, put_one
from tests.delivery.test_bus import Queue, buses, publish_text, until_led
from tests.ports import free_port
from tests.redis_clients import patient_redis
from tests.waiting import eventually

from tocsin.bot.talk.redis_sessions import RedisSessions
from tocsin.bot.talk.sessions import SessionEntry
from tocsin.core.errors import ConfigError, StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.storage.redis_address import read_address
from tocsin.core.storage.redis_client import RedisClient, open_redis
from tocsin.core.storage.redis_failures import ACL_RULES
from tocsin.core.storage.redis_routes import parse_url
from tocsin.core.time.clock import SystemClock
from tocsin.delivery.bus.bus import publish
from tocsin.delivery.bus.entry import rejected
from tocsin.delivery.model import Delivery, DeliveryStatus
from tocsin.delivery.redis.store import RedisStore
from tocsin.messaging.outbound.idempotency import StillRunningError, StoredResponse
from tocsin.messaging.outbound.redis_idempotency import RedisKeys


@pytest.fixture(scope="module")
def cluster() -> Iterator[ClusterSetup]:
    with cluster_setup(gone_after_ms=600_000) as setup:  # none is gone on a busy machine
        yield setup


@pytest.fixture
def sentinels() -> Iterator[SentinelSetup]:
    with sentinel_setup() as setup:
        yield setup


class TestStoreInCluster(StoreContract):
    """Runs the contract in three masters, which share the prefixes of the tests, as a user with the least rights."""

    @pytest.fixture
    def open_store(self, cluster: ClusterSetup) -> OpenStore:
        url = cluster.url_of_user("tocsin", *ACL_RULES.split())
        return partial(queue_in_redis, url, f"tocsin-{new_id()}")


async def test_the_bus_takes_messages_of_all_topics_in_a_cluster(cluster: ClusterSetup):
    url, queue = cluster.url_of_user("tocsin", *ACL_RULES.split()), Queue()
    client = patient_redis(url)
    async with buses(url, queue, 2) as made:
        await until_led(made)
        for topic in ("outbound:email", "outbound:teamchat", "outbound:slack"):
            await publish_text(client, topic, f"published to {topic}")
            fields = {"target": "a@b.c", "message": f"added to {topic}"}
            await publish(client, topic.removeprefix("outbound:"), fields)
        await publish(client, "email", {"target": "no address", "message": "refused"})
        await publish(client, "pigeon", {"target": "a@b.c", "message": "no such channel"})
        await eventually(lambda: len(queue.accepted) == 6)
        await eventually(lambda: _rejects(client, 2))
    assert len({new.message for new in queue.accepted}) == 6
    await client.aclose()


async def _rejects(client: RedisClient, count: int) -> bool:
    return len(await rejected(client, 10)) == count


async def test_sessions_and_keys_of_requests_work_in_a_cluster(cluster: ClusterSetup):
    client = patient_redis(cluster.url_of_user("tocsin", *ACL_RULES.split()))
    sessions, keys = RedisSessions(client, ttl_s=60, window=5), RedisKeys(client)
    for number in range(9):
        chat, key = f"botchat:{number}", f"http:a}}{{{number}"
        assert await sessions.append(chat, [SessionEntry(chat, "user", "hello", "1")], "id-1")
        assert not await sessions.append(chat, [SessionEntry(chat, "user", "hello", "1")], "id-1")
        assert await keys.begin(key, "digest") is None
        with pytest.raises(StillRunningError):
            await keys.begin(key, "digest")
        await keys.finish(key, 200, "body")
        assert await keys.begin(key, "digest") == StoredResponse(200, "body")
    assert {*await sessions.chats()} == {f"botchat:{number}" for number in range(9)}
    await client.aclose()


async def test_a_server_that_stops_in_a_cluster_is_an_outage_that_ends(cluster: ClusterSetup):
    client = open_redis(cluster.url, answer_timeout_s=5.0)
    store = RedisStore(client, SystemClock(), prefix="tocsin-stops")
    await put(store, new("before"))
    at = next(node for node in cluster.nodes if node.ask("KEYS", "{tocsin-stops:*"))
    at.kill()
    with pytest.raises(StoreUnavailableError):
        await put(store, new("meanwhile"))
    at.start()

    async def accepts() -> bool:
        with suppress(StoreUnavailableError):
            return bool(await put_one(store, new("after")))
        return False

    await eventually(accepts)
    assert (await claim_one(store)).message == "before"
    await client.aclose()


async def test_when_a_master_of_a_cluster_dies_its_replica_goes_on_with_what_was_accepted():
    with cluster_setup(replicated=True) as cluster:
        client = open_redis(cluster.url, answer_timeout_s=5.0, wait_replicas=1)
        store = RedisStore(client, SystemClock())
        kept: list[Delivery] = []

        async def is_accepted() -> bool:
            with suppress(StoreUnavailableError):
                kept[:] = await put(store, new("accepted by the master", idempotency_key="k"))
            return bool(kept)

        await eventually(is_accepted)
        next(node for node in cluster.nodes if node.ask("KEYS", "{tocsin:delivery}:*")).kill()

        async def goes_on() -> bool:
            with suppress(StoreUnavailableError):
                return (await store.get(kept[0].id)).message == "accepted by the master"
            return False

        await eventually(goes_on)
        await client.aclose()


async def test_a_server_with_a_certificate_of_ones_own_authority_is_reached(tmp_path: Path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    secure = free_port()
    settings = {"tls-port": str(secure), "tls-auth-clients": "no", "tls-ca-cert-file": str(tmp_path / "ca.pem")}
    files = dict.fromkeys(("tls-cert-file", "tls-key-file"), str(tmp_path / "server.pem"))
    node = RedisNode(tmp_path, settings | files)
    try:
        known = patient_redis(f"rediss://127.0.0.1:{secure}/0?ssl_ca_certs={tmp_path / 'ca.pem'}")
        assert await known.command("PING") == b"PONG"
        await known.aclose()
        stranger = open_redis(f"rediss://127.0.0.1:{secure}/0")
        with pytest.raises(StoreUnavailableError, match="certificate"):
            await stranger.command("PING")
        await stranger.aclose()
    finally:
        node.stop()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("rediss://host?ssl_cert_reqs=none", "is insecure"),
        ("redis+sentinel://host:26379", "not"),
        ("redis+cluster://host/3", "not"),
        ("redis+cluster://host:1,:2", "not"),
        ("redis+sentinel://host:99999/service", "not"),
    ],
)
def test_an_address_that_cannot_work_is_refused(url: str, why: str):
    with pytest.raises(ConfigError, match=why):
        open_redis(url)


def test_addresses_of_several_servers_are_read_and_shown_without_secrets():
    url = "rediss+sentinel://me:se%40cret@one,[::1]:7000/my/2?sentinel_password=hidden&ssl_ca_certs=/ca.pem"
    address = read_address(url, parse_url)
    assert address.shown == "rediss+sentinel://one:26379,[::1]:7000/my/2"
    assert address.hosts == [("one", 26379), ("::1", 7000)]
    assert (address.service, address.database) == ("my", 2)
    assert (address.options["username"], address.options["password"]) == ("me", "se@cret")
    assert address.sentinel_options == {"ssl": True, "ssl_ca_certs": "/ca.pem", "password": "hidden"}
    assert "secret" not in repr(address)
    assert "hidden" not in repr(address)
    assert read_address("valkey://:x@host/1", parse_url).shown == "valkey://host:6379/1"


async def test_names_of_before_are_taken_over_with_all_that_they_hold(private_redis: RedisServer):
    client = patient_redis(private_redis.url)
    store = RedisStore(client, SystemClock())
    await put(store, new("first", idempotency_key="k"), new("second"))
    names = [name for batch in [batch async for batch in client.scan("*delivery}:*")] for name in batch]
    for name in names:  # as the version of before had them
        await client.command("RENAME", name, name.replace(b"{", b"").replace(b"}", b""))
    await client.command("DEL", "tocsin:names")
    await client.command("RPUSH", "tocsin:session:botchat:7", '{"role": "user", "content": "known"}')
    await client.command("HSET", "tocsin:idempotency:http:k", "digest", "d", "status", "200", "body", "kept")
    later = RedisStore(client, SystemClock())
    assert (await put_one(later, new("first", idempotency_key="k"))).message == "first"
    assert (await later.counts())[DeliveryStatus.QUEUED] == 2
    assert (await claim_one(later)).message == "first"
    assert [entry.content for entry in await RedisSessions(client, ttl_s=60, window=5).get("botchat:7")] == ["known"]
    assert await RedisKeys(client).begin("http:k", "d") == StoredResponse(200, "kept")
    left = [name for batch in [batch async for batch in client.scan("tocsin:*")] for name in batch]
    assert left == [b"tocsin:names"]
    await client.aclose()


async def test_after_a_failover_everything_acknowledged_is_there_and_work_goes_on(sentinels: SentinelSetup):
    client = open_redis(sentinels.url, answer_timeout_s=5.0, wait_replicas=1)
    store = RedisStore(client, SystemClock())
    acknowledged: list[str] = []
    failed = 0

    async def accept(number: int) -> None:
        nonlocal failed
        try:
            [delivery] = await store.enqueue_many([new(str(number), f"t{number % 7}", idempotency_key=f"k{number}")])
        except StoreUnavailableError:
            failed += 1
            await asyncio.sleep(0)
        else:
            acknowledged.append(delivery.id)

    for number in range(50):
        await accept(number)
    before = len(acknowledged)
    former = sentinels.master()
    former.kill()
    numbers = iter(range(50, 100_000))

    async def works_again() -> bool:
        await accept(next(numbers))
        return len(acknowledged) > before + 20

    await eventually(works_again)
    assert failed, "the outage was seen"
    assert sentinels.master() is not former
    assert [(await store.get(id_)).status for id_ in acknowledged] == [DeliveryStatus.QUEUED] * len(acknowledged)
    assert await store.finish("w1", (await claim_one(store)).id, SENT)
    await client.aclose()


async def test_without_the_replicas_that_were_asked_for_nothing_is_accepted(sentinels: SentinelSetup):
    client = patient_redis(sentinels.url, wait_replicas=2)
    store = RedisStore(client, SystemClock())
    kept = await put_one(store, new("kept"))
    sentinels.replicas()[0].kill()
    with pytest.raises(StoreUnavailableError, match=r"1 of.*2 replicas.*REDIS_WAIT_REPLICAS"):
        await put(store, new("not told to anybody as accepted"))
    assert (await store.get(kept.id)).message == "kept", "reading needs no replica"
    await client.aclose()
