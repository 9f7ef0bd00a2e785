"""What is told about runs, to whom, and what a failure to tell it changes."""

from pathlib import Path
from socket import gethostname

import pytest
from tests.clocks import SteppedClock
from tests.facts import mentions
from tests.features.cron.conftest import HUMAN, Crontab
from tests.features.cron.night import ENV, failing_night

from tocsin.channels.teamchat.adapter import TeamchatAdapter
from tocsin.core.records.as_json import to_json
from tocsin.delivery.store import DeliveryFilter
from tocsin.features.cron.feature import FEATURE
from tocsin.features.cron.model import InvalidJobError
from tocsin.features.cron.work import is_wanted, text_of
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.engine.run_engine import FOLLOW_UNSENT_EVERY_S
from tocsin.runs.model import OutputDelivery, OutputDeliveryStatus, Run, RunStatus, RunTrigger
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.testing.features import open_feature


def run_of(status: RunStatus, **fields: object) -> Run:
    return Run(
        id="1",
        kind="cron",
        subject_id="j",
        subject_name="backup",
        trigger=RunTrigger.SCHEDULE,
        status=status,
        queued_at=0.0,
        **fields,
    )  # type: ignore[arg-type]


OK, BAD = run_of(RunStatus.SUCCEEDED), run_of(RunStatus.FAILED)


def test_when_output_is_sent():
    wanted = [
        ("always", OK, BAD), ("always", BAD, None), ("failure", BAD, OK), ("success", OK, OK), ("recovery", OK, BAD),
        ("change", BAD, OK), ("change", OK, None),
    ]  # fmt: skip
    unwanted = [
        ("failure", OK, BAD), ("success", BAD, OK), ("recovery", OK, OK), ("recovery", OK, None), ("change", OK, OK),
    ]  # fmt: skip
    assert all(is_wanted([on], run, before, changed=False) for on, run, before in wanted)
    assert not any(is_wanted([on], run, before, changed=False) for on, run, before in unwanted)
    assert is_wanted(["change"], OK, OK, changed=True)
    assert is_wanted(["failure", "recovery"], OK, BAD, changed=False)


@pytest.mark.parametrize(("command", "sent"), [("true", 0), ("false", 0), ("echo hi", 1), ("echo hi >&2; exit 1", 1)])
async def test_output_that_is_wanted_as_cron_mails_it_is_sent_if_something_was_printed(
    crontab: Crontab, command: str, sent: int
):
    profiles = crontab.bench.app.settings.data_dir / "profiles.yaml"
    profiles.write_text("oncall: [{channel: email, target: a@example.org}]\n")
    job = await crontab.add(command=command, output_on="output")
    await crontab.with_output(job, "oncall")
    assert len((await crontab.jobs.start("job", HUMAN)).delivery.results) == sent


async def test_the_entry_of_a_profile_decides_whom_output_mentions_and_whether_it_is_sent(tmp_path: Path):
    entry = "{channel: teamchat, target: C0ADA%d, mention: '@here', min_priority: %d}"
    (tmp_path / "profiles.yaml").write_text(f"oncall: [{entry % (1, 3)}, {entry % (2, 4)}]\n")
    async with open_feature(FEATURE, tmp_path, ENV, channels=(TeamchatAdapter,)) as bench:
        queued = await bench.app.output().queue("oncall", "disk full", Caller("cron"), "cron:1")
        assert queued.refused == ()
        (sent,) = (await bench.app.outbox.store.search(DeliveryFilter())).items
    assert (queued.refused, queued.deliveries) == ((), (sent.id,))
    assert (sent.target, sent.content) == ("C0ADA1", {"mention": ["@here"]})


