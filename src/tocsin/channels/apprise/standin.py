"""Stand-in of a Gotify server, one of the services. It imports nothing of ours: it plays the other side.

Source: https://gotify.net/api-docs, "createMessage".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web

from tocsin_standins.faults import Fault
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import HttpStandIn, RefusalError, whole_seconds

TOKEN = "AStandInStandIn"  # noqa: S105  # opens nothing else
_FIELDS: Mapping[str, type] = {"title": str, "message": str, "priority": int, "extras": dict}


class GotifyServer(HttpStandIn):
    """A server with one application, whose token is `token`."""

    channel = "apprise"
    sample = "phone"

    def __init__(self, recorder: Recorder | None = None, *, token: str = TOKEN, **serving: Any) -> None:
        super().__init__(recorder, **serving)
        self.token = token

    def targets(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the entry of `targets.yaml` that points the channel here."""
        return {self.sample: {"url": f"gotify://{self.url.removeprefix('http://')}/{TOKEN}"}}

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        return [web.post("/message", self._take)]

    def refusal(self, fault: Fault) -> web.Response:
        """Answer with the status of the fault."""
        if fault.kind == "rate_limited":
            return web.Response(status=429, headers={"Retry-After": whole_seconds(fault.seconds)})
        return answer_with(fault.http_status, fault.text)

    async def _take(self, request: web.Request) -> web.Response:
        if request.headers.get("X-Gotify-Key") != self.token:
            raise refuse(401, "you need to provide a valid access token or user credentials to access this api")
        fields = read_fields(await request.read())
        text = "\n".join(filter(None, [fields.get("title", ""), fields["message"]]))
        self.record(request, self.sample, text, id=str(self.requests), account="gotify", body=fields)
        return web.json_response({"id": self.requests, "appid": 1, "date": "2026-01-01T00:00:00Z", **fields})


def read_fields(raw: bytes) -> dict[str, Any]:
    """Return the fields of a message, or refuse."""
    try:
        fields = json.loads(raw)
        fits = set(fields) <= set(_FIELDS) and bool(fields["message"])
        fits = fits and all(isinstance(value, _FIELDS[name]) for name, value in fields.items())
    except (ValueError, TypeError, KeyError):
        fits = False
    if not fits:
        raise refuse(400, "Field 'message' is required")
    found: dict[str, Any] = fields
    return found


def refuse(status: int, text: str) -> RefusalError:
    """Return the refusal with this status."""
    return RefusalError(answer_with(status, text))


def answer_with(status: int, text: str) -> web.Response:
    """Return an error as the server writes it."""
    return web.json_response({"error": str(status), "errorCode": status, "errorDescription": text}, status=status)
