"""Operations on the durable queue."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Query, Request
from fastapi.responses import StreamingResponse

from tocsin.channels.attached import IMAGES, UNKNOWN_TYPE
from tocsin.channels.registry import Registry
from tocsin.core.errors import UnknownChannelError
from tocsin.core.reading.fields import IntegerType
from tocsin.core.reading.records import Written
from tocsin.delivery.files.intake import FileIntake
from tocsin.delivery.model import Delivery, DeliveryStatus
from tocsin.delivery.store import DeliveryFilter
from tocsin.messaging.inbound.presses.session import PressOutcome, SessionPresses
from tocsin.messaging.outbound.messenger import Messenger
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.rest.bodies import RequestBody
from tocsin.rest.callers import CallerOf
from tocsin.rest.operations import OfferedTool, operation
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.problems import HttpProblemError
from tocsin.rest.refusals import parse_time, refuse_parameter
from tocsin.web.dashboard.operations.messaging import sent_message
from tocsin.web.dashboard.operations.messaging_models import OUTCOMES, SentMessage
from tocsin.web.http.send_answers import response_to_send

_CHANGES = ("not-found", "invalid-transition")
_BYTES = {"content": {UNKNOWN_TYPE: {"schema": {"type": "string", "contentMediaType": UNKNOWN_TYPE}}}}
# How the images begin that a browser may show; a type that the sender only claims is not enough.
_BEGINNINGS = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PressedButton(RequestBody):
    """Button to press."""

    button: Annotated[int, Written(IntegerType(0, 9)), "Position of the action in the message, from 0."]


class DeliveryOperations:
    """The operations on deliveries."""

    def __init__(
        self,
        outbox: Outbox,
        registry: Registry,
        messenger: Messenger,
        files: Callable[[], FileIntake],
        presses: SessionPresses,
    ) -> None:
        self._outbox = outbox
        self._files = files
        self._presses = presses
        self._messenger = messenger
        self._registry = registry

    @operation(
        "GET",
        "/api/deliveries",
        extension=True,
        problems=("validation-failed",),
        answer=Page[Delivery],
        tool=OfferedTool("list_deliveries", read_only=True, idempotent=True),
    )
    async def list_deliveries(
        self,
        paging: PagingOf,
        status: Annotated[DeliveryStatus | None, Query(description="State of the deliveries.")] = None,
        channel: Annotated[str, Query(max_length=100, description="Channel of the deliveries.")] = "",
        target: Annotated[str, Query(max_length=500, description="Target of the deliveries.")] = "",
        q: Annotated[str, Query(max_length=500, description="Words in the message or target.")] = "",
        key: Annotated[str, Query(max_length=64, description="Key of the message.")] = "",
        since: Annotated[str, Query(max_length=40, description="Earliest time of creation.")] = "",
    ) -> Any:
        """List deliveries, newest first."""
        query = DeliveryFilter(
            status, self._kind(channel), target, q, parse_time("since", since), paging.limit, paging.start, key=key
        )
        page = await self._outbox.store.search(query)
        return paging.page(page.items, page.next_cursor)

    def _kind(self, channel: str) -> str:
        try:
            return self._registry.known_kind(channel) if channel else ""
        except UnknownChannelError as error:
            raise refuse_parameter("channel", "bad-value", f"Unknown channel; {error.hint}") from None

    @operation("GET", "/api/deliveries/{id}", extension=True, problems=("not-found",), answer=Delivery)
    async def get_delivery(self, id: str) -> Any:
        """Get a delivery."""
        return await self._outbox.get(id)

    @operation(
        "GET",
        "/api/deliveries/{id}/file",
        extension=True,
        problems=("not-found", "validation-failed"),
        responses={200: _BYTES},
    )
    async def get_delivery_file(
        self, id: str, number: Annotated[int, Query(ge=1, le=10, description="Position among the files.")] = 1
    ) -> Any:
        """Get a file of a delivery, while its content is kept.

        PNG, JPEG, GIF and WebP images have their type; any other file is a download.
        """
        files = (await self._outbox.get(id)).content.get("attach", ())
        if number > len(files):
            raise HttpProblemError("not-found", f"The delivery has no file {number}.")
        file = files[number - 1]
        blocks = self._files().read(file["hash"])
        first = await anext(blocks, b"")  # raises before the response begins, if the content is gone
        return StreamingResponse(_following(first, blocks), headers=_file_headers(file, first))

    @operation(
        "POST",
        "/api/deliveries/{id}/replay",
        scope="send",
        once=True,
        extension=True,
        problems=_CHANGES,
        answer=Delivery,
    )
    async def replay_delivery(self, id: str, caller: CallerOf) -> Any:
        """Queue a finished delivery that was not sent again."""
        return await self._outbox.replay(id, caller)

    @operation("POST", "/api/deliveries/{id}/dismiss", scope="send", extension=True, problems=_CHANGES, answer=Delivery)
    async def dismiss_delivery(self, id: str, caller: CallerOf) -> Any:
        """Dismiss a failed delivery, so that it is no longer reported."""
        return await self._outbox.dismiss(id, caller)

    @operation(
        "POST",
        "/api/deliveries/{id}/retry",
        scope="send",
        once=True,
        extension=True,
        problems=_CHANGES,
        answer=Delivery,
    )
    async def retry_delivery(self, id: str, caller: CallerOf) -> Any:
        """Make the next attempt of a waiting delivery now."""
        return await self._outbox.retry(id, caller)

    @operation("POST", "/api/deliveries/{id}/cancel", scope="send", extension=True, problems=_CHANGES, answer=Delivery)
    async def cancel_delivery(self, id: str, caller: CallerOf) -> Any:
        """Cancel a waiting delivery."""
        return await self._outbox.cancel(id, caller)

    @operation(
        "POST",
        "/api/deliveries/{id}/withdraw",
        scope="send",
        extension=True,
        problems=_CHANGES,
        answer=SentMessage,
        responses=OUTCOMES,
    )
    async def withdraw_delivery(self, id: str, caller: CallerOf) -> Any:
        """Withdraw the message whose key a delivery has, and cancel what waits with that key."""
        delivery = await self._outbox.get(id)
        if not delivery.key:
            raise HttpProblemError("invalid-transition", "Only a message with a key can be withdrawn.")
        receipt = await self._messenger.withdraw(delivery.channel, delivery.target, delivery.key, caller)
        return sent_message(response_to_send(receipt.result, receipt.failure), receipt)

    @operation(
        "POST",
        "/api/deliveries/{id}/press",
        scope="answer",
        once=True,
        own=True,
        extension=True,
        problems=("not-found", "validation-failed"),
        answer=PressOutcome,
    )
    async def press_button(self, request: Request, id: str, body: PressedButton, caller: CallerOf) -> Any:
        """Press a `call` button of a message on a channel whose product cannot report who presses."""
        delivery = await self._outbox.get(id)
        return await self._presses.press(delivery, body.button, caller, request.scope["tocsin.scopes"])


def _file_headers(file: Mapping[str, Any], first: bytes) -> dict[str, str]:
    kind = file.get("type", "")
    is_image = kind in IMAGES and first.startswith(_BEGINNINGS[kind])
    shown = "inline" if is_image else "attachment"
    return {
        "Content-Type": kind if is_image else UNKNOWN_TYPE,
        "Content-Length": str(file["size"]),
        "Content-Disposition": f"{shown}; filename*=UTF-8''{quote(file['name'], safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }


async def _following(first: bytes, blocks: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    async with aclosing(blocks):
        yield first
        async for block in blocks:
            yield block
