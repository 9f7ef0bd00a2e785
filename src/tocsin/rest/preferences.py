"""`Prefer: wait=N`: the answer to what takes long, once it has ended or N seconds have passed."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any, Protocol

from fastapi import Request
from fastapi.responses import JSONResponse

from tocsin.runs.document import as_document
from tocsin.runs.model import Run

MAX_WAIT_S = 30
_WAIT = re.compile(r"wait\s*=\s*\"?([0-9]{1,9})\"?", re.ASCII)


def wait_s_of(request: Request) -> int:
    """Return how long the caller is let wait: a preference is no demand (RFC 7240, sections 2 and 4.3)."""
    for value in request.headers.getlist("prefer"):
        for preference in value.split(","):
            if found := _WAIT.fullmatch(preference.partition(";")[0].strip().lower()):
                return min(int(found[1]), MAX_WAIT_S)
    return 0


class BegunRun(Protocol):
    """A run that was started, and the task that returns it once it has ended and its audit entry is written."""

    @property
    def run(self) -> Run:
        """The run as it was when it was started."""
        ...

    @property
    def task(self) -> "asyncio.Task[Run]":
        """Returns the run once it has ended."""
        ...


async def answer_run(request: Request, running: BegunRun) -> JSONResponse:
    """Return 202 with where the run can be read, or 200 with the run if it ends in time."""
    seconds, run = wait_s_of(request), running.run
    if seconds:
        done, _ = await asyncio.wait([running.task], timeout=seconds)
        if done:
            return JSONResponse(as_document(running.task.result()), headers=_applied(run.id, seconds))
    return accepted(as_document(run), run.id, seconds)


def accepted(document: Mapping[str, Any], run_id: str, waited: int = 0) -> JSONResponse:
    """Return the answer to a run that has not ended."""
    return JSONResponse(dict(document), 202, headers=_applied(run_id, waited))


def _applied(run_id: str, seconds: int) -> dict[str, str]:
    applied = {"Preference-Applied": f"wait={seconds}"} if seconds else {}
    return {"Location": f"/api/runs/{run_id}", **applied}
