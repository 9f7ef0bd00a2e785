"""Schedulers to be killed: `python -m tests.features.cron.victim` makes one for each line that it reads."""

import asyncio

from tests.forked import begun, serve_forks

from tocsin.assembly.full.services import run_engine
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import direct_transport, open_app
from tocsin.core.process.forking import forked_reapers
from tocsin.features.cron.scheduler import Scheduler


async def live(*, long: bool) -> None:
    settings, installed = load_settings()
    async with forked_reapers(), open_app(settings, installed, direct_transport) as app:
        await app.runs().recover()
        [scheduler] = [each for each in app.features.schedulers() if isinstance(each, Scheduler)]
        if long:
            begun()
            async with asyncio.TaskGroup() as group:
                group.create_task(run_engine(app).run())
                await scheduler.run()
        else:
            await scheduler.step()


serve_forks(lambda _: live(long=True), lambda: live(long=False))
