"""Heartbeats as rows: functions for use within a transaction of the store."""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tocsin.core.reading.value import shorten, suggestion
from tocsin.features.heartbeats.definitions import restored, stored
from tocsin.features.heartbeats.ledger.messages import (
    FLAPPING_CHANGES,
    FLAPPING_S,
    QUIET_S,
    REMINDER_S,
    change_message,
    end_message,
    store_message,
)
from tocsin.features.heartbeats.ledger.rules import HeartbeatDecision, decide_at
from tocsin.features.heartbeats.model import (
    Heartbeat,
    HeartbeatInstant,
    HeartbeatNameTakenError,
    HeartbeatSource,
    HeartbeatState,
    OpenRun,
    PingKind,
    ReceivedPing,
    UnknownHeartbeatError,
    Watched,
)

KEPT_PINGS = 200
KEPT_BODIES = 10  # of successes, and as many of failures
_FLIPS = frozenset({HeartbeatState.UP, HeartbeatState.DOWN})


def heartbeat_of(row: sqlite3.Row) -> Heartbeat:
    watched = Watched(
        state=HeartbeatState(row["state"]),
        since=row["since"],
        reason=row["reason"],
        due_at=row["due_at"],
        misses=row["misses"],
        runs=tuple(OpenRun(*run) for run in json.loads(row["runs"])) if row["runs"] != "[]" else (),
        last_ping_at=row["last_ping_at"],
        last_kind=row["last_kind"],
        last_duration_s=row["last_duration_s"],
    )
    plain = ("id", "name", "code", "created_at", "updated_at", "removed_at", "pings", "told", "told_at", "quiet_until")
    return Heartbeat(
        **{name: row[name] for name in plain},
        source=HeartbeatSource(row["source"]),
        definition=restored(row["definition"]),
        watched=watched,
    )


def _row(heartbeat: Heartbeat) -> dict[str, Any]:
    plain = ("id", "name", "code", "source", "created_at", "updated_at", "removed_at")
    named = {name: getattr(heartbeat, name) for name in plain}
    return {**named, "definition": stored(heartbeat.definition), **_state_row(heartbeat)}


def _state_row(heartbeat: Heartbeat) -> dict[str, Any]:
    """Return the columns that a ping or a decision may change: no index but that of `next_at` has any of them."""
    watched = heartbeat.watched
    times = [decide_at(heartbeat.definition, watched), heartbeat.quiet_until]
    seen = ("state", "since", "reason", "due_at", "misses", "last_ping_at", "last_kind", "last_duration_s")
    return {
        **{name: getattr(heartbeat, name) for name in ("pings", "told", "told_at", "quiet_until")},
        **{name: getattr(watched, name) for name in seen},
        "runs": json.dumps([[run.rid, run.started_at, run.ends_by] for run in watched.runs]),
        "next_at": None if heartbeat.removed_at else min((at for at in times if at is not None), default=None),
    }


def insert(connection: sqlite3.Connection, heartbeat: Heartbeat) -> None:
    row = _row(heartbeat)
    names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
    connection.execute(f"INSERT INTO heartbeats ({names}) VALUES ({marks})", row)  # noqa: S608  # our own names


def insert_anew(connection: sqlite3.Connection, heartbeat: Heartbeat) -> None:
    """Insert a heartbeat, in place of a removed one of its name."""
    connection.execute("DELETE FROM heartbeats WHERE name = ? AND removed_at IS NOT NULL", [heartbeat.name])
    insert(connection, heartbeat)


def save(connection: sqlite3.Connection, heartbeat: Heartbeat) -> None:
    """Store a heartbeat as it is now; raises HeartbeatNameTakenError."""
    try:
        _update(connection, _row(heartbeat))
    except sqlite3.IntegrityError:
        taken = f"heartbeat {heartbeat.name} already exists"
        raise HeartbeatNameTakenError(taken, hint="choose another name") from None


def _update(connection: sqlite3.Connection, row: dict[str, Any]) -> None:
    sets = ", ".join(f"{name} = :{name}" for name in row if name != "id")
    connection.execute(f"UPDATE heartbeats SET {sets} WHERE id = :id", row)  # noqa: S608  # our own names


def find(connection: sqlite3.Connection, name_or_id: str) -> Heartbeat:
    """Return one heartbeat; raises UnknownHeartbeatError."""
    sql = "SELECT * FROM heartbeats WHERE (id = ? OR name = ?) AND removed_at IS NULL"
    row = connection.execute(sql, [name_or_id] * 2).fetchone()
    if row is not None:
        return heartbeat_of(row)
    sql = "SELECT name FROM heartbeats WHERE removed_at IS NULL ORDER BY name LIMIT 1000"
    names = [found["name"] for found in connection.execute(sql)]
    hint = "`tocsin heartbeats list` shows them" if names else "add one with `tocsin heartbeats add`"
    raise UnknownHeartbeatError(f"unknown heartbeat: {shorten(name_or_id)!r}{suggestion(name_or_id, names)}", hint=hint)


