"""The tables of notifications, shared by all processes."""

import re
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tocsin.core import short_ids
from tocsin.core.ids import new_id
from tocsin.core.pages import ListPage
from tocsin.core.storage.database import Database
from tocsin.core.storage.store_methods import reads, writes
from tocsin.features.context import Notice, NoticeLevel
from tocsin.features.notifications.model import (
    KEEP,
    KEEP_DAYS,
    MERGE_S,
    Notification,
    NotificationCategory,
    UnknownNotificationError,
    rank,
)

MAX_PAGE = 200
WINDOW_S = 60.0
REPEATED_AFTER_S = 3600.0

_COLUMNS = (
    "id, title, body, level, category, source, link, dedupe_key, created_at, last_at, read_at, count, told, "
    "told_count, run_id, step"
)


@dataclass(frozen=True, slots=True)
class NotificationFilter:
    """A search, restricted by every field that is set."""

    unread: bool = False
    level: NoticeLevel | None = None
    category: NotificationCategory | None = None
    limit: int = 50
    cursor: str = ""  # `next_cursor` of the previous page


class StoredNotice(NamedTuple):
    """The result of storing a notice: its notification, and whether it was merged with an earlier one."""

    notification: Notification
    merged: bool


class SentLately(NamedTuple):
    """The messages to the operator within the last minute, and whether a digest was among them."""

    messages: int
    digest: bool


