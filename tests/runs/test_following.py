"""A log is followed while it is written, and its lines are plain text unless colours are asked for."""

import subprocess
import sys
from pathlib import Path

from tests.runs.conftest import House, order, shell

from tocsin.core.text.visible import coloured, without_sequences
from tocsin.runs.log_file import LogFollower
from tocsin.runs.model import Run, RunStatus
from tocsin.runs.output_log import OutputLog
from tocsin.runs.service import Runs
from tocsin.testing.fakes import FakeClock

KIB = 1024


async def test_a_follower_in_another_process_sees_every_line_and_ends_with_the_run(
    house: House, runs: Runs, tmp_path: Path
):
    go = tmp_path / "go"
    running = await runs.start(order(), shell(f"echo one; while ! [ -e {go} ]; do sleep 0.01; done; seq 2 500"))
    seen: list[str] = []
    async for line in house.process().follow(running.run.id):
        if not seen:
            assert (await runs.get(running.run.id)).status is RunStatus.RUNNING
            go.touch()
        seen.append(line.text)
    assert seen == ["one", *map(str, range(2, 501))]
    assert (await running.wait()).ok


def test_a_follower_sees_each_line_once_also_where_the_end_of_the_file_is_replaced(tmp_path: Path):
    path = tmp_path / "run.log"
    clock = FakeClock()
    log, follower = OutputLog(path, 16 * KIB, clock, str), LogFollower(path)
    seen: list[int] = []
    for n in range(1, 2001):
        log.feed("stdout", b"line %d\n" % n)
        if n % 5 == 0:
            clock.advance(3)
            log.refresh()
            seen += [line.n for line in follower.read() if line.stream == "stdout"]
    log.close()
    seen += [line.n for line in follower.read() if line.stream == "stdout"]
    follower.close()
    assert seen == list(range(1, 2001))


def test_a_follower_waits_for_a_log_that_is_not_there_yet(tmp_path: Path):
    follower = LogFollower(tmp_path / "run.log")
    assert follower.read() == []
    log = OutputLog(tmp_path / "run.log", KIB, FakeClock(), str)
    log.feed("stdout", b"one\n")
    assert [line.text for line in follower.read()] == ["one"]
    follower.close()


COLOURED = "\x1b[1;32mok\x1b[0m \x1b]8;;https://example.org\x1b\\link\x1b]8;;\x07 \x1b[2K\x1b(Bend"


async def run_with_colours(runs: Runs, tmp_path: Path) -> Run:
    (tmp_path / "text").write_text(f"{COLOURED}\n")
    return await runs.execute(order(), shell(f"cat {tmp_path}/text"))


async def test_colours_stay_in_the_file_and_are_read_when_asked_for(runs: Runs, tmp_path: Path):
    run = await run_with_colours(runs, tmp_path)
    assert [line.text for line in (await runs.log(run.id)).lines] == ["ok link end"]
    assert [line.text for line in (await runs.log(run.id, ansi=True)).lines] == [COLOURED]
    assert (run.output.tail, await runs.text(run.id, 100)) == ("ok link end", "ok link end")


def test_of_escape_sequences_only_colours_reach_a_terminal():
    assert without_sequences(COLOURED) == "ok link end"
    assert coloured(COLOURED) == "\x1b[1;32mok\x1b[0m link end\x1b[0m"
    assert coloured("plain \x07") == "plain \\u0007"
    assert without_sequences("\x1b[") == "\x1b["


async def test_the_last_lines_of_a_log_are_read_alone(runs: Runs):
    run = await runs.execute(order(), shell("seq 2500; echo bad >&2"))
    page = await runs.log(run.id, stream="stdout", tail=3)
    assert ([line.text for line in page.lines], page.next_line, page.complete) == (["2498", "2499", "2500"], 2502, True)


OWNER = """
import asyncio, resource, sys
from pathlib import Path
from tests.runs.conftest import RUN_SCHEMAS, order, shell
from tocsin.core.process.beats import SqliteBeats
from tocsin.core.process.presence import Presence
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import SystemClock
from tocsin.runs.service import Runs
from tocsin.runs.sqlite.records import sqlite_runs

async def main():
    folder = Path(sys.argv[1])
    database = Database(folder / "tocsin.db", RUN_SCHEMAS)
    runs = Runs(sqlite_runs(database), folder / "runs", SystemClock(), Presence(SqliteBeats(database), SystemClock()))
    for size in (sys.argv[2], sys.argv[3]):
        run = await runs.execute(order(), shell(f"yes 'a line of output' | head -c {size}"))
        print(run.output.bytes, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)
    await runs.aclose()
    await database.aclose()

asyncio.run(main())
"""


def test_much_output_takes_no_more_memory_than_a_little(tmp_path: Path):
    """The full size is 1 GB: `benchmarks/run.py runs`."""
    done = subprocess.run(
        [sys.executable, "-c", OWNER, str(tmp_path), "4000000", "40000000"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    (few, before), (many, after) = (map(int, line.split()) for line in done.stdout.splitlines())
    assert (few, many) == (4_000_000, 40_000_000)
    kib = 1 if sys.platform == "linux" else 1024
    assert (after - before) / kib < 20 * 1024
