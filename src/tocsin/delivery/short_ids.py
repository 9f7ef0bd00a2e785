"""The short IDs of deliveries."""

from collections.abc import Sequence

from tocsin.core import short_ids
from tocsin.delivery.store import DeliveryStore, unknown_delivery


async def whole_id(store: DeliveryStore, text: str) -> str:
    """Return the only ID that matches `text`; raise UnknownDeliveryError or AmbiguousIdError."""
    return await short_ids.resolve_id(text, store.matching, unknown_delivery, "deliveries")


async def shortened(store: DeliveryStore, ids: Sequence[str]) -> dict[str, str]:
    """Return for each ID the shortest unique form."""
    return await short_ids.shortened(ids, store.matching)
