"""Print the table of docs/measured.md, all of it measured side by side in this one run: `make bench`."""

import sys
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context

from report import Row, markdown

PARTS = (
    "startup",
    "gateway",
    "sends",
    "markup",
    "hostile",
    "vault",
    "audit",
    "delivery",
    "webhooks",
    "runs",
    "memory",
    "watching",
    "watchers",
    "rest",
    "streams",
    "logins",
)


def main() -> None:
    """Measure the parts named on the command line, or all of them."""
    rows: list[Row] = []
    # A process for each: what one part leaves in memory is not the next one's.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as processes:
        for name in sys.argv[1:] or PARTS:
            print(f"measuring {name} …", file=sys.stderr, flush=True)
            rows += processes.submit(measure, name).result()
    print(markdown(rows))
    sys.exit(0 if all(row.met for row in rows) else 1)


def measure(name: str) -> list[Row]:
    """Return the rows of one part."""
    found: list[Row] = import_module(name).measure()
    return found


if __name__ == "__main__":
    main()
