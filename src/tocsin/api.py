"""The Python interface: `async with tocsin.open() as t: await t.send(…)`, and blocking twins."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from tocsin.app import App, direct_transport, load_settings, open_app
from tocsin.channels.contract import SendResult
from tocsin.core.errors import TocsinError
from tocsin.core.http import Transport
from tocsin.messaging.messenger import Caller, NotifyResult

__all__ = ["NotifyResult", "SendResult", "Tocsin", "notify", "open", "run", "send"]

T = TypeVar("T")

_CALLER = Caller("api")


class Tocsin:
    """An open Tocsin. Its sends never raise: a failure is a result whose `error` says why."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def send(self, channel: str, target: str, message: str) -> SendResult:
        """Send `message` to `target` on `channel`, a kind or an alias such as `slack`."""
        return (await self._app.messenger.send(channel, target, message, _CALLER)).result

    async def notify(self, profile: str, message: str) -> NotifyResult:
        """Send to every target of a profile of `profiles.yaml`; raises UnknownProfileError alone."""
        return await self._app.messenger.notify(profile, message, _CALLER)

    async def test(self, channel: str) -> SendResult:
        """Verify the credentials of `channel` without sending."""
        return await self._app.messenger.test(channel, _CALLER)

    def channels(self) -> list[str]:
        """Return the kinds of the configured channels."""
        return self._app.registry.configured()


@asynccontextmanager
async def open(  # noqa: A001  # `tocsin.open()` reads as it should; nobody imports the bare name
    *,
    data_dir: Path | str | None = None,
    env_file: Path | str | None = None,
    transport: Callable[[], Transport] = direct_transport,
) -> AsyncIterator[Tocsin]:
    """Open Tocsin with the settings of the environment and `.env`; raises ConfigError when one is malformed."""
    settings, discovery = load_settings(
        data_dir=Path(data_dir) if data_dir else None, env_file=Path(env_file) if env_file else None
    )
    async with open_app(settings, discovery, transport) as app:
        yield Tocsin(app)


def send(channel: str, target: str, message: str, *, data_dir: Path | str | None = None) -> SendResult:
    """Send one message and wait for the outcome; never raises, not even for a broken configuration."""

    async def call() -> SendResult:
        async with open(data_dir=data_dir, transport=direct_transport) as tocsin:
            return await tocsin.send(channel, target, message)

    try:
        return run(call())
    except TocsinError as error:
        return SendResult(False, channel, target, error=error.sentence())


def notify(profile: str, message: str, *, data_dir: Path | str | None = None) -> NotifyResult:
    """Send to every target of a profile and wait; raises UnknownProfileError and ConfigError."""

    async def call() -> NotifyResult:
        async with open(data_dir=data_dir) as tocsin:
            return await tocsin.notify(profile, message)

    return run(call())


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to its end, from plain code as well as from inside a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()
