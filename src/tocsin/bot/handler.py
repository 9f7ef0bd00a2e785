"""The two handlers of the bot: access control before all others, conversation after triggers."""

import logging
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from tocsin.bot import keyboards
from tocsin.bot.commands import Command, Commands
from tocsin.bot.contract import (
    ChatMode,
    OnButton,
    Prepare,
    Prepared,
    answered,
    failed,
    history_key,
    ignored,
)
from tocsin.bot.door.access import Access, Change, Listed
from tocsin.bot.door.access_store import AccessState
from tocsin.bot.door.audit_actions import BOT
from tocsin.bot.executor import ChatExecutor, FreeForm, prepared
from tocsin.bot.persistence import BotPersistence
from tocsin.bot.pressed import drop_buttons, in_place, message_pressed
from tocsin.bot.talk.albums import Albums
from tocsin.bot.talk.conversation import Conversation
from tocsin.bot.talk.conversation_buffer import ConversationBuffer
from tocsin.bot.talk.prompt import format_for_history
from tocsin.bot.talk.sequencer import MessageSequencer
from tocsin.channels.action_tokens import read_token
from tocsin.channels.conversation import ConversationAdapter
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.messaging.inbound.handling import HandlerResult, MessageContext
from tocsin.messaging.outbound.caller import Caller

log = logging.getLogger(__name__)

PENDING = "access request pending"
NOT_ALLOWED = "This chat may not use the buttons of this bot."
LOGGED_CHATS = 10_000
SHOWN_CHAT = 64  # characters of the chat ID in a forged button


async def reject_without_bot(channels: Collection[str], received: MessageContext) -> HandlerResult | None:
    """Reject every message of channels that the bot could use: without a bot they have no access rules."""
    return ignored("the bot is not configured") if received.message.channel in channels else None


class BotAccessHandler:
    """The first handler: rejects messages of chats that are not allowed, and handles access requests."""

    def __init__(
        self,
        access: Access,
        status: Command,
        sequencer: MessageSequencer,
        channel: ConversationAdapter,
        *,
        logged_chats: int = LOGGED_CHATS,
    ) -> None:
        self._access = access
        self._status = status
        self._sequencer = sequencer
        self._channel = channel
        self._logged_chats = logged_chats
        self._logged: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, received: MessageContext) -> HandlerResult | None:
        """Return `None` for an allowed chat and for other channels."""
        message = received.message
        if message.channel != self._channel.name:
            return None
        if message.sender_is_bot:
            return ignored("sent by a bot")
        if message.kind in {MessageKind.MESSAGE, MessageKind.COMMAND}:
            self._sequencer.begin(received)
        result = await self._let_in(received)
        if result is not None:
            self._sequencer.leave(received)
        return result

    async def _let_in(self, received: MessageContext) -> HandlerResult | None:
        message = received.message
        state = await self._access.read_state(message.chat_id)
        if message.chat_id == self._access.admin and (result := await self._for_admin(received, state)):
            return result
        if state is AccessState.ALLOWED:
            return self._refuse_press(message)
        if message.kind is MessageKind.COMMAND and message.command == "start" and state is not AccessState.DENIED:
            return await self._request(message)
        self._log_once(message.chat_id)
        refused = ignored("the chat is not on the allowlist")
        return replace(refused, hint=NOT_ALLOWED) if read_token(message.callback_data) else refused

    async def _request(self, message: InboundMessage) -> HandlerResult | None:
        state = await self._access.request(message)
        if state is AccessState.ALLOWED:  # allowed at this moment
            return None
        return answered(PENDING) if state is AccessState.PENDING else ignored("too many access requests wait")

    async def _for_admin(self, received: MessageContext, state: AccessState) -> HandlerResult | None:
        message = received.message
        if message.kind is MessageKind.COMMAND and message.command in ("approve", "deny"):
            return await self._decide(received, message.command, message.args)
        if message.kind is MessageKind.COMMAND and message.command == "status" and state is not AccessState.ALLOWED:
            return await self._status(received)
        if decision := keyboards.parse_decision(message.callback_data or ""):
            return await self._press(received, *decision)
        return None

    def _refuse_press(self, message: InboundMessage) -> HandlerResult | None:
        """Reject an admin button pressed in another chat: the data of a button can be forged."""
        decision = keyboards.parse_decision(message.callback_data or "")
        if decision is None or message.chat_id == self._access.admin:
            return None
        self._access.refuse_press(decision[1][:SHOWN_CHAT], _caller_of(message))
        return ignored("the button was not sent to this chat")

    async def _decide(self, received: MessageContext, verb: str, argument: str) -> HandlerResult:
        try:
            chat = self._channel.variables.admin.parse(argument)
        except ValueError as error:
            return answered(f"Which chat? Send /{verb} and {error}.{await self._waiting()}")
        change = await self._change(received, verb, chat)
        return answered(f"{change.sentence[0].upper()}{change.sentence[1:]}.")

    async def _press(self, received: MessageContext, verb: str, chat: str) -> HandlerResult:
        """Decide a pending request; for a decided one, only show the outcome."""
        if await self._access.read_state(chat) is AccessState.PENDING:
            await self._change(received, verb, chat)
        return in_place(received.message, answered(await self._access.outcome(chat)))

    async def _change(self, received: MessageContext, verb: str, chat: str) -> Change:
        change = self._access.approve if verb == "approve" else self._access.deny
        return await change(chat, _caller_of(received.message), message_pressed(received.message))

    async def _waiting(self) -> str:
        waiting = [_waiting_chat(item) for item in await self._access.listing() if item.state is AccessState.PENDING]
        return f" Waiting: {', '.join(waiting[:20])}{' …' if len(waiting) > 20 else ''}" if waiting else ""

    def _log_once(self, chat_id: str) -> None:
        """Log a rejected chat once; the number of remembered chats is bounded."""
        if chat_id in self._logged:
            self._logged.move_to_end(chat_id)
            return
        log.warning("rejected a chat that is not on the allowlist", extra={"chat_id": chat_id})
        self._logged[chat_id] = None
        if len(self._logged) > self._logged_chats:
            self._logged.popitem(last=False)


