"""What the bot needs from the program, and what it offers to extensions."""

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

# Who said something, in a session and to a chat model.
USER: Final = "user"
ASSISTANT: Final = "assistant"
LABELS: Final = {USER: "Human", ASSISTANT: "Assistant"}


class ChatMode(StrEnum):
    """What a chat's free-form messages mean."""

    CHAT = "chat"  # they go to the chat provider
    SKILL = "skill"  # they become plans of skills


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a message says once its attachments are read."""

    text: str
    images: tuple[Image, ...] = ()
    notes: tuple[str, ...] = ()  # sentences for the person, sent before the answer: a transcript, a file refused
    quoted: tuple[str, ...] = ()  # for the model: the content of files of the message that is answered
    unread: tuple[str, ...] = ()  # for the model: which files came along that could not be read, and why


@dataclass(frozen=True, slots=True)
class SkillResult:
    """How a skill ended and what it printed."""

    run: Run
    text: str = ""


class HistoryMessage(Protocol):
    """One message of a session's history."""

    @property
    def role(self) -> str:
        """`user` or `assistant`."""
        ...

    @property
    def content(self) -> str:
        """What was said."""
        ...


class ChatHistory(Protocol):
    """The history of each chat, or topic of one: a window of limited length that expires after some silence."""

    async def add(self, chat_id: str, role: str, content: str, message_id: str = "") -> object:
        """Append one message; `message_id` is the product's, where the message may be edited."""
        ...

    async def get(self, chat_id: str) -> Sequence[HistoryMessage]:
        """Return the window, the oldest first."""
        ...

    async def clear(self, chat_id: str) -> object:
        """Forget everything."""
        ...

    async def format_context(self, chat_id: str) -> str:
        """Return the window as `Human: …` and `Assistant: …`."""
        ...

    async def add_exchange(
        self,
        chat_id: str,
        question: str,
        answer: str,
        id: str,
        message_id: str = "",
    ) -> object:
        """Append question and answer together, once for each `id`."""
        ...

    async def edit(self, chat_id: str, message_id: str, content: str) -> object:
        """Replace what a person's message says, if the window still has it."""
        ...


class RunSkillForChat(Protocol):
    """Runs one skill to its end; raises TocsinError when it cannot be started."""

    async def __call__(
        self,
        name: str,
        *,
        args: tuple[str, ...],
        input: str,
        actor: str,
    ) -> SkillResult:
        """Run `name`; `input` is what the person typed behind the name, `actor` is `chat:<id>`."""
        ...


class ShownMessage(NamedTuple):
    """A message of the bot that is in a chat."""

    target: str
    id: str


# Queues one reply durably for a target that need not be the chat a message came from; the key makes it one of a kind.
# Returns the delivery's ID.
Tell = Callable[[str, Reply, str], Awaitable[str]]
# Returns the message that a delivery has become; `None` if it has not arrived, or its record is gone.
ShownAs = Callable[[str], Awaitable[ShownMessage | None]]
# Pauses the queue for a target; gets channel, target, seconds, reason.
Hold = Callable[[str, str, float, str], Awaitable[None]]
Prepare = Callable[[InboundMessage], Awaitable[Prepared]]
# Returns `None` if no chat model is set up.
FindProvider = Callable[[], Awaitable[ChatProvider | None]]
StatusLines = Callable[[], Awaitable[Sequence[str]]]
# Answers a button by its data; returns `None` if the button is unknown.
OnButton = Callable[[MessageContext, str], Awaitable[HandlerResult | None]]


async def text_only(message: InboundMessage) -> Prepared:
    """Prepare a message by its text alone."""
    return Prepared(message.text)


def history_key(message: InboundMessage) -> str:
    """Return what the history of a message's chat, or topic, is kept under."""
    return f"{message.chat_id}/{message.thread_id}" if message.thread_id else message.chat_id


def answered(text: str, *, parse_mode: str = PLAIN, buttons: Keyboard = ()) -> HandlerResult:
    """Return the result that answers with one text."""
    reply = Reply(text, parse_mode, with_buttons(buttons) if buttons else {})
    return HandlerResult(HandlingStatus.ANSWERED, (reply,))


def failed(text: str, reason: str) -> HandlerResult:
    """Return the result that tells the person in one sentence what did not work."""
    return HandlerResult(HandlingStatus.FAILED, (Reply(text),), reason)


def ignored(reason: str) -> HandlerResult:
    """Return the result without a reply."""
    return HandlerResult(HandlingStatus.IGNORED, reason=reason)
