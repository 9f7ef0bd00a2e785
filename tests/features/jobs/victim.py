"""Task jobs at work in a process of their own, to be killed: `python -m tests.features.jobs.victim REPOSITORY`."""

import asyncio
import os
import sys

from tocsin.assembly.light import load_settings
from tocsin.assembly.program import direct_transport, open_app
from tocsin.features.jobs.model import NewTaskJob
from tocsin.features.jobs.service import TaskJobs
from tocsin.messaging.outbound.caller import Caller

AT_ONCE = 4
COMMAND = "echo $JOB_ID > file && git add file && git -c user.name=x -c user.email=x@example.org commit -qm Work"


async def main(repo: str) -> None:
    settings, installed = load_settings()
    async with open_app(settings, installed, direct_transport) as app:
        jobs: TaskJobs = app.features.opened("jobs")
        cut = len(await jobs.store.unfinished())
        await jobs.recovery.recover()
        os.write(1, f"ready {cut}\n".encode())
        await asyncio.gather(*(_work(jobs, repo, number) for number in range(AT_ONCE)))


async def _work(jobs: TaskJobs, repo: str, number: int) -> None:
    """Create, start and delete jobs until somebody kills this process; every fourth one is left as it is."""
    caller, count = Caller("cli"), number
    while True:
        count += 1
        job = await jobs.create(NewTaskJob(title=f"Task {count}", repo=repo, command=COMMAND), caller)
        started = await jobs.start(job.id, caller)
        if started.run is not None:
            await started.run.wait()
        if count % 4:
            await jobs.delete(job.id, caller, delete_branch=True, force=True)


asyncio.run(main(sys.argv[1]))