def settle(connection: sqlite3.Connection, before: Heartbeat, decision: HeartbeatDecision, now: float) -> Heartbeat:
    """Store what was decided about a heartbeat, with its instants and the message about it."""
    note_instants(connection, before.id, decision.instants)
    after = _told(connection, before, replace(before, watched=decision.watched), now)
    if after.quiet_until is not None and after.quiet_until <= now:
        after = replace(after, quiet_until=None)
        if after.told != after.watched.state and after.watched.state in _FLIPS:
            after = _tell(connection, after, now, "It has been quiet for 15 min.")
    _update(connection, {"id": after.id, **_state_row(after)})
    return after


def end_alarm(connection: sqlite3.Connection, heartbeat: Heartbeat, why: str) -> None:
    """Store the message that ends the alarm of a heartbeat, if it was reported as down."""
    if heartbeat.told == HeartbeatState.DOWN:
        store_message(connection, end_message(heartbeat, f"{heartbeat.name} is no longer watched", why))


def note_instants(connection: sqlite3.Connection, heartbeat_id: str, instants: Iterable[HeartbeatInstant]) -> None:
    """Add rows to the ledger; an instant that has one keeps it."""
    rows = [(heartbeat_id, instant.due_at, str(instant.state), instant.ping) for instant in instants]
    if rows:
        connection.executemany("INSERT OR IGNORE INTO heartbeat_instants VALUES (?, ?, ?, ?)", rows)


def _told(connection: sqlite3.Connection, before: Heartbeat, after: Heartbeat, now: float) -> Heartbeat:
    """Return the heartbeat with a message stored, if it went down or came back; less often while it flaps."""
    state = after.watched.state
    was_down = before.watched.state is HeartbeatState.DOWN
    if state is before.watched.state or not (state is HeartbeatState.DOWN or (was_down and state in _FLIPS)):
        return after
    connection.execute("INSERT OR REPLACE INTO heartbeat_changes VALUES (?, ?, ?)", [after.id, now, str(state)])
    sql = "SELECT COUNT(*) FROM heartbeat_changes WHERE heartbeat_id = ? AND at > ?"
    (changes,) = connection.execute(sql, [after.id, now - FLAPPING_S]).fetchone()
    if before.quiet_until is not None and now < before.quiet_until:
        after = replace(after, quiet_until=now + QUIET_S)
        if now - after.told_at < REMINDER_S:
            store_message(connection, replace(change_message(after, now), silent=True))
            return after
        return _tell(connection, after, now, "It is still flapping.")
    if changes >= FLAPPING_CHANGES:
        after = replace(after, quiet_until=now + QUIET_S)
        said = f"It changed {changes} times within 30 min: further changes are silent until it is quiet for 15 min."
        return _tell(connection, after, now, said)
    return _tell(connection, after, now)


def _tell(connection: sqlite3.Connection, heartbeat: Heartbeat, now: float, said: str = "") -> Heartbeat:
    store_message(connection, change_message(heartbeat, now, said))
    return replace(heartbeat, told=str(heartbeat.watched.state), told_at=now)


def insert_ping(
    connection: sqlite3.Connection, heartbeat: Heartbeat, ping: ReceivedPing, decision: HeartbeatDecision, at: float
) -> None:
    """Record the newest ping of a heartbeat with its body, and delete the oldest ones."""
    n, duration_s = heartbeat.pings, decision.duration_s
    row = (heartbeat.id, n, at, str(ping.kind), ping.exit_status, ping.rid, duration_s)
    connection.execute(
        "INSERT INTO heartbeat_pings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, ping.method, ping.client, ping.agent, ping.size),
    )
    oldest = n - KEPT_PINGS
    if oldest > 0:
        connection.execute("DELETE FROM heartbeat_pings WHERE heartbeat_id = ? AND n <= ?", [heartbeat.id, oldest])
        connection.execute("DELETE FROM heartbeat_bodies WHERE heartbeat_id = ? AND n <= ?", [heartbeat.id, oldest])
    if not ping.body:
        return
    failed = ping.kind is PingKind.FAIL
    connection.execute("INSERT INTO heartbeat_bodies VALUES (?, ?, ?, ?)", [heartbeat.id, n, failed, ping.body])
    connection.execute(
        "DELETE FROM heartbeat_bodies WHERE heartbeat_id = :id AND failed = :failed AND n <= (SELECT n FROM "
        "heartbeat_bodies WHERE heartbeat_id = :id AND failed = :failed ORDER BY n DESC LIMIT 1 OFFSET :kept)",
        {"id": heartbeat.id, "failed": failed, "kept": KEPT_BODIES},
    )
