"""doctor looks at everything that receiving needs, and names cause and fix."""

import os
import sys
import time
from pathlib import Path

import pytest
from tests.delivery.conftest import RedisServer
from tests.facts import mentions

from tocsin.assembly.full.bot import build_access
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import direct_transport, open_app
from tocsin.assembly.stores import DATABASE_FILE
from tocsin.bot.settings import BotSettings
from tocsin.channels.botchat.receiving.token_lock import TokenLock
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.cli.doctor.command import examine
from tocsin.cli.doctor.machine import (
    check_packages,
    check_processes,
    check_sandbox,
)
from tocsin.core.process.sandbox import Sandbox
from tocsin.messaging.inbound.sqlite_store import SqliteInbox
from tocsin.messaging.outbound.caller import Caller
from tocsin.terminal.findings import Finding
from tocsin.terminal.packages import EXTRAS, NEEDED_PACKAGES
from tocsin.testing import FakeClock
from tocsin_standins.botchat.server import TOKEN, BotChat

BOT = {"BOTCHAT_BOT_TOKEN": TOKEN}
HOOK = "https://example.org/webhook/botchat"
HOOKED = {"BOTCHAT_MODE": "webhook", "BOTCHAT_WEBHOOK_URL": HOOK, "BOTCHAT_WEBHOOK_SECRET": "a-secret-of-24-characters"}
MODEL = {"CHAT_PROVIDER": "openai", "CHAT_MODEL": "gpt-5"}
OWN_MODEL = {"CHAT_PROVIDER": "openai", "CHAT_MODEL": "llama", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}


def environment(home: Path, **env: str) -> dict[str, str]:
    return {"TOCSIN_DATA_DIR": str(home), "PATH": os.environ["PATH"], "REDIS_URL": "off", "GATEWAY_PORT": "1", **env}


async def doctor(home: Path, subject: str, *, probe: bool = False, **env: str) -> list[Finding]:
    """Return what doctor finds about `subject`."""
    settings, discovery = load_settings(environ=environment(home, **env))
    return [finding for finding in await examine(settings, discovery, probe=probe) if finding.subject == subject]


async def one(home: Path, subject: str, *, probe: bool = False, **env: str) -> tuple[str, str, str]:
    """Return the one finding about `subject`: state, detail and fix."""
    (finding,) = await doctor(home, subject, probe=probe, **env)
    return finding.state, finding.detail, finding.fix


def states(findings: list[Finding]) -> list[str]:
    return [finding.state for finding in findings]


# --- webhooks


@pytest.mark.parametrize(
    ("product", "setting", "good"),
    [("Slack", "TEAMCHAT_SIGNING_SECRET", "0" * 32), ("Discord", "GUILDCHAT_PUBLIC_KEY", "0" * 64)],
)
async def test_a_channel_whose_webhook_calls_cannot_be_verified_is_off_with_the_setting_to_add(
    tmp_path: Path, product: str, setting: str, good: str
):
    found = await doctor(tmp_path, "receiving")
    assert [(f.state, setting in f.detail) for f in found if product in f.detail] == [("off", True)]
    found = await doctor(tmp_path, "receiving", **{setting: good})
    assert [(f.state, setting in f.detail) for f in found if product in f.detail] == [("ok", True)]


@pytest.mark.parametrize(
    "env", [{}, {"TEAMCHAT_BOT_TOKEN": "xoxb-000000000000-aaaaaaaaaaaa"}], ids=["alone", "sending"]
)
async def test_a_signing_secret_of_an_unusual_shape_is_a_warning_that_does_not_show_it(
    tmp_path: Path, env: dict[str, str]
):
    settings, discovery = load_settings(environ=environment(tmp_path, TEAMCHAT_SIGNING_SECRET="not-this-one", **env))
    found = [
        f for f in await examine(settings, discovery, probe=False) if f.state == "warning" and "SIGNING" in f.detail
    ]
    assert len(found) == 1
    assert "not-this-one" not in f"{found[0].detail} {found[0].fix}"


async def test_a_webhook_without_verification_is_a_loud_warning(tmp_path: Path):
    found = await doctor(tmp_path, "security", WEBHOOK_REQUIRE_SIGNATURE="false")
    assert any(finding.state == "warning" and "DANGER" in finding.detail for finding in found)


# --- the bot


async def test_without_a_token_the_bot_is_off_with_the_setting_to_add(tmp_path: Path):
    state, detail, _ = await one(tmp_path, "bot")
    assert (state, "BOTCHAT_BOT_TOKEN" in detail) == ("off", True)


