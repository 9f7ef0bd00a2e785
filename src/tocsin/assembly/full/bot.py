"""Put the bot together from what the program and its channel provide."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tocsin.bot.commands import CommandDependencies, Commands
from tocsin.bot.contract import (
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
from tocsin.bot.runner import Bot
from tocsin.bot.settings import BotSettings
from tocsin.bot.shared_work import SharedWork
from tocsin.bot.storage.stores import BotStores
from tocsin.bot.talk.albums import Albums
from tocsin.bot.talk.chat_memory import ChatMemory
from tocsin.bot.talk.conversation import Conversation
from tocsin.bot.talk.conversation_buffer import ConversationBuffer
from tocsin.bot.talk.preview import Previews
from tocsin.bot.talk.sequencer import MessageSequencer
from tocsin.bot.talk.sessions import Sessions
from tocsin.channels.conversation import ConversationAdapter
from tocsin.channels.registry import Registry
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.storage.redis_client import RedisClient
from tocsin.core.time.clock import Clock
from tocsin.delivery.store import UnknownDeliveryError
from tocsin.messaging.inbound.handling import Reply
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox

if TYPE_CHECKING:
    from tocsin.assembly.program import App


@dataclass(frozen=True, slots=True)
class BotDependencies:
    """The dependencies of the bot on other parts of the program."""

    settings: BotSettings
    stores: BotStores
    clock: Clock
    audit: AuditTrail
    sessions: Sessions
    channel: ConversationAdapter
    tell: Tell
    executor: ChatExecutor
    for_commands: CommandDependencies
    provider: FindProvider
    shown_as: ShownAs | None = None
    prepare: Prepare = text_only
    free_form: Mapping[ChatMode, FreeForm] = field(default_factory=dict)  # of every mode but chat
    chat_memory: ChatMemory = field(default_factory=ChatMemory)
    on_button: OnButton | None = None  # `confirm:` and `cancel:` buttons that are not the bot's own


def find_conversation(registry: Registry) -> ConversationAdapter:
    """Return the inbound side of the channel that the bot uses."""
    kind = registry.bot_channel().spec.kind
    receiver = registry.receiver(kind)
    if not isinstance(receiver, ConversationAdapter):
        raise TypeError(f"{kind} declares conversation=True, but its receiver is a {type(receiver).__name__}")
    return receiver


def tell_through(outbox: Outbox, caller: Caller, channel: str) -> Tell:
    """Return a function that queues a text for a chat of the bot."""

    async def tell(target: str, reply: Reply, key: str) -> str:
        (delivery,) = await outbox.queue_replies(channel, target, [reply], key, caller)
        return delivery.id

    return tell


def shown_by(outbox: Outbox, channel: ConversationAdapter) -> ShownAs:
    """Return a function that finds the sent message of a delivery."""

    async def shown_as(delivery_id: str) -> ShownMessage | None:
        try:
            delivery = await outbox.store.get(delivery_id)
        except UnknownDeliveryError:
            return None
        message_id = channel.sent_message_id(delivery.provider_id)
        return ShownMessage(delivery.target, message_id) if message_id else None

    return shown_as


def build_access(
    settings: BotSettings,
    store: AccessStore,
    audit: AuditTrail,
    tell: Tell | None = None,
    shown_as: ShownAs | None = None,
) -> Access:
    return Access(store, audit, settings.allowed, settings.admin, tell, shown_as)


def open_access(app: "App", caller: Caller, store: AccessStore) -> tuple[Access, ConversationAdapter]:
    """Return the allowlist, which notifies the affected chats, and the channel of the bot."""
    channel = find_conversation(app.registry)
    settings = BotSettings.of(app.settings, channel.variables)
    tell, shown_as = tell_through(app.outbox, caller, channel.name), shown_by(app.outbox, channel)
    return build_access(settings, store, app.audit, tell, shown_as), channel


def build_sessions(settings: BotSettings, clock: Clock) -> Sessions:
    """Return the history of all chats, in memory until `use_redis`."""
    return Sessions(clock, ttl_s=settings.session_ttl_s, window=settings.max_history)


def use_redis(sessions: Sessions, settings: BotSettings, redis: Callable[[], RedisClient]) -> None:
    """Store the histories in Redis from now on; later calls have no effect."""
    if sessions.uses_redis:
        return
    from tocsin.bot.talk.redis_sessions import RedisSessions

    sessions.use(RedisSessions(redis(), ttl_s=settings.session_ttl_s, window=settings.max_history))


def build_executor(
    settings: BotSettings,
    stores: BotStores,
    clock: Clock,
    channel: ConversationAdapter,
    tell: Tell,
    *,
    hold: Hold | None = None,
    indicating: Indicating | None = None,
) -> ChatExecutor:
    """Return the executor of chat tasks; `hold` is a method of the queue."""
    return ChatExecutor(
        Gate(settings.per_chat, settings.overall, settings.overflow),
        Previews(channel if settings.streaming else None, stores.persistence, clock, hold),
        MessageSequencer(clock),
        tell=tell,
        target_of=channel.reply_target,
        indicating=indicating,
        shared=SharedWork(stores.work, clock),
    )


def build_bot(parts: BotDependencies) -> Bot:
    """Put the bot together; nothing is opened, called or sent."""
    settings, executor, channel = parts.settings, parts.executor, parts.channel
    persistence = parts.stores.persistence
    access = build_access(settings, parts.stores.access, parts.audit, parts.tell, parts.shown_as)
    buffer = ConversationBuffer(parts.sessions, settings.max_history)
    commands = Commands(executor, persistence, parts.sessions, buffer, parts.for_commands, channel, settings.admin)
    conversation = Conversation(executor, buffer, parts.provider, parts.prepare, parts.chat_memory)
    free_text = FreeTextHandler(conversation, persistence, executor, parts.prepare, parts.free_form)
    handler = BotHandler(commands, free_text, Albums(parts.clock), buffer, executor.sequencer, channel, parts.on_button)
    access_handler = BotAccessHandler(access, commands.status, executor.sequencer, channel)
    descriptions = parts.for_commands.descriptions()
    return Bot(access, access_handler, handler, executor, channel, parts.clock, settings, descriptions)
