"""What people do to runs leaves one audit entry each, and a retry is the business of the kind."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.runs.conftest import House, order, shell
from tests.runs.test_approvals import started

from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.control import NotRetriedError, Retry, RunControl, StartRequest, as_retry
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import RunStatus, RunTrigger
from tocsin.runs.service import Runs

ANA = Caller("dashboard", {"actor": "ana", "ip": "192.0.2.1"})


class Control:
    """The control of a house's runs, what it asked to start, and its audit entries."""

    def __init__(self, house: House, runs: Runs) -> None:
        self.asked: list[tuple[str, StartRequest]] = []
        self._runs = runs
        self._path: Path = house.folder / "audit.log"
        self.of = RunControl(runs, AuditTrail(AuditLog(self._path)), house.clock, self._start)

    async def _start(self, kind: str, subject: str, request: StartRequest, /) -> ActiveRun:
        assert kind == "skill"
        self.asked.append((subject, request))
        return await self._runs.start(as_retry(order(subject), request.retry), shell("echo again"))

    def entries(self) -> list[dict[str, Any]]:
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        return [json.loads(line) for line in lines]


@pytest.fixture
def control(house: House, runs: Runs) -> Control:
    return Control(house, runs)


@pytest.mark.parametrize("approved", [True, False])
async def test_a_decision_is_audited_with_who_made_it(runs: Runs, control: Control, approved: bool):
    running = await started(runs, "deploy", approvers=("ana",))
    short = running.run.id.rpartition("-")[2]
    made = await control.of.decide(short, ANA, approved=approved, comment="looked at it")
    assert (made.step, made.by, made.approved) == ("deploy", "ana", approved)
    assert (await running.wait()).ok is approved
    (entry,) = control.entries()
    assert (entry["action"], entry["source"]) == ("run.approve" if approved else "run.reject", "dashboard")
    told = {name: entry["metadata"][name] for name in ("run", "run_kind", "step", "comment", "actor", "ip")}
    assert list(told.values()) == [running.run.id, "skill", "deploy", "looked at it", "ana", "192.0.2.1"]


async def test_a_retry_is_started_by_its_kind_and_the_old_run_stays_as_it_was(runs: Runs, control: Control):
    first = await runs.execute(order(params={"mode": "x"}), shell("exit 1"))
    again = await (await control.of.retry(first.id, ANA)).wait()
    assert (again.retry_of, again.attempt, again.trigger) == (first.id, 2, RunTrigger.RETRY)
    assert await runs.get(first.id) == first
    [(subject, request)] = control.asked
    assert (subject, request.params, request.actor) == ("backup", {"mode": "x"}, "ana")
    assert request.retry == Retry(first)
    assert control.entries() == []  # the feature that starts it writes the entry


async def test_what_is_at_work_and_steps_that_are_not_there_cannot_be_retried(runs: Runs, control: Control):
    running = await started(runs, "deploy")
    with pytest.raises(NotRetriedError, match="is waiting"):
        await control.of.retry(running.run.id, ANA)
    await control.of.cancel(running.run.id, ANA, "no", 0)
    assert (await running.wait()).status is RunStatus.CANCELLED
    with pytest.raises(NotRetriedError, match="step") as refused:
        await control.of.retry(running.run.id, ANA, "copy")
    assert "deploy" in refused.value.hint
    await (await control.of.retry(running.run.id, ANA, "deploy")).wait()
    [(_, request)] = control.asked
    assert request.retry == Retry(await runs.get(running.run.id), "deploy")
    assert [entry["action"] for entry in control.entries()] == ["run.cancel"]
