"""Preferences of callers: the media type of a response, and `Prefer: wait=N` for long operations."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from fastapi import Request
from fastapi.responses import JSONResponse

from tocsin.core.records.as_json import to_json
from tocsin.runs.model import Run

MAX_WAIT_S = 30
_WAIT = re.compile(r"wait\s*=\s*\"?([0-9]{1,9})\"?", re.ASCII)
VARIES = "tocsin.varies"  # set in the scope of a request whose response depends on `Accept`
_WEIGHT = re.compile(r"q\s*=\s*(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)", re.ASCII)
# Responses to the start of a run: the ended run, or the one that is still active.
RUN_STARTED: dict[int | str, dict[str, Any]] = {
    200: {"model": Run, "description": "The run, which ended within `Prefer: wait=N`."},
    202: {"model": Run, "description": "The run has started. Its URL is in `Location`."},
}


def preferred_wait_s(request: Request) -> int:
    """Return the seconds that the caller may wait; preferences are optional (RFC 7240, sections 2 and 4.3)."""
    for value in request.headers.getlist("prefer"):
        for preference in value.split(","):
            if found := _WAIT.fullmatch(preference.partition(";")[0].strip().lower()):
                return min(int(found[1]), MAX_WAIT_S)
    return 0


class BegunRun(Protocol):
    """A started or queued run."""

    @property
    def run(self) -> Run:
        """The run as it was at its start."""

    async def wait(self) -> Run:
        """Return the run once it has ended and its audit entry is written; cancelling this does not cancel the run."""


async def answer_run(request: Request, running: BegunRun) -> JSONResponse:
    """Return 202 with the location of the run, or 200 with the run if it ends in time.

    After the wait, 202 has the current state of the run: it may be waiting for an approval by then.
    """
    seconds, run = preferred_wait_s(request), running.run
    if not seconds:
        return accepted(to_json(run), run.id)
    try:
        ended = await asyncio.wait_for(running.wait(), seconds)
    except TimeoutError:
        pass
    else:
        return JSONResponse(to_json(ended), headers=_applied(run.id, seconds))
    return accepted(to_json(await request.app.state.run_of(run.id)), run.id, seconds)


def accepted(document: Mapping[str, Any], run_id: str, waited: int = 0) -> JSONResponse:
    return JSONResponse(dict(document), 202, headers=_applied(run_id, waited))


def _applied(run_id: str, seconds: int) -> dict[str, str]:
    applied = {"Preference-Applied": f"wait={seconds}"} if seconds else {}
    return {"Location": f"/api/runs/{run_id}", **applied}


class _Range(NamedTuple):
    """An accepted range: a media type, all subtypes of a type such as `text/*`, or all types."""

    media: str
    weight: float


def accepted_type(request: Request, offered: Sequence[str]) -> str | None:
    """Return the offered type that the caller prefers, or `None` if it accepts none of them.

    Among types of equal weight, a type that is named precedes one that a range matches, then the order of the caller
    decides, then that of `offered`.
    """
    request.scope[VARIES] = True
    return match_accept(",".join(request.headers.getlist("accept")), offered)


def match_accept(accept: str, offered: Sequence[str]) -> str | None:
    """Implement `accepted_type` for the text of the header."""
    ranges = list(enumerate(_parse_range(part) for part in accept.split(",") if part.strip()))
    if not ranges:
        return offered[0]
    liked = []
    for place, media in enumerate(offered):
        precision, named, weight = max((_precision(each.media, media), -at, each.weight) for at, each in ranges)
        if precision and weight:
            liked.append((weight, precision, named, -place, media))
    return max(liked)[-1] if liked else None


def _precision(accepted: str, media: str) -> int:
    """Return how precisely a range matches a type: 3 by its name, 0 not at all."""
    if accepted == media:
        return 3
    if accepted == f"{media.partition('/')[0]}/*":
        return 2
    return 1 if accepted == "*/*" else 0


def _parse_range(part: str) -> _Range:
    media, *parameters = (each.strip().lower() for each in part.split(";"))
    weights = [float(found[1]) for each in parameters if (found := _WEIGHT.fullmatch(each))]
    return _Range(media, weights[0] if weights else 1.0)
