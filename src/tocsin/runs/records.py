"""The interface of the stores for the records of runs: SQLite, or Redis for several hosts."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol, TypeVar

from tocsin.core.storage.change_stream import ChangeStream
from tocsin.runs.engine.metrics import RunFigures
from tocsin.runs.filters import RunFilter
from tocsin.runs.model import HostResult, OutputDeliveryStatus, Run, RunStatus, StepRun
from tocsin.runs.queue import RunQueue, SubjectPast
from tocsin.runs.stored_run import StoredRun

T = TypeVar("T")


class ReleasedRun(NamedTuple):
    """An active run that no process owns."""

    id: str
    kind: str
    status: str


class RunRecords(Protocol):
    """The records of runs in one store, shared with other processes. Every method raises StoreUnavailableError."""

    home: str  # the name of this data directory in a shared store; empty if no other one uses the store

    def changes(self) -> ChangeStream | None:
        """Return the stream of changed runs; `None` if the database's own change feed reports them."""

    async def add(self, record: StoredRun) -> None:
        """Add a run; raises InstantRecordedError."""

    async def enqueue(self, records: Sequence[StoredRun]) -> list[Run]:
        """Add runs of scheduled instants; return those that were added: an instant is executed only once.

        A record of the same instant that was never executed is replaced, because the clock was ahead and was set back.
        """

    async def get(self, run_id: str) -> StoredRun:
        """Return one run with its steps and hosts; raises UnknownRunError."""

    async def change(
        self,
        run_id: str,
        edit: Callable[[StoredRun], StoredRun],
        *,
        parts: bool = False,
        also: StoredRun | None = None,
    ) -> StoredRun:
        """Replace a run with the result of `edit`, optionally add the run `also`, atomically; return the changed run.

        `edit` may be called again with a newer record; if it raises, nothing changes. It receives steps and hosts only
        with `parts`. Raises UnknownRunError.
        """

    async def save_parts(self, run_id: str, parts: Sequence[StepRun] | Sequence[HostResult]) -> None:
        """Store steps or hosts of an active run; one with a known name replaces the earlier one in its position."""

    async def decide(self, kind: str, choose: Callable[[RunQueue], T]) -> T:
        """Return the result of `choose` for the active runs of a kind; store its changes atomically.

        `choose` may be called again. If it raises, nothing changes.
        """

    async def look(self, kind: str, see: Callable[[RunQueue], T]) -> T:
        """Return the result of `see` for the active runs of a kind, without changes."""

    async def several(self, run_ids: Sequence[str]) -> list[Run]:
        """Return the runs with these IDs that exist, without steps and hosts."""

    async def search(self, query: RunFilter) -> list[Run]:
        """Return up to `query.limit` matching runs in the order of their IDs; does not create the store."""

    async def counts(self, queries: Sequence[RunFilter]) -> list[int]:
        """Return the number of runs that match each query; does not create the store."""

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        """Return for each text up to `limit` IDs that it may abbreviate."""

    async def active(self, status: Collection[RunStatus]) -> list[StoredRun]:
        """Return the runs in the given states, all of `ACTIVE`, without steps and hosts."""

    async def released(self) -> list[ReleasedRun]:
        """Return the active runs without an owner, the oldest first."""

    async def unsettled(self) -> list[StoredRun]:
        """Return the ended runs that have a task, the oldest first, without steps and hosts."""

    async def delivering(self, status: Collection[OutputDeliveryStatus], limit: int, *, newest: bool) -> list[Run]:
        """Return runs by the state of their output messages, the oldest or the newest first."""

    async def asked(self, question: str) -> str:
        """Return the ID of the run that waits for an answer to a question; raises UnknownQuestionError."""

    async def last_failed(self, kind: str) -> list[Run]:
        """Return the latest run of each subject whose latest run failed, the oldest first.

        Runs that were cancelled or never started are ignored.
        """

    async def pasts(self, kind: str, subjects: Sequence[str], limit: int) -> list[SubjectPast]:
        """Return the latest run and up to `limit` runs of the history of each subject."""

    async def prune(self, now: float, keep_days: float, keep: int, keep_failed: int) -> list[Run]:
        """Delete runs according to the rules of `RunStore.prune`; return them."""

    async def figures(self, now: float) -> RunFigures:
        """Return the totals of ended runs, and the numbers of active ones; does not create the store."""

    async def remove(self, run_ids: Sequence[str]) -> None:
        """Delete runs with everything that belongs to them."""
