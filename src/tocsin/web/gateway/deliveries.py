"""The gateway's routes to the durable queue: list, show, replay, retry, cancel."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from starlette.types import Receive, Scope

from tocsin.channels.registry import Registry
from tocsin.core.errors import TocsinError, UnknownChannelError
from tocsin.core.reading.fields import ChoiceType, Field, RecordType, TextType
from tocsin.core.records.as_json import to_json
from tocsin.core.scopes import may_read
from tocsin.core.short_ids import AmbiguousIdError, IncompleteIdError, complete_ids
from tocsin.delivery.model import Accepted, Delivery, DeliveryStatus
from tocsin.delivery.store import DeliveryFilter, TransitionError, UnknownDeliveryError
from tocsin.delivery.terms import TIME
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.rest.problems import HttpProblemError
from tocsin.web.gateway.records import TEXT
from tocsin.web.gateway.sending import read_caller
from tocsin.web.http.bodies import parse_query
from tocsin.web.http.responses import JsonResponse

MAX_PAGE = 200
USUAL_PAGE = 50
# The cursors of all stores: numbers, in some stores followed by an ID.
CURSOR = r"[0-9]{1,30}(:[0-9A-Za-z:.-]{1,200})?"


_SHORT = TextType(blank=True, max_chars=500)


def _since(text: str) -> float | None:
    return TIME.parse(text) if text and TIME.parse else None


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and 1 <= int(text) <= MAX_PAGE):
        raise ValueError(f"expected a whole number from 1 to {MAX_PAGE}")
    return int(text)


QUERY = RecordType(
    (
        Field(
            "status",
            ChoiceType(tuple(map(str, DeliveryStatus)), blank=True),
            default="",
            doc="State of the deliveries",
        ),
        Field(
            "channel",
            TEXT,
            default="",
            doc="Channel of the deliveries, or an alias; unknown names are rejected",
        ),
        Field("target", _SHORT, default="", doc="Target of the deliveries"),
        Field("key", _SHORT, default="", doc="Key of the message"),
        Field("q", _SHORT, default="", doc="Words, or beginnings of words, in the message or target"),
        Field(
            "since",
            TextType(blank=True, parse=_since, schema={"anyOf": [{"const": ""}, *TIME.schema["anyOf"]]}),
            doc="Earliest time of creation (RFC 3339 or Unix seconds)",
        ),
        Field(
            "limit",
            TextType(blank=True, parse=_limit, schema={"type": "integer", "minimum": 1, "maximum": MAX_PAGE}),
            default=USUAL_PAGE,
            doc=f"Maximum number of deliveries: 1 to {MAX_PAGE}, default {USUAL_PAGE}",
        ),
        Field(
            "cursor",
            TextType(blank=True, pattern=f"({CURSOR})?", rule="not the next_cursor of a page"),
            default="",
            doc="`next_cursor` of the previous page",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class DeliveryPage:
    """A page of deliveries; ask for the next one with `cursor`."""

    items: Sequence[Delivery]
    next_cursor: str | None
    total: int | None = None


class DeliveryRoutes:
    """The handlers of the delivery routes."""

    def __init__(self, outbox: Outbox, registry: Registry) -> None:
        self._outbox = outbox
        self._registry = registry

    async def list(self, scope: Scope, receive: Receive) -> JsonResponse:
        """GET /deliveries: the newest deliveries that match, a page at a time."""
        query = self._query(scope)
        try:
            page = await self._outbox.store.search(query)
        except TocsinError as error:
            raise HttpProblemError("not-ready", f"The queue cannot be read: {error.sentence()}.") from None
        return JsonResponse(to_json(DeliveryPage(page.items, page.next_cursor)))

    async def show(self, scope: Scope, receive: Receive) -> JsonResponse:
        """GET /deliveries/{id}: one delivery."""
        return await _answer(self._outbox.get(scope["path_params"]["id"]), Delivery)

    async def replay(self, scope: Scope, receive: Receive) -> JsonResponse:
        """POST /deliveries/{id}/replay: queue it again."""
        return await _change(scope, self._outbox.replay)

    async def dismiss(self, scope: Scope, receive: Receive) -> JsonResponse:
        """POST /deliveries/{id}/dismiss: it needs no person any more."""
        return await _change(scope, self._outbox.dismiss)

    async def retry(self, scope: Scope, receive: Receive) -> JsonResponse:
        """POST /deliveries/{id}/retry: make the next try immediately."""
        return await _change(scope, self._outbox.retry)

    async def cancel(self, scope: Scope, receive: Receive) -> JsonResponse:
        """POST /deliveries/{id}/cancel: cancel a waiting delivery."""
        return await _change(scope, self._outbox.cancel)

    def _query(self, scope: Scope) -> DeliveryFilter:
        query = parse_query(scope, QUERY)
        return DeliveryFilter(
            status=DeliveryStatus(query["status"]) if query["status"] else None,
            channel=self._kind(query["channel"]),
            target=query["target"],
            text=query["q"],
            since=query["since"],
            limit=query["limit"],
            cursor=query["cursor"],
            key=query["key"],
        )

    def _kind(self, channel: str) -> str:
        """Return the kind of the requested channel; empty means all channels."""
        try:
            return self._registry.known_kind(channel) if channel else ""
        except UnknownChannelError as error:
            raise _refusal(f"channel: Unknown channel; {error.hint}") from None


async def _change(scope: Scope, change: Callable[[str, Caller], Awaitable[Delivery]]) -> JsonResponse:
    """Change a delivery; a caller without read access must send its complete ID, and sees only its state."""
    work = change(scope["path_params"]["id"], read_caller(scope))
    if may_read(scope):
        return await _answer(work, Delivery)
    with complete_ids(required=True):
        return await _answer(work, Accepted)


async def _answer(work: Awaitable[Delivery], shown: type) -> JsonResponse:
    """Return a delivery with the fields of `shown`."""
    try:
        return JsonResponse(to_json(await work, shown))
    except UnknownDeliveryError as error:
        raise HttpProblemError("not-found", f"{error}.") from None
    except (AmbiguousIdError, IncompleteIdError) as error:
        raise _refusal(error.sentence()) from None
    except TransitionError as error:
        raise HttpProblemError("invalid-transition", f"{error}: {error.hint}.") from None
    except TocsinError as error:
        raise HttpProblemError("not-ready", f"The queue cannot be used: {error.sentence()}.") from None


def _refusal(detail: str) -> HttpProblemError:
    return HttpProblemError("validation-failed", f"{detail}.")
