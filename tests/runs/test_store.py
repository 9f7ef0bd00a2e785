"""Runs in the database: what has ended stays as it is."""

import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from tests.runs.conftest import RUN_SCHEMAS, House

from tocsin.channels.contract import SendResult
from tocsin.core.ids import new_id
from tocsin.core.storage.database import Database
from tocsin.runs.filters import RunFilter
from tocsin.runs.model import (
    ACTIVE,
    TERMINAL,
    HostResult,
    HostStatus,
    OutputDelivery,
    OutputDeliveryStatus,
    OutputResult,
    Run,
    RunOutput,
    RunResult,
    RunStatus,
    RunTrigger,
    StepRun,
)
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.runs.stored_run import RunEndedError, StoredRun, UnknownRunError

OUTPUT = RunOutput(5, 1, False, "hello")
T = TypeVar("T")
MANY = 3000


def run_of(status: RunStatus = RunStatus.RUNNING, subject: str = "backup", **changes: object) -> Run:
    run = Run(
        id=new_id(),
        kind="skill",
        subject_id=subject,
        subject_name=subject,
        trigger=RunTrigger.MANUAL,
        status=status,
        queued_at=1000.0,
    )
    return replace(run, **changes)  # type: ignore[arg-type]


async def test_a_record_comes_back_as_it_was_added(house: House):
    run = run_of(
        actor="chat:7",
        reason="why",
        attempt=2,
        max_attempts=3,
        retry_of="a",
        parent_run_id="b",
        scheduled_for=999.0,
        started_at=1001.5,
        dry_run=True,
        params={"mode": "sandboxed", "args": ["ä"]},
        env_keys=("TOKEN",),
        error={"code": "x", "message": "y"},
        snapshot={"command": "true"},
        history_limit=3,
        history_days=1.5,
        source="dashboard",
        delivery=OutputDelivery(
            OutputDeliveryStatus.PARTIAL,
            (OutputResult(SendResult(True, "email", "a@example.org", "sent"), "d0"),),
            ("d1", "d2"),
        ),
        steps=(
            StepRun("dump", "shell", RunStatus.FAILED, 2, 1.0, 2.0, 3, "success()", {"code": "c", "message": "m"}),
            StepRun("copy", "ssh", outputs={"size": "5", "json": {"a": [1]}}),
        ),
        hosts=(HostResult("web1", HostStatus.UNREACHABLE, None, "SIGTERM", "out", "err", True, 7, "no route"),),
    )
    await house.store.add(run, "me")
    assert await house.store.get(run.id) == run


async def test_an_unknown_run_is_a_sentence(house: House):
    with pytest.raises(UnknownRunError, match="nope"):
        await house.store.get("nope")


@pytest.mark.parametrize("status", sorted(ACTIVE - {RunStatus.CANCELLING}))
@pytest.mark.parametrize("end", sorted(TERMINAL))
async def test_a_run_at_work_ends_once(house: House, status: RunStatus, end: RunStatus):
    run = run_of(status)
    await house.store.add(run, "me")
    ended = await house.store.finish(
        run.id, RunResult(end, "because", 3, None, {"code": "c", "message": "m"}), OUTPUT, 2000.0
    )
    assert (ended.status, ended.reason, ended.exit_code, ended.output) == (end, "because", 3, OUTPUT)
    assert (ended.finished_at, ended.error) == (2000.0, {"code": "c", "message": "m"})
    assert await house.store.finish(run.id, RunResult(RunStatus.SUCCEEDED, exit_code=0), RunOutput(), 3000.0) == ended
    assert await house.store.get(run.id) == ended


@pytest.mark.parametrize("end", [RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.INTERRUPTED, RunStatus.TIMED_OUT])
async def test_a_run_that_is_being_cancelled_ends_as_cancelled_however_its_work_ended(house: House, end: RunStatus):
    run = run_of()
    await house.store.add(run, "me")
    assert (await house.store.request_cancel(run.id, "too late", 5, 1500.0)).status is RunStatus.CANCELLING
    ended = await house.store.finish(
        run.id, RunResult(end, "other", 0, None, {"code": "c", "message": "m"}), OUTPUT, 2000.0
    )
    assert (ended.status, ended.reason, ended.error) == (RunStatus.CANCELLED, "too late", None)


