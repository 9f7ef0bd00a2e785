"""Insert deliveries in SQLite: accepted ones, and the records of direct sends."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any

from tocsin.core.text.strings import storable
from tocsin.delivery.model import (
    IDEMPOTENCY_S,
    Delivery,
    DeliveryStatus,
    MessageOperation,
    NewDelivery,
    Policy,
    pack_extra,
)
from tocsin.delivery.sqlite import lanes
from tocsin.delivery.sqlite.lanes import Now, to_delivery

RECORD_CHUNK = 64  # rows per statement
_RECORD = tuple(Delivery.__slots__)
_EXTRA = _RECORD.index("extra")
_KEY, _CREATED, _FINISHED = (_RECORD.index(name) for name in ("idempotency_key", "created_at", "finished_at"))
_fields_of = attrgetter(*_RECORD)
_INSERT = f"INSERT OR IGNORE INTO deliveries ({', '.join(_RECORD)}) VALUES "  # noqa: S608  # names of our own
_ROW = f"({', '.join('?' * len(_RECORD))})"
_INSERT_AT = _INSERT.replace("(", "(seq, due_mono, ", 1) + _ROW.replace("(", "(?, ?, ", 1)

# The columns of a plain text, in the order of `_plain_row`. SQLite copies each bound value, and has the others as the
# defaults of their columns: half of the values are half of the time.
_PLAIN = (
    *("id", "channel", "target", "message", "source", "status", "policy", "created_at"),
    *("attempts", "parts_sent", "parts_total", "provider_id", "finished_at", "duration_ms"),
)
_INSERT_PLAIN = f"INSERT OR IGNORE INTO deliveries ({', '.join(_PLAIN)}) VALUES "  # noqa: S608  # names of our own
_PLAIN_ROW = f"({', '.join('?' * len(_PLAIN))})"
_others_of = attrgetter(*(name for name in _RECORD if name not in _PLAIN))
_NO_OTHERS = _others_of(Delivery("", "", "", "", "", DeliveryStatus.SENT, Policy.AT_MOST_ONCE, created_at=0.0))


def enqueue(connection: sqlite3.Connection, new: NewDelivery, now: Now) -> Delivery:
    """Accept one delivery; return the existing one for a known idempotency key."""
    delivery = new.accepted(now.wall)
    if (known := _known(connection, delivery.idempotency_key, now)) is not None:
        return to_delivery(known)
    if delivery.key:
        delivery = _take_place(connection, delivery, now)
    elif _is_plain(delivery):
        connection.execute(_statement(1, plain=True), _plain_row(delivery))
    else:
        connection.execute(_INSERT + _ROW, _values(delivery))
    if delivery.not_before is not None and delivery.not_before > now.wall:
        connection.execute("UPDATE deliveries SET asleep = 1 WHERE id = ?", [delivery.id])
    else:
        lanes.open_lane(connection, delivery.channel, delivery.target, now)
    return delivery


def _take_place(connection: sqlite3.Connection, delivery: Delivery, now: Now) -> Delivery:
    """Insert a delivery with a key, at the position and with the waits of the one that waits with the same key.

    One that may have been sent already keeps its place: the new one edits its message after it.
    """
    sql = (
        "SELECT d.*, d.seq <= (SELECT up_to FROM words_indexed WHERE rowid = 1) AS indexed"
        " FROM deliveries d INDEXED BY deliveries_key WHERE channel = ? AND target = ? AND key = ? AND key <> ''"
        " AND status IN ('queued', 'retry_wait') AND NOT (operation = 'send' AND error_class = 'ambiguous')"
        " ORDER BY seq LIMIT 1"
    )
    row = connection.execute(sql, [delivery.channel, delivery.target, delivery.key]).fetchone()
    if row is None:
        connection.execute(_INSERT + _ROW, _values(delivery))
        return delivery
    if row["indexed"]:
        words = "INSERT INTO delivery_words (delivery_words, rowid, message, target) VALUES ('delete', ?, ?, ?)"
        connection.execute(words, [row["seq"], row["message"], row["target"]])
    ending = DeliveryStatus.CANCELLED if delivery.operation is MessageOperation.WITHDRAW else DeliveryStatus.SUPERSEDED
    connection.execute(
        "UPDATE deliveries SET seq = (SELECT max(seq) + 1 FROM deliveries), status = ?, asleep = 0, finished_at = ?,"
        " next_attempt_at = NULL, note = ? WHERE seq = ?",
        [ending, now.wall, f"delivery {delivery.id} took its place", row["seq"]],
    )
    kept = {name: row[name] for name in ("failures", "next_attempt_at", "error", "error_class")}
    status = DeliveryStatus(row["status"])
    not_before = row["not_before"] if delivery.not_before is None else delivery.not_before
    delivery = replace(delivery, status=status, not_before=not_before, **kept)
    delivery = delivery.keeping(to_delivery(row).content.get("attach"))
    connection.execute(_INSERT_AT, [row["seq"], row["due_mono"], *_values(delivery)])
    if row["indexed"]:
        words = "INSERT INTO delivery_words (rowid, message, target) VALUES (?, ?, ?)"
        connection.execute(words, [row["seq"], delivery.message, delivery.target])
    return delivery


def record_all(connection: sqlite3.Connection, deliveries: Sequence[Delivery], now: Now) -> list[Exception | None]:
    """Insert finished deliveries; return the error of each, so that one does not affect the others."""
    outcomes: list[Exception | None] = []
    for at in range(0, len(deliveries), RECORD_CHUNK):
        chunk = deliveries[at : at + RECORD_CHUNK]
        if plain := all(each.finished_at is not None and _is_plain(each) for each in chunk):
            rows = list(map(_plain_row, chunk))
        else:
            rows = [_row_for(connection, delivery, now) for delivery in chunk]
        outcomes += _insert(connection, rows, plain=plain)
    return outcomes


def _insert(connection: sqlite3.Connection, rows: Sequence[Sequence[object]], *, plain: bool) -> list[Exception | None]:
    """Insert rows with one statement, during which other threads can run."""
    try:
        connection.execute(_statement(len(rows), plain=plain), list(chain.from_iterable(rows)))
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError, OverflowError) as error:
        if len(rows) == 1:
            return [error]
        return [outcome for row in rows for outcome in _insert(connection, [row], plain=plain)]
    return [None] * len(rows)


@cache
def _statement(rows: int, *, plain: bool) -> str:
    """Return the statement that inserts this number of rows."""
    head, row = (_INSERT_PLAIN, _PLAIN_ROW) if plain else (_INSERT, _ROW)
    return head + ", ".join([row] * rows)


def _is_plain(delivery: Delivery) -> bool:
    """Whether the delivery has only values for `_PLAIN`."""
    return bool(_others_of(delivery) == _NO_OTHERS)


def _plain_row(delivery: Delivery) -> Sequence[object]:
    """Return the values for `_PLAIN`; sqlite3 looks for an adapter of an enum, and not of a text."""
    return (
        delivery.id,
        storable(delivery.channel),
        storable(delivery.target),
        storable(delivery.message),
        storable(delivery.source),
        str(delivery.status),
        str(delivery.policy),
        delivery.created_at,
        delivery.attempts,
        delivery.parts_sent,
        delivery.parts_total,
        storable(delivery.provider_id),
        delivery.finished_at,
        delivery.duration_ms,
    )


def _row_for(connection: sqlite3.Connection, delivery: Delivery, now: Now) -> list[object]:
    # After a certain failure the same key may be used again.
    key = None if delivery.status is DeliveryStatus.DEAD else delivery.idempotency_key
    values = _values(delivery)
    values[_KEY] = None if _known(connection, key, now) else key
    if values[_FINISHED] is None:
        values[_FINISHED] = values[_CREATED]
    return [storable(value) if isinstance(value, str) else value for value in values]


def _values(delivery: Delivery) -> list[Any]:
    values = list(_fields_of(delivery))
    values[_EXTRA] = pack_extra(delivery.extra)
    return values


def _known(connection: sqlite3.Connection, key: str | None, now: Now) -> sqlite3.Row | None:
    """Return the delivery with this key, or free the key if it is too old."""
    if key is None:
        return None
    sql = "SELECT * FROM deliveries WHERE idempotency_key = ?"
    known: sqlite3.Row | None = connection.execute(sql, [key]).fetchone()
    if known is not None and known["created_at"] <= now.wall - IDEMPOTENCY_S:
        connection.execute("UPDATE deliveries SET idempotency_key = NULL WHERE seq = ?", [known["seq"]])
        return None
    return known


def insert_open(connection: sqlite3.Connection, delivery: Delivery, now: Now) -> None:
    """Insert an open delivery of another store after the existing ones, unless its ID is known."""
    values = _values(delivery)
    values[_KEY] = None if _known(connection, delivery.idempotency_key, now) else delivery.idempotency_key
    kept = [storable(value) if isinstance(value, str) else value for value in values]
    if not connection.execute(_INSERT + _ROW, kept).rowcount:
        return
    waits_s = 0.0 if delivery.next_attempt_at is None else max(0.0, delivery.next_attempt_at - now.wall)
    asleep = delivery.not_before is not None and delivery.not_before > now.wall
    sql = "UPDATE deliveries SET asleep = ?, due_mono = ? WHERE id = ?"
    connection.execute(sql, [asleep, now.mono + waits_s if waits_s else 0.0, delivery.id])
    if not asleep:
        lanes.open_lane(connection, delivery.channel, delivery.target, now)
        lanes.free_lane(connection, delivery.channel, delivery.target, now)
