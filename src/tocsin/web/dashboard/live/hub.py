"""The event hub: it reads the feed of changes while there are listeners, and sends each event to all readers.

It polls ten times a second, at the cost of one indexed query each. `PRAGMA data_version` would not be cheaper and
needs a separate connection, because each connection has its own version. The output of runs is sent at the same pace.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tocsin.core.service import ServiceLoop, StopEvent
from tocsin.core.storage.change_feed import ChangeFeed, RecordChange
from tocsin.core.time.clock import Clock
from tocsin.rest.event_stream import (
    PING,
    PING_S,
    RESYNC,
    EventFeed,
    EventStreamResponse,
    OpenStream,
    encode_event,
    encode_greeting,
)
from tocsin.web.dashboard.live.feeds import FeedStreams
from tocsin.web.dashboard.live.run_events import RUNS, RunEvents
from tocsin.web.dashboard.live.status_events import STATUS, StatusEvents
from tocsin.web.dashboard.live.stream_events import StreamEvents

LOOK_EVERY_S = 0.1
IDLE_S = 3600.0  # a new reader ends the wait
# More simultaneous changes than this are cheaper to fetch again.
MAX_EVENTS = 200
# At shutdown, readers have this long to receive the sent events.
LEAVE_S = 1.0


@dataclass(frozen=True, slots=True)
class EventSource:
    """The events of one topic."""

    topic: str
    event: str  # prefix of its events, before the dot
    records: Callable[[Sequence[str]], Awaitable[Mapping[str, Any]]]  # returns the existing records by ID
    tells_new: bool = False  # send new records as created; by default they are sent as updates


class EventHub:
    """Sends every change to open streams, whichever process makes it."""

    def __init__(
        self,
        feed: ChangeFeed,
        sources: Iterable[EventSource],
        runs: RunEvents,
        status: StatusEvents,
        clock: Clock,
        streams: StreamEvents | None = None,
    ) -> None:
        self._feed = feed
        of_runs = EventSource(RUNS, "run", runs.records)
        self._sources = {source.topic: source for source in (*sources, of_runs)}
        self._runs = runs
        self._changes = streams or StreamEvents((), clock)
        self._status = status
        self._clock = clock
        self._streams: dict[frozenset[str], set[OpenStream]] = {}
        self._of_callers = Counter[str]()
        self._end = 0  # the last change that was sent to all streams
        self._lock = asyncio.Lock()  # a stream opens between two reads
        self._next_ping = self._next_feed_ping = 0.0
        self._stop = StopEvent()
        self._looking = ServiceLoop("the live updates", self._step, clock, stop=self._stop)
        self._watching = ServiceLoop("the live status", self._watch_status, clock, stop=self._stop)
        self._feeds = FeedStreams()
        self._following = ServiceLoop("the live feeds", self._look_at_feeds, clock, stop=self._stop)

    @property
    def topics(self) -> Collection[str]:
        """The available topics."""
        return {*self._sources, *self._changes.topics, STATUS}

    @property
    def readers(self) -> int:
        """The number of open streams."""
        return len(self._all())

    async def open(self, topics: Collection[str], last_event_id: str = "") -> EventStreamResponse:
        """Return a stream of changes in these topics, after the last event that the client received."""
        stream, wanted = OpenStream(), frozenset(topics)
        async with self._lock:
            if not self._streams:
                self._end = await self._feed.end()
                self._next_ping = self._clock.monotonic() + PING_S
            await self._changes.follow(wanted)
            stream.send(encode_greeting("" if last_event_id else str(self._end)))
            if last_event_id:
                stream.send(await self._missed(wanted, last_event_id) + self._changes.resync(wanted))
            self._streams.setdefault(wanted, set()).add(stream)
        if self._stop.is_set():
            stream.end()
        self._looking.wake()
        self._watching.wake()
        return EventStreamResponse(stream, lambda: self._close(wanted, stream), self._of_callers)

    async def follow(self, feed: EventFeed, last_event_id: str = "") -> EventStreamResponse:
        """Return a stream of one feed, after the last event that the client received."""
        if not list(self._feeds):
            self._next_feed_ping = self._clock.monotonic() + PING_S
        stream = await self._feeds.open(feed, last_event_id)
        if self._stop.is_set():
            stream.end()
        self.wake()
        return EventStreamResponse(stream, lambda: self._feeds.close(feed, stream), self._of_callers)

    def wake(self) -> None:
        """Read the feeds now: this process has added events."""
        self._following.wake()

    async def run(self) -> None:
        """Send events until `stop`, then give readers time to receive them."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._looking.run())
            group.create_task(self._watching.run())
            group.create_task(self._following.run())
        give_up_at = self._clock.monotonic() + LEAVE_S
        while self.readers and self._clock.monotonic() < give_up_at:
            await self._clock.sleep(LEAVE_S / 20)
        for stream in self._all():
            stream.drop()

    def stop(self) -> None:
        """Announce the shutdown of the service and end all streams."""
        self._send([(STATUS, encode_event("status.draining", {"status": "draining"}))])
        self._stop.set()
        for stream in self._all():
            stream.end()

    async def look(self) -> None:
        """Send the changes since the last read."""
        async with self._lock:
            wanted = frozenset[str]().union(*self._streams)
            if RUNS in wanted:
                await self._runs.begin()
            else:
                self._runs.end()
            self._send(await self._changes.events(wanted))
            page = await self._feed.after(self._end, at_most=MAX_EVENTS)
            self._end = page.end
            if not page.complete:
                self._resync_all()
                return
            try:
                events = await self._events(page.changes, wanted)
                # The end of a run is sent after its last lines.
                self._send([*await self._runs.log_events(), *events])
            except Exception:
                # Repeating the query would fail again; readers see the reason when they fetch the records.
                self._resync_all()
                raise

    async def _step(self) -> float:
        if not self._streams:
            self._runs.end()
            return IDLE_S
        await self.look()
        if self._clock.monotonic() >= self._next_ping:
            self._next_ping = self._clock.monotonic() + PING_S
            self._send_to_all(PING)
        return LOOK_EVERY_S

    async def _look_at_feeds(self) -> float:
        await self._feeds.look()
        followed = list(self._feeds)
        if followed and self._clock.monotonic() >= self._next_feed_ping:
            self._next_feed_ping = self._clock.monotonic() + PING_S
            _send_each(followed, PING)
        return LOOK_EVERY_S if followed else IDLE_S

    def _all(self) -> list[OpenStream]:
        return [*(stream for streams in self._streams.values() for stream in streams), *self._feeds]

    async def _watch_status(self) -> float:
        if not any(STATUS in topics for topics in self._streams):
            self._status.forget()
            return IDLE_S
        changed = await self._status.changed(self._end)
        if changed is not None:
            self._send([(STATUS, encode_event("status.changed", changed))])
        return self._status.every_s

    async def _missed(self, topics: frozenset[str], last_event_id: str) -> bytes:
        """Return the events that a reconnecting client has missed, up to the last read."""
        page = await self._feed.after(_number(last_event_id), at_most=MAX_EVENTS)
        if not page.complete:
            return encode_event(RESYNC, {}, str(self._end))
        missed = [change for change in page.changes if change.seq <= self._end]
        return b"".join(event for _, event in await self._events(missed, topics))

    async def _events(self, changes: Sequence[RecordChange], wanted: Collection[str]) -> list[tuple[str, bytes]]:
        """Return an event for each change of the subscribed topics."""
        told = [change for change in changes if change.topic in wanted and change.topic in self._sources]
        records = {
            topic: await self._sources[topic].records([change.subject for change in told if change.topic == topic])
            for topic in {change.topic for change in told}
        }
        return [(change.topic, self._event(change, records[change.topic].get(change.subject))) for change in told]

    def _event(self, change: RecordChange, record: object) -> bytes:
        source, id_ = self._sources[change.topic], str(change.seq)
        if record is None:
            return encode_event(f"{source.event}.deleted", {"id": change.subject}, id_)
        word = "created" if source.tells_new and change.kind == "created" else "updated"
        return encode_event(f"{source.event}.{word}", record, id_)

    def _send(self, events: Sequence[tuple[str, bytes]]) -> None:
        """Send each event to the streams of its topic; streams with the same topics share one buffer."""
        if not events:
            return
        for topics, streams in self._streams.items():
            piece = b"".join(event for topic, event in events if topic in topics)
            if piece:
                _send_each(streams, piece)

    def _resync_all(self) -> None:
        """Make all readers fetch their records again."""
        self._runs.end()
        self._send_to_all(encode_event(RESYNC, {}, str(self._end)))

    def _send_to_all(self, piece: bytes) -> None:
        for streams in self._streams.values():
            _send_each(streams, piece)

    def _close(self, topics: frozenset[str], stream: OpenStream) -> None:
        streams = self._streams.get(topics, set())
        streams.discard(stream)
        if not streams:
            self._streams.pop(topics, None)


def _send_each(streams: Iterable[OpenStream], piece: bytes) -> None:
    for stream in streams:
        stream.send(piece)


def _number(last_event_id: str) -> int:
    """Parse the number of an event; an invalid one becomes a number that no event has."""
    is_number = last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) < 19
    return int(last_event_id) if is_number else 2**62
