"""Show a typing indicator while an answer is being prepared."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tocsin.channels.inbound import InboundAdapter, InboundMessage
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)


@asynccontextmanager
async def show_indicator(adapter: InboundAdapter, clock: Clock, message: InboundMessage) -> AsyncIterator[None]:
    """Show the channel's indicator while the block runs; failures are only logged."""
    ended = False

    async def show() -> None:
        # A client library may swallow a cancellation that coincides with its own time-out; `ended` stops the loop.
        while not ended:
            try:
                await adapter.start_processing_indicator(message)
            except Exception as error:  # noqa: BLE001  # a nicety must never cost the answer
                log.debug("showing the indicator failed", extra={"channel": message.channel, "reason": str(error)})
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
