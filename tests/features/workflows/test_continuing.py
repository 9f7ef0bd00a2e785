"""Runs that another process left: those that wait go on, those that were executing are interrupted, each told once."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.clocks import SteppedClock
from tests.features.workflows.conftest import Opening, WorkflowBench, request
from tests.waiting import eventually, until

from tocsin.assembly.full.services import run_engine
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.approvals import Decision
from tocsin.runs.model import TERMINAL, Run, RunStatus

ROOT = Path(__file__).parents[3]
APPROVED = """
notify_on: [always]
steps:
  - {name: first, command: "echo first >> WHERE/trace; echo 42", outputs: {size: "stdout | last_line"}}
  - {name: ask, type: wait, approval: true, message: "Delete ${steps.first.outputs.size}?"}
  - {name: last, command: "echo last $STEP_FIRST_SIZE by $STEP_ASK_BY >> WHERE/trace"}
"""
CUT_OFF = """
defaults: {working_dir: WHERE}
steps:
  - {name: cut, command: "echo cut $ATTEMPT >> trace; [ -e go ] || { touch begun; sleep 600; }", MORE}
  - {name: after, command: "echo after >> trace"}
on_failure:
  - {name: failed, command: "echo failed >> trace"}
on_finish:
  - {name: finished, command: "echo finished >> trace"}
