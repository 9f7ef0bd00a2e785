"""How the operator is told something: in the log, and in the admin chat of the bot where there is one."""

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tocsin.core.audit.actions import NOTICES
from tocsin.core.errors import TocsinError
from tocsin.core.ids import new_id
from tocsin.messaging.outbound.caller import Caller

if TYPE_CHECKING:
    from tocsin.assembly.program import App
    from tocsin.channels.conversation import Keyboard
    from tocsin.features.abilities import AskChat, AskedChat, FindChats, Notify, TellOperator
    from tocsin.features.context import Notice

log = logging.getLogger(__name__)


def tell_operator(app: "App") -> Callable[[str], Awaitable[None]]:
    """Return what queues a text for the admin chat, where there is one; the caller logs it anyway."""

    async def tell(text: str) -> None:
        from tocsin.assembly.bot import conversation_of, tell_through
        from tocsin.bot.settings import BotSettings
        from tocsin.messaging.inbound.handling import Reply

        if not app.registry.bot_channel().configured:
            return
        channel = conversation_of(app.registry)
        notices = BotSettings.of(app.settings, channel.variables).notices
        if notices:
            await tell_through(app.outbox, Caller("bot"), channel.name)(notices, Reply(text), f"admin:{new_id()}")

    return tell


def tell_operator_once(app: "App") -> "TellOperator":
    """Return what queues a notice for the default chat of the bot, else for its admin chat."""
    chats, ask = find_chats(app), ask_chat(app)

    async def tell(text: str, /, *, key: str) -> bool:
        for chat in (found := chats()):
            await ask(chat, text, key=key, buttons=())
        return bool(found)

    return tell


def find_chats(app: "App") -> "FindChats":
    """Return what finds chats of the bot: those with some IDs, or its default chat, else its admin chat."""

    def find(ids: "Collection[str]" = (), /) -> "Sequence[AskedChat]":
        from tocsin.assembly.bot import conversation_of
        from tocsin.features.abilities import AskedChat

        if not app.registry.bot_channel().configured:
            return ()
        channel = conversation_of(app.registry)
        variables = channel.variables
        own = app.settings[variables.default_chat] or app.settings[variables.admin]
        found = []
        for text in ids or ([own] if own else []):
            with suppress(ValueError):  # not an ID of a chat there
                found.append(AskedChat(channel.name, variables.admin.parse(text)))
        return found

    return find


def ask_chat(app: "App") -> "AskChat":
    """Return what queues a text with buttons for a chat of the bot."""

    async def ask(chat: "AskedChat", text: str, /, *, key: str, buttons: "Keyboard") -> None:
        from tocsin.channels.conversation import with_buttons
        from tocsin.messaging.inbound.handling import Reply

        reply = Reply(text, extra=with_buttons(buttons) if buttons else {})
        await app.outbox.queue_replies(chat.channel, chat.chat_id, [reply], key, Caller(NOTICES.name))

    return ask


def notify_operator(app: "App") -> "Notify":
    """Return what notices go through where no feature keeps them."""
    tell = tell_operator(app)

    async def notify(notice: "Notice") -> None:
        if notice.closed:  # the chat cannot show that it is closed
            return
        level = {"error": logging.ERROR, "warning": logging.WARNING}.get(notice.level, logging.INFO)
        log.log(level, "notice", extra={"title": notice.title, "body": notice.body, "source": notice.source})
        try:
            await tell(f"{notice.title}\n\n{notice.body}".strip())
        except TocsinError as error:
            log.warning("a notice does not reach the operator", extra={"reason": error.sentence()})

    return notify
