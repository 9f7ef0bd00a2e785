"""What the start of a workflow means while a run of it is at work: its `overlap`."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from tocsin.core.time.clock import Clock
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
    await wait_for_turn(active, "")


async def wait_for_turn(active: Active, run_id: str) -> None:
    """Wait until no earlier run is at work or queued; without `run_id`, until none is."""
    while any(not run_id or run.id < run_id for run in await active()):  # noqa: ASYNC110  # they end in any process
        await asyncio.sleep(LOOK_S)
