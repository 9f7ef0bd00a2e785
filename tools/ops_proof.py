"""The proof that operations keep their promises: `make ops-proof`, or `python -m tools.ops_proof [name …]`.

Runs commands on 50 names of a real sshd beside `ssh` itself, lets thousands of files come at once, fails a job 1,000
times, kills processes with task jobs 200 times, schedulers 1,000 times and processes with runs of eight kinds 1,000
times, compares cron expressions with brute force, has 500 jobs due in one second, and measures `tocsin status`. Prints
a table; ends with 1 when a figure is not what it must be. Takes about 95 minutes.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from tests.chaos import cron_runs, ops_runs
from tests.chaos.figures import Figure
from tests.features.cron import load
from tools.proof import Scenario, chosen, run, verdict

_BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def _bench(name: str) -> list[Figure]:
    """The rows of a part of `make bench`, as figures."""
    sys.path.insert(0, str(_BENCHMARKS))
    rows = import_module(name).measure()
    return [
        Figure(row.what, float(row.ours.split()[0].replace(",", "")), *_limit(row.target), row.ours.split()[-1])
        for row in rows
    ]


def _limit(target: str) -> tuple[str, float]:
    sign, number = target.split()[:2]
    return sign, float(number.replace(",", ""))


PROOFS: Mapping[str, Scenario] = {
    "ssh-many": lambda place: ops_runs.run_on_many_hosts(place, rounds=5),
    "ssh-one": lambda place: ops_runs.run_on_one_host(place, rounds=21),
    "watchers": lambda _: _bench("watchers"),
    "runs": lambda _: _bench("runs"),
    "cron-oracle": lambda _: cron_runs.compare_with_the_oracle(400),
    "cron-kills": lambda place: cron_runs.kill_schedulers(place, kills=1_000, jobs=40),
    "run-kills": lambda place: ops_runs.kill_runs(place, kills=1_000),
    "cron-burst": lambda place: load.start_at_once(place, jobs=500, rounds=5),
    "cron-minute": lambda place: load.start_in_time(place, jobs=60),
    "cron-idle": lambda place: load.wait_for_nothing(place, jobs=10_000, seconds=60),
    "cron-night": cron_runs.fail_at_night,
    "mistakes": cron_runs.find_mistakes,
    "validate": lambda place: cron_runs.validate_workflow(place, rounds=21),
    "failures": lambda place: ops_runs.fail_for_an_hour(place, failures=1_000),
    "job-kills": lambda place: ops_runs.kill_task_jobs(place, kills=200),
    "status": lambda place: ops_runs.tell_the_status(place, rounds=21),
}


def main(words: Sequence[str] | None = None) -> int:
    """Run the proofs and print the table; return the exit code."""
    names = chosen("ops_proof", __doc__, PROOFS, words)
    return verdict({name: run(name, PROOFS[name]) for name in names})


if __name__ == "__main__":
    sys.exit(main())
