"""The watchdog: one process calls HEARTBEAT_OUT_URL each minute, and a monitor elsewhere notices if it stops."""

import asyncio
import logging
import shutil
from typing import Protocol

from tocsin.core.errors import TocsinError
from tocsin.core.http.direct import DirectTransport
from tocsin.core.http.transport import HttpResponse
from tocsin.core.service import ServiceLoop, StopEvent
from tocsin.features.context import FeatureContext
from tocsin.features.heartbeats.feature import HEARTBEAT_OUT_URL
from tocsin.scheduling.lease import LOOK_S, Lease

log = logging.getLogger(__name__)

LEASE = "outside-watchdog"
EVERY_S = 60.0
_TIMEOUT_S = 20.0
_LEAST_FREE_BYTES = 100 * 1024 * 1024


class WatchdogCalls(Protocol):
    """The HTTP client of the watchdog."""

    async def request(self, method: str, url: str, *, headers: dict[str, str], timeout_s: float) -> HttpResponse:
        """Make a call and return the response."""


class OutsideWatchdog:
    """Calls a monitor elsewhere while the queue and the disk are in order, and this process holds the lease."""

    def __init__(self, context: FeatureContext, transport: WatchdogCalls | None = None, holder: str = "") -> None:
        self._context = context
        self._url = context.settings[HEARTBEAT_OUT_URL]
        self._transport = transport
        self._lease = Lease(context.database, LEASE, context.clock, holder)
        self._stop = StopEvent()
        self._loop = ServiceLoop("the watchdog", self.step, context.clock, stop=self._stop)
        self._called_at: float | None = None  # monotonic
        self.trouble = ""  # why the last call was not made, or failed

    def stop(self) -> None:
        """Make no more calls."""
        self._loop.stop()

    async def run(self) -> None:
        """Call each minute until `stop`; without an address, only wait."""
        if not self._url:
            await self._stop.wait()
            return
        await self._loop.run()

    async def step(self) -> float:
        """Call the address if that is due, and return the seconds until the next step."""
        if not await self._lease.keep():
            return LOOK_S
        now = self._context.clock.monotonic()
        if self._called_at is not None and now - self._called_at < EVERY_S:
            return LOOK_S
        self._called_at = now
        trouble = await self._find_trouble() or await self._call()
        if trouble != self.trouble:
            said = "the monitor elsewhere is not called" if trouble else "the monitor elsewhere is called again"
            log.log(logging.WARNING if trouble else logging.INFO, said, extra={"reason": trouble})
        self.trouble = trouble
        return LOOK_S

    async def _find_trouble(self) -> str:
        if trouble := await self._context.output.trouble(self._context.clock.now()):
            return trouble
        free = await asyncio.to_thread(lambda: shutil.disk_usage(self._context.data_dir).free)
        return "the disk of the data directory is full" if free < _LEAST_FREE_BYTES else ""

    async def _call(self) -> str:
        transport = self._transport or DirectTransport()
        try:
            response = await transport.request("GET", self._url, headers={}, timeout_s=_TIMEOUT_S)
        except TocsinError as error:
            return str(self._context.redact(error.sentence()))
        finally:
            if isinstance(transport, DirectTransport):
                await transport.aclose()
        return "" if response.status < 400 else f"the answer was {response.status}"
