"""`tocsin setup` connects a channel by questions on a terminal, and writes the settings."""

import os
import stat
from pathlib import Path

import pytest
from tests.cli.conftest import Cli
from tests.cli.test_terminal import Session, on_terminal
from tests.waiting import PATIENCE_S

from tocsin.core.config.env_file import change_env_file, changed
from tocsin.core.config.settings import read_env_file
from tocsin.core.errors import ConfigError
from tocsin.core.storage.files import WriteError
from tocsin_standins import StandinCluster


def answer(session: Session, question: str, text: str) -> str:
    """Wait for a question, answer it, and return what was printed before."""
    seen = session.wait_for(question, PATIENCE_S)
    os.write(session.screen, f"{text}\n".encode())
    return seen


@pytest.fixture
def reachable(cli: Cli, town: StandinCluster) -> Cli:
    """The command with the addresses of the stand-ins, and without any credentials."""
    secrets = ("TOKEN", "PASS", "SECRET", "KEY", "USER")
    addresses = {name: value for name, value in town.environment().items() if not name.endswith(secrets)}
    cli.env |= addresses
    return cli


def test_setup_connects_a_channel_sends_a_message_and_keeps_the_settings(reachable: Cli, town: StandinCluster):
    token = town.environment()["TEAMCHAT_BOT_TOKEN"]
    with on_terminal(reachable, "setup") as session:
        listed = answer(session, "Number or name", "slack")
        assert "Telegram" in listed
        assert "docs/channels/teamchat.md" in answer(session, "TEAMCHAT_BOT_TOKEN: ", "xoxb-wrong")
        assert "invalid_auth" in answer(session, "TEAMCHAT_BOT_TOKEN: ", token)
        assert "Connected" in answer(session, "Target: ", "#nosuch")
        assert "channel_not_found" in answer(session, "Target: ", "#ops")
        assert "Sent" in answer(session, "Did it arrive?", "n")
        assert "/invite" in answer(session, "Target: ", "#ops")
        answer(session, "Did it arrive?", "y")
        code, rest = session.wait()
    assert code == 0
    assert "Notices about failures go there from now on" in rest
    assert 'target: "#ops"' in (reachable.data_dir / "profiles.yaml").read_text()
    assert token not in listed + rest, "a secret is not echoed"
    assert [item.text for item in town.recorder.of("teamchat")] == ["Tocsin is connected."] * 2
    env_file = reachable.data_dir / ".env"
    assert read_env_file(env_file).values["TEAMCHAT_BOT_TOKEN"] == token
    assert read_env_file(env_file).values["NOTIFY_PROFILE"] == "notices"
    assert stat.S_IMODE(env_file.stat().st_mode) == 0o600
    assert reachable("test", "slack").code == 0


def test_setup_of_a_named_channel_asks_only_for_what_it_needs(reachable: Cli, town: StandinCluster):
    with on_terminal(reachable, "setup", "telegram") as session:
        seen = answer(session, "BOTCHAT_BOT_TOKEN: ", town.environment()["BOTCHAT_BOT_TOKEN"])
        answer(session, "Target: ", "")
        assert session.wait()[0] == 0
    assert "Number or name" not in seen
    assert town.recorder.of("botchat") == []


def test_setup_asks_for_the_server_and_the_user_before_the_password(reachable: Cli, town: StandinCluster):
    known = town.environment()
    with on_terminal(reachable, "setup", "email") as session:
        assert "E-mail needs SMTP_HOST, SMTP_USER and SMTP_PASS" in answer(session, "SMTP_HOST: ", known["SMTP_HOST"])
        answer(session, "SMTP_USER: ", known["SMTP_USER"])
        answer(session, "SMTP_PASS: ", "wrong")
        session.wait_for("SMTP_HOST: ", PATIENCE_S)


def test_an_answer_that_cannot_be_a_value_is_asked_again_with_what_is_accepted(reachable: Cli):
    with on_terminal(reachable, "setup", "slack") as session:
        answer(session, "TEAMCHAT_BOT_TOKEN: ", "two words")
        assert "expected" in session.wait_for("TEAMCHAT_BOT_TOKEN: ", PATIENCE_S)


def test_the_end_of_the_input_ends_setup_with_1_and_what_was_written_stays(reachable: Cli):
    with on_terminal(reachable, "setup") as session:
        session.wait_for("Number or name", PATIENCE_S)
        os.write(session.screen, b"\x04")
        assert session.wait()[0] == 1
    assert (reachable.data_dir / ".env").exists()


def test_setup_without_a_terminal_is_refused_with_the_other_way(cli: Cli):
    done = cli("setup")
    assert (done.code, done.out) == (2, "")
    assert "tocsin init" in done.err


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# text\n#A=1\nB=2\n", "# text\nA=new\nB=2\n"),
        ("#A=1\nA=2\n", "#A=1\nA=new\n"),
        ("A=1\nexport A=2\nB=3", "A=1\nA=new\nB=3"),
        ("B=2", "B=2\nA=new\n"),
        ("", "A=new\n"),
        ("AA=1\n#AA=2\n", "AA=1\n#AA=2\nA=new\n"),
    ],
)
def test_a_setting_is_changed_where_it_stands(before: str, after: str):
    assert changed(before, {"A": "new"}) == after


@pytest.mark.parametrize("value", ["plain", "two words", "p#ss 'word' \"x\"", r"back\slash", "ünïcode=1", r"\1 \g<0>"])
def test_a_value_is_read_back_as_it_was_set(tmp_path: Path, value: str):
    path = tmp_path / ".env"
    path.write_text("#A=\n")
    change_env_file(path, {"A": value})
    assert read_env_file(path).values == {"A": value}


def test_a_file_that_cannot_be_changed_is_an_error_with_its_name(tmp_path: Path):
    with pytest.raises(WriteError, match=r"none/\.env"):
        change_env_file(tmp_path / "none" / ".env", {"A": "1"})


def test_a_settings_file_that_is_no_regular_file_is_never_replaced(tmp_path: Path):
    pipe = tmp_path / ".env"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="not a regular file"):
        change_env_file(pipe, {"A": "1"})
    assert stat.S_ISFIFO(pipe.stat().st_mode)
