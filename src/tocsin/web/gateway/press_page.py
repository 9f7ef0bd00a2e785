"""/a/{token}: the page that stands for a `call` button where a product has none.

GET only shows; POST presses. Programs that scan mails follow their links, but send no forms. The link is the
credential; it does not prove who presses.
"""

import logging
from base64 import b64encode
from hashlib import sha256
from html import escape
from http import HTTPStatus
from secrets import token_urlsafe

from starlette.responses import Response
from starlette.types import Receive, Scope

from tocsin.channels.action_tokens import ActionToken, read_token
from tocsin.channels.presses import link_press_event
from tocsin.channels.registry import Registry
from tocsin.core.errors import TocsinError
from tocsin.core.ids import new_id
from tocsin.core.reading.untrusted import form_fields, identifier
from tocsin.core.text.strings import truncate
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.inbox import Inbox
from tocsin.messaging.inbound.presses.buttons import UNKNOWN, OfferedAction, PressedButtons, PressRefusedError
from tocsin.messaging.inbound.presses.session import outcome_of
from tocsin.rest.problems import HttpProblemError
from tocsin.web.http.asgi import read_body
from tocsin.web.http.responses import PAGE_HEADERS

log = logging.getLogger(__name__)

SHOWN_CHARS = 500

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem;color:#1c1c1e;"
    "background:#fff}h1{font-size:1.25rem}pre{white-space:pre-wrap;font:inherit;overflow-wrap:anywhere}"
    "button{font:inherit;padding:.6rem 1.4rem;border:0;border-radius:.4rem;background:#1f6feb;color:#fff}"
    "button.danger{background:#c9302c}button.success{background:#1a7f37}"
    "@media(prefers-color-scheme:dark){body{color:#eee;background:#16181d}}"
)
_HEADERS = {
    **PAGE_HEADERS,
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Robots-Tag": "noindex",
}


class PressPages:
    """The handlers of GET and POST /a/{token}."""

    def __init__(self, registry: Registry, buttons: PressedButtons, inbox: Inbox, clock: Clock) -> None:
        self._registry = registry
        self._buttons = buttons
        self._inbox = inbox
        self._clock = clock

    async def show(self, scope: Scope, receive: Receive) -> Response:
        """GET /a/{token}: what the button does, and a form that presses it. Changes nothing."""
        try:
            offered = await self._offered(_token(scope))
        except PressRefusedError as refusal:
            return _page(str(refusal), status=HTTPStatus.GONE)
        return _page(offered.label, _form(offered))

    async def press(self, scope: Scope, receive: Receive) -> Response:
        """POST /a/{token}: store the press, and say what came of it."""
        token = _token(scope)
        form = form_fields(await read_body(scope, receive))
        try:
            offered = await self._offered(token)
        except PressRefusedError as refusal:
            return _page(str(refusal), status=HTTPStatus.GONE)
        delivery = offered.delivery
        # The form has an ID of its own, so that reloading the answer does not press again.
        event_id = f"{delivery.id}:{identifier(form.get('press')) or new_id()}"
        event = link_press_event(
            delivery.channel, delivery.target, str(token), event_id=event_id, now=self._clock.now()
        )
        try:
            await self._inbox.accept([event])
        except TocsinError as error:
            log.warning("a press could not be stored", extra={"reason": error.sentence()})
            raise HttpProblemError("not-ready", "The press cannot be stored now. Try again later.") from None
        return _page((await outcome_of(self._inbox, event.id)).detail)

    async def _offered(self, token: ActionToken) -> OfferedAction:
        try:
            offered = await self._buttons.find(token)
            spec = self._registry.spec(offered.delivery.channel)
        except PressRefusedError:
            raise
        except TocsinError as error:
            log.warning("a button could not be looked up", extra={"reason": error.sentence()})
            raise HttpProblemError("not-ready", "The button cannot be looked up now. Try again later.") from None
        if spec.shows("call"):  # its chat knows who presses, and who may
            raise PressRefusedError(UNKNOWN)
        return offered


def _token(scope: Scope) -> ActionToken:
    token = read_token(f"a:{scope['path_params']['token']}")
    if token is None:
        raise HttpProblemError("not-found", "Unknown button.")
    return token


def _form(offered: OfferedAction) -> str:
    delivery, style = offered.delivery, str(offered.action.get("style", ""))
    title = str(delivery.content.get("title", ""))
    text = truncate(delivery.message if delivery.message != title else "", SHOWN_CHARS)
    asked = str(offered.action.get("confirm", ""))
    shown = [f"<p><strong>{escape(title)}</strong></p>"] if title else []
    shown += [f"<pre>{escape(text)}</pre>"] if text.strip() else []
    shown += [f"<p>{escape(asked)}</p>"] if asked else []
    button = f'<button class="{escape(style)}">{escape(offered.label)}</button>'
    nonce = f'<input type="hidden" name="press" value="{token_urlsafe(12)}">'
    return f'{"".join(shown)}<form method="post">{nonce}{button}</form>'


def _page(heading: str, body: str = "", *, status: HTTPStatus = HTTPStatus.OK) -> Response:
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Tocsin</title><style>{_STYLE}</style></head><body><main><h1>{escape(heading)}</h1>{body}</main></body></html>"
    )
    return Response(page, status, headers=_HEADERS, media_type="text/html")
