"""The service of memory: store, find, remove, undo; each change writes one audit entry."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Annotated, ClassVar

from tocsin.core.audit.actions import AuditAction
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.pages import ListPage
from tocsin.core.records.marks import Flat
from tocsin.core.time.clock import Clock
from tocsin.features.memory.feature import MEMORY as DAILY
from tocsin.features.memory.feature import (
    MEMORY_DECAY,
    MEMORY_DELETE,
    MEMORY_IMPORT,
    MEMORY_MOVE,
    MEMORY_PIN,
    MEMORY_RESTORE,
    MEMORY_SET,
    MEMORY_UNPIN,
)
from tocsin.features.memory.model import (
    DAY_S,
    FADED_BELOW,
    EntryDraft,
    EntrySource,
    InvalidEntryError,
    MemoryEntry,
    make_entry,
    read_half_life,
    validate_draft,
)
from tocsin.features.memory.query import (
    MAX_QUERY_CHARS,
    MAX_TERMS,
    Snippet,
    build_query,
    find_snippet,
    related_query,
    split_pairs,
    split_terms,
)
from tocsin.features.memory.store import MAX_PAGE, SORTS, Decayed, MemoryStore, Scored
from tocsin.features.memory.tables.rows import EntryFilter
from tocsin.features.memory.tables.stats import MemoryStats

MAX_RELATED_CHARS = 4_000  # of a question
MAX_PER_CHAT = 1_000
EVERYTHING = EntryFilter()
NOT_HERE = "store it in the vault or in the settings"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MemoryCaller:
    """The caller of a change, for the audit log; `actor` is `chat:<id>` for a chat."""

    source: EntrySource
    actor: str = ""
    author: EntrySource | None = None  # of entries, if it is not `source`


@dataclass(frozen=True, slots=True)
class MemoryMatch:
    """Matching entry."""

    schema_name: ClassVar[str] = "MatchRecord"

    entry: MemoryEntry
    # Relative, because absolute scores depend on the number of entries.
    score: Annotated[float, "Relevance from 0 to 1, relative to the best result of this search."]
    snippet: Snippet


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Results of a search, best first."""

    schema_name: ClassVar[str] = "SearchRecord"

    items: tuple[MemoryMatch, ...]
    took_ms: int


@dataclass(frozen=True, slots=True)
class DecayReport:
    """Entries that were removed, or would be."""

    schema_name: ClassVar[str] = "DecayRecord"

    dry_run: bool
    found: Flat[Decayed]


