"""What becomes of the instants of an outage, however short it was, and of runs that a later one overtakes."""

from collections.abc import Sequence

import pytest
from tests.features.cron.conftest import Crontab, Service, running
from tests.waiting import eventually

from tocsin.runs.model import TERMINAL


@pytest.mark.parametrize(
    ("catchup", "expected"),
    [
        ("none", ["missed schedule"] * 4),
        ("latest", [*["missed schedule"] * 3, "succeeded catchup"]),
        ("all", ["succeeded catchup"] * 4),
    ],
)
async def test_instants_before_a_scheduler_began_are_missed_also_those_of_the_last_minute(
    crontab: Crontab, catchup: str, expected: list[str]
):
    await crontab.add("every 10s", catchup=catchup)
    crontab.clock.advance(45)
    async with running(crontab) as service:
        await until_ended(service, 4)
        assert [f"{run.status} {run.trigger}" for run in await crontab.runs()][:4] == expected


async def test_a_catchup_that_waits_for_its_turn_is_left_when_the_next_instant_is_due(crontab: Crontab):
    names = [f"job{number}" for number in range(5)]
    for name in names:
        await crontab.add("* * * * *", name=name)
    crontab.clock.advance(117)
    async with running(crontab) as service:
        await service.pass_time(6)
        await until_ended(service, 2, names)
    runs = [run for name in names for run in (await crontab.runs(name))[:2]]
    caught_up = [run for run in runs if run.trigger == "catchup"]
    left = [run for run in caught_up if run.status == "missed"]
    assert len(caught_up) == 5
    assert len(left) == 3  # two began at once, and two more would have five seconds later
    assert len({run.reason for run in left}) == 1
    ran_then = {run.subject_id for run in runs if (run.trigger, run.status) == ("schedule", "succeeded")}
    assert {run.subject_id for run in left} <= ran_then


async def test_of_several_runs_that_would_replace_each_other_only_the_newest_begins(crontab: Crontab):
    async with running(crontab) as service:
        await crontab.add("every 10s", overlap="replace")
        await crontab.hold_back()
        for _ in range(3):
            await service.pass_time(10)
        waiting = len(await crontab.runs())
        assert await crontab.statuses() == ["queued"] * waiting
        await crontab.let_go()
        await until_ended(service, waiting)
        overtaken = (await crontab.runs())[: waiting - 1]
        assert {run.status for run in overtaken} == {"skipped"}


async def until_ended(service: Service, count: int, names: Sequence[str] = ("job",)) -> None:
    """Let time pass until the first `count` runs of each job have ended; others may follow meanwhile."""

    async def ended() -> bool:
        await service.pass_time(2.5)
        runs = [run for name in names for run in (await service.crontab.runs(name))[:count]]
        return len(runs) == count * len(names) and all(run.status in TERMINAL for run in runs)

    await eventually(ended)
