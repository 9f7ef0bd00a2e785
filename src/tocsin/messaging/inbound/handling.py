"""The chain of handlers for a received message; the first handler that returns a result ends it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from tocsin.channels.contract import PLAIN
from tocsin.channels.inbound import InboundMessage
from tocsin.core.errors import TocsinError


class HandlingStatus(StrEnum):
    """The outcome of handling a message."""

    ANSWERED = "answered"
    IGNORED = "ignored"
    FAILED = "failed"  # a reply informs the person


class EventTakenOverError(TocsinError):
    """Another process has taken the event over, because this one seemed to be dead; the work must not start here."""

    code = "event-taken-over"


async def uncounted() -> None:
    """Do nothing: the default of `MessageContext.begin`."""


@dataclass(frozen=True, slots=True)
class PressedAction:
    """A `call` button of a message that was pressed; `delivery` is the one that sent the message."""

    name: str
    value: str
    label: str
    delivery: str
    channel: str
    target: str
    key: str  # of the message; empty if its caller gave none
    text: str  # of the message: its title and its text
    source: str  # who sent the message
    by: str  # who pressed, for people
    by_link: bool  # it is not known who pressed: the link is the only proof
    request_key: str = ""  # the idempotency key of the message, which its caller cannot choose freely


@dataclass(frozen=True, slots=True)
class MessageContext:
    """A stored message, as the handlers receive it."""

    id: str  # of the inbox event, the same at every attempt
    message: InboundMessage
    backlog: bool = False  # the message arrived while the program was down; the loop guard does not count it
    attempt: int = 1  # greater than 1 if an earlier process died during the work
    seq: int = 0  # the order of arrival among all processes; 0 if unknown
    # Must be called before any longer work: only then does the attempt count, because a message that was still waiting
    # cannot have crashed the process. Raises EventTakenOverError, which handlers must not catch.
    begin: Callable[[], Awaitable[None]] = field(default=uncounted, compare=False, repr=False)
    press: PressedAction | None = None  # for a `call` button; then `begin` also removes the buttons


@dataclass(frozen=True, slots=True)
class Reply:
    """One text for the chat of the message, sent through the durable queue."""

    text: str
    parse_mode: str = PLAIN
    extra: Mapping[str, Any] = field(default_factory=dict)  # specific to the channel, such as buttons


@dataclass(frozen=True, slots=True)
class HandlerResult:
    """The result of a handler. `reason` is for log and audit."""

    ending: HandlingStatus
    replies: tuple[Reply, ...] = ()
    reason: str = ""
    # Shown only to the author, if the channel supports that; never queued, and may be lost.
    hint: str = ""
    # Called at most once, after the replies are durably queued and the message is finished: history, previews.
    done: Callable[[], Awaitable[None]] | None = field(default=None, compare=False)


# `None` leaves the message to the next handler.
Handler = Callable[[MessageContext], Awaitable[HandlerResult | None]]


class MessageHandler(Protocol):
    """A handler that can tell in advance which messages it handles."""

    async def __call__(self, received: MessageContext) -> HandlerResult | None:
        """Handle a message; return `None` to leave it to the next handler."""
        ...

    async def matches(self, message: InboundMessage) -> bool:
        """Whether the handler would handle `message`; such a message is acknowledged in its chat."""
        ...
