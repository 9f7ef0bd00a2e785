"""Replacing the message of a pressed button with its outcome, so that no used button remains."""

import logging
from collections.abc import Awaitable
from dataclasses import replace

from tocsin.channels.conversation import ConversationAdapter, replacing
from tocsin.channels.inbound import InboundMessage
from tocsin.core.errors import RemoteError
from tocsin.core.text.markup.model import Shown
from tocsin.messaging.inbound.handling import HandlerResult

log = logging.getLogger(__name__)


def message_pressed(message: InboundMessage) -> str | None:
    """Return the ID of the message with the pressed button; `None` if no button was pressed or the message is gone."""
    return message.reply_to_id if message.callback_id else None


def in_place(message: InboundMessage, result: HandlerResult) -> HandlerResult:
    """Let the last reply replace the message with the button."""
    shown = message_pressed(message)
    if shown is None or not result.replies:
        return result
    *before, last = result.replies
    last = replace(last, extra={**last.extra, **replacing(shown)})
    return replace(result, replies=(*before, last))


async def show_progress(channel: ConversationAdapter, message: InboundMessage, text: str) -> None:
    """Show progress in the message with the button; ignore failures."""
    if (shown := message_pressed(message)) is not None:
        await _try(channel.edit(message, shown, Shown(text)))


async def drop_buttons(channel: ConversationAdapter, message: InboundMessage) -> None:
    """Remove buttons that no longer have an effect; ignore failures."""
    if (shown := message_pressed(message)) is not None:
        await _try(channel.remove_buttons(message, shown))


async def _try(change: Awaitable[None]) -> None:
    try:
        await change
    except RemoteError as error:
        log.debug("a message with buttons could not be changed", extra={"reason": error.sentence()})
