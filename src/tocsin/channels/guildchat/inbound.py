"""guildchat receives: interactions and webhook events, at one address. Source: docs/facts/guildchat.md."""

from dataclasses import replace
from typing import Any, ClassVar

from tocsin.channels.contract import PLAIN, Tools
from tocsin.channels.guildchat import events, signature
from tocsin.channels.guildchat.answering import EPHEMERAL, InteractionResponder, InteractionToken
from tocsin.channels.guildchat.api import BOT_TOKEN, GuildchatApi
from tocsin.channels.guildchat.interactions import AUTOCOMPLETE, COMMAND, COMPONENT, MODAL, PING, read_message
from tocsin.channels.guildchat.settings import PUBLIC_KEY
from tocsin.channels.inbound import (
    Handshake,
    InboundAdapter,
    InboundMessage,
    MessageKind,
    WebhookRequest,
    WebhookResponse,
    digest_of_proof,
)
from tocsin.core.config.settings import Values
from tocsin.core.reading.untrusted import json_object

UNREADABLE = "I could not read this. Please try again, or ask the operator of this bot."


class GuildchatInbound(InboundAdapter):
    """Reads interactions, which are answered within the call, and events, which are answered with 204."""

    name: ClassVar[str] = "guildchat"
    answers_markdown: ClassVar[bool] = True
    indicator_every_s: ClassVar[float | None] = 8.0

    def __init__(self, config: Values, tools: Tools) -> None:
        super().__init__(config, tools)
        self._responder = InteractionResponder(GuildchatApi(config, tools.http, tools.clock), tools.clock)

    def verify(self, request: WebhookRequest, now: float) -> None:
        """Check the signature over timestamp and raw body."""
        signature.check(request, self.config[PUBLIC_KEY])

    def replay_key(self, request: WebhookRequest) -> str:
        """Return the digest of signature and timestamp; repeated PINGs are answered anyway."""
        return digest_of_proof(signature.read_proof, request)

    def signed_at(self, request: WebhookRequest) -> float:
        """Return the timestamp: the product defines no maximum age of a call."""
        return signature.signed_at(request)

    async def receive(self, request: WebhookRequest) -> InboundMessage | Handshake | None:
        """Read an interaction or an event; an event has no token, and either the field `event` or type 0."""
        call = json_object(request.body) or {}
        sort = call.get("type")
        if isinstance(sort, bool) or not isinstance(sort, int):
            return None
        if "token" not in call and isinstance(call.get("event"), dict):
            return events.read_message(call, request.body, now=self.clock.now())
        if sort == 0:
            return Handshake(WebhookResponse(204))
        if sort == PING:
            return Handshake(WebhookResponse.json({"type": 1}))
        if sort == AUTOCOMPLETE:
            return Handshake(WebhookResponse.json({"type": 8, "data": {"choices": []}}))
        return self._interaction(call) if sort in (COMMAND, COMPONENT, MODAL) else None

    def reply_target(self, message: InboundMessage) -> str:
        """Return the channel; a thread has its own channel ID."""
        return message.chat_id

    def answer_to(self, message: InboundMessage | None) -> WebhookResponse:
        """Defer the answer to an interaction, which shows a progress indicator."""
        if message is None or message.kind not in (MessageKind.COMMAND, MessageKind.CALLBACK):
            return WebhookResponse(204)
        return WebhookResponse.json({"type": 5 if _waits_for_text(message) else 6})

    async def start_processing_indicator(self, message: InboundMessage) -> None:
        """Show "typing", unless a deferred answer shows progress already."""
        if message.kind is MessageKind.MESSAGE and self.config[BOT_TOKEN]:
            await self._responder.type(message.chat_id)

    async def send_response(self, message: InboundMessage, response: str, parse_mode: str = PLAIN) -> None:
        """Fill in the deferred answer, or post a follow-up, without the bot token."""
        token = message.reply_context.get("interaction")
        if not isinstance(token, InteractionToken):
            await super().send_response(message, response, parse_mode)
            return
        await self._responder.answer(token, response, parse_mode)

    async def answer_privately(self, message: InboundMessage, response: str) -> None:
        """Answer an interaction visibly only to its author."""
        token = message.reply_context.get("interaction")
        if not isinstance(token, InteractionToken):
            await super().answer_privately(message, response)
            return
        await self._responder.whisper(token, response)

    async def withdraw(self, message: InboundMessage) -> None:
        """Delete the deferred answer, which otherwise shows progress for 15 minutes."""
        token = message.reply_context.get("interaction")
        if isinstance(token, InteractionToken):
            await self._responder.withdraw(token)

    def _interaction(self, call: dict[str, Any]) -> InboundMessage | Handshake:
        message = read_message(call, now=self.clock.now())
        if message is None:
            # A deferred answer would show progress for 15 minutes.
            said = {"type": 4, "data": {"content": UNREADABLE, "flags": EPHEMERAL}}
            return Handshake(WebhookResponse.json(said))
        token = InteractionToken.of(call, self.clock.monotonic(), deferred=_waits_for_text(message))
        if token is None:
            return message
        return replace(message, reply_context={"interaction": token, "expires_at": token.expires_at})


def _waits_for_text(message: InboundMessage) -> bool:
    """Whether the deferred answer is a new message; that of a button is the button's message."""
    return message.kind is MessageKind.COMMAND or message.reply_to_id is None
