"""Tell the channel which commands exist, so that it can complete them."""

import logging
from collections.abc import Mapping

from tocsin.bot.commands import ADMIN_DESCRIPTIONS, DESCRIPTIONS
from tocsin.channels.conversation import ConversationAdapter
from tocsin.core.errors import FailureKind, RemoteError
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)

AGAIN_AFTER_S = (5.0, 30.0, 120.0, 600.0)  # failures that pass, such as a provider that is away when we start


async def register_commands(
    channel: ConversationAdapter, clock: Clock, admin: str = "", descriptions: Mapping[str, str] = DESCRIPTIONS
) -> str:
    """Register all commands, for the admin chat with its own, and return what went wrong.

    Retries for minutes while the product is unreachable. The bot works without a menu, too.
    """
    failure = await _register_all(channel, admin, descriptions)
    for wait_s in AGAIN_AFTER_S:
        if failure is None or failure.kind is FailureKind.PERMANENT:
            break
        await clock.sleep(max(wait_s, failure.retry_after_s or 0.0))
        failure = await _register_all(channel, admin, descriptions)
    if failure is None:
        return ""
    log.warning("the bot's commands could not be registered", extra={"reason": failure.sentence()})
    return failure.sentence()


async def _register_all(
    channel: ConversationAdapter, admin: str, descriptions: Mapping[str, str]
) -> RemoteError | None:
    try:
        if admin:
            await channel.register_commands({**descriptions, **ADMIN_DESCRIPTIONS}, admin)
    except RemoteError as error:  # a chat that has never written to the bot has no menu yet
        log.info("the admin commands could not be registered yet", extra={"reason": error.sentence()})
    try:
        await channel.register_commands(descriptions)
    except RemoteError as error:
        return error
    return None
