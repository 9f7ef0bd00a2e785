"""The proof that heartbeats keep their promises: `make heartbeat-proof`, or `python -m tools.heartbeat_proof [name …]`.

Pings 10,000 heartbeats at 200 a second and lets them fall silent, kills gateways while jobs ping and watches while the
clock changes, stops 1,000 times, reports with the client of healthchecks, and weighs an open front door. Prints a
table; ends with 1 when a figure is not what it must be. Takes about 20 minutes.
"""

import sys
from collections.abc import Mapping, Sequence

from tests.chaos import heartbeat_runs
from tools.proof import Scenario, chosen, run, verdict

PROOFS: Mapping[str, Scenario] = {
    "pings": lambda place: heartbeat_runs.ping_many(place, count=10_000, seconds=60),
    "gateway-kills": lambda place: heartbeat_runs.kill_gateways(place, kills=20, seconds=5, count=1_000),
    "watch-kills": lambda place: heartbeat_runs.kill_watches(place, kills=1_000),
    "stops": lambda place: heartbeat_runs.stop_often(place, stops=1_000),
    "client": heartbeat_runs.use_healthchecks_client,
    "weight": lambda place: heartbeat_runs.weigh_the_door(place, rounds=3),
}


def main(words: Sequence[str] | None = None) -> int:
    """Run the proofs and print the table; return the exit code."""
    names = chosen("heartbeat_proof", __doc__, PROOFS, words)
    return verdict({name: run(name, PROOFS[name]) for name in names})


if __name__ == "__main__":
    sys.exit(main())
