"""The policy for a run that is due while earlier runs of the same subject are active or queued."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tocsin.core.errors import TocsinError
from tocsin.core.time.timestamps import duration_words
from tocsin.runs.model import RunResult, RunStatus
from tocsin.runs.queue import ActiveRow, QueuedRow

UNLIMITED = 1_000_000_000


class OverlapError(TocsinError):
    """The overlap policy of a subject forbids another run now."""

    code = "run-already-active"


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


IN_TURN = OverlapRules(Overlap.QUEUE, UNLIMITED)


@dataclass(frozen=True, slots=True)
class StartPolicy:
    """How a queued run begins; by default in its turn."""

    overlap: OverlapRules = IN_TURN
    waits: bool = True  # for its turn, whatever `overlap` says
    superseded: RunResult | None = None  # its end if a later run of its subject is queued
    at_home: bool = False  # only in the data directory that queued it, until that is silent for a minute


class Admission(NamedTuple):
    """A decision: `start` the run, queue it if `reason` is empty, or else skip it."""

    start: bool
    reason: str = ""
    replaces: tuple[str, ...] = ()  # runs at work that are to be cancelled
    supersedes: tuple[str, ...] = ()  # queued runs that are to end


class QueueDecisions(NamedTuple):
    """The queued runs to start, those to end without a start, and the active runs to cancel."""

    start: list[str]
    end: dict[str, RunResult]
    replaced: list[str]

    @property
    def changes_runs(self) -> bool:
        """Whether there is anything to do."""
        return any(self)


def admit(
    rules: OverlapRules, running: Sequence[ActiveRow], ahead: int, now: float, *, waits: bool = False
) -> Admission:
    """Decide about the next run; `ahead` is the number of queued runs of the same subject before it.

    A run that `waits`, such as a catch-up, is queued under every policy.
    """
    if not running and not ahead:
        return Admission(start=True)
    if waits:
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
            return Admission(start=False, replaces=tuple(run.id for run in running if not run.is_cancelling))
        case _:
            return Admission(start=False, reason=_told(running, now))


def admit_at_once(rules: OverlapRules, running: Sequence[ActiveRow], now: float) -> Admission:
    """Decide about a run that begins now or never."""
    admission = admit(rules, running, 0, now)
    if admission.start or admission.reason:
        return admission
    return Admission(start=False, reason=f"run {running[0].id} is still running")


def decide(
    queued: Sequence[QueuedRow],
    active: Sequence[ActiveRow],
    now: float,
    policy_of: Callable[[QueuedRow], StartPolicy],
    owners: Collection[str] = ("",),
) -> QueueDecisions:
    """Decide about all queued runs of a kind, in the order in which they are due.

    Only those of `owners` start, of which an empty one is any process; the turn of the others counts all the same.
    """
    running: dict[str, list[ActiveRow]] = defaultdict(list)
    for run in active:
        running[run.subject_id].append(run)
    newest = {row.subject_id: place for place, row in enumerate(queued) if row.is_due(now)}
    ahead: Counter[str] = Counter()
    start, end, replaced = list[str](), dict[str, RunResult](), list[str]()
    for place, row in enumerate(queued):
        policy, is_due = policy_of(row), row.is_due(now)
        if policy.at_home and not row.is_here:
            continue
        if policy.superseded and place < newest.get(row.subject_id, 0) and (is_due or policy.waits):
            end[row.id] = policy.superseded
            continue
        if not is_due:
            continue
        waits = policy.waits or bool(row.owner)  # a run that its process was allowed to queue is not skipped later
        admission = admit(policy.overlap, running[row.subject_id], ahead[row.subject_id], now, waits=waits)
        if admission.reason:
            end[row.id] = RunResult(RunStatus.SKIPPED, admission.reason)
        elif not admission.start or row.owner not in owners:
            ahead[row.subject_id] += 1
            replaced += admission.replaces
        else:
            running[row.subject_id].append(ActiveRow(row.id, row.subject_id, now, is_cancelling=False))
            start.append(row.id)
    return QueueDecisions(start, end, replaced)


def _told(running: Sequence[ActiveRow], now: float) -> str:
    if not running:
        return "an earlier run is waiting"
    oldest = min(running, key=lambda run: run.started_at)
    return f"previous run {oldest.id} still running for {duration_words(max(0.0, now - oldest.started_at))}"
