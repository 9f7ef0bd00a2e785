"""The home directory of a sandboxed skill: what is kept of it, and that a run cannot write without end."""

import asyncio
import stat
from pathlib import Path

import pytest
from tests.features.skills.conftest import Workshop, call
from tests.features.skills.test_service import LEVELS, use
from tests.waiting import PATIENCE_S

from tocsin.core.errors import ConfigError
from tocsin.core.process.sandbox import Level, ResourceLimits, Sandbox
from tocsin.features.skills.home import SkillHome
from tocsin.features.skills.model import ExecutionMode
from tocsin.runs.model import Run, RunStatus

needs_bubblewrap = pytest.mark.usefixtures("bubblewrap")
MIB = 1024**2
SMALL = ResourceLimits(home_bytes=2 * MIB, temporary_bytes=2 * MIB, writable_files=50)
MANY = "i=0; while [ $i -lt 1000 ]; do : > {}/f$i || exit 0; i=$((i+1)); done"


async def sandboxed(workshop: Workshop, script: str) -> Run:
    return await workshop.run(script, ExecutionMode.SANDBOXED, timeout_s=PATIENCE_S)


def kept(workshop: Workshop) -> dict[str, int]:
    """Return the sizes of the files that a skill has in its home directory."""
    home = workshop.folder / "scratch" / "it"
    return {str(path.relative_to(home)): path.lstat().st_size for path in home.rglob("*") if not path.is_dir()}


@needs_bubblewrap
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("head -c 9000000 /dev/zero > $HOME/f", "it filled its home directory (2 MiB)"),
        ("for i in 1 2 3 4 5; do head -c 900000 /dev/zero > $HOME/$i; done", "it filled its home directory (2 MiB)"),
        ("head -c 9000000 /dev/zero > /tmp/f", "it filled /tmp (2 MiB)"),
        ("head -c 9000000 /dev/zero > /dev/shm/f", "it filled /dev/shm (2 MiB)"),
        (
            "exec 5> $HOME/f; rm $HOME/f; head -c 9000000 /dev/zero >&5; sleep 60",
            "it filled its home directory (2 MiB)",
        ),
        (MANY.format("$HOME"), "it made more than 50 files in its home directory"),
        (MANY.format("/tmp"), "it made more than 50 files in /tmp"),
        (f"mkdir -p $HOME/{'d/' * 60}", "it made more than 50 files in its home directory"),
    ],
)
async def test_a_run_that_writes_too_much_fails_with_the_reason_and_keeps_nothing(
    workshop: Workshop, script: str, reason: str
):
    workshop.limits = SMALL
    run = await sandboxed(workshop, script)
    assert (run.status, run.reason, run.error and run.error["code"]) == (RunStatus.FAILED, reason, "limit-exceeded")
    assert kept(workshop) == {}


@needs_bubblewrap
async def test_the_kernel_ends_what_a_run_writes_at_the_limit(workshop: Workshop):
    workshop.limits = SMALL
    run = await sandboxed(workshop, "head -c 9000000 /dev/zero > $HOME/f; stat -c %s $HOME/f")
    assert int(run.output.tail.split()[-1]) <= 2 * MIB


@needs_bubblewrap
async def test_a_sparse_file_counts_with_its_whole_size(workshop: Workshop):
    workshop.limits = SMALL
    run = await sandboxed(workshop, "truncate -s 3M $HOME/f")
    assert (run.status, run.error and run.error["code"]) == (RunStatus.FAILED, "limit-exceeded")
    assert "more than 2 MiB" in (run.reason or "")
    assert kept(workshop) == {}


async def test_without_bubblewrap_what_a_run_leaves_is_measured(workshop: Workshop):
    workshop.sandbox = Sandbox(SMALL, bwrap="")
    run = await sandboxed(workshop, "head -c 3000000 /dev/zero > $HOME/f; sleep 60")
    assert (run.status, "2 MiB" in run.reason) == (RunStatus.FAILED, True)


@LEVELS
async def test_a_home_that_holds_too_much_already_is_left_alone_and_named(workshop: Workshop, level: str):
    await use(workshop, level)
    home = workshop.folder / "scratch" / "it"
    home.mkdir(parents=True)
    (home / "old").write_bytes(bytes(3 * MIB))
    workshop.sandbox = Sandbox(SMALL) if level == "bubblewrap" else Sandbox(SMALL, bwrap="")
    with pytest.raises(ConfigError, match=f"more than 2 MiB in {home}") as refused:
        await sandboxed(workshop, "true")
    assert "SKILL_HOME_MIB" in refused.value.hint
    assert kept(workshop) == {"old": 3 * MIB}
    assert list((workshop.folder / "snapshots").iterdir()) == []


@LEVELS
async def test_what_a_program_closed_or_deleted_in_its_home_ends_no_run(workshop: Workshop, level: str):
    await use(workshop, level)
    assert (await sandboxed(workshop, "mkdir $HOME/d; echo 1 > $HOME/d/f; chmod 0 $HOME/d/f $HOME/d")).ok
    assert (await sandboxed(workshop, "cat $HOME/d/f")).output.tail == "1"
    assert (await sandboxed(workshop, "cd /; rm -rf $HOME/* && sleep 0.5")).ok
    assert kept(workshop) == {}


