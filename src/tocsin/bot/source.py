"""Where the bot's messages, files and sessions come from, as the settings say."""

from collections.abc import Callable
from pathlib import Path

from tocsin.bot.contract import CHANNEL
from tocsin.bot.files.attachments import Fetch
from tocsin.bot.talk.sessions import Sessions
from tocsin.channels.botchat.adapter import BotchatAdapter
from tocsin.channels.botchat.files import BotFiles
from tocsin.channels.botchat.inbound import BotchatInbound
from tocsin.channels.botchat.receiving.liveness import TellAdmin
from tocsin.channels.botchat.receiving.poller import Poller, UpdateSink
from tocsin.channels.botchat.receiving.webhook import WebhookRegistration, hook_of
from tocsin.channels.botchat.settings import LOCAL_FILES_DIR, MAX_HISTORY, MODE, SESSION_TTL_S
from tocsin.channels.registry import Registry
from tocsin.core.config.settings import Values
from tocsin.core.storage.redis_client import RedisClient
from tocsin.core.time.clock import Clock

Source = Poller | WebhookRegistration


def inbound_of(registry: Registry) -> BotchatInbound:
    """Return the inbound side of the bot's channel."""
    inbound = registry.receiver(CHANNEL)
    if not isinstance(inbound, BotchatInbound):
        raise TypeError(f"the inbound side of {CHANNEL} is a {type(inbound).__name__}")
    return inbound


def outbound_of(registry: Registry) -> BotchatAdapter:
    """Return the outbound side of the bot's channel."""
    outbound = registry.adapter(CHANNEL)
    if not isinstance(outbound, BotchatAdapter):
        raise TypeError(f"the outbound side of {CHANNEL} is a {type(outbound).__name__}")
    return outbound


def files_of(inbound: BotchatInbound, settings: Values) -> Fetch:
    """Return what fetches the files that people send."""
    return BotFiles(inbound.api, inbound.clock, settings[LOCAL_FILES_DIR]).read


def sessions_of(settings: Values, clock: Clock) -> Sessions:
    """Return the history of all chats, in memory until `use_redis`."""
    return Sessions(clock, ttl_s=settings[SESSION_TTL_S], window=settings[MAX_HISTORY])


def use_redis(sessions: Sessions, settings: Values, redis: Callable[[], RedisClient]) -> None:
    """Keep the histories in Redis from now on; once they are, nothing changes."""
    if sessions.uses_redis:
        return
    from tocsin.bot.talk.redis_sessions import RedisSessions

    sessions.use(RedisSessions(redis(), ttl_s=settings[SESSION_TTL_S], window=settings[MAX_HISTORY]))


def source_of(
    settings: Values, inbound: BotchatInbound, inbox: UpdateSink, clock: Clock, directory: Path, tell_admin: TellAdmin
) -> Source:
    """Return what receives for the bot. Raises ConfigError where a webhook is asked for and not set up."""
    if settings[MODE] == "webhook":
        return WebhookRegistration(inbound.api, hook_of(settings), clock, tell_admin)
    return Poller(inbound, inbox, clock, directory, tell_admin)
