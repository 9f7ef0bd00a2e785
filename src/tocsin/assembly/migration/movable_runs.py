"""Runs as records that move from one store into the other, with their steps, hosts, questions and tasks."""

from collections.abc import Sequence

from tocsin.runs.filters import RunFilter
from tocsin.runs.records import RunRecords
from tocsin.runs.stored_run import InstantRecordedError, StoredRun


class MovableRuns:
    """The runs of either store."""

    def __init__(self, records: RunRecords) -> None:
        self._records = records

    async def count(self) -> int:
        return (await self._records.counts([RunFilter()]))[0]

    async def oldest(self, limit: int) -> list[StoredRun]:
        found = await self._records.search(RunFilter(limit=limit, oldest_first=True))
        return [await self._records.get(run.id) for run in found]

    async def take_in(self, records: Sequence[StoredRun]) -> None:
        known = {run.id for run in await self._records.several([record.run.id for record in records])}
        for record in records:
            if record.run.id not in known:
                try:
                    await self._records.add(record)
                except InstantRecordedError:  # the other store has a run of this instant
                    continue

    async def remove(self, records: Sequence[StoredRun]) -> None:
        await self._records.remove([record.run.id for record in records])
