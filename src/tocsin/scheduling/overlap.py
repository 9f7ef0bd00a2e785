"""The policy for a run that is due while an earlier run of the same subject is active."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from tocsin.scheduling.schedule import duration_words


class Overlap(StrEnum):
    """The policies."""

    SKIP = "skip"
    QUEUE = "queue"
    PARALLEL = "parallel"
    REPLACE = "replace"


class OverlapRules(NamedTuple):
    """A policy and its limits."""

    policy: Overlap
    max_queued: int = 1
    max_parallel: int = 1


class Running(NamedTuple):
    """An active run."""

    id: str
    started_at: float


class Admission(NamedTuple):
    """A decision: `start` the run, queue it if `reason` is empty, or else skip it; cancel the runs in `replaces`."""

    start: bool
    reason: str = ""
    replaces: tuple[str, ...] = ()


def admit(
    rules: OverlapRules, running: Sequence[Running], ahead: int, now: float, *, patient: bool = False
) -> Admission:
    """Decide about the next run; `ahead` is the number of queued runs of the same subject before it.

    A `patient` run, such as a catch-up or a replacement whose predecessor is still ending, waits under every policy.
    """
    if not running and not ahead:
        return Admission(start=True)
    if patient:
        return Admission(start=False)
    match rules.policy:
        case Overlap.PARALLEL if len(running) + ahead < rules.max_parallel:
            return Admission(start=True)
        case Overlap.PARALLEL:
            told = "1 run is running" if len(running) == 1 else f"{len(running)} runs are running"
            return Admission(start=False, reason=f"{told}, which is the maximum")
        case Overlap.QUEUE if ahead < rules.max_queued:
            return Admission(start=False)
        case Overlap.QUEUE:
            wait = "1 run waits" if ahead == 1 else f"{ahead} runs wait"
            return Admission(start=False, reason=f"{wait} already: {_told(running, now)}")
        case Overlap.REPLACE:
            return Admission(start=False, replaces=tuple(run.id for run in running))
        case _:
            return Admission(start=False, reason=_told(running, now))


def _told(running: Sequence[Running], now: float) -> str:
    if not running:
        return "an earlier run is waiting"
    oldest = min(running, key=lambda run: run.started_at)
    return f"previous run {oldest.id} still running for {duration_words(max(0.0, now - oldest.started_at))}"
