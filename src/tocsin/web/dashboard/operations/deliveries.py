"""Operations on the durable queue."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Query

from tocsin.channels.registry import Registry
from tocsin.core.errors import FailureKind, UnknownChannelError
from tocsin.core.records.marks import Time
from tocsin.delivery.document import delivery_document
from tocsin.delivery.model import DeliveryStatus, Policy
from tocsin.delivery.store import DeliveryFilter
from tocsin.messaging.outbound.outbox import Outbox
from tocsin.rest.callers import CallerOf
from tocsin.rest.operations import Operations, operation
from tocsin.rest.pages import Page, PagingOf
from tocsin.rest.refusals import refuse_parameter, time_of

_CHANGES = ("not-found", "invalid-transition")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedDelivery:
    """Delivery: one message to one target."""

    id: str
    channel: str
    target: str
    message: str
    source: str
    status: DeliveryStatus
    policy: Policy
    attempts: int
    next_attempt_at: Time | None
    not_before: Time | None
    expires_at: Time | None
    idempotency_key: str | None
    parts_sent: int
    parts_total: int
    provider_id: str
    error: str
    error_class: FailureKind | str
    created_at: Time
    finished_at: Time | None
    duration_ms: int | None
    dismissed: bool


class DeliveryOperations:
    """The operations on deliveries."""

    def __init__(self, outbox: Outbox, registry: Registry) -> None:
        self._outbox = outbox
        self._registry = registry

    @operation("GET", "/api/deliveries", extension=True, problems=("validation-failed",), answer=Page[QueuedDelivery])
    async def list_deliveries(
        self,
        paging: PagingOf,
        status: Annotated[DeliveryStatus | None, Query(description="State of the deliveries.")] = None,
        channel: Annotated[str, Query(max_length=100, description="Channel of the deliveries.")] = "",
        target: Annotated[str, Query(max_length=500, description="Target of the deliveries.")] = "",
        q: Annotated[str, Query(max_length=500, description="Words in the message or target.")] = "",
        since: Annotated[str, Query(max_length=40, description="Earliest time of creation.")] = "",
    ) -> Any:
        """List deliveries, newest first."""
        query = DeliveryFilter(
            status, self._kind(channel), target, q, time_of("since", since), paging.limit, paging.start
        )
        page = await self._outbox.store.search(query)
        return paging.page(map(delivery_document, page.items), page.next_cursor)

    def _kind(self, channel: str) -> str:
        try:
            return self._registry.known_kind(channel) if channel else ""
        except UnknownChannelError as error:
            raise refuse_parameter("channel", "bad-value", error.sentence()) from None

    @operation("GET", "/api/deliveries/{id}", extension=True, problems=("not-found",), answer=QueuedDelivery)
    async def get_delivery(self, id: str) -> Any:
        """Get a delivery."""
        return delivery_document(await self._outbox.get(id))

    @operation(
        "POST",
        "/api/deliveries/{id}/replay",
        scope="send",
        once=True,
        extension=True,
        problems=_CHANGES,
        answer=QueuedDelivery,
    )
    async def replay_delivery(self, id: str, caller: CallerOf) -> Any:
        """Queue a finished delivery that was not sent again."""
        return delivery_document(await self._outbox.replay(id, caller))

    @operation(
        "POST", "/api/deliveries/{id}/dismiss", scope="send", extension=True, problems=_CHANGES, answer=QueuedDelivery
    )
    async def dismiss_delivery(self, id: str, caller: CallerOf) -> Any:
        """Dismiss a failed delivery, so that it is no longer reported."""
        return delivery_document(await self._outbox.dismiss(id, caller))

    @operation(
        "POST",
        "/api/deliveries/{id}/retry",
        scope="send",
        once=True,
        extension=True,
        problems=_CHANGES,
        answer=QueuedDelivery,
    )
    async def retry_delivery(self, id: str, caller: CallerOf) -> Any:
        """Make the next attempt of a waiting delivery now."""
        return delivery_document(await self._outbox.retry(id, caller))

    @operation(
        "POST", "/api/deliveries/{id}/cancel", scope="send", extension=True, problems=_CHANGES, answer=QueuedDelivery
    )
    async def cancel_delivery(self, id: str, caller: CallerOf) -> Any:
        """Cancel a waiting delivery."""
        return delivery_document(await self._outbox.cancel(id, caller))


def delivery_operations(outbox: Outbox, registry: Registry) -> Operations:
    """List the runs of a job, newest first, with the end of the log of one of them."""
    return Operations("deliveries", DeliveryOperations(outbox, registry))
