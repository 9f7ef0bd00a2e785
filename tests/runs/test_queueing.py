"""Runs that begin later: recorded first, begun once in their turn, cancelled or taken over before they begin."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.facts import mentions
from tests.runs.conftest import POLL_S, House, order, shell
from tests.waiting import eventually

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.process.beats import SqliteBeats
from tocsin.core.process.identity import own_identity
from tocsin.core.process.presence import Presence
from tocsin.runs.engine.active_run import ActiveRun, PendingRun
from tocsin.runs.engine.overlap import IN_TURN, Overlap, OverlapRules
from tocsin.runs.engine.run_type import RunType
from tocsin.runs.model import Run, RunResult, RunSpec, RunStatus, RunTrigger, new_run
from tocsin.runs.recorder import Work
from tocsin.runs.records import RunRecords
from tocsin.runs.service import Runs
from tocsin.runs.store import RunStore
from tocsin.runs.stored_run import InstantRecordedError, RunEndedError, RunTask, StoredRun

DEAD = own_identity().replace(":", "1:", 1)  # a number that no process has now


class Gate:
    """Work that ends when it is told to; it notes that it has begun."""

    def __init__(self) -> None:
        self.begun = 0
        self.open = asyncio.Event()

    async def work(self, _: object) -> RunResult:
        self.begun += 1
        await self.open.wait()
        return RunResult(RunStatus.SUCCEEDED)


async def queued(runs: Runs, work: Any, **changes: object) -> PendingRun:
    """Queue a run behind another one."""
    pending = await runs.admit_or_queue(order(**changes), work, IN_TURN)
    assert isinstance(pending, PendingRun)
    return pending


async def blocked(runs: Runs) -> tuple[Gate, ActiveRun]:
    """Start a run that others wait for."""
    gate = Gate()
    running = await runs.admit_or_queue(order(), gate.work, IN_TURN)
    assert isinstance(running, ActiveRun)
    return gate, running


async def test_a_queued_run_begins_once_when_the_earlier_one_has_ended(house: House, runs: Runs):
    gate, _ = await blocked(runs)
    pending = await queued(runs, shell("echo hi"))
    assert (pending.run.status, pending.run.started_at) == (RunStatus.QUEUED, None)
    house.clock.advance(3)
    gate.open.set()
    ended = await pending.wait()
    assert (ended.status, ended.output.tail) == (RunStatus.SUCCEEDED, "hi")
    assert (ended.queued_at, ended.started_at) == (pending.run.queued_at, pending.run.queued_at + 3)


async def test_queued_runs_of_two_processes_begin_in_the_order_in_which_they_came(house: House, runs: Runs):
    gate, _ = await blocked(runs)
    gates = [Gate() for _ in range(4)]
    processes = [house.process("another process"), runs] * 2
    pending = [await queued(process, each.work) for process, each in zip(processes, gates, strict=True)]
    gate.open.set()
    for number, (each, waits) in enumerate(zip(gates, pending, strict=True)):
        await waits.begun
        assert [one.begun for one in gates] == [1] * (number + 1) + [0] * (3 - number)
        each.open.set()
    assert {(await waits.wait()).status for waits in pending} == {RunStatus.SUCCEEDED}


async def test_a_queued_run_that_another_process_cancelled_does_not_begin(house: House, runs: Runs):
    gate, _ = await blocked(runs)
    pending = await queued(runs, shell(f"touch {house.folder}/begun"))
    assert (await house.process().cancel(pending.run.id)).status is RunStatus.CANCELLED
    with pytest.raises(RunEndedError, match="cancelled"):
        await pending.begun
    assert (await pending.wait()).status is RunStatus.CANCELLED
    gate.open.set()
    assert not (house.folder / "begun").exists()


async def test_a_queued_run_keeps_the_limit_of_its_log(runs: Runs):
    gate, _ = await blocked(runs)
    pending = await queued(runs, shell("yes | head -c 100000"), log_max_bytes=2000)
    gate.open.set()
    ended = await pending.wait()
    assert ended.output.truncated


async def test_a_run_that_replaces_another_starts_even_if_settling_the_replaced_one_fails(house: House):
    runs = house.process(settler=FailingSettler())
    _, running = await blocked(runs)
    rules = OverlapRules(Overlap.REPLACE)
    first = await runs.admit_or_queue(order(), shell("echo first"), rules)
    second = await runs.admit_or_queue(order(), shell("echo second"), rules)
    assert (await first.wait()).status is RunStatus.SKIPPED
    assert (await running.wait()).status is RunStatus.CANCELLED
    assert (await second.wait()).output.tail == "second"


class FailingSettler:
    """A settler whose store is unavailable, with a type of runs that any process continues."""

    def type_of(self, kind: str, params: object) -> RunType:
        return ContinuedType()

    async def settle(self, run: Run) -> Run:
        raise StoreUnavailableError("gone")


class ContinuedType(RunType):
    kind, source = "skill", "test"

    def may_continue(self, run: Run, request: Mapping[str, Any]) -> bool:
        return True

    async def resume(self, run: Run, request: Mapping[str, Any]) -> Work:
        return shell("echo continued")


class LostAnswers:
    """Records whose decisions are stored, but not confirmed, while `loses` is set."""

    def __init__(self, records: RunRecords) -> None:
        self.loses = self.hides = False
        self._records = records

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    async def decide(self, kind: str, choose: Callable[..., Any]) -> Any:
        chosen = await self._records.decide(kind, choose)
        if self.loses:
            raise StoreUnavailableError("the connection was lost")
        return chosen

    async def get(self, run_id: str) -> StoredRun:
        if self.hides:
            raise StoreUnavailableError("the connection was lost")
        return await self._records.get(run_id)

    async def several(self, run_ids: Any) -> list[Run]:
        if self.loses:
            raise StoreUnavailableError("the connection was lost")
        return await self._records.several(run_ids)


@pytest.fixture
def losing(house: House) -> tuple[Runs, LostAnswers]:
    records = LostAnswers(house.store.records)
    presence = Presence(SqliteBeats(house.database), house.clock)
    settler: Any = FailingSettler()
    runs = Runs(RunStore(records), house.folder / "runs", house.clock, presence, settler=settler, poll_s=POLL_S)  # type: ignore[arg-type]
    house.opened.append(runs)
    return runs, records


async def test_a_queued_run_whose_begin_was_not_confirmed_is_executed_once(losing: tuple[Runs, LostAnswers]):
    runs, records = losing
    gate, _ = await blocked(runs)
    behind = Gate()
    pending = await queued(runs, behind.work)
    records.loses = True
    gate.open.set()

    async def has_begun() -> bool:
        return (await runs.get(pending.run.id)).status is RunStatus.RUNNING

    await eventually(has_begun)  # in the store; this process may find out at any time
    records.loses = False
    await pending.begun
    behind.open.set()
    assert (await pending.wait()).status is RunStatus.SUCCEEDED
    assert behind.begun == 1


async def test_a_run_whose_admission_was_not_confirmed_does_not_run_and_blocks_no_other(
    losing: tuple[Runs, LostAnswers],
):
    runs, records = losing
    records.loses = True
    lost = Gate()
    with pytest.raises(StoreUnavailableError):
        await runs.admit(order(), lost.work, IN_TURN)
    records.loses = False
    following = await runs.admit_or_queue(order(), shell("echo hi"), IN_TURN)
    assert (await following.wait()).output.tail == "hi"
    (found,) = [run for run in (await runs.search()).items if run.id != following.run.id]
    assert (found.status, lost.begun) == (RunStatus.INTERRUPTED, 0)


async def test_a_queued_run_survives_an_outage_of_the_store(losing: tuple[Runs, LostAnswers]):
    runs, records = losing
    gate, _ = await blocked(runs)
    pending = await queued(runs, shell("echo hi"))
    records.loses = True
    await asyncio.sleep(0)
    records.loses = False
    gate.open.set()
    assert (await pending.wait()).output.tail == "hi"


async def test_a_run_that_was_taken_and_not_started_is_released_at_the_end(losing: tuple[Runs, LostAnswers]):
    runs, records = losing
    run = new_run(order(), RunStatus.QUEUED, 0.0)
    await runs.store.add(run, "", RunTask())
    records.hides = True
    with pytest.raises(StoreUnavailableError):
        await runs.resume()
    await runs.aclose()
    assert (await runs.store.left()).at_work == [run.id]


async def test_a_run_whose_taking_was_not_confirmed_is_continued_by_the_next_look(losing: tuple[Runs, LostAnswers]):
    runs, records = losing
    run = new_run(order(), RunStatus.QUEUED, 0.0)
    await runs.store.add(run, "", RunTask())
    records.loses = True
    with pytest.raises(StoreUnavailableError):
        await runs.resume()
    records.loses = False
    await runs.resume()
    assert (await runs.wait(run.id)).output.tail == "continued"


async def test_a_scheduled_instant_is_recorded_once(house: House, runs: Runs):
    instant = {"scheduled_for": 1_700_000_000.0}
    skipped = RunResult(RunStatus.SKIPPED)
    await runs.record(cron_order(**instant), skipped)
    with pytest.raises(InstantRecordedError, match="recorded"):
        await house.process().record(cron_order(**instant), skipped)
    with pytest.raises(InstantRecordedError):
        await runs.record(cron_order(**instant), RunResult(RunStatus.MISSED))
    await runs.record(cron_order(**instant, retry_of="the first"), skipped)
    await runs.record(cron_order(scheduled_for=1_700_000_060.0), skipped)
    await runs.record(cron_order(**instant, trigger=RunTrigger.MANUAL), skipped)


def cron_order(**changes: object) -> RunSpec:
    return replace(order(), **{"kind": "cron", "trigger": RunTrigger.SCHEDULE, **changes})


async def test_queued_runs_of_a_living_process_stay_its_own(house: House, runs: Runs):
    other = house.process()
    gate, _ = await blocked(other)
    pending = await queued(other, shell("true"))
    assert await runs.recover() == []
    assert (await runs.get(pending.run.id)).status is RunStatus.QUEUED
    gate.open.set()
    await pending.wait()


async def test_a_queued_run_of_a_dead_process_is_interrupted(house: House, runs: Runs):
    dead = house.process(DEAD)
    _, running = await blocked(dead)
    left = await queued(dead, shell("true"))
    ended = {run.id: run for run in await runs.recover()}
    assert ended.keys() == {running.run.id, left.run.id}
    assert ended[left.run.id].status is RunStatus.INTERRUPTED
    assert mentions(ended[left.run.id].reason, left.run.id)


async def test_closing_ends_queued_runs(house: House):
    runs = house.process()
    await blocked(runs)
    pending = await queued(runs, shell("true"))
    await runs.aclose()
    assert (await house.store.get(pending.run.id)).status is RunStatus.INTERRUPTED
