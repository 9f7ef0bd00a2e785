"""`tocsin jobs` as people and programs use it."""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli, cli
from tests.features.jobs.conftest import open_workshop

from tocsin.features.jobs.commands import configure_jobs
from tocsin.features.jobs.service import TaskJobs
from tocsin.terminal.output import Console

__all__ = ["cli"]


@dataclass
class Terminal:
    """Runs the commands in this process, each with the program opened anew."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *words: str, as_json: bool = False) -> tuple[int, str]:
        """Return the exit code and what was printed."""
        parser = argparse.ArgumentParser(prog="tocsin jobs")
        configure_jobs(parser)
        arguments = parser.parse_args(words)
        self.capsys.readouterr()
        code = arguments.run(arguments, Console(as_json=as_json), self)
        return code, self.capsys.readouterr().out

    def json(self, *words: str) -> Any:
        return json.loads(self(*words, as_json=True)[1])

    def run(self, work: Callable[[TaskJobs], Awaitable[Any]], *, writes: bool = False) -> Any:
        async def main() -> Any:
            async with open_workshop(self.folder) as workshop:
                return await work(workshop.jobs)

        return asyncio.run(main())


@pytest.fixture
def terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(tmp_path, capsys)


def test_a_job_is_created_run_shown_and_deleted(terminal: Terminal):
    command = "echo out; echo 1 > one; git add one; git commit -qm One"
    made = terminal.json(
        "create", "Fix it", "--repo", "site", "--command", command, "--label", "web", "--priority", "high"
    )
    short = made["id"].rpartition("-")[2][:8]
    assert (made["status"], made["labels"], made["priority"], made["created_by"]) == ("queued", ["web"], "high", "cli")
    code, told = terminal("list", "--status", "queued", "--label", "web", "--search", "fix")
    assert (code, told.splitlines()[1].split()[0]) == (0, short)
    assert terminal("start", short) == (0, "out\n")
    (listed,) = terminal.json("list")
    assert (listed["status"], listed["ahead"]) == ("completed", 1)
    assert command in terminal("show", short)[1]
    assert "+1 -0" in terminal("branches")[1]
    assert "+1\n" in terminal("branches", short, "--patch")[1]
    shown = terminal.json("branches", short)
    assert (shown["files"], shown["patch"]) == ([{"path": "one", "insertions": 1, "deletions": 0}], None)
    assert terminal("delete", short, "--delete-branch", "--force", "--yes") == (0, "Fix it: deleted\n")
    assert terminal.json("list") == []
    assert {branch["name"] for branch in terminal.json("branches", "--repo", "site")} == {"main"}


def test_a_failed_job_ends_the_command_with_1_and_a_job_of_people_waits(terminal: Terminal):
    failing = terminal.json("create", "Fails", "--command", "exit 3")["id"]
    assert terminal("start", failing)[0] == 1
    by_hand = terminal.json("create", "By hand", "--repo", "site")["id"]
    code, told = terminal("start", by_hand)
    assert (code, by_hand in told) == (0, True)
    assert terminal("complete", by_hand, "--summary", "done") == (0, "By hand: completed\n")
    assert terminal.json("show", by_hand)["result"]["summary"] == "done"


def test_a_mistake_is_told_with_what_to_do(cli: Cli):
    done = cli("jobs", "create", "Fix it", "--repo", "site")
    assert done.code == 1
    assert "no repositories" in done.err
    assert "JOB_REPOSITORIES" in done.err
