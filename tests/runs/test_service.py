"""Runs: recorded before anything starts, ended for certain, cancelled from anywhere, found again after a crash."""

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.core.process.test_starting import alive, gone, pid_in
from tests.facts import mentions
from tests.runs.conftest import ENV, POLL_S, RUN_SCHEMAS, House, order, shell
from tests.waiting import LIMITS_S, PATIENCE_S
from tests.waiting import eventually as until

from tocsin.core.errors import ConfigError, StoreUnavailableError
from tocsin.core.ids import new_id
from tocsin.core.process.beats import SqliteBeats
from tocsin.core.process.identity import own_identity, read_identity
from tocsin.core.process.presence import BEAT_S, SILENCE_S, Presence
from tocsin.core.records.as_json import to_json
from tocsin.core.storage.database import Database
from tocsin.core.text.redaction import Redactor
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import (
    AT_WORK,
    TERMINAL,
    Command,
    HostResult,
    HostStatus,
    OutputDelivery,
    OutputDeliveryStatus,
    Run,
    RunResult,
    RunStatus,
    StepRun,
)
from tocsin.runs.recorder import RunHandle, command
from tocsin.runs.service import Runs
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.runs.stored_run import RunEndedError, UnknownRunError
from tocsin.testing.fakes import FakeClock

DEAD = own_identity().replace(":", "1:", 1)  # a number that no process has now


async def texts(runs: Runs, run: Run) -> list[str]:
    return [line.text for line in (await runs.log(run.id)).lines]


# --- how runs end


async def test_a_command_that_ends_well_succeeded(runs: Runs):
    run = await runs.execute(order(), shell("echo out; echo err >&2"))
    assert (run.status, run.exit_code, run.reason, run.error) == (RunStatus.SUCCEEDED, 0, None, None)
    assert (run.output.lines, run.output.bytes) == (2, 8)
    assert {(line.stream, line.text) for line in (await runs.log(run.id)).lines} == {
        ("stdout", "out"),
        ("stderr", "err"),
    }


async def test_a_command_that_fails_says_its_exit_code(runs: Runs):
    run = await runs.execute(order(), shell("exit 3"))
    assert (run.status, run.exit_code, "code 3" in run.reason) == (RunStatus.FAILED, 3, True)
    assert run.error == {"code": "exit-code", "message": run.reason}


async def test_a_command_that_a_signal_ends_says_which(runs: Runs):
    run = await runs.execute(order(), shell("kill -SEGV $$"))
    assert (run.status, run.exit_code, run.signal) == (RunStatus.FAILED, None, "SIGSEGV")


async def test_a_command_that_is_not_there_failed_with_a_sentence(runs: Runs):
    run = await runs.execute(order(), command(Command(("/no/such",), ENV)))
    assert (run.status, run.error and run.error["code"]) == (RunStatus.FAILED, "process-failed")
    assert "/no/such" in (run.reason or "")


async def test_a_command_that_takes_too_long_timed_out_even_if_it_ignores_being_asked(runs: Runs, tmp_path: Path):
    below = tmp_path / "below"
    script = f"trap '' TERM; sleep 60 & echo $! > {below}; wait; sleep 60"
    for timeout_s in LIMITS_S:
        run = await runs.execute(order(), shell(script, timeout_s=timeout_s))
        assert (run.status, mentions(run.reason, f"{timeout_s:g}")) == (RunStatus.TIMED_OUT, True)
        if below.exists() and below.read_text():
            break
    assert run.signal == "SIGKILL"
    assert await gone(await pid_in(below))


async def test_a_command_that_is_out_of_time_can_put_things_away(runs: Runs):
    script = "trap 'echo tidy; exit 1' TERM; echo up; while :; do sleep 0.01; done 2>/dev/null"
    for timeout_s in LIMITS_S:
        run = await runs.execute(order(), shell(script, timeout_s=timeout_s))
        if run.output.tail:
            break
    assert (run.status, run.output.tail) == (RunStatus.TIMED_OUT, "up\ntidy")


