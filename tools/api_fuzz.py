"""Ask the REST API at random: `python -m tools.api_fuzz --calls 100000`.

Requests are made from the OpenAPI document, valid ones and others, and asked of the whole program in this process.
It exits 1 where an answer is 500, has a status or a media type that is not documented, does not fit its schema, or
accepts what its schema excludes.
"""

import argparse
import logging
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.web.dashboard.contract.fuzz import FuzzReport, fuzz


def main() -> int:
    """Run and tell what was found; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.api_fuzz", description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000, help="how many requests to make")
    parser.add_argument("--seed", type=int, default=0, help="the same seed makes the same requests")
    parser.add_argument("--only", default="", help="ask only operations with this in method and path")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # chat models and hosts that are not there
    started = time.monotonic()

    def progress(report: FuzzReport) -> None:
        if report.calls % 5_000 == 0:
            spent = time.monotonic() - started
            print(f"{report.calls:,} calls, {len(report.findings)} findings, {spent:.0f} s", flush=True)

    def tell(what: str, request: str) -> None:
        print(f"{what}\n    {request}", flush=True)

    with TemporaryDirectory() as folder:
        report = fuzz(Path(folder), arguments.calls, arguments.seed, only=arguments.only, progress=progress, tell=tell)
    statuses = ", ".join(f"{number:,} × {status}" for status, number in sorted(report.statuses.items()))
    print(f"{report.calls:,} calls to {len(report.asked)} operations: {statuses}")
    print(f"{len(report.succeeded)} operations succeeded at least once, {len(report.findings)} findings")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
