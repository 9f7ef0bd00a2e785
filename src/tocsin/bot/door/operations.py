"""Operations on the bot's access list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tocsin.bot.door.access import Change, Listed
from tocsin.messaging.outbound.caller import Caller
from tocsin.rest.callers import CallerOf
from tocsin.rest.operations import operation

_CHANGES = ("conflict", "validation-failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatList:
    """All known chats."""

    items: Sequence[Listed]


class ChatAccess(Protocol):
    """Lists chats and decides on requests; opened for each call, because the bot may be set up at any time."""

    async def listing(self) -> Sequence[Listed]:
        """Return every known chat."""

    async def change(self, what: str, chat_id: str, caller: Caller) -> Change:
        """Approve, deny or remove a chat, and return the decision; raises TocsinError."""


class AccessRoutes:
    """The operations on access."""

    def __init__(self, access: ChatAccess) -> None:
        self._access = access

    @operation("GET", "/api/access", extension=True, answer=ChatList)
    async def list_access(self) -> Any:
        """List allowed, waiting and denied chats."""
        return ChatList(items=await self._access.listing())

    @operation("POST", "/api/access/{chat_id}/approve", scope="admin", extension=True, problems=_CHANGES, answer=Change)
    async def approve_chat(self, chat_id: str, caller: CallerOf) -> Any:
        """Allow a chat to use the bot."""
        return await self._access.change("approve", chat_id, caller)

    @operation("POST", "/api/access/{chat_id}/deny", scope="admin", extension=True, problems=_CHANGES, answer=Change)
    async def deny_chat(self, chat_id: str, caller: CallerOf) -> Any:
        """Deny a chat; it cannot ask again."""
        return await self._access.change("deny", chat_id, caller)

    @operation("POST", "/api/access/{chat_id}/remove", scope="admin", extension=True, problems=_CHANGES, answer=Change)
    async def remove_chat(self, chat_id: str, caller: CallerOf) -> Any:
        """Remove a chat from the allowlist; it can ask again."""
        return await self._access.change("remove", chat_id, caller)
