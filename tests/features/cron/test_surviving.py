"""What one job or file does costs no other one anything."""

from dataclasses import replace

import pytest
from tests.facts import mentions
from tests.features.cron.conftest import HUMAN, Crontab, opened, running

from tocsin.features.cron.definitions.job_files import JobFiles
from tocsin.features.cron.model import KIND
from tocsin.features.cron.scheduler import order_of
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
    assert await crontab.jobs.runs().store.enqueue(waiting) == waiting
    await crontab.jobs.remove("job", HUMAN, keep_history=keep_history)
    assert (await crontab.jobs.runs().search(KIND, job.id, [RunStatus.QUEUED])).items == ()
    left = (await crontab.jobs.runs().search(KIND, job.id, limit=200)).items
    assert (len(left), await crontab.open_runs()) == ((200 if keep_history else 0), 0)


class Folder:
    """The files of jobs, as a process that has just begun sees them; what is written has rested."""

    def __init__(self, crontab: Crontab) -> None:
        self.path = crontab.bench.app.settings.data_dir / "cron.d"
        self.path.mkdir()
        self._crontab = crontab
        self.files = JobFiles(
            self.path, crontab.jobs.store, crontab.bench.app.audit, crontab.clock, "UTC", now_ns=lambda: 2**62
        )

    def write(self, name: str, content: str) -> None:
        (self.path / name).write_text(content)

    async def jobs(self) -> dict[str, tuple[str, str]]:
        """Return command and problem of each job, files that are gone being gone for long."""
        await self.files.sync()
        self._crontab.clock.advance(60)
        await self.files.sync()
        found = await self._crontab.jobs.store.all()
        return {job.name: (job.definition.command if job.definition else "", job.problem) for job in found}


@pytest.fixture
def folder(crontab: Crontab) -> Folder:
    return Folder(crontab)


async def test_a_folder_that_cannot_be_read_takes_no_job_away(folder: Folder):
    folder.write("disk.yaml", "schedule: '@daily'\ncommand: df\n")
    assert await folder.jobs() == {"disk": ("df", "")}
    away = folder.path.rename(folder.path.with_name("away"))
    folder.path.touch()
    assert await folder.jobs() == {"disk": ("df", "")}
    assert mentions(folder.files.problem, folder.path, "Not a directory")
    folder.path.unlink()
    away.rename(folder.path)
    assert (await folder.jobs(), folder.files.problem) == ({"disk": ("df", "")}, "")


async def test_a_link_that_leads_nowhere_leaves_its_job_in_force_and_is_told(folder: Folder):
    there = folder.path.with_name("there.yaml")
    there.write_text("schedule: '@daily'\ncommand: df\n")
    (folder.path / "disk.yaml").symlink_to(there)
    (folder.path / "loop.yaml").symlink_to("loop.yaml")
    found = await folder.jobs()
    assert (found["disk"], found["loop"][0]) == (("df", ""), "")
    assert mentions(found["loop"][1], "loop.yaml", "Too many levels of symbolic links")
    there.unlink()
    command, problem = (await folder.jobs())["disk"]
    assert (command, mentions(problem, "disk.yaml", "No such file")) == ("df", True)


async def test_a_file_without_content_says_what_it_lacks(folder: Folder):
    folder.write("empty.yaml", "# to do\n")
    [(_, problem)] = (await folder.jobs()).values()
    assert mentions(problem, folder.path, "/empty.yaml")


async def test_a_file_with_the_name_of_another_job_is_shown_and_takes_effect_when_it_is_free(folder: Folder):
    folder.write("a.yaml", "name: disk\nschedule: '@daily'\ncommand: one\n")
    folder.write("b.yaml", "name: disk\nschedule: '@daily'\ncommand: two\n")
    found = await folder.jobs()
    assert found["disk"] == ("one", "")
    assert (found["b.yaml"][0], "disk" in found["b.yaml"][1]) == ("", True)
    (folder.path / "a.yaml").unlink()
    await folder.jobs()
    assert await folder.jobs() == {"disk": ("two", "")}
