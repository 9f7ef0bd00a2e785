"""The hooks of the chat feature."""

from collections.abc import Sequence
from typing import Any

from tocsin.core.records.as_json import to_json
from tocsin.features.chat.service import Chats
from tocsin.features.hooks import FeatureHooks


async def live_records(chats: Chats, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the records of the conversations that exist, by ID."""
    return {found.id: to_json(found) for found in await chats.store.several(ids)}


HOOKS = FeatureHooks[Chats](
    open=Chats,
    hourly=Chats.prune,
    live={"chat": live_records},
)
