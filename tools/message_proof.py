"""The proof that keyed messages are edited and never doubled, presses neither lost nor doubled, and files not lost.

`make message-proof` queues pairs of a firing and a resolved message to chats of three products while the worker that
sends them is killed, and counts what the chats show. Then it presses buttons, and kills the process that acknowledged a
press. It sends a thousand files while the gateway is killed, and measures the memory of a large one. Prints a table;
ends with 1 when a figure is not what it must be.

All of it takes more than an hour on two cores: the presses a quarter of one, the large files five minutes. A name runs
one scenario alone.
"""

import logging
import sys
from collections.abc import Mapping, Sequence

from tests.chaos import file_memory, file_runs, message_runs, press_runs
from tools.proof import Scenario, chosen, run, verdict

RUNS: Mapping[str, Scenario] = {
    "edits": lambda place: message_runs.edit_under_kills(place, pairs=1_000, kills=20, finds=True),
    "edits-unfound": lambda place: message_runs.edit_under_kills(place, pairs=1_000, kills=20, finds=False),
    "presses": lambda place: press_runs.press_under_kills(place, presses=150, kills=50),
    "files": lambda place: file_runs.files_under_kills(place, store="sqlite", files=1_000, kills=20),
    "files-redis": lambda place: file_runs.files_under_kills(place, store="redis", files=1_000, kills=20),
    "large-file": file_memory.memory_of_files,
}


def main(words: Sequence[str] | None = None) -> int:
    """Run the experiments and print the table; return the exit code."""
    names = chosen("message_proof", __doc__, RUNS, words)
    # A worker that is killed hangs up in the middle of its requests.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    return verdict({name: run(name, RUNS[name]) for name in names})


if __name__ == "__main__":
    sys.exit(main())
