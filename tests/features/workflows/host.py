"""One host of several: `python -m tests.features.workflows.host NAME...` begins workflows and continues runs.

It ends at SIGTERM as a service does, or when the test that started it is gone.
"""

import asyncio
import os
import signal
import sys

from tests.messaging.inbound.inbox_hall import Bell

from tocsin.assembly.full.services import run_engine
from tocsin.assembly.light import Installed, load_settings
from tocsin.assembly.program import App, direct_transport, open_app
from tocsin.core.process.forking import forked_reapers
from tocsin.features.workflows.requests import WorkflowRequest
from tocsin.runs.model import RunTrigger


async def main(names: list[str]) -> None:
    settings, installed = load_settings()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    with_bell = Installed((*installed.channels, Bell), installed.features)
    async with forked_reapers(), open_app(settings, with_bell, direct_transport) as app:
        for name in names:
            await app.features.opened("workflows").begin(name, WorkflowRequest(RunTrigger.MANUAL, source="cli"))
        engine = run_engine(app)
        working, recovering = asyncio.create_task(engine.run()), asyncio.create_task(_recover(app))
        await stop.wait()
        engine.stop()
        await working
        recovering.cancel()


async def _recover(app: App) -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        await app.runs().recover()
        await asyncio.sleep(0.2)
    os._exit(1)


asyncio.run(main(sys.argv[1:]))
