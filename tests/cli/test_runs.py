"""tocsin runs: what ran or runs, seen and ended from another process."""

import asyncio
import json
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli
from tests.core.process.test_starting import gone, pid_in
from tests.facts import mentions

from tocsin.channels.contract import SendResult
from tocsin.core.storage.database import Database
from tocsin.runs.log_file import encode, log_path
from tocsin.runs.model import (
    HostResult,
    HostStatus,
    Line,
    OutputDelivery,
    OutputDeliveryStatus,
    OutputResult,
    Run,
    RunStatus,
    RunTrigger,
    StepRun,
)
from tocsin.runs.sqlite.records import sqlite_runs

Until = Callable[[Callable[[], Any]], Any]


def skill(cli: Cli, command: str, name: str = "backup") -> None:
    folder = cli.data_dir / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {"name": name, "description": "a skill of the tests", "command": command}
    (folder / "skill.yaml").write_text(json.dumps(manifest))


def the_run(cli: Cli) -> dict[str, Any]:
    """Return the newest run, or nothing."""
    if not (cli.data_dir / "tocsin.db").exists():
        return {}
    with closing(sqlite3.connect(cli.data_dir / "tocsin.db")) as database, database:
        database.row_factory = sqlite3.Row
        try:
            row = database.execute("SELECT * FROM runs ORDER BY id DESC LIMIT 1").fetchone()
        except sqlite3.OperationalError:  # no tables yet
            return {}
    return dict(row) if row else {}


def running_id(cli: Cli, until: Until) -> str:
    """Return the ID of the run at work, once its process is known."""
    return str(until(lambda: (run := the_run(cli)).get("child") and run["id"]))


def test_runs_are_listed_shown_and_read(cli: Cli):
    skill(cli, "printf '\\033[32mgreen\\033[0m\\n'; echo bad >&2; exit 3")
    assert cli("skills", "run", "backup").code == 1
    (run,) = cli("runs", "list", "--json").json()
    assert (run["kind"], run["subject_name"], run["status"], run["exit_code"]) == ("skill", "backup", "failed", 3)
    short = run["id"].rpartition("-")[2][:8]
    listed = cli("runs", "list").out.splitlines()
    assert listed[0].split() == ["id", "queued", "kind", "name", "trigger", "status", "took", "reason"]
    assert listed[1].startswith(short)
    kept = {"mode": "standard", "args": [], "input": "", "timeout_s": None}
    assert cli("runs", "show", short, "--json").json() == {**run, "definition": kept}
    shown = cli("runs", "show", short).out
    assert "exit code 3" in shown
    assert shown.endswith(("green\nbad\n", "bad\ngreen\n"))
    assert cli("runs", "log", short, "--stream", "stdout").out == "green\n"
    assert cli("runs", "log", short, "--stream", "stdout", "--ansi").out == "\x1b[32mgreen\x1b[0m\x1b[0m\n"
    log = cli("runs", "log", short, "--json").json()
    assert {line["text"] for line in log["lines"]} == {"green", "bad"}
    assert (log["complete"], log["truncated"], log["next_line"]) == (True, False, 3)
    coloured = cli("runs", "log", short, "--json", "--ansi").json()["lines"]
    assert "\x1b[32mgreen\x1b[0m" in {line["text"] for line in coloured}
    assert cli("runs", "list", "--status", "succeeded", "--kind", "cron", "--json").json() == []
    assert cli("runs", "list", "--kind", "cron").err.count("\n") == 1


def test_a_long_log_is_shown_whole_and_its_end_alone(cli: Cli):
    skill(cli, "seq 2500")
    assert cli("skills", "run", "backup").code == 0
    run_id = the_run(cli)["id"]
    assert cli("runs", "log", run_id).out.splitlines() == [str(n) for n in range(1, 2501)]
    assert len(cli("runs", "log", run_id, "--json").json()["lines"]) == 2500
    assert cli("runs", "log", run_id, "-n", "2").out == "2499\n2500\n"
    assert cli("runs", "log", run_id, "-n", "1", "--times").out.split()[1:] == ["stdout", "2500"]