def test_the_message_says_how_it_ended_and_shows_the_end_of_the_output():
    run = run_of(RunStatus.FAILED, reason="it ended with exit code 2", started_at=1.0, finished_at=3.5)
    head, reason, place, help_, *rest = text_of(run, "a\nb\n").splitlines()
    assert (head, reason, place) == ("backup: failed after 2 s", run.reason, f"run 1 on {gethostname()}")
    assert mentions(help_, "`tocsin runs log 1`", "`tocsin runs retry 1`")
    assert rest == ["", "a", "b"]
    assert text_of(run, "x" * 10_000).endswith("…" + "x" * 3500)


async def test_a_failure_to_send_never_fails_the_job_and_is_seen_on_the_run(crontab: Crontab):
    profiles = crontab.bench.app.settings.data_dir / "profiles.yaml"
    profiles.write_text("oncall: [{channel: email, target: a@example.org}]\n")
    job = await crontab.add(command="echo hi")
    await crontab.with_output(job, "oncall")
    run = await crontab.jobs.start("job", HUMAN)
    assert run.ok
    assert run.delivery.status is OutputDeliveryStatus.FAILED
    assert run.delivery.results[0].result.error
    assert run.delivery.results[0].delivery_id == ""  # it never came into the queue
    assert (await crontab.jobs.runs().log(run.id)).lines[0].text == "hi"


async def test_a_failure_while_the_chat_product_is_away_is_reported_once_after_that_and_shows_both(tmp_path: Path):
    night = await failing_night(tmp_path)
    assert (night.during.status, night.during.delivery.status) == (RunStatus.FAILED, OutputDeliveryStatus.PENDING)
    assert (night.after.status, night.after.delivery.status) == (RunStatus.FAILED, OutputDeliveryStatus.DELIVERED)
    assert "code 2" in night.after.reason
    [sent] = night.accepted
    assert b"no space left" in sent


async def test_a_message_that_has_ended_names_its_delivery(crontab: Crontab):
    await crontab.add()
    run = await crontab.jobs.start("job", HUMAN)
    await crontab.jobs.runs().set_delivery(run.id, OutputDelivery.begun((), ["d1"]))
    await crontab.engine.step()
    (followed,) = await crontab.runs()
    assert to_json(followed)["delivery"] == {
        "status": "failed",
        "results": [
            {
                "ok": False,
                "channel": "",
                "target": "",
                "message": "",
                "error": "delivery d1 was deleted",
                "delivery_id": "d1",
            }
        ],
    }


async def test_a_message_job_needs_somewhere_to_go(crontab: Crontab):
    with pytest.raises(InvalidJobError, match="message"):
        await crontab.add(type="message", command="Stand-up!")


async def test_a_prompt_is_asked_and_its_answer_is_the_output(crontab: Crontab):
    await crontab.add(type="prompt", command="Say hi")
    run = await crontab.jobs.start("job", HUMAN)
    assert run.status is RunStatus.FAILED
    assert "chat" in str(run.reason).lower()


async def test_a_message_that_is_replayed_after_it_ended_unsent_is_seen_on_its_run(tmp_path: Path):
    clock = SteppedClock()
    async with open_feature(FEATURE, tmp_path, ENV, clock=clock, channels=(TeamchatAdapter,)) as bench:
        crontab, caller = Crontab(bench, clock), Caller("cli")
        store, outbox = sqlite_runs(bench.app.database), bench.app.outbox
        await crontab.add(output="teamchat:#ops")
        run = await crontab.jobs.start("job", HUMAN)
        [delivery] = run.delivery.queued
        await outbox.cancel(delivery, caller)
        await crontab.engine.step()
        [run] = await store.unsent()
        assert (run.delivery.status, "cancelled" in run.delivery.results[0].result.error) == ("failed", True)
        clock.advance(FOLLOW_UNSENT_EVERY_S)
        await crontab.engine.step()
        assert await store.unsent() == [run]
        await outbox.replay(delivery, caller)
        clock.advance(FOLLOW_UNSENT_EVERY_S)
        await crontab.engine.step()
        [run] = await store.undelivered()
        assert (run.delivery.queued, run.delivery.results) == ((delivery,), ())
