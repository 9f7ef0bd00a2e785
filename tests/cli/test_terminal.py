"""On a terminal: drawn tables, colours, progress after a second; elsewhere none of it."""

import asyncio
import os
import pty
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from tests.cli.conftest import Cli
from tests.quick_start import starter
from tests.waiting import PATIENCE_S

from tocsin.terminal.output import Console
from tocsin_standins import Fault, StandinCluster

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SPINNER = re.compile("[\u2800-\u28ff]")
ESCAPE = "\x1b"


@dataclass
class Session:
    """A command on a pseudo-terminal; `wait` returns exit code and all that the terminal got."""

    child: subprocess.Popen[bytes]
    screen: int

    def wait_for(self, text: str, seconds: float) -> str:
        """Return what the terminal gets, up to and with `text`."""
        seen = b""
        while text.encode() not in seen:
            assert select.select([self.screen], [], [], seconds)[0], seen.decode()
            seen += os.read(self.screen, 65536)
        return seen.decode()

    def wait(self) -> tuple[int, str]:
        seen = b""
        while True:
            assert select.select([self.screen], [], [], PATIENCE_S)[0], seen.decode()
            try:
                chunk = os.read(self.screen, 65536)
            except OSError:  # Linux: the last one who had the terminal open is gone
                break
            if not chunk:
                break
            seen += chunk
        return self.child.wait(PATIENCE_S), seen.decode()