async def test_output_without_end_is_thrown_away_until_the_time_is_up(runs: Runs, house: House):
    for timeout_s in LIMITS_S:
        run = await runs.execute(order(log_max_bytes=64 * 1024), shell("yes", timeout_s=timeout_s))
        if run.output.truncated:
            break
    assert (run.status, run.output.truncated) == (RunStatus.TIMED_OUT, True)
    (log,) = house.folder.glob(f"runs/*/*{run.id}*.log")
    assert log.stat().st_size < 80 * 1024 < run.output.bytes


async def test_input_and_folder_reach_the_command(runs: Runs, tmp_path: Path):
    run = await runs.execute(order(), shell("pwd; cat", cwd=tmp_path, stdin="typed"))
    assert run.output.tail == f"{tmp_path}\ntyped"


async def test_too_many_processes_end_a_command(runs: Runs):
    # A bomb that stops growing at 64, in case that nothing stops it.
    bomb = "for i in 1 2 3 4 5 6 7 8; do for j in 1 2 3 4 5 6 7 8; do sleep 60 & done; done; wait"
    run = await runs.execute(order(), shell(bomb, timeout_s=PATIENCE_S, max_processes=16))
    assert (run.status, "16 processes" in run.reason) == (RunStatus.FAILED, True)
    assert (run.error or {})["code"] == "limit-exceeded"


async def test_too_much_memory_of_all_processes_together_ends_a_command(runs: Runs):
    eat = f"{sys.executable} -c 'b = bytearray(b\"x\") * 40_000_000; print(1, flush=True); import time; time.sleep(60)'"
    run = await runs.execute(order(), shell(f"{eat} & {eat} & wait", timeout_s=PATIENCE_S, max_memory_bytes=70_000_000))
    assert (run.status, "66 MiB" in run.reason) == (RunStatus.FAILED, True)


async def test_other_work_writes_what_it_does(runs: Runs):
    async def work(recorder: RunHandle) -> RunResult:
        recorder.write("answer", "two\nlines \udcff")
        return RunResult(RunStatus.PARTIALLY_SUCCEEDED, "half of it")

    run = await runs.execute(order(), work)
    assert (run.status, run.reason) == (RunStatus.PARTIALLY_SUCCEEDED, "half of it")
    assert [(line.stream, line.text) for line in (await runs.log(run.id)).lines] == [
        ("answer", "two"),
        ("answer", "lines ?"),
    ]


async def test_an_error_of_the_work_is_the_reason(runs: Runs):
    async def work(_: RunHandle) -> RunResult:
        raise ConfigError("no model", hint="set one")

    run = await runs.execute(order(), work)
    assert (run.status, run.error) == (RunStatus.FAILED, {"code": "invalid-config", "message": "no model: set one"})


async def test_a_bug_of_the_work_is_a_failed_run_and_an_entry_in_the_log(runs: Runs, caplog: pytest.LogCaptureFixture):
    async def work(_: RunHandle) -> RunResult:
        raise KeyError("internals")

    run = await runs.execute(order(), work)
    assert (run.status, (run.error or {})["code"]) == (RunStatus.FAILED, "internal-error")
    assert "internals" not in json.dumps(to_json(run))
    assert caplog.records[0].exc_info is not None


async def test_secrets_are_masked_in_log_reason_and_error(house: House):
    runs = house.process(redact=Redactor(["correct-horse"]))

    async def work(recorder: RunHandle) -> RunResult:
        recorder.write("stdout", "say correct-horse\n")
        raise ConfigError("correct-horse is wrong")

    run = await runs.execute(order(), work)
    assert "correct-horse" not in json.dumps(to_json(run)) + str(await texts(runs, run))
    assert "[secret]" in (run.reason or "")


# --- the record


async def test_a_run_is_recorded_as_running_before_its_work_begins(house: House, runs: Runs):
    seen: list[str] = []

    async def work(recorder: RunHandle) -> RunResult:
        with closing(sqlite3.connect(house.folder / "tocsin.db")) as other, other:
            seen.extend(other.execute("SELECT status FROM runs WHERE id = ?", [recorder.run_id]).fetchone())
        return RunResult(RunStatus.SUCCEEDED)

    await runs.execute(order(), work)
    assert seen == ["running"]


