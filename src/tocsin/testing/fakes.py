"""Fakes for the two dependencies of an adapter: time and transport."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Tools
from tocsin.channels.targets import NamedTargets
from tocsin.core.config.settings import Settings
from tocsin.core.errors import ConfigError, RemoteError
from tocsin.core.http.bodies import StreamedBody
from tocsin.core.http.transport import CALL_TIMEOUT_S, MAX_BODY_BYTES, READ_TIMEOUT_S, HttpResponse, Transport
from tocsin.core.time.clock import Clock

A = TypeVar("A", bound=OutboundAdapter)


class FakeClock:
    """A clock that advances only through `sleep` and `advance`; `slept` lists every sleep in seconds."""

    def __init__(self, start: float = 1_700_000_000.0, *, monotonic: float | None = None) -> None:
        """Set both clocks; `monotonic` is the start of the monotonic clock, by default `start`."""
        self._now = start
        self._monotonic = start if monotonic is None else monotonic
        self.slept: list[float] = []

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        """Advance by `seconds`, and let other tasks run."""
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Advance by `seconds`."""
        self._now += seconds
        self._monotonic += seconds

    def jump(self, seconds: float) -> None:
        """Change the wall clock only, as users and time servers do."""
        self._now += seconds


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request of an adapter."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class ScriptedTransport:
    """Answers each request with the next scripted response or error; the last one repeats."""

    script: list[HttpResponse | RemoteError] = field(default_factory=list)
    sent: list[SentRequest] = field(default_factory=list)

    def will_answer(
        self, document: object, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> "ScriptedTransport":
        """Add a response with `document` as JSON (bytes unchanged); return self."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        self.script.append(HttpResponse(status, dict(headers or {}), body))
        return self

    def will_raise(self, error: RemoteError) -> "ScriptedTransport":
        """Add a failed call; return self."""
        self.script.append(error)
        return self

    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | StreamedBody = b"",
        timeout_s: float = CALL_TIMEOUT_S,
        read_timeout_s: float = READ_TIMEOUT_S,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> HttpResponse:
        content = body if isinstance(body, bytes) else b"".join([block async for block in body.blocks()])
        self.sent.append(SentRequest(method, url, dict(headers), content))
        step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(step, RemoteError):
            raise step
        return step

    def guarded(self, check_address: Callable[[str], None]) -> "ScriptedTransport":
        """Return this transport: there are no addresses to check."""
        return self

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""


def build_adapter(
    adapter: type[A],
    env: Mapping[str, str],
    *,
    http: Transport | None = None,
    clock: Clock | None = None,
    targets: Mapping[str, Mapping[str, Any]] | None = None,
    read_file: Callable[[str], AsyncGenerator[bytes]] | None = None,
    document: "MemoryDocument | None" = None,
) -> A:
    """Build an adapter from environment variables.

    `targets` are the entries of the channel in `targets.yaml`, by name; `read_file` opens a file by its hash;
    `document` is what the channel keeps in the store.
    """
    settings = Settings.load(adapter.spec.variables, environ={"TOCSIN_DATA_DIR": "/nonexistent", **env})
    named = GivenTargets(settings, adapter.spec, targets or {}).of(adapter.spec.kind) if adapter.spec.targets else None
    kept = document or MemoryDocument()
    tools = Tools(
        http or ScriptedTransport(),
        clock or FakeClock(),
        settings.redact,
        targets=named,
        read_file=read_file,
        document=lambda _: kept,
    )
    return adapter(settings.only(adapter.spec.variables), tools)


@dataclass(slots=True)
class MemoryDocument:
    """The stored documents of a channel, in memory."""

    text: str = ""

    async def read(self) -> str:
        return self.text

    async def change(self, edit: Callable[[str], str]) -> str:
        self.text = edit(self.text)
        return self.text


class GivenTargets(NamedTargets):
    """Targets of one channel that stand in no file."""

    def __init__(self, settings: Settings, spec: ChannelSpec, targets: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(settings, [spec])
        self._given = self.parse(json.dumps({spec.kind: targets}).encode()).get(spec.kind, {})

    def entries(self, kind: str) -> tuple[Mapping[str, Mapping[str, Any]], ConfigError | None]:
        """Return the fields of the targets, by name."""
        return self._given, None


def settings_of(classes: Iterable[type[OutboundAdapter]], env: Mapping[str, str]) -> Settings:
    """Load the settings for the variables of `classes`, only from `env`."""
    return Settings.load([v for c in classes for v in c.spec.variables], environ=env)
