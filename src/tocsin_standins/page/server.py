"""The demo page: talk to the bot, and see live what every channel received."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

from aiohttp import web

from tocsin_standins.botchat.methods import control
from tocsin_standins.botchat.world import integer
from tocsin_standins.faults import Fault, FaultScript
from tocsin_standins.page.demo_users import DemoUsers
from tocsin_standins.page.source import page_source
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import HttpStandIn, script_faults

LONG_POLL_S = 20.0
FRESH = {"Cache-Control": "no-store"}


class DemoPage(HttpStandIn):
    """The page at `/`, its data beside it, and the mail server's control endpoints.

    `/received.json?after=n` waits up to 20 seconds for entries numbered above n; without `after` it lists
    what is there. `/chats.json` lists the chats with the bot, `/conversation.json?chat=id` the messages of one.
    `/_standin/received`, `say` and `press` work here too, the list over all channels; `/_standin/call` takes
    `{"channel", "text"}` and sends a message where the product calls the gateway. `/_standin/file` takes
    `{"chat_id", "name", "mime", "data", "caption", "sender_name"}`, `data` in base64, and sends a file.
    """

    channel = ""

    def __init__(self, recorder: Recorder, mail_faults: FaultScript, users: DemoUsers, **serving: Any) -> None:
        super().__init__(recorder, **serving)
        self.users = users
        self._mail_faults = mail_faults

    async def stop(self) -> None:
        """End waiting requests, then stop."""
        self.recorder.wake()
        await super().stop()

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Serve the page, its data and the controls."""
        return [
            web.get("/", self._show),
            web.get("/received.json", self._received),
            web.get("/chats.json", self._chats),
            web.get("/conversation.json", self._conversation),
            web.post("/_standin/say", self._let_say),
            web.post("/_standin/file", self._let_send_file),
            web.post("/_standin/press", self._let_press),
            web.post("/_standin/call", self._let_call),
            web.get("/_standin/email/faults", self._list_mail_faults),
            web.post("/_standin/email/faults", self._script_mail_faults),
            web.delete("/_standin/email/faults", self._clear_mail_faults),
        ]

    def refusal(self, fault: Fault) -> web.Response:
        """Name the fault; the page imitates no product."""
        return web.json_response({"error": fault.code or fault.kind}, status=fault.http_status or 400)

    async def _show(self, request: web.Request) -> web.Response:
        nonce = secrets.token_urlsafe(16)
        policy = (
            f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        headers = {
            "Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer", **FRESH,
        }  # fmt: skip
        return web.Response(text=page_source().replace("{nonce}", nonce), content_type="text/html", headers=headers)

    async def _received(self, request: web.Request) -> web.Response:
        after = request.query.get("after", "")
        if after and not after.isdecimal():
            return web.json_response({"error": "`after` is a number"}, status=400)
        items = await self.recorder.after(int(after), timeout_s=LONG_POLL_S) if after else self.recorder.items
        body = {"received": [item.as_json() for item in items], "last": self.recorder.last}
        return web.json_response(body, headers=FRESH)

    async def _chats(self, request: web.Request) -> web.Response:
        return web.json_response({"chats": self.users.chats()}, headers=FRESH)

    async def _conversation(self, request: web.Request) -> web.Response:
        chat_id = integer(request.query.get("chat"))
        if chat_id is None:
            return web.json_response({"error": "`chat` is the number of a chat"}, status=400)
        return web.json_response({"messages": self.users.conversation(chat_id)}, headers=FRESH)

    async def _let_say(self, request: web.Request) -> web.Response:
        return await control(request, self.users.say)

    async def _let_send_file(self, request: web.Request) -> web.Response:
        return await control(request, self.users.send_file)

    async def _let_press(self, request: web.Request) -> web.Response:
        return await control(request, self.users.press)

    async def _let_call(self, request: web.Request) -> web.Response:
        try:
            await self.users.call(**await request.json())
        except (ValueError, TypeError) as error:
            return web.json_response({"error": str(error)}, status=400)
        return web.json_response({}, status=201)

    async def _list_mail_faults(self, request: web.Request) -> web.Response:
        return web.json_response(self._mail_faults.as_json())

    async def _script_mail_faults(self, request: web.Request) -> web.Response:
        return await script_faults(self._mail_faults, request)

    async def _clear_mail_faults(self, request: web.Request) -> web.Response:
        self._mail_faults.clear()
        return web.Response(status=204)
