"""The dashboard as an ASGI application: FastAPI behind the same layers as the gateway."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Scope

from tocsin import __version__
from tocsin.core.config.core_variables import (
    ALLOWED_HOSTS,
    DASHBOARD_HOST,
    RATE_LIMIT_PER_IP,
    RATE_LIMIT_PER_USER,
    TRUSTED_PROXIES,
)
from tocsin.core.config.security import is_loopback
from tocsin.core.config.settings import Settings
from tocsin.core.time.clock import Clock
from tocsin.core.time.ratelimit import MakeLimiter
from tocsin.delivery.files.intake import FileIntake
from tocsin.messaging.outbound.idempotency import IdempotencyKeys
from tocsin.rest.event_stream import LiveUpdates
from tocsin.rest.operations import Operation, Operations
from tocsin.rest.problems import HttpProblemError
from tocsin.runs.model import Run
from tocsin.web.access.layers import KnownCallers, SameOrigin
from tocsin.web.dashboard.layers import ApiHeaders, CallerFacts, DirectOperations, HeadAndOptions, WholeBody
from tocsin.web.dashboard.openapi import OpenApiRoutes, describe_dashboard
from tocsin.web.dashboard.problem_pages import PROBLEM_PREFIX, problem_pages
from tocsin.web.http.asgi import HttpsOnly, LocalHosts, RateLimits, RequestScope, problem_for
from tocsin.web.http.methods import find_methods, not_allowed
from tocsin.web.http.tracing import with_traces
from tocsin.web.ui.static import DOCS_PREFIX, STATIC_PREFIX


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardDependencies:
    """The dependencies of the dashboard."""

    settings: Settings
    clock: Clock
    keys: IdempotencyKeys
    files: Callable[[], FileIntake]
    limiter: MakeLimiter
    guard: Callable[[ASGIApp], ASGIApp]  # authenticates callers
    operations: Sequence[Operations]
    live: LiveUpdates  # sends changes to open pages
    run_of: Callable[[str], Awaitable[Run]]  # returns the current state of a run by ID
    count_request: Callable[[str, int], None]  # called with the route, as a template, and the status
    pages: Sequence[BaseRoute] = ()  # the routes of the browser interface


def build_dashboard(parts: DashboardDependencies) -> ASGIApp:
    return _guarded(_application(parts), parts)


def build_document(parts: DashboardDependencies) -> dict[str, Any]:
    return describe_dashboard(_application(parts))


def _application(parts: DashboardDependencies) -> FastAPI:
    app = FastAPI(
        title="Tocsin",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers={
            HttpProblemError: _answer_problem,
            HTTPException: _answer_refusal,
            Exception: _answer_failure,
        },
    )
    app.state.keys, app.state.live, app.state.run_of = parts.keys, parts.live, parts.run_of
    described = Operations("health", OpenApiRoutes(lambda: describe_dashboard(app)))
    app.router.routes[:] = [
        *(route for area in (*parts.operations, described) for route in area.routes),
        *problem_pages(),
        *parts.pages,
    ]
    _separate(_operations_of(app))
    return app


def _operations_of(app: FastAPI) -> list[Operation]:
    return [route for route in app.router.routes if isinstance(route, Operation)]


def _separate(operations: Sequence[Operation]) -> None:
    """Reserve a path that one operation spells out for that operation, for every method: `stats` is never a key."""
    spelled_out = frozenset(each.path for each in operations if "{" not in each.path)
    for each in operations:
        if "{" in each.path:
            each.foreign = spelled_out


def _guarded(app: FastAPI, parts: DashboardDependencies) -> ASGIApp:
    """Wrap the application in the layers that every request passes, innermost first."""
    settings = parts.settings
    operations = _operations_of(app)
    whole = WholeBody(DirectOperations(app, operations), operations, parts.files)
    guarded: ASGIApp = HeadAndOptions(CallerFacts(whole), partial(find_methods, app.router.routes))
    guarded = parts.guard(
        RateLimits(
            SameOrigin(KnownCallers(guarded)),  # within the limits: requests that these reject are counted
            parts.limiter("dashboard-address", settings[RATE_LIMIT_PER_IP]),
            parts.limiter("dashboard-user", settings[RATE_LIMIT_PER_USER]),
            free_below=(STATIC_PREFIX, DOCS_PREFIX, PROBLEM_PREFIX),
        )
    )
    if settings.https_enforced:
        guarded = HttpsOnly(guarded)
    if is_loopback(settings[DASHBOARD_HOST]):  # before any password is checked
        guarded = LocalHosts(guarded, settings[ALLOWED_HOSTS])

    def count(scope: Scope, status: int) -> None:
        parts.count_request(getattr(scope.get("route"), "path", "other"), status)

    # Outermost, because responses of the layers need the headers, too.
    return with_traces(ApiHeaders(RequestScope(guarded, settings[TRUSTED_PROXIES], count)))


async def _answer_problem(request: Request, error: Any) -> Response:
    problem: HttpProblemError = error
    return problem.response(request.scope["tocsin.request_id"])


async def _answer_refusal(request: Request, error: Any) -> Response:
    """Respond to errors of the router."""
    refusal: HTTPException = error
    headers: Mapping[str, str] = refusal.headers or {}
    if refusal.status_code == 405:
        problem = not_allowed(find_methods(request.app.router.routes, request.scope["path"]))
    elif refusal.status_code == 404:
        problem = HttpProblemError("not-found", "Unknown path. GET /api/openapi.json lists all paths.")
    else:
        problem = HttpProblemError("invalid-request", "The request is malformed.", headers=headers)
    return problem.response(request.scope["tocsin.request_id"])


async def _answer_failure(request: Request, error: Any) -> Response:
    """Respond to an unexpected error instead of the framework, which would raise it again."""
    request.scope["tocsin.answered"] = error
    request_id = request.scope["tocsin.request_id"]
    return problem_for(error, request_id).response(request_id)
