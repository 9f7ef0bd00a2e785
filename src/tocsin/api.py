"""The Python interface: `async with tocsin.open() as t: await t.send(…)`, and its blocking equivalents."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from tocsin.assembly.light import load_settings
from tocsin.assembly.program import App, direct_transport, open_app
from tocsin.channels.contract import SendResult
from tocsin.channels.model import parse_mode_of
from tocsin.core.audit.actions import AuditSource
from tocsin.core.errors import ChannelError, TocsinError
from tocsin.core.http.transport import Transport
from tocsin.delivery.model import Delivery
from tocsin.messaging.outbound.idempotency import KeyReusedError
from tocsin.messaging.outbound.messenger import Caller, NotifyResult

__all__ = ["NotifyResult", "SendResult", "Tocsin", "notify", "open", "run", "send"]

T = TypeVar("T")

API = AuditSource("api", "the Python interface")
_CALLER = Caller(API.name)
_CLOSED = "not sent: this Tocsin object is closed; use it inside `async with tocsin.open()`"


class ClosedError(TocsinError):
    """An object that `open` returned was used after the end of its `async with` block."""

    code = "closed"


class Tocsin:
    """An open Tocsin. Its sends never raise: a failed send returns a result whose `error` gives the reason."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.closed = False  # sends then fail: their outcome could not be recorded

    async def send(self, channel: str, target: str, message: str, **content: Any) -> SendResult:
        """Send `message` to `target` on `channel`, a kind or an alias such as `slack`.

        `content` has the fields of docs/messages.md: `title`, `priority`, `type`, `click`, `actions`, `mention`,
        `silent`, `key`, `thread`, `format`, and `attach`, a list of paths.
        """
        given: dict[str, object] = {"channel": channel, "target": target, "message": message}
        for name, value in given.items():  # callers may pass any type, and a send never raises
            if not isinstance(value, str):
                error = f"{name} must be text, not {type(value).__name__}"
                return SendResult(False, self._kind_of(channel), _shown(target), error=error)
        if self.closed:
            return SendResult(False, self._kind_of(channel), target, error=_CLOSED)
        try:
            mode = _mode(content)
            stored = await self._stored(content)
        except TocsinError as error:
            return SendResult(False, self._kind_of(channel), target, error=error.sentence())
        sending = self._app.messenger.send(channel, target, message, _CALLER, parse_mode=mode, content=stored)
        return (await sending).result

    async def _stored(self, content: dict[str, Any]) -> Mapping[str, Any]:
        return await self._app.files().take(content, paths=True) if content.get("attach") else content

    async def notify(self, profile: str, message: str, **content: Any) -> NotifyResult:
        """Send to every target of a profile of `profiles.yaml`, with `content` as in `send`.

        Raises UnknownProfileError, ClosedError, and ChannelError for a file that cannot be attached.
        """
        if self.closed:
            raise ClosedError(_CLOSED)
        mode, stored = _mode(content), await self._stored(content)
        return await self._app.messenger.notify(profile, message, _CALLER, parse_mode=mode, content=stored)

    async def enqueue(
        self,
        channel: str,
        target: str,
        message: str,
        *,
        policy: str = "",
        idempotency_key: str | None = None,
        **content: Any,
    ) -> Delivery:
        """Queue a message durably; it is sent while `tocsin up`, `gateway`, `bot` or `worker` runs.

        `policy` is at_least_once or at_most_once; empty selects the channel's default. A second call with the same
        key within 24 hours returns the first delivery. Raises UnknownChannelError and ChannelError for a message that
        could never be sent, ConfigError for an unknown policy, KeyReusedError if the key was used with another
        message, and DatabaseError if the message was not queued.
        """
        outbox = self._app.outbox
        mode, stored = _mode(content), await self._stored(content)
        new = outbox.prepare(channel, target, message, _CALLER.source, policy, parse_mode=mode, content=stored)
        key = f"api:{idempotency_key}" if idempotency_key else None
        [delivery] = await outbox.enqueue([new.with_terms(None, None, key)], _CALLER)
        if not delivery.is_same_message(new):
            raise KeyReusedError(
                f"the key {idempotency_key} was already used with a different message", hint="use a new key"
            )
        return delivery

    async def withdraw(self, channel: str, target: str, key: str) -> SendResult:
        """Withdraw the message that was sent with `key`; raises UnknownKeyError, or ClosedError."""
        if self.closed:
            raise ClosedError(_CLOSED)
        return (await self._app.messenger.withdraw(channel, target, key, _CALLER)).result

    async def test(self, channel: str) -> SendResult:
        """Verify the credentials of `channel` without sending."""
        if self.closed:
            return SendResult(False, self._kind_of(channel), "", error=_CLOSED)
        return await self._app.messenger.test(channel, _CALLER)

    def _kind_of(self, channel: object) -> str:
        return self._app.outbox.kind_of(channel) if isinstance(channel, str) else _shown(channel)

    def channels(self) -> list[str]:
        """Return the kinds of the configured channels."""
        return self._app.registry.configured()


@asynccontextmanager
async def open(  # noqa: A001  # it is called as `tocsin.open()`, not imported by name
    *,
    data_dir: Path | str | None = None,
    env_file: Path | str | None = None,
    transport: Callable[[], Transport] = direct_transport,
) -> AsyncIterator[Tocsin]:
    """Open Tocsin with the settings of the environment and `.env`; raises ConfigError when one is malformed."""
    settings, installed = load_settings(
        data_dir=Path(data_dir) if data_dir else None, env_file=Path(env_file) if env_file else None
    )
    async with open_app(settings, installed, transport) as app:
        opened = Tocsin(app)
        try:
            yield opened
        finally:
            opened.closed = True


def send(
    channel: str,
    target: str,
    message: str,
    *,
    data_dir: Path | str | None = None,
    env_file: Path | str | None = None,
    **content: Any,
) -> SendResult:
    """Send one message like `Tocsin.send` and wait; never raises, not even for a broken configuration."""

    async def call() -> SendResult:
        async with open(data_dir=data_dir, env_file=env_file) as tocsin:
            return await tocsin.send(channel, target, message, **content)

    try:
        return run(call())
    except TocsinError as error:
        return SendResult(False, _shown(channel), _shown(target), error=error.sentence())


def notify(
    profile: str,
    message: str,
    *,
    data_dir: Path | str | None = None,
    env_file: Path | str | None = None,
    **content: Any,
) -> NotifyResult:
    """Send to every target of a profile like `Tocsin.notify` and wait; raises UnknownProfileError and ConfigError."""

    async def call() -> NotifyResult:
        async with open(data_dir=data_dir, env_file=env_file) as tocsin:
            return await tocsin.notify(profile, message, **content)

    return run(call())


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` to completion, also when the calling thread already runs an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(asyncio.run, work).result()


def _mode(content: dict[str, Any]) -> str:
    """Remove the format from the fields of a message and return its parse mode; raises ChannelError."""
    given, alias = (content.pop(name, None) or "" for name in ("format", "parse_mode"))
    for name, value in (("format", given), ("parse_mode", alias)):
        if not isinstance(value, str):
            raise ChannelError(f"{name} must be text, not {type(value).__name__}")
    return parse_mode_of(given, alias)


def _shown(value: object) -> str:
    return value if isinstance(value, str) else type(value).__name__
