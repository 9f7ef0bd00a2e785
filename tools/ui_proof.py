"""The proof that the dashboard keeps its promises: `make ui-proof`, or `python -m tools.ui_proof [name …]`.

Fills an installation, serves it by `tocsin dashboard`, opens it in the system's Chromium, and prints a table of what it
measures there; ends with 1 when a figure is not what it must be. Takes about ten minutes, on an idle machine.
"""

import faulthandler
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from playwright.sync_api import Error
from tests.chaos.figures import Figure
from tests.e2e.dashboard.proof import amounts, loading, states, tabs, tasks
from tests.e2e.dashboard.proof.stage import Stage, open_stage
from tools.proof import chosen, timed, verdict

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
# Each takes a minute or two. One that hangs says where, and ends everything.
LONGEST_S = 600


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print the table; return the exit code."""
    asked = chosen("ui_proof", __doc__, RUNS, words)
    names = [name for name in RUNS if name in asked]  # the last ones fill lists that the others click in
    with tempfile.TemporaryDirectory(prefix="tocsin-ui-") as place, open_stage(Path(place)) as stage:
        return verdict({name: timed(name, partial(_measured, RUNS[name], stage)) for name in names})


def _measured(measure: Callable[[Stage], list[Figure]], stage: Stage) -> list[Figure]:
    faulthandler.dump_traceback_later(LONGEST_S, exit=True)
    try:
        return measure(stage)
    except Error as error:  # of Playwright: something did not come to be seen
        raise AssertionError(str(error)) from error
    finally:
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    sys.exit(main())
