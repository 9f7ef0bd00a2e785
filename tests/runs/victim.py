"""Processes to be killed: `python -m tests.runs.victim` makes one for each line that it reads.

Each starts runs of many kinds, answers what waits for a person, and continues what the one before left; after the line
`drain` it starts nothing new. Each is a fork of a process that has opened the program once, elsewhere: a start of
Python takes twenty times as long. Prints the number of the process when it begins, and an empty line at its end.
"""

import asyncio
import itertools
import os
import sys
import tempfile

from tocsin.assembly.program import App, direct_transport, load_settings, open_app
from tocsin.assembly.services import run_engine
from tocsin.core.process.forking import forked_reapers
from tocsin.features.cron.scheduler import Scheduler
from tocsin.features.jobs.model import NewTaskJob
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.approvals import Decision, NotWaitingError
from tocsin.runs.control import StartRequest
from tocsin.runs.model import RunStatus, RunTrigger

STARTED = (
    ("workflow", "asks"),
    ("workflow", "queued"),
    ("workflow", "pauses"),
    ("workflow", "outer"),
    ("cron", "fails"),
    ("cron", "flow"),
    ("skill", "it"),
    ("ssh", "nowhere"),
    ("watcher", "files"),
    ("job", ""),
)
_JOB = "echo $RUN_ID job 1 >> ../../trace"
_PARAMS = {"ssh": {"command": "true"}, "watcher": {"path": "FILE", "event": "modified"}}


async def live(*, drain: bool) -> None:
    settings, installed = load_settings()
    async with forked_reapers(), open_app(settings, installed, direct_transport) as app:
        [scheduler] = [each for each in app.features.schedulers() if isinstance(each, Scheduler)]
        os.write(1, b"%d\n" % os.getpid())
        async with asyncio.TaskGroup() as group:
            group.create_task(scheduler.run())
            group.create_task(run_engine(app).run())
            group.create_task(_recover(app))
            group.create_task(_approve(app))
            if not drain:
                group.create_task(_start(app))


async def _recover(app: App) -> None:
    parent = os.getppid()
    while os.getppid() == parent:  # the test may have been killed, which then kills nothing any more
        await app.runs().recover()
        await app.features.opened("jobs").recovery.recover()
        await asyncio.sleep(0.2)
    os._exit(1)


async def _approve(app: App) -> None:
    while True:
        for run in (await app.runs().search(status=(RunStatus.WAITING,), limit=200)).items:
            try:
                await app.runs().decide(Decision(run.id, "", approved=True, by=None, at=app.clock.now()))
            except NotWaitingError:  # it has ended meanwhile
                continue
        await asyncio.sleep(0.1)


async def _start(app: App) -> None:
    """Start one run after the other, beginning anywhere: most processes do not live long."""
    jobs = app.features.opened("jobs")
    file = str(_watched_file(app))
    for kind, subject in itertools.islice(itertools.cycle(STARTED), os.getpid() % len(STARTED), None):
        params = {name: value.replace("FILE", file) for name, value in _PARAMS.get(kind, {}).items()}
        request = StartRequest(source="dashboard", cause=RunTrigger.API, actor="ana", params=params)
        started = subject or (await jobs.create(NewTaskJob(title="a job", command=_JOB), Caller("cli"))).id
        # One that is queued begins later: that is not waited for.
        await asyncio.wait(
            {asyncio.create_task(app.features.abilities.start_run(kind, started, request))}, timeout=0.05
        )


def _watched_file(app: App) -> os.PathLike[str]:
    return app.settings.data_dir / "watched" / "a.txt"


def load_everything() -> None:
    own = os.environ["TOCSIN_DATA_DIR"]
    with tempfile.TemporaryDirectory() as elsewhere:
        os.environ["TOCSIN_DATA_DIR"] = elsewhere

        async def once() -> None:
            settings, installed = load_settings()
            async with forked_reapers(), open_app(settings, installed, direct_transport) as app:
                await run_engine(app).step()
                for name in ("workflows", "cron", "skills", "ssh", "watchers", "jobs"):
                    app.features.opened(name)

        asyncio.run(once())
    os.environ["TOCSIN_DATA_DIR"] = own


load_everything()
for line in sys.stdin:
    if not (pid := os.fork()):
        sys.stdin.close()
        asyncio.run(live(drain=line.strip() == "drain"))
        os._exit(0)
    os.waitpid(pid, 0)
    os.write(1, b"\n")
