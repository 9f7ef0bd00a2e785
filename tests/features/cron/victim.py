"""A scheduler in a process of its own, to be killed: `python -m tests.features.cron.victim`."""

import asyncio
import os

from tocsin.assembly.program import direct_transport, load_settings, open_app
from tocsin.features.cron.scheduler import Scheduler


async def main() -> None:
    settings, installed = load_settings()
    async with open_app(settings, installed, direct_transport) as app:
        await app.runs().recover()
        [scheduler] = [each for each in app.features.schedulers() if isinstance(each, Scheduler)]
        os.write(1, b"ready\n")
        await scheduler.run()


asyncio.run(main())
