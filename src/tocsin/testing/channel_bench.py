"""The base of the channel contract suite: the attributes that an author sets, and the helpers of its tests."""
# ruff: noqa: S101  # asserting is what these functions are for

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, ClassVar, Self, cast
from urllib.parse import quote

from tocsin.channels.contract import OutboundAdapter, Part, SendResult
from tocsin.core.http.transport import HttpResponse, Transport, connect_failed
from tocsin.core.time.clock import Clock
from tocsin.testing.fakes import build_adapter

Deliver = Callable[[Part], Awaitable[str]]


class Unprintable(Exception):  # noqa: N818  # it is also handed over as a text
    """An exception, also used as a value, that cannot be converted to text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


# Far above the need of any machine: it only ends a test that would hang.
PATIENCE_S = 60.0
NOT_TEXT = (None, 7, b"bytes", ["list"], Unprintable())
HOSTILE_TEXTS = {
    "empty": "",
    "blank": " \n\t\u00a0",
    "NUL alone": "\0",
    "NUL inside": "a\0b",
    "lone surrogates": "\ud800 a \udfff",
    "terminal control": "\x1b[2J\x07\x9b1m",
    "directions": "\u202eevil\u2066",
    "line ends": "a\r\nb\rc\u2028d",
    "markup": "<!channel> *_`[~>#+-=|{.!&amp;</b>",
    "very many words": "wörd " * 40_000,
    "very long word": "x" * 200_000,
    "very many emoji": "😀" * 50_000,
}
HOSTILE_TARGETS = ("", " ", "\0", "\ud800", "a\nb", "x" * 1_000_000, "\x1b[2J")
ACCIDENTS = (
    ValueError("made-up"),
    KeyError("made-up"),
    RuntimeError(),
    OSError(5, "made-up"),
    AssertionError("made-up"),
    RecursionError("made-up"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "made-up"),
    ExceptionGroup("made-up", [ValueError("inner")]),
    StopAsyncIteration("made-up"),
    TimeoutError(),
    Unprintable(),
)
# Responses that never mean that a message was accepted.
NO_SUCCESS = {
    "empty body": (200, b""),
    "web page": (200, b"<!doctype html><title>Welcome to the hotel network</title>"),
    "empty object": (200, b"{}"),
    "list": (200, b"[]"),
    "null": (200, b"null"),
    "nested too deeply": (200, b"[" * 100_000),
    "bytes": (200, b"\xff\xfe\x00"),
    "not found": (404, b"not found"),
    "server trouble": (500, b"<h1>500</h1>"),
}


class ChannelBench:
    """Attributes of the tested channel, and helpers that build adapters and check results."""

    adapter: ClassVar[type[OutboundAdapter]]
    env: ClassVar[Mapping[str, str]]  # every required variable, with invented but well-formed values
    target: ClassVar[str]  # a target that the adapter accepts
    targets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # entries of `targets.yaml`, if targets are names of it
    bad_targets: ClassVar[Sequence[str]] = ()  # rejected before any call
    splitting: ClassVar[Mapping[str, str]] = {}  # variables that enable splitting, if it is a setting
    packages: ClassVar[Sequence[str]] = ()  # packages that `deliver` and `probe` import when needed

    @asynccontextmanager
    async def opened(self, *, probing: bool = False) -> AsyncIterator[OutboundAdapter]:
        """Yield an adapter whose provider accepts messages, or with `probing` the credentials; override it."""
        yield self.build()

    def build(self, http: Transport | None = None, clock: Clock | None = None, **env: str) -> OutboundAdapter:
        return build_adapter(self.adapter, {**self.env, **env}, http=http, clock=clock, targets=self.targets)

    def faked(self, deliver: Deliver, *, clock: Clock | None = None, **spec: Any) -> OutboundAdapter:
        """Build the author's adapter with `deliver` in place of its `deliver` and `probe`."""

        async def call(_: OutboundAdapter, part: Part = Part(self.target, "", "")) -> str:  # noqa: B008  # frozen
            return await deliver(part)

        members = {"deliver": call, "probe": call, "spec": replace(self.adapter.spec, **spec)}
        kind = cast("type[OutboundAdapter]", type(f"Faked{self.adapter.__name__}", (self.adapter,), members))
        return build_adapter(kind, {**self.env, **self.splitting}, clock=clock, targets=self.targets)

    def secrets(self) -> list[str]:
        """Return the secret values in `env` and `targets`."""
        named = [each for entry in self.targets.values() for each in entry.values() if isinstance(each, str)]
        return [self.env[v.name] for v in self.adapter.spec.variables if v.secret and v.name in self.env] + named

    def send(self, target: str, text: str) -> SendResult:
        """Send through an adapter whose provider accepts messages."""

        async def work() -> SendResult:
            async with self.opened() as adapter:
                return await adapter.send(target, text)

        return self.well_formed(asyncio.run(work()))

    def outcomes(self, adapter: OutboundAdapter) -> list[SendResult]:
        """Return the results of a send and a connection test; fail unless both are well-formed."""

        async def work() -> list[SendResult]:
            return [await adapter.send(self.target, "hello"), await adapter.test_connection()]

        return [self.well_formed(result) for result in asyncio.run(work())]

    def failures(self, adapter: OutboundAdapter) -> list[SendResult]:
        """Return the results of `outcomes`; fail unless both are failures."""
        results = self.outcomes(adapter)
        assert not any(result.ok for result in results), "it reports success"
        return results

    def well_formed(self, result: SendResult) -> SendResult:
        """Return `result`; fail unless its fields are consistent."""
        assert type(result) is SendResult
        types = {name: type(value) for name, value in result.as_dict().items()}
        assert types == {"ok": bool, "channel": str, "target": str, "message": str, "error": str}
        assert result.channel == self.adapter.spec.kind
        assert bool(result.message) is result.ok, "`message` is set on success, and only then"
        assert bool(result.error) is not result.ok, "`error` is set on failure, and only then"
        return result

    def hides(self, secret: str, result: SendResult) -> None:
        """Fail if `result` contains `secret` in any form."""
        for form in (secret, quote(secret, safe=""), base64(secret)):
            assert form not in result.message + result.error, "a secret is shown"


