"""Registration of the bot's commands with the channel, for command completion."""

import logging
from collections.abc import Mapping

from tocsin.bot.commands import ADMIN_DESCRIPTIONS, DESCRIPTIONS
from tocsin.channels.conversation import ConversationAdapter
from tocsin.core.errors import FailureKind, RemoteError
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)

AGAIN_AFTER_S = (5.0, 30.0, 120.0, 600.0)  # retried failures, such as a provider that is unreachable at start


async def register_commands(
    channel: ConversationAdapter, clock: Clock, admin: str = "", descriptions: Mapping[str, str] = DESCRIPTIONS
) -> str:
    """Register all commands, with the admin commands for the admin chat; return the error, if any.

    Retries for minutes while the product is unreachable. The bot also works without registered commands.
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
