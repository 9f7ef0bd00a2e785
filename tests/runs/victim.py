"""Processes to be killed: `python -m tests.runs.victim` makes one for each line that it reads.

Each starts runs of many kinds, answers what waits for a person, and continues what the one before left; after the line
`drain` it starts nothing new.
"""

import asyncio
import itertools
import os
from typing import Any

from tests.forked import begun, serve_forks
from tests.messaging.inbound.inbox_hall import Bell

from tocsin.assembly.full.receiving import open_receiving
from tocsin.assembly.full.services import run_engine
from tocsin.assembly.light import Installed, load_settings
from tocsin.assembly.program import App, direct_transport, open_app
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.config.settings import Settings
from tocsin.core.ids import new_id
from tocsin.core.process.forking import forked_reapers
from tocsin.features.cron.scheduler import Scheduler
from tocsin.features.jobs.model import NewTaskJob
from tocsin.messaging.inbound.inbox import Inbox
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
    ("skill", "secret-scanner"),
    ("trigger", "again"),
    ("trigger", "once"),
    ("ssh", "nowhere"),
    ("watcher", "files"),
    ("job", ""),
)
_JOB = "echo $RUN_ID job 1 >> ../../trace"


def settings_with_bell() -> tuple[Settings, Installed]:
    """Return the settings, and what is installed with a channel for received messages and summaries."""
    settings, installed = load_settings()
    return settings, Installed((*installed.channels, Bell), installed.features)


async def live(*, drain: bool) -> None:
    settings, installed = settings_with_bell()
    async with forked_reapers(), open_app(settings, installed, direct_transport) as app:
        [scheduler] = [each for each in app.features.schedulers() if isinstance(each, Scheduler)]
        inbox = (await open_receiving(app, fetch=False)).inbox
        begun()
        async with asyncio.TaskGroup() as group:
            group.create_task(scheduler.run())
            group.create_task(run_engine(app).run())
            group.create_task(inbox.run())
            group.create_task(_recover(app))
            group.create_task(_approve(app))
            if not drain:
                group.create_task(_start(app, inbox))


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


async def _start(app: App, inbox: Inbox) -> None:
    """Start one run after the other, beginning anywhere: most processes do not live long."""
    jobs = app.features.opened("jobs")
    for kind, subject in itertools.islice(itertools.cycle(STARTED), os.getpid() % len(STARTED), None):
        if kind == "trigger":
            await inbox.accept([_message(subject)])
            await asyncio.sleep(0.05)
            continue
        request = StartRequest(
            source="dashboard", cause=RunTrigger.API, actor="ana", params=_params(app, kind, subject)
        )
        started = subject or (await jobs.create(NewTaskJob(title="a job", command=_JOB), Caller("cli"))).id
        # One that is queued begins later: that is not waited for.
        await asyncio.wait(
            {asyncio.create_task(app.features.abilities.run_starter.start(kind, started, request))}, timeout=0.05
        )


def _params(app: App, kind: str, subject: str) -> dict[str, Any]:
    file = str(app.settings.data_dir / "watched" / "a.txt")
    match kind, subject:
        case "ssh", _:
            return {"command": "true"}
        case "watcher", _:
            return {"path": file, "event": "modified"}
        case "skill", "it":
            return {"mode": "standard", "args": [new_id()]}
        case "skill", _:
            return {"args": ["a.txt"]}
    return {}


def _message(rule: str) -> InboundMessage:
    key = new_id()
    return InboundMessage(
        channel=Bell.spec.kind,
        kind=MessageKind.MESSAGE,
        id=key,
        dedupe_keys=(key,),
        chat_id=f"chat{key[-1]}",
        text=rule,
        sender_id="U7",
        sender_name="Ada",
    )


async def load_everything() -> None:
    settings, installed = settings_with_bell()
    async with forked_reapers(), open_app(settings, installed, direct_transport) as app:
        await open_receiving(app, fetch=False)
        await run_engine(app).step()
        for name in ("workflows", "cron", "skills", "assistant_skills", "ssh", "watchers", "jobs", "triggers"):
            app.features.opened(name)


serve_forks(lambda line: live(drain=line == "drain"), load_everything)
