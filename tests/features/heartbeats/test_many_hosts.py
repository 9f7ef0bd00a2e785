"""Heartbeats of hosts that share a Redis: any gateway takes a ping, the host that has the heartbeat counts it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.clocks import SteppedClock
from tests.delivery.conftest import RedisServer
from tests.features.heartbeats.conftest import TEST, Door, open_door

from tocsin.core.errors import StoreUnavailableError
from tocsin.features.heartbeats.store import PING_KEY

GONE = "11111111-2222-4333-8444-555555555555"


class Hosts:
    """Two hosts on one clock: the first one has the heartbeats, the other one only takes pings."""

    def __init__(self, owner: Door, gateway: Door) -> None:
        self.owner, self.gateway = owner, gateway

    async def step(self, *, after_s: float = 0.0) -> None:
        await self.owner.step(after_s=after_s)
        await self.gateway.at_the_door.watch.step()

    async def ping(self, name: str, action: str = "", method: str = "GET", **request: object) -> int:
        """Send a ping to the gateway of the other host."""
        found = await self.owner.heartbeats.get(name)
        return (await self.gateway.client.request(method, f"/ping/{found.code}{action}", **request)).status


@asynccontextmanager
async def two_hosts(tmp_path: Path, redis: RedisServer) -> AsyncIterator[Hosts]:
    env, clock = {"STORE": "redis", "REDIS_URL": redis.url}, SteppedClock()
    async with (
        open_door(tmp_path / "owner", env, clock=clock) as owner,
        open_door(tmp_path / "gateway", env, clock=clock) as gateway,
    ):
        yield Hosts(owner, gateway)


@pytest.fixture
async def hosts(tmp_path: Path, private_redis: RedisServer) -> AsyncIterator[Hosts]:
    async with two_hosts(tmp_path, private_redis) as hosts:
        await hosts.owner.add("job", period="5m")
        await hosts.owner.settle()
        yield hosts


async def test_a_gateway_of_another_host_takes_pings_with_their_logs(hosts: Hosts):
    assert await hosts.ping("job", "/3", "POST", body=[b"the disk is full"]) == 200
    await hosts.step()
    assert await hosts.owner.state("job") == "down"
    assert await hosts.owner.heartbeats.body("job", 1) == "the disk is full"
    assert hosts.owner.told() == ["job is down"]


async def test_the_front_door_of_another_host_opens_and_knows_the_addresses(hosts: Hosts):
    key = await hosts.owner.heartbeats.store.key(PING_KEY, create=True)
    await hosts.step(after_s=6)
    assert await hosts.gateway.heartbeats.are_there()
    paths = (f"/ping/{key}/job", f"/ping/{GONE}", f"/ping/{key}/other", "/ping/wrong/job", f"/ping/{key}/job/256")
    statuses = [(await hosts.gateway.client.get(path)).status for path in paths]
    assert statuses == [200, 404, 404, 404, 400]


async def test_a_host_that_only_takes_pings_keeps_nothing(hosts: Hosts, tmp_path: Path):
    for _ in range(3):
        await hosts.ping("job")
        await hosts.step(after_s=5)
    assert not (tmp_path / "gateway" / "tocsin.db").exists()


async def test_pings_keep_a_job_up_that_reports_to_the_other_host_alone(hosts: Hosts):
    for _ in range(10):
        assert await hosts.ping("job") == 200
        await hosts.step(after_s=280)
    assert (await hosts.owner.state("job"), hosts.owner.told()) == ("up", [])
    assert (await hosts.owner.heartbeats.get("job")).pings == 10


async def test_pings_wait_while_their_host_is_away_and_count_when_they_were_received(hosts: Hosts):
    await hosts.ping("job")
    await hosts.step()
    await hosts.owner.at_the_door.watch.lease.release()
    for _ in range(12):
        hosts.owner.clock.advance(280)
        assert await hosts.ping("job") == 200
    received_at = hosts.owner.clock.now()
    hosts.owner.clock.advance(60)
    hosts.owner.open()
    await hosts.owner.step()
    found = await hosts.owner.heartbeats.get("job")
    assert (found.pings, found.watched.last_ping_at, found.state(hosts.owner.clock.now())) == (13, received_at, "up")
    assert await hosts.owner.ledger("job") == ["met"] * 12


async def test_pings_that_were_counted_before_a_kill_are_not_counted_twice(hosts: Hosts):
    await hosts.ping("job")
    await hosts.ping("job")
    heartbeats = hosts.owner.heartbeats
    relay = await heartbeats.relay()
    assert relay is not None
    after = await heartbeats.store.relayed_until()
    await relay.count(hosts.owner.clock.now())
    until = await heartbeats.store.relayed_until()
    await heartbeats.store.take_relayed(after, until, [], hosts.owner.clock.now())  # by a process that was slower
    await hosts.step()
    assert ((await heartbeats.get("job")).pings, after < until) == (2, True)


async def test_a_ping_that_another_version_wrote_does_not_hold_up_the_others(hosts: Hosts):
    relay = await hosts.owner.heartbeats.relay()
    client = hosts.owner.heartbeats.context.shared_redis()
    assert relay is not None
    assert client is not None
    for document in ("{}", '{"digest": "d", "at": 1, "body": "", "kind": "newer"}', "no JSON"):
        await client.command("XADD", f"{{tocsin:heartbeats}}:pings:{relay.host}", "*", "ping", document)
    await hosts.ping("job")
    await hosts.step()
    assert (await hosts.owner.heartbeats.get("job")).pings == 1


async def test_a_removed_heartbeat_is_unknown_on_every_host(hosts: Hosts):
    code = (await hosts.owner.heartbeats.get("job")).code
    await hosts.owner.heartbeats.remove("job", TEST)
    await hosts.step(after_s=6)
    assert (await hosts.gateway.client.get(f"/ping/{code}")).status == 404


async def test_no_address_is_in_redis(hosts: Hosts, private_redis: RedisServer):
    code = (await hosts.owner.heartbeats.get("job")).code
    await hosts.ping("job")
    client = hosts.owner.heartbeats.context.shared_redis()
    assert client is not None
    owners, [pings] = [
        [key async for keys in client.scan(f"*:{what}") for key in keys] for what in ("owners", "pings:*")
    ]
    shown = f"{await client.command('HGETALL', *owners)} {await client.command('XRANGE', pings, '-', '+')}"
    assert ("digest" in shown, code in shown) == (True, False)


async def test_without_redis_the_owner_goes_on_and_the_other_host_asks_to_try_again(
    tmp_path: Path, private_redis: RedisServer
):
    async with two_hosts(tmp_path, private_redis) as hosts:
        await hosts.owner.add("job", period="5m")
        await hosts.owner.settle()
        private_redis.stop()
        assert await hosts.ping("job") == 503
        assert (await hosts.owner.ping("job")).status == 200
        await hosts.owner.step(after_s=30)
        assert await hosts.owner.state("job") == "up"
        with pytest.raises(StoreUnavailableError):
            await hosts.gateway.heartbeats.are_there()
