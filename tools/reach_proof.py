"""The proof that no message to channels for other products is lost: `make reach-proof`.

Queues messages to a product that fails again and again, while the worker that sends them is killed, and counts what has
arrived. `synapse` is a real homeserver, if one is installed: see tests/channels/matrix/homeserver.py. Prints a table;
ends with 1 when a figure is not what it must be. Takes 2 to 5 minutes for each product.
"""

import logging
import sys
from collections.abc import Mapping, Sequence

from tests.chaos import reach_runs
from tools.proof import Scenario, chosen, run, verdict

RUNS: Mapping[str, Scenario] = {
    "ntfy": lambda place: reach_runs.ntfy(place, messages=1_000, kills=20),
    "mattermost": lambda place: reach_runs.mattermost(place, messages=1_000, kills=20),
    "matrix": lambda place: reach_runs.matrix(place, messages=1_000, kills=20),
    "webhook": lambda place: reach_runs.webhook(place, messages=1_000, kills=20),
    "webpush": lambda place: reach_runs.webpush(place, messages=1_000, kills=20),
    "teams": lambda place: reach_runs.teams(place, messages=1_000, kills=20),
    "apprise": lambda place: reach_runs.apprise(place, messages=1_000, kills=20),
    "synapse": lambda place: reach_runs.synapse(place, messages=1_000, kills=20),
}


def main(words: Sequence[str] | None = None) -> int:
    """Run the experiments and print the table; return the exit code."""
    names = chosen("reach_proof", __doc__, RUNS, words)
    # A worker that is killed hangs up in the middle of its requests.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    return verdict({name: run(name, RUNS[name]) for name in names})


if __name__ == "__main__":
    sys.exit(main())
