"""The protocol of the stores that keep the records of runs: in a database, or in Redis for many hosts."""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol, TypeVar

from tocsin.core.storage.change_stream import ChangeStream
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
    """The records of runs in one place, shared with other processes. Every method raises StoreUnavailableError."""

    home: str  # names this data directory among all that share the store; empty if no other one does

    def changes(self) -> ChangeStream | None:
        """Return the stream of changed runs; `None` where the feed of changes of the database has them."""
        ...

    async def add(self, record: StoredRun) -> None:
        """Add a run; raises InstantRecordedError."""
        ...

    async def enqueue(self, records: Sequence[StoredRun]) -> list[Run]:
        """Add runs, each of a scheduled instant, and return them; leave out those whose instant has run already.

        A record of the same instant that never ran is replaced: the clock was ahead, and was set back.
        """
        ...

    async def get(self, run_id: str) -> StoredRun:
        """Return one run with its steps and hosts; raises UnknownRunError."""
        ...

    async def change(
        self,
        run_id: str,
        edit: Callable[[StoredRun], StoredRun],
        *,
        parts: bool = False,
        also: StoredRun | None = None,
    ) -> StoredRun:
        """Replace a run by what `edit` makes of it, and add the run `also`, in one step; return the run.

        `edit` may be called again with a later record, and what it raises leaves all as it is. It gets steps and hosts
        only with `parts`. Raises UnknownRunError.
        """
        ...

    async def save_parts(self, run_id: str, parts: Sequence[StepRun] | Sequence[HostResult]) -> None:
        """Record steps or hosts of an active run; one of a known name replaces the earlier one and keeps its place."""
        ...

    async def decide(self, kind: str, choose: Callable[[RunQueue], T]) -> T:
        """Return what `choose` returns for the runs of a kind that have not ended; store what it changes, in one step.

        `choose` may be called again. What it raises leaves all as it is.
        """
        ...

    async def look(self, kind: str, see: Callable[[RunQueue], T]) -> T:
        """Return what `see` returns for the runs of a kind that have not ended; it changes nothing."""
        ...

    async def several(self, run_ids: Sequence[str]) -> list[Run]:
        """Return the runs with these IDs that exist, without steps and hosts."""
        ...

    async def search(self, query: RunFilter) -> list[Run]:
        """Return up to `query.limit` runs that match, in the order of their IDs; looking makes no store."""
        ...

    async def counts(self, queries: Sequence[RunFilter]) -> list[int]:
        """Return the number of runs that match each query; looking makes no store."""
        ...

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        """Return for each text up to `limit` IDs that it may be short for."""
        ...

    async def active(self, status: Collection[RunStatus]) -> list[StoredRun]:
        """Return the runs in some of the states of `ACTIVE`, without steps and hosts."""
        ...

    async def released(self) -> list[ReleasedRun]:
        """Return the active runs that no process owns, the oldest first."""
        ...

    async def unsettled(self) -> list[StoredRun]:
        """Return the ended runs that have a task, the oldest first, without steps and hosts."""
        ...

    async def delivering(self, status: Collection[OutputDeliveryStatus], limit: int, *, newest: bool) -> list[Run]:
        """Return runs by the state of their messages, the oldest or the newest first."""
        ...

    async def asked(self, question: str) -> str:
        """Return the ID of the run that waits with a question; raises UnknownQuestionError."""
        ...

    async def last_failed(self, kind: str) -> list[Run]:
        """Return the newest run of each subject where it failed, the oldest first.

        Runs that were cancelled or never began do not count.
        """
        ...

    async def pasts(self, kind: str, subjects: Sequence[str], limit: int) -> list[SubjectPast]:
        """Return how up to `limit` of the newest runs of each subject went."""
        ...

    async def prune(self, now: float, keep_days: float, keep: int, keep_failed: int) -> list[Run]:
        """Delete runs as `RunStore.prune` says; return them."""
        ...

    async def remove(self, run_ids: Sequence[str]) -> None:
        """Delete runs with everything that belongs to them."""
        ...
