"""The store of memory: entries, the index of words, and the index of parts for languages without spaces."""

import base64
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from typing import Annotated, Any, NamedTuple

from tocsin.core.pages import ListPage
from tocsin.core.storage.database import Database
from tocsin.core.storage.store_methods import reads, writes
from tocsin.features.memory.model import (
    DAY_S,
    FADING_BELOW,
    UNDO_DAYS,
    EntryChangedError,
    EntryExistsError,
    InvalidEntryError,
    MemoryEntry,
    UnknownEntryError,
    compute_strength,
    half_lives_until,
)
from tocsin.features.memory.query import IndexQuery
from tocsin.features.memory.tables.rows import (
    LIVE,
    EntryFilter,
    build_conditions,
    clear,
    find,
    from_row,
    known,
    like,
    move_scope,
    numbers,
    put,
)
from tocsin.features.memory.tables.stats import MemoryStats, read_stats


def make_cursor(sort: str, place: Any, at: float, last: int) -> str:
    """Return the cursor after a row: its sort key, the start time of the listing, and the ID of the row."""
    return base64.urlsafe_b64encode(json.dumps([sort, place, at, last]).encode()).decode().rstrip("=")


def parse_cursor(cursor: str, sort: str) -> tuple[Any, float, int]:
    """Parse a cursor; raises InvalidEntryError for a cursor of another listing."""
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        found, place, at, last = json.loads(raw)
        usable = found == sort and isinstance(place, str if sort == "key" else float | int)
        if usable and isinstance(at, float) and isinstance(last, int):
            return place, at, last
    except (ValueError, TypeError, RecursionError):
        pass
    raise InvalidEntryError("the cursor does not belong to this listing", hint="begin with the first page")


MAX_PAGE = 200
MAX_KEYS_TOLD = 200
# How many of the best by rank are scored by strength, before all are.
STEPS = (250, 2_000)
SORTS = ("updated_at", "strength", "key")


class Scored(NamedTuple):
    """The row ID of an entry, and its score."""

    id: int
    score: float


class Decayed(NamedTuple):
    """The result of a decay."""

    evaluated: int
    fading: int
    removed: int
    removed_keys: Annotated[tuple[str, ...], "Removed keys, at most 200."]


# The number of half-lives since an entry was last accessed.
_HALF_LIVES = (
    "CASE WHEN e.pinned OR e.half_life_days IS NULL THEN 0.0 ELSE"
    f" max(:now - e.last_accessed_at, 0.0) / {DAY_S} / (coalesce(:half_life, e.half_life_days) * (0.5 + e.importance))"
    " END"
)
_ORDERS = {"updated_at": "-e.updated_at", "strength": f"({_HALF_LIVES})", "key": "e.key"}