async def test_an_empty_allowlist_is_a_warning_because_every_message_is_rejected(tmp_path: Path):
    _, _, access = await doctor(tmp_path, "bot", **BOT)
    assert access.state == "warning"
    assert "ALLOWED_CHAT_IDS" in access.detail
    assert "tocsin bot access approve" in access.fix
    assert not (tmp_path / DATABASE_FILE).exists(), "looking must not make anything"


async def test_a_listed_chat_is_enough(tmp_path: Path):
    found = await doctor(tmp_path, "bot", ALLOWED_CHAT_IDS="1001", **BOT)
    assert any(f.state == "ok" and "1 chat" in f.detail for f in found)


async def test_chats_approved_denied_and_waiting_at_run_time_count(tmp_path: Path):
    settings, discovery = load_settings(environ=environment(tmp_path, **BOT))
    async with open_app(settings, discovery, direct_transport) as app:
        access = build_access(BotSettings(), app.stores.bot().access, app.audit)
        await access.approve("1001", Caller("test"))
        await access.deny("1002", Caller("test"))
        await access.request(InboundMessage("botchat", MessageKind.COMMAND, "1", ("k",), "1003", "/start"))
    found = await doctor(tmp_path, "bot", ALLOWED_CHAT_IDS="1002", **BOT)
    assert "1 chat may use the bot" in [finding.detail for finding in found]
    assert any(mentions(finding.detail, "1 ", "tocsin bot access list") for finding in found)


async def test_without_an_admin_chat_there_is_a_note(tmp_path: Path):
    found = await doctor(tmp_path, "bot", ALLOWED_CHAT_IDS="1001", **BOT)
    assert [(f.state, "tocsin bot access list" in f.fix) for f in found if "BOTCHAT_ADMIN_CHAT_ID" in f.detail] == [
        ("off", True)
    ]
    found = await doctor(tmp_path, "bot", ALLOWED_CHAT_IDS="1001", BOTCHAT_ADMIN_CHAT_ID="1001", **BOT)
    assert set(states(found)) == {"ok"}


@pytest.mark.parametrize("missing", ["BOTCHAT_WEBHOOK_URL", "BOTCHAT_WEBHOOK_SECRET"])
async def test_webhook_mode_without_its_settings_is_an_error_that_names_them(tmp_path: Path, missing: str):
    found = await doctor(tmp_path, "bot", **{**BOT, **HOOKED, missing: ""})
    assert found[0].state == "error"
    assert found[0].detail == f"BOTCHAT_MODE=webhook needs {missing}"
    assert (await doctor(tmp_path, "bot", **BOT, **HOOKED))[0].state == "ok"


async def test_a_poller_on_this_machine_is_told(tmp_path: Path):
    lock = TokenLock(tmp_path, int(TOKEN.partition(":")[0]))
    assert lock.acquire()
    found = await doctor(tmp_path, "bot", **BOT)
    assert any("on this machine" in finding.detail for finding in found)
    lock.release()
    found = await doctor(tmp_path, "bot", **BOT)
    assert not any("on this machine" in finding.detail for finding in found)
    assert lock.acquire(), "doctor has given it back"
    lock.release()


async def provider_says(home: Path, bot: BotChat, **env: str) -> Finding:
    found = await doctor(home, "bot", probe=True, BOTCHAT_API_URL=bot.api_url, ALLOWED_CHAT_IDS="1", **BOT, **env)
    return found[-1]


async def test_a_webhook_that_takes_the_updates_away_from_polling_is_a_warning_without_its_path(tmp_path: Path):
    async with BotChat() as bot:
        assert (await provider_says(tmp_path, bot)).state == "ok"
        bot.updates.set_webhook({"url": "https://elsewhere.example/secret-path"}, insecure=False)
        finding = await provider_says(tmp_path, bot)
    assert finding.state == "warning"
    assert "elsewhere.example" in finding.detail
    assert "secret-path" not in finding.detail


async def test_a_webhook_that_the_provider_does_not_know_is_a_warning(tmp_path: Path):
    async with BotChat() as bot:
        finding = await provider_says(tmp_path, bot, **HOOKED)
        assert (finding.state, "BOTCHAT_WEBHOOK_URL" in finding.detail) == ("warning", True)
        bot.updates.set_webhook({"url": HOOK, "secret_token": "x"}, insecure=False)
        assert (await provider_says(tmp_path, bot, **HOOKED)).state == "ok"


