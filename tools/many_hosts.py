"""Many hosts on this machine: `make many-hosts`, or `python -m tools.many_hosts --help` for other sizes.

Starts Redis, gateways, a bot and workers as processes with data directories of their own, sends messages and webhook
calls through all of them, kills parts at random, and prints the ledger. With `--scale 1000` it then measures how
throughput grows with the workers. Ends with 1 when a figure is not what it must be.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from tests.chaos.figures import Figure
from tests.chaos.many_hosts import Sizes, scale_workers, survive_kills

SMALL = Sizes(gateways=2, workers=2, bots=1, kills=4, messages=600, webhooks=200, seconds=8)


def main(words: Sequence[str] | None = None) -> int:
    """Run both parts and print the table; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.many_hosts", description=__doc__)
    for field in fields(Sizes):
        kind = float if field.name == "seconds" else int
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=getattr(SMALL, field.name))
    parser.add_argument("--full", action="store_true", help="3 gateways, 4 workers, 200 kills, 100,000 messages")
    parser.add_argument(
        "--scale", type=int, default=0, metavar="N", help="measure throughput, with so many messages for each worker"
    )
    given = vars(parser.parse_args(words))
    full, scale = given.pop("full"), given.pop("scale")
    sizes = Sizes() if full else Sizes(**given)
    with tempfile.TemporaryDirectory(prefix="tocsin-") as name:
        found = survive_kills(Path(name), sizes)
        if scale:
            found += scale_workers(Path(name), messages=scale)
    return _show(found)


def _show(found: Sequence[Figure]) -> int:
    print("| figure | value | must be | met |\n|---|---|---|---|")
    for figure in found:
        met = "" if not figure.sign else "yes" if figure.met else f"**no** {figure.detail}"
        print(f"| {figure.what} | {figure.shown} | {figure.required} | {met} |")
    return 0 if all(figure.met for figure in found) else 1


if __name__ == "__main__":
    sys.exit(main())
