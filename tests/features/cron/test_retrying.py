"""`tocsin runs retry` of a cron run, and other features that start a job."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.features.cron.conftest import HUMAN, Crontab, opened
from tests.waiting import eventually

from tocsin.core.audit.reader import AuditEntry
from tocsin.features.cron.model import JobConflictError, order_of
from tocsin.features.cron.records import count_failures
from tocsin.features.cron.scheduler import withdraw
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.control import NotRetriedError, RunControl, StartRequest
from tocsin.runs.engine.overlap import Overlap, OverlapRules, StartPolicy
from tocsin.runs.model import RunStatus, RunTrigger, new_run
from tocsin.runs.queue import RecentRun


def control(crontab: Crontab) -> RunControl:
    app = crontab.bench.app
    return RunControl(app.runs(), app.audit, app.clock, crontab.bench.features.abilities.run_starter.start)


async def entry_of(crontab: Crontab, run_id: str) -> AuditEntry:
    """Return the audit entry of a run; it is written after the run has been settled."""

    def written() -> AuditEntry | None:
        entries = crontab.bench.audit("cron.execute")
        return next((entry for entry in entries if entry.metadata["run"] == run_id), None)

    return await eventually(written)


async def test_a_failed_run_is_run_again_as_it_was_and_its_schedule_stays(crontab: Crontab, tmp_path: Path):
    repaired = tmp_path / "repaired"
    await crontab.add(command=f"test -e {repaired} && echo $ATTEMPT $PARAM_WHO", params={"who": "x"})
    failed = await crontab.jobs.start("job", HUMAN, {"who": "ana"})
    assert failed.status is RunStatus.FAILED
    await crontab.jobs.edit("job", {"command": "echo another"}, HUMAN)
    repaired.touch()
    before = await crontab.jobs.get("job")
    crontab.clock.advance(5.0)

    running = await control(crontab).retry(failed.id, Caller("cli", {"actor": "ana"}))
    run = await running.wait()

    assert (run.status, run.retry_of, run.attempt, run.trigger) == (RunStatus.SUCCEEDED, failed.id, 2, RunTrigger.RETRY)
    assert (run.id != failed.id, run.actor, run.output.tail) == (True, "ana", "2 ana")
    assert (await crontab.jobs.runs().get(failed.id)).status is RunStatus.FAILED
    assert await crontab.jobs.get("job") == before
    entry = await entry_of(crontab, run.id)
    assert (entry.source, entry.metadata["trigger"]) == ("cli", "retry")


async def test_a_run_of_a_removed_job_is_run_again(crontab: Crontab):
    await crontab.add(command="exit 3")
    failed = await crontab.jobs.start("job", HUMAN)
    await crontab.jobs.remove("job", HUMAN)
    run = await (await control(crontab).retry(failed.id, Caller("cli"))).wait()
    assert (run.exit_code, run.subject_name, run.retry_of) == (3, "job", failed.id)


async def test_a_retry_keeps_to_the_policy_of_its_job(crontab: Crontab):
    gate = crontab.gate("a")
    await crontab.add(command="false")
    failed = await crontab.jobs.start("job", HUMAN)
    await crontab.jobs.edit("job", {"command": gate.command}, HUMAN)
    running = await crontab.jobs.begin("job", HUMAN)
    with pytest.raises(JobConflictError, match="still running"):
        await control(crontab).retry(failed.id, Caller("cli"))
    with pytest.raises(NotRetriedError, match="is running"):
        await control(crontab).retry(running.run.id, Caller("cli"))
    gate.open()
    await running.task
    with pytest.raises(NotRetriedError, match="no step a"):
        await control(crontab).retry(failed.id, Caller("cli"), "a")


async def test_a_run_that_is_left_at_the_end_of_the_process_is_ended_and_settled(tmp_path: Path):
    async with opened(tmp_path) as crontab:
        await crontab.add(command=crontab.gate("never").command)
        request = StartRequest(source="dashboard", cause=RunTrigger.API)
        running = await crontab.bench.features.abilities.run_starter.start("cron", "job", request)
        assert running.run.status is RunStatus.RUNNING
    async with opened(tmp_path) as crontab:
        assert (await crontab.statuses(), await crontab.open_runs()) == (["interrupted"], 0)
        assert [entry.source for entry in crontab.bench.audit("cron.execute")] == ["dashboard"]


async def test_jobs_are_listed_by_what_they_start(crontab: Crontab):
    first = await crontab.add(name="a", type="workflow", command="nightly")
    second = await crontab.add(name="b", type="workflow", command="nightly")
    await crontab.add(name="c", type="shell", command="nightly")
    abilities = crontab.bench.features.abilities
    assert await abilities.schedules.jobs_by_subject("workflow") == {"nightly": [first.id, second.id]}
    assert await abilities.schedules.jobs_by_subject("skill") == {}
    assert await abilities.run_starter.subjects("cron") == ["a", "b", "c"]


def recent(number: int, status: RunStatus, retry_of: str | None = None, *, has_ended: bool = True) -> RecentRun:
    ended = 2.0 if has_ended else None
    return RecentRun(f"run {number}", status, 1.0, ended, ended, retry_of)


def test_a_failed_run_whose_retry_is_still_queued_does_not_count_as_failed():
    history = [
        recent(3, RunStatus.QUEUED, "run 1", has_ended=False),
        recent(2, RunStatus.FAILED),
        recent(1, RunStatus.FAILED),
    ]
    assert count_failures(history, since=0.0) == 1
    assert count_failures(history[1:], since=0.0) == 2


async def test_of_the_runs_of_a_changed_job_those_that_have_begun_stay(crontab: Crontab):
    runs, now = crontab.bench.app.runs(), crontab.clock.now()
    await crontab.add(command="echo hello")
    job = await crontab.jobs.get("job")
    spec = replace(order_of(job, RunTrigger.SCHEDULE, "scheduler"), scheduled_for=now)
    begun, queued = (replace(new_run(spec, RunStatus.QUEUED, now), scheduled_for=now + n) for n in range(2))
    await runs.store.enqueue([begun, queued])
    everyone = StartPolicy(OverlapRules(Overlap.QUEUE, 9))
    assert (await runs.store.begin_queued("cron", "another process", now, lambda _: everyone)).begun == [begun.id]
    await withdraw(runs.store.records, [begun.id, queued.id], now)
    assert [run.id for run in (await runs.search("cron")).items] == [begun.id]
    again = replace(new_run(spec, RunStatus.QUEUED, now), scheduled_for=begun.scheduled_for)
    assert await runs.store.enqueue([again]) == [], "its instant is not executed again"