@LEVELS
async def test_a_home_that_cannot_be_used_is_named(workshop: Workshop, level: str):
    await use(workshop, level)
    (workshop.folder / "scratch").write_text("")
    with pytest.raises(ConfigError, match="scratch"):
        await sandboxed(workshop, "true")


@LEVELS
async def test_files_folders_links_and_modes_are_kept_and_what_is_deleted_is_gone(workshop: Workshop, level: str):
    await use(workshop, level)
    first = "cd $HOME; mkdir -p a/b c; echo 1 > a/b/f; echo 2 > c/g; chmod 700 a/b/f; ln -s a/b/f link; echo 3 > was"
    assert (await sandboxed(workshop, first)).ok
    second = "cd $HOME; cat link; rm -r c; rm was; mkdir was; echo 4 > was/h; echo 5 >> a/b/f; touch -d @7 a/b/f"
    assert (await sandboxed(workshop, second)).output.tail == "1"
    assert kept(workshop) == {"a/b/f": 4, "link": 5, "was/h": 2}
    home = workshop.folder / "scratch" / "it"
    assert stat.S_IMODE((home / "a/b/f").stat().st_mode) == 0o700
    assert (home / "a/b/f").stat().st_mtime == 7
    assert not (home / "c").exists()


@LEVELS
async def test_a_run_that_fails_or_is_ended_keeps_what_it_wrote(workshop: Workshop, level: str):
    await use(workshop, level)
    assert not (await sandboxed(workshop, "echo 1 > $HOME/failed; exit 3")).ok
    workshop.write("it", "echo 1 > $HOME/cancelled; echo up; sleep 60")
    up = asyncio.Event()
    running = await workshop.skills.start("it", call(ExecutionMode.SANDBOXED), watch=lambda _: up.set())
    await up.wait()
    await workshop.runs.cancel(running.run.id, grace_s=0)
    await running.wait()
    assert kept(workshop) == {"failed": 2, "cancelled": 2}


@needs_bubblewrap
async def test_a_file_without_rights_is_kept_and_pipes_and_sockets_are_not(workshop: Workshop):
    script = "cd $HOME; echo 1 > closed; mkdir d; echo 2 > d/f; chmod 0 closed d; mkfifo pipe"
    assert (await sandboxed(workshop, script)).ok
    assert kept(workshop) == {"closed": 2, "d/f": 2}
    assert (await sandboxed(workshop, "cat $HOME/closed $HOME/d/f")).output.tail == "1\n2"


@needs_bubblewrap
async def test_two_runs_at_the_same_time_both_keep_their_files(workshop: Workshop):
    workshop.write("it", 'echo "$1" > "$HOME/$1"; echo up; sleep 60')
    runs = []
    for name in ("a", "b"):
        up = asyncio.Event()
        request = call(ExecutionMode.SANDBOXED, args=[name])
        runs.append(await workshop.skills.start("it", request, watch=lambda _, up=up: up.set()))
        await up.wait()
    for running in runs:
        await workshop.runs.cancel(running.run.id, grace_s=0)
        await running.wait()
    assert kept(workshop) == {"a": 2, "b": 2}


@needs_bubblewrap
async def test_what_several_runs_leave_together_stays_below_the_limit(workshop: Workshop):
    workshop.limits = SMALL
    workshop.write("it", 'head -c 1500000 /dev/zero > "$HOME/$1"; echo up; sleep 60')
    runs = []
    for name in ("a", "b"):
        up = asyncio.Event()
        request = call(ExecutionMode.SANDBOXED, args=[name])
        runs.append(await workshop.skills.start("it", request, watch=lambda _, up=up: up.set()))
        await up.wait()
    for running in runs:
        await workshop.runs.cancel(running.run.id, grace_s=0)
    ended = [await running.wait() for running in runs]
    assert sum(kept(workshop).values()) == 1_500_000
    assert sum("more than 2 MiB" in run.output.tail for run in ended) == 1


@needs_bubblewrap
async def test_nothing_of_a_link_is_written_to_where_it_leads(workshop: Workshop):
    outside = workshop.folder / "outside"
    outside.mkdir()
    home = workshop.folder / "scratch" / "it"
    home.mkdir(parents=True)
    (home / "way").symlink_to(outside)
    assert (await sandboxed(workshop, "cd $HOME; rm way; mkdir way; echo x > way/f; ln -s /etc/passwd read")).ok
    assert list(outside.iterdir()) == []
    assert str((home / "read").readlink()) == "/etc/passwd"
    assert kept(workshop)["way/f"] == 2


def test_a_home_that_is_not_attached_has_nothing_to_keep(tmp_path: Path):
    home = SkillHome(tmp_path / "it", ResourceLimits(), Level.BUBBLEWRAP)
    assert (home.excess(), home.settle()) == ("", "")