"""


async def _status(flows: WorkflowBench, run_id: str, *wanted: RunStatus) -> Run:
    async def reached() -> Run | None:
        run = await flows.runs.get(run_id)
        return run if run.status in wanted else None

    return await eventually(reached)


async def _ended(flows: WorkflowBench, run_id: str) -> Run:
    """Let the engine work until a run has ended and is settled."""

    async def settled() -> Run | None:
        await flows.runs.recover()
        await run_engine(flows.bench.app).step()
        run = await flows.runs.get(run_id)
        if run.status not in TERMINAL:
            return None
        sql = "SELECT COUNT(*) FROM run_tasks"
        left = await flows.bench.app.database.read(lambda c: c.execute(sql).fetchone()[0])
        return None if left else run

    return await eventually(settled)


def _trace(folder: Path) -> list[str]:
    return (folder / "trace").read_text().splitlines()


def _approval(run: Run) -> Decision:
    return Decision(run.id, "", approved=True, by="ana", at=1.0)


async def test_an_approval_given_after_three_restarts_continues_its_run_which_is_told_once(
    opening: Opening, tmp_path: Path
):
    async with opening() as flows:
        flows.write(APPROVED.replace("WHERE", str(tmp_path)))
        running = await flows.workflows.start("flow", request(actor="bo"))
        run = await _status(flows, running.run.id, RunStatus.WAITING)
        [asked] = await flows.runs.waiting(run.id)
        await eventually(lambda: running.request.get("asked"))
    for _ in range(2):
        async with opening() as flows:
            await run_engine(flows.bench.app).step()
            assert (await flows.runs.get(run.id)).status == "waiting"
            [still] = await flows.runs.waiting(run.id)
            assert (still, flows.bench.notices) == (asked, [])
    async with opening() as flows:
        await flows.runs.decide(_approval(run))  # no process continues it yet
    async with opening() as flows:
        ended = await _ended(flows, run.id)
        assert (ended.status, ended.started_at) == ("succeeded", run.started_at)
        assert _trace(tmp_path) == ["first", "last 42 by ana"]
        assert [entry.metadata["run"] for entry in flows.bench.audit("workflow.run")] == [run.id]
        lines = (await flows.runs.log(run.id)).lines
        assert [line.n for line in lines] == list(range(1, len(lines) + 1))


async def test_a_run_that_waits_for_its_turn_begins_in_another_process(opening: Opening, tmp_path: Path):
    async with opening() as flows:
        flows.write("overlap: queue\n" + APPROVED.replace("WHERE", str(tmp_path)))
        first = await flows.workflows.start("flow", request())
        await _status(flows, first.run.id, RunStatus.WAITING)
        second = await flows.workflows.begin("flow", request())
        assert second.run.status == "queued"
    async with opening() as flows:
        await run_engine(flows.bench.app).step()
        assert (await flows.runs.get(second.run.id)).status == "queued"
        await flows.runs.decide(_approval(first.run))
        assert (await _status(flows, first.run.id, *TERMINAL)).status == "succeeded"
        await run_engine(flows.bench.app).step()
        await _status(flows, second.run.id, RunStatus.WAITING)
        await flows.runs.decide(_approval(second.run))
        assert (await _ended(flows, second.run.id)).status == "succeeded"


async def test_a_pause_lasts_until_the_time_at_which_it_would_have_ended(opening: Opening):
    clock = SteppedClock()
    async with opening(clock=clock) as flows:
        flows.write("steps: [{name: pause, type: wait, duration: 1h}, {name: last, command: 'true'}]")
        running = await flows.workflows.start("flow", request())
        await clock.asleep()
    clock.advance(3599)
    async with opening(clock=clock) as flows:
        await run_engine(flows.bench.app).step()
        assert await clock.asleep() == 1
        clock.advance(1)
        assert (await _ended(flows, running.run.id)).status == "succeeded"


async def test_an_approval_that_was_due_while_no_process_ran_times_out(opening: Opening):
    async with opening() as flows:
        flows.write("steps: [{name: ask, type: wait, approval: true, timeout: 1h}]")
        running = await flows.workflows.start("flow", request())
        await _status(flows, running.run.id, RunStatus.WAITING)
    async with opening() as flows:
        flows.clock.advance(3601)
        ended = await _ended(flows, running.run.id)
        assert [str(step.status) for step in ended.steps] == ["timed_out"]


async def test_a_parent_goes_on_when_the_child_that_waited_through_a_restart_has_ended(
    opening: Opening, tmp_path: Path
):
    async with opening() as flows:
        flows.write(APPROVED.replace("WHERE", str(tmp_path)), "child")
        flows.write("steps: [{name: inner, type: workflow, command: child}, {name: last, command: 'true'}]")
        parent = await flows.workflows.start("flow", request())
        child = await eventually(lambda: _child_of(flows, parent.run.id))
        await _status(flows, child.id, RunStatus.WAITING)
    async with opening() as flows:
        await run_engine(flows.bench.app).step()
        await flows.runs.decide(_approval(child))
        assert (await _ended(flows, parent.run.id)).status == "succeeded"
        assert len((await flows.runs.search("workflow")).items) == 2
        assert _trace(tmp_path) == ["first", "last 42 by ana"]


async def _child_of(flows: WorkflowBench, run_id: str, name: str = "child") -> Run | None:
    found = (await flows.runs.search("workflow", name)).items
    return next((run for run in found if run.parent_run_id == run_id), None)


async def _killed(opening: Opening, folder: Path, text: str) -> None:
    """Kill a process while the step `cut` of a workflow is at work."""
    async with opening() as flows:
        flows.write(text.replace("WHERE", str(folder)))
    env = {"PATH": os.environ["PATH"], "TOCSIN_DATA_DIR": str(folder), "REDIS_URL": "off"}
    child = subprocess.Popen([sys.executable, "-m", "tests.features.workflows.victim", "flow"], cwd=ROOT, env=env)
    try:
        await asyncio.to_thread(until, (folder / "begun").exists, "the step to begin")
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    (folder / "go").touch()


async def _continued(flows: WorkflowBench) -> Run:
    [run] = (await flows.runs.search("workflow")).items
    return await _ended(flows, run.id)


async def test_a_killed_run_takes_the_failure_path_and_is_told_once(opening: Opening, tmp_path: Path):
    await _killed(opening, tmp_path, CUT_OFF.replace(", MORE", ""))
    for _ in range(2):
        async with opening() as flows:
            run = await _continued(flows)
            assert (run.status, run.error) == ("interrupted", None)
            assert {step.name: str(step.status) for step in run.steps} == {
                "cut": "interrupted", "after": "skipped", "failed": "succeeded", "finished": "succeeded",
            }  # fmt: skip
            assert len(flows.bench.audit("workflow.run")) == 1
    assert _trace(tmp_path) == ["cut 1", "failed", "finished"]


async def test_a_killed_run_is_a_notice_and_fails_in_the_status(opening: Opening, tmp_path: Path):
    await _killed(opening, tmp_path, CUT_OFF.replace(", MORE", ""))
    async with opening() as flows:
        run = await _continued(flows)
        assert [(notice.level, notice.run_id) for notice in flows.bench.notices] == [("error", run.id)]
        assert [failed.id for failed in await flows.workflows.failing()] == [run.id]


async def test_continue_on_error_holds_for_a_step_that_was_cut_off(opening: Opening, tmp_path: Path):
    await _killed(opening, tmp_path, CUT_OFF.replace("MORE", "continue_on_error: true"))
    async with opening() as flows:
        assert (await _continued(flows)).status == "partially_succeeded"
    assert _trace(tmp_path) == ["cut 1", "after", "finished"]


async def test_a_step_with_on_interrupt_retry_is_run_again(opening: Opening, tmp_path: Path):
    await _killed(opening, tmp_path, CUT_OFF.replace("MORE", "on_interrupt: retry"))
    async with opening() as flows:
        run = await _continued(flows)
        assert (run.status, run.steps[0].attempt) == ("succeeded", 2)
    assert _trace(tmp_path) == ["cut 1", "cut 2", "after", "finished"]


async def test_the_summary_of_a_killed_run_goes_to_its_profile_once(opening: Opening, tmp_path: Path):
    (tmp_path / "profiles.yaml").write_text("team: [{channel: nowhere, target: '1'}]\n")
    text = "notify_profile: team\n" + CUT_OFF.replace(", MORE", "")
    await _killed(opening, tmp_path, text)
    async with opening() as flows:
        run = await _continued(flows)
        assert run.delivery.status != "none"


async def test_a_cancelled_run_that_no_process_owns_ends_at_once(opening: Opening, tmp_path: Path):
    async with opening() as flows:
        flows.write(APPROVED.replace("WHERE", str(tmp_path)))
        running = await flows.workflows.start("flow", request())
        await _status(flows, running.run.id, RunStatus.WAITING)
    async with opening() as flows:
        cancelled = await flows.runs.cancel(running.run.id, "not wanted")
        assert (cancelled.status, cancelled.reason) == ("cancelled", "not wanted")
        assert len(flows.bench.audit("workflow.run")) == 1


async def test_a_value_that_is_a_secret_is_not_stored_and_the_rest_of_its_run_is_interrupted(
    opening: Opening, tmp_path: Path
):
    env = {"GATEWAY_TOKEN": "not-to-be-stored-anywhere"}
    async with opening(env) as flows:
        flows.write("params: {token: {type: string}}\n" + APPROVED.replace("WHERE", str(tmp_path)))
        running = await flows.workflows.start("flow", request(params={"token": "not-to-be-stored-anywhere"}))
        await _status(flows, running.run.id, RunStatus.WAITING)
    stored = (tmp_path / "tocsin.db").read_bytes() + b"".join(p.read_bytes() for p in tmp_path.glob("tocsin.db-wal"))
    assert b"not-to-be-stored-anywhere" not in stored
    async with opening(env) as flows:
        ended = await _ended(flows, running.run.id)
        assert ended.status == "interrupted"
        assert [(step.error or {}).get("code") for step in ended.steps[1:]] == ["value-not-stored"] * 2


async def test_a_changed_file_does_not_change_what_a_waiting_run_does(opening: Opening, tmp_path: Path):
    async with opening() as flows:
        flows.write(APPROVED.replace("WHERE", str(tmp_path)))
        running = await flows.workflows.start("flow", request())
        await _status(flows, running.run.id, RunStatus.WAITING)
        flows.write("steps: [{name: other, command: 'true'}]")
        await flows.runs.decide(_approval(running.run))
        await running.wait()
    assert _trace(tmp_path) == ["first", "last 42 by ana"]


async def test_a_cron_job_waits_with_its_workflow_through_a_restart(opening: Opening, tmp_path: Path):
    async with opening() as flows:
        flows.write(APPROVED.replace("WHERE", str(tmp_path)))
        jobs = flows.bench.features.opened("cron")
        await jobs.add({"name": "job", "schedule": "@daily", "type": "workflow", "command": "flow"}, Caller("cli"))
        parent = await jobs.begin("job", Caller("cli"))
        child = await eventually(lambda: _child_of(flows, parent.run.id, "flow"))
        await _status(flows, child.id, RunStatus.WAITING)
    async with opening() as flows:
        await run_engine(flows.bench.app).step()
        assert (await flows.runs.get(parent.run.id)).status == "running"
        await flows.runs.decide(_approval(child))
        assert (await _ended(flows, parent.run.id)).status == "succeeded"
        assert _trace(tmp_path) == ["first", "last 42 by ana"]
        assert len(flows.bench.audit("cron.execute")) == len(flows.bench.audit("workflow.run")) == 1


async def test_a_stop_releases_what_only_waits_and_lets_the_rest_end(opening: Opening, tmp_path: Path):
    both = "parallel: true\nsteps:\n  - {name: ask, type: wait, approval: true}\n  - {name: work, command: 'GATE'}\n"
    gate = f"while [ ! -e {tmp_path}/go ]; do sleep 0.01; done"
    async with opening() as flows:
        flows.write("steps: [{name: ask, type: wait, approval: true}]", "waits")
        flows.write("steps: [{name: inner, type: workflow, command: waits}]", "outer")
        flows.write(both.replace("GATE", gate), "works")
        outer = await flows.workflows.start("outer", request())
        child = await eventually(lambda: _child_of(flows, outer.run.id, "waits"))
        works = await flows.workflows.start("works", request())
        for run_id in (child.id, works.run.id):
            await _status(flows, run_id, RunStatus.WAITING)
        assert flows.runs.at_work()
        flows.runs.release_waiting()
        assert [(await outer.wait()).status, (await flows.runs.get(child.id)).status] == ["running", "waiting"]
        assert flows.runs.at_work()
        (tmp_path / "go").touch()

        async def rests() -> bool:
            return not flows.runs.at_work()

        await eventually(rests)
        assert (await flows.runs.get(works.run.id)).status == "waiting"


async def test_a_child_whose_start_was_not_noted_is_not_started_twice(opening: Opening, tmp_path: Path):
    async with opening() as flows:
        flows.write(APPROVED.replace("WHERE", str(tmp_path)), "child")
        flows.write("steps: [{name: inner, type: workflow, command: child}]")
        parent = await flows.workflows.start("flow", request())
        child = await eventually(lambda: _child_of(flows, parent.run.id))
        await _status(flows, child.id, RunStatus.WAITING)
        await eventually(lambda: parent.request.get("children"))
    async with opening() as flows:
        forget = "UPDATE run_tasks SET request = json_remove(request, '$.children')"  # as a kill before it leaves it
        await flows.bench.app.database.write(lambda connection: connection.execute(forget).rowcount)
        await run_engine(flows.bench.app).step()
        await flows.runs.decide(_approval(child))
        assert (await _ended(flows, parent.run.id)).status == "succeeded"
        assert len((await flows.runs.search("workflow", "child")).items) == 1


async def test_a_step_that_is_tried_again_after_a_restart_starts_another_child(opening: Opening, tmp_path: Path):
    gate = tmp_path / "go"
    child = f"steps: [{{name: only, command: 'echo tried >> {tmp_path}/trace; [ -e {gate} ]'}}]"
    clock = SteppedClock()
    async with opening(clock=clock) as flows:
        flows.write(child, "child")
        retry = "retry: {max_attempts: 2, delay: 1h}"
        flows.write(f"steps: [{{name: inner, type: workflow, command: child, {retry}}}]")
        parent = await flows.workflows.start("flow", request())
        await clock.asleep()  # between the attempts
    gate.touch()
    async with opening(clock=clock) as flows:
        assert (await _ended(flows, parent.run.id)).status == "succeeded"
    assert _trace(tmp_path) == ["tried", "tried"]
