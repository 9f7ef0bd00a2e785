"""Entries of memory as rows of the database."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tocsin.features.memory.model import EntrySource, EntryType, MemoryEntry, UnknownEntryError
from tocsin.features.memory.query import is_unspaced

LIVE = "e.removed_at IS NULL AND (e.expires_at IS NULL OR e.expires_at > :now)"

_PLAIN = (  # fields of an entry whose columns have their names and values
    "key", "value", "scope", "importance", "half_life_days", "access_count", "last_accessed_at", "created_at",
    "updated_at", "expires_at",
)  # fmt: skip
MAX_KEPT = 20  # removed entries per key that can be restored, one after the other
_FORGET_OLDEST = """
    DELETE FROM memory_entries WHERE id IN (
        SELECT id FROM memory_entries WHERE key = ? AND removed_at IS NOT NULL
        ORDER BY removed_at DESC, id DESC LIMIT -1 OFFSET ?
    )
"""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EntryFilter:
    """A filter of entries; an empty field does not restrict them."""

    scopes: Sequence[str] = ()
    tag: str = ""
    type: EntryType | None = None
    text: str = ""  # a part of key or value


def build_conditions(wanted: EntryFilter) -> tuple[str, dict[str, Any]]:
    """Return the SQL conditions of a filter and their parameters."""
    scopes = {f"scope{number}": scope for number, scope in enumerate(wanted.scopes)}
    conditions = [f"e.scope IN ({', '.join(f':{name}' for name in scopes)})"] if scopes else []
    values: dict[str, Any] = dict(scopes)
    if wanted.tag:
        conditions.append("EXISTS (SELECT 1 FROM json_each(e.tags) WHERE json_each.value = :tag)")
        values["tag"] = wanted.tag
    if wanted.type:
        conditions.append("e.type = :type")
        values["type"] = wanted.type
    if wanted.text:
        conditions.append("(e.key LIKE :text ESCAPE '\\' OR e.value LIKE :text ESCAPE '\\')")
        values["text"] = like(wanted.text)
    return " AND ".join(conditions) or "TRUE", values


def like(text: str) -> str:
    """Return the LIKE pattern for texts that contain a text."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def numbers(connection: sqlite3.Connection, prefix: str, scope: str) -> tuple[int, int]:
    """Return the number of live entries of a scope, and the highest number after `prefix` that was ever used."""
    rows = connection.execute("SELECT key, removed_at FROM memory_entries WHERE scope = ?", [scope]).fetchall()
    tails = [row["key"].removeprefix(f"{prefix}:") for row in rows]
    numbers = [int(tail) for tail in tails if tail.isascii() and tail.isdigit() and len(tail) < 10]
    return sum(row["removed_at"] is None for row in rows), max(numbers, default=0)


def put(connection: sqlite3.Connection, entry: MemoryEntry, now: float) -> None:
    """Store an entry, replacing any other with its key."""
    before = find(connection, entry.key, now)
    clear(connection, entry.key, now, keep=before is not None and _content(before) != _content(entry))
    row = to_row(entry)
    names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
    connection.execute(f"INSERT INTO memory_entries ({names}) VALUES ({marks})", row)  # noqa: S608  # our own names


def clear(connection: sqlite3.Connection, key: str, now: float, *, keep: bool = True) -> None:
    """Clear a key; its entry can be restored, unless it is live and `keep` is False.

    At most `MAX_KEPT` earlier entries of a key are retained.
    """
    if not keep:
        sql = f"DELETE FROM memory_entries AS e WHERE e.key = :key AND {LIVE}"  # noqa: S608  # our own words
        connection.execute(sql, {"key": key, "now": now})
    sql = "UPDATE memory_entries SET removed_at = ? WHERE key = ? AND removed_at IS NULL"
    if connection.execute(sql, [now, key]).rowcount:
        connection.execute(_FORGET_OLDEST, [key, MAX_KEPT])


def move_scope(connection: sqlite3.Connection, old: str, new: str) -> int:
    """Move the entries of a scope, including removed ones, to another one, with its keys; return how many."""
    found = connection.execute("SELECT * FROM memory_entries WHERE scope = ? ORDER BY id", [old]).fetchall()
    taken = {row["key"] for row in connection.execute("SELECT key FROM memory_entries WHERE scope = ?", [new])}
    _, highest = numbers(connection, new, new)
    keys: dict[str, str] = {}
    for key in dict.fromkeys(row["key"] for row in found):
        keys[key] = new + key.removeprefix(old) if key.startswith(f"{old}:") else key
        if keys[key] in taken:
            highest += 1
            keys[key] = f"{new}:{highest}"
        taken.add(keys[key])
    # Deleted and inserted, so that the triggers keep the index of words.
    connection.execute("DELETE FROM memory_entries WHERE scope = ?", [old])
    for row in found:
        moved = {**{name: row[name] for name in row.keys() if name != "id"}, "key": keys[row["key"]], "scope": new}  # noqa: SIM118  # a row is no mapping
        names, marks = ", ".join(moved), ", ".join(f":{name}" for name in moved)
        connection.execute(f"INSERT INTO memory_entries ({names}) VALUES ({marks})", moved)  # noqa: S608  # our own names
    return len(found)


def _content(entry: MemoryEntry) -> tuple[object, ...]:
    """Return the content of an entry that a replacement loses."""
    return entry.value, entry.tags, entry.type, entry.scope


def find(connection: sqlite3.Connection, key: str, now: float, scope: str = "") -> MemoryEntry | None:
    """Return an entry; with `scope`, `None` for an entry of another scope."""
    sql = f"SELECT * FROM memory_entries e WHERE e.key = :key AND {LIVE}"  # noqa: S608  # our own words
    row = connection.execute(sql, {"key": key, "now": now}).fetchone()
    return from_row(row, now) if row and scope in {"", row["scope"]} else None


def known(connection: sqlite3.Connection, key: str, now: float, scope: str = "") -> MemoryEntry:
    """Return an entry as `find` does; raises UnknownEntryError."""
    entry = find(connection, key, now, scope)
    if entry is None:
        raise UnknownEntryError(
            f"unknown entry: {key[:128]!r}",
            hint="`tocsin memory search` finds entries, `tocsin memory list` lists them",
        )
    return entry


def to_row(entry: MemoryEntry) -> Mapping[str, Any]:
    tags = json.dumps(entry.tags, ensure_ascii=False)
    unspaced = is_unspaced(entry.value) or is_unspaced(tags)
    own = {"type": entry.type, "source": entry.source, "pinned": entry.pinned, "tags": tags, "unspaced": unspaced}
    return {**{name: getattr(entry, name) for name in _PLAIN}, **own}


def from_row(row: sqlite3.Row, now: float) -> MemoryEntry:
    return MemoryEntry(
        **{name: row[name] for name in _PLAIN},
        type=EntryType(row["type"]),
        tags=tuple(json.loads(row["tags"])),
        source=EntrySource(row["source"]),
        pinned=bool(row["pinned"]),
        read_at=now,
    )
