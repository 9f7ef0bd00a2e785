"""What watches, in a process of its own, to be killed: `python -m tests.features.watchers.victim`."""

import asyncio

from tocsin.assembly.full.services import run_engine
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import direct_transport, open_app
from tocsin.features.watchers.watching.watcher_service import WatcherService


async def main() -> None:
    settings, installed = load_settings()
    async with open_app(settings, installed, direct_transport) as app:
        await app.runs().recover()
        [service] = [each for each in app.features.schedulers() if isinstance(each, WatcherService)]
        async with asyncio.TaskGroup() as group:
            group.create_task(run_engine(app).run())
            await service.run()


asyncio.run(main())