async def test_nothing_starts_when_the_run_cannot_be_recorded(tmp_path: Path):
    database = Database(tmp_path / "tocsin.db", RUN_SCHEMAS)
    await database.aclose()
    runs = Runs(
        sqlite_runs(database),
        tmp_path / "runs",
        FakeClock(),
        Presence(SqliteBeats(database), FakeClock(), "me"),
    )
    with pytest.raises(StoreUnavailableError):
        await runs.execute(order(), shell(f"touch {tmp_path}/started"))
    assert not (tmp_path / "started").exists()


async def test_an_end_that_cannot_be_recorded_is_told_and_put_right_at_the_next_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    database = Database(tmp_path / "tocsin.db", RUN_SCHEMAS)
    presence = Presence(SqliteBeats(database), FakeClock(), DEAD)
    runs = Runs(sqlite_runs(database), tmp_path / "runs", FakeClock(), presence, poll_s=0.001)

    async def work(_: RunHandle) -> RunResult:
        await database.aclose()
        return RunResult(RunStatus.SUCCEEDED)

    run = await runs.execute(order(), work)
    assert run.status is RunStatus.SUCCEEDED
    assert ["recording" in record.message for record in caplog.records] == [True]
    database = Database(tmp_path / "tocsin.db", RUN_SCHEMAS)
    again = Runs(
        sqlite_runs(database),
        tmp_path / "runs",
        FakeClock(),
        Presence(SqliteBeats(database), FakeClock()),
    )
    assert [found.status for found in await again.recover()] == [RunStatus.INTERRUPTED]
    await database.aclose()


async def test_a_run_that_never_starts_is_recorded_with_its_reason(runs: Runs):
    run = await runs.record(order(), RunResult(RunStatus.SKIPPED, "the last one still runs"))
    assert await runs.get(run.id) == run
    assert (run.status, "still" in run.reason, run.started_at) == (RunStatus.SKIPPED, True, None)
    assert run.finished_at == run.queued_at


async def test_a_run_at_work_can_be_watched_and_waited_for(house: House, runs: Runs, tmp_path: Path):
    go = tmp_path / "go"
    lines: list[str] = []
    running = await runs.start(
        order(),
        shell(f"echo one; while ! [ -e {go} ]; do sleep 0.01; done; echo two"),
        watch=lambda line: lines.append(line.text),
    )
    assert (await runs.get(running.run.id)).status is RunStatus.RUNNING
    await until(lambda: lines)
    page = await house.process().log(running.run.id)
    assert ([line.text for line in page.lines], page.complete) == (["one"], False)
    go.touch()
    run = await running.wait()
    assert (run.status, lines) == (RunStatus.SUCCEEDED, ["one", "two"])


