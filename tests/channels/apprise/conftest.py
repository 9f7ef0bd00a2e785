"""Processes that use the library and stay for all tests of a module: a start takes longer than a test."""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from typing import Any

import pytest
from tests.channels.apprise.interceptor import Interceptor, intercepting
from tests.waiting import PATIENCE_S

from tocsin.channels.apprise.sending import AppriseProcesses


class StayingProcesses(AppriseProcesses):
    """Processes that end with `loop`, and not with the event loop of a test."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._loop = loop

    async def ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(super().ask(request), self._loop))


@pytest.fixture(scope="module")
def loop_beside() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop on a thread of its own."""
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        stop = asyncio.Event()
        started.set_result((asyncio.get_running_loop(), stop))
        await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), name="processes of the library")
    thread.start()
    loop, stop = started.result(timeout=PATIENCE_S)
    yield loop
    loop.call_soon_threadsafe(stop.set)
    thread.join(timeout=PATIENCE_S)


@pytest.fixture(scope="module")
def library(loop_beside: asyncio.AbstractEventLoop) -> StayingProcesses:
    return StayingProcesses(loop_beside)


@pytest.fixture(scope="module")
def intercepted(
    tmp_path_factory: pytest.TempPathFactory, loop_beside: asyncio.AbstractEventLoop
) -> Iterator[tuple[Interceptor, StayingProcesses]]:
    """The Internet as an interceptor plays it, and processes whose calls go there."""
    with intercepting(tmp_path_factory.mktemp("internet"), loop_beside) as (internet, settings):
        with pytest.MonkeyPatch.context() as environment:
            for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "CURL_CA_BUNDLE"):
                environment.delenv(name, raising=False)
            for name, value in settings.items():
                environment.setenv(name, value)
            processes = StayingProcesses(loop_beside)  # they get the variables of this moment
        yield internet, processes


@pytest.fixture
def internet(intercepted: tuple[Interceptor, StayingProcesses]) -> Interceptor:
    """The same as at its start."""
    internet, _ = intercepted
    internet.status, internet.body, internet.headers = 200, b"ok", {}
    internet.calls.clear()
    return internet


@pytest.fixture
def abroad(intercepted: tuple[Interceptor, StayingProcesses]) -> StayingProcesses:
    """The processes whose calls go to `internet`."""
    return intercepted[1]