class Memories:
    """The entries of one data directory."""

    def __init__(
        self,
        store: MemoryStore,
        audit: AuditTrail,
        clock: Clock,
        redact: Callable[[str], str],
        max_per_chat: int = MAX_PER_CHAT,
    ) -> None:
        """`redact` masks the secrets of the settings: a value that contains one is rejected."""
        self._store = store
        self._audit = audit
        self._clock = clock
        self._redact = redact
        self._max_per_chat = max_per_chat

    @property
    def may_exist(self) -> bool:
        """Whether there may be entries; a query would create the database."""
        return self._store.may_exist

    def now(self) -> float:
        """Return the current time of memory's clock."""
        return self._clock.now()

    async def set(
        self, draft: EntryDraft, caller: MemoryCaller, *, if_absent: bool = False
    ) -> tuple[MemoryEntry, bool]:
        """Store an entry; return it, and whether its key is new.

        Raises InvalidEntryError, and EntryExistsError with `if_absent`.
        """
        entry = self._made(draft, caller.author or caller.source)
        before = await self._store.put(entry, if_absent=if_absent)
        self._record(MEMORY_SET, "stored" if before is None else "replaced", entry, caller, created=before is None)
        return await self._store.get(entry.key, entry.updated_at) if before else entry, before is None

    async def add(self, draft: EntryDraft, caller: MemoryCaller) -> MemoryEntry:
        """Store an entry under its key with the next number; raises InvalidEntryError if a chat has too many."""
        entry = await self._store.add_numbered(self._made(draft, caller.source), self._max_per_chat)
        self._record(MEMORY_SET, "stored", entry, caller, created=True)
        return entry

    async def follow(self, old_scope: str, new_scope: str) -> None:
        """Move the entries of a chat whose ID changed to the new scope, with the keys of that scope."""
        if not self._store.may_exist or not (moved := await self._store.move_scope(old_scope, new_scope)):
            return
        facts = {"scope": new_scope, "previous_scope": old_scope, "entries": moved}
        detail = f"moved {moved} entries of {old_scope} to {new_scope}"
        self._audit.record(MEMORY_MOVE, detail, source=EntrySource.BOT, metadata=facts)

    async def get(self, key: str, *, touch: bool = False) -> MemoryEntry:
        """Return one entry; `touch` restores its full strength. Raises UnknownEntryError."""
        now = self._clock.now()
        entry = await self._store.get(key, now)
        if not touch:
            return entry
        await self._store.touch([key], now)
        return await self._store.get(key, now)

    async def listing(
        self, wanted: EntryFilter = EVERYTHING, *, sort: str = "updated_at", limit: int = 50, cursor: str = ""
    ) -> ListPage[MemoryEntry]:
        """Return one page of entries: the newest, the strongest, or the first by key."""
        if sort not in SORTS:
            raise InvalidEntryError(f"entries can be sorted by: {', '.join(SORTS)}")
        return await self._store.listing(wanted, self._clock.now(), sort=sort, limit=limit, cursor=cursor)

    async def count(self, wanted: EntryFilter = EVERYTHING) -> int:
        return await self._store.count(wanted, self._clock.now())

    async def search(self, query: str, wanted: EntryFilter = EVERYTHING, *, limit: int = 20) -> SearchResult:
        """Return the entries with all words of `query`, ranked by bm25 times strength; raises InvalidEntryError."""
        started = perf_counter()
        terms = split_terms(query)
        if not terms or len(query) > MAX_QUERY_CHARS or len(terms) > MAX_TERMS:
            wrong = "has no word to search for" if not terms else "is too long"
            hint = f"use 1 to {MAX_TERMS} words and at most {MAX_QUERY_CHARS:,} characters"
            raise InvalidEntryError(f"the query {wrong}", hint=hint)
        limit = max(1, min(limit, MAX_PAGE))
        found = await self._store.search(build_query(terms), wanted, self._clock.now(), limit)
        entries = await self._entries(found)
        # For 200 long entries, it takes seconds.
        snippets = await asyncio.to_thread(lambda: [find_snippet(entry.value, terms) for entry, _ in entries])
        best = max((score for _, score in entries), default=0.0)
        matches = (
            MemoryMatch(entry, round(score / best, 4) if best > 0 else 1.0, snippet)
            for (entry, score), snippet in zip(entries, snippets, strict=True)
        )
        return SearchResult(tuple(matches), round((perf_counter() - started) * 1000))

    async def related(self, text: str, scopes: Sequence[str], limit: int) -> list[MemoryEntry]:
        """Return the entries that share most with `text`, the best first, and restore their full strength."""
        now, wanted, text = self._clock.now(), EntryFilter(scopes), text[:MAX_RELATED_CHARS]
        by_words, pairs = related_query(text), split_pairs(text)
        found = await self._store.search(by_words, wanted, now, limit) if by_words.match else []
        found += await self._store.related(pairs, wanted, now, limit) if pairs else []
        scores: dict[int, float] = {}
        for one in found:
            scores[one.id] = scores.get(one.id, 0.0) + one.score
        best = sorted((Scored(*item) for item in scores.items()), key=lambda one: (-one.score, -one.id))[:limit]
        entries = [entry for entry, _ in await self._entries(best)]
        if entries:
            await self._store.touch([entry.key for entry in entries], now)
        return entries

    async def delete(
        self, key: str, caller: MemoryCaller, scope: str = "", *, updated_at: float | None = None
    ) -> MemoryEntry:
        """Remove an entry; `restore` undoes it. With `scope`, an entry of another scope counts as unknown.

        Raises UnknownEntryError, and EntryChangedError if its last change was not at `updated_at`.
        """
        entry = await self._store.remove(key, self._clock.now(), scope, updated_at)
        self._record(MEMORY_DELETE, "deleted", entry, caller)
        return entry

    async def restore(self, key: str, caller: MemoryCaller) -> MemoryEntry:
        """Restore the entry of a key that was last deleted, decayed or replaced; raises UnknownEntryError."""
        entry = await self._store.restore(key, self._clock.now())
        self._record(MEMORY_RESTORE, "restored", entry, caller)
        return entry

    async def pin(self, key: str, caller: MemoryCaller, *, pinned: bool) -> MemoryEntry:
        """Pin an entry, so that it does not fade, or let it fade again from now on."""
        entry = await self._store.pin(key, self._clock.now(), pinned=pinned)
        self._record(MEMORY_PIN if pinned else MEMORY_UNPIN, "pinned" if pinned else "unpinned", entry, caller)
        return entry

    async def decay(
        self,
        source: str,
        *,
        dry_run: bool = False,
        threshold: float = FADED_BELOW,
        half_life_days: float | None = None,
    ) -> DecayReport:
        """Remove entries weaker than `threshold`, and expired ones; `half_life_days` overrides that of each entry."""
        if not 0 <= threshold <= 1:
            raise InvalidEntryError("the threshold is a number from 0 to 1")
        try:
            half_life_days = None if half_life_days is None else read_half_life(half_life_days)
        except ValueError as error:
            raise InvalidEntryError(str(error)) from None
        found = await self._store.decay(self._clock.now(), threshold, half_life_days, dry_run=dry_run)
        assert found is not None  # noqa: S101  # only a daily decay may be too early
        if not dry_run:
            self._record_decay(found, threshold, source)
        return DecayReport(dry_run, found)

    async def decay_daily(self) -> None:
        """Remove faded entries once a day across all processes, and delete permanently those past the undo period."""
        now = self._clock.now()
        await self._store.forget_removed(now)
        found = await self._store.decay(now, FADED_BELOW, None, dry_run=False, wait_s=DAY_S)
        if found and found.removed:
            self._record_decay(found, FADED_BELOW, DAILY.name)

    async def stats(self) -> MemoryStats:
        return await self._store.stats(self._clock.now())

    async def export(self) -> AsyncIterator[MemoryEntry]:
        """Yield every entry by key."""
        cursor: str | None = ""
        while cursor is not None:
            page = await self.listing(sort="key", limit=MAX_PAGE, cursor=cursor)
            for entry in page.items:
                yield entry
            cursor = page.next_cursor

    async def import_all(self, entries: Sequence[MemoryEntry], source: str, *, overwrite: bool) -> tuple[int, int, int]:
        """Store all entries or none; return the numbers of new, replaced and skipped entries (existing keys)."""
        for entry in entries:
            self._refuse_secrets(entry.key, entry.value)
        added, replaced, kept = await self._store.put_all(entries, self._clock.now(), overwrite=overwrite)
        counts = {"added": added, "replaced": replaced, "kept": kept}
        detail = f"imported: {added} new, {replaced} replaced, {kept} kept"
        self._audit.record(MEMORY_IMPORT, detail, source=source, metadata=counts)
        return added, replaced, kept

    async def _entries(self, found: Sequence[Scored]) -> "list[tuple[MemoryEntry, float]]":
        rows = await self._store.by_ids([one.id for one in found], self._clock.now())
        return [(rows[one.id], one.score) for one in found if one.id in rows]

    def _made(self, draft: EntryDraft, source: EntrySource) -> MemoryEntry:
        draft, now = validate_draft(draft), self._clock.now()
        self._refuse_secrets(draft.key, draft.value, *draft.tags)
        if draft.expires_at is not None and draft.expires_at <= now:
            # Storing it would only hide the previous entry of its key.
            wrong = f"the expiry of entry {draft.key} is in the past"
            raise InvalidEntryError(wrong, hint="give a future time, or none", body_key="expires_at")
        return make_entry(draft, source, now)

    def _refuse_secrets(self, key: str, *texts: str) -> None:
        if any(self._redact(text) != text for text in (key, *texts)):
            wrong = f"entry {key} contains a secret, or a value that looks like a token"
            raise InvalidEntryError(wrong, hint=NOT_HERE, body_key="value")

    def _record(
        self, action: AuditAction, done: str, entry: MemoryEntry, caller: MemoryCaller, **facts: object
    ) -> None:
        metadata = {"key": entry.key, "scope": entry.scope, **facts}
        if caller.actor:
            metadata["actor"] = caller.actor
        self._audit.record(action, f"{done} {entry.key}", source=caller.source, metadata=metadata)

    def _record_decay(self, found: Decayed, threshold: float, source: str) -> None:
        detail = f"removed {found.removed} of {found.evaluated} entries"
        metadata = {"removed": found.removed, "threshold": threshold}
        self._audit.record(MEMORY_DECAY, detail, source=source, metadata=metadata)