async def test_giving_up_waiting_leaves_a_started_run_at_work(runs: Runs, tmp_path: Path):
    running = await runs.start(order(), shell(f"while ! [ -e {tmp_path}/go ]; do sleep 0.01; done"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await running.wait()
    (tmp_path / "go").touch()
    assert (await running.wait()).ok


async def test_the_log_of_an_unknown_run_is_a_sentence(runs: Runs):
    with pytest.raises(UnknownRunError):
        await runs.log("nope")


async def test_the_text_of_a_run_is_its_output_mixed_and_cut(runs: Runs):
    run = await runs.execute(order(), shell("echo one; echo two >&2; echo three"))
    assert len(await runs.text(run.id, 6)) == 6
    assert sorted((await runs.text(run.id, 4000)).split("\n")) == ["one", "three", "two"]


# --- cancelling


async def cancel_when_up(runs: Runs, running: ActiveRun, lines: list[str], canceller: Runs | None = None) -> Run:
    await until(lambda: lines)
    cancelling = await (canceller or runs).cancel(running.run.id, "no more need", grace_s=30)
    assert cancelling.status is RunStatus.CANCELLING
    return await running.wait()


async def test_a_cancelled_command_is_asked_to_end(runs: Runs):
    lines: list[str] = []
    script = "trap 'echo tidy; exit 0' TERM; echo up; while :; do sleep 0.01; done 2>/dev/null"
    running = await runs.start(order(), shell(script), watch=lambda line: lines.append(line.text))
    run = await cancel_when_up(runs, running, lines)
    assert (run.status, run.reason, run.output.tail) == (RunStatus.CANCELLED, "no more need", "up\ntidy")


async def test_a_cancelled_command_that_ignores_it_is_killed_after_its_grace(runs: Runs, tmp_path: Path):
    below = tmp_path / "below"
    running = await runs.start(order(), shell(f"trap '' TERM; sleep 60 & echo $! > {below}; wait; sleep 60"))
    pid = await pid_in(below)
    await runs.cancel(running.run.id, grace_s=0.05)
    run = await running.wait()
    assert (run.status, run.signal, "cancelled" in run.reason) == (RunStatus.CANCELLED, "SIGKILL", True)
    assert await gone(pid)


async def test_a_run_is_cancelled_from_another_process(house: House, runs: Runs):
    lines: list[str] = []
    running = await runs.start(order(), shell("echo up; sleep 60"), watch=lambda line: lines.append(line.text))
    assert (await cancel_when_up(runs, running, lines, house.process())).status is RunStatus.CANCELLED


async def test_cancelling_work_that_is_no_command_ends_it_at_once(runs: Runs):
    begun = asyncio.Event()

    async def work(_: RunHandle) -> RunResult:
        begun.set()
        await asyncio.sleep(60)
        return RunResult(RunStatus.SUCCEEDED)

    running = await runs.start(order(), work)
    await begun.wait()
    await runs.cancel(running.run.id)
    assert (await running.wait()).status is RunStatus.CANCELLED


async def test_a_run_that_has_ended_cannot_be_cancelled(runs: Runs):
    run = await runs.execute(order(), shell("true"))
    with pytest.raises(RunEndedError):
        await runs.cancel(run.id)


# --- the program ends, well or badly


async def test_cancelling_whoever_waits_ends_the_command_and_records_that(house: House, runs: Runs, tmp_path: Path):
    leader = tmp_path / "leader"
    task = asyncio.create_task(runs.execute(order(), shell(f"echo $$ > {leader}; sleep 60")))
    pid = await pid_in(leader)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not alive(pid)
    (run,) = (await runs.search()).items
    assert run.status is RunStatus.INTERRUPTED


@pytest.mark.parametrize("moment", range(12))
async def test_cancelling_whoever_starts_a_run_at_any_moment_leaves_no_run_without_an_end(runs: Runs, moment: int):
    task = asyncio.create_task(runs.execute(order(), shell("sleep 60")))
    for _ in range(moment):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(run.status in TERMINAL for run in (await runs.search()).items)


async def test_closing_ends_everything_that_is_at_work(house: House, tmp_path: Path):
    runs = house.process()
    leaders = [tmp_path / name for name in ("a", "b")]
    for leader in leaders:
        await runs.start(order(), shell(f"trap '' TERM; echo $$ > {leader}; sleep 60; sleep 60"))
    pids = [await pid_in(leader) for leader in leaders]
    await runs.aclose()
    assert [alive(pid) for pid in pids] == [False, False]
    assert {run.status for run in (await runs.search()).items} == {RunStatus.INTERRUPTED}


OWNER = """
import asyncio, sys
from pathlib import Path
from tests.runs.conftest import RUN_SCHEMAS, order, shell
from tocsin.core.time.clock import SystemClock
from tocsin.core.storage.database import Database
from tocsin.core.process.beats import SqliteBeats
from tocsin.core.process.presence import Presence
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.runs.service import Runs

async def main():
    folder = Path(sys.argv[1])
    database = Database(folder / "tocsin.db", RUN_SCHEMAS)
    runs = Runs(sqlite_runs(database), folder / "runs", SystemClock(), Presence(SqliteBeats(database), SystemClock()))
    await runs.execute(order(), shell(f"echo up; echo $$ > {folder}/leader; sleep 60; sleep 60"))

asyncio.run(main())
"""


@pytest.fixture
async def killed(house: House) -> int:
    """Return the child that a run left at work when its program was killed."""
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(house.folder)], cwd=Path(__file__).parents[2])
    leader = await pid_in(house.folder / "leader")
    await until_child_is_recorded(house)
    await until(lambda: any("up" in log.read_text() for log in (house.folder / "runs").rglob("*.log")))
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    return leader


