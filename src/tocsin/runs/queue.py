"""The runs of one kind that have not ended, for atomic decisions about which of them may start.

A decision is a function of a `RunQueue`. The store calls it with a consistent state, and stores its changes only if
that state is still current; otherwise it calls the function again.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple, Protocol

from tocsin.core.records.marks import Converted, Private, Time, after
from tocsin.runs.model import Run, RunResult, RunStatus, RunTrigger, milliseconds
from tocsin.runs.stored_run import RunTask, StoredRun, begin


class ActiveRow(NamedTuple):
    """A run that has started and not ended."""

    id: str
    subject_id: str
    started_at: float
    is_cancelling: bool


class QueuedRow(NamedTuple):
    """The fields of a queued run that determine its turn.

    A thousand runs may be queued, and all are read whenever a run ends.
    """

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
    owner: str = ""  # the process that begins it; empty: any

    def is_due(self, now: float) -> bool:
        """Whether it may begin, as far as that depends on the time."""
        return self.not_before is None or self.not_before <= now


class RecentRun(NamedTuple):
    """Run, as shown in a bar chart."""

    # A history has hundreds of these, and reading a full record costs ten times as much.
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
    """The latest run of a subject and its history, including runs that never started."""

    last: Run | None
    history: Sequence[RecentRun]


class RunQueue(Protocol):
    """The runs of one kind that have not ended."""

    def at_work(self) -> Sequence[ActiveRow]:
        """Return the runs that have started."""

    def queued(self) -> Sequence[QueuedRow]:
        """Return the queued runs in the order in which they are due."""

    def add(self, record: StoredRun) -> None:
        """Add a run of this kind."""

    def change(self, run_id: str, edit: Callable[[StoredRun], StoredRun]) -> StoredRun:
        """Replace a run with the result of `edit`; raises UnknownRunError."""


def take(queue: RunQueue, run_id: str, owner: str, now: float) -> Run | None:
    """Start a queued run with `owner` and return it; `None` if it is not queued any more."""
    after = queue.change(run_id, lambda record: begin(record, owner, now) if _is_queued(record) else record)
    return after.run if after.owner == owner and after.run.status is RunStatus.RUNNING else None


def end_unstarted(queue: RunQueue, run_id: str, result: RunResult, now: float, *, settled: bool) -> None:
    """End a queued run as skipped or missed; if `settled`, without an audit entry."""

    def edit(record: StoredRun) -> StoredRun:
        if not _is_queued(record):
            return record
        run = replace(record.run, status=result.status, reason=result.reason, finished_at=now)
        return replace(record, run=run, task=None if settled else record.task)

    queue.change(run_id, edit)


def catch_up(queue: RunQueue, run_id: str, not_before: float) -> None:
    """Note that a queued run is started late, and from when on."""

    def edit(record: StoredRun) -> StoredRun:
        task = replace(record.task or RunTask(), not_before=not_before)
        return replace(record, run=replace(record.run, trigger=RunTrigger.CATCHUP), task=task)

    queue.change(run_id, edit)


def _is_queued(record: StoredRun) -> bool:
    return record.run.status is RunStatus.QUEUED
