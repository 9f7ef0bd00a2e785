"""Puts the dashboard together: the operations of the core and of every feature, behind one guard."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tocsin.core.errors import TocsinError

if TYPE_CHECKING:
    from tocsin.assembly.program import App
    from tocsin.rest.event_stream import LiveUpdates
    from tocsin.rest.operations import Operations


def dashboard_of(
    app: "App", draining: Callable[[], bool], guard: Callable[[Any], Any], live: "LiveUpdates | None" = None
) -> Any:
    """Return the dashboard as an ASGI application; `guard` finds out who calls.

    `live` is the event hub (`assembly/live.py`), which runs as a service; without it, open pages are told of nothing.
    """
    from tocsin.assembly.live import event_hub
    from tocsin.web.dashboard.app import DashboardDependencies, build_dashboard

    live = live or event_hub(app)
    parts = DashboardDependencies(
        settings=app.settings,
        clock=app.clock,
        keys=app.keys,
        guard=guard,
        live=live,
        operations=[*_core_operations(app, draining, live), *app.features.dashboard_routes()],
    )
    return build_dashboard(parts)


def _core_operations(app: "App", draining: Callable[[], bool], live: "LiveUpdates") -> "list[Operations]":
    from tocsin.assembly.abilities import run_control_of
    from tocsin.assembly.status import status_report
    from tocsin.web.dashboard.operations.health import HealthReports, health_operations
    from tocsin.web.dashboard.operations.runs import run_operations
    from tocsin.web.dashboard.operations.stream import stream_operations

    started = app.clock.monotonic()

    async def status() -> dict[str, Any]:
        return (await status_report(app, uptime_s=app.clock.monotonic() - started)).as_document()

    async def ready() -> dict[str, bool]:
        return {"audit": not app.audit.problem, "queue": await _is_queue_fine(app)}

    reports = HealthReports(status=status, ready=ready, draining=draining, clock=app.clock)
    return [
        health_operations(reports),
        run_operations(app.runs, lambda: run_control_of(app)),
        stream_operations(live),
    ]


async def _is_queue_fine(app: "App") -> bool:
    try:
        return (await app.outbox.store.health()).ok
    except TocsinError:
        return False
