"""A web page that shows live what every channel received."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from typing import Any

from aiohttp import web

from tocsin.standins.botchat_methods import control
from tocsin.standins.faults import Fault, FaultScript
from tocsin.standins.page_source import PAGE
from tocsin.standins.recorder import Recorder
from tocsin.standins.serving import HttpStandIn, script_faults

LONG_POLL_S = 20.0


class Page(HttpStandIn):
    """The page at `/`, its data at `/received.json`, and the mail server's control endpoints.

    `/received.json?after=n` waits up to 20 seconds for entries numbered above n; without `after` it lists
    what is there. `/_standin/received` and `/_standin/say` work here too, the list over all channels.
    """

    channel = ""

    def __init__(
        self, recorder: Recorder, mail_faults: FaultScript, say: Callable[..., dict[str, Any]], **serving: Any
    ) -> None:
        super().__init__(recorder, **serving)
        self._mail_faults = mail_faults
        self._say = say

    async def stop(self) -> None:
        """Let those who follow the page go, then stop."""
        self.recorder.wake()
        await super().stop()

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Serve the page, its data and the controls."""
        return [
            web.get("/", self._show),
            web.get("/received.json", self._received),
            web.post("/_standin/say", self._let_say),
            web.get("/_standin/email/faults", self._list_mail_faults),
            web.post("/_standin/email/faults", self._script_mail_faults),
            web.delete("/_standin/email/faults", self._clear_mail_faults),
        ]

    def refusal(self, fault: Fault) -> web.Response:
        """Name the fault; the page imitates nobody."""
        return web.json_response({"error": fault.code or fault.kind}, status=fault.http_status or 400)

    async def _show(self, request: web.Request) -> web.Response:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        headers = {
            "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
        }  # fmt: skip
        return web.Response(text=PAGE.replace("{nonce}", nonce), content_type="text/html", headers=headers)

    async def _received(self, request: web.Request) -> web.Response:
        after = request.query.get("after", "")
        if after and not after.isdecimal():
            return web.json_response({"error": "`after` is a number"}, status=400)
        items = await self.recorder.after(int(after), timeout_s=LONG_POLL_S) if after else self.recorder.items
        body = {"received": [item.as_json() for item in items], "last": self.recorder.last}
        return web.json_response(body, headers={"Cache-Control": "no-store"})

    async def _let_say(self, request: web.Request) -> web.Response:
        return await control(request, self._say)

    async def _list_mail_faults(self, request: web.Request) -> web.Response:
        return web.json_response(self._mail_faults.as_json())

    async def _script_mail_faults(self, request: web.Request) -> web.Response:
        return await script_faults(self._mail_faults, request)

    async def _clear_mail_faults(self, request: web.Request) -> web.Response:
        self._mail_faults.clear()
        return web.Response(status=204)
