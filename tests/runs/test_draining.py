"""A service that was asked to stop lets its runs end."""

import asyncio
from pathlib import Path

from tests.runs.conftest import order, shell
from tests.runs.test_approvals import approve, started
from tests.waiting import eventually as until

from tocsin.core.time.clock import SystemClock
from tocsin.runs.engine.active_run import DRAIN_S, RunsDrain
from tocsin.runs.model import RunStatus
from tocsin.runs.service import Runs
from tocsin.testing.fakes import FakeClock


async def test_what_is_at_work_may_end(runs: Runs, tmp_path: Path):
    go = tmp_path / "go"
    running = await runs.start(order(), shell(f"until [ -e {go} ]; do sleep 0.02; done"))
    drain = RunsDrain(runs.at_work, SystemClock())
    stopping = asyncio.create_task(drain.run())
    drain.stop()
    await until(runs.at_work)
    assert not stopping.done()
    go.touch()
    await stopping
    assert (await running.wait()).status is RunStatus.SUCCEEDED


async def test_after_half_a_minute_the_service_ends_all_the_same(runs: Runs):
    running = await runs.start(order(), shell("sleep 60"))
    clock = FakeClock()
    drain = RunsDrain(runs.at_work, clock)
    drain.stop()
    await drain.run()
    assert DRAIN_S <= sum(clock.slept) <= DRAIN_S + 1
    assert runs.at_work()
    await running.stop()


async def test_a_run_that_waits_for_a_person_keeps_no_service(runs: Runs):
    running = await started(runs, "deploy")
    clock = FakeClock()
    drain = RunsDrain(runs.at_work, clock)
    drain.stop()
    await drain.run()
    assert clock.slept == []
    await runs.decide(approve(running))
    await running.wait()
