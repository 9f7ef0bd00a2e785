"""Receive updates for the bot, by webhook or by polling. Source: docs/facts/botchat.md."""

import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

from tocsin.channels.botchat.api import API_URL, BOT_TOKEN, BotApi, BotApiError
from tocsin.channels.botchat.messages.addressing import BotIdentity
from tocsin.channels.botchat.messages.fields import number, record, words
from tocsin.channels.botchat.messages.updates import moved_chat, needs_username, read_update
from tocsin.channels.botchat.settings import WEBHOOK_SECRET
from tocsin.channels.contract import Tools
from tocsin.channels.inbound import (
    CachedLookup,
    InboundAdapter,
    InboundMessage,
    MessageKind,
    RejectedError,
    WebhookRequest,
    WebhookResponse,
    as_channel_error,
)
from tocsin.core.config.settings import Values
from tocsin.core.errors import ChannelError, FailureKind, RemoteError
from tocsin.core.text.strings import truncate

log = logging.getLogger(__name__)

SECRET_HEADERS = ("x-botchat-bot-api-secret-token", "x-telegram-bot-api-secret-token")
READ = "👍"  # one of the few emoji that the API accepts as a reaction
MAX_ALERT = 200  # answerCallbackQuery, text
INDICATOR_TIMEOUT_S = 5.0  # a reaction or typing indicator that takes longer is useless

Moved = Callable[[str, str], Awaitable[None]]


class BotchatInbound(InboundAdapter):
    """The inbound side of one bot.

    The bot's ID comes from the token; its user name is requested once, when it is needed.
    """

    name = "botchat"
    supports_streaming = True
    answers_presses_once: ClassVar[bool] = True
    indicator_every_s: ClassVar[float | None] = 4.0  # the typing indicator disappears after 5 s

    def __init__(self, config: Values, tools: Tools) -> None:
        super().__init__(config, tools)
        token = config[BOT_TOKEN]
        self.api = BotApi(tools.http, config[API_URL], token)
        self.bot_id = int(token.partition(":")[0] or 0)
        self._has_token = bool(token)
        self._me = CachedLookup(self.name, self._ask_name, tools.clock)
        self._moved: list[Moved] = []
        self._reacts = True

    def on_moved(self, observer: Moved) -> None:
        """Call `observer` with the old and the new ID of every group that becomes a supergroup, possibly twice."""
        self._moved.append(observer)

    def verify(self, request: WebhookRequest, now: float) -> None:
        """Compare the secret in the header with the one that was registered with the webhook."""
        secret = self.config[WEBHOOK_SECRET]
        if not secret:
            raise RejectedError(f"{WEBHOOK_SECRET.name} is not set")
        given = set(request.values(*SECRET_HEADERS))
        if not given:
            raise RejectedError("the header with the secret is missing")
        if len(given) > 1:
            raise RejectedError("the header with the secret is repeated with different values")
        if not hmac.compare_digest(given.pop().encode("utf-8", "surrogatepass"), secret.encode()):
            raise RejectedError("the secret is wrong")

    async def receive(self, request: WebhookRequest) -> InboundMessage | None:
        """Return the message in the update, even if the bot's user name cannot be requested.

        Every call with the right secret is answered with success: any other answer would block all later updates.
        """
        try:
            update = json.loads(request.body)
        except (ValueError, RecursionError):
            log.warning("a webhook request is not JSON", extra={"channel": self.name})
            return None
        if not isinstance(update, dict):
            return None
        if self._has_token and needs_username(update):
            await self._me.soon()
        return await self._read(update)

    async def read(self, update: Mapping[str, Any]) -> InboundMessage | None:
        """Return the message in `update`, or `None` if it is not for this program.

        Raises RemoteError if the bot's user name is needed and cannot be requested now. A permanent failure to request
        it does not raise, because it would block all other updates.
        """
        if self._has_token and needs_username(update):
            try:
                await self._me.get()
            except RemoteError as error:
                if error.kind is not FailureKind.PERMANENT:
                    raise
                log.debug("the bot does not know its own name", extra={"reason": error.sentence()})
        return await self._read(update)

    def answer_to(self, message: InboundMessage | None) -> WebhookResponse:
        """Return an empty object: an object with the key `method` would be executed as an API call."""
        return WebhookResponse(200, b"{}", "application/json")

    def reply_target(self, message: InboundMessage) -> str:
        """Return the chat and, in a forum, the topic."""
        return f"{message.chat_id}/{message.thread_id}" if message.thread_id else message.chat_id

    def reply_extra(self, message: InboundMessage) -> dict[str, Any]:
        """In groups, reply to the message itself, so that all members see which message is answered."""
        is_text = message.kind in {MessageKind.MESSAGE, MessageKind.COMMAND}
        return {"reply_to": message.id} if is_text and message.chat_type == "group" else {}

    async def acknowledge(self, message: InboundMessage) -> None:
        """React to a message with 👍, or stop the progress indicator of a button."""
        if message.callback_id:
            await self._answer_callback(message.callback_id)
        elif self._reacts and message.kind is not MessageKind.EDIT:
            await self._react(message)

    async def answer_privately(self, message: InboundMessage, response: str) -> None:
        """Show `response` to the person who pressed a button, instead of only ending its progress."""
        if not message.callback_id:
            await super().answer_privately(message, response)
            return
        await self._answer_callback(message.callback_id, text=truncate(response, MAX_ALERT), show_alert=True)

    async def start_processing_indicator(self, message: InboundMessage) -> None:
        """Show the typing indicator, which lasts 5 s."""
        thread = int(message.thread_id) if message.thread_id else None
        await self._call_briefly(
            "sendChatAction", chat_id=int(message.chat_id), message_thread_id=thread, action="typing"
        )

    async def _read(self, update: Mapping[str, Any]) -> InboundMessage | None:
        if moved := moved_chat(update):
            await self._report_move(*moved)
        return read_update(update, self._me.value or BotIdentity(self.bot_id), self.clock.now())

    async def _ask_name(self) -> BotIdentity:
        me = record(await self.api.call("getMe"))
        return BotIdentity(number(me.get("id")) or self.bot_id, words(me.get("username")))

    async def _answer_callback(self, callback_id: str, **shown: Any) -> None:
        try:
            await self._call_briefly("answerCallbackQuery", callback_query_id=callback_id, **shown)
        except BotApiError as refusal:
            if not refusal.mentions("query is too old"):  # the progress indicator has already stopped
                raise

    async def _react(self, message: InboundMessage) -> None:
        reaction = [{"type": "emoji", "emoji": READ}]
        try:
            await self._call_briefly(
                "setMessageReaction", chat_id=int(message.chat_id), message_id=int(message.id), reaction=reaction
            )
        except BotApiError as refusal:
            # A self-hosted Bot API server may be too old to support reactions; do not call it again in this process.
            self._reacts = refusal.error_code != 404
            raise

    async def _call_briefly(self, method: str, **params: Any) -> None:
        if not self._has_token:
            raise ChannelError(f"Telegram needs {BOT_TOKEN.name}", hint="set it in the environment or in .env")
        try:
            await self.api.call(method, read_timeout_s=INDICATOR_TIMEOUT_S, **params)
        except RemoteError as failure:
            raise as_channel_error(failure) from None

    async def _report_move(self, old: str, new: str) -> None:
        log.warning("a group has a new ID", extra={"channel": self.name, "old_id": old, "new_id": new})
        for observer in self._moved:
            await observer(old, new)
