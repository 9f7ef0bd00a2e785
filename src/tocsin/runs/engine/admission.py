"""Admit runs to work or to the queue, as decisions of a store about the runs of a kind."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import NamedTuple

from tocsin.runs.engine.overlap import (
    Admission,
    Overlap,
    OverlapRules,
    QueueDecisions,
    StartPolicy,
    admit,
    admit_at_once,
    decide,
)
from tocsin.runs.model import Run, RunResult, RunStatus
from tocsin.runs.queue import QueuedRow, RunQueue, end_unstarted, take
from tocsin.runs.stored_run import StoredRun

REPLACED = "a newer run replaces it"
SUPERSEDED = RunResult(RunStatus.SKIPPED, REPLACED)
PolicyOf = Callable[[QueuedRow], StartPolicy]


class QueueStep(NamedTuple):
    """The IDs of the queued runs of a kind that began and that ended, and of those to be cancelled."""

    begun: list[str]
    ended: list[str]
    replaced: list[str]


def find_admission(queue: RunQueue, run: Run, rules: OverlapRules, *, may_wait: bool) -> Admission:
    """Return whether a new run begins, waits or is skipped."""
    now = run.queued_at
    running = [row for row in queue.at_work() if row.subject_id == run.subject_id]
    if not may_wait:
        return admit_at_once(rules, running, now)
    ahead = tuple(row.id for row in queue.queued() if row.subject_id == run.subject_id and row.is_due(now))
    if rules.policy is Overlap.REPLACE:
        return admit(rules, running, 0, now)._replace(supersedes=ahead)
    return admit(rules, running, len(ahead), now)


def record_admitted(queue: RunQueue, record: StoredRun, rules: OverlapRules, *, may_wait: bool) -> Admission:
    """Record a new run as running or queued, unless it is skipped; return the decision."""
    admission = find_admission(queue, record.run, rules, may_wait=may_wait)
    if admission.reason:
        return admission
    for run_id in admission.supersedes:
        end_unstarted(queue, run_id, SUPERSEDED, record.run.queued_at, settled=False)
    waits = replace(record, run=replace(record.run, status=RunStatus.QUEUED, started_at=None))
    queue.add(record if admission.start else waits)
    return admission


def look(queue: RunQueue, owners: Collection[str], now: float, policy_of: PolicyOf) -> QueueDecisions:
    """Return the decisions about the queued runs of a kind; only those of `owners` start."""
    return decide(queue.queued(), queue.at_work(), now, policy_of, owners)


def begin_queued(queue: RunQueue, owner: str, owners: Collection[str], now: float, policy_of: PolicyOf) -> QueueStep:
    """Let the queued runs of a kind whose turn it is begin with `owner`, if they are of `owners`, or end."""
    decisions = look(queue, owners, now, policy_of)
    for run_id, ended in decisions.end.items():
        end_unstarted(queue, run_id, ended, now, settled=False)
    begun = [run_id for run_id in decisions.start if take(queue, run_id, owner, now)]
    return QueueStep(begun, list(decisions.end), decisions.replaced)
