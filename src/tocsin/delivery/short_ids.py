"""Short IDs, as people type and read them.

An ID is a UUIDv7: IDs of one minute share their beginning, but the last group is random. So a prefix of an ID is
accepted, and a prefix of its last group, which lists show.
"""

import re
from collections.abc import Sequence

from tocsin.core.errors import TocsinError
from tocsin.delivery.store import DeliveryStore, unknown_delivery

_WHOLE = 36
_SHOWN = (8, 12)  # characters of the last group: 32 bits distinguish nearly all of a million
_NAMED = 5  # candidates in an error


class AmbiguousDeliveryError(TocsinError):
    """Several deliveries match the short ID."""

    code = "ambiguous-id"


async def whole_id(store: DeliveryStore, text: str) -> str:
    """Return the only ID that matches `text`; raise UnknownDeliveryError or AmbiguousDeliveryError."""
    short = text.strip().lower()
    if len(short) == _WHOLE:
        return short
    if not re.fullmatch(r"[0-9a-f-]+", short):
        raise unknown_delivery(text)
    (found,) = await store.matching([short], _NAMED + 1)
    if not found:
        raise unknown_delivery(text)
    if len(found) > 1:
        named = ", ".join(found[:_NAMED]) + (", …" if len(found) > _NAMED else "")
        raise AmbiguousDeliveryError(f"{text} stands for several deliveries: {named}", hint="write more of the id")
    return found[0]


async def shortened(store: DeliveryStore, ids: Sequence[str]) -> dict[str, str]:
    """Return for each ID the shortest unique form."""
    short: dict[str, str] = {}
    for length in _SHOWN:
        left = {id_: id_.rpartition("-")[2][:length] for id_ in ids if id_ not in short}
        found = await store.matching(list(left.values()), 2)
        short |= {id_: text for (id_, text), matching in zip(left.items(), found, strict=True) if matching == [id_]}
    return {id_: short.get(id_, id_) for id_ in ids}
