"""Show a person that somebody works on an answer, for as long as that takes."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tocsin.channels.inbound import InboundAdapter, InboundMessage
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)


@asynccontextmanager
async def indicating(adapter: InboundAdapter, clock: Clock, message: InboundMessage) -> AsyncIterator[None]:
    """Show the indicator of the channel while the block runs; that it cannot be shown is no error."""
    ended = False

    async def show() -> None:
        # A client library may swallow a cancellation that meets its own time-out: the flag ends it then.
        while not ended:
            try:
                await adapter.start_processing_indicator(message)
            except Exception as error:  # noqa: BLE001  # a nicety must never cost the answer
                log.debug("the indicator is not shown", extra={"channel": message.channel, "reason": str(error)})
            if adapter.indicator_every_s is None:
                return
            await clock.sleep(adapter.indicator_every_s)
            await asyncio.sleep(0)

    task = asyncio.create_task(show())
    try:
        yield
    finally:
        ended = True
        task.cancel()
        await asyncio.wait({task})
