"""The proof that doors keep their promises: `make doors-proof`, or `python -m tools.doors_proof [name …]`.

Sends 10,000 requests to a door while its gateway is killed 50 times, and looks for each accepted one in the queue; the
same with mails; searches 10 MB of logs, audit, metrics, errors and the database for tokens; then sends from 64
connections without a pause. Prints a table; ends with 1 when a figure is not what it must be.
"""

import sys
from collections.abc import Mapping, Sequence

from tests.chaos import door_runs, mail_runs, token_runs
from tools.proof import Scenario, chosen, run, verdict

PROOFS: Mapping[str, Scenario] = {
    "kills": lambda place: door_runs.survive_kills(place, kills=50, accepted=10_000),
    "mails": lambda place: mail_runs.survive_kills(place, kills=50, accepted=10_000),
    "tokens": lambda place: token_runs.search_tokens(place, size=10_000_000),
    "answers": lambda place: door_runs.answer_many(place, seconds=30),
}


def main(words: Sequence[str] | None = None) -> int:
    """Run the proofs and print the table; return the exit code."""
    names = chosen("doors_proof", __doc__, PROOFS, words)
    return verdict({name: run(name, PROOFS[name]) for name in names})


if __name__ == "__main__":
    sys.exit(main())
