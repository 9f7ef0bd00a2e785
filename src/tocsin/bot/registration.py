"""Tell the chat service which commands there are, so that it can complete them (spec 4.4)."""

import logging

from tocsin.bot.commands import ADMIN_DESCRIPTIONS, DESCRIPTIONS
from tocsin.bot.contract import BotCalls
from tocsin.core.errors import TocsinError

log = logging.getLogger(__name__)


async def register_commands(api: BotCalls, admin: str = "") -> str:
    """Register all commands, for the admin chat with its own, and return what went wrong.

    A menu that is missing stops nobody from using the bot.
    """
    try:
        if admin:
            scope = {"type": "chat", "chat_id": int(admin)}
            await api.call("setMyCommands", commands=listed(DESCRIPTIONS | ADMIN_DESCRIPTIONS), scope=scope)
    except TocsinError as error:  # a chat that has never written to the bot has no menu yet
        log.info("the admin chat has no commands of its own yet", extra={"reason": error.sentence()})
    try:
        await api.call("setMyCommands", commands=listed(DESCRIPTIONS))
    except TocsinError as error:
        log.warning("the bot's commands are not registered", extra={"reason": error.sentence()})
        return error.sentence()
    return ""


def listed(descriptions: dict[str, str]) -> list[dict[str, str]]:
    """Return commands as the Bot API takes them."""
    return [{"command": name, "description": description} for name, description in descriptions.items()]
