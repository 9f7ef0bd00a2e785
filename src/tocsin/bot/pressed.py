"""The message whose button was pressed: its outcome takes its place, so that no button stays that has been used."""

import logging
from dataclasses import replace

from tocsin.bot.contract import BotCalls
from tocsin.channels.inbound import InboundMessage
from tocsin.core.errors import RemoteError
from tocsin.messaging.inbound.handling import HandlerResult

log = logging.getLogger(__name__)


def message_pressed(message: InboundMessage) -> int | None:
    """Return the ID of the message that has the button; `None` if it is not a press, or its message is gone."""
    shown = message.reply_to_id or ""
    return int(shown) if message.callback_id and shown.isdigit() else None


def in_place(message: InboundMessage, verdict: HandlerResult) -> HandlerResult:
    """Let the last reply take the place of the message with the button."""
    shown = message_pressed(message)
    if shown is None or not verdict.replies:
        return verdict
    *before, last = verdict.replies
    last = replace(last, extra={**last.extra, "edit_message_id": shown})
    return replace(verdict, replies=(*before, last))


async def show_progress(api: BotCalls, message: InboundMessage, text: str) -> None:
    """Write into the message with the button how far the work is; a failure changes nothing."""
    if (shown := message_pressed(message)) is not None:
        await _try(api, "editMessageText", chat_id=int(message.chat_id), message_id=shown, text=text)


async def drop_buttons(api: BotCalls, message: InboundMessage) -> None:
    """Remove buttons that no longer do anything; a failure changes nothing."""
    if (shown := message_pressed(message)) is not None:
        await _try(api, "editMessageReplyMarkup", chat_id=int(message.chat_id), message_id=shown)


async def _try(api: BotCalls, method: str, **params: object) -> None:
    try:
        await api.call(method, **params)
    except RemoteError as error:
        log.debug("a message with buttons is not changed", extra={"reason": error.sentence()})
