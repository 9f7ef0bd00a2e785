"""What the start of a workflow means while a run of it is at work: its `overlap`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock
from tocsin.runs import queue
from tocsin.runs.model import Run
from tocsin.runs.service import Runs
from tocsin.runs.store import RunEndedError

LOOK_S = 0.2  # how often it is looked whether earlier runs have ended

Active = Callable[[], Awaitable[Sequence[Run]]]


def reason_to_skip(active: Sequence[Run], clock: Clock) -> str:
    """Return why a run is skipped."""
    oldest = min(active, key=lambda run: run.queued_at)
    minutes = max(0.0, clock.now() - oldest.queued_at) / 60
    return f"previous run {oldest.id} has been at work for {minutes:.0f} min"


async def end_all(runs: Runs, active: Active) -> None:
    """Cancel the runs that are at work, and wait until they have ended."""
    for run in await active():
        with suppress(RunEndedError):
            await runs.cancel(run.id, "a newer run replaces it")
    while await active():  # noqa: ASYNC110  # they end in any process
        await asyncio.sleep(LOOK_S)


async def wait_for_turn(database: Database, run: Run) -> None:
    """Wait until no earlier run is at work or queued, or until the run itself is not queued any more."""
    while not await database.read(lambda connection: queue.is_next(connection, run)):  # noqa: ASYNC110  # as above
        await asyncio.sleep(LOOK_S)
