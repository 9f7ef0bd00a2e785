"""The proof that operations keep their promises: `make ops-proof`, or `python -m tools.ops_proof [name …]`.

Runs commands on 50 names of a real sshd beside `ssh` itself, lets thousands of files come at once, fails a job 1,000
times, kills processes with task jobs 200 times, and measures `tocsin status`. Prints a table; ends with 1 when a
figure is not what it must be. Takes about 15 minutes.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path

from tests.chaos import ops_runs
from tests.chaos.figures import Figure
from tools.proof import Scenario, chosen, run, verdict

_BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def _watch_files(_: Path) -> list[Figure]:
    """The rows of `make bench watchers`, as figures."""
    sys.path.insert(0, str(_BENCHMARKS))
    rows = import_module("watchers").measure()
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
    "watchers": _watch_files,
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
