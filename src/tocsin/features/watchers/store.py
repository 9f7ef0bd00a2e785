"""Waiting and handled changes, and the state of each rule, shared by all processes.

The table is the queue: thousands of files that change at once take room in the database, not in memory, and a change
that was noted is acted on also after the process was killed.
"""

import json
import os
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tocsin.core.ids import new_id
from tocsin.core.process.identity import is_dead
from tocsin.core.storage.database import Database
from tocsin.core.storage.store_methods import reads, writes
from tocsin.features.watchers.model import (
    KEPT_S,
    LONGEST_WAIT_S,
    MAX_WAITING,
    SHOWN_EVENTS,
    SeenEvent,
    SeenState,
    WatchedChange,
    WatcherRule,
    WatchEvent,
    merged,
    shown,
)
from tocsin.runs.model import FAILING, Run, RunStatus

LEASE = "watchers"
_COOLED_DOWN = "a later change within the cool-down was acted on"
_WAITING = "SELECT * FROM watcher_events WHERE rule = ? AND path = ? AND due_at IS NOT NULL"
_IS_DUE = "rule = :rule AND due_at <= :horizon"


class TakenChange(NamedTuple):
    """A change that is acted on next, and the ID of its run."""

    change: WatchedChange
    run_id: str
    event: int  # its row


