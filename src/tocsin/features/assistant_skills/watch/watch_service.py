"""The folders of SKILLS_WATCH, watched by one of the processes that run services."""

import asyncio
from collections.abc import Callable

from tocsin.core.service import ServiceLoop
from tocsin.core.tasks import to_the_end
from tocsin.core.time.clock import Clock
from tocsin.features.assistant_skills.watch.assistant_watch import AssistantWatch
from tocsin.scheduling.lease import LOOK_S, Lease

LEASE = "skills-watch"


class WatchService:
    """Watches while this process holds the lease; without folders it does nothing until it is stopped."""

    def __init__(self, make: Callable[[], AssistantWatch] | None, lease: Lease, clock: Clock) -> None:
        """`make` is called each time this process takes the lease, and returns the watch; `None` disables watching."""
        self._make = make
        self._lease = lease
        self._loop = ServiceLoop("the watch of skills", self._step, clock)
        self._task: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Take the lease when it is free, and watch while it is held."""
        try:
            await self._loop.run()
        finally:
            await to_the_end(self._end())

    def stop(self) -> None:
        """End the runs of skills, and give the lease back."""
        self._loop.stop()

    async def _step(self) -> float:
        if self._make is None:
            return 3600.0
        if not await self._lease.keep():
            await self._cancel()
        elif self._task is None:
            self._task = asyncio.create_task(self._make().run())
        elif self._task.done():
            ended, self._task = self._task, None
            ended.result()  # raises what ended it; the loop reports it and begins again
        return LOOK_S

    async def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _end(self) -> None:
        await self._cancel()
        await self._lease.release()
