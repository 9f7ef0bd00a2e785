"""The runs of one kind that have not ended, as one step of the store sees and changes them.

A decision about which of them begin is a function of a `RunQueue`. The store calls it with what is true at one moment,
and stores what it changed only if that is still true; otherwise it calls it again.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple, Protocol

from tocsin.core.records.marks import Converted, Private, Time, after
from tocsin.runs.model import Run, RunResult, RunStatus, RunTrigger, milliseconds
from tocsin.runs.stored_run import StoredRun, begin


class ActiveRow(NamedTuple):
    """A run that has begun and not ended."""

    id: str
    subject_id: str
    started_at: float
    is_cancelling: bool


class QueuedRow(NamedTuple):
    """A queued run, as far as its turn depends on it: a thousand may wait, and each end of a run looks at all."""

    id: str
    subject_id: str
    subject_name: str
    trigger: str
    snapshot: str | None  # as JSON
    source: str
    scheduled_for: float | None
    retry_of: str | None
    not_before: float | None
    due_at: float
    is_here: bool = True  # False: it was queued on another host, which starts it as long as that is alive


class RecentRun(NamedTuple):
    """Run, as shown in a bar chart."""

    # A history has hundreds, and a whole record costs ten times as much.
    id: str
    status: Annotated[str, Converted(str, RunStatus)]
    queued_at: Private[float]
    started_at: Time | None
    finished_at: Private[float | None]
    retry_of: Private[str | None]

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.status == RunStatus.SUCCEEDED

    @property
    @after("started_at")
    def duration_ms(self) -> int | None:
        """The duration in milliseconds."""
        return milliseconds(self.started_at, self.finished_at)


class SubjectPast(NamedTuple):
    """The newest run of a subject, and how the runs before it went; also those that never started."""

    last: Run | None
    history: Sequence[RecentRun]


class RunQueue(Protocol):
    """The runs of one kind that have not ended."""

    def at_work(self) -> Sequence[ActiveRow]:
        """Return those that have begun."""
        ...

    def queued(self) -> Sequence[QueuedRow]:
        """Return those that are queued, in the order in which they are due."""
        ...

    def add(self, record: StoredRun) -> None:
        """Add a run of the kind."""
        ...

    def change(self, run_id: str, edit: Callable[[StoredRun], StoredRun]) -> StoredRun:
        """Replace a run by what `edit` makes of it; raises UnknownRunError."""
        ...


def is_next(queue: RunQueue, run: Run) -> bool:
    """Whether no earlier run of the same subject is queued or at work, or the run is not queued any more."""
    ids = [row.id for row in queue.queued() if row.subject_id == run.subject_id]
    if run.id not in ids:
        return True
    ids += [row.id for row in queue.at_work() if row.subject_id == run.subject_id]
    return min(ids) == run.id


def take(queue: RunQueue, run_id: str, owner: str, now: float) -> Run | None:
    """Let a queued run begin with `owner` and return it; `None` if it is not queued any more."""
    after = queue.change(run_id, lambda record: begin(record, owner, now) if _is_queued(record) else record)
    return after.run if after.owner == owner and after.run.status is RunStatus.RUNNING else None


def end_unstarted(queue: RunQueue, run_id: str, ended: RunResult, now: float, *, settled: bool) -> None:
    """End a queued run as skipped or missed; a `settled` one has no audit entry."""

    def edit(record: StoredRun) -> StoredRun:
        if not _is_queued(record):
            return record
        run = replace(record.run, status=ended.status, reason=ended.reason, finished_at=now)
        return replace(record, run=run, task=None if settled else record.task)

    queue.change(run_id, edit)


def catch_up(queue: RunQueue, run_id: str) -> None:
    """Note that a queued run is started late."""
    queue.change(run_id, lambda record: replace(record, run=replace(record.run, trigger=RunTrigger.CATCHUP)))


def _is_queued(record: StoredRun) -> bool:
    return record.run.status is RunStatus.QUEUED
