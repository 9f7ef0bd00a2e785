"""What follows from the end of a run: once, also where a process dies in the middle of it."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs.conftest import House, order, shell

from tocsin.core.audit.actions import AuditAction
from tocsin.core.audit.log import AuditLog
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.process.beats import SqliteBeats
from tocsin.core.process.identity import own_identity
from tocsin.core.process.presence import Presence
from tocsin.messaging.outbound.output_routing import OutputRouter
from tocsin.runs.engine.run_type import DelayedRun, RunAuditEntry, RunType
from tocsin.runs.engine.settling import RunSettler, SettlerDependencies
from tocsin.runs.filters import RunFilter
from tocsin.runs.model import OutputDelivery, Run, RunStatus, new_run
from tocsin.runs.service import Runs
from tocsin.runs.stored_run import OWNERS_S, RunTask

ENDED = AuditAction("test.ended", "A run of these tests ended.")
DEAD = own_identity().replace(":", "1:", 1)


class DiedError(Exception):
    """Stands for the end of the process."""


class Recorded(RunType):
    """A type that records what it is told, and may die before it has notified anyone."""

    kind = "skill"
    source = "cli"

    def __init__(self) -> None:
        self.told: list[str] = []
        self.dies = self.retries = False

    def retry(self, run: Run, now: float) -> DelayedRun | None:
        if not self.retries or run.retry_of:
            return None
        return DelayedRun(replace(new_run(order(), RunStatus.QUEUED, now), retry_of=run.id), now)

    async def note(self, run: Run, output: str) -> Mapping[str, Any]:
        return {"status": str(run.status)}

    def entry(self, run: Run, request: Mapping[str, Any], noted: Mapping[str, Any]) -> RunAuditEntry:
        return RunAuditEntry(ENDED, "it ended", {"run": run.id})

    async def tell(self, run: Run, noted: Mapping[str, Any]) -> None:
        if self.dies:
            raise DiedError
        self.told.append(noted["status"])


class Settling:
    """Runs with a settler over the database of a house."""

    def __init__(self, house: House, folder: Path) -> None:
        self.house = house
        self.type = Recorded()
        self.audit = AuditTrail(AuditLog(folder / "audit.log"))
        self.settler = RunSettler(SettlerDependencies(house.store, self._output, self.audit, house.clock, self._of))
        presence = Presence(SqliteBeats(house.database), house.clock)
        self.runs = Runs(house.store, folder / "runs", house.clock, presence, settler=self.settler, poll_s=0.01)

    def _of(self, kind: str, _: Mapping[str, Any]) -> RunType | None:
        return self.type if kind == "skill" else None

    def _output(self) -> OutputRouter:
        raise AssertionError("there is no message")

    def entries(self) -> list[object]:
        return [entry.metadata["run"] for entry in self.audit.log.tail(100)]

    async def left(self) -> int:
        sql = "SELECT COUNT(*) FROM run_tasks"
        return int(await self.house.database.read(lambda c: c.execute(sql).fetchone()[0]))


@pytest.fixture
async def settling(house: House, tmp_path: Path) -> AsyncIterator[Settling]:
    settling = Settling(house, tmp_path)
    yield settling
    await settling.runs.aclose()
    settling.audit.log.close()


async def test_an_end_is_settled_before_its_run_is_returned(settling: Settling):
    run = await settling.runs.execute(order(), shell("true"))
    assert (settling.entries(), settling.type.told, await settling.left()) == ([run.id], ["succeeded"], 0)
    await settling.settler.settle(run)
    assert (settling.entries(), settling.type.told) == ([run.id], ["succeeded"])


async def test_an_end_that_is_noted_but_not_told_is_told_by_another_process_without_a_second_entry(settling: Settling):
    settling.type.dies = True
    run = await settling.runs.execute(order(), shell("true"))
    assert (settling.entries(), settling.type.told, await settling.left()) == ([run.id], [], 1)
    settling.type.dies = False
    await settling.settler.settle_left()
    assert settling.type.told == []  # its own process may be about to do it
    settling.house.clock.advance(OWNERS_S + 1)
    await settling.settler.settle_left()
    assert (settling.entries(), settling.type.told, await settling.left()) == ([run.id], ["succeeded"], 0)


async def test_an_entry_that_a_dead_process_did_not_write_is_written(settling: Settling):
    run = new_run(order(), RunStatus.RUNNING, settling.house.clock.now())
    await settling.house.store.add(run, DEAD, RunTask())
    await settling.runs.recover()
    assert await settling.house.store.settle(run.id, {"status": "interrupted"}, OutputDelivery(), None, 0.0)
    await settling.settler.settle_left()
    assert (settling.entries(), settling.type.told, await settling.left()) == ([run.id], ["interrupted"], 0)


async def test_the_run_of_a_dead_process_is_settled_at_once(settling: Settling):
    run = new_run(order(), RunStatus.RUNNING, settling.house.clock.now())
    await settling.house.store.add(run, DEAD, RunTask(caller={"ip": "192.0.2.1"}))
    await settling.runs.recover()
    await settling.settler.settle_left()
    assert (settling.entries(), settling.type.told) == ([run.id], ["interrupted"])
    assert settling.audit.log.tail(1)[0].metadata["ip"] == "192.0.2.1"


async def test_a_retry_does_not_take_over_the_child_runs_of_the_attempt_before(settling: Settling):
    settling.type.retries = True
    request = {"children": {"workflow": "r1"}}
    run = await settling.runs.execute(order(request=request), shell("exit 1"))
    (again,) = (await settling.runs.find(RunFilter(retry_of=run.id))).items
    assert await settling.house.store.request_of(again.id) == {}
