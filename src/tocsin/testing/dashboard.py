"""The dashboard of a data directory, called in this process with the interface of an HTTP client."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from tocsin.assembly.full.dashboard import create_dashboard
from tocsin.assembly.program import App
from tocsin.core.scopes import ALL_SCOPES


@dataclass(frozen=True, slots=True)
class DashboardAnswer:
    """A response of the dashboard."""

    status: int
    headers: Mapping[str, str]  # by lower-case name
    body: bytes

    def json(self) -> Any:
        """Return the body, parsed as JSON."""
        return json.loads(self.body)


@dataclass(slots=True)
class DashboardClient:
    """Calls the dashboard as a user with `scopes`, or unauthenticated without a `user`."""

    app: Any  # an ASGI application
    user: str = "admin"
    scopes: frozenset[str] = ALL_SCOPES
    login: str = "basic"  # how it authenticates: `basic`, `session` as a browser does, or `token`
    headers: dict[str, str] = field(default_factory=dict)  # sent with every request
    leaves: bool = False  # whether it closes the connection once the request is sent, so that streams end
    peer: str = "127.0.0.1"  # its address
    scheme: str = "http"

    async def get(self, path: str, **headers: str) -> DashboardAnswer:
        """Make a GET request; in names of headers, `_` stands for `-`."""
        return await self.call("GET", path, headers=headers)

    async def post(self, path: str, body: object = None, **headers: str) -> DashboardAnswer:
        """Make a POST request; `body` is encoded as JSON."""
        return await self.call("POST", path, body, headers=headers)

    async def call(
        self, method: str, path: str, body: object = None, *, headers: Mapping[str, str] | None = None
    ) -> DashboardAnswer:
        """Make a request; a body of bytes is sent unchanged, with a Content-Type among the headers."""
        given = {name.replace("_", "-").lower(): value for name, value in {**self.headers, **(headers or {})}.items()}
        raw = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        if body is not None and not isinstance(body, bytes):
            given.setdefault("content-type", "application/json")
        messages = await self._exchange(method, path, raw, given)
        start = next(message for message in messages if message["type"] == "http.response.start")
        content = b"".join(m.get("body", b"") for m in messages if m["type"] == "http.response.body")
        found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
        return DashboardAnswer(start["status"], found, content)

    async def _exchange(self, method: str, path: str, raw: bytes, headers: Mapping[str, str]) -> list[dict[str, Any]]:
        bare, _, query = path.partition("?")
        given = {"host": "127.0.0.1:8200", **headers}
        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": self.scheme,
            "path": unquote(bare),
            "raw_path": bare.encode(),
            "root_path": "",
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "client": (self.peer, 50_000),
            "server": ("127.0.0.1", 8200),
            "tests.user": self.user,
            "tests.login": self.login,
            "tests.scopes": self.scopes if self.user else frozenset(),
        }
        sent: list[dict[str, Any]] = []
        waiting = [{"type": "http.request", "body": raw, "more_body": False}]

        async def receive() -> dict[str, Any]:
            if not waiting and not self.leaves:
                await asyncio.Event().wait()
            return waiting.pop() if waiting else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        return sent


@asynccontextmanager
async def open_dashboard(app: App, live: Any = None) -> AsyncIterator[DashboardClient]:
    """Return a client of the dashboard of `app`, signed in as an administrator; authentication is skipped.

    `live` is the event hub, if the test needs one.
    """
    yield DashboardClient(create_dashboard(app, lambda: False, _trusting, live))


def _trusting(app: Any) -> Any:
    """Take the name and scopes of the caller from the client instead of authenticating it."""

    async def guarded(scope: dict[str, Any], receive: Any, send: Any) -> None:
        scope["tocsin.user"] = scope["tests.user"]
        scope["tocsin.login"] = scope["tests.login"]
        scope["tocsin.scopes"] = scope["tests.scopes"]
        await app(scope, receive, send)

    return guarded
