"""Memory for agents: each recalls and stores entries of its own, which no chat sees."""

from collections.abc import Sequence

from tocsin.features.memory.chats import may_be_secret
from tocsin.features.memory.model import (
    AGENT_SCOPE,
    EntryDraft,
    EntrySource,
    EntryType,
    InvalidEntryError,
    MemoryEntry,
)
from tocsin.features.memory.service import MAX_PER_CHAT, Memories, MemoryCaller
from tocsin.features.memory.tables.rows import EntryFilter

# The name that callers without a token share; no token has it.
_PERSON = "_person"
_CALLER = MemoryCaller(EntrySource.DASHBOARD, author=EntrySource.AGENT)  # the request sets the actor


class AgentEntries:
    """The entries of one agent, which the name of its token identifies."""

    def __init__(self, memory: Memories, user: str) -> None:
        """`user` is the caller of the request, such as `token:web`."""
        self._memory = memory
        name = user.removeprefix("token:")
        self._scope = f"{AGENT_SCOPE}{name if name != user else _PERSON}"

    async def recall(self, query: str, limit: int) -> Sequence[MemoryEntry]:
        """Return the entries that share most with `query`, the best first; without one, the newest."""
        if query:
            return await self._memory.related(query, (self._scope,), limit)
        return (await self._memory.listing(EntryFilter((self._scope,)), limit=limit)).items

    async def remember(self, key: str, value: str, tags: Sequence[str]) -> tuple[MemoryEntry, bool]:
        """Store or replace an entry; return it, and whether it is new. Raises InvalidEntryError."""
        if may_be_secret(value):
            raise InvalidEntryError("the value looks like a secret", hint="agents may not store secrets")
        whole = f"{self._scope}:{key}"
        draft = EntryDraft(key=whole, value=value, type=EntryType.NOTE, tags=tuple(tags), scope=self._scope)
        if await self._memory.count(EntryFilter((self._scope,))) >= MAX_PER_CHAT and not await self._knows(whole):
            raise InvalidEntryError(
                f"an agent can have at most {MAX_PER_CHAT:,} entries", hint="replace one by its key"
            )
        return await self._memory.set(draft, _CALLER)

    async def _knows(self, key: str) -> bool:
        page = await self._memory.listing(EntryFilter((self._scope,), text=key), sort="key", limit=1)
        return any(each.key == key for each in page.items)
