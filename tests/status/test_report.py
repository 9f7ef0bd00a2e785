"""The status of a real program: what is checked, and what needs a person."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer
from tests.facts import mentions

from tocsin.assembly.full.dashboard import _list_integrations
from tocsin.assembly.full.notices import CoreNotices, dead_delivery
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import App, direct_transport, open_app
from tocsin.assembly.status import recent_run_lines, status_lines, status_report
from tocsin.bot.door.audit_actions import BOT_REQUEST
from tocsin.channels.contract import Outgoing, Receipt, SendResult
from tocsin.core.errors import ChannelError
from tocsin.core.ids import new_id
from tocsin.core.records.as_json import to_json
from tocsin.delivery.model import AttemptOutcome, DeliveryStatus
from tocsin.delivery.store import ChannelRules, DeliveryFilter
from tocsin.features.notifications.store import NotificationFilter
from tocsin.messaging.outbound.audit_actions import MSG_SEND
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.model import RunSpec, RunStatus, RunTrigger, new_run

EMAIL = {"SMTP_HOST": "127.0.0.1", "SMTP_USER": "u@example.org", "SMTP_PASS": "a-long-password"}


@asynccontextmanager
async def program(folder: Path, **env: str) -> AsyncIterator[App]:
    environ = {"TOCSIN_DATA_DIR": str(folder), "REDIS_URL": "off", "GATEWAY_PORT": "9", **env}
    settings, installed = load_settings(environ=environ, env_file=Path("/dev/null"))
    async with open_app(settings, installed, direct_transport) as app:
        yield app


async def add_dead_delivery(app: App) -> str:
    """Queue a message, let its only attempt fail, and return its ID."""
    store, new = app.outbox.store, app.outbox.prepare("email", "ops@example.org", "hello", "cli")
    [queued] = await store.enqueue_many([new])
    await store.claim_due("worker", 1, {"email": ChannelRules()})
    assert await store.finish("worker", queued.id, AttemptOutcome(DeliveryStatus.DEAD, error="no such user"))
    return queued.id


async def titles(app: App) -> list[tuple[str, str]]:
    page = await app.features.opened("notifications").service.search(NotificationFilter())
    return [(str(each.level), each.title) for each in page.items]


async def test_a_new_installation_is_ok_with_what_is_not_set_up_said(tmp_path: Path):
    async with program(tmp_path) as app:
        report = await status_report(app)
        told = [line.partition(":")[0] for line in await status_lines(app)]
    assert told[:5] == ["Cron", "Messaging", "SSH", "Workflows", "Memory"]
    assert len(set(told)) == len(told), "each is told once"
    states = {name: str(status.status) for name, status in report.subsystems.items()}
    assert (str(report.status), report.attention) == ("ok", [])
    assert (states["messaging"], states["audit"], states["vault"]) == ("unconfigured", "ok", "unconfigured")
    assert "disabled" not in states.values()
    services = {service.name: str(service.status) for service in report.services}
    expected = {"gateway": "disabled", "bot": "unconfigured", "session_store": "ok", "scheduler": "disabled"}
    assert services == expected


async def test_the_skills_of_the_program_count_beside_those_of_its_user(tmp_path: Path):
    (tmp_path / "skills" / "hello").mkdir(parents=True)
    (tmp_path / "skills" / "hello" / "skill.yaml").write_text("name: hello\ndescription: Greets.\ncommand: echo hi\n")
    async with program(tmp_path) as app:
        skills = (await status_report(app)).subsystems["skills"]
    assert (str(skills.status), skills.counts) == ("ok", {"skills": 9, "broken": 0})
    assert mentions(skills.summary, "9 skills", "1 of")


async def test_a_chat_sees_the_newest_runs_without_their_output(tmp_path: Path):
    (tmp_path / "skills" / "hello").mkdir(parents=True)
    (tmp_path / "skills" / "hello" / "skill.yaml").write_text("name: hello\ndescription: Greets.\ncommand: echo hi\n")
    async with program(tmp_path) as app:
        assert await recent_run_lines(app) == []
        run = await app.features.abilities.skills.run("hello", source="bot", cause=RunTrigger.BOT)
        short = (await app.runs().shortened([run.id]))[run.id]
        (line,) = await recent_run_lines(app)
    assert line.startswith(f"{short} hello (skill): succeeded, ")


async def test_the_time_zone_shown_is_that_of_the_setting_tz(tmp_path: Path):
    async with program(tmp_path, TZ="Asia/Tokyo") as app:
        assert (await status_report(app)).timezone == "Asia/Tokyo"


async def test_a_workflow_with_a_mistake_needs_a_person(tmp_path: Path):
    (tmp_path / "workflows").mkdir()
    (tmp_path / "workflows" / "nightly.yaml").write_text("name: nightly\nsteps: 5\n")
    async with program(tmp_path) as app:
        report = await status_report(app)
    workflows = report.subsystems["workflows"]
    assert (str(workflows.status), workflows.summary) == ("degraded", "1 workflow, 1 with errors")
    assert len(report.attention) == 1


async def test_a_dead_delivery_degrades_messaging_and_needs_a_person(tmp_path: Path):
    async with program(tmp_path, **EMAIL) as app:
        dead = await add_dead_delivery(app)
        report = await status_report(app)
        lines = await status_lines(app)
        await app.outbox.dismiss(dead, Caller("cli"))
        after = await status_report(app)
    messaging = report.subsystems["messaging"]
    assert (str(messaging.status), messaging.counts) == ("degraded", {"channels": 1, "waiting": 0, "dead_24h": 1})
    assert (str(after.subsystems["messaging"].status), after.attention) == ("ok", [])
    assert ["1 message" in item.message.partition(":")[0] for item in report.attention] == [True]
    assert report.attention[0].link == "#/deliveries?status=dead"
    assert mentions(lines[0], "1", "`tocsin status`")
    assert "Messaging: 1 channel, 0 waiting, 1 not delivered (degraded)" in lines


async def test_a_failed_direct_send_is_listed_and_neither_degrades_messaging_nor_needs_a_person(tmp_path: Path):
    async with program(tmp_path, **EMAIL) as app:
        failed = SendResult(False, "email", "ops@example.org", error="no such user")
        receipt = Receipt(failed, failure=ChannelError("no such user"))
        assert await app.outbox.keep(Outgoing("ops@example.org", "hello"), receipt, "cli", new_id())
        report = await status_report(app)
        [kept] = (await app.outbox.store.search(DeliveryFilter(DeliveryStatus.DEAD))).items
    assert (str(report.subsystems["messaging"].status), report.attention, kept.dismissed) == ("ok", [], True)


@pytest.mark.parametrize("redis", ["off", "answers", "refuses", "hangs"])
async def test_a_redis_that_does_not_answer_degrades_messaging_and_is_not_told_as_used(
    tmp_path: Path,
    private_redis: RedisServer,
    redis: str,
):
    url = {"off": "off", "refuses": "redis://127.0.0.1:1/0"}.get(redis, private_redis.url)
    if redis == "hangs":
        private_redis.pause()
    async with program(tmp_path, REDIS_URL=url, DASHBOARD_USER="anna", DASHBOARD_PASS="a-long-password") as app:
        report = await status_report(app)
        [integration] = [each for each in await _list_integrations(app) if each.id == "redis"]
        trouble = await integration.check() if integration.check else ""
    private_redis.resume()
    works = redis in {"off", "answers"}
    [sessions] = [service for service in report.services if service.name == "session_store"]
    assert str(sessions.status) == ("ok" if works else "degraded")
    assert sessions.detail.startswith("Redis" if redis == "answers" else "in memory")
    assert str(report.subsystems["messaging"].status) == ("unconfigured" if works else "degraded")
    assert (len(report.attention), trouble == "") == ((0, True) if works else (1, False))


async def test_the_status_shows_what_still_works_when_the_redis_of_the_store_is_down(tmp_path: Path):
    async with program(tmp_path, STORE="redis", REDIS_URL="redis://127.0.0.1:1/0", **EMAIL) as app:
        report = await status_report(app)
    states = {name: str(status.status) for name, status in report.subsystems.items()}
    assert (str(report.status), states["messaging"], states["workflows"]) == ("error", "error", "error")
    assert (states["cron"], states["memory"], states["audit"]) == ("unconfigured", "ok", "ok")
    assert (report.runs, report.recent_runs, report.unread_notifications) == (None, (), 0)
    assert any(item.message.startswith("the runs ") for item in report.attention)


async def test_the_status_shows_what_still_works_when_the_database_is_damaged(tmp_path: Path):
    (tmp_path / "tocsin.db").write_text("not a database of SQLite")
    async with program(tmp_path) as app:
        report = await status_report(app)
    states = {name: str(status.status) for name, status in report.subsystems.items()}
    assert (states["cron"], states["messaging"], states["skills"], states["audit"]) == ("error", "error", "ok", "ok")
    assert (report.runs, report.unread_notifications) == (None, None)
    services = {service.name: str(service.status) for service in report.services}
    assert (services["scheduler"], services["session_store"]) == ("error", "ok")


async def test_a_broken_file_of_profiles_or_triggers_needs_a_person(tmp_path: Path):
    async with program(tmp_path, **EMAIL) as app:
        whole = await status_report(app)
        (tmp_path / "profiles.yaml").write_text("oncall:\n- {chanel: email, target: a@example.org}\n")
        (tmp_path / "triggers.yaml").write_text("- {patern: x}\n")
        broken = await status_report(app)
    assert (whole.attention, str(whole.subsystems["messaging"].status)) == ([], "ok")
    told = [item.message.partition(":")[0] for item in broken.attention]
    assert ["profiles" in told[0], "triggers" in told[1], len(told)] == [True, True, 2]
    messaging = broken.subsystems["messaging"]
    assert (str(messaging.status), messaging.summary) == ("degraded", whole.subsystems["messaging"].summary)


async def test_a_run_that_waits_for_a_person_is_not_counted_as_running(tmp_path: Path):
    spec = RunSpec("workflow", "w", "w", RunTrigger.MANUAL)
    async with program(tmp_path) as app:
        for status in (RunStatus.RUNNING, RunStatus.CANCELLING, RunStatus.WAITING, RunStatus.QUEUED):
            await app.stores.runs().add(new_run(spec, status, 0.0), "owner")
        runs = (await status_report(app)).runs
    assert runs is not None
    assert (runs.active, runs.waiting, runs.queued) == (2, 1, 1)


async def test_a_weak_password_needs_a_person(tmp_path: Path):
    async with program(tmp_path, DASHBOARD_USER="anna", DASHBOARD_PASS="changeme") as app:
        report = await status_report(app)
    assert ["DASHBOARD_PASS" in item.message for item in report.attention] == [True]
    assert "changeme" not in str(to_json(report))


async def test_a_delivery_that_dies_and_a_request_for_access_become_notifications(tmp_path: Path):
    facts = {"channel": "email", "target": "ops@example.org", "ok": False, "status": "dead", "attempts": 9}
    async with program(tmp_path) as app:
        notices = CoreNotices(app)
        app.audit.record(MSG_SEND, "dead", source="queue", metadata={**facts, "delivery": "d1"})
        app.audit.record(MSG_SEND, "sent", source="queue", metadata={**facts, "delivery": "d2", "status": "sent"})
        app.audit.record(BOT_REQUEST, "asks", source="bot", metadata={"chat": "7"})
        await notices.step()
        assert [level for level, _ in await titles(app)] == ["info", "error"]


def test_the_notice_of_an_undelivered_message_leads_to_what_ended_like_it():
    facts = {"channel": "email", "target": "ops@example.org", "delivery": "d1", "status": "uncertain"}
    assert dead_delivery(facts, str).link == "#/deliveries?status=uncertain"


async def test_weak_settings_are_told_once_a_day_however_often_services_start(tmp_path: Path):
    async with program(tmp_path, WEBHOOK_REQUIRE_SIGNATURE="false", SMTP_PASS="changeme") as app:
        for _ in range(3):
            await CoreNotices(app).step()
        found = await titles(app)
    assert [level for level, _ in found] == ["error", "warning"]


async def test_a_changed_audit_log_becomes_an_error(tmp_path: Path):
    async with program(tmp_path) as app:
        for chat in ("7", "8"):
            app.audit.record(BOT_REQUEST, f"asks {chat}", source="bot", metadata={"chat": chat})
        notices = CoreNotices(app)
        await notices.check_audit_log()
        assert await titles(app) == []
        path = tmp_path / "audit.log"
        path.write_text(path.read_text().replace("asks 7", "asks 9"))
        await notices.check_audit_log()
        assert [level for level, _ in await titles(app)] == ["error"]


async def test_what_other_hosts_have_left_is_told_here_and_then_forgotten(tmp_path: Path):
    facts = {"channel": "email", "target": "ops", "status": "dead"}
    left = [json.dumps(asdict(dead_delivery(facts, lambda _: "E-mail")))]

    class Left:
        async def oldest(self) -> str | None:
            return left[0] if left else None

        async def drop(self, text: str) -> None:
            left.remove(text)

    async with program(tmp_path) as app:
        shared = replace(app, stores=replace(app.stores, notices=Left))
        await CoreNotices(shared).step()
        assert [(level, "E-mail" in title) for level, title in await titles(app)] == [("error", True)]
    assert left == []
