"""A text that makes many messages: a person is asked, and more than MAX_PARTS are refused everywhere."""

import os
import pty
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.cli.conftest import Cli
from tests.facts import mentions
from tests.waiting import PATIENCE_S

from tocsin_standins import StandinCluster

PARTS = 21
TEXT = ("word " * 799 + "\n\n") * PARTS  # 4,000 characters make one message
REFUSED = "the text would be sent as 21 messages, limit 20: shorten it, send it as a file, or raise MAX_PARTS"


@contextmanager
def at_a_terminal(cli: Cli, line: str, **env: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run a line of bash on a terminal of its own."""
    screen, terminal = pty.openpty()
    path = f"{cli.tocsin.parent}{os.pathsep}{os.environ['PATH']}"
    variables = {**cli.env, "PATH": path, "TERM": "dumb", **env}
    argv = ["setsid", "--ctty", "--wait", "bash", "-c", line]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    try:
        child = subprocess.Popen(argv, **streams, cwd=cli.home, env=variables, start_new_session=True)
        os.close(terminal)
        with child:
            try:
                yield child, screen
            finally:
                child.kill()
    finally:
        os.close(screen)


def read_until(screen: int, text: str) -> str:
    seen = b""
    while text.encode() not in seen:
        assert select.select([screen], [], [], PATIENCE_S)[0], f"in vain: {seen!r}"
        seen += os.read(screen, 65536)
    return seen.decode(errors="replace")


@pytest.fixture
def long_text(wired: Cli) -> Cli:
    (wired.home / "long.txt").write_text(TEXT)
    wired.env["TEAMCHAT_CHUNK_AT"] = "4000"
    wired.write_profiles("oncall: [{channel: teamchat, target: '#ops'}, {channel: teamchat, target: '#town'}]\n")
    return wired


COMMANDS = [
    (
        "tocsin send slack '#ops' - < long.txt",
        ("The text will be sent as 21 messages on slack to #ops. Continue? [y/N]"),
    ),
    (
        "tocsin send slack '#ops' \"$(cat long.txt)\"",
        ("The text will be sent as 21 messages on slack to #ops. Continue? [y/N]"),
    ),
    ("tocsin send slack '#ops' --queue - < long.txt", "The text will be sent as 21 messages on slack to #ops."),
    ("tocsin notify oncall - < long.txt", "The text will be sent as 42 messages for 2 targets. Continue? [y/N]"),
    (
        "tocsin notify oncall --queue - < long.txt",
        ("The text will be sent as 42 messages for 2 targets. Continue? [y/N]"),
    ),
]


@pytest.mark.parametrize(("line", "question"), COMMANDS)
@pytest.mark.parametrize("answer", ["n\n", "\n"])
def test_a_person_who_does_not_say_yes_sends_nothing(
    long_text: Cli, town: StandinCluster, line: str, question: str, answer: str
):
    with at_a_terminal(long_text, line) as (child, screen):
        read_until(screen, question)
        os.write(screen, answer.encode())
        read_until(screen, "no message was sent")
        assert child.wait(PATIENCE_S) == 1
    assert town.recorder.of() == []
    assert long_text("deliveries", "list", "--json").json() == []
    assert long_text.audit_log() == []


def test_a_person_who_says_yes_sends_all_of_it(long_text: Cli, town: StandinCluster):
    line, question = COMMANDS[0]
    with at_a_terminal(long_text, line) as (child, screen):
        read_until(screen, question)
        os.write(screen, b"y\n")
        read_until(screen, "sent on Slack")
        assert child.wait(PATIENCE_S) == 0
    assert len(town.recorder.of("teamchat")) == PARTS


def test_ctrl_c_at_the_question_sends_nothing(long_text: Cli, town: StandinCluster):
    line, question = COMMANDS[0]
    with at_a_terminal(long_text, f"exec {line}") as (child, screen):
        read_until(screen, question)
        os.write(screen, b"\x03")
        assert child.wait(PATIENCE_S) in {130, -signal.SIGINT}
    assert town.recorder.of() == []


def test_with_yes_nobody_is_asked(long_text: Cli, town: StandinCluster):
    with at_a_terminal(long_text, "tocsin send slack '#ops' --yes - < long.txt") as (child, screen):
        assert "Continue?" not in read_until(screen, "sent on Slack")
        assert child.wait(PATIENCE_S) == 0
    assert len(town.recorder.of("teamchat")) == PARTS


def test_twenty_messages_are_sent_without_a_question(long_text: Cli, town: StandinCluster):
    (long_text.home / "long.txt").write_text(("word " * 799 + "\n\n") * 20)
    with at_a_terminal(long_text, COMMANDS[0][0]) as (child, screen):
        assert "Continue?" not in read_until(screen, "sent on Slack")
        assert child.wait(PATIENCE_S) == 0
    assert len(town.recorder.of("teamchat")) == 20


def test_without_a_terminal_nobody_is_asked(long_text: Cli, town: StandinCluster):
    assert long_text("send", "slack", "#ops", "-", stdin=TEXT.encode()).code == 0
    assert len(town.recorder.of("teamchat")) == PARTS


@pytest.mark.parametrize("more", [[], ["--queue"]])
def test_more_than_max_parts_is_refused_with_both_numbers(long_text: Cli, town: StandinCluster, more: list[str]):
    limit = {"MAX_PARTS": "20"}
    done = long_text("send", "slack", "#ops", "-", "--yes", *more, stdin=TEXT.encode(), env=limit)
    assert done.code == 1
    assert mentions(done.err, "21 messages", "limit 20")
    done = long_text("notify", "oncall", "-", "--yes", *more, stdin=TEXT.encode(), env=limit)
    assert (done.code, done.out.count("21 messages, limit 20")) == (1, 2)
    assert town.recorder.of() == []


def test_a_published_text_of_too_many_messages_is_refused(long_text: Cli):
    env = {"MAX_PARTS": "20", "REDIS_URL": "off"}
    done = long_text("publish", "slack", "#ops", "-", stdin=TEXT.encode(), env=env)
    assert (done.code, "as 21 messages, limit 20" in done.err) == (1, True)


def test_by_default_a_hundred_messages_are_the_limit(long_text: Cli, town: StandinCluster):
    done = long_text("send", "slack", "#ops", "-", stdin=("word " * 799 + "\n\n").encode() * 101)
    assert (done.code, "as 101 messages, limit 100" in done.err) == (1, True)
    assert town.recorder.of() == []
