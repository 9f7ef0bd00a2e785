"""The bot as features see it."""

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from tocsin.assembly.full.bot import build_sessions, find_conversation, open_access, use_redis
from tocsin.assembly.storage import is_redis_there
from tocsin.bot.settings import BotSettings
from tocsin.bot.talk.sessions import Sessions
from tocsin.channels.inbound import InboundMessage
from tocsin.channels.presses import is_by_link
from tocsin.core.config.core_variables import ACTION_PEOPLE
from tocsin.core.errors import TocsinError
from tocsin.features.ability_records import BotWindow, BotWindowList
from tocsin.messaging.inbound.indicator import show_indicator
from tocsin.messaging.inbound.presses.links import receiver_of
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.model import RunTrigger

if TYPE_CHECKING:
    from tocsin.assembly.program import App

MAX_SHOWN = 200
ELSEWHERE = (
    "Conversations of the bot are stored in the memory of its process, so other processes cannot show "
    "them. Set REDIS_URL to store them in Redis, where all processes can show them."
)


class ProgramBotView:
    """The bot's conversations that this process can see, and the channels of received messages: `BotView`."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._sessions: Sessions | None = None

    def use(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def indicate(self, message: InboundMessage, /) -> AbstractAsyncContextManager[None]:
        """Show a processing indicator in the chat of a message."""
        return show_indicator(receiver_of(self._app.registry, message), self._app.clock, message)

    def may_act(self, message: InboundMessage, /, scope: str = "run") -> bool:
        """Whether the sender of a message that the access rules have let in may start and decide things."""
        registry = self._app.registry
        spec = registry.spec(message.channel)
        if spec.session_presses:  # a person who is signed in to the dashboard
            return scope in message.sender_scopes
        if is_by_link(message):
            return False
        return spec.conversation or self._is_named(message)

    def may_admit(self, message: InboundMessage, /) -> bool:
        """Whether a message comes from the admin chat, from ACTION_PEOPLE, or from an admin of the dashboard."""
        registry = self._app.registry
        if registry.spec(message.channel).session_presses:
            return "admin" in message.sender_scopes
        if is_by_link(message):
            return False
        if registry.spec(message.channel).conversation:
            admin = BotSettings.of(self._app.settings, find_conversation(registry).variables).admin
            return bool(admin) and message.chat_id == admin
        return self._is_named(message)

    async def admit(self, chat_id: str, caller: Caller, /, *, approved: bool) -> str:
        """Allow or deny a chat, which is notified; return the decision."""
        access, _ = open_access(self._app, caller, self._app.stores.bot().access)
        return (await (access.approve if approved else access.deny)(chat_id, caller)).sentence

    def _is_named(self, message: InboundMessage) -> bool:
        registry = self._app.registry
        people = (each.partition(":") for each in self._app.settings[ACTION_PEOPLE])
        return (message.channel, message.sender_id) in {(registry.kind_of(channel), id_) for channel, _, id_ in people}

    def cause(self, message: InboundMessage, /) -> str:
        """Return whether a message comes from a person in a chat of the bot, or from a webhook."""
        return RunTrigger.BOT if self._app.registry.spec(message.channel).conversation else RunTrigger.WEBHOOK

    async def windows(self, chat_id: str = "", /) -> BotWindowList:
        """Return the conversation windows of one chat, by default of all."""
        if not any(state.spec.conversation and state.configured for state in self._app.registry.states()):
            return BotWindowList()
        chosen = self._app.registry.bot_channel()
        try:
            sessions = self._sessions or await self._shared()
            if sessions is None:
                return BotWindowList(notice=ELSEWHERE)
            chats = []
            for key in [chat_id] if chat_id else (await sessions.chats())[:MAX_SHOWN]:
                turns = [(entry.role, entry.content) for entry in await sessions.get(key)]
                if turns:
                    chats.append(BotWindow(key, chosen.spec.kind, turns))
        except TocsinError as error:
            return BotWindowList(notice=f"Conversations of the bot cannot be shown: {error.sentence()}")
        return BotWindowList(chats)

    async def _shared(self) -> Sessions | None:
        """Return the sessions in Redis; None without Redis."""
        app = self._app
        if not await is_redis_there(app.settings):
            return None
        settings = BotSettings.of(app.settings, find_conversation(app.registry).variables)
        sessions = build_sessions(settings, app.clock)
        use_redis(sessions, settings, app.redis)
        return sessions
