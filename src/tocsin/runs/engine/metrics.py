"""The metrics of runs of every kind; the store counts ended runs, so that pruning and restarts lower no total."""

from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

from tocsin.core.metrics import Distribution, Metric, MetricType, Sample
from tocsin.runs.model import ACTIVE, TERMINAL, Run, RunStatus

# Upper bounds of the buckets of durations. A change requires a migration of the SQLite trigger.
DURATIONS_S = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, inf)
NEVER_BEGAN = 0.0  # the bucket of runs that ended without starting

RUNS = Metric("tocsin_runs_total", "Ended runs by kind and final status.", ("kind", "status"), MetricType.COUNTER)
DURATION = Metric(
    "tocsin_run_duration_seconds",
    "Duration of ended runs by kind, without those that never started.",
    ("kind",),
    MetricType.HISTOGRAM,
)
LAST_SUCCESS = Metric(
    "tocsin_run_last_success_timestamp_seconds", "Time when the last successful run of a kind ended.", ("kind",)
)
ACTIVE_RUNS = Metric("tocsin_runs_active", "Runs that have not ended, by kind and status.", ("kind", "status"))
OLDEST = Metric(
    "tocsin_run_queue_oldest_seconds", "How long the oldest queued run of a kind that is due has waited.", ("kind",)
)

RUN_METRICS = (RUNS, DURATION, LAST_SUCCESS, ACTIVE_RUNS, OLDEST)


class RunTotal(NamedTuple):
    """The ended runs of a kind with one status and one bucket of durations."""

    kind: str
    status: str
    bound: float  # of DURATIONS_S, or NEVER_BEGAN
    runs: int
    seconds: float
    last_at: float


class ActiveCount(NamedTuple):
    """The active runs of a kind with one status."""

    kind: str
    status: str
    runs: int
    due_since: float | None  # of the queued run that has been due for longest


class RunFigures(NamedTuple):
    """Counts of all runs in the store."""

    totals: list[RunTotal]
    active: list[ActiveCount]


def duration_bound(run: Run) -> float:
    """Return the bucket in which an ended run is counted."""
    if run.started_at is None:
        return NEVER_BEGAN
    return next(bound for bound in DURATIONS_S if duration_s(run) <= bound)


def duration_s(run: Run) -> float:
    """Return how long an ended run took; 0 if it never started, or if the clock was set back."""
    return max(0.0, run.finished_at - run.started_at) if run.finished_at and run.started_at else 0.0


def count_active(runs: Iterable[tuple[Run, float | None]], now: float) -> list[ActiveCount]:
    """Count active runs, given with the time before which each must not start."""
    found: dict[tuple[str, str], ActiveCount] = {}
    for run, not_before in runs:
        known = found.get((run.kind, run.status), ActiveCount(run.kind, run.status, 0, None))
        due = max(run.queued_at, not_before or 0.0) if run.status is RunStatus.QUEUED else inf
        since = [at for at in (known.due_since, due) if at is not None and at <= now]
        found[run.kind, run.status] = known._replace(runs=known.runs + 1, due_since=min(since, default=None))
    return list(found.values())


def run_samples(figures: RunFigures, kinds: Sequence[str], now: float) -> list[Sample]:
    """Return the samples of all metrics; `kinds` that never ran have zeros."""
    runs = {(kind, status): 0 for kind in kinds for status in sorted(TERMINAL)}
    buckets = {kind: dict.fromkeys(DURATIONS_S, 0) for kind in kinds}
    seconds, last = dict.fromkeys(kinds, 0.0), dict[str, float]()
    for total in figures.totals:
        key = (total.kind, RunStatus(total.status))
        runs[key] = runs.get(key, 0) + total.runs
        if total.status == RunStatus.SUCCEEDED:
            last[total.kind] = max(last.get(total.kind, 0.0), total.last_at)
        if total.bound != NEVER_BEGAN:
            counts = buckets.setdefault(total.kind, dict.fromkeys(DURATIONS_S, 0))
            counts[total.bound] += total.runs
            seconds[total.kind] = seconds.get(total.kind, 0.0) + total.seconds
    active = {(kind, str(status)): 0 for kind in kinds for status in sorted(ACTIVE)}
    oldest = dict.fromkeys(kinds, 0.0)
    for each in figures.active:
        active[each.kind, each.status] = each.runs
        if each.due_since is not None:
            oldest[each.kind] = max(0.0, now - each.due_since)
    return [
        *(Sample(RUNS, count, (kind, str(status))) for (kind, status), count in runs.items()),
        *(Sample(DURATION, Distribution(counts, seconds[kind]), (kind,)) for kind, counts in buckets.items()),
        *(Sample(LAST_SUCCESS, at, (kind,)) for kind, at in last.items()),
        *(Sample(ACTIVE_RUNS, count, labels) for labels, count in active.items()),
        *(Sample(OLDEST, waited, (kind,)) for kind, waited in oldest.items()),
    ]