class MemoryStore:
    """The entries of all scopes, shared by all processes."""

    def __init__(self, database: Database, steps: Sequence[int] = STEPS) -> None:
        """`steps` are the numbers of best-ranked entries that a search reads, first and in each further step."""
        self._database = database
        self._steps = steps

    @property
    def may_exist(self) -> bool:
        """Whether there may be entries; a query would create the database."""
        return self._database.path.exists()

    @writes
    def put(self, connection: sqlite3.Connection, entry: MemoryEntry, *, if_absent: bool = False) -> MemoryEntry | None:
        """Store an entry; return the one that it replaced. Raises EntryExistsError with `if_absent`."""
        before = find(connection, entry.key, entry.updated_at)
        if before and if_absent:
            raise EntryExistsError(f"entry {entry.key} already exists", hint="choose another key, or replace it")
        stored = replace(entry, created_at=before.created_at, access_count=before.access_count) if before else entry
        put(connection, stored, entry.updated_at)
        return before

    @writes
    def put_all(
        self, connection: sqlite3.Connection, entries: Sequence[MemoryEntry], now: float, *, overwrite: bool
    ) -> tuple[int, int, int]:
        """Store all entries or none; return the numbers of new, replaced and skipped entries."""
        counts = [0, 0, 0]
        for entry in entries:
            there = find(connection, entry.key, now) is not None
            counts[0 if not there else 1 if overwrite else 2] += 1
            if overwrite or not there:
                put(connection, entry, now)
        return counts[0], counts[1], counts[2]

    @writes
    def add_numbered(self, connection: sqlite3.Connection, entry: MemoryEntry, most: int) -> MemoryEntry:
        """Store an entry under its key with the next free number; raises InvalidEntryError for more than `most`."""
        count, highest = numbers(connection, entry.key, entry.scope)
        if count >= most:
            raise InvalidEntryError(
                f"this chat already has the maximum of {count:,} entries", hint="delete some with /forget"
            )
        numbered = replace(entry, key=f"{entry.key}:{highest + 1}")
        put(connection, numbered, entry.updated_at)
        return numbered

    async def move_scope(self, old: str, new: str) -> int:
        """Move the entries of a scope to another one; return how many."""
        return await self._database.write(lambda connection: move_scope(connection, old, new))

    async def get(self, key: str, now: float) -> MemoryEntry:
        """Return one entry; raises UnknownEntryError."""
        return await self._database.read(lambda connection: known(connection, key, now))

    async def touch(self, keys: Sequence[str], now: float) -> None:
        """Record access to entries, which restores their full strength."""
        sql = (
            "UPDATE memory_entries SET access_count = access_count + 1, last_accessed_at = max(last_accessed_at, ?)"
            " WHERE key = ? AND removed_at IS NULL"
        )
        await self._database.execute_many(sql, [[now, key] for key in keys])

    @writes
    def remove(
        self, connection: sqlite3.Connection, key: str, now: float, scope: str = "", updated_at: float | None = None
    ) -> MemoryEntry:
        """Remove an entry so that it can be restored; with `scope`, an entry of another scope counts as unknown.

        Raises EntryChangedError if its last change was not at `updated_at`.
        """
        entry = known(connection, key, now, scope)
        if updated_at not in {None, entry.updated_at}:
            raise EntryChangedError(f"entry {key} was changed concurrently", hint="read it again")
        connection.execute("UPDATE memory_entries SET removed_at = ? WHERE key = ? AND removed_at IS NULL", [now, key])
        return entry

    @writes
    def restore(self, connection: sqlite3.Connection, key: str, now: float) -> MemoryEntry:
        """Restore the entry of a key that was last removed or replaced, at full strength and without expiry.

        An entry that has the key now is replaced, and can itself be restored.
        """
        row = connection.execute(_LAST_REMOVED, [key, now - UNDO_DAYS * DAY_S]).fetchone()
        if row is None:
            raise UnknownEntryError(
                f"no entry {key[:128]!r} was removed or replaced in the last {UNDO_DAYS} days", hint="check the key"
            )
        clear(connection, key, now)
        connection.execute(_RESTORE, {"now": now, "id": row["id"]})
        return known(connection, key, now)

    @writes
    def pin(self, connection: sqlite3.Connection, key: str, now: float, *, pinned: bool) -> MemoryEntry:
        """Pin an entry, or let it fade again from now on."""
        known(connection, key, now)
        connection.execute(
            "UPDATE memory_entries SET pinned = ?, updated_at = ?, last_accessed_at = max(last_accessed_at, ?)"
            " WHERE key = ? AND removed_at IS NULL",
            [pinned, now, now, key],
        )
        return known(connection, key, now)

    @reads
    def listing(
        self, connection: sqlite3.Connection, wanted: EntryFilter, now: float, *, sort: str, limit: int, cursor: str
    ) -> ListPage[MemoryEntry]:
        """Return one page; `cursor` comes from the previous page. Raises InvalidEntryError for a foreign cursor."""
        order, limit = _ORDERS[sort], max(1, min(limit, MAX_PAGE))
        place, at, after = parse_cursor(cursor, sort) if cursor else (None, now, 0)
        conditions, values = build_conditions(wanted)
        beyond = f"AND ({order}, e.id) > (:place, :after)" if cursor else ""
        sql = (
            f"SELECT e.*, {order} AS place FROM memory_entries e WHERE {LIVE} AND {conditions} {beyond}"  # noqa: S608  # our own words
            f" ORDER BY {order}, e.id LIMIT :limit"
        )
        values |= {"now": at, "half_life": None, "place": place, "after": after, "limit": limit + 1}
        rows = connection.execute(sql, values).fetchall()
        last = rows[limit - 1] if len(rows) > limit else None
        following = make_cursor(sort, last["place"], at, last["id"]) if last else None
        return ListPage(tuple(from_row(row, now) for row in rows[:limit]), following)

    async def count(self, wanted: EntryFilter, now: float) -> int:
        conditions, values = build_conditions(wanted)
        sql = f"SELECT count(*) FROM memory_entries e WHERE {LIVE} AND {conditions}"  # noqa: S608  # our own words
        return await self._database.read(lambda c: int(c.execute(sql, {**values, "now": now}).fetchone()[0]))

    @reads
    def search(
        self, connection: sqlite3.Connection, query: IndexQuery, wanted: EntryFilter, now: float, limit: int
    ) -> list[Scored]:
        """Return the best matches by rank in the index times strength."""
        conditions, values = build_conditions(wanted)
        sql = _search_sql(query, conditions)
        values |= {"now": now, "match": query.match}
        values |= {f"scanned{number}": like(term) for number, term in enumerate(query.scanned)}
        if query.match and not query.scanned:
            ranked = [(row[0], row[1]) for row in connection.execute(_ranked_sql(query, self._steps[-1]), values)]
            for end in self._steps:
                fits = dict(ranked[:end])
                best = _best_weighted(_read_weights(connection, fits, conditions, values), now, limit, fits)
                # Entries after these rank no better than the last of them, and strength never increases a rank.
                if len(ranked) < end or (len(best) == limit and best[-1].score >= ranked[end - 1][1]):
                    return best
        return _best_weighted(connection.execute(sql, values), now, limit)

    async def related(self, pairs: Sequence[str], wanted: EntryFilter, now: float, limit: int) -> list[Scored]:
        """Return the entries with the most of the given pairs of characters, weighted by strength."""
        conditions, values = build_conditions(wanted)
        found = " + ".join(f"(instr(e.value, :pair{number}) > 0)" for number in range(len(pairs)))
        sql = (
            f"SELECT {_WEIGHT}, {found} AS fit FROM memory_entries e"  # noqa: S608  # our own words
            f" WHERE e.unspaced AND {LIVE} AND {conditions} AND fit > 0 ORDER BY fit DESC LIMIT {self._steps[0]}"
        )
        values |= {"now": now, **{f"pair{number}": pair for number, pair in enumerate(pairs)}}
        return await self._database.read(lambda connection: _best_weighted(connection.execute(sql, values), now, limit))

    async def by_ids(self, ids: Sequence[int], now: float) -> dict[int, MemoryEntry]:
        """Return the existing entries of these rows."""
        sql = f"SELECT * FROM memory_entries WHERE id IN ({', '.join('?' * len(ids))})"  # noqa: S608  # marks only
        return await self._database.read(lambda c: {row["id"]: from_row(row, now) for row in c.execute(sql, list(ids))})

    async def decay(
        self, now: float, threshold: float, half_life_days: float | None, *, dry_run: bool, wait_s: float = 0.0
    ) -> Decayed | None:
        """Remove faded or expired entries; `None` if the last decay was less than `wait_s` ago."""
        values = {
            "now": now,
            "half_life": half_life_days,
            "faded": half_lives_until(threshold),
            "fading": half_lives_until(FADING_BELOW),
        }

        def look(connection: sqlite3.Connection) -> Decayed:
            evaluated, fading, removed = connection.execute(_LOOK, values).fetchone()
            keys = [row["key"] for row in connection.execute(f"{_FADED_KEYS} LIMIT {MAX_KEYS_TOLD}", values)]
            return Decayed(evaluated, fading, removed, tuple(keys))

        def work(connection: sqlite3.Connection) -> Decayed | None:
            last = connection.execute("SELECT decayed_at FROM memory_decays").fetchone()
            if last and wait_s and now - last["decayed_at"] < wait_s:
                return None
            seen = look(connection)
            connection.execute(_REMOVE_FADED, values)
            connection.execute("INSERT OR REPLACE INTO memory_decays VALUES (1, ?, ?)", [now, seen.removed])
            return seen

        return await (self._database.read(look) if dry_run else self._database.write(work))

    async def forget_removed(self, now: float) -> int:
        """Permanently delete entries that were removed before the undo period; return how many."""
        sql = "DELETE FROM memory_entries WHERE removed_at <= ?"
        return await self._database.execute(sql, [now - UNDO_DAYS * DAY_S])

    async def stats(self, now: float) -> MemoryStats:
        return await self._database.read(lambda connection: read_stats(connection, now))


