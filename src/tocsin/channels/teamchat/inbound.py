"""teamchat receives: Events API, slash commands, buttons and dialogues. Source: docs/facts/teamchat.md."""

import logging
from collections import OrderedDict
from dataclasses import replace
from typing import Any, ClassVar

from tocsin.channels.contract import PLAIN, Tools
from tocsin.channels.inbound import (
    CachedLookup,
    Handshake,
    InboundAdapter,
    InboundMessage,
    MessageKind,
    WebhookRequest,
    WebhookResponse,
    as_channel_error,
    digest_of_proof,
)
from tocsin.channels.teamchat import signature
from tocsin.channels.teamchat.api import API_URL, BOT_TOKEN, TeamchatApi
from tocsin.channels.teamchat.events import Threads, own_ids_in, read_message, timestamp
from tocsin.channels.teamchat.forms import read_command, read_interaction
from tocsin.channels.teamchat.response_url import ResponseUrl
from tocsin.channels.teamchat.settings import HEAR_BOTS, SIGNING_SECRET
from tocsin.core.config.settings import Values
from tocsin.core.errors import RemoteError
from tocsin.core.reading.untrusted import clean_text, form_fields, json_object

REMEMBERED = 1_000  # messages with 👀; the second call for one comes within seconds

log = logging.getLogger(__name__)


class TeamchatInbound(InboundAdapter):
    """Reads the product's three kinds of calls, all to one address and signed alike."""

    name: ClassVar[str] = "teamchat"
    answers_markdown: ClassVar[bool] = True

    def __init__(self, config: Values, tools: Tools) -> None:
        super().__init__(config, tools)
        self._api = TeamchatApi(config, tools.http)
        self._threads = Threads()
        self._may_react = bool(config[BOT_TOKEN])
        self._reacted: OrderedDict[tuple[str, str], None] = OrderedDict()  # chat and timestamp
        self._me = CachedLookup(self.name, self._api.own_ids, tools.clock)

    def verify(self, request: WebhookRequest, now: float) -> None:
        """Check the signature over the raw body."""
        signature.check(request, self.config[SIGNING_SECRET], now)

    def replay_key(self, request: WebhookRequest) -> str:
        """Return the digest of signature and timestamp; the product signs every retry anew."""
        return digest_of_proof(signature.read_proof, request)

    async def receive(self, request: WebhookRequest) -> InboundMessage | Handshake | None:
        """Read an event (JSON), or a command or an interaction (form)."""
        if request.body[:64].lstrip()[:1] == b"{":
            return await self._event(json_object(request.body) or {})
        fields = form_fields(request.body)
        if fields.get("ssl_check") == "1":
            return Handshake(WebhookResponse())
        now = self.clock.now()
        if "payload" in fields:
            payload = json_object(fields["payload"]) or {}
            if payload.get("type") == "block_suggestion":
                return Handshake(WebhookResponse.json({"options": []}))
            return self._with_response_url(
                read_interaction(payload, request.body, now=now), payload.get("response_url")
            )
        return self._with_response_url(read_command(fields, request.body, now=now), fields.get("response_url"))

    def reply_target(self, message: InboundMessage) -> str:
        """Return the chat, in channels with the thread of the message."""
        thread_id = message.thread_id
        if not thread_id and message.chat_type != "private":
            thread_id = timestamp(message.reply_to_id) if message.kind is MessageKind.CALLBACK else _posted_at(message)
        return f"{message.chat_id}/{thread_id}" if thread_id else message.chat_id

    async def acknowledge(self, message: InboundMessage) -> None:
        """React with 👀, if the bot may."""
        posted_at = _posted_at(message)
        place = (message.chat_id, posted_at)
        if not self._may_react or not posted_at or place in self._reacted:
            return
        self._reacted[place] = None  # before the call, because the indicator may be requested meanwhile
        if len(self._reacted) > REMEMBERED:
            self._reacted.popitem(last=False)
        try:
            self._may_react = await self._api.react(message.chat_id, posted_at)
        except RemoteError as failure:
            self._reacted.pop(place, None)
            raise as_channel_error(failure) from None
        if not self._may_react:
            log.warning(
                "reactions are disabled until the next start", extra={"channel": self.name, "scope": "reactions:write"}
            )

    async def start_processing_indicator(self, message: InboundMessage) -> None:
        """React with 👀, unless that was done: ordinary channels have no typing indicator."""
        await self.acknowledge(message)

    async def send_response(self, message: InboundMessage, response: str, parse_mode: str = PLAIN) -> None:
        """Answer a command or a button through its `response_url`."""
        address = message.reply_context.get("response_url")
        if not isinstance(address, ResponseUrl):
            await super().send_response(message, response, parse_mode)
            return
        await address.answer(response, parse_mode, self._api, self.clock)

    async def answer_privately(self, message: InboundMessage, response: str) -> None:
        """Answer a command or a button visibly only to the person."""
        address = message.reply_context.get("response_url")
        if not isinstance(address, ResponseUrl):
            await super().answer_privately(message, response)
            return
        await address.answer(response, PLAIN, self._api, self.clock, private=True)

    async def _event(self, envelope: dict[str, Any]) -> InboundMessage | Handshake | None:
        sort = envelope.get("type")
        if sort == "url_verification":
            return Handshake(WebhookResponse.json({"challenge": clean_text(envelope.get("challenge"), 1_000)}))
        if sort == "app_rate_limited":
            log.warning("the provider drops events because there are too many", extra={"channel": self.name})
        if sort != "event_callback":
            return None
        own = own_ids_in(envelope)
        if not own and self.config[BOT_TOKEN]:
            # The event was authorised for a person, so that only the token identifies the bot.
            await self._me.soon()
        known = (*own, *(self._me.value or ()))
        return read_message(envelope, self._threads, known, now=self.clock.now(), hear_bots=self.config[HEAR_BOTS])

    def _with_response_url(self, message: InboundMessage | None, url: object) -> InboundMessage | None:
        if message is None:
            return None
        now = self.clock.monotonic()
        address = ResponseUrl.of(url, self.config[API_URL], now, message.thread_id)
        if address is None:
            return message
        return replace(message, reply_context={"response_url": address, "expires_at": address.expires_at})


def _posted_at(message: InboundMessage) -> str:
    """Return the timestamp of a message in the chat, or `""` for a command or button, which has a trigger instead."""
    return "" if f"trigger:{message.id}" in message.dedupe_keys else timestamp(message.id)
