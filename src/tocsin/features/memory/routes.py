"""The operations on memory."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from fastapi import Path, Query, Request, Response
from pydantic import AfterValidator

from tocsin.core.reading.fields import ChoiceType, ListType, NumberType, TextType
from tocsin.core.reading.records import Written
from tocsin.core.records.as_json import to_json
from tocsin.features.memory.agents import AgentEntries
from tocsin.features.memory.model import (
    FADED_BELOW,
    HALF_LIFE_DAYS,
    IMPORTANCE,
    MAX_TAGS,
    EntryDraft,
    EntrySource,
    EntryType,
    InvalidEntryError,
    MemoryEntry,
    read_half_life,
    read_importance,
    read_key,
    read_scope,
    read_tag,
    read_value,
)
from tocsin.features.memory.query import MAX_QUERY_CHARS
from tocsin.features.memory.service import DecayReport, Memories, MemoryCaller, SearchResult
from tocsin.features.memory.tables.rows import EntryFilter
from tocsin.features.memory.tables.stats import MemoryStats
from tocsin.rest.bodies import FLAG, MOMENT, RequestBody
from tocsin.rest.callers import DASHBOARD
from tocsin.rest.conditional import check_unchanged, tag
from tocsin.rest.models import GivenTime
from tocsin.rest.operations import OfferedTool, operation, operations_of
from tocsin.rest.pages import MAX_LIMIT, Page, PagingOf
from tocsin.rest.refusals import refuse_parameter


def _sentence(read: Callable[[Any], Any]) -> AfterValidator:
    """Return a validator with the rules of memory; its error starts like those of other problems."""

    def check(value: Any) -> Any:
        try:
            return read(value)
        except ValueError as error:
            raise ValueError(f"{str(error)[:1].upper()}{str(error)[1:]}") from None

    return AfterValidator(check)


EntryKey = Annotated[str, _sentence(read_key)]
EntryTag = Annotated[str, _sentence(read_tag)]
EntryScope = Annotated[str, AfterValidator(lambda text: read_scope(text) if text else text)]
HalfLife = Annotated[float, _sentence(read_half_life)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry(RequestBody):
    """Entry to store."""

    key: Annotated[EntryKey, Written(TextType(blank=True), examples=("wifi.guest",))]
    value: Annotated[
        Annotated[str, _sentence(read_value)],
        Written(TextType(blank=True), examples=("The guest network",)),
        "Value, up to 64 KiB.",
    ]
    type: Annotated[EntryType, Written(ChoiceType(tuple(EntryType)))] = EntryType.FACT
    tags: Annotated[list[EntryTag], Written(ListType(TextType(), max_items=MAX_TAGS))] = field(default_factory=list)
    importance: Annotated[
        Annotated[float, _sentence(read_importance)],
        Written(NumberType()),
        "Importance from 0 to 1; important entries decay more slowly.",
    ] = IMPORTANCE
    pinned: Annotated[bool, FLAG, "Whether the entry is exempt from decay."] = False
    half_life_days: Annotated[
        HalfLife | None, Written(NumberType(), nullable=True), "Half-life in days; null disables decay."
    ] = HALF_LIFE_DAYS
    expires_at: Annotated[GivenTime | None, MOMENT] = None
    if_absent: Annotated[bool, FLAG, "Fail if the key already exists."] = False

    def draft(self) -> EntryDraft:
        return EntryDraft(
            key=self.key,
            value=self.value,
            type=self.type,
            tags=tuple(dict.fromkeys(self.tags)),
            importance=self.importance,
            pinned=self.pinned,
            half_life_days=self.half_life_days,
            expires_at=self.expires_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnEntry(RequestBody):
    """Entry that an agent stores for itself."""

    key: Annotated[
        EntryKey, Written(TextType(blank=True), examples=("deploy.order",)), "Key among the entries of this caller."
    ]
    value: Annotated[
        Annotated[str, _sentence(read_value)],
        Written(TextType(blank=True), examples=("Migrate the database first",)),
        "Value, up to 64 KiB.",
    ]
    tags: Annotated[list[EntryTag], Written(ListType(TextType(), max_items=MAX_TAGS))] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OwnEntries:
    """Entries of the caller."""

    items: tuple[MemoryEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay(RequestBody):
    """Options for removing decayed entries."""

    dry_run: Annotated[bool, FLAG, "Only report what would be removed."] = False
    threshold: Annotated[float, Written(NumberType(0, 1)), "Strength below which entries are removed."] = FADED_BELOW
    half_life_days: Annotated[
        HalfLife | None, Written(NumberType(), nullable=True), "Half-life to use instead of that of each entry."
    ] = None


TypeOf = Annotated[EntryType | None, Query(description="Type of the entries.")]
TagOf = Annotated[str, Query(max_length=50, description="Tag of the entries.")]


_US = MemoryCaller(EntrySource.DASHBOARD)  # the request sets the caller of each audit entry
# Fields that change without an edit of the entry.
_PASSING = frozenset({"strength", "access_count", "last_accessed_at"})


class MemoryRoutes:
    """The operations on memory."""

    def __init__(self, memory: Memories) -> None:
        self._memory = memory

    @operation("GET", "/api/memory", problems=("validation-failed",), answer=Page[MemoryEntry])
    async def list_memory_entries(
        self,
        paging: PagingOf,
        q: Annotated[str, Query(max_length=200, description="Text in the key or value.")] = "",
        tag: TagOf = "",
        type: TypeOf = None,  # noqa: A002  # its name in the address
        scope: Annotated[EntryScope, Query(description="Scope: `global`, or a chat, for example `chat:7`.")] = "",
        sort: Annotated[
            Literal["updated_at", "strength", "key"],
            Query(description="Order: newest first, strongest first, or by key."),
        ] = "updated_at",
    ) -> Any:
        """List entries."""
        wanted = EntryFilter((scope,) if scope else (), tag, type, q)
        found = await self._memory.listing(wanted, sort=sort, limit=paging.limit, cursor=paging.start)
        return paging.page(found.items, found.next_cursor, await self._memory.count(wanted))

    @operation("GET", "/api/memory/stats", answer=MemoryStats)
    async def get_memory_stats(self) -> Any:
        """Get statistics."""
        return await self._memory.stats()

    @operation("GET", "/api/memory/search", problems=("validation-failed",), answer=SearchResult)
    async def search_memory(
        self,
        query: Annotated[
            str, Query(min_length=1, max_length=MAX_QUERY_CHARS, description="Words that an entry must contain.")
        ],
        limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum number of results.")] = 20,
        tag: TagOf = "",
        type: TypeOf = None,  # noqa: A002  # its name in the address
    ) -> Any:
        """Search entries that contain all words of `query`, best first."""
        try:
            return await self._memory.search(query, EntryFilter((), tag, type), limit=limit)
        except InvalidEntryError as error:
            raise refuse_parameter("query", "bad-value", error.sentence()) from None

    @operation(
        "GET",
        "/api/memory/own/entries",
        extension=True,
        problems=("validation-failed",),
        answer=OwnEntries,
        tool=OfferedTool("recall", read_only=True, idempotent=True),
    )
    async def recall_own_entries(
        self,
        request: Request,
        query: Annotated[str, Query(max_length=MAX_QUERY_CHARS, description="Words to look for; empty: newest.")] = "",
        limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum number of entries.")] = 20,
    ) -> Any:
        """Recall what this token has stored: the entries that share most words with `query`, best first.

        Entries of other tokens and of chats are not among them.
        """
        return OwnEntries(tuple(await self._own(request).recall(query, limit)))

    @operation(
        "POST",
        "/api/memory/own/entries",
        scope="send",
        extension=True,
        once=True,
        problems=("validation-failed",),
        status=201,
        answer=MemoryEntry,
        tool=OfferedTool("remember", idempotent=True),
        responses={200: {"model": MemoryEntry, "description": "The entry replaced an existing one."}},
    )
    async def remember_own_entry(self, request: Request, body: OwnEntry, response: Response) -> Any:
        """Store an entry for this token, or replace the one with the same key.

        Other tokens, and chats, do not see it.
        """
        entry, is_new = await self._own(request).remember(body.key, body.value, body.tags)
        return self._stored(response, entry, is_new=is_new)

    @operation(
        "POST",
        "/api/memory",
        scope="run",
        once=True,
        problems=("validation-failed", "conflict"),
        status=201,
        answer=MemoryEntry,
        responses={
            200: {"model": MemoryEntry, "description": "The entry replaced an existing one, which can be restored."}
        },
    )
    async def set_memory_entry(self, body: NewEntry, response: Response) -> Any:
        """Store an entry, or replace the one with the same key."""
        entry, is_new = await self._memory.set(body.draft(), _US, if_absent=body.if_absent)
        return self._stored(response, entry, is_new=is_new)

    @operation(
        "POST",
        "/api/memory/decay",
        scope="run",
        once=True,
        problems=("validation-failed",),
        answer=DecayReport,
    )
    async def decay_memory(self, body: Decay | None = None) -> Any:
        """Remove expired entries and those below the threshold; they can be restored."""
        wish = body or Decay()
        return await self._memory.decay(
            DASHBOARD.name, dry_run=wish.dry_run, threshold=wish.threshold, half_life_days=wish.half_life_days
        )

    @operation("GET", "/api/memory/{key}", problems=("not-found", "validation-failed"), answer=MemoryEntry)
    async def get_memory_entry(
        self,
        key: str,
        response: Response,
        touch: Annotated[bool, Query(description="Count this as a use, which resets the decay.")] = False,
    ) -> Any:
        """Get an entry."""
        return self._answer(response, await self._memory.get(key, touch=touch))

    @operation(
        "DELETE",
        "/api/memory/{key}",
        scope="run",
        problems=("not-found", "precondition-failed"),
    )
    async def delete_memory_entry(self, request: Request, key: str) -> None:
        """Delete an entry; it can be restored for 30 days. `If-Match` is supported."""
        entry = await self._memory.get(key)
        check_unchanged(request, _version(entry))
        await self._memory.delete(key, _US, updated_at=entry.updated_at)

    @operation(
        "POST",
        "/api/memory/{key}/restore",
        scope="run",
        extension=True,
        problems=("not-found",),
        answer=MemoryEntry,
    )
    async def restore_memory_entry(
        self, key: Annotated[str, Path(description="Key of the removed or replaced entry.")], response: Response
    ) -> Any:
        """Restore the entry that was last removed or replaced under a key."""
        return self._answer(response, await self._memory.restore(key, _US))

    def _own(self, request: Request) -> AgentEntries:
        return AgentEntries(self._memory, request.scope["tocsin.user"])

    def _stored(self, response: Response, entry: MemoryEntry, *, is_new: bool) -> Any:
        response.status_code = 201 if is_new else 200
        response.headers["Location"] = f"/api/memory/{entry.key}"
        return self._answer(response, entry)

    def _answer(self, response: Response, entry: MemoryEntry) -> Any:
        return tag(response, entry, _version(entry))


def _version(entry: MemoryEntry) -> object:
    return {name: value for name, value in to_json(entry).items() if name not in _PASSING}


OPERATIONS = operations_of("memory", MemoryRoutes)
