"""The common part of the HTTP stand-ins: server, faults, control endpoints."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import socket
import struct
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, ClassVar, Self

from aiohttp import web

from tocsin_standins.faults import Fault, FaultScript
from tocsin_standins.recorder import RecordedRequest, Recorder

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Clock = Callable[[], float]

MAX_BODY_BYTES = 64 * 2**20  # more than every product accepts in one request
MAX_CONTROL_BYTES = 8 * 2**20
SHOWN_HEADERS = ("Content-Type", "User-Agent")
CURRENT_FAULT = web.RequestKey("fault", str)


class RefusalError(Exception):
    """The provider refuses; carries the answer."""

    def __init__(self, response: web.Response) -> None:
        super().__init__(response.status)
        self.response = response


async def _stop_listening(server: asyncio.Server) -> None:
    """Close a server once what it accepted is a connection: asyncio drops one that is not without closing it."""
    for each in server.sockets:
        asyncio.get_running_loop().remove_reader(each.fileno())
    for _ in range(2):  # a connection is made in two turns of the event loop
        await asyncio.sleep(0)
    server.close()


class HttpStandIn(ABC):
    """One provider on one loopback port, listening inside `async with`.

    `port` 0 chooses a free one. Tests replace `clock` (Unix time) and `sleep`.
    """

    channel: ClassVar[str]
    sample: ClassVar[str] = ""  # a target that works

    def __init__(
        self,
        recorder: Recorder | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        clock: Clock = time.time,
    ) -> None:
        self.recorder = Recorder() if recorder is None else recorder
        self.faults = FaultScript()
        self.clock = clock
        self.requests = 0
        self._host, self._port = host, port
        self._closing = asyncio.Event()
        self._stack = contextlib.AsyncExitStack()

    @property
    def url(self) -> str:
        """The address without a trailing slash; known after `start`."""
        return f"http://{self._host}:{self._port}"

    def environment(self) -> dict[str, str]:
        """Return the variables that point Tocsin here; known after `start`."""
        return {}

    def targets(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the entries of `targets.yaml` that point the channel here, by name; known after `start`."""
        return {}

    def document(self) -> str:
        """Return what the channel keeps in the store, if it keeps anything; known after `start`."""
        return ""

    @abstractmethod
    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """List the provider's paths."""

    @abstractmethod
    def refusal(self, fault: Fault) -> web.Response:
        """Return the provider's answer for an `error` or `rate_limited` fault."""

    def operation(self, request: web.Request) -> str:
        """Name the operation of a request, for `Fault.only`."""
        return request.path.rsplit("/", 1)[-1]

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen; after a `stop`, on the same port."""
        self._closing.clear()
        app = web.Application(middlewares=[self._answer], client_max_size=MAX_BODY_BYTES)
        app.add_routes(self._control_routes())
        app.add_routes(self.routes())
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        assert runner.server  # noqa: S101  # since its setup
        server = await asyncio.get_running_loop().create_server(runner.server, self._host, self._port, backlog=128)
        self._stack.push_async_callback(_stop_listening, server)
        self._port = server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """End open requests and stop listening; state and recorder stay."""
        self._closing.set()
        await self._stack.aclose()

    def record(self, request: web.Request, target: str, text: str, **fields: Any) -> RecordedRequest:
        """Record this request with its fault."""
        headers = {name: request.headers[name] for name in SHOWN_HEADERS if name in request.headers}
        fault = request.get(CURRENT_FAULT, "")
        return self.recorder.add(self.channel, target, text, headers=headers, fault=fault, **fields)

    async def pause(self, seconds: float) -> bool:
        """Wait, at most until the stand-in stops; return whether the time passed."""
        try:
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        except TimeoutError:
            return True
        return False

    @web.middleware
    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith("/_standin/"):
            # JSON only: a foreign web page cannot send it here without a CORS preflight.
            if request.method == "POST" and request.content_type != "application/json":
                return web.json_response({"error": "send application/json"}, status=415)
            if (request.content_length or 0) > MAX_CONTROL_BYTES:
                return web.json_response({"error": "the request is larger than 8 MiB: a file may have 6"}, status=400)
            return await handler(request)
        self.requests += 1
        fault = self.faults.take(self.operation(request))
        if fault is None:
            return await self._handle(request, handler)
        request[CURRENT_FAULT] = fault.kind
        if fault.accept:
            return await self._after_accept(fault, request, await self._handle(request, handler))
        return await self._before_accept(fault, request, handler)

    async def _handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except RefusalError as refusal:
            return refusal.response

    async def _before_accept(self, fault: Fault, request: web.Request, handler: Handler) -> web.StreamResponse:
        await request.read()
        match fault.kind:
            case "reset":
                return reset(request)
            case "redirect":
                return web.Response(status=fault.http_status, headers={"Location": fault.location})
            case "error" | "rate_limited":
                return self.refusal(fault)
            case "stall":
                await self.pause(fault.seconds)
                gone = request.transport is None or request.transport.is_closing()
                return web.Response() if gone else await self._handle(request, handler)
            case _:
                return web.Response(status=fault.http_status, text=fault.body, content_type="text/html")

    async def _after_accept(self, fault: Fault, request: web.Request, answer: web.StreamResponse) -> web.StreamResponse:
        body = answer.body if isinstance(answer, web.Response) and isinstance(answer.body, bytes) else b""
        match fault.kind:
            case "stall":
                await self.pause(fault.seconds)
                return answer
            case "broken_json":
                return web.Response(body=body[: max(1, len(body) // 2)], content_type="application/json")
            case "status":
                return web.Response(status=fault.http_status, text=fault.body, content_type="text/html")
            case "drip" | "endless_body":
                return await self._slowly(fault, request, body)
            case _:
                return reset(request)

    async def _slowly(self, fault: Fault, request: web.Request, body: bytes) -> web.StreamResponse:
        endless = fault.kind == "endless_body"
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        if not endless:
            response.content_length = len(body)
        with contextlib.suppress(ConnectionError):
            await response.prepare(request)
            for byte in body[:-1] if endless else body:
                await response.write(bytes([byte]))
                if not endless and not await self.pause(fault.seconds):
                    return reset(request)
            while endless and await self.pause(0.001):
                await response.write(b" " * 65536)
        return response

    def _control_routes(self) -> list[web.RouteDef]:
        return [
            web.get("/_standin/received", self._list_received),
            web.delete("/_standin/received", self._empty_received),
            web.get("/_standin/faults", self._list_faults),
            web.post("/_standin/faults", self._script_faults),
            web.delete("/_standin/faults", self._clear_faults),
        ]

    async def _list_received(self, request: web.Request) -> web.Response:
        items = self.recorder.of(self.channel, kind=request.query.get("kind", ""))
        return web.json_response({"received": [item.as_json() for item in items]})

    async def _empty_received(self, request: web.Request) -> web.Response:
        self.recorder.clear()
        return web.Response(status=204)

    async def _list_faults(self, request: web.Request) -> web.Response:
        return web.json_response(self.faults.as_json())

    async def _script_faults(self, request: web.Request) -> web.Response:
        return await script_faults(self.faults, request)

    async def _clear_faults(self, request: web.Request) -> web.Response:
        self.faults.clear()
        return web.Response(status=204)


async def script_faults(script: FaultScript, request: web.Request) -> web.Response:
    """Apply the request's JSON to the script; 400 with the reason if it is invalid."""
    try:
        script.script(await request.json())
    except (ValueError, TypeError) as error:
        return web.json_response({"error": str(error)}, status=400)
    return web.json_response(script.as_json(), status=201)


def reset(request: web.Request) -> web.Response:
    """Close the connection with a TCP RST; the returned response is never sent."""
    if request.transport is not None:
        abort(request.transport)
    return web.Response()


def abort(transport: asyncio.WriteTransport) -> None:
    """Close a transport so that the peer sees a reset."""
    known = transport.get_extra_info("socket")
    if known is not None and known.fileno() >= 0:
        # SO_LINGER with 0 seconds makes close send RST (socket(7)). Set on a duplicate, because uvloop's socket has no
        # setters.
        with socket.fromfd(known.fileno(), socket.AF_INET, socket.SOCK_STREAM) as same:
            same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def whole_seconds(seconds: float) -> str:
    """Round up for a `Retry-After` header."""
    return str(max(1, math.ceil(seconds)))


def parse_json(raw: bytes) -> Any:
    """Decode JSON text; raise ValueError if it is invalid."""
    return json.loads(raw.decode("utf-8"))
