"""What the rest of the program is told of cron jobs: the bot's status, the subsystem, doctor."""

from pathlib import Path

from tests.facts import mentions
from tests.features.cron.conftest import HUMAN, Crontab, opened

from tocsin.features.context import SubsystemState


async def test_the_status_shows_real_figures(crontab: Crontab):
    [status] = (await crontab.bench.subsystems())["cron"]
    assert (status.status, status.summary) == (SubsystemState.UNCONFIGURED, "no jobs")
    await crontab.add(name="backup", schedule="0 18 * * *", timezone="Europe/Berlin")
    await crontab.add(name="broken", schedule="0 20 * * *", command="exit 1")
    await crontab.jobs.start("broken", HUMAN)
    [status] = (await crontab.bench.subsystems())["cron"]
    assert status.summary == "2 jobs, 2 scheduled, 1 failing"
    assert status.counts == {"jobs": 2, "scheduled": 2, "running": 0, "failing": 1}


async def test_the_subsystem_is_degraded_while_a_job_fails(crontab: Crontab):
    await crontab.add(command="exit 1", auto_disable_after=1)
    [status] = (await crontab.bench.subsystems())["cron"]
    assert (status.status, status.summary) == (SubsystemState.OK, "1 job, 1 scheduled")
    assert [run.name for run in status.next_runs] == ["job"]
    await crontab.jobs.start("job", HUMAN)
    [status] = (await crontab.bench.subsystems())["cron"]
    assert (status.status, status.summary) == (SubsystemState.DEGRADED, "1 job, 0 scheduled, 1 failing")
    assert any(item.link.startswith("#/runs/") for item in status.attention)
    assert any("disabled" in item.message for item in status.attention)


async def test_doctor_tells_broken_files_and_outputs_that_go_nowhere(crontab: Crontab):
    folder = crontab.jobs.files.folder
    folder.mkdir()
    (folder / "bad.yaml").write_text("schedule: '@daily'\n")
    job = await crontab.add()
    await crontab.with_output(job, "nobody")
    found = {finding.detail: finding for finding in await crontab.bench.findings()}
    assert any("key 'command' is missing" in detail for detail in found)
    assert any(mentions(detail, "output", job.name, "cannot be delivered") for detail in found)
    assert "2 jobs, 1 scheduled, time zone UTC" in found


async def test_doctor_makes_no_database(tmp_path: Path):
    async with opened(tmp_path) as crontab:
        assert await crontab.bench.findings() == []
        assert not (tmp_path / "tocsin.db").exists()
