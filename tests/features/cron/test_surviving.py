"""What one job or file does costs no other one anything."""

from dataclasses import replace

import pytest
from tests.features.cron.conftest import HUMAN, Crontab, opened, running

from tocsin.features.cron.definitions.job_files import JobFiles
from tocsin.features.cron.model import KIND
from tocsin.features.cron.scheduler import order_of
from tocsin.features.cron.store import enqueue
from tocsin.runs.model import RunStatus, RunTrigger, new_run


async def test_a_log_that_cannot_be_read_ends_no_scheduler(crontab: Crontab):
    runs = crontab.bench.app.settings.data_dir / "runs"
    # Its log becomes a folder, which no `open` reads: as does a disk that fails, or a lack of descriptors.
    there = f"until ls {runs}/*/$RUN_ID.log >/dev/null 2>&1; do sleep 0.01; done"
    spoil = f"echo said; {there}; cd {runs}/*/; rm $RUN_ID.log; mkdir $RUN_ID.log"
    await crontab.add("* * * * *", spoil)
    await crontab.with_output(await crontab.jobs.get("job"), "nobody")
    async with running(crontab) as service:
        await service.pass_time(60)
        assert await service.quiet() == ["succeeded"]
        await crontab.add("* * * * *", name="other")
        await service.pass_time(60)
        assert (await service.quiet("other"))[:1] == ["succeeded"]


async def test_a_file_that_nobody_changed_is_not_a_change_for_the_next_process(tmp_path):
    (tmp_path / "cron.d").mkdir()
    (tmp_path / "cron.d" / "disk.yaml").write_text("schedule: '*/15 * * * *'\ncommand: df -h\n")
    async with opened(tmp_path) as first:
        before = await first.jobs.get("disk")
        clock = first.clock
        clock.advance(60)
        await first.jobs.disable("disk", HUMAN)
        disabled = await first.jobs.get("disk")
    async with opened(tmp_path, clock=clock) as second:
        clock.advance(60)
        assert await second.jobs.get("disk") == disabled
    assert disabled.version > before.version


async def test_a_file_that_is_being_written_comes_into_force_when_it_rests(crontab: Crontab):
    folder = crontab.bench.app.settings.data_dir / "cron.d"
    folder.mkdir()
    path, moment, second = folder / "backup.yaml", 0, 1_000_000_000
    files = JobFiles(
        folder, crontab.jobs.store, crontab.bench.app.audit, crontab.clock, "UTC", now_ns=lambda: changed() + moment
    )

    def changed() -> int:
        return path.stat().st_ctime_ns

    async def command() -> list[str]:
        await files.sync()
        return [job.valid().command for job in await crontab.jobs.store.all()]

    path.write_text("schedule: '@daily'\ncommand: rm -r /srv/bac")
    assert await command() == []
    path.write_text("schedule: '@daily'\ncommand: rm -r /srv/backup/old\n")
    moment = second
    assert await command() == ["rm -r /srv/backup/old"]
    path.write_text("schedule: '@daily'\ncommand: rm -r /srv/backup")
    moment = second // 10
    assert await command() == ["rm -r /srv/backup/old"]
    path.write_text("schedule: '@daily'\ncommand: rm -r /srv/backup/older\n")
    moment = second
    assert await command() == ["rm -r /srv/backup/older"]


@pytest.mark.parametrize("keep_history", [True, False])
async def test_all_queued_runs_of_a_job_that_is_removed_are_cancelled(crontab: Crontab, keep_history: bool):
    job, now = await crontab.add(overlap="queue", max_queued=1000), crontab.clock.now()
    order = order_of(job, RunTrigger.SCHEDULE, "scheduler")
    waiting = [new_run(replace(order, scheduled_for=now + n), RunStatus.QUEUED, now) for n in range(201)]
    await crontab.bench.app.database.write(lambda c: [enqueue(c, run) for run in waiting])
    await crontab.jobs.remove("job", HUMAN, keep_history=keep_history)
    assert (await crontab.jobs.runs().search(KIND, job.id, [RunStatus.QUEUED])).items == ()
    left = (await crontab.jobs.runs().search(KIND, job.id, limit=200)).items
    assert (len(left), await crontab.open_runs()) == ((200, 201) if keep_history else (0, 0))
