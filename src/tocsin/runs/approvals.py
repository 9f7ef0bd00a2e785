"""Steps that wait for a person: who may decide, and what was decided, in any process."""

import json
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.core.storage.database import Database
from tocsin.runs import rows
from tocsin.runs.model import TERMINAL, RunStatus

# How names of chats and API tokens begin, among approvers and those who answer; other names are users of the dashboard.
CHAT, TOKEN = "chat:", "token:"


class NotWaitingError(TocsinError):
    """The run does not wait for this decision."""

    code = "invalid-transition"


class UnknownQuestionError(NotWaitingError):
    """No step waits with the question of a button."""


class NotApproverError(TocsinError):
    """Others decide about this step."""

    code = "forbidden"


@dataclass(frozen=True, slots=True)
class StepQuestion:
    """What a waiting step asks, and who may answer."""

    step: str
    message: str = ""
    approvers: tuple[str, ...] = ()  # `chat:7`, `token:ci`, or a user of the dashboard
    asked_in: tuple[str, ...] = ()  # chats that it is sent to, as `channel:chat`
    not_by_starter: bool = False
    id: str = field(default_factory=lambda: token_hex(16))  # what its buttons carry; no other question has it


@dataclass(frozen=True, slots=True)
class WaitingStep:
    """A step that waits for a person since a time."""

    run_id: str
    question: StepQuestion
    since: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about a waiting step."""

    run_id: str
    step: str
    approved: bool
    by: str | None  # as in `approvers`; None is the operator of this machine
    at: float
    comment: str = ""


class PresentQuestion(NamedTuple):
    """A question that was asked before its run was continued."""

    waiting: WaitingStep
    decision: Decision | None


class ButtonPress(NamedTuple):
    """A button of a question that was pressed in a chat."""

    question: str  # its ID
    asked_in: str  # `channel:chat`
    sender: str | None  # the ID of the person


class Approvals:
    """The table of waiting steps, shared with other processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def wait_for(self, waiting: WaitingStep) -> None:
        """Record that a step waits; its run, unless it is being cancelled, waits from now on."""
        asks = waiting.question
        values = [
            waiting.run_id,
            asks.step,
            asks.message,
            json.dumps(asks.approvers),
            waiting.since,
            asks.id,
            json.dumps(asks.asked_in),
            asks.not_by_starter,
        ]

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_WAIT, values)
            connection.execute(_SET_WAITING, [waiting.run_id])

        await self._database.write(work)

    async def present(self, run_id: str, step: str) -> PresentQuestion | None:
        """Return the question of a step that a process left, and the decision if there is one."""

        def work(connection: sqlite3.Connection) -> PresentQuestion | None:
            row = connection.execute("SELECT * FROM run_waits WHERE run_id = ? AND step = ?", [run_id, step]).fetchone()
            if row is None:
                return None
            return PresentQuestion(_waiting_step(row), None if row["approved"] is None else _decision(row))

        return await self._database.read(work)

    async def withdraw(self, run_id: str, step: str) -> None:
        """Remove a step that waits no longer."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM run_waits WHERE run_id = ? AND step = ?", [run_id, step])
            connection.execute(_SET_RUNNING, [run_id])

        await self._database.write(work)

    async def waiting(self, run_id: str) -> list[WaitingStep]:
        """Return the waiting steps of a run, the longest-waiting first."""
        return await self._database.read(lambda connection: _waiting(connection, run_id))

    async def decide(self, decision: Decision, press: ButtonPress | None = None) -> Decision:
        """Record a decision; the only waiting step is meant where it names none, or that of the button's question.

        Raises UnknownRunError, NotWaitingError, NotApproverError.
        """

        def work(connection: sqlite3.Connection) -> Decision:
            waiting = _asked(connection, press.question) if press else _meant(connection, decision)
            run_id, step = waiting.run_id, waiting.question.step
            refuse_others(waiting.question, rows.find_row(connection, run_id)["actor"], decision.by, press)
            values = [decision.approved, decision.by, decision.at, decision.comment, run_id, step]
            connection.execute(_DECIDE, values)
            connection.execute(_SET_RUNNING, [run_id])
            return replace(decision, run_id=run_id, step=step)

        return await self._database.write(work)

    async def asked(self, question: str) -> WaitingStep:
        """Return the step that waits with a question; raises UnknownQuestionError."""
        return await self._database.read(lambda connection: _asked(connection, question))

    async def decisions(self, run_ids: Collection[str]) -> list[Decision]:
        """Return what was decided about these runs and is not withdrawn yet."""
        marks = ", ".join("?" * len(run_ids))
        sql = f"SELECT * FROM run_waits WHERE approved IS NOT NULL AND run_id IN ({marks})"  # noqa: S608  # marks only

        def work(connection: sqlite3.Connection) -> list[Decision]:
            return [_decision(row) for row in connection.execute(sql, list(run_ids))]

        return await self._database.read(work)


_WAIT = """
    INSERT OR REPLACE INTO run_waits (run_id, step, message, approvers, since, question, asked_in, not_by_starter)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_SET_WAITING = "UPDATE runs SET status = 'waiting' WHERE id = ? AND status = 'running'"