async def test_a_run_whose_program_was_killed_is_interrupted_and_what_it_started_is_ended(
    house: House, runs: Runs, killed: int
):
    (run,) = await runs.recover()
    assert await gone(killed)
    assert (run.status, mentions(run.reason, run.id)) == (RunStatus.INTERRUPTED, True)
    assert (run.output.tail, await texts(runs, run)) == ("up", ["up"])
    assert await runs.recover() == []


async def test_a_run_that_was_being_cancelled_when_its_program_died_is_cancelled(house: House, runs: Runs, killed: int):
    (run,) = (await runs.search()).items
    await house.store.request_cancel(run.id, "enough", 10.0, house.clock.now())
    assert [(r.status, r.reason) for r in await runs.recover()] == [(RunStatus.CANCELLED, "enough")]
    assert await gone(killed)


async def test_cancelling_a_run_whose_program_has_died_ends_it_and_what_it_left_at_once(
    house: House, runs: Runs, killed: int
):
    (run,) = (await runs.search()).items
    ended = await runs.cancel(run.id, "enough")
    assert (ended.status, ended.reason) == (RunStatus.CANCELLED, "enough")
    assert await gone(killed)


async def test_a_run_of_a_living_process_is_left_alone(house: House, runs: Runs):
    other = house.process()
    running = await other.start(order(), shell("sleep 60"))
    assert await runs.recover() == []
    assert (await runs.get(running.run.id)).status is RunStatus.RUNNING


@pytest.mark.parametrize("owner", ["unknown", DEAD.rpartition(":")[0] + ":another-host"], ids=["unknown", "elsewhere"])
async def test_where_the_owners_death_is_not_proved_nothing_is_changed(house: House, runs: Runs, owner: str):
    running = await house.process(owner).start(order(), shell("sleep 60"))
    assert await runs.recover() == []
    assert (await runs.get(running.run.id)).status is RunStatus.RUNNING


ELSEWHERE = own_identity().rpartition(":")[0] + ":another-host"


async def left_by(house: House, owner: str) -> Run:
    """Record a run of a process that is not heard of again."""
    run = await house.process(owner).record(order(), RunResult(RunStatus.SKIPPED))
    at_work = replace(run, id=new_id(), status=RunStatus.RUNNING, started_at=run.queued_at, finished_at=None)
    await house.store.add(at_work, owner)
    return at_work


async def test_a_run_is_interrupted_when_its_process_on_another_host_was_silent_for_a_minute(house: House, runs: Runs):
    run = await left_by(house, ELSEWHERE)
    assert await runs.recover() == []
    house.clock.advance(SILENCE_S - 1)
    assert await runs.recover() == []
    house.clock.advance(1)
    (ended,) = await runs.recover()
    assert (ended.id, ended.status) == (run.id, RunStatus.INTERRUPTED)
    assert "60 seconds" in ended.reason
    assert await runs.recover() == []


async def test_a_run_goes_on_while_its_process_on_another_host_shows_that_it_lives(house: House, runs: Runs):
    other = house.process(ELSEWHERE)
    running = await other.start(order(), shell("sleep 60"))
    for _ in range(12):
        beats = await house.beats()
        house.clock.advance(BEAT_S)
        await eventually_differs(house, beats)
        assert await runs.recover() == []
    assert (await runs.get(running.run.id)).status is RunStatus.RUNNING


class BeatsWithABug(SqliteBeats):
    """Signs of life of which the second ends in a way that nobody foresaw."""

    calls = 0

    async def add(self, identity: str) -> None:
        self.calls += 1
        if self.calls == 2:
            raise ValueError("nobody foresaw this")
        await super().add(identity)


async def test_a_process_that_met_a_bug_goes_on_showing_that_it_lives(house: House, caplog: pytest.LogCaptureFixture):
    beats = BeatsWithABug(house.database)
    presence = Presence(beats, house.clock, ELSEWHERE)
    other = Runs(house.store, house.folder / "runs", house.clock, presence, poll_s=POLL_S)
    await other.start(order(), shell("sleep 60"))
    for calls in range(1, 5):
        await until(lambda least=calls: beats.calls >= least)
        house.clock.advance(BEAT_S)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    await other.aclose()


