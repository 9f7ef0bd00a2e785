"""Runs that begin later: recorded first, begun once, cancelled or taken over before they begin."""

import pytest
from tests.facts import mentions
from tests.runs.conftest import House, order, shell

from tocsin.core.process.identity import own_identity
from tocsin.runs.model import RunResult, RunStatus, RunTrigger
from tocsin.runs.service import Runs
from tocsin.runs.stored_run import InstantRecordedError, RunEndedError

DEAD = own_identity().replace(":", "1:", 1)  # a number that no process has now


async def test_a_queued_run_begins_once(house: House, runs: Runs):
    queued = await runs.queue(order())
    assert (queued.status, queued.started_at) == (RunStatus.QUEUED, None)
    house.clock.advance(3)
    ended = await (await runs.begin(queued, shell("echo hi"))).wait()
    assert (ended.status, ended.output.tail) == (RunStatus.SUCCEEDED, "hi")
    assert (ended.queued_at, ended.started_at) == (queued.queued_at, queued.queued_at + 3)
    with pytest.raises(RunEndedError, match="it is succeeded"):
        await runs.begin(queued, shell("echo again"))


async def test_a_queued_run_that_another_process_cancelled_does_not_begin(house: House, runs: Runs):
    queued = await runs.queue(order())
    assert (await house.process().cancel(queued.id)).status is RunStatus.CANCELLED
    with pytest.raises(RunEndedError, match="cancelled"):
        await runs.begin(queued, shell(f"touch {house.folder}/begun"))
    assert not (house.folder / "begun").exists()


async def test_a_scheduled_instant_is_recorded_once(house: House, runs: Runs):
    instant = {"scheduled_for": 1_700_000_000.0}
    await runs.queue(cron_order(**instant))
    with pytest.raises(InstantRecordedError, match="recorded"):
        await house.process().queue(cron_order(**instant))
    with pytest.raises(InstantRecordedError):
        await runs.record(cron_order(**instant), RunResult(RunStatus.MISSED))
    await runs.queue(cron_order(**instant, retry_of="the first"))
    await runs.queue(cron_order(scheduled_for=1_700_000_060.0))
    await runs.queue(cron_order(**instant, trigger=RunTrigger.MANUAL))


def cron_order(**changes: object):
    from dataclasses import replace

    return replace(order(), **{"kind": "cron", "trigger": RunTrigger.SCHEDULE, **changes})


async def test_queued_runs_of_a_living_process_stay_its_own(house: House, runs: Runs):
    queued = await house.process().queue(cron_order())
    assert await runs.recover() == []
    assert (await runs.get(queued.id)).status is RunStatus.QUEUED


async def test_a_queued_run_of_a_dead_process_is_interrupted(house: House, runs: Runs):
    left = await house.process(DEAD).queue(order())
    (ended,) = await runs.recover()
    assert (ended.id, ended.status) == (left.id, RunStatus.INTERRUPTED)
    assert mentions(ended.reason, left.id)


async def test_closing_ends_queued_runs(house: House):
    runs = house.process()
    queued = await runs.queue(order())
    await runs.aclose()
    assert (await house.store.get(queued.id)).status is RunStatus.INTERRUPTED
