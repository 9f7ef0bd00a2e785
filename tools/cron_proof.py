"""The proof that cron keeps its promises, at full size: `python -m tools.cron_proof [name …]`.

`oracle` compares 400 expressions in 12 zones over 2 years with instants found by brute force; `kills` kills the
scheduler 1,000 times; `burst` has 500 jobs due in one second; `idle` watches a scheduler with 10,000 jobs. Ends with 1
when a figure is not what it must be.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.features.cron.kills import survive_kills
from tests.features.cron.load import burst, idle
from tests.scheduling.oracle import ZONES, Period, expressions

from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.schedule import read_schedule

SEED = 20_261_122


def _oracle() -> bool:
    chosen = expressions(random.Random(SEED), 400)  # noqa: S311
    start, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
    wrong = compared = 0
    for zone in ZONES:
        period = Period(zone, start, end)
        # The days at both ends are not whole in every zone.
        first, last = start.timestamp() + 172_800, end.timestamp() - 172_800
        for expression in chosen:
            wanted = [instant for instant in period.instants(expression) if first < instant <= last]
            try:
                found = read_schedule(expression, zone, 0.0).newest(first, last, 10**7).found
            except ScheduleError:
                found = []
            compared += len(wanted)
            wrong += len(set(wanted) ^ set(found))
        print(f"oracle: {zone}: {compared:,} instants so far, {wrong} wrong", flush=True)
    return wrong == 0


def _kills() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(survive_kills(Path(folder), kills=1_000, jobs=25, chance=random.Random(SEED)))  # noqa: S311
    print(f"kills: {found}")
    return found.planned >= 10_000 and (found.lost, found.doubled, found.open, found.run_twice, found.untold) == (
        0,
        0,
        0,
        0,
        0,
    )


def _burst() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(burst(Path(folder), jobs=500))
    print(f"burst: {found}")
    return found.recorded_ms <= 250 and found.starts_per_s >= found.bare_starts_per_s / 2


def _idle() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(idle(Path(folder), jobs=10_000, seconds=60))
    print(f"idle: {found}")
    return found.core_share < 0.01 and found.more_mib < 40


PROOFS: dict[str, Callable[[], bool]] = {"oracle": _oracle, "kills": _kills, "burst": _burst, "idle": _idle}


def main(words: Sequence[str] | None = None) -> int:
    """Run the proofs and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.cron_proof", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of: {', '.join(PROOFS)}")
    names = parser.parse_args(words).names or list(PROOFS)
    if unknown := sorted(set(names) - set(PROOFS)):
        parser.error(f"there is no proof {unknown[0]}; there are: {', '.join(PROOFS)}")
    met = True
    for name in names:
        began = time.monotonic()
        kept = PROOFS[name]()
        met = met and kept
        print(f"{name}: {'met' if kept else 'NOT MET'} ({time.monotonic() - began:.0f} s)", flush=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