async def eventually_differs(house: House, beats: dict[str, int]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            if await house.beats() != beats:
                return
            await asyncio.sleep(0.001)


async def test_a_process_without_a_run_at_work_writes_no_sign_of_life(house: House, runs: Runs):
    await runs.execute(order(), shell("true"))
    beats = await house.beats()
    house.clock.advance(10 * BEAT_S)
    await runs.recover()
    assert await house.beats() == beats


async def test_a_run_of_a_process_that_is_stalled_here_and_alive_stays(house: House, runs: Runs):
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(house.folder)], cwd=Path(__file__).parents[2])
    try:
        leader = await pid_in(house.folder / "leader")
        await until_child_is_recorded(house)
        owner.send_signal(signal.SIGSTOP)
        for _ in range(20):
            assert await runs.recover() == []
            house.clock.advance(SILENCE_S / 2)
        assert alive(leader)
    finally:
        owner.kill()
        owner.wait()
    assert [run.status for run in await runs.recover()] == [RunStatus.INTERRUPTED]


async def test_the_runs_of_one_process_are_ended_and_those_of_others_stay(house: House, runs: Runs):
    ended, other = await left_by(house, ELSEWHERE), await left_by(house, ELSEWHERE + "-2")
    assert [run.id for run in await runs.interrupt_runs_of(ELSEWHERE)] == [ended.id]
    assert (await runs.get(other.id)).status is RunStatus.RUNNING


async def test_a_process_that_has_the_number_of_a_dead_child_is_not_killed(house: House, runs: Runs):
    bystander = subprocess.Popen(["sleep", "60"], start_new_session=True)
    other = house.process(DEAD)
    running = await other.start(order(), shell("sleep 60"))
    await until_child_is_recorded(house)
    pid, started, rest = read_identity(bystander.pid).split(":", 2)
    await house.store.set_child(running.run.id, f"{pid}:{int(started) - 1}:{rest}")
    assert [run.status for run in await runs.recover()] == [RunStatus.INTERRUPTED]
    assert bystander.poll() is None
    bystander.kill()
    bystander.wait()


# --- forgetting


async def test_old_runs_are_forgotten_with_their_logs_and_runs_at_work_are_not(house: House, runs: Runs):
    old = await runs.execute(order(), shell("echo old"))
    working = await runs.start(order(), shell("echo up; sleep 60"))
    house.clock.advance(31 * 86400)
    new = await runs.execute(order(), shell("echo new"))
    assert await runs.prune() == 1
    assert {run.id for run in (await runs.search()).items} == {working.run.id, new.id}
    assert old.id not in {path.stem for path in house.folder.glob("runs/*/*.log")}


async def test_of_each_subject_only_the_newest_are_kept(house: House, runs: Runs):
    kept = {
        subject: [(await runs.record(order(subject), RunResult(RunStatus.SKIPPED))).id for _ in range(4)]
        for subject in ("a", "b")
    }
    assert await runs.prune(keep=3) == 2
    left = {run.id for run in (await runs.search()).items}
    assert left == {run_id for ids in kept.values() for run_id in sorted(ids)[1:]}


async def test_failed_runs_are_kept_apart_from_the_others(runs: Runs):
    failed = [(await runs.record(order("a"), RunResult(RunStatus.FAILED))).id for _ in range(4)]
    for _ in range(5):
        await runs.record(order("a"), RunResult(RunStatus.SKIPPED))
    assert await runs.prune(keep=2, keep_failed=3) == 4
    left = [run.id for run in (await runs.search()).items if run.status is RunStatus.FAILED]
    assert sorted(left) == sorted(failed)[1:]
    assert await runs.prune(keep=4, keep_failed=1) == 0, "at least as many as of all others"


async def test_what_the_newest_run_of_a_subject_says_about_history_counts(house: House, runs: Runs):
    for limits in ({}, {}, {"history_limit": 2, "history_days": 90}):
        await runs.record(order("strict", **limits), RunResult(RunStatus.SKIPPED))
        await runs.record(order("usual"), RunResult(RunStatus.SKIPPED))
    assert await runs.prune() == 1
    house.clock.advance(40 * 86400)
    assert await runs.prune() == 3
    assert {run.subject_id for run in (await runs.search()).items} == {"strict"}


