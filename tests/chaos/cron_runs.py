"""What schedules must show: right instants, none lost in kills, mistakes found, messages that outlast an outage."""

import asyncio
import os
import random
import statistics
import subprocess
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.chaos.figures import Figure
from tests.chaos.processes import TOCSIN
from tests.features.cron.kills import survive_kills
from tests.features.cron.night import failing_night
from tests.features.workflows.mistakes import MISTAKES
from tests.features.workflows.test_mistakes import read
from tests.scheduling.oracle import ZONES, Period, around, clock_changes, expressions

from tocsin.runs.model import OutputDeliveryStatus, RunStatus
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.schedule import read_schedule

SEED = 20_261_122
_YEARS = datetime(2026, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
_EDGE_S = 172_800.0  # the days at both ends of a period are not whole in every zone
FIVE_HUNDRED_LINES = "name: nightly\nsteps:\n" + "".join(
    f"  - name: s{n}\n    command: echo $RUN_ID {n}\n    timeout: {n + 1}s\n" for n in range(166)
)


def compare_with_the_oracle(count: int) -> list[Figure]:
    """Compare expressions with instants found by brute force: over 2 years, and at clock changes of the next ten."""
    chance = random.Random(SEED)
    chosen = expressions(chance, count)
    years = [_compared(zone, *_YEARS, chosen) for zone in ZONES]
    days = [(zone, around(*day, 4)) for zone in ZONES for day in clock_changes(zone, 2026, 10)]
    changes = [_compared(zone, *period, expressions(chance, count // 16)) for zone, period in days]
    return [
        Figure(f"instants of {count} expressions in {len(ZONES)} zones over 2 years", sum(n for n, _ in years)),
        Figure("… other than the oracle's", sum(wrong for _, wrong in years), "=", 0),
        Figure(f"instants around the {len(days)} clock changes of ten years", sum(n for n, _ in changes)),
        Figure("… other than the oracle's", sum(wrong for _, wrong in changes), "=", 0),
    ]


def _compared(zone: str, start: datetime, end: datetime, chosen: Sequence[str]) -> tuple[int, int]:
    """Return how many instants there are, and on how many the two disagree."""
    period, compared, wrong = Period(zone, start, end), 0, 0
    first, last = start.timestamp() + _EDGE_S, end.timestamp() - _EDGE_S
    for expression in chosen:
        wanted = {instant for instant in period.instants(expression) if first < instant <= last}
        try:
            found = read_schedule(expression, zone, 0.0).newest(first, last, 10**7).found
        except ScheduleError:
            found = []
        compared += len(wanted)
        wrong += len(wanted ^ set(found))
    return compared, wrong


def kill_schedulers(place: Path, kills: int, jobs: int) -> list[Figure]:
    """Kill the scheduler of jobs that are due each second, at any moment."""
    found = asyncio.run(survive_kills(place, kills, jobs, random.Random(SEED)))
    return [
        Figure("kills of the scheduler", found.kills),
        Figure("… instants planned", found.planned, "≥", 10 * kills),
        Figure("… lost", found.lost, "=", 0),
        Figure("… with two records", found.doubled, "=", 0),
        Figure("… whose record has not ended", found.open, "=", 0),
        Figure("… run twice", found.run_twice, "=", 0),
        Figure("… recorded as run, and not run", found.untold, "=", 0),
        Figure("… interrupted by a kill", found.interrupted),
    ]


def fail_at_night(place: Path) -> list[Figure]:
    """A job fails at 03:00 while the chat product cannot be reached."""
    night = asyncio.run(failing_night(place))
    shows = (night.after.status, night.after.delivery.status) == (RunStatus.FAILED, OutputDeliveryStatus.DELIVERED)
    return [
        Figure("attempts to tell of a failed job during an outage", night.refused, "≥", 1),
        Figure("… messages that arrived after it", len(night.accepted), "=", 1),
        Figure("… runs that show the failure and the delivery", int(shows), "=", 1),
    ]


def find_mistakes(_: Path) -> list[Figure]:
    """Seeded mistakes in workflow files: line, code and suggestion."""
    found = [
        (each.line, each.code, each.near) in [(one.line, one.code, one.suggestion) for one in read(each.text).problems]
        for each in MISTAKES
    ]
    return [Figure(f"of {len(MISTAKES)} mistakes in workflow files, told rightly", sum(found), "=", len(MISTAKES))]


def validate_workflow(place: Path, rounds: int) -> list[Figure]:
    """`tocsin workflows validate` of 500 lines from start to exit, beside a command that reads no file."""
    (place / "workflows").mkdir()
    (place / "workflows/nightly.yaml").write_text(FIVE_HUNDRED_LINES)
    env = {"PATH": os.environ["PATH"], "TOCSIN_DATA_DIR": str(place), "REDIS_URL": "off"}
    times: dict[str, list[float]] = {"--version": [], "workflows validate": []}
    for _ in range(rounds):
        for command, into in times.items():
            began = time.perf_counter()
            subprocess.run([TOCSIN, *command.split()], env=env, capture_output=True, check=True)
            into.append(1000 * (time.perf_counter() - began))
    least, whole = (statistics.median(each) for each in times.values())
    return [
        Figure("`tocsin workflows validate`, 500 lines, start to exit", whole, unit="ms"),
        Figure("… more than `tocsin --version`", whole - least, unit="ms"),
    ]
