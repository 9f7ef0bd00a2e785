"""Pings as they arrive: found by their address, limited, masked and stored before they are answered."""

import hmac
import zlib
from asyncio import to_thread
from collections import deque
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from tocsin.core.time.ratelimit import RateLimiter
from tocsin.features.context import Notice, NoticeLevel
from tocsin.features.front_door import BodyExcerpt
from tocsin.features.heartbeats.door.relay import AddressedPing
from tocsin.features.heartbeats.feature import HEARTBEAT_CREATE, HEARTBEATS, HEARTBEATS_CREATE
from tocsin.features.heartbeats.model import (
    DAY_S,
    Heartbeat,
    HeartbeatDefinition,
    HeartbeatSource,
    ReceivedPing,
    is_name,
)
from tocsin.features.heartbeats.service import Heartbeats, made
from tocsin.features.heartbeats.store import PING_KEY, TakenPing
from tocsin.features.heartbeats.watching.watch import HeartbeatWatch
from tocsin.messaging.outbound.caller import Caller

HEAD_BYTES, TAIL_BYTES = 20_000, 80_000
PINGS_PER_MINUTE = 60
MAX_CREATED = 100  # by pings, and not confirmed by an edit since
UNKNOWN_TOLD, UNKNOWN_S = 10, 3600.0
_IN_THREAD = 4_096  # from this size on, masking takes as long as a change of threads
_CREATED_PERIOD_S, _CREATED_GRACE_S = DAY_S, 3600.0  # the defaults of healthchecks


class PingOutcome(StrEnum):
    """The outcome of a ping."""

    TAKEN = "taken"
    CREATED = "created"
    UNKNOWN = "unknown"
    TOO_MANY = "too many"


class PingAddress(NamedTuple):
    """An address as a request has it: a UUID, or a key with a name, which may be created."""

    code: str = ""
    key: str = ""
    name: str = ""
    create: bool = False

    @property
    def addressed(self) -> AddressedPing:
        """The heartbeat that it means."""
        return AddressedPing("code", self.code) if self.code else AddressedPing("name", self.name, self.key)


class PingReceiver:
    """Takes pings in one process."""

    def __init__(self, heartbeats: Heartbeats, watch: HeartbeatWatch) -> None:
        self._heartbeats = heartbeats
        self._watch = watch
        self._clock = heartbeats.context.clock
        self._limiter = RateLimiter(PINGS_PER_MINUTE, self._clock.monotonic, max_buckets=20_000)
        self._unknown: deque[float] = deque(maxlen=UNKNOWN_TOLD)

    async def take(self, address: PingAddress, ping: ReceivedPing) -> PingOutcome:
        """Store a ping; raises StoreUnavailableError if that is impossible."""
        await self._watch.begin()
        now = self._heartbeats.now()
        if not self._limiter.take(address.code or f"{address.key}/{address.name}"):
            return PingOutcome.TOO_MANY
        taken = await self._take_here(address, ping, now)
        if taken is None:
            relay = await self._heartbeats.relay()
            is_elsewhere = relay is not None and await relay.pass_on(address.addressed, ping, now)
            return PingOutcome.TAKEN if is_elsewhere else await self.refuse()
        if taken.changed:
            self._watch.wake()
        if taken.created:
            self._heartbeats.record(HEARTBEAT_CREATE, taken.heartbeat, Caller(HEARTBEATS.name))
        return PingOutcome.CREATED if taken.created else PingOutcome.TAKEN

    async def _take_here(self, address: PingAddress, ping: ReceivedPing, now: float) -> TakenPing | None:
        """Store a ping for a heartbeat of this host; `None` if it has none with the address."""
        if not self._heartbeats.are_kept or (address.key and not await self._is_key(address.key)):
            return None
        store, (column, value, _) = self._heartbeats.store, address.addressed
        taken = await store.take(column, value, ping, now)
        if taken is None and address.create and not address.code and await self._may_create(address.name):
            taken = await store.take(column, value, ping, now, lambda: _created(address, now))
        return taken

    async def with_body(self, ping: ReceivedPing, excerpt: BodyExcerpt) -> ReceivedPing:
        """Return a ping with its body: masked like the log of a run, and compressed."""
        if not excerpt.size:
            return ping
        large = len(excerpt.head) + len(excerpt.tail) >= _IN_THREAD
        body = await to_thread(self._masked, excerpt) if large else self._masked(excerpt)
        return replace(ping, body=body, size=excerpt.size)

    def _masked(self, excerpt: BodyExcerpt) -> bytes:
        left_out = excerpt.size - len(excerpt.head) - len(excerpt.tail)
        between = b"\n[%d bytes are not kept]\n" % left_out if left_out else b""
        text = (excerpt.head + between + excerpt.tail).decode("utf-8", "replace")
        return zlib.compress(self._heartbeats.context.redact(text).encode())

    async def is_known(self, address: PingAddress) -> bool:
        """Whether there is a heartbeat with an address, here or on a host that shares a Redis."""
        column, value, _ = address.addressed
        is_here = not address.key or await self._is_key(address.key)
        if is_here and await self._heartbeats.store.has(column, value):
            return True
        relay = await self._heartbeats.relay()
        return relay is not None and bool(await relay.owner(address.addressed))

    async def _is_key(self, key: str) -> bool:
        kept = await self._heartbeats.store.key(PING_KEY)
        return bool(kept) and hmac.compare_digest(key.encode(), kept.encode())

    async def _may_create(self, name: str) -> bool:
        if not self._heartbeats.context.settings[HEARTBEATS_CREATE] or not is_name(name):
            return False
        known = await self._heartbeats.all()
        return sum(each.source is HeartbeatSource.PING for each in known) < MAX_CREATED

    async def refuse(self) -> PingOutcome:
        """Count an unknown address; a job that reports into the void is worth a notice."""
        now = self._clock.monotonic()
        self._unknown.append(now)
        if len(self._unknown) == UNKNOWN_TOLD and now - self._unknown[0] <= UNKNOWN_S:
            self._unknown.clear()
            title = "Pings arrive for heartbeats that do not exist"
            body = (
                f"{UNKNOWN_TOLD} within an hour. A heartbeat may have been removed or renamed while its job still "
                "reports to the former address: `tocsin heartbeats list` shows those that exist."
            )
            notice = Notice(
                title, body, NoticeLevel.WARNING, "system", "heartbeats", "#/heartbeats", "heartbeats-unknown"
            )
            await self._heartbeats.context.abilities.notices.notify(notice)
        return PingOutcome.UNKNOWN


def _created(address: PingAddress, now: float) -> Heartbeat:
    definition = HeartbeatDefinition(period=_CREATED_PERIOD_S, grace=_CREATED_GRACE_S)
    return made(address.name, definition, HeartbeatSource.PING, now)
