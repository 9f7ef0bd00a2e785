"""How many connections and large bodies one stranger may hold."""

import asyncio
import resource
from dataclasses import dataclass, field
from ipaddress import ip_network

from tocsin.web.http.asgi import LargeBodies
from tocsin.web.http.connections import MAX_CONNECTIONS, ConnectionLimits, descriptors_for_connections


@dataclass(eq=False)
class Peer:
    """A connection that notes whether it was cut off."""

    peer: str
    waiting_since: float | None = None
    cut: bool = field(default=False)

    def cut_off(self) -> None:
        self.cut = True


def admitted(limits: ConnectionLimits, *peers: Peer) -> list[bool]:
    return [limits.admit(peer) for peer in peers]


def test_where_one_address_has_too_many_connections_the_one_that_waits_longest_is_cut_off():
    limits = ConnectionLimits(per_address=2)
    first, second, other, third = (Peer(a, t) for a, t in [("a", 2.0), ("a", 1.0), ("b", 0.0), ("a", 3.0)])
    assert admitted(limits, first, second, other, third) == [True] * 4
    assert [peer.cut for peer in (first, second, other, third)] == [False, True, False, False]


def test_a_connection_that_is_owed_an_answer_is_never_cut_off():
    limits = ConnectionLimits(per_address=1)
    working = Peer("a")
    assert admitted(limits, working, Peer("a", 5.0)) == [True, False]
    assert not working.cut


def test_addresses_of_one_ipv6_network_share_their_limit():
    limits = ConnectionLimits(per_address=1)
    assert admitted(limits, Peer("2001:db8::1"), Peer("2001:db8::2"), Peer("2001:db8:0:1::1")) == [True, False, True]


def test_a_trusted_proxy_may_hold_as_many_connections_as_there_are():
    limits = ConnectionLimits([ip_network("10.0.0.0/8")], total=3, per_address=1)
    assert admitted(limits, *(Peer("10.0.0.1") for _ in range(4))) == [True, True, True, False]


def test_the_limit_in_all_holds_over_every_address():
    limits = ConnectionLimits(total=2)
    idle = Peer("a", 1.0)
    assert admitted(limits, idle, Peer("b"), Peer("c"), Peer("d")) == [True, True, True, False]
    assert idle.cut


def test_an_ended_connection_makes_room_once():
    limits = ConnectionLimits(per_address=1)
    first = Peer("a")
    limits.admit(first)
    limits.release(first)
    limits.release(first)
    assert admitted(limits, Peer("a"), Peer("a")) == [True, False]


def test_few_file_descriptors_mean_few_connections():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for limit, expected in ((256, 128), (64, 32)):
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        try:
            assert descriptors_for_connections() == expected
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert MAX_CONNECTIONS == 512


async def test_large_bodies_wait_for_a_slot_and_one_address_cannot_take_them_all():
    bodies = LargeBodies(total=3, per_address=2)
    inside: list[str] = []
    release = asyncio.Event()

    async def read(address: str) -> None:
        async with bodies.slot(address):
            inside.append(address)
            await release.wait()

    tasks = [asyncio.create_task(read(address)) for address in "aaaabb"]
    for _ in range(10):
        await asyncio.sleep(0)
    assert sorted(inside) == ["a", "a", "b"]
    release.set()
    await asyncio.gather(*tasks)
    assert sorted(inside) == list("aaaabb")
