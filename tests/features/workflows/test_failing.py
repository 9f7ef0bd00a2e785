"""What people learn of workflows that fail without a profile of their own."""

from collections.abc import Sequence
from socket import gethostname

from tests.features.workflows.conftest import WorkflowBench
from tests.waiting import eventually

from tocsin.features.context import NoticeLevel, SubsystemState
from tocsin.runs.approvals import Decision

FLOW = "steps:\n  - {{name: a, command: exit {}}}\n"


def told(flows: WorkflowBench) -> Sequence[tuple[str, str]]:
    return [(notice.title, notice.level) for notice in flows.bench.notices]


async def test_the_first_failure_and_the_recovery_are_one_notice_each(flows: WorkflowBench):
    first = await flows.run(FLOW.format(3))
    await flows.run()
    assert told(flows) == [("Workflow flow is failing", NoticeLevel.ERROR)]
    body = flows.bench.notices[0].body
    assert "code 3" in body
    assert body.count(f"run {first.id} on {gethostname()}\n`tocsin runs log {first.id}`") == 1
    await flows.run(FLOW.format(0))
    await flows.run()
    assert told(flows)[1:] == [("Workflow flow succeeds again", NoticeLevel.SUCCESS)]


async def test_a_workflow_that_failed_the_last_time_degrades_its_subsystem(flows: WorkflowBench):
    run = await flows.run(FLOW.format(3))
    (status,) = (await flows.bench.subsystems())["workflows"]
    assert (status.status, status.summary) == (SubsystemState.DEGRADED, "1 workflow, 1 failing")
    assert [(run.id in item.message, item.link) for item in status.attention] == [(True, f"#/runs/{run.id}")]
    await flows.run(FLOW.format(0))
    (status,) = (await flows.bench.subsystems())["workflows"]
    assert (status.status, status.attention) == (SubsystemState.OK, [])


async def test_a_run_whose_step_a_person_rejected_is_no_failure_to_tell(flows: WorkflowBench):
    flows.write("steps:\n  - {name: ask, type: wait, approval: true, approvers: anna}\n")
    from tests.features.workflows.conftest import request

    running = await flows.workflows.start("flow", request())
    await eventually(lambda: flows.runs.waiting(running.run.id))
    await flows.runs.decide(Decision(running.run.id, "", False, "anna", flows.clock.now()))
    run = await running.wait()
    assert (run.error or {})["code"] == "rejected"
    assert not [title for title, _ in told(flows) if "failing" in title]
    (status,) = (await flows.bench.subsystems())["workflows"]
    assert status.status == SubsystemState.OK
