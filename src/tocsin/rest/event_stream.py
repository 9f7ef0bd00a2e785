"""Server-sent events: how they are written, and a response that goes on until one side ends it.

The form is that of https://html.spec.whatwg.org/multipage/server-sent-events.html.
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
# What may wait for one reader who reads slower than things happen.
MAX_WAITING_BYTES = 1024 * 1024
# How often something is sent, so that neither side, nor a proxy between them, takes the silence for an end.
PING_S = 15.0
PING = b": ping\n\n"
RETRY_MS = 2000
# Streams that one caller may have open: each holds a connection, of which an address has 256.
MAX_STREAMS = 32
# What tells a reader that events are missing and everything is to be fetched anew.
RESYNC = "resync"


def encode_event(name: str, data: object, id: str = "") -> bytes:
    """Return an event; one without an id leaves the reader's `Last-Event-ID` as it is."""
    head = f"id: {id}\n" if id else ""
    return f"{head}event: {name}\ndata: {to_json(data)}\n\n".encode()


def encode_greeting(id: str = "") -> bytes:
    """Return what a stream begins with: after what time to connect again, and after which event it begins."""
    head = f"id: {id}\n" if id else ""
    return f"retry: {RETRY_MS}\n{head}\n".encode()


def last_event_id(request: Request) -> str:
    """Return the last event that the client saw, empty where it saw none."""
    return request.headers.get("last-event-id", "")


class FeedPage(NamedTuple):
    """Events after a number, in their order, and the number of the last one there is.

    Where `complete` is false, some are missing. `is_over` says that what they were about is gone.
    """

    events: Sequence[tuple[int, bytes]]
    end: int
    complete: bool = True
    is_over: bool = False


class EventFeed(Protocol):
    """A numbered list of events that any process may add to."""

    @property
    def key(self) -> str:
        """What names it among all feeds; ids of its events are `<key>:<number>`."""
        ...

    async def end(self) -> int:
        """Return the number of the last event."""
        ...

    async def after(self, number: int) -> FeedPage:
        """Return the events after one."""
        ...


class LiveUpdates(Protocol):
    """The stream of changes to all records; the dashboard has one, in `request.app.state.live`."""

    @property
    def topics(self) -> Collection[str]:
        """The topics there are."""
        ...

    async def open(self, topics: Collection[str], last_event_id: str = "") -> "EventStreamResponse":
        """Return a stream of the changes of these topics, after the event that the client saw last."""
        ...

    async def follow(self, feed: EventFeed, last_event_id: str = "") -> "EventStreamResponse":
        """Return a stream of one feed, after the event that the client saw last."""
        ...

    def wake(self) -> None:
        """Look for news of feeds now: this process has some."""
        ...


class OpenStream:
    """What one reader is still to be sent."""

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
        """Whether it takes nothing more."""
        return self._over

    def send(self, events: bytes) -> None:
        """Send this as soon as the reader takes it; where too much waits already, the reader is dropped."""
        if self._over:
            return
        self._waiting.append(events)
        self._waiting_bytes += len(events)
        if self._waiting_bytes > self._max_bytes:
            self.drop()
        self._ready.set()

    def end(self) -> None:
        """Send what waits, and nothing more."""
        self._over = True
        self._ready.set()

    def drop(self) -> None:
        """Send nothing more, and do not wait for the reader to take what is on its way."""
        self._waiting.clear()
        self.end()
        cut_off, self._cut_off = self._cut_off, None
        if cut_off is not None:
            cut_off()

    def on_drop(self, cut_off: Callable[[], None] | None) -> None:
        """Call `cut_off` when the reader is dropped."""
        self._cut_off = cut_off

    async def next(self) -> bytes:
        """Return all that waits, once there is something; nothing at the end."""
        while not self._waiting and not self._over:
            self._ready.clear()
            await self._ready.wait()
        events = b"".join(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        return events


class EventStreamResponse(Response):
    """Sends what comes into a stream until that ends or the client goes; then `closed` is called."""

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
        """Take the events of `stream`; the first one after `ask_every_s` waits for whether the reader may go on.

        `readers` counts the open streams of each caller.
        """
        self._stream = stream
        self._readers = Counter[str]() if readers is None else readers
        self._closed = closed
        self._ask_every_s = ask_every_s
        self._ask_at = 0.0
        # A proxy that collects an answer before it passes it on would hold events back.
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer as an ASGI application."""
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
        """Whether the session or the token of the reader has not ended, as far as it is time to ask."""
        ask: Callable[[], Awaitable[bool]] | None = scope.get("tocsin.still_allowed")
        now = asyncio.get_running_loop().time()
        if ask is None or now < self._ask_at:
            return True
        self._ask_at = now + self._ask_every_s
        try:
            return await ask()
        except StoreUnavailableError:  # the reader connects again, and is told
            return False

    async def _until_gone(self, receive: Receive) -> None:
        """End the stream when the client has gone: nothing that is sent would tell."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._stream.drop()
