"""Statistics of memory."""

import json
import sqlite3
from collections import Counter
from typing import Any

from tocsin.core.time.timestamps import timestamp
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


def read_stats(connection: sqlite3.Connection, now: float) -> dict[str, Any]:
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
    return {
        "count": totals["count"],
        "bytes": totals["bytes"],
        "pinned": totals["pinned"],
        "by_type": dict(types.most_common()),
        "by_tag": dict(tags.most_common(_TAGS_SHOWN)),
        "strength_histogram": bins,
        "fading": states[EntryState.FADING] + states[EntryState.FADED],
        "newest_at": timestamp(totals["newest"]),
        "oldest_at": timestamp(totals["oldest"]),
        "last_decay": {"at": timestamp(last["decayed_at"]), "removed": last["removed"]} if last else None,
    }
