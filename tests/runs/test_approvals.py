"""Steps that wait for a person."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.runs.conftest import House, order
from tests.waiting import eventually as until

from tocsin.core.audit.actions import CLI
from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.approvals import (
    ButtonPress,
    Decision,
    NotApproverError,
    NotWaitingError,
    StepQuestion,
    UnknownQuestionError,
    WaitingStep,
    refuse_others,
)
from tocsin.runs.control import RunControl
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import RunResult, RunStatus, StepRun
from tocsin.runs.recorder import RunHandle
from tocsin.runs.service import Runs


def asking(*steps: str, **who: Any):
    async def ask(handle: RunHandle, step: str) -> bool:
        await handle.save_steps(StepRun(step, "wait", RunStatus.WAITING))
        decision = await handle.decision(StepQuestion(step, f"go on with {step}?", **who))
        await handle.save_steps(StepRun(step, "wait", RunStatus.SUCCEEDED, outputs={"by": decision.by}))
        return decision.approved

    async def work(handle: RunHandle) -> RunResult:
        approved = await asyncio.gather(*(ask(handle, step) for step in steps))
        return RunResult(RunStatus.SUCCEEDED if all(approved) else RunStatus.FAILED)

    return work


async def started(runs: Runs, *steps: str, **who: Any) -> ActiveRun:
    running = await runs.start(order(), asking(*steps, **who))

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
    assert (waiting.question.step, waiting.question.message) == ("deploy", "go on with deploy?")
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
    with pytest.raises(NotWaitingError, match="several"):
        await runs.decide(approve(running))
    await runs.decide(approve(running, "b"))
    assert (await runs.get(running.run.id)).status is RunStatus.WAITING
    with pytest.raises(NotWaitingError, match="decision"):
        await runs.decide(approve(running, "b"))
    await runs.decide(approve(running))
    assert (await running.wait()).ok


HERE, ELSEWHERE = ButtonPress("q", "botchat:7", "70"), ButtonPress("q", "botchat:8", "80")
OTHER_CHANNEL = ButtonPress("q", "teamchat:7", "70")
OPEN = {"asked_in": ("botchat:7",)}
OF_OTHERS = {**OPEN, "not_by_starter": True}


@pytest.mark.parametrize(
    ("who", "starter", "by", "press", "may"),
    [
        # Without approvers: the operator of the machine, who signs in, tokens, and the chats that were asked.
        (OPEN, None, None, None, True),
        (OPEN, None, "ana", None, True),
        (OPEN, None, "token:ci", None, True),
        (OPEN, None, "chat:7", HERE, True),
        (OPEN, None, "chat:7", None, False),
        (OPEN, None, "chat:7", OTHER_CHANNEL, False),
        (OPEN, None, "chat:8", ELSEWHERE, False),
        # With approvers only they, and the operator.
        ({"approvers": ("ana",)}, None, "ana", None, True),
        ({"approvers": ("ana",)}, None, "ben", None, False),
        ({"approvers": ("ana",)}, None, None, None, True),
        ({"approvers": ("token:ci",)}, None, "token:ci", None, True),
        ({"approvers": ("ci",)}, None, "token:ci", None, False),
        ({"approvers": ("chat:7",), **OPEN}, None, "chat:7", HERE, True),
        ({"approvers": ("chat:7",), **OPEN}, None, "chat:7", OTHER_CHANNEL, False),
        ({"approvers": ("chat:8",), **OPEN}, None, "chat:7", HERE, False),
        ({"approvers": ("chat:7",), **OPEN}, None, "ana", None, False),
        # Who started the run: people may unless the step says otherwise, tokens never.
        (OPEN, "ana", "ana", None, True),
        (OPEN, "chat:7", "chat:7", HERE, True),
        (OPEN, "token:ci", "token:ci", None, False),
        (OPEN, "token:ci", "token:other", None, True),
        ({"approvers": ("token:ci",)}, "token:ci", "token:ci", None, False),
        (OF_OTHERS, "ana", "ana", None, False),
        (OF_OTHERS, "ana", "ben", None, True),
        (OF_OTHERS, "chat:7", "chat:7", HERE, False),
        (OF_OTHERS, "chat:70", "chat:7", HERE, False),  # the person started it in their private chat
        (OF_OTHERS, None, "ana", None, True),
        (OF_OTHERS, None, None, None, True),
    ],
)  # fmt: skip
def test_who_may_answer_a_question(
    who: dict[str, Any], starter: str | None, by: str | None, press: ButtonPress | None, *, may: bool
):
    question = StepQuestion("deploy", **who)
    if may:
        refuse_others(question, starter, by, press)
    else:
        with pytest.raises(NotApproverError):
            refuse_others(question, starter, by, press)


async def test_a_refusal_names_the_approvers(runs: Runs):
    running = await started(runs, "deploy", approvers=("ana", "chat:7"))
    with pytest.raises(NotApproverError, match="decided") as refused:
        await runs.decide(approve(running, by="ben"))
    assert "chat:7" in refused.value.hint
    await runs.decide(approve(running, by="ana"))
    assert (await running.wait()).ok


def control_of(runs: Runs, house: House, folder: Path) -> tuple[RunControl, AuditLog]:
    log = AuditLog(folder / "audit.log")

    async def no_start(*_: Any) -> Any:
        raise AssertionError

    return RunControl(runs, AuditTrail(log), house.clock, no_start), log


async def test_a_button_counts_once_where_it_was_asked_and_all_else_is_audited(
    house: House, runs: Runs, tmp_path: Path
):
    control, log = control_of(runs, house, tmp_path)
    running = await started(runs, "deploy", asked_in=("botchat:7",))
    question = (await runs.waiting(running.run.id))[0].question.id
    here, caller = ButtonPress(question, "botchat:7", "70"), Caller("bot", {"actor": "chat:7"})
    for press, chat, error in (
        (here._replace(asked_in="botchat:8"), "8", NotApproverError),
        (here._replace(question=question[:-1]), "7", UnknownQuestionError),
        (here._replace(question=""), "7", UnknownQuestionError),
        (here._replace(question=running.run.id), "7", UnknownQuestionError),
    ):
        with pytest.raises(error):
            await control.press(press, chat, Caller("bot", {"actor": f"chat:{chat}"}), approved=True)
    assert (await control.press(here, "7", caller, approved=True)).step == "deploy"
    assert (await running.wait()).steps[0].outputs == {"by": "chat:7"}
    with pytest.raises(UnknownQuestionError):
        await control.press(here, "7", caller, approved=False)
    entries = [(each.action, each.metadata.get("actor"), each.metadata.get("outcome")) for each in log.tail(10)]
    denied = ("run.decision_denied", "chat:7", "denied")
    assert entries == [
        denied, ("run.approve", "chat:7", None), denied, denied, denied, ("run.decision_denied", "chat:8", "denied"),
    ]  # fmt: skip


async def test_a_button_of_a_question_does_not_answer_the_same_step_when_it_asks_again(
    house: House, runs: Runs, tmp_path: Path
):
    control, _ = control_of(runs, house, tmp_path)

    async def twice(handle: RunHandle) -> RunResult:
        await handle.decision(StepQuestion("deploy", asked_in=("botchat:7",), id="first"))
        await handle.decision(StepQuestion("deploy", asked_in=("botchat:7",), id="second"))
        return RunResult(RunStatus.SUCCEEDED)

    running = await runs.start(order(), twice)

    async def asks(question: str) -> bool:
        return [each.question.id for each in await runs.waiting(running.run.id)] == [question]

    await until(lambda: asks("first"))
    first, caller = ButtonPress("first", "botchat:7", "7"), Caller("bot", {"actor": "chat:7"})
    await control.press(first, "7", caller, approved=True)
    await until(lambda: asks("second"))
    with pytest.raises(UnknownQuestionError):
        await control.press(first, "7", caller, approved=True)
    await control.decide(running.run.id, Caller(CLI.name), approved=True)
    assert (await running.wait()).ok


async def test_nobody_without_a_name_is_taken_for_the_operator(house: House, runs: Runs, tmp_path: Path):
    control, _ = control_of(runs, house, tmp_path)
    running = await started(runs, "deploy")
    with pytest.raises(NotApproverError):
        await control.decide(running.run.id, Caller("dashboard"), approved=True)
    await control.decide(running.run.id, Caller(CLI.name), approved=True)
    assert (await running.wait()).ok


async def test_a_run_that_does_not_wait_cannot_be_approved(runs: Runs):
    running = await runs.start(order(), lambda _: asyncio.sleep(60, RunResult(RunStatus.SUCCEEDED)))
    with pytest.raises(NotWaitingError, match="waiting"):
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
                await handle.decision(StepQuestion("deploy"))
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


async def test_an_answer_that_comes_while_the_earlier_question_is_looked_up_is_taken_once(house: House, runs: Runs):
    answers: list[Decision] = []

    async def work(handle: RunHandle) -> RunResult:
        question = StepQuestion("deploy")
        await house.store.approvals.wait_for(WaitingStep(handle.run_id, question, 1000.0))
        made = await house.store.approvals.decide(Decision(handle.run_id, "deploy", True, "ana", 2000.0))
        deciding = asyncio.ensure_future(handle.decision(question))
        await asyncio.sleep(0)  # it looks for the question of an earlier process
        handle.decided(made)
        answers.append(await deciding)
        return RunResult(RunStatus.SUCCEEDED)

    running = await runs.start(order(), work)
    assert (await running.wait()).status is RunStatus.SUCCEEDED
    assert [answer.by for answer in answers] == ["ana"]
