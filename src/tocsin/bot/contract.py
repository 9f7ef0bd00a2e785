"""The interfaces between the bot, the program and extensions."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

from tocsin.channels.contract import PLAIN
from tocsin.channels.conversation import Keyboard, with_buttons
from tocsin.channels.inbound import InboundMessage
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, Reply
from tocsin.providers.contract import ChatProvider, Image
from tocsin.runs.model import Run

# The role of a message, in a session and in requests to a chat model.
USER: Final = "user"
ASSISTANT: Final = "assistant"
LABELS: Final = {USER: "Human", ASSISTANT: "Assistant"}


class ChatMode(StrEnum):
    """How free-form messages of a chat are handled."""

    CHAT = "chat"  # sent to the chat model
    SKILL = "skill"  # turned into plans of skills


@dataclass(frozen=True, slots=True)
class Prepared:
    """The content of a message after its attachments are read."""

    text: str
    images: tuple[Image, ...] = ()
    notes: tuple[str, ...] = ()  # for the person, sent before the answer: a transcript, a rejected file
    quoted: tuple[str, ...] = ()  # for the model: contents of files of the quoted message
    unread: tuple[str, ...] = ()  # for the model: files that could not be read, with the reasons


@dataclass(frozen=True, slots=True)
class SkillResult:
    """The result of a skill: its ended run and its output."""

    run: Run
    text: str = ""


class RunSkillForChat(Protocol):
    """Runs one skill to completion; raises TocsinError if it cannot be started."""

    async def __call__(
        self,
        name: str,
        *,
        args: tuple[str, ...],
        input: str,
        actor: str,
    ) -> SkillResult:
        """Run `name`; `input` is the text that the person typed after the name, `actor` is `chat:<id>`."""


class ShownMessage(NamedTuple):
    """A message that the bot has sent to a chat."""

    target: str
    id: str


# Queues one reply durably for any target, also for another chat than that of the message. A repeated call with the
# same key queues no second reply. Returns the delivery's ID.
Tell = Callable[[str, Reply, str], Awaitable[str]]
# Returns the message that a delivery was sent as; `None` if it has not been sent or its record was pruned.
ShownAs = Callable[[str], Awaitable[ShownMessage | None]]
# Pauses the queue for a target; arguments: channel, target, seconds, reason.
Hold = Callable[[str, str, float, str], Awaitable[None]]
Prepare = Callable[[InboundMessage], Awaitable[Prepared]]
# Returns `None` if no chat model is set up.
FindProvider = Callable[[], Awaitable[ChatProvider | None]]
StatusLines = Callable[[], Awaitable[Sequence[str]]]
# Handles a button by its data; returns `None` if the button is unknown.
OnButton = Callable[[MessageContext, str], Awaitable[HandlerResult | None]]


async def text_only(message: InboundMessage) -> Prepared:
    """Prepare a message from its text alone, ignoring attachments."""
    return Prepared(message.text)


def history_key(message: InboundMessage) -> str:
    """Return the key of the history of a message's chat or topic."""
    return f"{message.chat_id}/{message.thread_id}" if message.thread_id else message.chat_id


def answered(text: str, *, parse_mode: str = PLAIN, buttons: Keyboard = ()) -> HandlerResult:
    """Return the result that answers with one text."""
    reply = Reply(text, parse_mode, with_buttons(buttons) if buttons else {})
    return HandlerResult(HandlingStatus.ANSWERED, (reply,))


def failed(text: str, reason: str) -> HandlerResult:
    """Return the result that reports a failure to the person in one sentence."""
    return HandlerResult(HandlingStatus.FAILED, (Reply(text),), reason)


def ignored(reason: str) -> HandlerResult:
    """Return the result that sends no reply."""
    return HandlerResult(HandlingStatus.IGNORED, reason=reason)