class NotificationStore:
    """The notifications of a data directory."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, notice: Notice, now: float, *, forwarded: Collection[NoticeLevel]) -> StoredNotice:
        """Store a notice, or merge it with one of its key within 24 hours; levels in `forwarded` are forwarded."""
        return await self._database.write(lambda connection: _add(connection, notice, now, forwarded))

    async def close(self, notice: Notice, now: float) -> Notification | None:
        """Replace the newest notification of a key and source with a read one; `None` if there is none."""
        return await self._database.write(lambda connection: _close(connection, notice, now))

    async def get(self, text: str) -> Notification:
        """Return the only notification whose ID, or its last group, begins with `text`."""
        id_ = await self._whole_id(text)
        return await self._database.read(lambda connection: _find(connection, id_))

    async def _whole_id(self, text: str) -> str:
        async def find(texts: Sequence[str], limit: int) -> list[list[str]]:
            return await self._database.read(lambda c: short_ids.matching(c, "notifications", texts, limit))

        return await short_ids.resolve_id(text, find, _unknown, "notifications")

    @reads
    def several(self, connection: sqlite3.Connection, ids: Sequence[str]) -> list[Notification]:
        """Return the existing notifications with these IDs."""
        sql = f"SELECT {_COLUMNS} FROM notifications WHERE id IN ({', '.join('?' * len(ids))})"  # noqa: S608  # marks only
        return [_notification(row) for row in connection.execute(sql, ids)]

    @reads
    def search(self, connection: sqlite3.Connection, query: NotificationFilter, now: float) -> ListPage[Notification]:
        """Return the newest matching notifications."""
        conditions, values = _conditions(query, now)
        where, limit = " AND ".join(conditions), max(1, min(query.limit, MAX_PAGE))
        before = int(query.cursor) if re.fullmatch(r"[0-9]{1,18}", query.cursor) else 2**62
        sql = f"SELECT seq, {_COLUMNS} FROM notifications WHERE {where} AND seq < ? ORDER BY seq DESC LIMIT ?"  # noqa: S608  # our own words
        found = connection.execute(sql, [*values, before, limit + 1]).fetchall()
        count = f"SELECT COUNT(*) FROM notifications WHERE {where}"  # noqa: S608  # our own words
        cursor = str(found[limit - 1]["seq"]) if len(found) > limit else None
        total = connection.execute(count, values).fetchone()[0]
        return ListPage([_notification(row) for row in found[:limit]], cursor, total)

    async def mark_read(self, text: str, now: float) -> tuple[Notification, bool]:
        """Mark one as read; return it, and whether it was unread."""
        return await self._mark("UPDATE notifications SET read_at = ? WHERE id = ? AND read_at IS NULL", text, now)

    async def mark_unread(self, text: str) -> tuple[Notification, bool]:
        """Mark one as unread; return it, and whether it was read."""
        return await self._mark("UPDATE notifications SET read_at = NULL WHERE id = ? AND read_at IS NOT NULL", text)

    async def _mark(self, sql: str, text: str, *values: float) -> tuple[Notification, bool]:
        id_ = await self._whole_id(text)

        def work(connection: sqlite3.Connection) -> tuple[Notification, bool]:
            changed = connection.execute(sql, [*values, id_]).rowcount > 0
            return _find(connection, id_), changed

        return await self._database.write(work)

    async def mark_all_read(self, now: float, *, before: float | None, category: NotificationCategory | None) -> int:
        """Mark all as read, or those created before a time or of a category; return how many were unread."""
        sql = """
            UPDATE notifications SET read_at = :now
            WHERE read_at IS NULL AND (:before IS NULL OR created_at < :before)
                AND (:category IS NULL OR category = :category)
        """
        values = {"now": now, "before": before, "category": category}
        return await self._database.write(lambda connection: connection.execute(sql, values).rowcount)

    async def delete(self, text: str) -> Notification:
        """Delete one and return it."""
        id_ = await self._whole_id(text)

        def work(connection: sqlite3.Connection) -> Notification:
            found = _find(connection, id_)
            connection.execute("DELETE FROM notifications WHERE id = ?", [found.id])
            return found

        return await self._database.write(work)

    async def prune(self, now: float) -> int:
        """Delete expired notifications; return how many."""
        sql = "DELETE FROM notifications WHERE created_at <= ?"
        return await self._database.execute(sql, [now - KEEP_DAYS * 86400])

    async def due(self, now: float, levels: Collection[NoticeLevel]) -> list[Notification]:
        """Return due notifications, oldest first: new ones, and those forwarded an hour ago and repeated since."""
        marks = ", ".join("?" * len(levels))
        sql = f"""
            SELECT {_COLUMNS} FROM notifications
            WHERE level IN ({marks}) AND (due = 1 OR (told = 1 AND count > told_count AND told_at <= ?)) ORDER BY seq
        """  # noqa: S608  # our own words and marks
        values = [*levels, now - REPEATED_AFTER_S]
        return await self._database.read(
            lambda connection: [_notification(row) for row in connection.execute(sql, values)]
        )

    @writes
    def take_turn(self, connection: sqlite3.Connection, holder: str, now: float, lease_s: float) -> SentLately | None:
        """Acquire the forwarding lease for `lease_s`; return `None` while another process holds it."""
        values = {"holder": holder, "now": now, "until": now + lease_s}
        if not connection.execute(_TAKE_TURN, values).rowcount:
            return None
        connection.execute("DELETE FROM notifications_sent WHERE at <= ? OR at > ?", [now - WINDOW_S, now])
        row = connection.execute("SELECT COUNT(*), COALESCE(MAX(digest), 0) FROM notifications_sent").fetchone()
        return SentLately(row[0], bool(row[1]))

    @writes
    def mark_forwarded(
        self, connection: sqlite3.Connection, told: Sequence[Notification], now: float, *, digest: bool
    ) -> None:
        """Record that one message forwarded all of these."""
        sql = "UPDATE notifications SET due = 0, told = told + 1, told_at = ?, told_count = ? WHERE id = ?"
        connection.executemany(sql, [[now, each.count, each.id] for each in told])
        connection.execute("INSERT INTO notifications_sent VALUES (?, ?)", [now, digest])

    async def give_up(self, untold: Sequence[Notification]) -> None:
        """Record that these have no receiver: they stay in the list."""
        sql = "UPDATE notifications SET due = 0, told = 2 WHERE id = ?"
        await self._database.execute_many(sql, [[each.id] for each in untold])


# A lease that ends later than any can was taken before the clock was set back.
_TAKE_TURN = """
    INSERT INTO notifications_forwarder VALUES (1, :holder, :until)
    ON CONFLICT (id) DO UPDATE SET holder = :holder, until = :until
    WHERE holder = :holder OR until <= :now OR until > :until
"""
# Callers of the API choose keys, too, and must not replace notices of features.
_SAME = """
    SELECT * FROM notifications WHERE dedupe_key = ? AND source = ? AND created_at > ? ORDER BY seq DESC LIMIT 1
"""
_CLOSE = """
    UPDATE notifications SET title = :title, body = :body, level = :level, last_at = :now, step = '',
        due = told_count > 0, told = 0, read_at = COALESCE(read_at, :now)
    WHERE id = :id