@contextmanager
def on_terminal(cli: Cli, *arguments: str, **env: str) -> Iterator[Session]:
    """Start `tocsin` on a terminal of its own, 120 columns wide."""
    screen, terminal = pty.openpty()
    variables = {**cli.env, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40", **env}
    try:
        child = starter(variables)(
            [cli.tocsin, *arguments],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=cli.home,
            env=variables,
            start_new_session=True,
        )
        os.close(terminal)
        with child:
            try:
                yield Session(child, screen)
            finally:
                child.kill()
    finally:
        os.close(screen)


def run(cli: Cli, *arguments: str, **env: str) -> tuple[int, str]:
    with on_terminal(cli, *arguments, **env) as session:
        return session.wait()


def test_who_has_to_type_the_text_is_told_so_and_how_to_end(wired: Cli, town: StandinCluster):
    with on_terminal(wired, "send", "teamchat", "#ops", "-") as session:
        os.write(session.screen, b"typed by hand\n\x04")
        code, seen = session.wait()
    assert code == 0, seen
    assert "Ctrl-D" in seen
    assert [item.text for item in town.recorder.of("teamchat")] == ["typed by hand"]


def test_a_table_is_drawn_with_colours(cli: Cli):
    code, screen = run(cli, "channels", GUILDCHAT_BOT_TOKEN="made-up")
    assert code == 0
    assert COLOUR.search(screen)
    assert "─" in screen
    assert re.search(r"\x1b\[32mconfigured", screen)
    assert re.search(r"\x1b\[33mmissing", screen)


def test_elsewhere_a_table_is_plain(cli: Cli):
    out = cli("channels", env={"TERM": "xterm-256color", "COLUMNS": "120"}).out
    assert ESCAPE not in out
    assert "─" not in out


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_who_wants_no_colours_gets_none(cli: Cli, env: dict[str, str]):
    _, screen = run(cli, "channels", GUILDCHAT_BOT_TOKEN="made-up", **env)
    assert not re.search(r"\x1b\[3[0-7]m", screen)
    assert "discord" in screen


def test_json_is_plain_on_a_terminal_too(cli: Cli):
    code, screen = run(cli, "channels", "--json")
    assert code == 0
    assert ESCAPE not in screen
    assert screen.lstrip().startswith("[")


@pytest.mark.parametrize("command", ["send", "test", "notify"])
def test_work_of_more_than_a_second_shows_that_it_goes_on(wired: Cli, town: StandinCluster, command: str):
    wired.write_profiles('oncall: [{channel: teamchat, target: "#ops"}]\n')
    arguments = {"send": ("teamchat", "#ops", "hello"), "test": ("teamchat",), "notify": ("oncall", "hello")}[command]
    town.teamchat.faults.push(Fault.stall(1.4))
    code, screen = run(wired, command, *arguments)
    assert code == 0
    assert SPINNER.search(screen)
    assert re.search("Sending on teamchat|Testing teamchat|Notifying oncall", screen)


def test_the_result_is_the_last_that_is_shown(wired: Cli, town: StandinCluster):
    code, screen = run(wired, "send", "teamchat", "#ops", "hello")
    assert code == 0
    assert re.search(r"sent on Slack to #ops\b[^\n]*\n$", screen)


def test_work_of_less_than_a_second_shows_no_progress(monkeypatch: pytest.MonkeyPatch):
    async def work() -> int:
        return 7

    screen, terminal = pty.openpty()
    with open(terminal, "w", closefd=False) as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        assert asyncio.run(Console().while_waiting("Working", work())) == 7
    os.write(terminal, b".")
    assert os.read(screen, 100) == b"."
    os.close(terminal)
    os.close(screen)


def test_quiet_shows_no_progress(wired: Cli, town: StandinCluster):
    town.teamchat.faults.push(Fault.stall(1.3))
    assert not SPINNER.search(run(wired, "send", "teamchat", "#ops", "hello", "-q")[1])


def test_off_a_terminal_there_is_no_progress(wired: Cli, town: StandinCluster):
    town.teamchat.faults.push(Fault.stall(1.3))
    done = wired("send", "teamchat", "#ops", "hello")
    assert (done.code, done.err) == (0, "")
    assert not SPINNER.search(done.out)


def test_ctrl_c_while_progress_is_shown_restores_the_terminal(wired: Cli, town: StandinCluster):
    town.teamchat.faults.push(Fault.stall(86_400, accept=False))
    with on_terminal(wired, "send", "teamchat", "#ops", "hello") as session:
        seen = b""
        while not SPINNER.search(seen.decode(errors="ignore")):
            assert select.select([session.screen], [], [], PATIENCE_S)[0]
            seen += os.read(session.screen, 65536)
        session.child.send_signal(signal.SIGINT)
        code, rest = session.wait()
    assert code == 130
    assert "Traceback" not in rest
    assert rest.rfind("\x1b[?25h") > rest.rfind("\x1b[?25l")  # the cursor is visible again


def test_what_a_stranger_wrote_cannot_drive_the_terminal(cli: Cli):
    cli("send", "bogus", "x", "hello")
    (cli.data_dir / "audit.log").write_text(
        '{"ts":"2026-01-01T00:00:00.000Z","action":"msg.send","detail":"\\u001b]0;pwned\\u0007\\u009b2J","source":"x"}\n'
    )
    _, screen = run(cli, "audit", "tail")
    assert "pwned" in screen
    assert "\x1b]" not in screen
    assert "\x9b" not in screen
    assert "\x07" not in screen


def test_a_service_shows_what_is_wrong_with_a_file_and_the_fix(cli: Cli):
    cli.data_dir.mkdir()
    (cli.data_dir / "triggers.yaml").write_text('- pattern: "\\d+"\n  command: df\n')
    code, screen = run(cli, "up", GATEWAY_HOST="0.0.0.0", LOG_LEVEL="error")  # which ends it at once
    assert code == 2
    told = f"tocsin: triggers: {cli.data_dir}/triggers.yaml:1:14: \\d is not a valid escape sequence in double quotes:"
    assert told in screen
    assert "  hint: " in screen


def test_ids_and_states_are_whole_on_a_narrow_terminal(cli: Cli, town: StandinCluster):
    wired = Cli(cli.home, {**town.environment(), "REDIS_URL": "off"})
    id_ = wired("send", "teamchat", "#announcements-of-operations", "hello", "--queue", "--json").json()["id"]
    wired("send", "teamchat", "#nosuch", "hello")
    with on_terminal(wired, "deliveries", "list", COLUMNS="80") as session:
        code, screen = session.wait()
    words = COLOUR.sub("", screen).split()
    assert code == 0
    assert id_.rpartition("-")[2][:8] in words
    assert "queued" in words
    assert "private" in words, "the end of the longest column is not cut off"


FORGED = "no_such_thing\n  hint: none\r\ntocsin: all is well\x1b[2K\x85\u2028end"
TOLD = "no_such_thing hint: none tocsin: all is well\\u001b[2K\\u0085\\u2028end"


@pytest.mark.parametrize("say", [Console.line, Console.note, Console.error])
def test_what_a_provider_wrote_begins_no_line_of_its_own(
    say: Callable[[Console, str], None], capsys: pytest.CaptureFixture[str]
):
    say(Console(), f"it says {FORGED}")
    shown = capsys.readouterr()
    assert (shown.out + shown.err).removeprefix("tocsin: ") == f"it says {TOLD}\n"


def test_neither_does_a_hint_or_a_cell_of_a_table(capsys: pytest.CaptureFixture[str]):
    Console().error("it failed", FORGED)
    Console().table(["a", "b"], [[FORGED, "c\td"]])
    shown = capsys.readouterr()
    assert shown.err == f"tocsin: it failed\n  hint: {TOLD}\n"
    assert shown.out.split("\n")[1:] == [f"{TOLD}  c d", ""]


def test_a_text_is_shown_with_its_own_lines(cli: Cli):
    skill = cli.data_dir / "skills" / "poem"
    skill.mkdir(parents=True)
    (skill / "skill.yaml").write_text("name: poem\ndescription: One.\ncommand: printf 'one\\ttwo\\n\\033[2Kthree\\n'\n")
    assert cli("skills", "run", "poem").out == "one\ttwo\nthree\n"
