"""A workflow at work in a process of its own, to be killed: `python -m tests.features.workflows.victim NAME`."""

import asyncio
import sys

from tocsin.assembly.light import load_settings
from tocsin.assembly.program import direct_transport, open_app
from tocsin.core.process.forking import forked_reapers
from tocsin.features.workflows.requests import WorkflowRequest
from tocsin.runs.model import RunTrigger


async def main(name: str) -> None:
    settings, installed = load_settings()
    async with forked_reapers(), open_app(settings, installed, direct_transport) as app:
        await app.features.opened("workflows").run(name, WorkflowRequest(RunTrigger.MANUAL, source="cli"))


asyncio.run(main(sys.argv[1]))
