"""The inbox in SQLite, shared by the processes of one host that use the same data directory."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

from tocsin.channels.conversation import UpdateLease
from tocsin.channels.inbound import InboundMessage
from tocsin.core.ids import new_id
from tocsin.core.storage.change_stream import SqliteChangeStream
from tocsin.core.storage.database import Database
from tocsin.core.text.strings import storable
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.handling import HandlingStatus, Reply
from tocsin.messaging.inbound.model import URGENT, Backlog, InboxEvent, InboxStatus, QueuedEvent
from tocsin.messaging.inbound.schema import CHANGES
from tocsin.messaging.inbound.store import (
    ADOPTED_AT_ONCE,
    BODIES_KEPT_S,
    KEYS_KEPT_S,
    MAX_KEYS,
    MAX_ROWS,
    PRUNED_AT_ONCE,
    SET_ASIDE,
    Claim,
    Cursor,
    encode,
    known_events,
)

# Whether an earlier event of the chat is open in another process; `set-aside` is SET_ASIDE.
_WAITS = (
    "NOT urgent AND EXISTS (SELECT 1 FROM inbox AS earlier WHERE earlier.channel = inbox.channel"
    " AND earlier.chat = inbox.chat AND earlier.seq < inbox.seq AND earlier.finished_at IS NULL"
    " AND NOT earlier.urgent AND earlier.owner NOT IN (inbox.owner, 'set-aside'))"
)


class SqliteInbox:
    """The events of all processes of this host."""

    def __init__(self, database: Database, clock: Clock, *, max_keys: int = MAX_KEYS, max_rows: int = MAX_ROWS) -> None:
        self._database = database
        self._clock = clock
        self._max_keys = max_keys
        self._max_rows = max_rows

    async def accept(
        self, messages: Sequence[InboundMessage], owner: str, cursor: Cursor | None = None, lease: int = 0
    ) -> list[QueuedEvent | None]:
        now = self._clock.now()
        bodies = [json.dumps(message.stored(), separators=(",", ":")) for message in messages]

        def work(connection: sqlite3.Connection) -> list[QueuedEvent | None]:
            connection.execute("DELETE FROM inbox_keys WHERE claimed_at <= ?", [now - KEYS_KEPT_S])
            tickets = [
                self._insert(connection, message, body, owner, now) if self._claim(connection, message, now) else None
                for message, body in zip(messages, bodies, strict=True)
            ]
            if cursor is not None:
                connection.execute("INSERT OR REPLACE INTO inbox_cursors VALUES (?, ?)", cursor)
            return tickets

        return await self._database.write(work)

    def _claim(self, connection: sqlite3.Connection, message: InboundMessage, now: float) -> bool:
        """Claim all keys of an event; return False if one was claimed before."""
        channel = storable(message.channel)
        keys = [storable(key) for key in dict.fromkeys(message.dedupe_keys)]
        sql = "SELECT 1 FROM inbox_keys WHERE channel = ? AND key = ?"
        missing = [key for key in keys if connection.execute(sql, [channel, key]).fetchone() is None]
        if missing:
            sql = "SELECT coalesce(max(number), 0) FROM inbox_keys WHERE channel = ?"
            (last,) = connection.execute(sql, [channel]).fetchone()
            rows = [(channel, key, number, now) for number, key in enumerate(missing, start=last + 1)]
            connection.executemany("INSERT INTO inbox_keys VALUES (?, ?, ?, ?)", rows)
            sql = "DELETE FROM inbox_keys WHERE channel = ? AND number <= ?"
            connection.execute(sql, [channel, last + len(missing) - self._max_keys])
        return len(missing) == len(keys)

    def _insert(
        self, connection: sqlite3.Connection, message: InboundMessage, body: str, owner: str, now: float
    ) -> QueuedEvent:
        urgent = message.kind in URGENT
        id_, channel, chat = new_id(), storable(message.channel), storable(message.chat_id)
        cursor = connection.execute(
            "INSERT INTO inbox (id, channel, chat, kind, urgent, message, accepted_at, owner)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [id_, channel, chat, str(message.kind), urgent, body, now, owner],
        )
        return QueuedEvent(cursor.lastrowid or 0, id_, (channel, chat), urgent)

    async def cursor(self, name: str) -> int | None:
        sql = "SELECT position FROM inbox_cursors WHERE name = ?"
        row = await self._database.read(lambda connection: connection.execute(sql, [name]).fetchone())
        return int(row["position"]) if row else None

    async def claim(self, seqs: Sequence[int], owner: str) -> Claim:
        mine = "SELECT 1 FROM inbox WHERE seq = ? AND owner = ? AND finished_at IS NULL"
        waits = f"{mine} AND {_WAITS}"
        sql = (
            "UPDATE inbox SET status = CASE status WHEN 'new' THEN 'working' ELSE status END"
            " WHERE seq = ? AND owner = ? AND finished_at IS NULL RETURNING *"
        )

        def work(connection: sqlite3.Connection) -> Claim:
            waiting = {seq for seq in seqs if connection.execute(waits, [seq, owner]).fetchone()}
            due = [seq for seq in seqs if seq not in waiting]
            rows = [row for seq in due for row in connection.execute(sql, [seq, owner]).fetchall()]
            events, unknown = known_events(_rows(rows))
            return Claim(events, waiting, unknown)

        return await self._database.write(work)

    async def begin(self, seq: int, owner: str) -> bool:
        return await self._change(
            "UPDATE inbox SET attempts = attempts + 1 WHERE seq = ? AND owner = ? AND finished_at IS NULL", [seq, owner]
        )

    async def outcome(
        self, seq: int, owner: str, ending: HandlingStatus, replies: Iterable[Reply], reason: str = ""
    ) -> bool:
        return await self._change(
            "UPDATE inbox SET status = 'replying', ending = ?, replies = ?, reason = ?"
            " WHERE seq = ? AND owner = ? AND status IN ('working', 'replying')",
            [str(ending), encode(replies), storable(reason), seq, owner],
        )

    async def finish(self, seq: int, owner: str, ending: HandlingStatus, reason: str = "") -> bool:
        return await self._change(
            "UPDATE inbox SET status = ?, ending = '', reason = ?, replies = NULL, owner = '', finished_at = ?"
            " WHERE seq = ? AND owner = ? AND status IN ('working', 'replying')",
            [str(ending), storable(reason), self._clock.now(), seq, owner],
        )

    async def owners(self) -> dict[str, int]:
        sql = "SELECT owner, count(*) AS n FROM inbox WHERE finished_at IS NULL GROUP BY owner"

        def work(connection: sqlite3.Connection) -> dict[str, int]:
            return {row["owner"]: row["n"] for row in connection.execute(sql)}

        return await self._database.read(work)

    async def adopt(
        self, owner: str, heir: str, known: Collection[int] = (), limit: int = ADOPTED_AT_ONCE
    ) -> list[QueuedEvent]:
        def work(connection: sqlite3.Connection) -> list[QueuedEvent]:
            sql = "SELECT seq FROM inbox WHERE owner = ? AND finished_at IS NULL ORDER BY seq LIMIT ?"
            found = connection.execute(sql, [owner, limit + len(known)]).fetchall()
            seqs = [row["seq"] for row in found if row["seq"] not in known][:limit]
            sql = (
                "UPDATE inbox SET owner = ?, status = CASE status WHEN 'working' THEN 'new' ELSE status END"
                " WHERE seq = ? RETURNING seq, id, channel, chat, urgent"
            )
            rows = [connection.execute(sql, [heir, seq]).fetchone() for seq in seqs]
            return [
                QueuedEvent(row["seq"], row["id"], (row["channel"], row["chat"]), bool(row["urgent"])) for row in rows
            ]

        return await self._database.write(work)

    async def set_aside(self, seqs: Collection[int], owner: str) -> None:
        sql = (
            "UPDATE inbox SET owner = ?, status = CASE status WHEN 'working' THEN 'new' ELSE status END"
            " WHERE seq = ? AND owner = ? AND finished_at IS NULL"
        )
        await self._database.execute_many(sql, [(SET_ASIDE, seq, owner) for seq in seqs])

    async def release(self, owner: str) -> None:
        await self._change(
            "UPDATE inbox SET owner = '', status = CASE status WHEN 'working' THEN 'new' ELSE status END"
            " WHERE owner = ? AND finished_at IS NULL",
            [owner],
        )

    async def backlog(self) -> Backlog:
        sql = (
            "SELECT status, count(*) AS n, min(seq) AS first FROM inbox"
            " WHERE status IN ('new', 'working', 'replying') GROUP BY status"
        )

        def work(connection: sqlite3.Connection) -> Backlog:
            rows = connection.execute(sql).fetchall()
            if not rows:
                return Backlog()
            first = min(row["first"] for row in rows)
            oldest = connection.execute("SELECT accepted_at FROM inbox WHERE seq = ?", [first]).fetchone()
            counts = {InboxStatus(row["status"]): row["n"] for row in rows}
            return Backlog(counts, oldest["accepted_at"] if oldest else None)

        return await self._database.read(work)

    async def counts(self) -> dict[InboxStatus, int]:
        sql = "SELECT status, count(*) AS n FROM inbox GROUP BY status"
        rows = await self._database.read(lambda connection: connection.execute(sql).fetchall())
        return {InboxStatus(row["status"]): row["n"] for row in rows if row["status"] in set(InboxStatus)}

    async def search(
        self, limit: int = 50, *, status: InboxStatus | None = None, before: int | None = None
    ) -> list[InboxEvent]:
        sql = "SELECT * FROM inbox WHERE seq < ? AND (? IS NULL OR status = ?) ORDER BY seq DESC LIMIT ?"
        values = [2**62 if before is None else before, status, status, limit]
        rows = await self._database.read(lambda connection: connection.execute(sql, values).fetchall())
        return known_events(_rows(rows))[0]

    def changes(self) -> SqliteChangeStream:
        return SqliteChangeStream(self._database, CHANGES)

    async def prune(self) -> int:
        before = self._clock.now() - BODIES_KEPT_S
        bodies = (
            "UPDATE inbox SET message = NULL WHERE seq IN (SELECT seq FROM inbox"
            " WHERE finished_at IS NOT NULL AND message IS NOT NULL AND finished_at < ? LIMIT ?)"
        )
        rows = (
            "DELETE FROM inbox WHERE seq IN (SELECT seq FROM inbox WHERE finished_at IS NOT NULL"
            " AND seq <= (SELECT max(seq) FROM inbox) - ? ORDER BY seq LIMIT ?)"
        )
        return await self._in_batches(bodies, before) + await self._in_batches(rows, self._max_rows)

    async def listen(self, owner: str, wake: Callable[[], None]) -> None:
        """No-op: processes of one host poll every two seconds."""

    def lease(self, name: str, holder: str) -> UpdateLease | None:
        """Return `None`: processes that share a data directory use lock files."""
        return None

    async def _in_batches(self, sql: str, value: float) -> int:
        """Repeat a statement that changes a bounded number of rows until it changes none."""
        done = 0
        while changed := await self._database.execute(sql, [value, PRUNED_AT_ONCE]):
            done += changed
        return done

    async def _change(self, sql: str, values: Sequence[object]) -> bool:
        return await self._database.execute(sql, values) > 0


def _rows(found: Iterable[sqlite3.Row]) -> Iterator[tuple[int, dict[str, Any]]]:
    return ((row["seq"], dict(row)) for row in found)
