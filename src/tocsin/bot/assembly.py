"""Put the bot together; app.py hands over what belongs to other parts of the program."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tocsin.bot.commands import CommandDependencies, Commands, is_for_others
from tocsin.bot.contract import (
    CHANNEL,
    BotCalls,
    ChatHistory,
    ChatMode,
    FindProvider,
    Hold,
    OnButton,
    Prepare,
    ShownAs,
    ShownMessage,
    Tell,
    text_only,
)
from tocsin.bot.door.access import Access
from tocsin.bot.door.access_store import AccessStore
from tocsin.bot.executor import ChatExecutor, FreeForm, Indicating
from tocsin.bot.gate import Gate
from tocsin.bot.handler import BotAccessHandler, BotHandler, FreeTextHandler
from tocsin.bot.persistence import BotPersistence
from tocsin.bot.registration import register_commands
from tocsin.bot.settings import BotSettings
from tocsin.bot.talk.albums import Albums
from tocsin.bot.talk.conversation import Conversation
from tocsin.bot.talk.conversation_buffer import ConversationBuffer
from tocsin.bot.talk.preview import Previews
from tocsin.bot.talk.sequencer import MessageSequencer
from tocsin.channels.inbound import InboundMessage
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock
from tocsin.delivery.store import UnknownDeliveryError
from tocsin.messaging.inbound.handling import Reply
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox

TargetOf = Callable[[InboundMessage], str]


@dataclass(frozen=True, slots=True)
class BotDependencies:
    """What the bot is made of that it does not make itself."""

    rules: BotSettings
    database: Database  # opened with the schemas of `bot/schema.py`
    clock: Clock
    audit: AuditTrail
    sessions: ChatHistory
    api: BotCalls
    tell: Tell
    target_of: TargetOf  # the inbound adapter's `reply_target`
    abilities: CommandDependencies
    provider: FindProvider
    shown_as: ShownAs | None = None
    hold: Hold | None = None  # the queue's
    indicating: Indicating | None = None  # `messaging/inbound/indicator.py`, with the inbound adapter
    prepare: Prepare = text_only
    free_form: Mapping[ChatMode, FreeForm] = field(default_factory=dict)  # of every mode but chat
    on_button: OnButton | None = None  # `confirm:` and `cancel:` buttons that are not the bot's own


@dataclass(frozen=True, slots=True)
class Bot:
    """The bot, ready to be put into the chain of handlers."""

    access: Access
    access_handler: BotAccessHandler  # first in the chain, before triggers
    handler: BotHandler  # behind triggers
    desk: ChatExecutor
    api: BotCalls
    clock: Clock
    rules: BotSettings

    async def may_acknowledge(self, message: InboundMessage) -> bool:
        """Whether a read receipt may be shown: a chat that is not allowed shall not even learn that we are there."""
        if message.channel != CHANNEL:
            return True
        return not is_for_others(message) and await self.access.admits(message)

    async def start(self) -> str:
        """Register the commands and return what went wrong, for the status; it stops nothing."""
        return await register_commands(self.api, self.clock, self.rules.admin)

    def state(self) -> dict[str, int]:
        """Return how much is being worked on, and waits, for all chats."""
        return {"running": self.desk.gate.running(), "waiting": self.desk.gate.waiting()}


def tell_through(outbox: Outbox, caller: Caller) -> Tell:
    """Return what queues a text for any chat of the bot."""

    async def tell(target: str, reply: Reply, key: str) -> str:
        (delivery,) = await outbox.queue_replies(CHANNEL, target, [reply], key, caller)
        return delivery.id

    return tell


def shown_by(outbox: Outbox) -> ShownAs:
    """Return what finds the message of a delivery by its note, such as `id=17`."""

    async def shown_as(delivery_id: str) -> ShownMessage | None:
        try:
            delivery = await outbox.store.get(delivery_id)
        except UnknownDeliveryError:
            return None
        found = re.match(r"id=(\d+)", delivery.provider_id)
        return ShownMessage(delivery.target, int(found[1])) if found else None

    return shown_as


def build_access(
    rules: BotSettings,
    database: Database,
    clock: Clock,
    audit: AuditTrail,
    tell: Tell | None = None,
    shown_as: ShownAs | None = None,
) -> Access:
    """Return the allowlist alone, as the command line needs it."""
    return Access(AccessStore(database, clock), audit, rules.allowed, rules.admin, tell, shown_as)


def build_bot(parts: BotDependencies) -> Bot:
    """Put the bot together; nothing is opened, called or sent."""
    rules, kept = parts.rules, BotPersistence(parts.database, parts.clock)
    access = build_access(rules, parts.database, parts.clock, parts.audit, parts.tell, parts.shown_as)
    previews = Previews(parts.api if rules.streaming else None, kept, parts.clock, parts.hold)
    gate = Gate(rules.per_chat, rules.overall, rules.overflow)
    arrivals = MessageSequencer(parts.clock)
    desk = ChatExecutor(
        gate, previews, arrivals, tell=parts.tell, target_of=parts.target_of, indicating=parts.indicating
    )
    window = ConversationBuffer(parts.sessions, rules.max_history)
    commands = Commands(desk, kept, parts.sessions, window, parts.abilities, parts.api, rules.admin)
    conversation = Conversation(desk, window, parts.provider, parts.prepare)
    talk = FreeTextHandler(conversation, kept, desk, parts.prepare, parts.free_form)
    handler = BotHandler(commands, talk, Albums(parts.clock), window, arrivals, parts.api, parts.on_button)
    door = BotAccessHandler(access, commands.status, arrivals)
    return Bot(access, door, handler, desk, parts.api, parts.clock, rules)
