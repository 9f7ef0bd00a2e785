"""Runs as movable records, with their steps, hosts, questions and tasks."""

from collections.abc import Sequence
from contextlib import suppress

from tocsin.assembly.migration.movable import Move
from tocsin.core.time.clock import Clock
from tocsin.runs.filters import RunFilter
from tocsin.runs.records import RunRecords
from tocsin.runs.stored_run import InstantRecordedError, RunExistsError, StoredRun, UnknownRunError
from tocsin.scheduling.lease import LOOK_S, Lease


class MovableRuns:
    """The runs of either store."""

    def __init__(self, records: RunRecords) -> None:
        self._records = records

    async def count(self) -> int:
        return (await self._records.counts([RunFilter()]))[0]

    async def oldest(self, limit: int) -> list[StoredRun]:
        records = []
        for run in await self._records.search(RunFilter(limit=limit, oldest_first=True)):
            with suppress(UnknownRunError):  # another process has just moved it
                records.append(await self._records.get(run.id))
        return records

    async def take_in(self, records: Sequence[StoredRun]) -> None:
        known = {run.id for run in await self._records.several([record.run.id for record in records])}
        for record in records:
            if record.run.id not in known:
                # The other store has a run of this instant, or another process has just moved this one.
                with suppress(InstantRecordedError, RunExistsError):
                    await self._records.add(record)

    async def remove(self, records: Sequence[StoredRun]) -> None:
        await self._records.remove([record.run.id for record in records])


async def move_under_lease(source: RunRecords, target: RunRecords, lease: Lease, clock: Clock) -> None:
    """Move all runs, or wait until another process has moved them; after a kill, the next process continues.

    A process that is stopped until it has lost the lease changes no run that the target has by then.
    """
    move = Move("runs", MovableRuns(source), MovableRuns(target))
    try:
        while await move.count():
            if await lease.keep():
                await move.step()
            else:
                await clock.sleep(LOOK_S)
    finally:
        await lease.release()
