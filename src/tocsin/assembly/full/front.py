"""The front door: the listener for other tools, in processes that also run the gateway."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from tocsin.assembly.program import App
from tocsin.core.config.core_variables import FRONT_DOOR_HOST, FRONT_DOOR_PORT, TRUSTED_PROXIES
from tocsin.core.config.security import check_front_door_bind, front_door_tls
from tocsin.core.service import BackgroundService, StopEvent
from tocsin.web.front.app import FrontDependencies, build_front_door
from tocsin.web.http.metrics import Metrics
from tocsin.web.http.serving import Service

log = logging.getLogger(__name__)


class FrontDoorWork:
    """The services that features run beside the front door, from when it listens."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._stop = StopEvent()
        self._opened = asyncio.Event()
        self._running: list[BackgroundService] = []

    def open(self) -> None:
        host = self._app.settings[FRONT_DOOR_HOST]
        for warning in check_front_door_bind(self._app.settings, host):
            log.warning(warning)
        self._opened.set()

    def stop(self) -> None:
        self._stop.set()
        for service in self._running:
            service.stop()

    async def run(self) -> None:
        """Wait for the listener, then run the services until `stop`."""
        await self._stop.or_done(self._opened.wait())
        if self._stop.is_set():
            return
        doors = self._app.features.front_doors()
        self._running = [door.beside(service) for door, service in doors if door.beside is not None]
        async with asyncio.TaskGroup() as group:
            for service in self._running:
                group.create_task(service.run())


def front_door_service(app: App, work: FrontDoorWork) -> Service:
    """Return the service that listens from when a feature needs it."""

    def build(draining: Callable[[], bool]) -> Any:
        routes = [route for door, service in app.features.front_doors() for route in door.routes(service)]
        metrics = app.monitoring.metrics or Metrics()
        parts = FrontDependencies(
            settings=app.settings, limiter=app.stores.limiter, routes=routes, metrics=metrics, draining=draining
        )
        return build_front_door(parts)

    return Service(
        "front door",
        app.settings[FRONT_DOOR_HOST],
        app.settings[FRONT_DOOR_PORT],
        FRONT_DOOR_PORT.name,
        build,
        app.settings[TRUSTED_PROXIES],
        tls=front_door_tls(app.settings),
        is_needed=app.features.need_front_door,
        opened=work.open,
    )
