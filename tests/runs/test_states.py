"""The states of runs under any order of what two processes, their deaths and people do."""

import asyncio
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from tests.runs.conftest import RUN_SCHEMAS

from tocsin.core.process.beats import SqliteBeats
from tocsin.core.process.presence import Presence
from tocsin.core.storage.database import Database
from tocsin.runs.approvals import Decision, NotWaitingError, StepQuestion, WaitingStep
from tocsin.runs.engine.recovery import Recovery
from tocsin.runs.model import (
    ACTIVE,
    TERMINAL,
    Run,
    RunOutput,
    RunResult,
    RunSpec,
    RunStatus,
    RunTrigger,
    StepRun,
    new_run,
)
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.runs.stored_run import RunEndedError, begin
from tocsin.testing.fakes import FakeClock

# Written from the documented states, not from the code: which one may follow which.
MAY_FOLLOW = {
    "queued": {"running", "cancelled", "interrupted"},
    "running": {"waiting", "cancelling", "succeeded", "failed", "timed_out", "partially_succeeded", "interrupted"},
    "waiting": {"running", "cancelling", "succeeded", "failed", "timed_out", "partially_succeeded", "interrupted"},
    "cancelling": {"cancelled"},
}
ENDS = st.sampled_from([RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.PARTIALLY_SUCCEEDED])
OWNERS = st.sampled_from(["a", "b"])


@dataclass
class Seen:
    """What the test knows of a run."""

    owner: str
    record: Run


class RunStates(RuleBasedStateMachine):
    runs = Bundle("runs")
    waits = Bundle("waits")

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.database = Database(Path(self.folder.name) / "tocsin.db", RUN_SCHEMAS)
        self.store = sqlite_runs(self.database)
        self.clock = FakeClock()
        self.dead: set[str] = set()
        presence = Presence(
            SqliteBeats(self.database), self.clock, "observer", is_dead=self.dead.__contains__, is_alive=lambda _: True
        )
        self.recovery = Recovery(
            self.store, Path(self.folder.name), self.clock, presence, may_continue=lambda _run, _request: False
        )
        self.seen: dict[str, Seen] = {}

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.loop.run_until_complete(self.database.aclose())
            self.loop.close()
            self.folder.cleanup()

    def now(self, work):
        return self.loop.run_until_complete(work)

    @rule(target=runs, owner=OWNERS, status=st.sampled_from([RunStatus.QUEUED, RunStatus.RUNNING]))
    def start(self, owner: str, status: RunStatus) -> str:
        order = RunSpec("workflow", "nightly", "nightly", RunTrigger.MANUAL)
        run = new_run(order, status, self.clock.now())
        self.now(self.store.add(run, owner))
        self.now(self.store.save_steps(run.id, [StepRun("ask", "wait", RunStatus.RUNNING), StepRun("later", "shell")]))
        self.dead.discard(owner)
        self.seen[run.id] = Seen(owner, run)
        return run.id

    @rule(run=runs)
    def let_begin(self, run: str) -> None:
        if run not in self.seen:  # it was deleted
            return
        before = self.seen[run].record.status
        owner, now = self.seen[run].owner, self.clock.now()
        if before is RunStatus.QUEUED:
            self.now(self.store.records.change(run, lambda record: begin(record, owner, now)))

    @rule(run=runs, end=ENDS)
    def finish(self, run: str, end: RunStatus) -> None:
        if run not in self.seen:  # it was deleted
            return
        before = self.seen[run].record.status
        if before is RunStatus.QUEUED:
            return
        ended = self.now(self.store.finish(run, RunResult(end), RunOutput(), self.clock.now()))
        assert ended.status == {RunStatus.CANCELLING: RunStatus.CANCELLED}.get(before, end) or before in TERMINAL

    @rule(run=runs)
    def cancel(self, run: str) -> None:
        if run not in self.seen:  # it was deleted
            return
        before = self.seen[run].record.status
        try:
            self.now(self.store.request_cancel(run, "", 1.0, self.clock.now()))
        except RunEndedError:
            assert before in TERMINAL

    @rule(target=waits, run=runs, step=st.sampled_from(["ask", "other"]))
    def ask(self, run: str, step: str) -> tuple[str, str]:
        if run in self.seen and self.seen[run].record.status in {RunStatus.RUNNING, RunStatus.WAITING}:
            self.now(self.store.approvals.wait_for(WaitingStep(run, StepQuestion(step, "?"), self.clock.now())))
        return run, step

    @rule(wait=waits, approved=st.booleans())
    def decide(self, wait: tuple[str, str], approved: bool) -> None:
        if wait[0] not in self.seen:
            return
        decision = Decision(*wait, approved, None, self.clock.now())
        try:
            self.now(self.store.approvals.decide(decision))
        except NotWaitingError:
            return
        assert self.seen[wait[0]].record.status not in TERMINAL

    @rule(wait=consumes(waits))
    def withdraw(self, wait: tuple[str, str]) -> None:
        self.now(self.store.approvals.withdraw(*wait))

    @rule(owner=OWNERS)
    def kill(self, owner: str) -> None:
        self.dead.add(owner)

    @rule()
    def recover(self) -> None:
        self.now(self.recovery.recover())
        for run_id, seen in self.seen.items():
            status = self.now(self.store.get(run_id)).status
            assert (status in TERMINAL) >= (seen.owner in self.dead)

    @rule(days=st.integers(1, 40))
    def prune(self, days: int) -> None:
        self.clock.advance(days * 86400)
        for run in self.now(self.store.prune(self.clock.now(), 30, 200)):
            assert self.seen.pop(run.id).record.status in TERMINAL

    @invariant()
    def changes_are_those_allowed(self) -> None:
        for run_id, seen in getattr(self, "seen", {}).items():
            record, before = self.now(self.store.get(run_id)), seen.record.status
            if before in TERMINAL:
                assert record == seen.record
            elif record.status is not before:
                assert record.status in MAY_FOLLOW[before]
            waiting = self.now(self.store.approvals.waiting(run_id))
            assert not waiting or record.status in {RunStatus.WAITING, RunStatus.CANCELLING}
            assert waiting or record.status is not RunStatus.WAITING
            assert record.status in ACTIVE or all(step.status in TERMINAL for step in record.steps)
            assert (record.finished_at is None) == (record.status in ACTIVE)
            seen.record = record


TestRunStates = RunStates.TestCase
TestRunStates.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
