"""Jobs that run once when a scheduler starts after the machine has booted, and not at each restart of the service."""

from dataclasses import replace

import pytest
from tests.features.cron.conftest import HUMAN, Crontab, running

from tocsin.features.cron.model import JobState

FIRST, SECOND = "boot 1", "boot 2"


@pytest.mark.parametrize("schedule", ["at start", "at: start", "@reboot"])
async def test_a_job_at_start_runs_once_in_each_boot(crontab: Crontab, schedule: str):
    await crontab.add(schedule)
    for boot, count in ((FIRST, 1), (FIRST, 1), (SECOND, 2), (SECOND, 2)):
        async with running(crontab, boot=boot) as service:
            await service.pass_time(60)
            assert await service.quiet() == ["succeeded"] * count
    runs = await crontab.runs()
    assert {run.trigger for run in runs} == {"schedule"}
    assert all(run.scheduled_for is not None for run in runs)


async def test_a_job_that_counts_as_started_in_this_boot_waits_for_the_next(crontab: Crontab):
    fields = {"name": "job", "schedule": "at start", "command": "true"}
    await crontab.jobs.add(fields, HUMAN, boot=FIRST)
    for boot, expected in ((FIRST, []), (SECOND, ["succeeded"])):
        async with running(crontab, boot=boot) as service:
            assert await service.quiet() == expected


async def test_a_job_that_is_added_while_a_scheduler_works_waits_for_its_next_start(crontab: Crontab):
    async with running(crontab, boot=FIRST) as service:
        await crontab.add("at start")
        await service.pass_time(60)
        assert await crontab.runs() == []
    async with running(crontab, boot=FIRST) as service:
        assert await service.quiet() == ["succeeded"]


@pytest.mark.parametrize(
    "off",
    [
        {"enabled": False},
        {"paused_until": "2030-01-01T00:00:00Z"},
        {"start_at": "2030-01-01T00:00:00Z"},
        {"end_at": "2020-01-01T00:00:00Z"},
    ],
    ids=["disabled", "paused", "before its time", "after its time"],
)
async def test_a_start_while_a_job_is_off_is_neither_run_nor_made_up_for(crontab: Crontab, off: dict[str, object]):
    await crontab.add("at start", **off)
    async with running(crontab, boot=FIRST):
        assert await crontab.runs() == []
    on = {"enabled": True, **{name: None for name in off if name != "enabled"}}
    await crontab.jobs.edit("job", on, HUMAN)
    async with running(crontab, boot=FIRST):
        assert await crontab.runs() == []
    async with running(crontab, boot=SECOND) as service:
        assert await service.quiet() == ["succeeded"]


async def test_a_start_that_was_queued_and_not_begun_follows_the_rules_of_catching_up(crontab: Crontab):
    for catchup, window in (("latest", 3600), ("none", 3600), ("latest", 60)):
        await crontab.add("at start", name=f"{catchup} {window}", catchup=catchup, catchup_window_seconds=window)
    await crontab.hold_back()
    async with running(crontab, boot=FIRST):
        assert await crontab.statuses("none 3600") == ["queued"]
    await crontab.let_go()
    crontab.clock.advance(300)
    async with running(crontab, boot=FIRST) as service:
        assert await service.quiet("latest 3600") == ["succeeded"]
    assert [await crontab.statuses(name) for name in ("none 3600", "latest 60")] == [["missed"], ["missed"]]


async def test_jitter_delays_a_start(crontab: Crontab):
    while not (job := await crontab.add("at start", jitter_seconds=60)).offset:  # it follows from the ID
        await crontab.jobs.remove("job", HUMAN)
    async with running(crontab, boot=FIRST) as service:
        (run,) = await crontab.runs()
        assert (run.status, (run.scheduled_for or 0) - run.queued_at) == ("queued", job.offset)
        await service.pass_time(job.offset + 1)
        assert await service.quiet() == ["succeeded"]


async def test_a_job_at_start_is_scheduled_without_a_time(crontab: Crontab):
    job = await crontab.add("at start")
    now = crontab.clock.now()
    assert (job.next_at, job.state(now, is_running=False)) == (None, JobState.SCHEDULED)
    assert job.definition is not None
    over = replace(job, definition=replace(job.definition, end_at=now - 1))
    assert over.state(now, is_running=False) is JobState.COMPLETED
    preview = await crontab.jobs.check({"name": "other", "schedule": "at start", "command": "true"})
    assert "machine" in preview.schedule_text
    assert (preview.next_runs, preview.warnings) == ((), ())


async def test_a_job_in_a_file_runs_at_start(crontab: Crontab):
    folder = crontab.jobs.files.folder
    folder.mkdir()
    (folder / "job.yaml").write_text("schedule: at start\ncommand: echo up\n")
    assert [job.name for job in await crontab.jobs.all()] == ["job"]
    async with running(crontab, boot=FIRST) as service:
        assert await service.quiet() == ["succeeded"]
