"""Where the output goes: broken pipes, full disks, closed outputs, interrupted commands."""

import os
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import pytest
from tests.cli.conftest import Cli, end
from tests.facts import mentions

from tocsin_standins import Fault, StandinCluster


@pytest.mark.parametrize(
    "command", ["--help", "send --help", "channels", "channels --json", "config show --all", "completion bash"]
)
def test_a_reader_that_has_seen_enough_is_no_error(cli: Cli, command: str):
    done = cli.shell(f"tocsin {command} | head -0; echo ${{PIPESTATUS[0]}}")
    assert (done.out, done.err) == ("0\n", "")


def test_a_send_whose_reader_has_gone_is_still_done(wired: Cli, town: StandinCluster):
    done = wired.shell("tocsin send teamchat '#ops' hello | true; echo ${PIPESTATUS[0]}")
    assert (done.out, done.err) == ("0\n", "")
    assert len(town.recorder.of("teamchat")) == 1


def test_errors_may_go_into_a_broken_pipe_too(cli: Cli):
    done = cli.shell("{ tocsin notify nobody hello 2>&1 >&3; echo $? >&3; } 3>&1 | true")
    assert "Traceback" not in done.out + done.err


def test_a_full_disk_under_the_output_is_a_sentence(cli: Cli):
    for command in ("channels", "channels --json"):
        done = cli.shell(f"tocsin {command} > /dev/full")
        assert (done.code, "No space left on device" in done.err) == (1, True)


@pytest.mark.parametrize(
    ("command", "done"),
    [
        ("send teamchat '#ops' hello", "the message was sent"),
        ("send teamchat '#ops' hello --json", "the message was sent"),
        ("send teamchat '#ops' hello --queue", "the message was queued"),
        ("notify oncall hello", "the message was sent for 1 of 1 target"),
        ("notify oncall hello --queue --json", "the message was queued for 1 of 1 target"),
        ("publish teamchat '#ops' hello", "the message was published"),
        ("deliveries cancel $ID", "the delivery is cancelled"),
        ("skills run hello", "the skill was run"),
        ("bot access approve 1001", "the decision was stored"),
        ("init", "was written"),
    ],
)
def test_a_full_disk_under_the_output_does_not_undo_what_was_done(wired: Cli, command: str, done: str):
    wired.write_profiles("oncall: [{channel: teamchat, target: '#ops'}]\n")
    folder = wired.data_dir / "skills" / "hello"
    folder.mkdir(parents=True)
    (folder / "skill.yaml").write_text("name: hello\ndescription: says hello\ncommand: echo hello\n")
    id_ = wired("send", "teamchat", "#ops", "later", "--queue", "--json").json()["id"]
    words = shlex.split(command.replace("$ID", id_))
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = wired.into(full, *words, env={"REDIS_URL": "off"})
    assert ended.code == 0, ended.err
    [told] = [line for line in ended.err.splitlines() if "No space left on device" in line]
    assert told.startswith("tocsin: ")
    assert told.endswith(done)
    with unread() as nobody_reads:
        for output in (nobody_reads, None):
            (wired.data_dir / ".env").unlink(missing_ok=True)
            code = wired.into(output, *words, env={"REDIS_URL": "off"}).code
            assert code in {0, 1 if "cancel" in command else 0}  # it was cancelled above


def test_a_full_disk_under_the_output_does_not_undo_what_a_feature_did(cli: Cli):
    calls = {
        "watchers new inbox --path . --command true": "the rule was written",
        "watchers disable inbox --json": "inbox is disabled",
        "workflows new hello": "the workflow was written",
        "notifications read-all": "the notifications were marked as read",
    }
    for call, done in calls.items():
        with Path("/dev/full").open("w", encoding="utf-8") as full:
            ended = cli.into(full, *call.split(), env={"REDIS_URL": "off"})
        assert (ended.code, ended.err.count("No space left on device"), done in ended.err) == (0, 1, True), ended.err


