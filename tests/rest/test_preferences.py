"""What is answered to `Prefer: wait=N`."""

import asyncio
import json
from dataclasses import dataclass, replace
from types import SimpleNamespace

from fastapi import Request

from tocsin.rest.preferences import answer_run
from tocsin.runs.model import Run, RunSpec, RunStatus, RunTrigger, new_run


@dataclass
class Begun:
    """A run that was started."""

    run: Run

    async def wait(self) -> Run:
        await asyncio.Event().wait()
        return self.run


async def test_a_run_that_outlasts_the_wait_is_answered_as_it_is_by_then():
    spec = RunSpec("workflow", "ask", "ask", RunTrigger.API, "anna")
    begun = new_run(spec, RunStatus.RUNNING, 1_000.0)
    asked = []

    async def run_of(run_id: str) -> Run:
        asked.append(run_id)
        return replace(begun, status=RunStatus.WAITING)

    app = SimpleNamespace(state=SimpleNamespace(run_of=run_of))
    for prefer, status, applied in ((b"wait=1", "waiting", "wait=1"), (b"wait=0", "running", None)):
        request = Request({"type": "http", "headers": [(b"prefer", prefer)], "app": app})
        answer = await answer_run(request, Begun(begun))
        assert (answer.status_code, json.loads(answer.body)["status"]) == (202, status)
        assert (answer.headers["location"], answer.headers.get("preference-applied")) == (
            f"/api/runs/{begun.id}", applied,
        )  # fmt: skip
    assert asked == [begun.id]
