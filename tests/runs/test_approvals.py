"""Steps that wait for a person."""

import asyncio

import pytest
from tests.runs.conftest import House, order
from tests.waiting import eventually as until

from tocsin.runs.active_run import ActiveRun
from tocsin.runs.approvals import Decision, NotApproverError, NotWaitingError
from tocsin.runs.model import RunResult, RunStatus, StepRun
from tocsin.runs.recorder import RunHandle
from tocsin.runs.service import Runs


def asking(*steps: str, approvers: tuple[str, ...] = ()):
    async def ask(handle: RunHandle, step: str) -> bool:
        await handle.save_steps(StepRun(step, "wait", RunStatus.WAITING))
        decision = await handle.decision(step, f"go on with {step}?", approvers)
        await handle.save_steps(StepRun(step, "wait", RunStatus.SUCCEEDED, outputs={"by": decision.by}))
        return decision.approved

    async def work(handle: RunHandle) -> RunResult:
        approved = await asyncio.gather(*(ask(handle, step) for step in steps))
        return RunResult(RunStatus.SUCCEEDED if all(approved) else RunStatus.FAILED)

    return work


async def started(runs: Runs, *steps: str, approvers: tuple[str, ...] = ()) -> ActiveRun:
    running = await runs.start(order(), asking(*steps, approvers=approvers))

    async def waits() -> bool:
        return len(await runs.waiting(running.run.id)) == len(steps)

    await until(waits)
    assert (await runs.get(running.run.id)).status is RunStatus.WAITING
    return running


def approve(running: ActiveRun, step: str = "", by: str | None = None, *, approved: bool = True) -> Decision:
    return Decision(running.run.id, step, approved, by, 2000.0)


async def test_an_approved_step_goes_on(runs: Runs):
    running = await started(runs, "deploy")
    (waiting,) = await runs.waiting(running.run.id)
    assert (waiting.step, waiting.message) == ("deploy", "go on with deploy?")
    assert (await runs.decide(approve(running, by="ana"))).step == "deploy"
    run = await running.wait()
    assert (run.status, run.steps[0].outputs) == (RunStatus.SUCCEEDED, {"by": "ana"})


async def test_a_rejected_step_is_told_so(runs: Runs):
    running = await started(runs, "deploy")
    await runs.decide(approve(running, approved=False))
    assert (await running.wait()).status is RunStatus.FAILED


async def test_a_step_is_approved_from_another_process(house: House, runs: Runs):
    running = await started(runs, "deploy")
    await house.process().decide(approve(running))
    assert (await running.wait()).ok


async def test_of_several_waiting_steps_one_must_be_named_and_the_run_waits_until_all_are_decided(runs: Runs):
    running = await started(runs, "a", "b")
    with pytest.raises(NotWaitingError, match="several steps wait: a, b"):
        await runs.decide(approve(running))
    await runs.decide(approve(running, "b"))
    assert (await runs.get(running.run.id)).status is RunStatus.WAITING
    with pytest.raises(NotWaitingError, match="the step b does not wait for a decision"):
        await runs.decide(approve(running, "b"))
    await runs.decide(approve(running))
    assert (await running.wait()).ok


async def test_only_approvers_and_the_operator_of_the_machine_decide(runs: Runs):
    running = await started(runs, "deploy", approvers=("ana", "chat:7"))
    with pytest.raises(NotApproverError, match="chat:8 cannot decide") as refused:
        await runs.decide(approve(running, by="chat:8"))
    assert refused.value.hint == "ask one of: ana, chat:7"
    await runs.decide(approve(running, by="chat:7"))
    assert (await running.wait()).ok


async def test_a_run_that_does_not_wait_cannot_be_approved(runs: Runs):
    running = await runs.start(order(), lambda _: asyncio.sleep(60, RunResult(RunStatus.SUCCEEDED)))
    with pytest.raises(NotWaitingError, match="no step of the run waits"):
        await runs.decide(approve(running))
    await runs.cancel(running.run.id)
    await running.wait()
    with pytest.raises(NotWaitingError, match="has ended: cancelled"):
        await runs.decide(approve(running))


async def test_a_waiting_run_is_cancelled_with_its_step(runs: Runs):
    running = await started(runs, "deploy")
    await runs.cancel(running.run.id, "not today")
    run = await running.wait()
    assert (run.status, run.steps[0].status) == (RunStatus.CANCELLED, RunStatus.CANCELLED)
    assert await runs.waiting(run.id) == []


async def test_a_question_that_takes_too_long_is_withdrawn(runs: Runs):
    async def work(handle: RunHandle) -> RunResult:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await handle.decision("deploy")
        assert (await runs.get(handle.run_id)).status is RunStatus.RUNNING
        assert await runs.waiting(handle.run_id) == []
        return RunResult(RunStatus.TIMED_OUT)

    assert (await runs.execute(order(), work)).status is RunStatus.TIMED_OUT


async def test_a_waiting_run_keeps_its_owner_and_is_interrupted_with_it(house: House, runs: Runs):
    await started(runs, "deploy")
    assert await house.process().recover() == []
    await runs.aclose()
    (run,) = (await runs.search()).items
    run = await runs.get(run.id)
    assert (run.status, run.steps[0].status) == (RunStatus.INTERRUPTED, RunStatus.INTERRUPTED)
