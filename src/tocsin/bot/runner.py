"""The interface of the bot for the rest of the program."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tocsin.bot.commands import DESCRIPTIONS, is_for_others
from tocsin.bot.door.access import Access
from tocsin.bot.executor import ChatExecutor
from tocsin.bot.handler import BotAccessHandler, BotHandler
from tocsin.bot.registration import register_commands
from tocsin.bot.settings import BotSettings
from tocsin.channels.conversation import ConversationAdapter
from tocsin.channels.inbound import InboundMessage
from tocsin.core.time.clock import Clock


@dataclass(frozen=True, slots=True)
class Bot:
    """The handlers of the bot, and its operations outside messages."""

    access: Access
    access_handler: BotAccessHandler  # the first handler, before triggers
    handler: BotHandler  # after triggers
    executor: ChatExecutor
    channel: ConversationAdapter
    clock: Clock
    settings: BotSettings
    descriptions: Mapping[str, str] = field(default_factory=DESCRIPTIONS.copy)  # of all commands except the admin's

    async def may_acknowledge(self, message: InboundMessage) -> bool:
        """Return True if a read receipt may be sent: a chat that is not allowed must not learn that the bot exists."""
        if message.channel != self.channel.name:
            return True
        return not is_for_others(message, self.descriptions) and await self.access.admits(message)

    async def start(self) -> str:
        """Register the commands; return the error for the status report. An error does not stop the bot."""
        return await register_commands(self.channel, self.clock, self.settings.admin, self.descriptions)

    def state(self) -> dict[str, int]:
        """Return the numbers of running and waiting tasks of all chats."""
        return {"running": self.executor.gate.running(), "waiting": self.executor.gate.waiting()}