async def test_a_run_whose_message_is_under_way_is_kept_with_its_steps_and_then_goes_with_them(
    house: House, runs: Runs
):
    async def work(handle: RunHandle) -> RunResult:
        await handle.save_steps(StepRun("dump", "shell", RunStatus.SUCCEEDED))
        await handle.save_hosts(HostResult("web1", HostStatus.SUCCEEDED))
        return RunResult(RunStatus.SUCCEEDED)

    run = await runs.execute(order(), work)
    assert ([step.name for step in run.steps], [host.host for host in run.hosts]) == (["dump"], ["web1"])
    pending = OutputDelivery(OutputDeliveryStatus.PENDING, queued=("d1",))
    assert (await runs.set_delivery(run.id, pending)).status is RunStatus.SUCCEEDED
    house.clock.advance(31 * 86400)
    assert await runs.prune() == 0
    await runs.set_delivery(run.id, OutputDelivery(OutputDeliveryStatus.DELIVERED))
    assert await runs.prune() == 1
    count = "SELECT (SELECT COUNT(*) FROM run_parts) + (SELECT COUNT(*) FROM run_waits)"
    assert await house.database.read(lambda c: c.execute(count).fetchone()[0]) == 0


async def test_steps_that_a_run_leaves_unfinished_end_as_it_does(runs: Runs):
    async def work(handle: RunHandle) -> RunResult:
        steps = (StepRun("a", "shell", RunStatus.RUNNING), StepRun("b", "shell"))
        hosts = (HostResult("web1", HostStatus.RUNNING), HostResult("web2"))
        await handle.save_steps(*steps)
        await handle.save_hosts(*hosts)
        return RunResult(RunStatus.TIMED_OUT, "too long")

    run = await runs.execute(order(), work)
    assert [step.status for step in run.steps] == [RunStatus.TIMED_OUT, RunStatus.SKIPPED]
    assert [host.status for host in run.hosts] == [HostStatus.TIMED_OUT, HostStatus.SKIPPED]


async def test_the_folder_of_a_month_without_logs_goes_as_well(house: House, runs: Runs):
    await runs.execute(order(), shell("echo"))
    house.clock.advance(31 * 86400)
    await runs.prune()
    assert list((house.folder / "runs").iterdir()) == []


# --- the document


async def test_a_document_has_every_field_of_the_interface(runs: Runs, house: House):
    run = await runs.execute(
        order(scheduled_for=house.clock.now() - 1.5, params={"mode": "x"}), shell("echo hi; exit 3")
    )
    document = to_json(run)
    assert document == json.loads(json.dumps(document))
    assert document["queued_at"] == "2023-11-14T22:13:20.000Z"
    assert (document["delay_ms"], document["exit_code"], document["actor"]) == (1500, 3, "tester")
    assert document["output"] == {"bytes": 3, "lines": 1, "truncated": False, "tail": "hi"}
    assert document["delivery"] == {"status": "none", "results": []}
    assert set(document) == {
        *(
            "id",
            "kind",
            "subject_id",
            "subject_name",
            "trigger",
            "actor",
            "status",
            "reason",
            "attempt",
            "max_attempts",
        ),
        *("retry_of", "parent_run_id", "scheduled_for", "queued_at", "started_at", "finished_at", "duration_ms"),
        *("delay_ms", "exit_code", "signal", "dry_run", "params", "env_keys", "output", "delivery", "steps", "hosts"),
        "error",
    }
    assert to_json(await runs.log(run.id))["lines"] == [
        {"n": 1, "ts": "2023-11-14T22:13:20.000Z", "stream": "stdout", "text": "hi"}
    ]


async def test_runs_are_found_by_kind_and_subject(runs: Runs):
    mine = await runs.record(order("mine"), RunResult(RunStatus.MISSED))
    await runs.record(order("other"), RunResult(RunStatus.MISSED))
    assert (await runs.search("skill", "mine", [RunStatus.MISSED])).items == (mine,)
    assert await runs.count_recent("skill", "mine", 0) == 1


async def until_child_is_recorded(house: House) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not any(orphan.child for orphan in await house.store.records.active(AT_WORK)):  # noqa: ASYNC110  # likewise
            await asyncio.sleep(0.005)
