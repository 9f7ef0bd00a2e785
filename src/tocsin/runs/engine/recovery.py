"""End the runs of processes that have ended, and the child processes that they left running."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tocsin.core.process.identity import read_identity
from tocsin.core.process.presence import SILENCE_S, Presence
from tocsin.core.process.starting import kill_tree
from tocsin.core.time.clock import Clock
from tocsin.runs.log_file import log_path, read_host, read_lines, summarise
from tocsin.runs.model import ACTIVE, Run, RunResult, RunStatus
from tocsin.runs.store import RunStore
from tocsin.runs.stored_run import StoredRun

log = logging.getLogger(__name__)

_HOME = "home "  # prefix of the identities of data directories, to distinguish them from processes
_NOT_BEGUN = "Tocsin stopped before the run started"
WAS_LEFT = "the Tocsin process of the run stopped"
_DEAD = "Tocsin was killed or crashed during the run"
_SILENT = f"the Tocsin process of the run has not responded for {SILENCE_S:.0f} seconds"


class Recovery:
    """Ends or releases the runs of processes that have ended."""

    def __init__(
        self,
        store: RunStore,
        directory: Path,
        clock: Clock,
        presence: Presence,
        *,
        may_continue: Callable[[Run, Mapping[str, Any]], bool],
    ) -> None:
        """`may_continue` receives a run and its request, and returns whether another process can continue it."""
        self._store = store
        self._directory = directory
        self._clock = clock
        self._presence = presence
        # While a process of this data directory is running, other data directories do not start runs queued here.
        self._home = presence.named(f"{_HOME}{store.home}")
        self._may_continue = may_continue

    async def recover(self) -> list[Run]:
        """End or release the runs of all processes that have ended, and return them."""
        await self._adopt_queued()
        orphans = await self._store.records.active(ACTIVE)
        # A queued run without an owner belongs to whichever process schedules its kind.
        gone = await self._presence.gone({orphan.owner for orphan in orphans if orphan.owner})
        left = [orphan for orphan in orphans if orphan.owner in gone]
        return [await self._take_over(orphan) for orphan in left]

    async def _adopt_queued(self) -> None:
        """Allow any data directory to start queued runs whose own processes have been silent for a minute."""
        if not self._store.home:
            return
        await self._home.beat()
        queued = await self._store.queued_elsewhere()
        gone = await self._home.gone({f"{_HOME}{run.home}" for run in queued})
        for run in queued:
            if f"{_HOME}{run.home}" in gone:
                log.warning(
                    "a queued run of another host is adopted", extra={"run": run.id, "host": read_host(run.home)}
                )
                await self._store.adopt(run.id)

    async def interrupt_runs_of(self, owner: str) -> list[Run]:
        """End or release the runs of one process that has ended, and return them."""
        orphans = [orphan for orphan in await self._store.records.active(ACTIVE) if orphan.owner == owner]
        return [await self._take_over(orphan) for orphan in orphans]

    async def end_if_left(self, run: Run) -> Run:
        """Return the run; end it if its process has verifiably ended."""
        orphan = await self._store.records.get(run.id)
        left = not orphan.owner or self._presence.is_dead(orphan.owner)
        return await self._take_over(orphan) if left else run

    async def _take_over(self, orphan: StoredRun) -> Run:
        run = orphan.run
        pid = orphan.child.partition(":")[0]
        if pid.isdecimal() and read_identity(int(pid)) == orphan.child:
            await kill_tree(int(pid))
        if run.status is not RunStatus.CANCELLING and self._may_continue(run, await self._store.request_of(run.id)):
            return await self._store.release(run.id, orphan.owner)
        path = log_path(self._directory, run.id, run.queued_at)
        output = await asyncio.to_thread(lambda: summarise(read_lines(path)))
        log.warning("a run was interrupted", extra={"run": run.id, "subject": run.subject_name})
        return await self._store.finish(run.id, self._end_of(orphan), output, self._clock.now())

    def _end_of(self, orphan: StoredRun) -> RunResult:
        if orphan.run.status is RunStatus.QUEUED:
            return not_begun(orphan.run.id)
        is_dead = not orphan.owner or self._presence.is_dead(orphan.owner)
        return interrupted(_DEAD if is_dead else _SILENT, orphan.run.id)


def not_begun(run_id: str) -> RunResult:
    """Return the result of a run whose process ended while it was queued."""
    return interrupted(_NOT_BEGUN, run_id)


def interrupted(cause: str, run_id: str) -> RunResult:
    """Return the result of a run that was interrupted by `cause`."""
    return RunResult(RunStatus.INTERRUPTED, f"{cause}; run it again: tocsin runs retry {run_id}")