def test_a_log_is_followed_line_by_line_until_its_run_ends(cli: Cli, until: Until, tmp_path: Path):
    skill(cli, f"echo one; while ! [ -e {tmp_path}/go ]; do sleep 0.02; done; echo two")
    with cli.running("skills", "run", "backup"):
        run_id = running_id(cli, until)
        with cli.running("runs", "log", "-f", run_id) as follower:
            assert follower.stdout is not None
            assert follower.stdout.readline() == b"one\n"  # while the run goes on
            (tmp_path / "go").touch()
            assert follower.stdout.read() == b"two\n"
            assert follower.wait() == 0
    assert cli("runs", "log", "-f", run_id, "--json").json()["complete"] is True


def test_a_run_is_cancelled_from_another_process(cli: Cli, until: Until):
    skill(cli, "trap 'echo tidy; exit 0' TERM; echo up; while :; do sleep 0.02; done 2>/dev/null")
    with cli.running("skills", "run", "backup") as owner:
        run_id = running_id(cli, until)
        until(lambda: cli("runs", "log", run_id).out)
        ended = cli("runs", "cancel", run_id, "--reason", "wrong host", "--wait", "--json").json()
        assert owner.wait() == 1
    assert (ended["status"], ended["reason"], ended["output"]["tail"]) == ("cancelled", "wrong host", "up\ntidy")
    (entry,) = [entry for entry in cli.audit_log() if entry["action"] == "run.cancel"]
    assert (entry["metadata"]["run"], entry["metadata"]["reason"]) == (run_id, "wrong host")
    again = cli("runs", "cancel", run_id)
    assert (again.code, mentions(again.err, run_id, "cancelled")) == (1, True)


def test_a_run_whose_process_was_killed_is_ended_by_cancelling_it(cli: Cli, until: Until, tmp_path: Path):
    skill(cli, f"echo $$ > {tmp_path}/leader; sleep 60; sleep 60")
    with cli.running("skills", "run", "backup") as owner:
        run_id = running_id(cli, until)
        leader = asyncio.run(pid_in(tmp_path / "leader"))
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    assert cli("runs", "show", run_id, "--json").json()["status"] == "running"
    assert cli("runs", "cancel", run_id, "--json").json()["status"] == "cancelled"
    assert asyncio.run(gone(leader))


def test_a_run_is_retried_as_a_new_one_with_the_same_arguments_and_input(cli: Cli):
    skill(cli, 'echo "$1"; cat; exit 1')
    cli("skills", "run", "--input", "typed", "backup", "two words")
    first = the_run(cli)["id"]
    again = cli("runs", "retry", first)
    assert (again.code, again.out) == (1, "two words\ntyped\n")
    retry = cli("runs", "list", "--json").json()[0]
    assert (retry["retry_of"], retry["attempt"], retry["trigger"]) == (first, 2, "retry")
    assert cli("runs", "show", first, "--json").json()["attempt"] == 1
    skill(cli, "true")
    third = cli("runs", "retry", retry["id"], "--json")
    assert (third.code, third.json()["attempt"], third.json()["retry_of"]) == (0, 3, retry["id"])
    assert [entry["action"] for entry in cli.audit_log()] == ["skill.run"] * 3


def test_a_run_whose_arguments_held_a_secret_is_not_retried_without_them(cli: Cli):
    skill(cli, "true")
    environ = {"SMTP_PASS": "correct-horse"}
    cli("skills", "run", "backup", "correct-horse", env=environ)
    refused = cli("runs", "retry", "--yes", the_run(cli)["id"], env=environ)
    assert refused.code == 1
    assert "correct-horse" not in str(the_run(cli))


