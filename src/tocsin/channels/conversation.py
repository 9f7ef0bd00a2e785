"""The methods that a receiving channel needs so that the bot can use it.

The bot itself names no product: previews, buttons, command menus, files and the source of updates are abilities of
the channel. A final answer leaves through the durable queue; the outbound side of such a channel understands the
keys `BUTTONS` and `EDIT_MESSAGE_ID` of `Outgoing.extra`.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, runtime_checkable

from tocsin.channels.inbound import Attachment, InboundAdapter, InboundMessage
from tocsin.core.config.variables import Variable
from tocsin.core.errors import TocsinError
from tocsin.core.text.markup.model import Shown

# Keys of `Outgoing.extra`.
BUTTONS: Final = "buttons"  # rows of [label, data]
EDIT_MESSAGE_ID: Final = "edit_message_id"  # the message whose place the text takes

# Rows of label and data; the data comes back as `InboundMessage.callback_data`.
Keyboard = Sequence[Sequence[tuple[str, str]]]
# Called with the old and the new ID of a chat, possibly twice.
ChatMoved = Callable[[str, str], Awaitable[None]]
TellAdmin = Callable[[str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ConversationVariables:
    """The settings that a channel declares for the bot."""

    allowed: Variable[frozenset[str]]
    admin: Variable[str]  # its `parse` reads the ID of one chat
    default_chat: Variable[str]
    session_ttl_s: Variable[int]
    max_history: Variable[int]
    per_chat: Variable[int]
    overall: Variable[int]
    overflow: Variable[int]
    streaming: Variable[bool]
    memory: Variable[str]  # off, recall or on


@dataclass(frozen=True, slots=True)
class CheckMessage:
    """One result of a check for `tocsin doctor`; `state` is ok, warning, error or off."""

    state: str
    detail: str
    fix: str = ""


class UpdateLeaseLostError(TocsinError):
    """Another process has taken the lease over: nothing was stored."""

    code = "lease-lost"


class UpdateLease(Protocol):
    """The right to fetch what is stored under one cursor, among all hosts; it ends unless it is renewed."""

    lasts_s: float
    renew_s: float

    @property
    def token(self) -> int:
        """The fencing token that `accept` checks; it grows with every process that takes the lease over."""
        ...

    async def acquire(self) -> bool:
        """Take or renew the lease; return False if another process has it."""
        ...

    async def release(self) -> None:
        """Give the lease back; never raises."""
        ...


class UpdateSink(Protocol):
    """Stores what was received."""

    async def accept(
        self, messages: Sequence[InboundMessage], *, cursor: tuple[str, int] | None = None, lease: int = 0
    ) -> Sequence[object]:
        """Store new messages and the cursor in one transaction; raise when that is not possible.

        With the token of a lease, also raise UpdateLeaseLostError when another process has taken that over.
        """
        ...

    def lease(self, name: str) -> UpdateLease | None:
        """Return the lease of the cursor `name`; `None` where a lock file does, in the directory that all share."""
        ...

    async def cursor(self, name: str) -> int | None:
        """Return what was last stored under `name`."""
        ...


class SourceState(Protocol):
    """The state of receiving."""

    def as_dict(self) -> dict[str, object]:
        """Return `mode`, `status`, `problem`, `age_s` and `pending`, as JSON can hold them."""
        ...


class UpdateSource(Protocol):
    """Receives for the bot until it is stopped: it fetches updates, or keeps a webhook registered."""

    @property
    def state(self) -> SourceState:
        """Return the current state of receiving."""
        ...

    async def run(self) -> None:
        """Receive until `stop`."""
        ...

    def stop(self) -> None:
        """Stop receiving; `run` returns soon."""
        ...


@runtime_checkable
class ReportsMoves(Protocol):
    """Either side of a channel whose chats may get a new ID."""

    def on_moved(self, observer: ChatMoved) -> None:
        """Call `observer` with the old and the new ID of every chat that moves."""
        ...


class ConversationAdapter(InboundAdapter):
    """The inbound side of a channel that the bot can use; its `ChannelSpec` says `conversation=True`.

    Message IDs are text, as in `InboundMessage`. Methods that call the product raise RemoteError.
    """

    variables: ClassVar[ConversationVariables]
    edit_every_s: ClassVar[float] = 1.0  # the product takes no more edits in one chat

    @abstractmethod
    def render_preview(self, markdown: str) -> Shown:
        """Return what one message shows of an unfinished answer; blank text for none. Runs in a thread."""

    @abstractmethod
    async def draft(self, message: InboundMessage, shown: Shown, buttons: Keyboard = ()) -> str:
        """Send a message that will be edited, where an answer to `message` belongs; return its ID."""

    @abstractmethod
    async def edit(self, message: InboundMessage, message_id: str, shown: Shown, buttons: Keyboard = ()) -> None:
        """Replace text and buttons of a message in the chat of `message`."""

    @abstractmethod
    async def remove_buttons(self, message: InboundMessage, message_id: str) -> None:
        """Remove the buttons of a message in the chat of `message`."""

    @abstractmethod
    def sent_message_id(self, note: str) -> str:
        """Return the ID of a sent message by its delivery note; empty if the note has none."""

    @abstractmethod
    async def register_commands(self, descriptions: Mapping[str, str], chat_id: str = "") -> None:
        """Let the product complete these commands, in one chat or, without `chat_id`, in all."""

    @abstractmethod
    async def download(self, attachment: Attachment) -> bytes:
        """Return the content of a file; raise ChannelError with a sentence for the person who sent it."""

    @abstractmethod
    def open_source(self, inbox: UpdateSink, directory: Path, tell_admin: TellAdmin) -> UpdateSource:
        """Return what receives; raise ConfigError for incomplete settings. `directory` holds lock files."""

    @abstractmethod
    def check_setup(self, directory: Path) -> Iterator[CheckMessage]:
        """Check how updates arrive, without a call to the product."""

    @abstractmethod
    async def check_provider(self) -> CheckMessage:
        """Compare the settings with what the product does about updates."""


def replacing(message_id: str) -> dict[str, Any]:
    """Return the extra of a reply that takes the place of a message."""
    return {EDIT_MESSAGE_ID: message_id}


def with_buttons(keyboard: Keyboard) -> dict[str, Any]:
    """Return the extra of a reply with buttons, as JSON can hold it."""
    return {BUTTONS: [[list(button) for button in row] for row in keyboard]}
