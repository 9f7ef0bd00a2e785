"""What is done with a received message: a chain of handlers, of which the first that feels concerned answers."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from tocsin.channels.contract import PLAIN
from tocsin.channels.inbound import InboundMessage


class HandlingStatus(StrEnum):
    """How the work on a received message ended."""

    ANSWERED = "answered"
    IGNORED = "ignored"
    FAILED = "failed"  # the person is told in a reply


async def count_nothing() -> None:
    """Stand in for `MessageContext.begin` where nobody counts attempts."""


@dataclass(frozen=True, slots=True)
class MessageContext:
    """A stored event on its way through the handlers."""

    id: str  # of the inbox, the same at every attempt
    message: InboundMessage
    backlog: bool = False  # it came while nobody was there: it is answered, however many there are
    attempt: int = 1  # above 1 the process that worked on it before has died
    # Called before work that takes more than a moment: from here on the attempt counts. What waited for its turn when
    # the process died is not to blame.
    begin: Callable[[], Awaitable[None]] = field(default=count_nothing, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """One text for the chat that the message came from; it leaves through the durable queue."""

    text: str
    parse_mode: str = PLAIN
    extra: Mapping[str, Any] = field(default_factory=dict)  # what only that channel knows, such as buttons


@dataclass(frozen=True, slots=True)
class HandlerResult:
    """What a handler came to. `reason` is for log and audit."""

    ending: HandlingStatus
    replies: tuple[Reply, ...] = ()
    reason: str = ""
    # A hint for nobody but who wrote, where the channel can tell them alone; it is never queued, and may be lost.
    hint: str = ""
    # Called once the replies are durably queued and the message is finished, never twice: history, previews.
    done: Callable[[], Awaitable[None]] | None = field(default=None, compare=False)


# Nothing means: not mine, ask the next one.
Handler = Callable[[MessageContext], Awaitable[HandlerResult | None]]


class MessageHandler(Protocol):
    """A handler that can tell beforehand which messages it takes."""

    async def __call__(self, received: MessageContext) -> HandlerResult | None:
        """Handle a message; `None` leaves it to the next handler."""
        ...

    async def matches(self, message: InboundMessage) -> bool:
        """Whether it would take `message`; such a message is acknowledged in the chat that it came from."""
        ...
