"""Search the queue in SQLite, with the index chosen here instead of by the planner.

The planner does not know frequencies: for `status = 'sent'` and a time it would sort a million rows.
"""

import json
import re
import sqlite3

from tocsin.core.pages import ListPage
from tocsin.core.text.strings import storable
from tocsin.delivery.model import CONTENT, KEPT_FILES, Delivery, DeliveryStatus
from tocsin.delivery.sqlite.lanes import to_delivery
from tocsin.delivery.sqlite.schema import HAS_FILES
from tocsin.delivery.store import DeliveryFilter, search_words

_NEVER = 2**63 - 1
_FIRST_SINCE = (
    "coalesce((SELECT min(seq) FROM deliveries INDEXED BY deliveries_created WHERE created_at >= ?),"
    " 9223372036854775807)"
)
_FIRST_OF_STATUS = (
    "coalesce((SELECT min(seq) FROM deliveries INDEXED BY deliveries_status WHERE status = ?), 9223372036854775807)"
)


def index_words(connection: sqlite3.Connection, limit: int) -> int:
    """Index the words of up to `limit` new deliveries; return how many."""
    (up_to,) = connection.execute("SELECT up_to FROM words_indexed WHERE rowid = 1").fetchone()
    rows = connection.execute(
        "SELECT seq, message, target FROM deliveries WHERE seq > ? ORDER BY seq LIMIT ?", [up_to, limit]
    ).fetchall()
    connection.executemany("INSERT INTO delivery_words (rowid, message, target) VALUES (?, ?, ?)", rows)
    if rows:
        connection.execute("UPDATE words_indexed SET up_to = ? WHERE rowid = 1", [rows[-1]["seq"]])
    return len(rows)


def search(connection: sqlite3.Connection, query: DeliveryFilter) -> ListPage[Delivery]:
    """Return the matching deliveries, newest first; `next_cursor` is the number of the last one."""
    limit = max(1, query.limit)
    words = _words(query.text)
    place, source = "d.seq", f"deliveries d {_index(query)}"
    if words:
        place, source = "w.rowid", "delivery_words w CROSS JOIN deliveries d ON d.seq = w.rowid"
    tests: list[tuple[str, object]] = [
        ("w.delivery_words MATCH ?", words),
        ("d.status = ?", query.status),
        # A rare state has few old deliveries: the words need not be searched further back than the oldest of them.
        (f"{place} >= {_FIRST_OF_STATUS}", query.status if words and query.status is not DeliveryStatus.SENT else None),
        ("d.channel = ?", storable(query.channel)),
        ("d.target = ?", storable(query.target)),
        ("d.key <> '' AND d.key = ?", storable(query.key)),
        # The second condition only bounds the range: if the clock was set back, it admits too many.
        ("+d.created_at >= ?", query.since),
        (f"{place} >= {_FIRST_SINCE}", query.since),
        ("d.dismissed = ?", 0 if query.undismissed else None),
        (f"{place} < ?", _place(query.cursor)),
    ]
    used = [(sql, value) for sql, value in tests if value not in (None, "")]
    where = " AND ".join(sql for sql, _ in used) or "1"
    rows = connection.execute(
        f"SELECT d.* FROM {source} WHERE {where} ORDER BY {place} DESC LIMIT ?",  # noqa: S608  # constants alone
        [*(value for _, value in used), limit + 1],
    ).fetchall()
    more = len(rows) > limit
    rows = rows[:limit]
    return ListPage([to_delivery(row) for row in rows], str(rows[-1]["seq"]) if more else None)


def _index(query: DeliveryFilter) -> str:
    """Return the hint for the index with the fewest rows; nearly all deliveries are `sent`."""
    if query.key:
        return "INDEXED BY deliveries_key"  # has only deliveries with a key
    if query.status not in {None, DeliveryStatus.SENT}:
        return "INDEXED BY deliveries_status"
    if query.target:
        return "INDEXED BY deliveries_target"
    if query.status:
        return "INDEXED BY deliveries_status"
    return "INDEXED BY deliveries_channel" if query.channel else "NOT INDEXED"


def _place(cursor: str) -> int | None:
    return min(int(cursor), _NEVER) if re.fullmatch(r"[0-9]{1,30}", cursor) else None


def _words(text: str) -> str:
    """Return a full-text query for the words of `text`, at most MAX_WORDS.

    Words of two or more characters match as prefixes. Punctuation inside a word, as in an address, separates it into
    two words that must be adjacent.
    """
    words = storable(text).replace('"', " ").replace("\0", " ").split()
    # The index contains letters and digits only; punctuation alone would match nothing.
    terms = [f'"{word}"{"*" if len(word) > 1 else ""}' for word in words if any(map(str.isalnum, word))]
    return " AND ".join(search_words(terms))


def needed_files(connection: sqlite3.Connection, since: float) -> frozenset[str]:
    """Return the hashes as `DeliveryStore.needed_files` does."""
    sql = (
        f"SELECT extra FROM deliveries INDEXED BY deliveries_files WHERE {HAS_FILES}"  # noqa: S608  # a text of our own
        " AND (finished_at IS NULL OR finished_at > ?)"
    )
    extras = (json.loads(extra) for (extra,) in connection.execute(sql, [since]))
    files = ((extra.get(CONTENT) or {}).get("attach") or extra.get(KEPT_FILES) or () for extra in extras)
    return frozenset(str(each["hash"]) for some in files for each in some)
