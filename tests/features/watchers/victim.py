"""What watches, to be killed: `python -m tests.features.watchers.victim` makes a process for each line that it reads.

Each is a fork of a process that has opened the program once, elsewhere. Prints the number of the process when it
begins, and an empty line at its end.
"""

import asyncio
import os
import sys
import tempfile

from tocsin.assembly.full.services import run_engine
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import direct_transport, open_app
from tocsin.core.process.forking import forked_reapers
from tocsin.features.watchers.watching.watcher_service import WatcherService


async def live(*, watch: bool) -> None:
    settings, installed = load_settings()
    async with forked_reapers(), open_app(settings, installed, direct_transport) as app:
        await app.runs().recover()
        [service] = [each for each in app.features.schedulers() if isinstance(each, WatcherService)]
        if watch:
            os.write(1, b"%d\n" % os.getpid())
            async with asyncio.TaskGroup() as group:
                group.create_task(run_engine(app).run())
                await service.run()


def load_everything() -> None:
    own = os.environ["TOCSIN_DATA_DIR"]
    with tempfile.TemporaryDirectory() as elsewhere:
        os.environ["TOCSIN_DATA_DIR"] = elsewhere
        asyncio.run(live(watch=False))
    os.environ["TOCSIN_DATA_DIR"] = own


load_everything()
for _ in sys.stdin:
    if not (pid := os.fork()):
        sys.stdin.close()
        asyncio.run(live(watch=True))
        os._exit(0)
    os.waitpid(pid, 0)
    os.write(1, b"\n")
