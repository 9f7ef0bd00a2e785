"""The caller of an operation: its scope, its facts for the audit log, and whether it is still connected."""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request
from starlette.types import Scope

from tocsin.core.audit.actions import ACTOR, IP, REQUEST_ID, AuditSource
from tocsin.core.scopes import OF_ADMIN
from tocsin.messaging.outbound.caller import Caller
from tocsin.rest.problems import HttpProblemError
from tocsin.runs.model import RunTrigger

T = TypeVar("T")

DASHBOARD = AuditSource("dashboard", "the dashboard and its REST API", (ACTOR, IP, REQUEST_ID))


def require_scope(scope: Scope, needed: str) -> None:
    """Raise the response for unauthenticated callers, or a 403 problem if the caller lacks the scope `needed`."""
    if needed and (refusal := scope.get("tocsin.refusal")):
        raise refusal
    if needed and needed not in scope.get("tocsin.scopes", ()):
        names = f"{needed}, or admin" if needed in OF_ADMIN - {"admin"} else needed
        raise HttpProblemError("forbidden", f"This operation requires a token with the scope {names}.")


def audit_facts(scope: Scope) -> dict[str, object]:
    """Return the facts about the caller that audit entries record."""
    facts: dict[str, object] = {"ip": scope["tocsin.client"], "request_id": scope["tocsin.request_id"]}
    return {**({"actor": scope["tocsin.user"]} if scope.get("tocsin.user") else {}), **facts}


def read_caller(request: Request) -> Caller:
    return Caller(DASHBOARD.name, audit_facts(request.scope))


def find_trigger(request: Request) -> str:
    """Return the trigger of a run: manual for a browser session, API for a token or HTTP Basic."""
    return RunTrigger.MANUAL if request.scope.get("tocsin.login") == "session" else RunTrigger.API


# Asynchronous, like all dependencies here: FastAPI runs others in a thread, which costs more than most requests.
async def _caller(request: Request) -> Caller:
    return read_caller(request)


CallerOf = Annotated[Caller, Depends(_caller)]


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`; cancel it if the client disconnects, and raise HttpProblemError."""
    task, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait([task, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise HttpProblemError("invalid-request", "The client closed the connection before the response was ready.")
        return task.result()
    finally:
        task.cancel()
        leaving.cancel()
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
