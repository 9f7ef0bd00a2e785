"""Steps that wait for a person: who may decide, and what was decided, in any process."""

import json
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass

from tocsin.core.errors import TocsinError
from tocsin.core.storage.database import Database
from tocsin.runs import rows
from tocsin.runs.model import TERMINAL, RunStatus


class NotWaitingError(TocsinError):
    """The run does not wait for this decision."""

    code = "invalid-transition"


class NotApproverError(TocsinError):
    """Others decide about this step."""

    code = "forbidden"


@dataclass(frozen=True, slots=True)
class WaitingStep:
    """A step that waits for a person; without `approvers`, anybody who may use Tocsin may decide."""

    run_id: str
    step: str
    message: str
    approvers: tuple[str, ...]
    since: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about a waiting step."""

    run_id: str
    step: str
    approved: bool
    by: str | None  # a user or `chat:<id>`; None is the operator of this machine
    at: float
    comment: str = ""


class Approvals:
    """The table of waiting steps, shared with other processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def wait_for(self, waiting: WaitingStep) -> None:
        """Record that a step waits; its run, unless it is being cancelled, waits from now on."""
        values = [waiting.run_id, waiting.step, waiting.message, json.dumps(waiting.approvers), waiting.since]

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_WAIT, values)
            connection.execute(_SET_WAITING, [waiting.run_id])

        await self._database.write(work)

    async def withdraw(self, run_id: str, step: str) -> None:
        """Remove a step that waits no longer."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM run_waits WHERE run_id = ? AND step = ?", [run_id, step])
            connection.execute(_SET_RUNNING, [run_id])

        await self._database.write(work)

    async def waiting(self, run_id: str) -> list[WaitingStep]:
        """Return the waiting steps of a run, the longest-waiting first."""
        return await self._database.read(lambda connection: _waiting(connection, run_id))

    async def decide(self, decision: Decision) -> Decision:
        """Record a decision; the only waiting step is meant where it names none.

        Raises UnknownRunError, NotWaitingError, NotApproverError.
        """

        def work(connection: sqlite3.Connection) -> Decision:
            waiting = _meant(connection, decision)
            if waiting.approvers and decision.by is not None and decision.by not in waiting.approvers:
                raise NotApproverError(
                    f"{decision.by} cannot decide about the step {waiting.step}",
                    hint=f"ask one of: {', '.join(waiting.approvers)}",
                )
            values = [decision.approved, decision.by, decision.at, decision.comment, waiting.run_id, waiting.step]
            connection.execute(_DECIDE, values)
            connection.execute(_SET_RUNNING, [waiting.run_id])
            return Decision(waiting.run_id, waiting.step, decision.approved, decision.by, decision.at, decision.comment)

        return await self._database.write(work)

    async def decisions(self, run_ids: Collection[str]) -> list[Decision]:
        """Return what was decided about these runs and is not withdrawn yet."""
        marks = ", ".join("?" * len(run_ids))
        sql = f"SELECT * FROM run_waits WHERE approved IS NOT NULL AND run_id IN ({marks})"  # noqa: S608  # marks only

        def work(connection: sqlite3.Connection) -> list[Decision]:
            return [_decision(row) for row in connection.execute(sql, list(run_ids))]

        return await self._database.read(work)


_WAIT = "INSERT OR REPLACE INTO run_waits (run_id, step, message, approvers, since) VALUES (?, ?, ?, ?, ?)"
_SET_WAITING = "UPDATE runs SET status = 'waiting' WHERE id = ? AND status = 'running'"
_SET_RUNNING = """
    UPDATE runs SET status = 'running' WHERE id = ? AND status = 'waiting'
        AND NOT EXISTS (SELECT 1 FROM run_waits WHERE run_id = runs.id AND approved IS NULL)
"""
_DECIDE = """
    UPDATE run_waits SET approved = ?, decided_by = ?, decided_at = ?, comment = ? WHERE run_id = ? AND step = ?
"""


def _meant(connection: sqlite3.Connection, decision: Decision) -> WaitingStep:
    """Return the waiting step that a decision is about."""
    status = RunStatus(rows.find_row(connection, decision.run_id)["status"])
    if status in TERMINAL:
        raise NotWaitingError(f"the run {decision.run_id} has ended: {status}", hint="start it again")
    waiting = _waiting(connection, decision.run_id)
    found = [step for step in waiting if decision.step in {"", step.step}]
    named = ", ".join(step.step for step in waiting)
    if len(found) > 1:
        raise NotWaitingError(f"several steps wait: {named}", hint="name one with --step")
    if not found:
        what = f"the step {decision.step} does not wait" if decision.step else "no step of the run waits"
        raise NotWaitingError(f"{what} for a decision", hint=f"these wait: {named}" if named else "see its record")
    return found[0]


def _waiting(connection: sqlite3.Connection, run_id: str) -> list[WaitingStep]:
    sql = "SELECT * FROM run_waits WHERE run_id = ? AND approved IS NULL ORDER BY since, step"
    return [
        WaitingStep(run_id, row["step"], row["message"], tuple(json.loads(row["approvers"])), row["since"])
        for row in connection.execute(sql, [run_id])
    ]


def _decision(row: sqlite3.Row) -> Decision:
    approved, by, at = bool(row["approved"]), row["decided_by"], row["decided_at"]
    return Decision(row["run_id"], row["step"], approved, by, at, row["comment"])