class Failing:
    """A transport that raises."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def request(self, method: str, url: str, **_: Any) -> HttpResponse:
        raise self._error

    def guarded(self, check_address: Callable[[str], None]) -> Self:
        return self

    async def aclose(self) -> None:
        pass


class Hanging:
    """A transport whose calls never end."""

    def __init__(self) -> None:
        self.started = asyncio.Event()

    async def request(self, method: str, url: str, **_: Any) -> HttpResponse:
        self.started.set()
        await asyncio.Event().wait()
        raise connect_failed(url, "unreachable")

    def guarded(self, check_address: Callable[[str], None]) -> Self:
        return self

    async def aclose(self) -> None:
        pass


async def cancel_each(started: asyncio.Event, *works: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Run each of `works` until `started` is set, cancel it, and fail unless it ends as cancelled."""
    for work in works:
        started.clear()
        task = asyncio.ensure_future(work())
        async with asyncio.timeout(PATIENCE_S):
            await started.wait()
        task.cancel()
        await asyncio.wait([task], timeout=PATIENCE_S)
        assert task.cancelled(), "a cancelled call continued, or ended as a failure"


def raising(error: Exception) -> Deliver:
    async def deliver(_: Part) -> str:
        raise error

    return deliver


async def never(_: Part) -> str:
    await asyncio.Event().wait()
    return ""


def words(characters: int) -> str:
    return " ".join(f"word{number:06}" for number in range(characters // 11 + 1))


def base64(secret: str) -> str:
    return b64encode(secret.encode()).decode()


def echoes(secret: str, *good: object) -> Iterable[object]:
    """Yield responses that repeat `secret`: as plain text, as an error, and in every text of a good response."""
    yield f"<h1>bad token {secret} {quote(secret, safe='')} {base64(secret)}</h1>".encode()
    names = ("error", "description", "message", "detail", "needed", "provided", "title", "reason")
    for ok in (False, True):
        yield {"ok": ok, "error_code": 400, "code": 40_001, **dict.fromkeys(names, f"bad token {secret}")}
    yield from (_with_secret(answer, secret) for answer in good if answer is not None)


def _with_secret(answer: Any, secret: str) -> Any:
    if isinstance(answer, dict):
        return {name: _with_secret(value, secret) for name, value in answer.items()}
    return f"{answer} {secret}" if isinstance(answer, str) else answer
