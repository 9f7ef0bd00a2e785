"""What follows from the ends of runs, such as their output and a retry."""

import logging
import sqlite3
from collections.abc import Awaitable, Callable, Iterable

from tocsin.core.errors import TocsinError
from tocsin.runs import rows
from tocsin.runs.model import Run, RunStatus

log = logging.getLogger(__name__)

OWNERS_S = 5.0  # for so long the process of a run is left to settle it: it answers when that is done


def unsettled(connection: sqlite3.Connection, table: str, now: float, limit: int) -> list[Run]:
    """Return runs named in `table` that have ended, and about whose end something has still to be done.

    Those that never began, and those that a dead process left, are nobody's; the others only after a while.
    """
    # CROSS JOIN: SQLite would go through all runs, and look each up in the short table.
    sql = f"""
        SELECT runs.* FROM {table} CROSS JOIN runs ON runs.id = run_id
        WHERE finished_at IS NOT NULL
            AND (started_at IS NULL OR status = ? OR finished_at NOT BETWEEN ? AND ?)
        ORDER BY run_id LIMIT ?
    """  # noqa: S608  # our own name
    found = connection.execute(sql, [RunStatus.INTERRUPTED, now - OWNERS_S, now, limit])
    return [rows.run_of(row) for row in found]


class Settling:
    """Has ended runs settled; one that meets a bug is logged and left out, and holds up no other."""

    def __init__(self, settle: Callable[[Run], Awaitable[object]]) -> None:
        self._settle = settle
        self._left_out: set[str] = set()

    async def work_off(self, runs: Iterable[Run]) -> bool:
        """Have each run settled; return whether one was. Raises TocsinError, after which it may be called again."""
        settled = False
        for run in runs:
            if run.id in self._left_out:
                continue
            try:
                await self._settle(run)
                settled = True
            except TocsinError:
                raise
            except Exception:
                self._left_out.add(run.id)
                log.exception("what follows from the end of a run failed", extra={"run": run.id})
        return settled