_SET_RUNNING = """
    UPDATE runs SET status = 'running' WHERE id = ? AND status = 'waiting'
        AND NOT EXISTS (SELECT 1 FROM run_waits WHERE run_id = runs.id AND approved IS NULL)
"""
_DECIDE = """
    UPDATE run_waits SET approved = ?, decided_by = ?, decided_at = ?, comment = ? WHERE run_id = ? AND step = ?
"""


def refuse_others(
    question: StepQuestion, starter: str | None, by: str | None, press: ButtonPress | None = None
) -> None:
    """Raise NotApproverError unless `by` may answer; `starter` started the run. See docs/runs.md, "Who may answer"."""
    if by is None:
        return
    who = f"the step {question.step} cannot be decided by {by}"
    if by.startswith(CHAT) and (press is None or press.asked_in not in question.asked_in):
        raise NotApproverError(f"{who}: this chat was not asked")
    if question.approvers and by not in question.approvers:
        raise NotApproverError(who, hint=f"ask one of: {', '.join(question.approvers)}")
    names = {by, *([f"{CHAT}{press.sender}"] if press else [])}  # a private chat has the ID of its person
    if starter in names and (question.not_by_starter or by.startswith(TOKEN)):
        raise NotApproverError(f"{who}, which started the run", hint="another person has to answer")


def _meant(connection: sqlite3.Connection, decision: Decision) -> WaitingStep:
    """Return the waiting step that a decision is about."""
    status = RunStatus(rows.find_row(connection, decision.run_id)["status"])
    if status in TERMINAL:
        raise NotWaitingError(f"the run {decision.run_id} has ended: {status}", hint="start it again")
    waiting = _waiting(connection, decision.run_id)
    found = [each for each in waiting if decision.step in {"", each.question.step}]
    named = ", ".join(each.question.step for each in waiting)
    if len(found) > 1:
        raise NotWaitingError(f"several steps wait: {named}", hint="name one with --step")
    if not found:
        what = f"the step {decision.step} does not wait" if decision.step else "no step of the run waits"
        raise NotWaitingError(f"{what} for a decision", hint=f"these wait: {named}" if named else "see its record")
    return found[0]


def _waiting(connection: sqlite3.Connection, run_id: str) -> list[WaitingStep]:
    sql = "SELECT * FROM run_waits WHERE run_id = ? AND approved IS NULL ORDER BY since, step"
    return [_waiting_step(row) for row in connection.execute(sql, [run_id])]


def _asked(connection: sqlite3.Connection, question: str) -> WaitingStep:
    sql = "SELECT * FROM run_waits WHERE question = ? AND question <> '' AND approved IS NULL"
    row = connection.execute(sql, [question]).fetchone()
    if row is None:
        raise UnknownQuestionError("no step waits with this question")
    return _waiting_step(row)


def _waiting_step(row: sqlite3.Row) -> WaitingStep:
    question = StepQuestion(
        row["step"],
        row["message"],
        tuple(json.loads(row["approvers"])),
        tuple(json.loads(row["asked_in"])),
        bool(row["not_by_starter"]),
        row["question"],
    )
    return WaitingStep(row["run_id"], question, row["since"])


def _decision(row: sqlite3.Row) -> Decision:
    approved, by, at = bool(row["approved"]), row["decided_by"], row["decided_at"]
    return Decision(row["run_id"], row["step"], approved, by, at, row["comment"])
