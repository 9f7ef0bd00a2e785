"""What the commands that prove something share: scenarios by name, a table of their figures, and an exit code."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from tests.chaos.figures import Figure

Scenario = Callable[[Path], list[Figure]]


def chosen(command: str, purpose: str | None, there_are: Collection[str], words: Sequence[str] | None) -> list[str]:
    """Return which scenarios the command line names; all, if it names none."""
    parser = argparse.ArgumentParser(prog=f"python -m tools.{command}", description=purpose)
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of: {', '.join(there_are)}")
    names: list[str] = parser.parse_args(words).names or list(there_are)
    if unknown := sorted(set(names) - set(there_are)):
        parser.error(f"there is no {unknown[0]}; topics: {', '.join(there_are)}")
    return names


def run(name: str, scenario: Scenario) -> list[Figure]:
    """Run a scenario in a directory of its own; what keeps it from ending is a figure, too."""
    with tempfile.TemporaryDirectory(prefix="tocsin-proof-") as place:
        return timed(name, lambda: scenario(Path(place)))


def timed(name: str, measure: Callable[[], list[Figure]]) -> list[Figure]:
    """Return what is measured, and tell on standard error what is at work and how long it took."""
    print(f"{name} …", end=" ", file=sys.stderr, flush=True)
    begun = time.monotonic()
    try:
        figures = measure()
    except (AssertionError, OSError) as error:
        figures = [Figure("ended early", 1, "=", 0, detail=str(error))]
    print(f"{time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return figures


def verdict(
    found: Mapping[str, list[Figure]], beside: Mapping[str, Sequence[str]] | None = None, others: Sequence[str] = ()
) -> int:
    """Print the table and every figure that is not what it must be; return the exit code.

    `others` are further columns, and `beside` has their cells by what a figure is of.
    """
    rows = [["scenario", "figure", "value", "must be", "met", *others], ["---"] * (5 + len(others))]
    for name, figures in found.items():
        for figure in figures:
            more = (beside or {}).get(figure.what, [""] * len(others))
            rows.append([name, figure.what, figure.shown, figure.required, _met(figure), *more])
    for row in rows:
        print(f"| {' | '.join(row)} |")
    wrong = [f"{name}: {figure}" for name, figures in found.items() for figure in figures if not figure.met]
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def _met(figure: Figure) -> str:
    return "" if not figure.sign else "yes" if figure.met else "**no**"