def _caller_of(message: InboundMessage) -> Caller:
    return Caller(BOT.name, {"actor": f"chat:{message.chat_id}", "sender": message.sender_id or ""})


def _waiting_chat(item: Listed) -> str:
    name = item.details.get("title") or item.details.get("name")
    return f"{item.chat_id} ({name})" if name else item.chat_id


class FreeTextHandler:
    """Handles free-form messages according to the mode of the chat."""

    def __init__(
        self,
        conversation: Conversation,
        persistence: BotPersistence,
        executor: ChatExecutor,
        prepare: Prepare,
        free_form: Mapping[ChatMode, FreeForm],
    ) -> None:
        self._conversation = conversation
        self._persistence = persistence
        self._executor = executor
        self._prepare = prepare
        self._free_form = free_form

    async def __call__(self, received: MessageContext) -> HandlerResult:
        """Answer one message, or one album as a single message."""
        await self._executor.sequencer.wait(received, for_commands=True)  # `/mode` and `/reset` apply to it
        mode = await self._persistence.mode(received.message.chat_id)
        if mode is ChatMode.CHAT:
            return await self._conversation(received)
        if handle := self._free_form.get(mode):
            return await self._executor.do(received, partial(prepared, self._prepare, handle))
        return failed(
            f"{mode.capitalize()} mode is not available. Send /mode chat to return to chat mode.",
            f"{mode} mode is not available",
        )


class BotHandler:
    """The last handler: commands, buttons and conversation of allowed chats."""

    def __init__(
        self,
        commands: Commands,
        free_text: FreeTextHandler,
        albums: Albums,
        buffer: ConversationBuffer,
        sequencer: MessageSequencer,
        channel: ConversationAdapter,
        on_button: OnButton | None = None,
    ) -> None:
        self._commands = commands
        self._free_text = free_text
        self._albums = albums
        self._buffer = buffer
        self._sequencer = sequencer
        self._channel = channel
        self._on_button = on_button

    async def __call__(self, received: MessageContext) -> HandlerResult | None:
        """Answer every message of the bot's channel; `None` for other channels."""
        message = received.message
        if message.channel != self._channel.name:
            return None
        match message.kind:
            case MessageKind.EDIT:
                question = format_for_history(message, Prepared(message.text))
                await self._buffer.edit(history_key(message), message.id, message.text, question)
                return ignored("an edit only changes the history")
            case MessageKind.CALLBACK:
                return await self._press(received)
            case MessageKind.COMMAND | MessageKind.MESSAGE:
                try:
                    return await self._answer(received)
                finally:
                    self._sequencer.leave(received)

    async def _answer(self, received: MessageContext) -> HandlerResult:
        if received.message.kind is MessageKind.MESSAGE:
            return await self._albums.handle(received, self._converse)
        await self._sequencer.wait(received)
        return await self._commands(received)

    async def _converse(self, received: MessageContext) -> HandlerResult:
        if received.message.chat_type != "private" and not received.message.mentions_bot:
            return ignored("not addressed to the bot")
        return await self._free_text(received)

    async def _press(self, received: MessageContext) -> HandlerResult:
        prefix, rest = keyboards.parse(received.message.callback_data or "")
        result = await self._commands.press(received, prefix, rest)
        if result is None and self._on_button and prefix in (keyboards.CONFIRM, keyboards.CANCEL):
            result = await self._on_button(received, f"{prefix}{rest}")
        if result is None:
            await drop_buttons(self._channel, received.message)
        return result or ignored("a button that is no longer valid")
