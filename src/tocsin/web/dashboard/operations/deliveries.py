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
    """One message to one target, as the queue records it."""

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
        status: Annotated[DeliveryStatus | None, Query(description="Only in this state.")] = None,
        channel: Annotated[str, Query(max_length=100, description="Only of this channel.")] = "",
        target: Annotated[str, Query(max_length=500, description="Only to this target.")] = "",
        q: Annotated[str, Query(max_length=500, description="Words of message or target.")] = "",
        since: Annotated[str, Query(max_length=40, description="Only those created at or after this time.")] = "",
    ) -> Any:
        """List the deliveries, the newest first."""
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
        """Return one delivery."""
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
        """Queue one again that has ended without being sent."""
        return delivery_document(await self._outbox.replay(id, caller))

    @operation(
        "POST", "/api/deliveries/{id}/dismiss", scope="send", extension=True, problems=_CHANGES, answer=QueuedDelivery
    )
    async def dismiss_delivery(self, id: str, caller: CallerOf) -> Any:
        """Note that one that ended unsent needs no person any more."""
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
        """Make the next try of one that waits immediately."""
        return delivery_document(await self._outbox.retry(id, caller))

    @operation(
        "POST", "/api/deliveries/{id}/cancel", scope="send", extension=True, problems=_CHANGES, answer=QueuedDelivery
    )
    async def cancel_delivery(self, id: str, caller: CallerOf) -> Any:
        """Cancel one that waits."""
        return delivery_document(await self._outbox.cancel(id, caller))


def delivery_operations(outbox: Outbox, registry: Registry) -> Operations:
    """Return the operations."""
    return Operations("deliveries", DeliveryOperations(outbox, registry))
