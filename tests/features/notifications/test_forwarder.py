"""Which notices the operator is sent, when, and in how many messages."""

import asyncio
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from tests.facts import mentions
from tests.features.notifications.conftest import open_office

from tocsin.assembly.checks import feature_findings
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import direct_transport, open_app
from tocsin.core.errors import UnknownProfileError
from tocsin.delivery.store import DeliveryFilter
from tocsin.features.context import Notice, NoticeLevel
from tocsin.features.notifications.forwarding.quiet_hours import QuietHours, parse_quiet_hours


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


SLACK = {
    "TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example",
    "PUBLIC_URL": "https://tocsin.example",
}


async def test_a_warning_is_forwarded_once_and_an_information_is_not(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify("started", NoticeLevel.INFO)
        await office.notify("disk 91 % full", body="/var on web1")
        assert await office.forward() == ["Warning: disk 91 % full\n\n/var on web1"]
        assert await office.forward() == []


async def test_the_end_of_a_trouble_is_told_to_those_who_heard_of_it(tmp_path: Path):
    async with open_office(tmp_path) as office:
        await office.notify("backup works again", NoticeLevel.SUCCESS)
        assert await office.forward() == ["OK: backup works again"]


@pytest.mark.parametrize(("level", "expected"), [("info", 3), ("warning", 2), ("error", 1)])
async def test_the_level_decides_what_is_forwarded(level: str, expected: int, tmp_path: Path):
    async with open_office(tmp_path, NOTIFY_LEVEL=level) as office:
        for each in (NoticeLevel.INFO, NoticeLevel.WARNING, NoticeLevel.ERROR):
            await office.notify("x", each)
        assert len(await office.forward()) == expected


async def test_five_in_a_minute_are_five_messages(tmp_path: Path):
    async with open_office(tmp_path) as office:
        for number in range(5):
            await office.notify(str(number))
        assert await office.forward() == [f"Warning: {number}" for number in range(5)]


async def test_more_than_five_in_a_minute_become_one_digest_with_the_errors_first(tmp_path: Path):
    async with open_office(tmp_path) as office:
        for number in range(30):
            await office.notify(f"w{number}")
        await office.notify("e", NoticeLevel.ERROR)
        (digest,) = await office.forward()
        assert digest.startswith("31 notifications: 1 error, 30 warnings\n\n- Error: e\n- Warning: w0\n")
        assert mentions(digest, "11", "`tocsin notifications list`")


async def test_a_storm_sends_at_most_five_messages_and_a_digest_a_minute_and_loses_nothing(tmp_path: Path):
    async with open_office(tmp_path) as office:
        sent_at: list[float] = []
        for number in range(150):  # one a second
            await office.notify(f"notice {number}")
            sent_at += [office.clock.now()] * len(await office.forward())
            office.clock.advance(1)
        office.clock.advance(60)
        await office.forward()
        assert max(sum(0 <= at - first < 60 for at in sent_at) for first in sent_at) == 6
        digests = [int(text.partition(" ")[0]) for text in office.told if "notifications:" in text]
        assert sum(digests) + len(office.told) - len(digests) == 150


async def test_a_thousand_failures_in_an_hour_are_one_notification_two_messages_and_one_recovery(tmp_path: Path):
    async with open_office(tmp_path) as office:
        for _ in range(100):
            failures = [office.notify("backup failed", NoticeLevel.ERROR, dedupe_key="backup") for _ in range(10)]
            await asyncio.gather(*failures)
            await office.forward()
            office.clock.advance(36)
        await office.forward()
        await office.notify("backup works again", NoticeLevel.SUCCESS, dedupe_key="backup:recovered")
        await office.forward()
        assert office.told == [
            "Error: backup failed (10 times)",
            "Error: backup failed (1,000 times)",
            "OK: backup works again",
        ]
        assert [each.count for each in await office.all()] == [1, 1_000]


async def test_a_notice_that_becomes_more_urgent_is_told_again(tmp_path: Path):
    async with open_office(tmp_path, NOTIFY_LEVEL="error") as office:
        await office.notify("disk", NoticeLevel.WARNING, dedupe_key="disk")
        assert await office.forward() == []
        await office.notify("disk", NoticeLevel.ERROR, dedupe_key="disk")
        assert await office.forward() == ["Error: disk (2 times)"]


async def test_quiet_hours_hold_what_is_below_error(tmp_path: Path):
    async with open_office(tmp_path, QUIET_HOURS="22:00-07:00 Europe/Berlin") as office:
        office.clock.advance(at("2026-01-10T23:00+01:00") - office.clock.now())
        await office.notify("slow")
        await office.notify("down", NoticeLevel.ERROR)
        assert await office.forward() == ["Error: down"]
        office.clock.advance(at("2026-01-11T06:59+01:00") - office.clock.now())
        assert await office.forward() == []
        office.clock.advance(60)
        assert await office.forward() == ["Warning: slow"]


async def test_quiet_hours_without_a_time_zone_are_those_of_the_setting_tz(tmp_path: Path):
    async with open_office(tmp_path, QUIET_HOURS="22:00-07:00", TZ="Asia/Tokyo") as office:
        office.clock.advance(at("2026-01-10T23:00+09:00") - office.clock.now())
        await office.notify("slow")
        assert await office.forward() == []
        office.clock.advance(at("2026-01-11T07:00+09:00") - office.clock.now())
        assert await office.forward() == ["Warning: slow"]


@pytest.mark.parametrize(
    ("moment", "quiet"),
    [
        ("2026-03-29T01:59:59+01:00", False),  # the second before the clocks go forward
        ("2026-03-29T03:00:00+02:00", True),  # the next one: what would have been 02:00
        ("2026-03-29T03:29:59+02:00", True),
        ("2026-03-29T03:30:00+02:00", False),
        ("2026-10-25T02:00:00+02:00", True),
        ("2026-10-25T02:59:59+02:00", True),
        ("2026-10-25T02:00:00+01:00", True),  # the same time of the day for the second time
        ("2026-10-25T03:30:00+01:00", False),
    ],
)
def test_quiet_hours_follow_the_clocks_of_their_place(moment: str, quiet: bool):
    assert parse_quiet_hours("02:00-03:30 Europe/Berlin").cover(at(moment)) is quiet


def test_quiet_hours_may_go_over_midnight():
    hours = QuietHours(22 * 60, 7 * 60, "UTC")
    times = ("21:59", "22:00", "00:00", "06:59", "07:00")
    assert [hours.cover(at(f"2026-01-10T{time}+00:00")) for time in times] == [False, True, True, True, False]


@pytest.mark.parametrize(
    "text", ["22-7", "24:00-07:00", "22:00-22:00", "22:00-07:00 Europe", "22:00-07:00 ../etc", "x"]
)
def test_wrong_quiet_hours_are_refused_with_what_is_accepted(text: str):
    with pytest.raises(ValueError, match=r"22:00-07:00"):
        parse_quiet_hours(text)


async def test_where_there_is_nobody_to_tell_notices_stay_in_the_list(tmp_path: Path):
    async with open_office(tmp_path, anybody=False) as office:
        await office.notify("disk")
        assert await office.forward() == []
        assert await office.service.store.due(office.clock.now() + 7_200, tuple(NoticeLevel)) == []
        assert [each.title for each in await office.all()] == ["disk"]


async def test_only_one_process_forwards_at_a_time(tmp_path: Path):
    async with open_office(tmp_path) as one, open_office(tmp_path) as two:
        await one.notify("first")
        assert await one.forward() == ["Warning: first"]
        await one.notify("second")
        two.clock.advance(1)
        assert await two.forward() == []
        two.clock.advance(30)
        assert await two.forward() == ["Warning: second"]


async def test_a_profile_gets_notices_through_the_durable_queue_as_plain_text(tmp_path: Path):
    (tmp_path / "profiles.yaml").write_text("oncall:\n  - channel: email\n    target: ops@example.org\n")
    smtp = {"SMTP_HOST": "127.0.0.1", "SMTP_USER": "u@example.org", "SMTP_PASS": "a-long-password"}
    environ = {"TOCSIN_DATA_DIR": str(tmp_path), "REDIS_URL": "off", "NOTIFY_PROFILE": "oncall", **smtp}
    settings, installed = load_settings(environ=environ, env_file=Path("/dev/null"))
    async with open_app(settings, installed, direct_transport) as app:
        await app.features.abilities.notices.notify(Notice("<b>disk</b> *full*", "see _web1_"))
        opened = app.features.opened("notifications")
        await opened.forwarder.step()
        await opened.forwarder.step()
        (queued,) = (await app.outbox.store.search(DeliveryFilter())).items
        found = await feature_findings(app.features)
    assert (queued.target, queued.message) == ("ops@example.org", "see _web1_")
    assert queued.content == {"title": "Warning: <b>disk</b> *full*", "type": "warning"}
    assert (queued.parse_mode, queued.source) == ("plain", "notifications")
    assert ["warning" in finding.detail for finding in found if finding.subject == "notifications"] == [True]


@pytest.mark.parametrize("option", ["", ", on_resolve: edit"])
async def test_a_recovery_edits_the_message_of_its_failure_where_the_profile_says_so(tmp_path: Path, option: str):
    entry = f'{{channel: teamchat, target: "#ops"{option}}}'
    (tmp_path / "profiles.yaml").write_text(f"oncall: [{entry}]\n")
    environ = {"TOCSIN_DATA_DIR": str(tmp_path), "REDIS_URL": "off", "NOTIFY_PROFILE": "oncall", **SLACK}
    settings, installed = load_settings(environ=environ, env_file=Path("/dev/null"))
    async with open_app(settings, installed, direct_transport) as app:
        notices = app.features.abilities.notices
        key = "cron-{}:backup:491234"
        failing = Notice("Job backup is failing", "exit 1", NoticeLevel.ERROR, link="#/cron/backup")
        await notices.notify(replace(failing, dedupe_key=key.format("failing")))
        await app.features.opened("notifications").forwarder.step()
        recovered = Notice("Job backup succeeds again", "", NoticeLevel.SUCCESS)
        await notices.notify(replace(recovered, dedupe_key=key.format("recovered")))
        await app.features.opened("notifications").forwarder.step()
        both = (await app.outbox.store.search(DeliveryFilter())).items
    first, second = sorted(both, key=lambda each: each.id)
    assert first.content["click"] == "https://tocsin.example/#/cron/backup"
    assert [first.content["type"], second.content["type"]] == ["failure", "success"]
    assert (first.key == second.key) is bool(option)


async def test_a_decision_edits_the_message_of_its_question_and_the_next_question_is_a_new_message(
    tmp_path: Path,
):
    (tmp_path / "profiles.yaml").write_text('oncall: [{channel: teamchat, target: "#ops"}]\n')
    environ = {"TOCSIN_DATA_DIR": str(tmp_path), "REDIS_URL": "off", "NOTIFY_PROFILE": "oncall", **SLACK}
    settings, installed = load_settings(environ=environ, env_file=Path("/dev/null"))
    asked = Notice("w waits for approval", "Go?", source="workflow w", link="#/runs/r", dedupe_key="approval:r:ask")
    decided = replace(asked, title="w was approved by ada", level=NoticeLevel.INFO, run_id="r", step="ask", closed=True)
    async with open_app(settings, installed, direct_transport) as app:
        for notice in (replace(asked, run_id="r", step="ask"), decided) * 2:
            await app.features.abilities.notices.notify(notice)
            await app.features.opened("notifications").forwarder.step()
            await app.features.opened("notifications").forwarder.step()
        sent = sorted((await app.outbox.store.search(DeliveryFilter())).items, key=lambda each: each.id)
    assert [each.content["title"] for each in sent] == [
        "Warning: w waits for approval",
        "Info: w was approved by ada",
        "Warning: w waits for approval (2 times)",
        "Info: w was approved by ada (2 times)",
    ]
    assert [len(each.content.get("actions", ())) for each in sent] == [2, 0, 2, 0]
    first, second, third, fourth = (each.key for each in sent)
    assert first == second != third == fourth


@pytest.mark.parametrize("proof", ["", "57a4d1357a4d1357a4d1357a4d135700"])
async def test_a_notice_has_buttons_without_a_public_address_where_presses_arrive(tmp_path: Path, proof: str):
    (tmp_path / "profiles.yaml").write_text('oncall: [{channel: teamchat, target: "#ops"}]\n')
    environ = {"TOCSIN_DATA_DIR": str(tmp_path), "REDIS_URL": "off", "NOTIFY_PROFILE": "oncall", **SLACK}
    environ |= {"PUBLIC_URL": "", "TEAMCHAT_SIGNING_SECRET": proof}
    settings, installed = load_settings(environ=environ, env_file=Path("/dev/null"))
    async with open_app(settings, installed, direct_transport) as app:
        await app.features.abilities.notices.notify(Notice("Job x failed", "1", NoticeLevel.ERROR, run_id="r"))
        await app.features.opened("notifications").forwarder.step()
        [sent] = (await app.outbox.store.search(DeliveryFilter())).items
    assert [each["label"] for each in sent.content.get("actions", ())] == (["Retry"] if proof else [])


async def test_a_decision_is_no_second_message_in_the_chats_of_the_operator(tmp_path: Path):
    asks = {"source": "workflow w", "dedupe_key": "approval:r:ask", "run_id": "r", "step": "ask"}
    async with open_office(tmp_path) as office:
        await office.notify("w waits", **asks)
        assert await office.forward() == ["Warning: w waits"]
        await office.notify("w was approved", NoticeLevel.INFO, **asks, closed=True)
        assert await office.forward() == []
        await office.notify("w waits", **asks)
        assert await office.forward() == ["Warning: w waits (2 times)"]


async def test_a_profile_that_is_missing_is_a_finding_and_loses_no_notice(tmp_path: Path):
    async with open_office(tmp_path, NOTIFY_PROFILE="nobody") as office:
        await office.notify("disk")
        with pytest.raises(UnknownProfileError):
            await office.forward()
        assert [finding.state for finding in await office.bench.findings()] == ["error"]
        assert len(await office.service.store.due(office.clock.now(), tuple(NoticeLevel))) == 1
