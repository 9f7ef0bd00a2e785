"""The gateway's routes to the durable queue: list, show, replay, retry, cancel."""

import re
from collections.abc import Awaitable, Callable
from urllib.parse import parse_qs

from starlette.types import Receive, Scope

from tocsin.channels.registry import Registry
from tocsin.core.errors import TocsinError, UnknownChannelError
from tocsin.core.reading.yaml_node import suggestion
from tocsin.delivery.document import delivery_document, seconds_of
from tocsin.delivery.model import Delivery, DeliveryStatus
from tocsin.delivery.short_ids import AmbiguousDeliveryError
from tocsin.delivery.store import DeliveryFilter, TransitionError, UnknownDeliveryError
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.web.gateway.sending import caller_of
from tocsin.web.http.problems import HttpProblemError
from tocsin.web.http.responses import JsonResponse

MAX_PAGE = 200
USUAL_PAGE = 50
PARAMETERS = frozenset({"status", "channel", "target", "q", "since", "limit", "cursor"})
# As every store makes them: numbers, and in some an id behind them.
CURSOR = r"[0-9]{1,30}(:[0-9A-Za-z:.-]{1,200})?"


class DeliveryRoutes:
    """The handlers."""

    def __init__(self, outbox: Outbox, registry: Registry) -> None:
        self._outbox = outbox
        self._registry = registry

    async def list(self, scope: Scope, receive: Receive) -> JsonResponse:
        """GET /deliveries: the newest deliveries that match, a page at a time."""
        query = self._query(scope["query_string"].decode("latin-1"))
        try:
            page = await self._outbox.store.search(query)
        except TocsinError as error:
            raise HttpProblemError("not-ready", f"The queue cannot be read: {error.sentence()}.") from None
        items = [delivery_document(delivery) for delivery in page.items]
        return JsonResponse({"items": items, "next_cursor": page.next_cursor or None, "total": None})

    async def show(self, scope: Scope, receive: Receive) -> JsonResponse:
        """GET /deliveries/{id}: one delivery."""
        return await _answer(self._outbox.get(scope["path_params"]["id"]))

    async def replay(self, scope: Scope, receive: Receive) -> JsonResponse:
        """POST /deliveries/{id}/replay: queue it again."""
        return await _change(scope, self._outbox.replay)

    async def retry(self, scope: Scope, receive: Receive) -> JsonResponse:
        """POST /deliveries/{id}/retry: make the next try immediately."""
        return await _change(scope, self._outbox.retry)

    async def cancel(self, scope: Scope, receive: Receive) -> JsonResponse:
        """POST /deliveries/{id}/cancel: cancel a waiting delivery."""
        return await _change(scope, self._outbox.cancel)

    def _query(self, text: str) -> DeliveryFilter:
        given = {name: values[-1] for name, values in parse_qs(text, keep_blank_values=True).items()}
        if unknown := sorted(given.keys() - PARAMETERS):
            name = unknown[0][:100]
            known = f"there are: {', '.join(sorted(PARAMETERS))}{suggestion(name, PARAMETERS)}"
            raise _refusal(f"{name} is not a parameter; {known}")
        status = given.get("status", "")
        if status and status not in set(DeliveryStatus):
            raise _refusal(
                f"status must be one of: {', '.join(DeliveryStatus)}{suggestion(status, map(str, DeliveryStatus))}"
            )
        try:
            since = seconds_of(given["since"]) if given.get("since") else None
        except ValueError as error:
            raise _refusal(f"since must be {error}") from None
        limit = given.get("limit", str(USUAL_PAGE))
        if not (limit.isascii() and limit.isdigit() and len(limit) <= 9 and 1 <= int(limit) <= MAX_PAGE):
            raise _refusal(f"limit must be a whole number from 1 to {MAX_PAGE}")
        cursor = given.get("cursor", "")
        if cursor and not re.fullmatch(CURSOR, cursor):
            raise _refusal("cursor must be the next_cursor of a page")
        return DeliveryFilter(
            status=DeliveryStatus(status) if status else None,
            channel=self._kind(given.get("channel", "")),
            target=given.get("target", ""),
            text=given.get("q", ""),
            since=since,
            limit=int(limit),
            cursor=cursor,
        )

    def _kind(self, channel: str) -> str:
        """Return the kind of the requested channel; empty means all channels."""
        try:
            return self._registry.known_kind(channel) if channel else ""
        except UnknownChannelError as error:
            raise _refusal(f"channel: {error.sentence()}") from None


async def _change(scope: Scope, change: Callable[[str, Caller], Awaitable[Delivery]]) -> JsonResponse:
    return await _answer(change(scope["path_params"]["id"], caller_of(scope)))


async def _answer(work: Awaitable[Delivery]) -> JsonResponse:
    try:
        return JsonResponse(delivery_document(await work))
    except UnknownDeliveryError as error:
        raise HttpProblemError("not-found", f"{error}.") from None
    except AmbiguousDeliveryError as error:
        raise _refusal(error.sentence()) from None
    except TransitionError as error:
        raise HttpProblemError("invalid-transition", f"{error}: {error.hint}.") from None
    except TocsinError as error:
        raise HttpProblemError("not-ready", f"The queue cannot be used: {error.sentence()}.") from None


def _refusal(detail: str) -> HttpProblemError:
    return HttpProblemError("validation-failed", f"{detail}.")
