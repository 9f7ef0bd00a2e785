"""The hooks of the chat feature."""

from collections.abc import Sequence
from typing import Any

from tocsin.core.records.as_json import to_json
from tocsin.features.chat.service import Chats
from tocsin.features.context import FeatureContext
from tocsin.features.hooks import FeatureHooks


def open_chats(context: FeatureContext) -> Chats:
    """Return the conversations of the data directory."""
    return Chats(context)


async def live_records(chats: Chats, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the records of the conversations that exist, by ID."""
    return {found.id: to_json(found) for found in await chats.store.several(ids)}


async def prune(chats: Chats) -> None:
    """End answers of dead processes, and delete old events and files."""
    await chats.prune()


HOOKS = FeatureHooks[Chats](
    open=open_chats,
    hourly=prune,
    live={"chat": live_records},
)
