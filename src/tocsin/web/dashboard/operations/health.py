"""Operations on health and status."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import Query, Request
from fastapi.responses import JSONResponse, PlainTextResponse

from tocsin import __version__
from tocsin.core.records.as_json import to_json
from tocsin.core.time.clock import Clock
from tocsin.rest.operations import OfferedTool, operation
from tocsin.status.model import StatusReport
from tocsin.web.http.metrics import OPEN_METRICS, MetricsReport

CACHE_S = 5.0

StatusWord = Literal["ok", "degraded", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRecord:
    """Liveness of the dashboard."""

    status: Literal["ok"]
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessCheck:
    """Result of one readiness check."""

    name: str
    status: StatusWord


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Readiness of the service."""

    status: StatusWord
    checks: list[ReadinessCheck]


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReports:
    """The sources of the operations."""

    status: Callable[[], Awaitable[StatusReport]]
    ready: Callable[[], Awaitable[dict[str, bool]]]  # readiness of each required part, by name
    draining: Callable[[], bool]  # True while the process is stopping
    metrics: MetricsReport
    clock: Clock


_READINESS: dict[int | str, dict[str, Any]] = {
    503: {"model": Readiness, "description": "A required subsystem has failed."}
}
_METRICS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Text format of Prometheus.", "content": {OPEN_METRICS: {"schema": {"type": "string"}}}}
}


class HealthRoutes:
    """The operations on health and status."""

    def __init__(self, reports: HealthReports) -> None:
        self._reports = reports
        self._kept: tuple[float, StatusReport] | None = None

    @operation("GET", "/health", scope="", problems=("not-ready",), answer=HealthRecord)
    async def get_health(self) -> Any:
        """Check that the dashboard responds.

        Needs no authentication, and shows only the version. The response is 503 while the service stops.
        """
        if self._reports.draining():
            return JSONResponse({"status": "draining", "version": __version__}, 503)
        return HealthRecord(status="ok", version=__version__)

    @operation("GET", "/api/health", scope="", answer=Readiness, responses=_READINESS)
    async def get_readiness(self) -> Any:
        """Check whether the service is ready. Needs no authentication, and shows no reasons."""
        found = {**await self._reports.ready(), "accepting": not self._reports.draining()}
        checks = [ReadinessCheck(name=name, status="ok" if fine else "error") for name, fine in found.items()]
        ready = all(found.values())
        answer = Readiness(status="ok" if ready else "error", checks=checks)
        return JSONResponse(to_json(answer), 200 if ready else 503)

    @operation(
        "GET",
        "/api/status",
        answer=StatusReport,
        tool=OfferedTool("get_status", read_only=True, idempotent=True),
    )
    async def get_status(
        self,
        refresh: Annotated[
            bool, Query(description="Check now instead of returning a result that is up to 5 seconds old.")
        ] = False,
    ) -> Any:
        """Get the overall status: subsystems, services, runs, and what needs attention."""
        now = self._reports.clock.monotonic()
        if refresh or self._kept is None or now - self._kept[0] >= CACHE_S:
            self._kept = (now, await self._reports.status())
        return self._kept[1]

    @operation("GET", "/metrics", extension=True, response_class=PlainTextResponse, responses=_METRICS)
    async def get_metrics(self, request: Request) -> Any:
        """Get the metrics of this process for Prometheus.

        They are the same as `/metrics` of the gateway. `Accept: application/openmetrics-text` selects OpenMetrics.
        """
        return await self._reports.metrics.answer(",".join(request.headers.getlist("accept")))
