"""The whole dashboard on a port of this machine, with every feature, in a thread of its own."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.ports import free_port
from tests.waiting import eventually, until
from tests.web.access.accounts import CHEAP

from tocsin.assembly.full.dashboard import create_dashboard
from tocsin.assembly.full.live import event_hub
from tocsin.assembly.light import load_settings
from tocsin.assembly.program import App, open_app
from tocsin.features.contract import Feature
from tocsin.testing.fakes import ScriptedTransport
from tocsin.web.access.passwords import hash_password
from tocsin.web.ui.static import ui_routes

T = TypeVar("T")
USER, PASSWORD = "operator", "a-long-test-password"
# Signing in is not what these tests are about: at the usual cost, each takes a seventh of a second of a processor.
LOGIN = {"DASHBOARD_USER": USER, "DASHBOARD_PASS_HASH": hash_password(PASSWORD, CHEAP)}


@dataclass(slots=True)
class ServedDashboard:
    """A dashboard that browsers can open."""

    address: str  # ends with a slash
    app: App
    _loop: asyncio.AbstractEventLoop
    transport: ScriptedTransport  # the answers of providers
    session: list[Any] = field(default_factory=list)  # the cookies of who has signed in

    def do(self, work: Callable[[App], Coroutine[Any, Any, T]]) -> T:
        """Do something inside the service, such as to store what a page shall show."""
        return asyncio.run_coroutine_threadsafe(work(self.app), self._loop).result()


@contextmanager
def serve_dashboard(
    data_dir: Path, env: Mapping[str, str] | None = None, *, page: Feature | None = None, port: int | None = None
) -> Iterator[ServedDashboard]:
    """Serve the dashboard of a data directory; `page` is a feature with one more page."""
    at = port or free_port()
    served: list[ServedDashboard] = []
    stop = threading.Event()
    broken: list[Exception] = []

    def thread() -> None:
        try:
            asyncio.run(_serve(data_dir, env or {}, page, at, served.append, stop))
        except Exception as error:  # noqa: BLE001  # the test tells it
            broken.append(error)

    worker = threading.Thread(target=thread, name="dashboard")
    worker.start()
    try:
        until(lambda: served or broken, "the dashboard")
        if broken:
            raise broken[0]
        yield served[0]
    finally:
        stop.set()
        worker.join()
    if broken:
        raise broken[0]


async def _serve(
    data_dir: Path,
    env: Mapping[str, str],
    page: Feature | None,
    port: int,
    ready: Callable[[ServedDashboard], None],
    stop: threading.Event,
) -> None:
    transport = ScriptedTransport()
    environ = {"TOCSIN_DATA_DIR": str(data_dir), "REDIS_URL": "off", "RATE_LIMIT_PER_USER": "100000", **LOGIN, **env}
    (data_dir / ".env").touch(mode=0o600)
    settings, installed = load_settings(environ=environ, env_file=data_dir / ".env")
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_app(settings, installed, lambda: transport))
        hub = event_hub(app)
        site = create_dashboard(app, lambda: False, live=hub)
        if page:
            site = _with_page(site, [*installed.features, page])
        config = uvicorn.Config(site, port=port, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        listening = asyncio.create_task(server.serve())
        telling = asyncio.create_task(hub.run())
        await eventually(lambda: server.started, "the port")
        ready(ServedDashboard(f"http://127.0.0.1:{port}/", app, asyncio.get_running_loop(), transport))
        await asyncio.to_thread(stop.wait)
        hub.stop()
        server.should_exit = True
        await listening
        for connection in list(server.server_state.connections):  # of streams that the browser still reads
            connection.transport.abort()
        with suppress(asyncio.CancelledError):
            await telling


def _with_page(site: Any, features: Sequence[Feature]) -> Any:
    """Serve the browser's files with the pages of `features`."""
    return Starlette(routes=[*ui_routes(features), Mount("/", site)])
