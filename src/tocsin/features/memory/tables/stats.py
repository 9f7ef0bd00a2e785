"""Statistics of memory."""

import json
import sqlite3
from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from tocsin.core.records.marks import Time
from tocsin.features.memory.model import EntryState, classify_strength, compute_strength
from tocsin.features.memory.tables.rows import LIVE

_TAGS_SHOWN = 20
_BINS = 10  # of the histogram; the last one includes full strength

_TOTALS = f"""
    SELECT count(*) AS count, coalesce(sum(length(CAST(e.value AS BLOB))), 0) AS bytes,
        coalesce(sum(e.pinned), 0) AS pinned, max(e.created_at) AS newest, min(e.created_at) AS oldest
    FROM memory_entries e WHERE {LIVE}
"""  # noqa: S608  # our own words
_EACH = (
    "SELECT e.type, e.tags, e.pinned, e.half_life_days, e.importance, e.last_accessed_at"  # noqa: S608  # our own words
    f" FROM memory_entries e WHERE {LIVE}"
)


@dataclass(frozen=True, slots=True)
class LastDecay:
    """Last removal of decayed entries."""

    at: Time
    removed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStats:
    """Statistics of memory."""

    count: int
    bytes: int
    pinned: int
    by_type: dict[str, int]
    by_tag: Annotated[dict[str, int], "The 20 most frequent tags."]
    strength_histogram: Annotated[list[int], "Ten bins, from 0 to 1."]
    fading: int
    newest_at: Time | None
    oldest_at: Time | None
    last_decay: LastDecay | None


def read_stats(connection: sqlite3.Connection, now: float) -> MemoryStats:
    """Return the numbers of entries, in total and by kind, and the histogram of strength."""
    totals = connection.execute(_TOTALS, {"now": now}).fetchone()
    types, tags, bins, states = Counter[str](), Counter[str](), [0] * _BINS, Counter[EntryState]()
    for type_, written, pinned, half_life, importance, accessed_at in connection.execute(_EACH, {"now": now}):
        strength = compute_strength(pinned, half_life, importance, now - accessed_at)
        types[type_] += 1
        tags.update(() if written == "[]" else json.loads(written))
        bins[min(int(strength * _BINS), _BINS - 1)] += 1
        states[classify_strength(strength)] += 1
    last = connection.execute("SELECT decayed_at, removed FROM memory_decays").fetchone()
    return MemoryStats(
        count=totals["count"],
        bytes=totals["bytes"],
        pinned=totals["pinned"],
        by_type=dict(types.most_common()),
        by_tag=dict(tags.most_common(_TAGS_SHOWN)),
        strength_histogram=bins,
        fading=states[EntryState.FADING] + states[EntryState.FADED],
        newest_at=totals["newest"],
        oldest_at=totals["oldest"],
        last_decay=LastDecay(last["decayed_at"], last["removed"]) if last else None,
    )
