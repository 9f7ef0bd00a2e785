"""Heartbeats in the database: each change is one transaction with its ledger rows and its message."""

import secrets
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tocsin.core.storage.database import Database
from tocsin.core.storage.store_methods import writes
from tocsin.features.heartbeats.ledger import rows
from tocsin.features.heartbeats.ledger.messages import HeartbeatMessage, stored_messages
from tocsin.features.heartbeats.ledger.rules import Gap, move, pass_gap, pass_time, take_ping
from tocsin.features.heartbeats.model import (
    SHOWN_INSTANTS,
    Heartbeat,
    HeartbeatInstant,
    HeartbeatPing,
    InstantState,
    PingKind,
    ReceivedPing,
    RelayedPing,
)

HOLD_S = 60.0  # after the start, nothing is down: senders repeat what failed meanwhile
GAP_S = 15.0  # a process that was silent for longer was not there
REMOVED_KEPT_S = 30 * 86_400.0
INSTANTS_KEPT_S, INSTANTS_KEPT = 90 * 86_400.0, 1_000
PING_KEY, BADGE_KEY, HOST = "ping", "badge", "host"  # the last one names the host among those that share a Redis
_DUE = "SELECT * FROM heartbeats WHERE next_at <= ? AND removed_at IS NULL ORDER BY next_at LIMIT ?"
_GOOD = (InstantState.MET, InstantState.LATE)
_BAD = (InstantState.MISSED, InstantState.FAILED)


class TakenPing(NamedTuple):
    """A heartbeat after a ping was stored."""

    heartbeat: Heartbeat
    created: bool = False
    changed: bool = False  # its state, which may be worth a message


class Ledger(NamedTuple):
    """The newest instants of a heartbeat, the oldest first, and the share of good ones within 30 days."""

    recent: Sequence[HeartbeatInstant] = ()
    uptime: float | None = None


