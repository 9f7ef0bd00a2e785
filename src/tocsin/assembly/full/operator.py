"""Messages to the operator: in the log, and in the admin chat of the bot."""

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tocsin.assembly.full.bot import find_conversation, tell_through
from tocsin.bot.settings import BotSettings
from tocsin.channels.conversation import Keyboard, with_buttons
from tocsin.core.audit.actions import NOTICES
from tocsin.core.errors import TocsinError
from tocsin.core.ids import new_id
from tocsin.features.ability_records import AskedChat
from tocsin.features.context import AbilityMissingError, Notice
from tocsin.messaging.inbound.handling import Reply
from tocsin.messaging.outbound.caller import Caller

if TYPE_CHECKING:
    from tocsin.assembly.program import App

log = logging.getLogger(__name__)


def tell_operator(app: "App") -> Callable[[str], Awaitable[None]]:
    """Return a function that queues a text for the admin chat, if there is one; the caller logs the text."""

    async def tell(text: str) -> None:

        if not app.registry.bot_channel().configured:
            return
        channel = find_conversation(app.registry)
        notices = BotSettings.of(app.settings, channel.variables).notices
        if notices:
            await tell_through(app.outbox, Caller("bot"), channel.name)(notices, Reply(text), f"admin:{new_id()}")

    return tell


class BotOperatorChats:
    """The chats of the bot with the operator: `OperatorChats`."""

    def __init__(self, app: "App") -> None:
        self._app = app

    def find(self, ids: Collection[str] = (), /) -> Sequence[AskedChat]:
        """Return the chats with some IDs, by default the bot's default chat, else its admin chat."""
        app = self._app
        if not app.registry.bot_channel().configured:
            return ()
        channel = find_conversation(app.registry)
        variables = channel.variables
        own = app.settings[variables.default_chat] or app.settings[variables.admin]
        found = []
        for text in ids or ([own] if own else []):
            with suppress(ValueError):  # not an ID of a chat there
                found.append(AskedChat(channel.name, variables.admin.parse(text)))
        return found

    async def tell(self, text: str, /, *, key: str) -> bool:
        """Queue a text for the default chat, else for the admin chat."""
        for chat in (found := self.find()):
            await self.ask(chat, text, key=key, buttons=())
        return bool(found)

    async def ask(self, chat: AskedChat, text: str, /, *, key: str, buttons: Keyboard) -> None:
        """Queue a text with buttons for a chat."""
        reply = Reply(text, extra=with_buttons(buttons) if buttons else {})
        await self._app.outbox.queue_replies(chat.channel, chat.chat_id, [reply], key, Caller(NOTICES.name))


class OperatorNotices:
    """`Notices` if no feature stores them: they go to the log and to the admin chat."""

    def __init__(self, app: "App") -> None:
        self._tell = tell_operator(app)

    async def notify(self, notice: Notice) -> None:
        """Log a notice, and queue it for the admin chat."""
        if notice.closed:  # the chat cannot show that it is closed
            return
        level = {"error": logging.ERROR, "warning": logging.WARNING}.get(notice.level, logging.INFO)
        log.log(level, "notice", extra={"title": notice.title, "body": notice.body, "source": notice.source})
        try:
            await self._tell(f"{notice.title}\n\n{notice.body}".strip())
        except TocsinError as error:
            log.warning("a notification could not be delivered to the operator", extra={"reason": error.sentence()})

    async def unread_count(self) -> int:
        """Return 0: none is stored."""
        return 0

    async def direct_to(self, channel: str, target: str, *, source: str) -> str:
        """Raise AbilityMissingError: no feature forwards notices."""
        raise AbilityMissingError("no feature of this installation forwards notices")


class Operator:
    """The notices and chats of the operator that the program provides."""

    def __init__(self, app: "App") -> None:
        self.chats = BotOperatorChats(app)
        self.notices = OperatorNotices(app)
