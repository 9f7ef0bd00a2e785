"""Many hosts on this machine: `make many-hosts`, or `python -m tools.many_hosts --help` for other sizes and scenarios.

Starts Redis, gateways, a bot and workers as processes with data directories of their own, and measures. `kills`, which
is what runs unless others are named, sends messages and webhook calls through all hosts, kills parts at random, and
prints the ledger. Ends with 1 when a figure is not what it must be.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import fields
from functools import partial

from tests.chaos.hosts_agree import keep_one_pace, know_of_a_throttle
from tests.chaos.hosts_amounts import hold_a_million, move_between_stores
from tests.chaos.hosts_failover import survive_a_failover
from tests.chaos.many_hosts import Sizes, scale_workers, survive_kills
from tests.chaos.message_cost import compare_cost
from tools.proof import Scenario, run, verdict

SMALL = Sizes(gateways=2, workers=2, bots=1, kills=4, messages=600, webhooks=200, seconds=8)
SCENARIOS: dict[str, Scenario] = {
    "kills": partial(survive_kills, sizes=SMALL),
    "workers": partial(scale_workers, messages=1_500),
    "cost": partial(compare_cost, messages=6_000),
    "pace": keep_one_pace,
    "throttle": know_of_a_throttle,
    "failover": survive_a_failover,
    "million": hold_a_million,
    "migrate": move_between_stores,
}


def main(words: Sequence[str] | None = None) -> int:
    """Run the scenarios and print the table; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.many_hosts", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of: {', '.join(SCENARIOS)} (unless given: kills)")
    parser.add_argument("--full", action="store_true", help="3 gateways, 4 workers, 200 kills, 100,000 messages")
    for field in fields(Sizes):
        kind = float if field.name == "seconds" else int
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=getattr(SMALL, field.name))
    given = vars(parser.parse_args(words))
    names, full = given.pop("names") or ["kills"], given.pop("full")
    if unknown := set(names) - SCENARIOS.keys():
        parser.error(f"there is no {min(unknown)}; topics: {', '.join(SCENARIOS)}")
    sized: dict[str, Scenario] = {
        **SCENARIOS,
        "kills": partial(survive_kills, sizes=Sizes() if full else Sizes(**given)),
    }
    return verdict({name: run(name, sized[name]) for name in names})


if __name__ == "__main__":
    sys.exit(main())
