"""The bus: turn messages published to `outbound:{channel}` into deliveries.

All messages arrive through streams. Publishers write to them with `XADD`; an elected process forwards messages that
were sent with `PUBLISH` only. A consumer group shares the entries of a stream, and an entry is removed only when it is
in the queue or in the list of rejected entries. This module sends nothing.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.ids import new_id
from tocsin.core.service import ServiceLoop, StopEvent
from tocsin.core.storage.redis_client import Argument, RedisClient, load_script
from tocsin.core.storage.redis_failures import failure
from tocsin.core.time.clock import Clock, SystemClock
from tocsin.delivery.bus.entry import (
    GROUP,
    PUBLISHED,
    TOPIC,
    BusConsumer,
    Enqueue,
    Prepare,
    TakeFiles,
    explain,
    refuse_files,
)

if TYPE_CHECKING:
    from redis.asyncio.client import PubSub

log = logging.getLogger(__name__)

BRIDGE = "tocsin:bridge"
# After this many of its own announcements without receiving one, the subscription is considered dead.
MAX_UNHEARD = 4
MAX_BATCH = 500
MAX_BATCH_BYTES = 4 * 1024 * 1024
READ_COUNT = 100  # of one stream at a time
SCAN_COUNT = 1_000
BACK_OFF_S = (0.2, 0.5, 1.0, 2.0)
LEAVE_S = 0.1  # the time limit of the call that removes the consumer, at a stop

_LUA = Path(__file__).parent / "lua"
_LOOK_BACK = load_script(_LUA, "look_back")
_STRAY = load_script(_LUA, "stray")
_FORGET = load_script(_LUA, "forget")
_FORWARD = load_script(_LUA, "forward")
_CLAIM = load_script(_LUA, "claim")
_RESIGN = load_script(_LUA, "resign")
_GONE = ("NOGROUP", "UNBLOCKED", "WRONGTYPE")  # error codes that a reader receives after Redis was flushed


@dataclass(frozen=True, slots=True)
class BusTimings:
    """The waits of the bus; a dead leader is replaced within 5 s."""

    lease_s: float = 2.5  # a leader that has not renewed its lease for this long is dead
    renew_s: float = 0.8
    # The lease expires by the server's clock, which may jump back: a leader silent for this long is dead, too.
    silence_s: float = 3.5
    block_s: float = 0.3  # between two reads of streams, and of the subscription, while idle
    sweep_s: float = 1.0
    abandoned_s: float = 5.0  # another consumer takes over entries unfinished for this long
    forget_s: float = 3_600.0  # a consumer idle for this long is removed if it holds no entries
    hand_over_s: float = 0.5  # at a stop, a leader waits this long for its successor
    stop_s: float = 0.8  # at a stop, all work is cancelled after this time


class Bus:
    """Takes messages from the bus and queues them; any number of processes may do so on any host.

    `worker` is a unique name; `names` returns the configured channels and their aliases. All hosts of one Redis should
    use the same store for the queue, which knows the idempotency keys.
    """

    def __init__(
        self,
        client: RedisClient,
        worker: str,
        names: Callable[[], Sequence[str]],
        prepare: Prepare,
        enqueue: Enqueue,
        pace: BusTimings = BusTimings(),
        clock: Clock | None = None,
        take_files: TakeFiles = refuse_files,
    ) -> None:
        self._clock = clock = clock or SystemClock()
        self._client = client
        self._worker = worker
        self._names = names
        self._intake = BusConsumer(client, prepare, enqueue, take_files)
        self._pace = pace
        self._forget_at = self._clock.monotonic() + pace.forget_s / 10
        self._stopping = StopEvent()
        self._streams: list[str] = []
        self._look_back_at = 0.0
        self._strays: set[str] = set()
        self._scan: AsyncGenerator[list[bytes]] | None = None
        self._problems: dict[str, str] = {}
        self._worked = False
        self._where = {"redis": client.where}
        self._bridge = _Bridge(client, worker, pace, clock, self._stopping, self._forward, self._report)
        steps = {"streams": self._read, "publish": self._bridge.serve, "strays": self._sweep}
        self._loops = {part: self._loop(part, step) for part, step in steps.items()}

    def _loop(self, part: str, work: Callable[[], Awaitable[None]]) -> ServiceLoop:
        """Return the loop of one part of the bus; each waits by itself for something to do."""

        async def step() -> float:
            await work()
            self._report(part, "")
            return 0.0

        async def failed(error: Exception, _: int) -> None:
            if not isinstance(error, TocsinError) and not self._problems.get(part):
                log.error("a component of the bus failed", exc_info=error, extra={"part": part})
            self._report(part, explain(error))

        return ServiceLoop(part, step, self._clock, on_failure=failed, back_off_s=BACK_OFF_S, stop=self._stopping)

    @property
    def problem(self) -> str:
        """The reason why the bus does not work at present, or `""`; shown by the health check."""
        return next(filter(None, self._problems.values()), "")

    @property
    def leads(self) -> bool:
        """Whether this process forwards published messages."""
        return self._bridge.leads

    def stop(self) -> None:
        """Take no more entries; `run` returns within a second, and unfinished entries stay in Redis."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until `stop`; recover after Redis was unavailable, restarted or emptied."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(loop.run()) for loop in self._loops.values()]
            await self._stopping.wait()
            await asyncio.wait(tasks, timeout=self._pace.stop_s)
            for task in tasks:
                task.cancel()
        with suppress(TocsinError, TimeoutError):  # otherwise another process removes this consumer later
            async with asyncio.timeout(LEAVE_S):
                await self._remove_idle(10**12, self._worker)

    def _report(self, part: str, problem: str) -> None:
        """Record the state of one part; log an outage once, however many parts it affects."""
        before = self.problem
        self._problems[part] = problem
        if not problem and part in self._loops:
            self._loops[part].works()
        if problem and not before:
            log.warning("the bus is unavailable", extra={"reason": problem})
        elif not self.problem and (before or (part == "publish" and not self._worked)):  # that part has had an answer
            log.info("the bus has recovered" if self._worked else "the bus uses Redis", extra=self._where)
            self._worked = True

    async def _read(self) -> None:
        """Queue entries that have arrived, or wait a moment for them."""
        if self._clock.monotonic() >= self._look_back_at or not self._streams:
            await self._look_back()
        if not self._streams:
            await self._stopping.pause(self._clock, self._pace.block_s)
            return
        try:
            await self._wait_for_entries()
        except BaseException:
            self._look_back_at = 0.0  # unfinished entries come first
            raise

    async def _wait_for_entries(self) -> None:
        """Queue the next entries; a reader can wait on the server for the streams of one slot only."""
        groups = self._client.groups(self._streams)
        block = () if len(groups) > 1 else ("BLOCK", int(self._pace.block_s * 1000))
        taken = [await self._take(streams, ">", *block) for streams in groups]
        if None in taken:
            self._look_back_at = 0.0
        elif not block and not any(taken):
            await self._stopping.pause(self._clock, self._pace.block_s)

    async def _look_back(self) -> None:
        """Create missing groups, and finish abandoned entries of any consumer."""
        streams = [f"{TOPIC}{name}" for name in dict.fromkeys(self._names())]
        words: list[Argument] = [GROUP, self._worker, int(self._pace.abandoned_s * 1000), READ_COUNT]
        answers = [await self._client.run(_LOOK_BACK, group, words) for group in self._client.groups(streams)]
        refused = {_text(key): _text(why) for key, why in chain.from_iterable(answers)}
        self._streams = [stream for stream in streams if stream not in refused]
        self._report("keys", "; ".join(f"cannot read the key {key}: {why}" for key, why in refused.items()))
        for group in self._client.groups(self._streams):
            while await self._take(group, "0"):
                pass
        self._look_back_at = self._clock.monotonic() + 0.6 * self._pace.abandoned_s

    async def _take(self, names: Sequence[str], start: str, *options: str | int) -> int | None:
        """Read streams from `start` and queue the entries; return how many, or `None` if a group is missing."""
        words = (GROUP, self._worker, "COUNT", READ_COUNT, *options, "STREAMS", *names, *[start] * len(names))
        try:
            answer = await self._client.command("XREADGROUP", "GROUP", *words)
        except StoreUnavailableError as error:
            if any(sign in str(error.__cause__) for sign in _GONE):
                return None
            raise
        taken = 0
        for stream, rows in answer or ():
            if rows:
                await self._intake.take(_text(stream), rows)
            taken += len(rows)
        return taken

    async def _sweep(self) -> None:
        """Reject entries of streams without a channel, and remove consumers that ended long ago."""
        await self._stopping.pause(self._clock, self._pace.sweep_s)
        if not self.leads or self._stopping.is_set():
            return
        strays, self._strays = self._strays | await self._next_streams(), set()
        for stream in sorted(strays.difference(self._streams)):
            while rows := await self._client.run(_STRAY, [stream], [GROUP, READ_COUNT]):
                await self._intake.take(stream, rows)
        if self._clock.monotonic() >= self._forget_at:
            await self._remove_idle(int(self._pace.forget_s * 1000), "")
            self._forget_at = self._clock.monotonic() + self._pace.forget_s / 10

    async def _next_streams(self) -> set[str]:
        """Return some streams whose names are topics; the next call continues after them."""
        if self._scan is None:
            self._scan = self._client.scan(f"{TOPIC}*", kind="stream", count=SCAN_COUNT)
        try:
            return {_text(key) for key in await anext(self._scan)}
        except BaseException as error:
            self._scan = None
            if isinstance(error, StopAsyncIteration):
                return set()
            raise

    async def _remove_idle(self, idle_ms: int, stopped: str) -> None:
        for streams in self._client.groups(self._streams):
            await self._client.run(_FORGET, streams, [GROUP, idle_ms, stopped])

    async def _forward(self, batch: Sequence[tuple[str, bytes]]) -> None:
        """Put published messages on the streams of their topics, retrying while Redis refuses."""
        for topics in self._client.groups(list(dict.fromkeys(topic for topic, _ in batch))):
            await self._forward_group([message for message in batch if message[0] in topics])

    async def _forward_group(self, batch: Sequence[tuple[str, bytes]]) -> None:
        streams = [topic for topic, _ in batch]
        # A retry uses the same keys, so that the queue recognises entries that were written before.
        words = [word for _, raw in batch for word in (raw, f"published:{new_id()}")]
        for wait_s in chain(BACK_OFF_S, repeat(BACK_OFF_S[-1])):
            try:
                refused = await self._client.run(_FORWARD, streams, [*PUBLISHED, *words])
                break
            except TocsinError as error:
                self._report("publish", error.sentence())
            if self._stopping.is_set():
                log.warning("published messages were lost at shutdown", extra={"count": len(batch)})
                return
            await self._stopping.pause(self._clock, wait_s)
        self._strays |= set(streams).difference(self._streams)
        for index, why in refused:
            topic, raw = batch[index]
            await self._intake.reject(topic, raw, f"cannot write the topic: {_text(why)}")