@pytest.mark.parametrize("output", ["full", "unread", "closed"])
def test_a_secret_that_cannot_be_shown_again_and_was_not_shown_is_a_failure(cli: Cli, output: str):
    create = "tokens create backup --scope read"
    login = {"DASHBOARD_USER": "anna", "DASHBOARD_PASS": "made up"}
    for command in (create, f"{create} --json", "dashboard link"):
        with unread() as pipe, Path("/dev/full").open("w", encoding="utf-8") as full:
            into = {"full": full, "unread": pipe, "closed": None}[output]
            ended = cli.into(into, *command.split(), env=login)
        assert (ended.code, "standard output" in ended.err) == (1, True), command
        assert ("revoked" in ended.err) == ("tokens" in command)
        assert cli("tokens", "list", "--json").json() == []


def test_an_error_whose_document_cannot_be_printed_is_told_all_the_same(cli: Cli):
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = cli.into(full, "runs", "show", "nope", "--json")
    assert ended.code == 1
    assert "nope" in ended.err.splitlines()[0]
    assert ended.err.endswith("No space left on device\n")


@contextmanager
def unread() -> Iterator[TextIO]:
    """Yield the end of a pipe whose reader is gone, as before `| head -0`."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as pipe:
        yield pipe


def test_a_full_disk_under_the_output_of_a_failed_send_is_a_failure(wired: Cli):
    done = wired.shell("tocsin send teamchat '#nowhere' hello --json > /dev/full")
    assert (done.code, "No space left on device" in done.err) == (1, True)


def test_closed_outputs_are_no_error(cli: Cli):
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        done = cli.shell(f"tocsin channels {closed}")
        assert (done.code, done.err) == (0, "")


def test_output_in_another_encoding_is_escaped_instead_of_failing(wired: Cli):
    env = {"LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
    done = wired.process("config", "show", "--all", env=env)
    assert done.code == 0
    done = wired.process("send", "teamchat", "#nöwhere", "hello", "--json", env=env)
    assert done.out.isascii()
    assert done.json()["target"] == "#nöwhere"


def test_ctrl_c_ends_a_command_with_130_and_without_a_traceback(
    wired: Cli, town: StandinCluster, until: Callable[[Callable[[], Any]], Any]
):
    town.teamchat.faults.push(Fault.stall(60, accept=False))
    before = town.teamchat.requests
    with wired.running("send", "teamchat", "#ops", "hello") as child:
        until(lambda: town.teamchat.requests > before)
        code, out, err = end(child, signal.SIGINT)
    assert (code, out, err.count("\n")) == (130, "", 1)


def test_an_error_of_the_program_itself_is_a_sentence(cli: Cli):
    # A package that breaks in a way nobody expects.
    site = cli.home / "site"
    site.mkdir()
    (site / "platformdirs.py").write_text("raise ZeroDivisionError('made-up')\n")
    env = {"PYTHONPATH": str(site), "TOCSIN_DATA_DIR": ""}
    done = cli.process("channels", env=env)
    assert (done.code, done.out) == (1, "")
    assert mentions(done.err, "ZeroDivisionError: made-up", "--verbose")
    assert cli.process("channels", "--json", env=env).json()["ok"] is False


def test_the_module_runs_without_a_home_and_without_a_terminal(cli: Cli):
    env = {name: value for name, value in cli.env.items() if name != "HOME"} | {"TERM": "dumb"}
    done = subprocess.run(["setsid", cli.tocsin, "channels"], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["deliveries list", "bot access list", "audit tail", "audit search nothing"])
def test_a_list_without_entries_says_so_instead_of_showing_its_columns(cli: Cli, command: str):
    done = cli(*command.split())
    assert (done.code, done.out, done.err.startswith("no ")) == (0, "", True)
    assert cli(*command.split(), "--json").json() == []