async def test_what_keeps_the_provider_from_delivering_is_told(tmp_path: Path):
    async with BotChat() as bot:
        await provider_says(tmp_path, bot)  # by then the stand-in waits for news, of which there are none below
        failed = {"last_error_date": int(time.time()), "last_error_message": "Connection refused"}
        bot.updates.webhook = {"url": HOOK, "secret": "", **failed}
        bot.updates.queue.append({"update_id": 1})
        finding = await provider_says(tmp_path, bot, **HOOKED)
    assert (finding.state, "Connection refused" in finding.detail) == ("warning", True)


async def test_a_wrong_token_is_told_once(tmp_path: Path):
    async with BotChat(token="7000000001:AAanother") as bot:
        settings, discovery = load_settings(environ=environment(tmp_path, BOTCHAT_API_URL=bot.api_url, **BOT))
        found = await examine(settings, discovery, probe=True)
    assert [finding.subject for finding in found if finding.state == "error" and finding.subject != "gateway"] == [
        "botchat"
    ]


# --- what runs


def write_triggers(home: Path, text: str) -> None:
    (home / "triggers.yaml").write_text(text)


async def test_trigger_rules_are_counted(tmp_path: Path):
    write_triggers(tmp_path, '- {pattern: "up", command: "uptime"}\n- {pattern: "df", command: "df"}\n')
    assert await one(tmp_path, "triggers") == ("ok", f"2 rules in {tmp_path}/triggers.yaml", "")


async def test_a_broken_triggers_file_is_an_error_with_its_line(tmp_path: Path):
    write_triggers(tmp_path, '- pattern: "("\n  command: "uptime"\n')
    state, detail, _ = await one(tmp_path, "triggers")
    assert state == "error"
    assert "triggers.yaml:1:12" in detail


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("command: 'sh -c $1'", "rule 1 (line 1): eval, sh -c and ssh"),
        ("action: claude\n  command: 'explain'", "it needs a chat model, and none is configured"),
        ("action: skill\n  command: 'backup now'", "skill backup does not exist or cannot be run"),
    ],
    ids=["eval", "no model", "no skill"],
)
async def test_a_rule_that_is_dangerous_or_cannot_work_is_a_warning_with_its_line(
    tmp_path: Path, rule: str, words: str
):
    write_triggers(tmp_path, f"- pattern: 'go (.*)'\n  {rule}\n")
    doubt, counted = await doctor(tmp_path, "triggers")
    assert (doubt.state, counted.state) == ("warning", "ok")
    assert words in doubt.detail
    assert doubt.fix


def write_skill(home: Path, name: str, text: str) -> None:
    (home / "skills" / name).mkdir(parents=True)
    (home / "skills" / name / "skill.yaml").write_text(text)


async def test_an_invalid_skill_is_an_error_with_its_name_and_place(tmp_path: Path):
    write_skill(tmp_path, "good", "name: good\ndescription: Say hello.\ncommand: echo hello\n")
    write_skill(tmp_path, "bad", "name: bad\ndescription: Say hello.\ncomand: echo hello\n")
    found = await doctor(tmp_path, "skills")
    assert {(f.state, f.detail.partition(" cannot")[0]) for f in found[:-1]} == {("error", "bad")}
    assert any(f"{tmp_path}/skills/bad/skill.yaml:3:1: " in finding.detail for finding in found)
    assert (found[-1].state, found[-1].detail) == ("ok", f"1 skill in {tmp_path}/skills")


async def test_a_program_that_a_skill_needs_and_that_is_missing_is_a_warning(tmp_path: Path):
    write_skill(tmp_path, "x", "name: x\ndescription: d\ncommand: nosuch\ndependencies: [sh, nosuch-program]\n")
    missing, unknown, counted = await doctor(tmp_path, "skills")
    assert (missing.state, unknown.state, counted.state) == ("warning", "warning", "ok")
    assert missing.detail.startswith("x needs nosuch-program, ")
    assert mentions(unknown.detail, "x:", "nosuch")


async def test_a_script_that_is_not_executable_is_a_warning_with_the_chmod(tmp_path: Path):
    write_skill(tmp_path, "x", "name: x\ndescription: d\ncommand: ./run.sh\n")
    script = tmp_path / "skills" / "x" / "run.sh"
    script.write_text("#!/bin/sh\n")
    found, _ = await doctor(tmp_path, "skills")
    assert (found.state, found.detail.split()[:2], found.fix) == (
        "warning",
        ["x:", "./run.sh"],
        f"chmod +x {script}",
    )


async def test_without_bubblewrap_the_way_to_have_it_is_named():
    finding = await check_sandbox(Sandbox(bwrap=""))
    assert (finding.state, finding.fix) == ("off", "apt install bubblewrap")
    finding = await check_sandbox(Sandbox(bwrap="/bin/false"))
    fix = "allow unprivileged user namespaces; in a systemd unit, use the settings of the units in deploy/systemd"
    assert (finding.state, finding.fix) == ("off", fix)
    assert "bubblewrap" in finding.detail