def test_a_run_that_succeeded_is_started_again_only_after_a_yes(cli: Cli):
    skill(cli, "echo done")
    cli("skills", "run", "backup")
    first = the_run(cli)["id"]
    asked = cli("runs", "retry", first, stdin=b"n\n")
    assert (asked.code, mentions(asked.err, "backup", "[y/N]\n")) == (1, True)
    assert cli("runs", "retry", first).code == 2
    assert the_run(cli)["id"] == first
    assert cli("runs", "retry", first, stdin=b"y\n").out == "done\n"
    assert cli("runs", "retry", first, "--yes").out == "done\n"


def test_what_cannot_be_retried_says_why(cli: Cli):
    skill(cli, "true")
    cli("skills", "run", "backup")
    run_id = the_run(cli)["id"]
    assert mentions(cli("runs", "retry", "--yes", run_id, "--from-step", "copy").err, run_id, "step copy")
    missing = cli("runs", "retry", "nope")
    assert (missing.code, mentions(missing.err, "nope", "`tocsin runs list`")) == (1, True)


def test_steps_hosts_and_deliveries_are_shown(cli: Cli):
    run = Run(
        id="01a20302-ba67-7559-948c-4377d7d8da96",
        kind="workflow",
        subject_id="nightly",
        subject_name="nightly",
        trigger=RunTrigger.SCHEDULE,
        status=RunStatus.FAILED,
        queued_at=1_700_000_000.0,
        delivery=OutputDelivery(
            OutputDeliveryStatus.FAILED, (OutputResult(SendResult(False, "email", "a@example.org", error="no route")),)
        ),
        steps=(StepRun("dump", "shell", RunStatus.FAILED, error={"code": "exit-code", "message": "exit code 2"}),),
        hosts=(HostResult("web1", HostStatus.UNREACHABLE, error="no route to host"),),
    )
    asyncio.run(stored(run, cli.data_dir / "tocsin.db"))
    shown = cli("runs", "show", "4377d7d8").out
    for words in (
        "dump  shell  failed  1",
        "exit code 2",
        "web1  unreachable",
        "no route to host",
        "failed; E-mail a@ex",
    ):
        assert words in shown
    document = cli("runs", "list", "--json").json()[0]
    assert (document["steps"][0]["name"], document["hosts"][0]["host"]) == ("dump", "web1")
    refused = cli("runs", "approve", run.id)
    assert (refused.code, refused.err.splitlines()[0]) == (1, f"tocsin: the run {run.id} has ended: failed")


def test_lines_of_hosts_and_steps_keep_their_origin(cli: Cli):
    run = Run(
        id="01a20302",
        kind="ssh",
        subject_id="uptime",
        subject_name="uptime",
        trigger=RunTrigger.MANUAL,
        status=RunStatus.FAILED,
        queued_at=1_700_000_000.0,
    )
    asyncio.run(stored(run, cli.data_dir / "tocsin.db"))
    streams = ("web1/stdout", "web2/stderr", "copy", "copy:stderr", "stdout", "system")
    log = log_path(cli.data_dir / "runs", run.id, run.queued_at)
    log.parent.mkdir(parents=True)
    log.write_bytes(b"".join(encode(Line(n, 1_700_000_001.0, each, "up")) for n, each in enumerate(streams, 1)))
    shown = cli("runs", "log", run.id).out.splitlines()
    assert shown == ["web1: up", "web2: up", "copy: up", "copy: up", "up", "up"]
    assert cli("runs", "log", run.id, "--times").out.splitlines()[0].endswith(" web1/stdout up")


async def stored(run: Run, path: Path) -> None:
    database = Database(path, schemas)
    await sqlite_runs(database).add(run, "me")
    await database.aclose()


def schemas() -> dict[str, Any]:
    from tocsin.assembly import light, storage

    return storage.schemas(light.find_installed().features)


@pytest.mark.parametrize(
    "words", [["cancel", "x", "--grace", "61"], ["log", "x", "-n", "0"], ["list", "--status", "bad"]]
)
def test_wrong_usage_is_exit_code_2(cli: Cli, words: list[str]):
    assert cli("runs", *words).code == 2
