"""The settings of the bot, as its channel declares them."""

from dataclasses import dataclass

from tocsin.channels.conversation import ConversationVariables
from tocsin.core.config.settings import Values


@dataclass(frozen=True, slots=True)
class BotSettings:
    """Access and concurrency settings of the bot."""

    allowed: frozenset[str] = frozenset()
    admin: str = ""  # a chat ID; empty: no chat is asked to approve requests
    notices: str = ""  # the chat ID for the bot's own notifications; empty: none are sent
    per_chat: int = 2
    overall: int = 5
    overflow: int = 10
    max_history: int = 20
    session_ttl_s: int = 3600
    streaming: bool = True
    memory: str = "recall"  # off, recall or on

    @classmethod
    def of(cls, values: Values, variables: ConversationVariables) -> "BotSettings":
        """Read the settings that the channel declares."""
        return cls(
            allowed=values[variables.allowed],
            admin=values[variables.admin],
            notices=values[variables.admin] or values[variables.default_chat],
            per_chat=values[variables.per_chat],
            overall=values[variables.overall],
            overflow=values[variables.overflow],
            max_history=values[variables.max_history],
            session_ttl_s=values[variables.session_ttl_s],
            streaming=values[variables.streaming],
            memory=values[variables.memory],
        )
