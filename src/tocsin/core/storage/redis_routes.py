"""Routing of commands: to a named server, the master that Sentinels report, or the owner of the key's slot.

A group of commands is sent over one connection in one write; their replies return in order, errors of the server among
them. redis-py creates the connections and implements the protocol; only this module uses undocumented names of
redis-py, which tests/house/test_private_names.py lists.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tocsin.core.storage.redis_address import CLUSTER, HostAndPort, RedisAddress

if TYPE_CHECKING:
    from redis.asyncio.client import PubSub
    from redis.asyncio.connection import AbstractConnection

Words = Sequence[str | bytes | int | float]
# Extends the time limit of a call: connecting does not count towards the answer's time.
Allow = Callable[[float], None]
MAX_MOVES = 6  # redirections of one call, and reads of the slot map
MOVE_PAUSE_S = 0.05
SLOTS = 16384
CONNECT_TIMEOUT_S = 2.0


class RedisRoute(Protocol):
    """Sends commands to a server and returns the replies."""

    async def exchange(self, key: Any, commands: Sequence[Words], allow: Allow) -> list[Any]:
        """Run commands in order on one connection to the server of `key`; return its errors instead of raising them."""

    async def places(self) -> list[Any]:
        """Return a key for each server that stores data, for commands that must reach all of them."""

    def slot(self, key: str | bytes) -> int:
        """Return a number that is equal for two keys if one script may access both."""

    def pubsub(self) -> "PubSub":
        """Return a subscription on a separate connection; all servers forward published messages."""

    async def aclose(self) -> None:
        """Close all connections."""


class RedisLink:
    """The connections to one server; as many as are used concurrently."""

    def __init__(self, make: Callable[[], "AbstractConnection"]) -> None:
        self._make = make
        self._free: list[AbstractConnection] = []
        self._busy: set[AbstractConnection] = set()
        self._closed = False

    async def exchange(self, commands: Sequence[Words], allow: Allow = lambda _: None) -> list[Any]:
        """Write all commands, then read their replies."""
        from redis.exceptions import ConnectionError as LostError

        connection = self._free.pop() if self._free else self._make()
        self._busy.add(connection)
        try:
            if connection.is_connected and await _is_stale(connection):
                await connection.disconnect(nowait=True)  # left over from before a restart of the server
            if not connection.is_connected:
                allow(CONNECT_TIMEOUT_S)
                await connection.connect()  # type: ignore[no-untyped-call]  # redis-py has no type for it
                allow(0.0)
            try:
                await _write(connection, commands)
            except LostError as error:
                if "while writing" not in str(error):
                    raise
                await _write(connection, commands)  # nothing was sent
            return [await _read(connection) for _ in commands]
        except BaseException:
            await connection.disconnect(nowait=True)  # a reply may still arrive
            raise
        finally:
            self._busy.discard(connection)
            if self._closed:
                await connection.disconnect(nowait=True)
            else:
                self._free.append(connection)

    async def aclose(self) -> None:
        """Close idle connections now, and used ones when their replies have arrived."""
        self._closed = True
        while self._free:
            await self._free.pop().disconnect()


async def _is_stale(connection: "AbstractConnection") -> bool:
    from redis.exceptions import ConnectionError as LostError

    try:
        return await connection.can_read()
    except LostError:
        return True


async def _write(connection: "AbstractConnection", commands: Sequence[Words]) -> None:
    packed = connection.pack_commands(commands) if len(commands) > 1 else connection.pack_command(*commands[0])
    await connection.send_packed_command(packed, check_health=False)


async def _read(connection: "AbstractConnection") -> Any:
    from redis.exceptions import ResponseError

    try:
        return await connection.read_response()
    except ResponseError as refusal:
        return refusal


def parse_url(url: str) -> Mapping[str, Any]:
    """Return the connection options in the address of one server; raise ValueError."""
    from redis.asyncio import connection

    options: Mapping[str, Any] = connection.parse_url(url)
    return options


def make_connection(address: RedisAddress, place: HostAndPort | None = None) -> "AbstractConnection":
    """Return a connection to a server, to the one at `place` if given; it connects at its first command."""
    from redis.asyncio.connection import Connection

    options = _options(address, place)
    connection: AbstractConnection = options.pop("connection_class", Connection)(**options)
    return connection


def _pubsub(address: RedisAddress, place: HostAndPort | None) -> "PubSub":
    from redis.asyncio.client import PubSub
    from redis.asyncio.connection import ConnectionPool

    return PubSub(ConnectionPool(**_options(address, place)))


def _options(address: RedisAddress, place: HostAndPort | None) -> dict[str, Any]:
    """Return the options of every connection; the client limits whole calls, which is cheaper than each read."""
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff

    limits = {"protocol": 2, "socket_timeout": None, "socket_connect_timeout": CONNECT_TIMEOUT_S}
    limits["driver_info"] = None  # telling the server the library's name and version costs a round trip
    there = {} if place is None else {"host": place[0], "port": place[1]}
    return {**limits, "retry": Retry(NoBackoff(), 0), **address.options, **there}


def open_route(address: RedisAddress) -> RedisRoute:
    if address.kind == CLUSTER:
        return ClusterRoute(address)
    return SentinelRoute(address) if address.kind else ServerRoute(address)


class ServerRoute:
    """A single server."""

    def __init__(self, address: RedisAddress) -> None:
        self._address = address
        self._link = RedisLink(lambda: make_connection(address))

    async def exchange(self, key: Any, commands: Sequence[Words], allow: Allow) -> list[Any]:
        return await self._link.exchange(commands, allow)

    async def places(self) -> list[Any]:
        return [None]

    def slot(self, key: str | bytes) -> int:
        return 0

    def pubsub(self) -> "PubSub":
        return _pubsub(self._address, None)

    async def aclose(self) -> None:
        await self._link.aclose()


class SentinelRoute:
    """The master of a service; queries the Sentinels again after every failure."""

    def __init__(self, address: RedisAddress) -> None:
        from redis.asyncio.sentinel import Sentinel

        self._address = address
        limits = {"socket_timeout": 0.5, "socket_connect_timeout": 0.5, **address.sentinel_options}
        self._sentinels = Sentinel([*address.hosts], sentinel_kwargs=limits)  # type: ignore[no-untyped-call]  # as above
        self._master: HostAndPort | None = None
        self._link: RedisLink | None = None
        self._abandoned: list[RedisLink] = []
        self._asking = asyncio.Lock()

    async def exchange(self, key: Any, commands: Sequence[Words], allow: Allow) -> list[Any]:
        link = self._link or await self._connect()
        try:
            answers = await link.exchange(commands, allow)
        except BaseException:
            self._forget(link)
            raise
        if _names(answers, "ReadOnlyError", "MasterDownError"):  # it is no longer the master
            self._forget(link)
        return answers

    async def _connect(self) -> RedisLink:
        async with self._asking:
            while self._abandoned:
                await self._abandoned.pop().aclose()
            if self._link is None:
                host, port = await self._sentinels.discover_master(self._address.service)
                self._master = master = (str(host), int(port))
                self._link = RedisLink(lambda: make_connection(self._address, master))
            return self._link

    def _forget(self, link: RedisLink) -> None:
        """Make the next call query for the master; used connections of `link` are closed after their replies."""
        if self._link is link:
            self._link = None
            self._abandoned.append(link)

    async def places(self) -> list[Any]:
        return [None]

    def slot(self, key: str | bytes) -> int:
        return 0

    def pubsub(self) -> "PubSub":
        from redis.exceptions import ConnectionError as LostError

        if self._master is None:
            raise LostError("the master is not known yet")
        return _pubsub(self._address, self._master)

    async def aclose(self) -> None:
        for link in (*self._abandoned, *([self._link] if self._link else [])):
            await link.aclose()
        for sentinel in self._sentinels.sentinels:
            await sentinel.aclose()


class ClusterRoute:
    """The owners of the slots; follows MOVED and ASK, and reads the slot map again when a server fails."""

    def __init__(self, address: RedisAddress) -> None:
        self._address = address
        self._links: dict[HostAndPort, RedisLink] = {}
        self._owners: list[HostAndPort] = []  # by slot; empty until read
        self._reading = asyncio.Lock()

    async def exchange(self, key: Any, commands: Sequence[Words], allow: Allow) -> list[Any]:
        """Follow redirections, of which each call gets a few while slots move."""
        place = await self._owner(key)
        asking: list[Words] = []
        for _ in range(MAX_MOVES):
            try:
                answers = (await self._link(place).exchange([*asking, *commands], allow))[len(asking) :]
            except BaseException:
                self._owners = []
                raise
            refusals = _names(answers, "MovedError", "AskError", "TryAgainError", "ClusterDownError")
            if not refusals:
                return answers
            asking, place = await self._redirect(refusals[0], place, key)
        return answers

    async def _redirect(self, refusal: Any, place: HostAndPort, key: Any) -> tuple[list[Words], HostAndPort]:
        kind = type(refusal).__name__
        if kind == "AskError":
            return [("ASKING",)], (refusal.host or place[0], int(refusal.port))
        if kind == "MovedError":
            self._owners = []
            return [], (refusal.host or place[0], int(refusal.port))
        await asyncio.sleep(MOVE_PAUSE_S)
        if kind == "ClusterDownError":
            self._owners = []
        return [], await self._owner(key)

    async def places(self) -> list[Any]:
        if not self._owners:
            await self._read_map()
        return list(dict.fromkeys(self._owners))

    def slot(self, key: str | bytes) -> int:
        from redis.crc import key_slot

        return key_slot(key.encode() if isinstance(key, str) else key)

    async def _owner(self, key: Any) -> HostAndPort:
        """Return the server of a key's slot, any server for `None`; `key` may be one that `places` returned."""
        if isinstance(key, tuple):
            host, port = key
            return host, port
        if not self._owners:
            await self._read_map()
        return self._owners[random.randrange(SLOTS) if key is None else self.slot(key)]  # noqa: S311  # spread

    async def _read_map(self) -> None:
        async with self._reading:
            if self._owners:
                return
            failures: list[Exception] = []
            known = [*self._links, *self._address.hosts]
            for place in dict.fromkeys(random.sample(known, len(known))):
                try:
                    async with asyncio.timeout(1.0):
                        [answer] = await self._link(place).exchange([("CLUSTER SLOTS",)])
                    self._owners = _owners(answer, place)
                    return
                except Exception as error:  # noqa: BLE001  # another server may know it; the last failure is raised
                    failures.append(error)
            raise failures[-1]

    def _link(self, place: HostAndPort) -> RedisLink:
        if place not in self._links:
            self._links[place] = RedisLink(lambda: make_connection(self._address, place))
        return self._links[place]

    def pubsub(self) -> "PubSub":
        places = list(dict.fromkeys(self._owners)) or list(self._address.hosts)
        return _pubsub(self._address, random.choice(places))  # noqa: S311  # spreads the connections

    async def aclose(self) -> None:
        for link in self._links.values():
            await link.aclose()


def _owners(answer: Any, asked: HostAndPort) -> list[HostAndPort]:
    """Return the owner of each slot from a reply to CLUSTER SLOTS; raise if a slot has none."""
    from redis.exceptions import ClusterDownError

    if isinstance(answer, Exception):
        raise answer
    owners: list[HostAndPort | None] = [None] * SLOTS
    for first, last, (host, port, *_), *_ in answer:
        name = bytes(host or b"").decode() or asked[0]  # a server that does not know its address
        owners[first : last + 1] = [(name, int(port))] * (last + 1 - first)
    if None in owners:
        raise ClusterDownError("CLUSTERDOWN not all slots have a server")
    return [owner for owner in owners if owner]


def _names(answers: Sequence[Any], *kinds: str) -> list[Any]:
    """Return the errors of these kinds among the replies."""
    return [answer for answer in answers if isinstance(answer, Exception) and type(answer).__name__ in kinds]
