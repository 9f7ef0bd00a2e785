"""A service ends the runs that a process on another host left behind."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.clocks import SteppedClock
from tests.runs.conftest import order
from tests.waiting import eventually

from tocsin.assembly.full.services import _run_maintenance
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import assemble
from tocsin.assembly.storage import open_stores
from tocsin.channels.contract import Tools
from tocsin.core.ids import new_id
from tocsin.core.process.presence import SILENCE_S
from tocsin.runs.model import RunResult, RunStatus
from tocsin.runs.sqlite.records import sqlite_runs
from tocsin.testing.fakes import ScriptedTransport


async def test_a_service_ends_the_run_of_a_process_elsewhere_after_a_minute_without_a_sign_of_life(tmp_path: Path):
    (tmp_path / "empty.env").touch()
    environ = {"TOCSIN_DATA_DIR": str(tmp_path), "REDIS_URL": "off"}
    settings, installed = load_settings(environ=environ, env_file=tmp_path / "empty.env")
    clock = SteppedClock()
    async with AsyncExitStack() as stack:
        stores = open_stores(settings, installed.features, stack, clock)
        tools = partial(Tools, ScriptedTransport(), clock)
        app = assemble(settings, installed, tools=tools, stores=stores, clock=clock)
        run = await app.runs().record(order(), RunResult(RunStatus.SKIPPED))
        left = replace(run, id=new_id(), status=RunStatus.RUNNING, finished_at=None)
        await sqlite_runs(app.database).add(left, "a process elsewhere")
        maintenance = asyncio.create_task(_run_maintenance(app))

        async def interrupted_later() -> bool:
            clock.advance(1)
            return (await app.runs().get(left.id)).status is RunStatus.INTERRUPTED

        began_at = clock.monotonic()
        await eventually(interrupted_later)
        assert clock.monotonic() - began_at >= SILENCE_S
        maintenance.cancel()
        await asyncio.wait({maintenance})