"""
_PUSHED_OUT = (
    "DELETE FROM notifications WHERE seq <= (SELECT seq FROM notifications ORDER BY seq DESC LIMIT 1 OFFSET ?)"
)


def _add(
    connection: sqlite3.Connection, notice: Notice, now: float, forwarded: Collection[NoticeLevel]
) -> StoredNotice:
    known = _same(connection, notice, now - MERGE_S)
    if known is not None and notice.once:
        return StoredNotice(_find(connection, known["id"]), True)
    if known is not None:
        return StoredNotice(_merge(connection, known, notice, now, forwarded), True)
    values = {
        "id": new_id(),
        "title": notice.title,
        "body": notice.body,
        "level": str(notice.level),
        "category": str(notice.category),
        "source": notice.source,
        "link": notice.link,
        "dedupe_key": notice.dedupe_key,
        "created_at": now,
        "last_at": now,
        "due": notice.level in forwarded,
        "run_id": notice.run_id,
        "step": notice.step,
    }
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    connection.execute(f"INSERT INTO notifications ({names}) VALUES ({marks})", values)  # noqa: S608  # our own words
    connection.execute(_PUSHED_OUT, [KEEP])
    return StoredNotice(_find(connection, str(values["id"])), False)


def _same(connection: sqlite3.Connection, notice: Notice, since: float) -> sqlite3.Row | None:
    """Return the newest notification with the key and source of a notice."""
    values = [notice.dedupe_key, notice.source, since]
    row: sqlite3.Row | None = connection.execute(_SAME, values).fetchone() if notice.dedupe_key else None
    return row


def _close(connection: sqlite3.Connection, notice: Notice, now: float) -> Notification | None:
    known = _same(connection, notice, now - KEEP_DAYS * 86400)
    if known is None:
        return None
    texts = {"title": notice.title, "body": notice.body, "level": str(notice.level)}
    connection.execute(_CLOSE, {**texts, "now": now, "id": known["id"]})
    return _find(connection, known["id"])


def _merge(
    connection: sqlite3.Connection,
    known: sqlite3.Row,
    notice: Notice,
    now: float,
    forwarded: Collection[NoticeLevel],
) -> Notification:
    """Merge a notice: keep the latest text and the more urgent level, which is forwarded again if it increased.

    A step that asks again, for example at a retry, makes it unread, and is forwarded again if it was decided before.
    """
    before = NoticeLevel(known["level"])
    worse, asks_again = rank(notice.level) > rank(before), bool(notice.step) and not known["step"]
    values = {
        "title": notice.title,
        "body": notice.body,
        "level": str(notice.level if worse else before),
        "link": notice.link or known["link"],
        "step": notice.step,
        "run_id": notice.run_id,
        "now": now,
        "due": known["due"] or ((worse or asks_again) and notice.level in forwarded),
        "id": known["id"],
    }
    connection.execute(
        """
        UPDATE notifications SET count = count + 1, title = :title, body = :body, level = :level, link = :link,
            last_at = :now, due = :due, step = :step, run_id = CASE :run_id WHEN '' THEN run_id ELSE :run_id END,
            read_at = CASE :step WHEN '' THEN read_at END
        WHERE id = :id
        """,
        values,
    )
    return _find(connection, known["id"])


def _find(connection: sqlite3.Connection, id_: str) -> Notification:
    row = connection.execute(f"SELECT {_COLUMNS} FROM notifications WHERE id = ?", [id_]).fetchone()  # noqa: S608  # our own words
    if row is None:
        raise _unknown(id_)
    return _notification(row)


def _unknown(text: str) -> UnknownNotificationError:
    hint = "`tocsin notifications list` shows them"
    return UnknownNotificationError(f"unknown notification: {text[:50]!r}", hint=hint)


def _notification(row: sqlite3.Row) -> Notification:
    values: dict[str, Any] = {name: row[name] for name in _COLUMNS.split(", ")}
    values["level"], values["category"] = NoticeLevel(row["level"]), NotificationCategory(row["category"])
    return Notification(**values)


def _conditions(query: NotificationFilter, now: float) -> tuple[list[str], list[Any]]:
    wanted: list[tuple[str, list[Any]]] = [
        ("created_at > ?", [now - KEEP_DAYS * 86400]),
        ("level = ?", [query.level] if query.level else []),
        ("category = ?", [query.category] if query.category else []),
    ]
    used = [(condition, values) for condition, values in wanted if values]
    unread = ["read_at IS NULL"] if query.unread else []
    return [*(c for c, _ in used), *unread], [value for _, values in used for value in values]
