"""Server-sent events: their encoding, and a response that streams until one side ends it.

The format is that of https://html.spec.whatwg.org/multipage/server-sent-events.html.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.text.compact_json import to_json
from tocsin.rest.problems import HttpProblemError

EVENT_STREAM = "text/event-stream"
# The limit of the queue for one slow reader.
MAX_WAITING_BYTES = 1024 * 1024
# The interval of keep-alives, so that neither side, nor a proxy between them, closes a silent connection.
PING_S = 15.0
PING = b": ping\n\n"
RETRY_MS = 2000
# Open streams of one caller: each holds a connection, and an address may have 256 connections.
MAX_STREAMS = 32
# The event that tells a reader that events are missing and that it must fetch everything again.
RESYNC = "resync"


def encode_event(name: str, data: object, id: str = "") -> bytes:
    """Encode an event; an event without an ID does not change the reader's `Last-Event-ID`."""
    head = f"id: {id}\n" if id else ""
    return f"{head}event: {name}\ndata: {to_json(data)}\n\n".encode()


def encode_greeting(id: str = "") -> bytes:
    """Encode the start of a stream: the reconnection time, and the ID after which the stream begins."""
    head = f"id: {id}\n" if id else ""
    return f"retry: {RETRY_MS}\n{head}\n".encode()


def last_event_id(request: Request) -> str:
    """Return the ID of the last event that the client received, or an empty text."""
    return request.headers.get("last-event-id", "")


class FeedPage(NamedTuple):
    """Events after a number, in order, and the number of the last existing event.

    `complete` is false if some are missing. `is_over` is true if the subject of the events no longer exists.
    """

    events: Sequence[tuple[int, bytes]]
    end: int
    complete: bool = True
    is_over: bool = False


class EventFeed(Protocol):
    """A numbered list of events, to which any process may append."""

    @property
    def key(self) -> str:
        """The name of the feed, unique among all feeds; its event IDs are `<key>:<number>`."""

    async def end(self) -> int:
        """Return the number of the last event."""

    async def after(self, number: int) -> FeedPage:
        """Return the events after a number."""


class LiveUpdates(Protocol):
    """The stream of changes to all records; the dashboard's is `request.app.state.live`."""

    @property
    def topics(self) -> Collection[str]:
        """The names of all topics."""

    async def open(self, topics: Collection[str], last_event_id: str = "") -> "EventStreamResponse":
        """Return a stream of the changes of these topics after `last_event_id`."""

    async def follow(self, feed: EventFeed, last_event_id: str = "") -> "EventStreamResponse":
        """Return a stream of one feed after `last_event_id`."""

    def wake(self) -> None:
        """Check feeds for new events now, because this process added some."""


class OpenStream:
    """The queue of events for one reader."""

    __slots__ = ("_cut_off", "_max_bytes", "_over", "_ready", "_waiting", "_waiting_bytes")

    def __init__(self, max_bytes: int = MAX_WAITING_BYTES) -> None:
        self._max_bytes = max_bytes
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._ready = asyncio.Event()
        self._over = False
        self._cut_off: Callable[[], None] | None = None

    @property
    def is_over(self) -> bool:
        """Whether the queue accepts no more events."""
        return self._over

    def send(self, events: bytes) -> None:
        """Queue events for the reader; disconnect the reader if too much is queued."""
        if self._over:
            return
        self._waiting.append(events)
        self._waiting_bytes += len(events)
        if self._waiting_bytes > self._max_bytes:
            self.drop()
        self._ready.set()

    def end(self) -> None:
        """Send the queued events, and accept no more."""
        self._over = True
        self._ready.set()

    def drop(self) -> None:
        """Send nothing more, and do not wait until the reader receives the data that is being sent."""
        self._waiting.clear()
        self.end()
        cut_off, self._cut_off = self._cut_off, None
        if cut_off is not None:
            cut_off()

    def on_drop(self, cut_off: Callable[[], None] | None) -> None:
        """Call `cut_off` when the reader is disconnected."""
        self._cut_off = cut_off

    async def next(self) -> bytes:
        """Wait for events and return all that are queued; nothing at the end."""
        while not self._waiting and not self._over:
            self._ready.clear()
            await self._ready.wait()
        events = b"".join(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        return events


class EventStreamResponse(Response):
    """Streams events until the stream ends or the client disconnects; then calls `closed`."""

    media_type = EVENT_STREAM
    charset = "utf-8"

    def __init__(
        self,
        stream: OpenStream,
        closed: Callable[[], None],
        readers: Counter[str] | None = None,
        *,
        ask_every_s: float = PING_S,
    ) -> None:
        """Create a response for the events of `stream`.

        `readers` counts the open streams of each caller. The first event after `ask_every_s` seconds is sent only after
        the reader's access was checked again.
        """
        self._stream = stream
        self._readers = Counter[str]() if readers is None else readers
        self._closed = closed
        self._ask_every_s = ask_every_s
        self._ask_at = 0.0
        # A proxy that buffers responses would delay events.
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond as an ASGI application."""
        user = scope.get("tocsin.user", "")
        if self._readers[user] >= MAX_STREAMS:
            self._closed()
            detail = f"A caller may have at most {MAX_STREAMS} open event streams. Close some first."
            raise HttpProblemError("rate-limited", detail, headers={"Retry-After": "60"})
        self._stream.on_drop(scope.get("tocsin.cut_off"))
        self._readers[user] += 1
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if scope["method"] != "HEAD":
                await self._send_events(scope, receive, send)
            self._stream.on_drop(None)  # the connection stays open for the client's next request
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._readers[user] -= 1
            if not self._readers[user]:
                del self._readers[user]
            self._stream.drop()
            self._closed()

    async def _send_events(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._ask_at = asyncio.get_running_loop().time() + self._ask_every_s
        send = scope.get("tocsin.send_body", send)
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._until_gone(receive))
            while events := await self._stream.next():
                if not await self._still_allowed(scope):
                    break
                await send({"type": "http.response.body", "body": events, "more_body": True})
            watching.cancel()

    async def _still_allowed(self, scope: Scope) -> bool:
        """Whether the reader's session or token is still valid; checked at most every `ask_every_s` seconds."""
        ask: Callable[[], Awaitable[bool]] | None = scope.get("tocsin.still_allowed")
        now = asyncio.get_running_loop().time()
        if ask is None or now < self._ask_at:
            return True
        self._ask_at = now + self._ask_every_s
        try:
            return await ask()
        except StoreUnavailableError:  # the reader reconnects, and gets an error
            return False

    async def _until_gone(self, receive: Receive) -> None:
        """End the stream when the client has disconnected: writing does not reveal that."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._stream.drop()
