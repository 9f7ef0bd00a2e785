"""What the operator learns of jobs that fail, of their recovery, and of runs that were missed."""

from pathlib import Path
from socket import gethostname

import pytest
from tests.clocks import SteppedClock
from tests.features.cron.conftest import HUMAN, Crontab, running
from tests.features.cron.night import ENV
from tests.features.cron.telling import failing_hour

from tocsin.channels.teamchat.adapter import TeamchatAdapter
from tocsin.core.text.redaction import Redactor
from tocsin.delivery.store import DeliveryFilter
from tocsin.features.context import NoticeLevel
from tocsin.features.cron.feature import FEATURE
from tocsin.features.notifications.feature import FEATURE as NOTIFICATIONS
from tocsin.features.notifications.store import NotificationFilter
from tocsin.testing.features import open_feature

HOUR = 3600.0


def told(crontab: Crontab) -> list[str]:
    return [notice.title for notice in crontab.bench.notices]


async def test_a_job_that_fails_and_then_works_is_told_as_failing_and_once_as_working_again(crontab: Crontab):
    flag = crontab.bench.app.settings.data_dir / "flag"
    await crontab.add(command=f"test -e {flag}")
    for _ in range(2):
        await crontab.jobs.start("job", HUMAN)
    flag.touch()
    for _ in range(2):
        await crontab.jobs.start("job", HUMAN)
    notices = crontab.bench.notices
    assert told(crontab) == ["Job job is failing", "Job job is failing", "Job job succeeds again"]
    assert [notice.level for notice in notices[1:]] == [NoticeLevel.ERROR, NoticeLevel.SUCCESS]
    assert "code 1" in notices[0].body
    assert notices[0].dedupe_key == notices[1].dedupe_key
    assert Redactor()(notices[0].dedupe_key) == notices[0].dedupe_key, "it does not look like a token"
    crontab.clock.advance(HOUR)
    flag.unlink()
    await crontab.jobs.start("job", HUMAN)
    assert crontab.bench.notices[-1].dedupe_key != notices[0].dedupe_key


async def test_a_notice_of_a_failure_names_host_run_and_the_commands_that_show_and_repeat_it(crontab: Crontab):
    await crontab.add(command="exit 3")
    run = await crontab.jobs.start("job", HUMAN)
    [notice] = crontab.bench.notices
    assert f"run {run.id} on {gethostname()}" in notice.body
    assert f"`tocsin runs retry {run.id}`" in notice.body


@pytest.mark.parametrize(("output", "messages"), [("teamchat:#ops", 0), ("teamchat:#dev", 1), ("oncall", 0)])
async def test_a_failure_whose_output_went_to_the_operators_chat_is_one_message_there(
    tmp_path: Path, output: str, messages: int
):
    clock = SteppedClock()

    env = {**ENV, "NOTIFY_PROFILE": "oncall"}
    (tmp_path / "profiles.yaml").write_text("oncall: [{channel: slack, target: '#ops'}]\n")
    others, channels = (NOTIFICATIONS,), (TeamchatAdapter,)
    async with open_feature(FEATURE, tmp_path, env, clock=clock, others=others, channels=channels) as bench:
        crontab, notifications = Crontab(bench, clock), bench.features.opened("notifications")
        await crontab.add(command="exit 3", output=output, output_on="failure")
        await crontab.jobs.start("job", HUMAN)
        await notifications.forwarder.step()
        sent = (await bench.app.outbox.store.search(DeliveryFilter())).items
        kept = (await notifications.service.search(NotificationFilter())).items
    assert [each.title for each in kept] == ["Job job is failing"]
    assert len(sent) == 1 + messages


async def test_of_a_run_that_is_tried_again_only_the_last_try_counts(crontab: Crontab):
    flag = crontab.bench.app.settings.data_dir / "flag"
    await crontab.add(
        command=f"test -e {flag} || {{ touch {flag}; exit 1; }}", retry={"max_attempts": 2, "delay_seconds": 0}
    )
    await crontab.jobs.start("job", HUMAN)
    async with running(crontab) as service:
        assert await service.quiet() == ["failed", "succeeded"]
    assert told(crontab) == []


async def test_runs_that_were_missed_are_told_with_their_jobs(crontab: Crontab):
    await crontab.add("0 * * * *", name="a", catchup="none")
    await crontab.add("0 * * * *", name="b", catchup="none")
    async with running(crontab):
        pass
    crontab.clock.advance(3 * HOUR + 120)
    async with running(crontab):
        pass
    [notice] = [notice for notice in crontab.bench.notices if "missed" in notice.title]
    assert (notice.title, notice.body) == ("6 cron runs were missed", "a: 3\nb: 3")


async def test_failures_of_an_hour_are_one_notification_two_messages_and_one_recovery(tmp_path: Path):
    found = await failing_hour(tmp_path, failures=20)
    assert found.notifications == [("Job backup is failing", 20), ("Job backup succeeds again", 1)]
    assert [text.splitlines()[0] for text in found.messages] == [
        "Error: Job backup is failing",
        "Error: Job backup is failing (20 times)",
        "OK: Job backup succeeds again",
    ]