class HeartbeatStore:
    """The tables of heartbeats, shared with other processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[Heartbeat]:
        """Return all heartbeats by name, without removed ones."""
        sql = "SELECT * FROM heartbeats WHERE removed_at IS NULL ORDER BY name"
        return await self._database.read(lambda c: [rows.heartbeat_of(row) for row in c.execute(sql)])

    async def exist(self) -> bool:
        sql = "SELECT 1 FROM heartbeats WHERE removed_at IS NULL LIMIT 1"
        return await self._database.read(lambda c: c.execute(sql).fetchone() is not None)

    async def get(self, name_or_id: str) -> Heartbeat:
        """Return one heartbeat; raises UnknownHeartbeatError."""
        return await self._database.read(lambda c: rows.find(c, name_or_id))

    async def several(self, ids: Sequence[str]) -> list[Heartbeat]:
        """Return the heartbeats of IDs that exist."""
        sql = f"SELECT * FROM heartbeats WHERE removed_at IS NULL AND id IN ({', '.join('?' * len(ids))})"  # noqa: S608  # marks
        return await self._database.read(lambda c: [rows.heartbeat_of(row) for row in c.execute(sql, list(ids))])

    @writes
    def change_all(
        self, connection: sqlite3.Connection, work: "Callable[[sqlite3.Connection, dict[str, Heartbeat]], Any]"
    ) -> Any:
        """Call `work` in one transaction, with all heartbeats by name, removed ones included."""
        found = (rows.heartbeat_of(row) for row in connection.execute("SELECT * FROM heartbeats"))
        return work(connection, {heartbeat.name: heartbeat for heartbeat in found})

    @writes
    def change(
        self, connection: sqlite3.Connection, name_or_id: str, edit: Callable[[Heartbeat], Heartbeat], ends: str = ""
    ) -> Heartbeat:
        """Replace a heartbeat by the result of `edit`, in one transaction; raises UnknownHeartbeatError.

        `ends` says why that ends an alarm, if there is one.
        """
        before = rows.find(connection, name_or_id)
        changed = edit(before)
        if ends:
            rows.end_alarm(connection, before, ends)
        rows.save(connection, changed)
        return changed

    async def has(self, column: str, value: str) -> bool:
        """Whether a heartbeat has this `code` or `name`."""
        sql = f"SELECT 1 FROM heartbeats WHERE {column} = ? AND removed_at IS NULL"  # noqa: S608  # our own names
        return await self._database.read(lambda c: c.execute(sql, [value]).fetchone() is not None)

    async def take(
        self, column: str, value: str, ping: ReceivedPing, now: float, create: Callable[[], Heartbeat] | None = None
    ) -> TakenPing | None:
        """Store a ping for the heartbeat with this `code` or `name`; without one, for that which `create` returns."""
        return await self._database.write(lambda c: _take(c, column, value, ping, now, create))

    async def relayed_until(self) -> str:
        """Return the entry of the last ping from another host that was counted."""
        row = await self._database.read(lambda c: c.execute("SELECT relayed FROM heartbeat_watch").fetchone())
        return row["relayed"] if row else ""

    @writes
    def take_relayed(
        self, connection: sqlite3.Connection, after: str, until: str, pings: Sequence[RelayedPing], now: float
    ) -> None:
        """Count the pings from other hosts between two entries as of when they were received, unless that was done."""
        insert = "INSERT OR IGNORE INTO heartbeat_watch (id, alive_at, since) VALUES (1, ?, ?)"
        connection.execute(insert, [now, now])
        sql = "UPDATE heartbeat_watch SET relayed = ? WHERE relayed = ?"
        if connection.execute(sql, [until, after]).rowcount:
            for each in pings:
                _take(connection, each.column, each.value, each.ping, min(each.at, now))

    async def addresses(self) -> list[tuple[str, str]]:
        """Return code and name of all heartbeats."""
        sql = "SELECT code, name FROM heartbeats WHERE removed_at IS NULL"
        return await self._database.read(lambda c: [(row["code"], row["name"]) for row in c.execute(sql)])

    @writes
    def beat(self, connection: sqlite3.Connection, now: float, *, starts: bool, jump_s: float = 0.0) -> list[str]:
        """Note that pings are taken at `now`; return the heartbeats for which the time before is unknown.

        The time since the last note is a gap if this process starts, or was silent for long. After a jump of the
        clock, everything that counts elapsed time moves.
        """
        row = connection.execute("SELECT alive_at FROM heartbeat_watch").fetchone()
        alive_at = row["alive_at"] if row else now
        if jump_s < 0:
            _move_all(connection, jump_s, now)
            alive_at += jump_s
            connection.execute("UPDATE heartbeat_watch SET since = since + ?", [jump_s])
        is_gap = starts or abs(now - alive_at) > GAP_S
        unknown = _note_gap(connection, Gap(alive_at, now), jump_s) if is_gap else []
        sql = (
            "INSERT INTO heartbeat_watch (id, alive_at, since) VALUES (1, :now, :now) "
            "ON CONFLICT DO UPDATE SET alive_at = :now"
        )
        connection.execute(sql + (", since = :now" if is_gap else ""), {"now": now})
        return unknown

    async def decide(self, now: float, limit: int, confirm: Callable[[sqlite3.Connection], None]) -> int:
        """Decide about the heartbeats that are due, while the lease holds; return their number."""

        def look(connection: sqlite3.Connection) -> bool:
            row = connection.execute("SELECT since FROM heartbeat_watch").fetchone()
            ready = row is not None and now >= row["since"] + HOLD_S
            return ready and connection.execute(_DUE, [now, 1]).fetchone() is not None

        def work(connection: sqlite3.Connection) -> int:
            confirm(connection)
            due = connection.execute(_DUE, [now, limit]).fetchall()
            for row in due:
                found = rows.heartbeat_of(row)
                rows.settle(connection, found, pass_time(found.definition, found.watched, now), now)
            return len(due)

        return await self._database.write(work) if await self._database.read(look) else 0

    async def messages(self) -> list[tuple[int, HeartbeatMessage]]:
        """Return the messages that are still to be sent."""
        return await self._database.read(stored_messages)

    async def forget_messages(self, numbers: Sequence[int]) -> None:
        """Delete messages that were queued."""
        sql, values = "DELETE FROM heartbeat_messages WHERE id = ?", [[number] for number in numbers]
        await self._database.execute_many(sql, values)

    async def ledgers(self, ids: Sequence[str], now: float) -> Mapping[str, Ledger]:
        """Return the ledgers of heartbeats by ID."""
        return await self._database.read(
            lambda c: {heartbeat_id: _ledger(c, heartbeat_id, now) for heartbeat_id in ids}
        )

    async def instants(self, heartbeat_id: str) -> list[HeartbeatInstant]:
        """Return all instants of a heartbeat, the oldest first."""
        sql = "SELECT * FROM heartbeat_instants WHERE heartbeat_id = ? ORDER BY due_at"
        return await self._database.read(lambda c: [_instant(row) for row in c.execute(sql, [heartbeat_id])])

    async def pings(self, heartbeat_id: str, limit: int, before: int | None = None) -> list[HeartbeatPing]:
        """Return the newest pings of a heartbeat."""
        sql = (
            "SELECT p.*, b.n IS NOT NULL AS has_body FROM heartbeat_pings AS p LEFT JOIN heartbeat_bodies AS b "
            "USING (heartbeat_id, n) WHERE p.heartbeat_id = ? AND p.n < ? ORDER BY p.n DESC LIMIT ?"
        )
        values = [heartbeat_id, 2**62 if before is None else before, limit]
        return await self._database.read(lambda c: [_ping(row) for row in c.execute(sql, values)])

    async def body(self, heartbeat_id: str, n: int) -> bytes | None:
        """Return the compressed body of a ping; `None` if it is not kept."""
        sql = "SELECT body FROM heartbeat_bodies WHERE heartbeat_id = ? AND n = ?"
        row = await self._database.read(lambda c: c.execute(sql, [heartbeat_id, n]).fetchone())
        return None if row is None else row["body"]

    async def key(self, purpose: str, *, create: bool = False, renew: bool = False) -> str:
        """Return the key of a purpose, empty if there is none; `renew` replaces it."""
        sql = "SELECT value FROM heartbeat_keys WHERE purpose = ?"
        row = await self._database.read(lambda c: c.execute(sql, [purpose]).fetchone())
        if (row or not create) and not renew:
            return row["value"] if row else ""
        value = secrets.token_urlsafe(16)  # 22 characters, as healthchecks has them
        kept = "REPLACE" if renew else "IGNORE"

        def work(connection: sqlite3.Connection) -> str:
            connection.execute(f"INSERT OR {kept} INTO heartbeat_keys VALUES (?, ?)", [purpose, value])  # noqa: S608  # our own words
            return str(connection.execute(sql, [purpose]).fetchone()["value"])

        return await self._database.write(work)

    @writes
    def prune(self, connection: sqlite3.Connection, now: float) -> None:
        """Delete old instants and changes, and what was removed long ago."""
        gone = "SELECT id FROM heartbeats WHERE removed_at < ?"
        for table in ("instants", "pings", "bodies", "changes"):
            sql = f"DELETE FROM heartbeat_{table} WHERE heartbeat_id IN ({gone})"  # noqa: S608  # our own names
            connection.execute(sql, [now - REMOVED_KEPT_S])
        connection.execute("DELETE FROM heartbeats WHERE removed_at < ?", [now - REMOVED_KEPT_S])
        connection.execute("DELETE FROM heartbeat_changes WHERE at < ?", [now - 86_400])
        # Within 90 days all are kept, and of a rare one the newest.
        connection.execute(
            "DELETE FROM heartbeat_instants WHERE due_at < :before AND due_at <= (SELECT due_at FROM "
            "heartbeat_instants AS newer WHERE newer.heartbeat_id = heartbeat_instants.heartbeat_id "
            "ORDER BY due_at DESC LIMIT 1 OFFSET :kept)",
            {"before": now - INSTANTS_KEPT_S, "kept": INSTANTS_KEPT},
        )


def _take(
    connection: sqlite3.Connection,
    column: str,
    value: str,
    ping: ReceivedPing,
    now: float,
    create: Callable[[], Heartbeat] | None = None,
) -> TakenPing | None:
    sql = f"SELECT * FROM heartbeats WHERE {column} = ? AND removed_at IS NULL"  # noqa: S608  # our own names
    row = connection.execute(sql, [value]).fetchone()
    if not row and create is None:
        return None
    found = rows.heartbeat_of(row) if row or create is None else create()
    if not row:
        rows.insert_anew(connection, found)
    n = found.pings + 1
    decision = take_ping(found.definition, found.watched, ping, n, now)
    after = rows.settle(connection, replace(found, pings=n), decision, now)
    rows.insert_ping(connection, after, ping, decision, now)
    return TakenPing(after, created=not row, changed=after.watched.state is not found.watched.state)


def _move_all(connection: sqlite3.Connection, by_s: float, now: float) -> None:
    for row in connection.execute("SELECT * FROM heartbeats WHERE removed_at IS NULL").fetchall():
        found = rows.heartbeat_of(row)
        rows.save(connection, replace(found, watched=move(found.definition, found.watched, by_s, now)))


def _note_gap(connection: sqlite3.Connection, gap: Gap, jump_s: float) -> list[str]:
    """Apply a gap to every heartbeat; return the names of those that have an unknown instant now."""
    unknown = []
    for row in connection.execute("SELECT * FROM heartbeats WHERE removed_at IS NULL").fetchall():
        before = rows.heartbeat_of(row)
        decision = pass_gap(before.definition, before.watched, gap)
        if jump_s > 0 and not decision.instants:
            decision = replace(decision, watched=move(before.definition, decision.watched, jump_s, gap.end))
        if any(instant.state is InstantState.UNKNOWN for instant in decision.instants):
            unknown.append(before.name)
        if decision.instants or decision.watched != before.watched:
            rows.note_instants(connection, before.id, decision.instants)
            rows.save(connection, replace(before, watched=decision.watched))
    return unknown


def _ledger(connection: sqlite3.Connection, heartbeat_id: str, now: float) -> Ledger:
    sql = "SELECT * FROM heartbeat_instants WHERE heartbeat_id = ? ORDER BY due_at DESC LIMIT ?"
    recent = [_instant(row) for row in connection.execute(sql, [heartbeat_id, SHOWN_INSTANTS])][::-1]
    sql = "SELECT state, COUNT(*) FROM heartbeat_instants WHERE heartbeat_id = ? AND due_at > ? GROUP BY state"
    counts = dict(connection.execute(sql, [heartbeat_id, now - REMOVED_KEPT_S]).fetchall())
    good, bad = (sum(counts.get(str(state), 0) for state in states) for states in (_GOOD, _BAD))
    return Ledger(recent, round(good / (good + bad), 4) if good + bad else None)


def _instant(row: sqlite3.Row) -> HeartbeatInstant:
    return HeartbeatInstant(row["due_at"], InstantState(row["state"]), row["ping"])


def _ping(row: sqlite3.Row) -> HeartbeatPing:
    plain = ("n", "at", "exit_status", "rid", "duration_s", "method", "client", "agent", "size")
    kind, has_body = PingKind(row["kind"]), bool(row["has_body"])
    return HeartbeatPing(**{name: row[name] for name in plain}, kind=kind, has_body=has_body)