_WEIGHT = "e.id, e.pinned, e.half_life_days, e.importance, e.last_accessed_at"
# The planner prefers the table, most of which is texts.
_BY_WEIGHT = "INDEXED BY memory_entries_weight"
_LAST_REMOVED = (
    "SELECT id FROM memory_entries WHERE key = ? AND removed_at > ? ORDER BY removed_at DESC, id DESC LIMIT 1"
)
_RESTORE = """
    UPDATE memory_entries SET removed_at = NULL, last_accessed_at = max(last_accessed_at, :now),
        expires_at = CASE WHEN expires_at > :now THEN expires_at END
    WHERE id = :id
"""
_IS_FADED = f"e.removed_at IS NULL AND (e.expires_at <= :now OR {_HALF_LIVES} > :faded)"
_LOOK = f"""
    SELECT count(*), coalesce(sum({_HALF_LIVES} > :fading AND NOT coalesce({_IS_FADED}, FALSE)), 0),
        coalesce(sum({_IS_FADED}), 0)
    FROM memory_entries e WHERE e.removed_at IS NULL
"""  # noqa: S608  # our own words
_FADED_KEYS = f"SELECT e.key FROM memory_entries e WHERE {_IS_FADED} ORDER BY e.id"  # noqa: S608  # our own words
_REMOVE_FADED = f"UPDATE memory_entries AS e SET removed_at = :now WHERE {_IS_FADED}"  # noqa: S608  # our own words


