"""What follows from the ends of runs, such as their output and a retry."""

import logging
from collections.abc import Awaitable, Callable, Iterable

from tocsin.core.errors import TocsinError
from tocsin.runs.model import Run

log = logging.getLogger(__name__)


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
