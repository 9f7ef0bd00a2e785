"""The front door as features see it: routes for the protocols of other tools, on a listener of their own.

A route is called with a `FrontRequest` and returns a `FrontResponse`; no web framework is involved. The first segment
of its path is one of `RESERVED`, or empty for the root, or a parameter: then it is tried last, and never for a reserved
segment.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from tocsin.core.errors import TocsinError

if TYPE_CHECKING:
    from tocsin.core.service import BackgroundService

S = TypeVar("S")

# The first segments of the protocols that share this root; ntfy's topics, which have no prefix, never have these names.
RESERVED = frozenset(
    {
        *("-", "add", "api", "application", "badge", "cfg", "client", "del", "details", "get", "health", "hooks"),
        *("in", "json", "message", "notify", "p", "ping", "services", "status", "stream", "v1", "v2", "version"),
        *("account", "app", "docs", "file", "login", "metrics", "settings", "signup", "static"),  # ntfy's own
    }
)
DISCARDED_BYTES = 8 * 1024 * 1024  # read of a body that is refused: clients read no response before they have sent it
ANY_METHOD = ("GET", "POST", "PUT", "PATCH", "DELETE")


class RequestCutOffError(TocsinError):
    """The client went away before its body was complete."""


class BodyExcerpt(NamedTuple):
    """The beginning and the end of a body; `size` counts the bytes between them, too."""

    head: bytes
    tail: bytes
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontRequest:
    """A request to the front door. `path` has the parameters of the route; of repeated values, the last one counts."""

    method: str
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]  # by lower-case name
    client: str  # the address, as TRUSTED_PROXIES reports it
    request_id: str
    chunks: Callable[[], AsyncGenerator[bytes]]  # raises RequestCutOffError

    async def body(self, limit: int) -> bytes | None:
        """Return the body, `None` if it is larger than `limit` bytes; raises RequestCutOffError."""
        found, size = bytearray(), 0
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:  # to its end: closing a connection with unread data loses the response
                size += len(chunk)
                found += chunk if size <= limit else b""
                if size > limit + DISCARDED_BYTES:
                    break
        return bytes(found) if size <= limit else None

    async def excerpt(self, head_bytes: int, tail_bytes: int) -> BodyExcerpt:
        """Read the body to its end, but keep only its first and last bytes; raises RequestCutOffError."""
        head, tail, size = bytearray(), bytearray(), 0
        async with aclosing(self.chunks()) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                room = head_bytes - len(head)
                head += chunk[:room]
                tail += chunk[room:]
                del tail[:-tail_bytes]
                if size > DISCARDED_BYTES:
                    break
        return BodyExcerpt(bytes(head), bytes(tail), size)


@dataclass(frozen=True, slots=True)
class FrontResponse:
    """The response to a request. One with status 400, 401, 403 or 404 counts against the address of the client."""

    status: int
    body: bytes = b""
    media_type: str = "text/plain; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)


FrontHandler = Callable[[FrontRequest], Awaitable[FrontResponse]]


@dataclass(frozen=True, slots=True)
class FrontRoute:
    """A route of the front door. Logs and metrics show the template `path`, never the path of a request.

    `limited` takes the place of a refusal once an address has too many of them, `unavailable` that of a
    StoreUnavailableError.
    """

    path: str
    handler: FrontHandler
    methods: Sequence[str] = ("GET", "POST")
    limited: FrontResponse = FrontResponse(429, b"rate limited", headers={"Retry-After": "60"})
    unavailable: FrontResponse = FrontResponse(503, b"try again", headers={"Retry-After": "5"})


@dataclass(frozen=True, slots=True)
class FrontDoor(Generic[S]):
    """The constant `FRONT_DOOR` in the module `front` of a feature."""

    routes: Callable[[S], Sequence[FrontRoute]]
    beside: "Callable[[S], BackgroundService] | None" = None  # runs in each process while it listens
