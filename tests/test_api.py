"""The Python interface: asynchronous and blocking, in any program."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.facts import mentions
from tests.town_thread import reset, town_on_a_thread

import tocsin
from tocsin.api import ClosedError
from tocsin.core.errors import ChannelError, ConfigError, UnknownChannelError, UnknownProfileError
from tocsin.core.storage.database import DatabaseError
from tocsin.messaging.outbound.idempotency import KeyReusedError
from tocsin_standins import Fault, StandinCluster

PROFILES = """\
oncall:
  - {channel: teamchat, target: "#ops"}
  - {channel: email, target: ops@example.org}
half:
  - {channel: teamchat, target: "#nowhere"}
  - {channel: email, target: ops@example.org}
"""


@pytest.fixture(scope="module")
def running_town() -> Iterator[StandinCluster]:
    with town_on_a_thread() as town:
        yield town


@pytest.fixture
def town(running_town: StandinCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> StandinCluster:
    """The stand-ins, and an environment that points to them."""
    reset(running_town)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOCSIN_DATA_DIR", str(tmp_path))
    for name, value in running_town.environment().items():
        monkeypatch.setenv(name, value)
    (tmp_path / "profiles.yaml").write_text(PROFILES)
    return running_town


def audit_sources(directory: Path) -> list[str]:
    return [json.loads(line)["source"] for line in (directory / "audit.log").read_text().splitlines()]


# --- asynchronous


async def test_after_its_end_nothing_is_sent_because_it_could_not_be_recorded(town: StandinCluster):
    async with tocsin.open() as t:
        pass
    results = [await t.send("teamchat", "#ops", "late"), await t.test("teamchat")]
    assert [(result.ok, "is closed" in result.error) for result in results] == [(False, True)] * 2
    with pytest.raises(ClosedError, match="is closed"):
        await t.notify("oncall", "late")
    with pytest.raises(DatabaseError):
        await t.enqueue("teamchat", "#ops", "late")
    assert town.recorder.of() == []


async def test_a_message_is_sent_and_the_result_has_five_fields(town: StandinCluster, tmp_path: Path):
    async with tocsin.open() as t:
        result = await t.send("teamchat", "#ops", "hello")
    assert isinstance(result, tocsin.SendResult)
    assert (result.ok, result.channel, result.target, result.error) == (True, "teamchat", "#ops", "")
    assert result.message.startswith("ts=")
    assert [item.text for item in town.recorder.of()] == ["hello"]
    assert audit_sources(tmp_path) == ["api"]


async def test_a_message_has_a_title_and_a_wrong_field_is_a_failed_result(town: StandinCluster):
    async with tocsin.open() as t:
        sent = await t.send("discord", "100000000000000002", "hello", title="web1", format="markdown")
        wrong = await t.send("discord", "100000000000000002", "hello", priority=object(), colour="red")
        outcome = await t.notify("oncall", "hello", title="web1")
        queued = await t.enqueue("discord", "100000000000000002", "hello", title="web1")
    assert sent.ok
    assert (wrong.ok, mentions(wrong.error, "priority", "colour")) == (False, True)
    assert outcome.ok
    assert queued.content == {"title": "web1"}
    assert [item.subject for item in town.recorder.of("email")] == ["web1"]


async def test_a_format_that_differs_from_its_other_name_is_a_failed_result(town: StandinCluster):
    async with tocsin.open() as t:
        result = await t.send("teamchat", "#ops", "hello", format="plain", parse_mode="mrkdwn")
    assert (result.ok, mentions(result.error, "format and parse_mode differ")) == (False, True)
    assert town.recorder.of() == []


async def test_an_alias_is_a_channel(town: StandinCluster):
    async with tocsin.open() as t:
        assert (await t.send("slack", "#ops", "hello")).channel == "teamchat"


async def test_a_result_about_a_value_of_another_type_names_it_and_the_kind_of_the_channel(town: StandinCluster):
    async with tocsin.open() as t:
        wrong = [await t.send("slack", "#ops", 5), await t.send("slack", "#ops", "hello", format=5)]  # type: ignore[arg-type]
    assert [(result.channel, result.error) for result in wrong] == [
        ("teamchat", "message must be text, not int"),
        ("teamchat", "format must be text, not int"),
    ]
    assert town.recorder.of() == []


async def test_the_configured_channels_are_listed(town: StandinCluster):
    async with tocsin.open() as t:
        assert t.channels() == ["botchat", "email", "guildchat", "teamchat"]


async def test_credentials_are_tested_without_sending(town: StandinCluster):
    async with tocsin.open() as t:
        result = await t.test("teamchat")
    assert (result.ok, result.message) == (True, "connected as tocsin (Stand-in)")
    assert town.recorder.of() == []


async def test_a_profile_is_notified(town: StandinCluster):
    async with tocsin.open() as t:
        outcome = await t.notify("oncall", "hello")
        half = await t.notify("half", "hello")
    assert (outcome.ok, outcome.sent, outcome.failed) == (True, 2, 0)
    assert (half.ok, half.sent, half.failed) == (False, 1, 1)


async def test_an_unknown_profile_is_an_error(town: StandinCluster):
    async with tocsin.open() as t:
        with pytest.raises(UnknownProfileError, match="nobody"):
            await t.notify("nobody", "hello")


async def test_a_broken_configuration_is_an_error_on_opening(town: StandinCluster, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GATEWAY_PORT", "x")
    with pytest.raises(ConfigError, match="GATEWAY_PORT"):
        async with tocsin.open():
            pass


async def test_data_directory_and_env_file_may_be_chosen(
    town: StandinCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("TEAMCHAT_BOT_TOKEN")
    (tmp_path / "my.env").write_text(f"TEAMCHAT_BOT_TOKEN={town.teamchat.token}\n")
    mine = tmp_path / "mine"
    async with tocsin.open(data_dir=str(mine), env_file=tmp_path / "my.env") as t:
        assert (await t.send("teamchat", "#ops", "hello")).ok
    assert (mine / "audit.log").exists()


@pytest.mark.parametrize(
    ("channel", "target", "message"),
    [
        ("bogus", "#ops", "hello"),
        ("", "#ops", "hello"),
        (None, "#ops", "hello"),
        (7, "#ops", "hello"),
        ("teamchat", None, "hello"),
        ("teamchat", "#ops", None),
        ("teamchat", "#ops", b"hello"),
        ("teamchat", "", ""),
        ("teamchat", "#nowhere", "hello"),
        ("devicemsg", "+15551234567", "hello"),
    ],
)
async def test_a_send_never_raises(town: StandinCluster, channel: str, target: str, message: str):
    async with tocsin.open() as t:
        result = await t.send(channel, target, message)
        assert not result.ok
        assert result.error
        assert not (await t.test("bogus")).ok


async def test_a_provider_that_breaks_off_does_not_make_a_send_raise(town: StandinCluster):
    town.teamchat.faults.push(Fault.reset(), Fault.html_200(), Fault.broken_json())
    async with tocsin.open() as t:
        assert [(await t.send("teamchat", "#ops", "hello")).ok for _ in range(3)] == [False] * 3


# --- queueing


async def test_a_message_is_queued_and_the_record_comes_back(town: StandinCluster, tmp_path: Path):
    async with tocsin.open() as t:
        delivery = await t.enqueue("slack", "#ops", "hello")
    assert (delivery.channel, delivery.target, delivery.message) == ("teamchat", "#ops", "hello")
    assert (delivery.status, delivery.policy, delivery.source) == ("queued", "at_least_once", "api")
    assert town.recorder.of() == []
    (line,) = (tmp_path / "audit.log").read_text().splitlines()
    assert (json.loads(line)["action"], json.loads(line)["source"]) == ("msg.queue", "api")
    assert "hello" not in line


async def test_a_known_key_returns_the_first_delivery_over_a_restart_and_writes_no_entry(
    town: StandinCluster, tmp_path: Path
):
    found = []
    for _ in range(2):
        async with tocsin.open() as t:
            found += [await t.enqueue("teamchat", "#ops", "hello", idempotency_key="k") for _ in range(2)]
    assert len({delivery.id for delivery in found}) == 1
    assert audit_sources(tmp_path) == ["api"]


async def test_a_key_that_comes_at_the_same_time_is_one_delivery_and_one_entry(town: StandinCluster, tmp_path: Path):
    async with tocsin.open() as t:
        found = await asyncio.gather(*(t.enqueue("teamchat", "#ops", "hello", idempotency_key="k") for _ in range(10)))
    assert len({delivery.id for delivery in found}) == 1
    assert audit_sources(tmp_path) == ["api"]


@pytest.mark.parametrize("other", [("email", "#ops", "hello"), ("teamchat", "#x", "hello"), ("teamchat", "#ops", "hi")])
async def test_a_key_with_another_message_is_an_error(town: StandinCluster, other: tuple[str, str, str]):
    channel, target, message = other
    async with tocsin.open() as t:
        await t.enqueue("teamchat", "#ops", "hello", idempotency_key="k")
        with pytest.raises(KeyReusedError, match="key k "):
            await t.enqueue(channel, target if channel == "teamchat" else "a@example.org", message, idempotency_key="k")


async def test_without_a_key_the_same_message_is_queued_again(town: StandinCluster):
    async with tocsin.open() as t:
        found = [await t.enqueue("teamchat", "#ops", "hello", idempotency_key=key) for key in (None, None, "", "")]
    assert len({delivery.id for delivery in found}) == 4


async def test_the_policy_may_be_chosen_and_a_wrong_one_is_an_error(town: StandinCluster):
    async with tocsin.open() as t:
        assert (await t.enqueue("teamchat", "#ops", "hello", policy="at_most_once")).policy == "at_most_once"
        with pytest.raises(ConfigError, match="sometimes"):
            await t.enqueue("teamchat", "#ops", "hello", policy="sometimes")


@pytest.mark.parametrize(
    ("channel", "target", "message", "error"),
    [
        ("bogus", "#ops", "hello", UnknownChannelError),
        (None, "#ops", "hello", UnknownChannelError),
        ("devicemsg", "+15551234567", "hello", UnknownChannelError),
        ("teamchat", "", "hello", ChannelError),
        ("teamchat", "#ops", "", ChannelError),
        ("teamchat", "#ops", None, ChannelError),
        ("teamchat", 7, "hello", ChannelError),
    ],
)
async def test_what_could_never_be_sent_is_not_queued(
    town: StandinCluster, tmp_path: Path, channel: str, target: str, message: str, error: type[Exception]
):
    async with tocsin.open() as t:
        with pytest.raises(error):
            await t.enqueue(channel, target, message)
    assert not (tmp_path / "audit.log").exists()


async def test_without_a_database_nothing_is_queued_but_a_send_goes_out(town: StandinCluster, tmp_path: Path):
    (tmp_path / "tocsin.db").mkdir()
    async with tocsin.open() as t:
        with pytest.raises(DatabaseError):
            await t.enqueue("teamchat", "#ops", "hello")
        assert (await t.send("teamchat", "#ops", "hello")).ok
    assert len(town.recorder.of()) == 1


async def test_a_profile_with_a_text_that_is_none_is_a_failed_result(town: StandinCluster):
    async with tocsin.open() as t:
        assert not (await t.notify("oncall", None)).ok


# --- blocking


def test_plain_code_sends_and_gets_the_same_result(town: StandinCluster, tmp_path: Path):
    result = tocsin.send("teamchat", "#ops", "hello")
    assert isinstance(result, tocsin.SendResult)
    assert result.ok, result.error
    assert [item.text for item in town.recorder.of()] == ["hello"]
    assert audit_sources(tmp_path) == ["api"]


async def test_a_blocking_send_works_inside_a_running_loop(town: StandinCluster):
    assert tocsin.send("teamchat", "#ops", "hello").ok
    assert tocsin.notify("oncall", "hello").ok


def test_a_blocking_send_takes_a_data_directory_and_an_env_file(
    town: StandinCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("SMTP_FROM")
    (tmp_path / "my.env").write_text("SMTP_FROM=alerts@example.org\n")
    mine = tmp_path / "mine"
    assert tocsin.send("email", "ops@example.org", "hello", data_dir=mine, env_file=tmp_path / "my.env").ok
    assert (mine / "audit.log").exists()
    (received,) = town.recorder.of("email")
    assert received.headers["mail_from"] == "alerts@example.org"


def test_a_blocking_send_with_a_broken_configuration_is_a_failed_result(
    town: StandinCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / ".env").write_text("this is not a setting\n")
    result = tocsin.send("teamchat", "#ops", "hello")
    assert (result.ok, result.channel, result.target, result.message) == (False, "teamchat", "#ops", "")
    assert mentions(result.error, "env:1", "NAME=value")
    (tmp_path / ".env").unlink()
    monkeypatch.setenv("SMTP_PORT", "many")
    assert "SMTP_PORT" in tocsin.send("teamchat", "#ops", "hello").error


def test_a_blocking_send_never_raises_whatever_it_is_given(town: StandinCluster):
    assert not tocsin.send(None, None, None).ok  # type: ignore[arg-type]


def test_a_blocking_notify_raises_for_a_profile_that_is_not_there(town: StandinCluster):
    with pytest.raises(UnknownProfileError):
        tocsin.notify("nobody", "hello")


# --- loading


def test_the_package_loads_without_asyncio_and_the_interface_when_it_is_used():
    program = (
        "import sys, tocsin\n"
        "early = {'asyncio', 'tocsin.api', 'tocsin.assembly.program'} & set(sys.modules)\n"
        "tocsin.send\n"
        "sys.exit(bool(early) or 'tocsin.api' not in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-I", "-c", program], env={}, check=False).returncode == 0


def test_everything_that_is_announced_is_there():
    assert [name for name in tocsin.__all__ if not hasattr(tocsin, name)] == []
    assert dir(tocsin) == sorted(tocsin.__all__)
    with pytest.raises(AttributeError, match="no attribute 'sned'"):
        _ = tocsin.sned