class _Bridge:
    """Forwards published messages while it is the leader.

    A lease elects the leader, so that a dead one is replaced. The order of messages, which is the same for all
    subscribers, decides who forwards which: a leader announces itself on the topic, and forwards the messages between
    its announcement and the next one. So a leader that was suspended forwards, late, exactly the messages that its
    successor did not receive.
    """

    def __init__(
        self,
        client: RedisClient,
        name: str,
        pace: BusTimings,
        clock: Clock,
        stopping: StopEvent,
        forward: Callable[[Sequence[tuple[str, bytes]]], Awaitable[None]],
        report: Callable[[str, str], None],
    ) -> None:
        self._client = client
        self._name = name
        self._pace = pace
        self._clock = clock
        self._stopping = stopping
        self._forward = forward
        self._report = report
        # Unlike keys, published messages reach all databases of a server.
        self._office = f"{BRIDGE}:{client.database}"
        self._reset()

    def _reset(self) -> None:
        self.leads = False
        self._listening = False  # Redis has confirmed the subscription
        self._vacant = False
        self._unheard = 0
        self._heard_at = self._clock.monotonic()
        self._tick_at = 0.0

    async def serve(self) -> None:
        """Wait until elected, then forward until `stop` or the end of the connection."""
        from redis.exceptions import RedisError

        self._reset()
        try:
            async with self._client.pubsub() as subscription:
                await subscription.subscribe(self._office)
                while not self._stopping.is_set():
                    await self._listen(subscription)
                    if self._clock.monotonic() >= self._tick_at:
                        await self._tick(subscription)
                await self._hand_over(subscription)
        except (RedisError, OSError) as error:
            raise failure(error, self._client.where) from error
        finally:
            self._reset()

    async def _tick(self, subscription: "PubSub") -> None:
        """Take or renew the lease, and announce its holder."""
        self._tick_at = self._clock.monotonic() + self._pace.renew_s
        try:
            silent = self._clock.monotonic() - self._heard_at > self._pace.silence_s
            where = self._office if self._listening else ""
            words: list[Argument] = [self._name, int(self._pace.lease_s * 1000), where, int(silent)]
            elected = await self._client.run(_CLAIM, [BRIDGE], words)
        except TocsinError as error:  # keep the subscription, which may hold messages
            self._report("publish", error.sentence())
            return
        self._report("publish", "")
        if elected and self._listening:
            self._unheard += 1
            if self._unheard > MAX_UNHEARD:
                raise StoreUnavailableError(f"Redis at {self._client.where} does not deliver published messages")
        elif elected and not subscription.patterns:
            await subscription.psubscribe(f"{TOPIC}*")
        elif not elected and subscription.patterns and not self.leads:
            await subscription.punsubscribe()

    async def _listen(self, subscription: "PubSub") -> None:
        """Wait a moment for messages, and forward those that this leader must forward."""
        batch: list[tuple[str, bytes]] = []
        size = 0
        wait_s = self._pace.block_s
        for _ in range(MAX_BATCH):
            message = await subscription.get_message(timeout=wait_s)
            if message is None:
                break
            wait_s, self._unheard = 0.0, 0
            if message["type"] != "pmessage":
                self._hear(message["type"], message["data"])
            elif self.leads:
                batch.append((_text(message["channel"]), message["data"]))
                size += len(message["data"])
                if size > MAX_BATCH_BYTES:
                    break
        if batch:
            await self._forward(batch)

    def _hear(self, kind: str, data: bytes | int) -> None:
        self._heard_at = self._clock.monotonic()
        if kind == "message" and not data:
            self._vacant = True
            self._tick_at = 0.0
        elif kind == "message":
            self.leads = self._listening and data == self._name.encode()
        else:
            self._listening, self.leads = kind == "psubscribe", False
            self._tick_at = 0.0

    async def _hand_over(self, subscription: "PubSub") -> None:
        """Forward until the successor announces itself; without a successor, forward all."""
        heard = await self._client.run(_RESIGN, [BRIDGE], [self._name, self._office])
        until = self._clock.monotonic() + self._pace.hand_over_s
        while self.leads and not (heard == 1 and self._vacant) and self._clock.monotonic() < until:
            await self._listen(subscription)


async def publish(client: RedisClient, channel: str, fields: Mapping[str, str]) -> str:
    """Put a message on the durable stream of `channel`; return the entry's id."""
    words = [word.encode(errors="replace") for pair in fields.items() for word in pair]
    return _text(await client.command("XADD", f"{TOPIC}{channel}", "*", *words))


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
