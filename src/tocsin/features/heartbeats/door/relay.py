"""Pings between hosts that share a Redis: any gateway takes a ping, the host that has the heartbeat counts it.

Each host publishes digests of the addresses of its heartbeats, so that a gateway elsewhere can tell them from unknown
ones. A ping waits in the stream of its host with the time at which it was received. Nothing in Redis is an address.
"""

import json
import logging
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from tocsin.features.heartbeats.model import PingKind, ReceivedPing, RelayedPing
from tocsin.features.heartbeats.store import PING_KEY, HeartbeatStore

if TYPE_CHECKING:
    from tocsin.core.storage.redis_client import RedisClient

log = logging.getLogger(__name__)

MAX_WAITING = 100_000  # pings for one host; above it, the oldest are dropped
AT_ONCE = 200
_OWNERS = "{tocsin:heartbeats}:owners"  # hosts by the digest of an address
_PINGS = "{tocsin:heartbeats}:pings:"
_CHUNK = 500


class AddressedPing(NamedTuple):
    """The destination of a ping: the `code` or the `name` of a heartbeat, and with a name the ping key."""

    column: str
    value: str
    key: str = ""

    @property
    def digest(self) -> str:
        """Return what stands for the address in Redis."""
        return sha256(f"{self.column}:{self.key}/{self.value}".encode()).hexdigest()[:40]


class PingRelay:
    """The relay as one host uses it, under the name `host`."""

    def __init__(self, client: "RedisClient", store: HeartbeatStore, host: str) -> None:
        self.host = host  # empty: it has no heartbeats
        self._client = client
        self._store = store
        self._published: Sequence[AddressedPing] | None = None

    async def count(self, now: float) -> None:
        """Count the pings that other hosts received for this one. Raises StoreUnavailableError."""
        while self.host:
            after = await self._store.relayed_until()
            start = f"({after}" if after else "-"
            found = await self._client.command("XRANGE", f"{_PINGS}{self.host}", start, "+", "COUNT", AT_ONCE)
            if not found:
                return
            known = {each.digest: each for each in await self._addresses()}
            read = [_relayed(fields[1], known) for _, fields in found]
            await self._store.take_relayed(after, bytes(found[-1][0]).decode(), [each for each in read if each], now)
            await self._client.command("XDEL", f"{_PINGS}{self.host}", *(entry for entry, _ in found))

    async def publish(self) -> None:
        """Publish which addresses this host has, if that changed or Redis lost it. Raises StoreUnavailableError."""
        if not self.host:
            return
        addresses = await self._addresses()
        if addresses == self._published and (await self.is_used() or not addresses):
            return
        found = await self._client.command("HGETALL", _OWNERS)
        known = {digest.decode() for digest, owner in found.items() if owner.decode() == self.host}
        digests = {each.digest for each in addresses}
        new, gone = sorted(digests - known), sorted(known - digests)
        for first in range(0, len(new), _CHUNK):
            pairs = [word for digest in new[first : first + _CHUNK] for word in (digest, self.host)]
            await self._client.command("HSET", _OWNERS, *pairs)
        for first in range(0, len(gone), _CHUNK):
            await self._client.command("HDEL", _OWNERS, *gone[first : first + _CHUNK])
        self._published = addresses

    async def _addresses(self) -> list[AddressedPing]:
        key, found = await self._store.key(PING_KEY), await self._store.addresses()
        named = [AddressedPing("name", name, key) for _, name in found] if key else []
        return [*(AddressedPing("code", code) for code, _ in found), *named]

    async def is_used(self) -> bool:
        """Whether a host has a heartbeat."""
        return bool(await self._client.command("EXISTS", _OWNERS))

    async def owner(self, address: AddressedPing) -> str:
        """Return the host with an address, empty if there is none but this one."""
        found = await self._client.command("HGET", _OWNERS, address.digest)
        owner = "" if found is None else bytes(found).decode()
        return "" if owner == self.host else owner

    async def pass_on(self, address: AddressedPing, ping: ReceivedPing, at: float) -> bool:
        """Leave a ping for the host with its address; return whether there is one."""
        owner = await self.owner(address)
        if owner:
            body = b64encode(ping.body).decode()
            document = {**asdict(ping), "body": body, "at": at, "digest": address.digest}
            words = ("XADD", f"{_PINGS}{owner}", "MAXLEN", "~", MAX_WAITING, "*", "ping", json.dumps(document))
            await self._client.command(*words)
        return bool(owner)


def _relayed(text: bytes, known: Mapping[str, AddressedPing]) -> RelayedPing | None:
    """Return a ping; `None` if its heartbeat was removed meanwhile, or a host of another version wrote it."""
    try:
        document: dict[str, Any] = json.loads(text)
        address, at = known.get(document.pop("digest")), document.pop("at")
        body, kind = b64decode(document.pop("body")), PingKind(document.pop("kind"))
        ping = ReceivedPing(**document, kind=kind, body=body)
    except (ValueError, TypeError, KeyError):  # it must not hold up those after it
        log.warning("a ping from another host cannot be read: it runs another version")
        return None
    return None if address is None else RelayedPing(address.column, address.value, ping, at)
