"""The proof that no kill separates a task job from its branch: `python -m tools.jobs_proof [kills]`.

Kills a process with four task jobs at work, 200 times, and prints what is left of branches, work trees and records.
Ends with 1 when one of them is without the other.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.features.jobs.kills import survive_kills

SEED = 20_261_122


def main(words: Sequence[str] | None = None) -> int:
    """Run the proof and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.jobs_proof", description=__doc__)
    parser.add_argument("kills", nargs="?", type=int, default=200, help="how many (200)")
    kills, began = parser.parse_args(words).kills, time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(survive_kills(Path(folder), kills, random.Random(SEED)))  # noqa: S311
    for name, count in asdict(found).items():
        print(f"{name.replace('_', ' '):<28}{count:>8,}")
    print(f"{'met' if not found.faults else 'NOT MET'} ({time.monotonic() - began:.0f} s)")
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