class WatcherStore:
    """The tables of watchers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def note(self, found: Mapping[WatcherRule, Sequence[WatchedChange]], now: float) -> int:
        """Have changes acted on once their files rest; return how many are left out because too many wait."""
        return await self._database.write(
            lambda connection: sum(_note(connection, rule, changes, now) for rule, changes in found.items())
        )

    @reads
    def due(self, connection: sqlite3.Connection, rules: Sequence[WatcherRule], now: float) -> dict[str, float]:
        """Return the seconds until each rule with waiting changes has work to do; 0 is now."""
        found = {}
        for rule in rules:
            first = _first_due(connection, rule)
            if first is not None:
                rests_s = first - now if _horizon(rule, first, now) == now else 0.0
                found[rule.name] = max(rests_s, _cooling_s(connection, rule, now), 0.0)
        return found

    @writes
    def take(self, connection: sqlite3.Connection, rule: WatcherRule, now: float) -> TakenChange | None:
        """Take the next due change of a rule; `None` if there is none.

        It counts as acted on once its run is recorded, and `began` tells that; else `redo` has it wait again.
        """
        if _cooling_s(connection, rule, now) > 0:
            return None
        first = _first_due(connection, rule)
        if first is None:
            return None
        values = {"rule": rule.name, "horizon": _horizon(rule, first, now)}
        order = "due_at DESC, id DESC" if rule.cooldown_seconds else "due_at, id"
        sql = f"SELECT * FROM watcher_events WHERE {_IS_DUE} ORDER BY {order} LIMIT 1"  # noqa: S608  # our own
        row = connection.execute(sql, values).fetchone()
        if row is None:
            return None
        taken = TakenChange(_change(row), new_id(), row["id"])
        decided = "UPDATE watcher_events SET due_at = NULL, run_id = ? WHERE id = ?"
        connection.execute(decided, [taken.run_id, row["id"]])
        connection.execute("INSERT INTO watcher_taken VALUES (?, ?, ?)", [taken.run_id, row["id"], row["due_at"]])
        _note_acting(connection, rule, now)
        if rule.cooldown_seconds:
            skip = f"UPDATE watcher_events SET due_at = NULL, note = :note WHERE {_IS_DUE}"  # noqa: S608  # our own
            connection.execute(skip, {**values, "note": _COOLED_DOWN})
        return taken

    async def taken(self) -> list[str]:
        """Return the IDs of the runs of changes that were taken, which may not be recorded."""
        sql = "SELECT run_id FROM watcher_taken"
        return await self._database.read(lambda c: [row["run_id"] for row in c.execute(sql)])

    @writes
    def began(self, connection: sqlite3.Connection, taken: TakenChange) -> bool:
        """Note that the run of a taken change is recorded; return False if the change waits again."""
        _drop_taken(connection, taken.run_id)  # unless another process did, which saw the run
        acts = "SELECT 1 FROM watcher_events WHERE id = ? AND run_id = ?"
        return connection.execute(acts, [taken.event, taken.run_id]).fetchone() is not None

    async def settle_taken(self, run_id: str) -> None:
        """Note that the run of a change that another process took is recorded."""
        await self._database.write(lambda connection: _drop_taken(connection, run_id))

    @writes
    def redo(self, connection: sqlite3.Connection, run_id: str) -> None:
        """Have a change wait again whose run was not recorded, unless the file has changed since."""
        taken = _drop_taken(connection, run_id)
        if taken is not None:
            sql = "UPDATE OR IGNORE watcher_events SET run_id = NULL, due_at = ? WHERE id = ?"
            connection.execute(sql, [taken["due_at"], taken["event"]])

    @writes
    def note_started(
        self, connection: sqlite3.Connection, rule: WatcherRule, change: WatchedChange, run: Run, now: float
    ) -> None:
        """Note a change that a person has acted on."""
        _note_acting(connection, rule, now)
        sql = (
            "INSERT INTO watcher_events (rule, at, changed_at, type, path, old_path, run_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        connection.execute(sql, [rule.name, now, now, change.type, *_paths(change), run.id])

    async def failed(self, rule: str = "") -> list[str]:
        """Return for each file whose last run failed the ID of that run, of one rule or of all, the oldest first."""
        sql = "SELECT run_id FROM watcher_failing WHERE rule = IIF(? = '', rule, ?) ORDER BY run_id"
        return await self._database.read(lambda c: [row["run_id"] for row in c.execute(sql, [rule, rule])])

    async def forget_failed(self, run_ids: Collection[str]) -> None:
        """Count files as failed no more whose runs were deleted."""
        sql = "DELETE FROM watcher_failing WHERE run_id = ?"
        await self._database.execute_many(sql, [[run_id] for run_id in run_ids])

    async def drop_waiting(self, active: Collection[str]) -> None:
        """Decide not to act on changes of rules that are not active any more."""
        sql = """
            UPDATE watcher_events SET due_at = NULL, note = 'the watcher was disabled or removed'
            WHERE due_at IS NOT NULL AND rule NOT IN (SELECT value FROM json_each(?))
        """
        await self._database.execute(sql, [json.dumps([*active])])

    async def recent(self, rule: str, limit: int = SHOWN_EVENTS) -> list[SeenEvent]:
        """Return the newest changes of a rule, the newest first."""
        sql = "SELECT * FROM watcher_events WHERE rule = ? ORDER BY id DESC LIMIT ?"

        return await self._database.read(
            lambda connection: [
                SeenEvent(row["changed_at"], WatchEvent(row["type"]), shown(os.fsdecode(row["path"])), row["run_id"])
                for row in connection.execute(sql, [rule, limit])
            ]
        )

    async def count(self, rule: str, since: float) -> int:
        """Return how many changes of a rule there were since a time."""
        sql = "SELECT COUNT(*) FROM watcher_events WHERE rule = ? AND changed_at >= ?"
        return await self._database.read(lambda c: int(c.execute(sql, [rule, since]).fetchone()[0]))

    async def waiting(self) -> int:
        """Return how many changes wait to be acted on."""
        sql = "SELECT COUNT(*) FROM watcher_events WHERE due_at IS NOT NULL"
        return await self._database.read(lambda c: int(c.execute(sql).fetchone()[0]))

    @reads
    def states(self, connection: sqlite3.Connection) -> dict[str, SeenState] | None:
        """Return the states of the rules by name; `None` if no process watches."""
        lease = connection.execute("SELECT holder FROM leases WHERE name = ?", [LEASE]).fetchone()
        if lease is None or not lease["holder"] or is_dead(lease["holder"]):
            return None
        found = connection.execute("SELECT * FROM watcher_states")
        return {row["rule"]: SeenState(row["backend"], bool(row["is_watching"]), row["error"]) for row in found}

    @writes
    def set_states(self, connection: sqlite3.Connection, states: Mapping[str, SeenState]) -> list[str]:
        """Note how the rules are, of all others it is not known; return those with an error to tell people, once."""
        sql = """
            INSERT INTO watcher_states (rule, backend, is_watching, error) VALUES (?, ?, ?, ?)
            ON CONFLICT (rule) DO UPDATE SET
                backend = excluded.backend, is_watching = excluded.is_watching, error = excluded.error
        """
        connection.execute("UPDATE watcher_states SET backend = '', is_watching = 0, error = ''")
        connection.executemany(sql, [(n, s.backend, s.is_watching, s.error) for n, s in states.items()])
        connection.execute("UPDATE watcher_states SET told = '' WHERE is_watching AND error = ''")
        tell = "UPDATE watcher_states SET told = error WHERE error NOT IN ('', told) RETURNING rule"
        return [row["rule"] for row in connection.execute(tell)]

    async def switched(self, rules: Sequence[WatcherRule]) -> list[WatcherRule]:
        """Return rules as they were switched on or off since; a later change of the file has priority."""

        def work(connection: sqlite3.Connection) -> dict[str, sqlite3.Row]:
            return {row["rule"]: row for row in connection.execute("SELECT * FROM watcher_switches")}

        rows_ = await self._database.read(work)
        return [
            replace(rule, enabled=bool(row["enabled"]))
            if (row := rows_.get(rule.name)) is not None and bool(row["written"]) == rule.enabled
            else rule
            for rule in rules
        ]

    async def switch(self, written: WatcherRule, *, enabled: bool, now: float) -> None:
        """Enable or disable a rule; `written` is the rule of the file."""
        sql = "INSERT OR REPLACE INTO watcher_switches VALUES (?, ?, ?, ?)"

        await self._database.execute(sql, [written.name, enabled, written.enabled, now])

    async def prune(self, now: float) -> None:
        """Forget changes of earlier days, but not the newest ones of each rule."""
        sql = """
            DELETE FROM watcher_events WHERE due_at IS NULL AND changed_at < ? AND id NOT IN (
                SELECT id FROM (
                    SELECT id, ROW_NUMBER() OVER (PARTITION BY rule ORDER BY id DESC) AS place FROM watcher_events
                ) WHERE place <= ?
            )
        """
        await self._database.execute(sql, [now - KEPT_S, SHOWN_EVENTS])


class FileOutcome(NamedTuple):
    """The failures of a rule before and after the end of a run."""

    failed_before: bool  # whether the last run for the file had failed
    others_fail: bool  # whether the last run for another file of the rule has failed


def note_outcome(connection: sqlite3.Connection, run: Run) -> FileOutcome:
    """Note whether the last run for a file failed; one that was cancelled changes nothing."""
    key = {"rule": run.subject_id, "path": str(run.params.get("path")), "run": run.id}
    known = "SELECT 1 FROM watcher_failing WHERE rule = :rule AND path = :path"
    failed_before = connection.execute(known, key).fetchone() is not None
    if run.status in FAILING:
        fails = """
            INSERT INTO watcher_failing VALUES (:rule, :path, :run)
            ON CONFLICT (rule, path) DO UPDATE SET run_id = MAX(run_id, :run)
        """
        connection.execute(fails, key)
    elif run.status is not RunStatus.CANCELLED:
        connection.execute("DELETE FROM watcher_failing WHERE rule = :rule AND path = :path AND run_id < :run", key)
    others = "SELECT 1 FROM watcher_failing WHERE rule = :rule AND path <> :path"
    return FileOutcome(failed_before, connection.execute(others, key).fetchone() is not None)


def _drop_taken(connection: sqlite3.Connection, run_id: str) -> sqlite3.Row | None:
    sql = "DELETE FROM watcher_taken WHERE run_id = ? RETURNING *"
    row: sqlite3.Row | None = connection.execute(sql, [run_id]).fetchone()
    return row


def _note_acting(connection: sqlite3.Connection, rule: WatcherRule, now: float) -> None:
    sql = "INSERT INTO watcher_states (rule, acted_at) VALUES (?, ?) ON CONFLICT (rule) DO UPDATE SET acted_at = ?"
    connection.execute(sql, [rule.name, now, now])


def _first_due(connection: sqlite3.Connection, rule: WatcherRule) -> float | None:
    """Return when the first of the changes that wait is acted on."""
    sql = "SELECT MIN(due_at) FROM watcher_events WHERE rule = ? AND due_at IS NOT NULL"
    first: float | None = connection.execute(sql, [rule.name]).fetchone()[0]
    return first


def _horizon(rule: WatcherRule, first: float, now: float) -> float:
    """Return the time up to which changes are due; all are due if the clock was set back since they were stored."""
    return now if first <= now + rule.debounce_ms / 1000 + 1 else float("inf")


def _cooling_s(connection: sqlite3.Connection, rule: WatcherRule, now: float) -> float:
    """Return for how long a rule still cools down."""
    if not rule.cooldown_seconds:
        return 0.0
    row = connection.execute("SELECT acted_at FROM watcher_states WHERE rule = ?", [rule.name]).fetchone()
    if row is None or row["acted_at"] is None or row["acted_at"] > now:  # the clock was set back
        return 0.0
    return float(row["acted_at"] + rule.cooldown_seconds - now)


def _note(connection: sqlite3.Connection, rule: WatcherRule, changes: Sequence[WatchedChange], now: float) -> int:
    sql = "SELECT COUNT(*) FROM watcher_events WHERE rule = ? AND due_at IS NOT NULL"
    room = MAX_WAITING - int(connection.execute(sql, [rule.name]).fetchone()[0])
    left_out = 0
    for change in changes:
        if _merge(connection, rule, change, now) or change.type not in rule.events:
            continue
        if room <= 0:
            left_out += 1
            continue
        room -= 1
        add = (
            "INSERT INTO watcher_events (rule, at, changed_at, due_at, type, path, old_path)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        connection.execute(add, [rule.name, now, now, now + rule.debounce_ms / 1000, change.type, *_paths(change)])
    return left_out


def _merge(connection: sqlite3.Connection, rule: WatcherRule, change: WatchedChange, now: float) -> bool:
    """Merge a change with a waiting one of the same file; return False if none waits."""
    row = connection.execute(_WAITING, [rule.name, os.fsencode(change.path)]).fetchone()
    source = connection.execute(_WAITING, [rule.name, os.fsencode(change.old_path)]).fetchone() if not row else None
    if source is not None:  # a new or changed file that was renamed
        row, type_ = source, WatchEvent(source["type"])
        if type_ is WatchEvent.MODIFIED:
            type_ = WatchEvent.MOVED
        after: WatchEvent | None = type_
    elif row is None:
        return False
    else:
        after = merged(WatchEvent(row["type"]), change.type)
        if change.old_path:  # it took the place of a file that waits, and is not where it waited itself
            gone = "DELETE FROM watcher_events WHERE rule = ? AND path = ? AND due_at IS NOT NULL"
            connection.execute(gone, [rule.name, os.fsencode(change.old_path)])
    if after is None or after not in rule.events:
        connection.execute("DELETE FROM watcher_events WHERE id = ?", [row["id"]])
        return True
    due_at = min(now + rule.debounce_ms / 1000, row["at"] + max(LONGEST_WAIT_S, rule.debounce_ms / 1000))
    old = row["old_path"]
    if after is WatchEvent.MOVED and old is None:
        old = os.fsencode(change.old_path)
    connection.execute(
        "UPDATE watcher_events SET type = ?, path = ?, old_path = ?, changed_at = ?, due_at = ? WHERE id = ?",
        [after, os.fsencode(change.path), old, now, due_at, row["id"]],
    )
    return True


def _paths(change: WatchedChange) -> tuple[bytes, bytes | None]:
    return os.fsencode(change.path), os.fsencode(change.old_path) if change.old_path else None


def _change(row: sqlite3.Row) -> WatchedChange:
    old = os.fsdecode(row["old_path"]) if row["old_path"] else ""
    return WatchedChange(WatchEvent(row["type"]), os.fsdecode(row["path"]), old)
