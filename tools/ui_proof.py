"""The proof that the dashboard keeps its promises: `make ui-proof`, or `python -m tools.ui_proof [name …]`.

Fills an installation, serves it by `tocsin dashboard`, opens it in the system's Chromium, and prints a table of what it
measures there; ends with 1 when a figure is not what it must be. Takes about ten minutes, on an idle machine.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from playwright.sync_api import Error
from tests.chaos.figures import Figure
from tests.e2e.dashboard.proof import amounts, loading, states, tabs, tasks
from tests.e2e.dashboard.proof.stage import Stage, open_stage
from tools.chaos import met, verdict

RUNS: Mapping[str, Callable[[Stage], list[Figure]]] = {
    "first-load": loading.first_load,
    "pages": loading.each_page,
    "clicks": tasks.clicks_from_home,
    "keyboard": tasks.by_keyboard_alone,
    "tabs": tabs.five_idle_tabs,
    "states": states.all_states,
    "many-jobs": amounts.thousand_jobs,
    "long-log": amounts.long_log,
}


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print the table; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.ui_proof", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of: {', '.join(RUNS)}")
    names = parser.parse_args(words).names or list(RUNS)
    if unknown := sorted(set(names) - set(RUNS)):
        parser.error(f"there is no measurement {unknown[0]}; there are: {', '.join(RUNS)}")
    found: dict[str, list[Figure]] = {}
    with tempfile.TemporaryDirectory(prefix="tocsin-ui-") as place, open_stage(Path(place)) as stage:
        for name in names:
            begun = time.monotonic()
            try:
                found[name] = RUNS[name](stage)
            except (AssertionError, OSError, Error) as error:
                found[name] = [Figure("ended early", 1, "=", 0, detail=str(error))]
            print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    print("| what | figure | value | must be | met |\n|---|---|---|---|---|")
    for name, figures in found.items():
        for figure in figures:
            print(f"| {name} | {figure.what} | {figure.shown} | {figure.required} | {met(figure)} |")
    return verdict(found)


if __name__ == "__main__":
    sys.exit(main())