async def test_a_run_that_waits_for_its_turn_is_cancelled_at_once(house: House):
    run = run_of(RunStatus.QUEUED)
    await house.store.add(run, "me")
    cancelled = await house.store.request_cancel(run.id, "", 5, 1500.0)
    assert (cancelled.status, cancelled.finished_at) == (RunStatus.CANCELLED, 1500.0)


@pytest.mark.parametrize("status", sorted(TERMINAL))
async def test_a_run_that_has_ended_cannot_be_cancelled(house: House, status: RunStatus):
    run = run_of(status)
    await house.store.add(run, "me")
    with pytest.raises(RunEndedError, match=f"has ended: {status}"):
        await house.store.request_cancel(run.id, "", 5, 1500.0)
    assert (await house.store.get(run.id)).status is status


async def test_cancelling_twice_keeps_the_first_reason(house: House):
    run = run_of()
    await house.store.add(run, "me")
    for reason in ("first", "second"):
        await house.store.request_cancel(run.id, reason, 5, 1500.0)
    assert [wish.cancel_reason for wish in await house.store.cancelling([run.id, "other"])] == ["first"]


async def test_search_finds_by_kind_subject_and_state_the_newest_first_page_by_page(house: House):
    added = [run_of(RunStatus.FAILED if n % 2 else RunStatus.SUCCEEDED, f"s{n % 3}") for n in range(12)]
    for run in added:
        await house.store.add(run, "me")
    newest = sorted((run.id for run in added), reverse=True)
    page = await house.store.search(RunFilter(limit=5))
    rest = await house.store.search(RunFilter(limit=50, cursor=page.next_cursor or ""))
    assert [run.id for run in (*page.items, *rest.items)] == newest
    assert rest.next_cursor is None
    found = await house.store.search(RunFilter("skill", "s1", [RunStatus.FAILED]))
    assert {run.id for run in found.items} == {r.id for r in added if r.subject_id == "s1" and not r.ok}
    assert (await house.store.search(RunFilter("cron"))).items == ()
    assert await house.store.count(RunFilter(subject="s2")) == 4
    assert await house.store.count(RunFilter(since=1000.5)) == 0


async def test_a_page_that_is_just_full_has_no_next_one(house: House):
    for _ in range(3):
        await house.store.add(run_of(), "me")
    assert (await house.store.search(RunFilter(limit=3))).next_cursor is None


class CountedDatabase(Database):
    """Counts the steps that SQLite makes to read, which no load of the machine changes."""

    hundreds = 0

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def tick() -> None:
            self.hundreds += 1

        def counted(connection: sqlite3.Connection) -> T:
            connection.set_progress_handler(tick, 100)
            try:
                return work(connection)
            finally:
                connection.set_progress_handler(None, 0)

        return await super().read(counted)


@pytest.fixture
async def many(tmp_path: Path) -> AsyncIterator[CountedDatabase]:
    """Return a database with many runs of one kind, all ended long ago."""
    database = CountedDatabase(tmp_path / "tocsin.db", lambda: RUN_SCHEMAS)
    ended = [run_of(RunStatus.SUCCEEDED, f"job {n % 100}", finished_at=1001.0) for n in range(MANY)]
    await sqlite_runs(database).records.enqueue([StoredRun(run) for run in ended])
    yield database
    await database.aclose()


async def test_what_is_asked_all_the_time_does_not_go_through_all_runs(many):
    store = sqlite_runs(many)
    asked = {
        "active": lambda: store.records.active(ACTIVE),
        "at work": lambda: store.records.look("skill", lambda queue: queue.at_work()),
        "queued": lambda: store.records.look("skill", lambda queue: queue.queued()),
        "left": store.left,
        "unsettled": lambda: store.unsettled(2000.0, 200),
        "last": lambda: store.records.pasts("skill", ["job 7"], 20),
        "newest": lambda: store.search(RunFilter("skill", limit=5)),
        "ended lately": lambda: store.count(RunFilter(status=(RunStatus.SUCCEEDED,), since=2000.0)),
    }
    steps = {}
    for name, ask in asked.items():
        before = many.hundreds
        await ask()
        steps[name] = 100 * (many.hundreds - before)
    assert {name: found for name, found in steps.items() if found >= MANY} == {}
