"""After a run: whether its output is sent and as which text, and how many runs failed in a row."""

from collections.abc import Sequence

from tocsin.core.time.timestamps import duration_words
from tocsin.features.cron.model import OutputOn
from tocsin.runs.document import pointers
from tocsin.runs.model import FAILING, Run, RunStatus
from tocsin.runs.queue import RecentRun

MAX_CHARS = 3_500  # one message of every channel but one: more of the output is in the log


def count_failures(history: Sequence[RecentRun], since: float, last: str = "~") -> int:
    """Return how many of the newest runs, up to the run `last`, failed in a row.

    Cancelled runs do not count, nor those that are retried, even if the retry is still queued.
    """
    repeated, failures = {run.retry_of for run in history}, 0
    for run in history:
        if not run.started_at or not run.finished_at or run.id > last:
            continue
        if run.ok or run.queued_at < since:
            break
        failures += run.status != RunStatus.CANCELLED and run.id not in repeated
    return failures


def is_wanted(on: Sequence[str], run: Run, before: Run | None, *, changed: bool) -> bool:
    """Whether the output of a run is sent; `before` is the last run of the job that had ended by then."""
    met = {
        OutputOn.ALWAYS: True,
        OutputOn.SUCCESS: run.ok,
        OutputOn.FAILURE: not run.ok and run.status is not RunStatus.CANCELLED,
        OutputOn.RECOVERY: run.ok and before is not None and not before.ok,
        OutputOn.OUTPUT: run.output.bytes > 0,
        OutputOn.CHANGE: before is None or changed or run.status is not before.status,
    }
    return any(met[OutputOn(word)] for word in on)


def text_of(run: Run, output: str) -> str:
    """Return the message: how it ended, why, and the end of the output."""
    took = "" if run.duration_ms is None else f" after {_took(run.duration_ms)}"
    lines = [f"{run.subject_name}: {run.status.replace('_', ' ')}{took}"]
    if run.reason:
        lines.append(run.reason)
    if run.status in FAILING:
        lines.append(pointers(run.id))
    shown = output.strip()
    if len(shown) > MAX_CHARS:
        shown = f"…{shown[-MAX_CHARS:]}"
    return "\n".join([*lines, "", shown]) if shown else "\n".join(lines)


def _took(duration_ms: int) -> str:
    return f"{duration_ms} ms" if duration_ms < 1000 else duration_words(duration_ms / 1000)