def _search_sql(query: IndexQuery, conditions: str) -> str:
    scanned = "".join(
        f" AND (e.key || ' ' || e.value || ' ' || e.tags) LIKE :scanned{number} ESCAPE '\\'"
        for number in range(len(query.scanned))
    )
    if not query.match:
        return (
            f"SELECT {_WEIGHT}, 1.0 AS fit FROM memory_entries e"  # noqa: S608  # our own words
            f" WHERE e.unspaced AND {LIVE} AND {conditions}{scanned}"
        )
    index = "memory_pieces" if query.pieces else "memory_words"
    return (
        f"SELECT {_WEIGHT}, -bm25({index}) AS fit FROM {index} JOIN memory_entries e {_BY_WEIGHT}"  # noqa: S608  # our own words
        f" ON e.id = {index}.rowid WHERE {index} MATCH :match AND {LIVE} AND {conditions}{scanned}"
    )


def _ranked_sql(query: IndexQuery, limit: int) -> str:
    index = "memory_pieces" if query.pieces else "memory_words"
    return (
        f"SELECT rowid AS id, -bm25({index}) AS fit FROM {index} WHERE {index} MATCH :match"  # noqa: S608  # our own words
        f" ORDER BY fit DESC LIMIT {limit}"
    )


def _read_weights(
    connection: sqlite3.Connection, ids: Iterable[int], conditions: str, values: Mapping[str, Any]
) -> list[sqlite3.Row]:
    """Return the columns for the strength of the entries that are live and match."""
    sql = (
        f"SELECT {_WEIGHT} FROM memory_entries e {_BY_WEIGHT}"  # noqa: S608  # our own words
        f" WHERE e.id IN (SELECT value FROM json_each(:ids)) AND {LIVE} AND {conditions}"
    )
    return connection.execute(sql, {**values, "ids": json.dumps(list(ids))}).fetchall()


def _best_weighted(
    rows: Iterable[sqlite3.Row], now: float, limit: int, fits: Mapping[int, float] | None = None
) -> list[Scored]:
    """Return the best by fit times strength; rows have the columns of `_WEIGHT`, and the fit if `fits` is `None`."""
    weighed = (
        ((fits[row[0]] if fits else row[5]) * compute_strength(row[1], row[2], row[3], now - row[4]), row[0])
        for row in rows
    )
    return [Scored(id_, score) for score, id_ in nlargest(limit, weighed)]