async def test_a_runs_folder_that_cannot_be_written_is_an_error(tmp_path: Path):
    (tmp_path / "runs").touch()
    assert (await one(tmp_path, "runs"))[0] == "error"
    (tmp_path / "runs").unlink()
    (tmp_path / "runs").mkdir()
    assert (await one(tmp_path, "runs"))[0] == "ok"


# --- models and packages


async def test_without_a_chat_model_the_settings_to_add_are_named(tmp_path: Path):
    state, _, fix = await one(tmp_path, "chat model")
    assert state == "off"
    assert "CHAT_PROVIDER" in fix


async def test_a_chat_model_without_its_key_is_an_error_that_names_the_setting(tmp_path: Path):
    state, detail, _ = await one(tmp_path, "chat model", **MODEL)
    assert (state, detail) == ("error", "CHAT_PROVIDER=openai needs OPENAI_API_KEY")


async def test_a_key_of_an_unusual_shape_is_a_warning_unless_the_service_is_another_one(tmp_path: Path):
    shape, model = await doctor(tmp_path, "chat model", OPENAI_API_KEY="made-up-key", **MODEL)
    assert (shape.state, model.state, model.detail) == ("warning", "ok", "gpt-5 (openai; not tested)")
    assert "made-up-key" not in f"{shape.detail} {shape.fix}"
    assert states(await doctor(tmp_path, "chat model", OPENAI_API_KEY="made-up-key", **OWN_MODEL)) == ["ok"]


async def test_a_chat_model_without_its_package_is_an_error_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    missing, _ = await doctor(tmp_path, "chat model", **OWN_MODEL)
    assert (missing.state, missing.detail) == ("error", "pydantic_ai: package not installed")
    assert missing.fix == 'pip install "tocsin[chat]"'


async def test_voice_messages_name_what_to_run_when_the_model_is_missing_or_damaged(tmp_path: Path):
    state, detail, fix = await one(tmp_path, "speech")
    assert (state, "`tocsin voice install`" in fix) == ("off", True)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "ggml-base.en.bin").write_bytes(b"half of it")
    state, detail, fix = await one(tmp_path, "speech")
    assert (state, "`tocsin voice install`" in fix) == ("warning", True)
    assert "damaged" in detail


def test_a_missing_package_is_an_error_where_it_belongs_to_every_installation():
    found = list(check_packages(lambda _: False))
    assert states(found) == ["error"] * len(NEEDED_PACKAGES) + ["off"] * (1 + len(EXTRAS))
    assert list(check_packages(lambda _: True)) == []


# --- the inbox


async def keep(home: Path, age_s: float) -> None:
    """Store an event that nobody works on."""
    settings, discovery = load_settings(environ=environment(home))
    async with open_app(settings, discovery, direct_transport) as app:
        store = SqliteInbox(app.database, FakeClock(time.time() - age_s))
        await store.accept([InboundMessage("botchat", MessageKind.MESSAGE, "1", ("k",), "7", "hello")], "")


async def test_received_messages_that_nobody_works_off_are_a_warning(tmp_path: Path):
    await keep(tmp_path, 3600)
    state, detail, fix = await one(tmp_path, "inbox")
    assert (state, mentions(detail, "1 ", "60 min")) == ("warning", True)
    assert "tocsin up" in fix


async def test_received_messages_that_wait_for_a_moment_are_fine(tmp_path: Path):
    assert await doctor(tmp_path, "inbox") == []
    await keep(tmp_path, 1)
    assert await one(tmp_path, "inbox") == ("ok", "1 received message: 1 open, 0 failed", "")


async def test_messages_left_in_the_database_when_redis_became_the_store_are_told(
    tmp_path: Path,
    private_redis: RedisServer,
):
    await keep(tmp_path, 1)
    env = {"STORE": "redis", "REDIS_URL": private_redis.url}
    (state, detail, fix) = await one(tmp_path, "inbox", **env)
    assert (state, "`tocsin store migrate --to redis`" in fix) == ("warning", True)
    assert mentions(detail, tmp_path / DATABASE_FILE, "STORE is redis", "1")
    private_redis.kill()
    assert "Redis" in (await doctor(tmp_path, "inbox", **env))[-1].detail


def test_it_says_whether_daemons_end_with_the_command_that_started_them():
    assert (check_processes(supervises=True).state, check_processes(supervises=False).state) == ("ok", "off")
    assert "daemons included" in check_processes(supervises=True).detail
