"""What a channel that receives is: it verifies, reads, acknowledges, shows that work goes on, and replies.

An author writes `verify`, `receive` and `reply_target`. The route treats *any* exception of `verify` as a
rejection, so a bug in a verifier fails closed. Source: docs/facts/webhooks.md.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from tocsin.channels.contract import PLAIN
from tocsin.core.errors import ChannelError, FailureKind, RemoteError, TocsinError
from tocsin.core.time.clock import Clock

if TYPE_CHECKING:
    from tocsin.channels.contract import Tools
    from tocsin.core.config.settings import Values

log = logging.getLogger(__name__)

T = TypeVar("T")

# A webhook call is answered within a second; the products give up after three.
SOON_S = 0.8
ASK_AGAIN_S = 30.0
MAX_QUOTE_CHARS = 1_000


class RejectedError(TocsinError):
    """A webhook call is not proved to come from the product; the reason is for log and audit only."""

    code = "invalid-signature"


class PartlyAnsweredError(ChannelError):
    """A direct answer broke off. `unsent` is what certainly did not arrive: that alone goes through the queue."""

    def __init__(self, message: str, *, unsent: str, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.unsent = unsent


class MessageKind(StrEnum):
    """What a person did."""

    MESSAGE = "message"
    COMMAND = "command"
    CALLBACK = "callback"  # a button
    EDIT = "edit"


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """One call as it came in. Header names are in lower case; a repeated header is there twice."""

    headers: tuple[tuple[str, str], ...]
    body: bytes

    def values(self, *names: str) -> list[str]:
        """Return every value of the headers that go by one of `names` (lower case)."""
        return [value for name, value in self.headers if name in names]

    def agreed_value(self, *names: str) -> str:
        """Return the one value that the headers `names` (lower case) give, in printable ASCII.

        Raises RejectedError when there is none, when it is empty, and when two differ: then nobody can
        tell which one a proxy on the way, or the product, has looked at.
        """
        found = set(self.values(*names))
        if len(found) != 1:
            raise RejectedError(f"{names[0]} is missing" if not found else f"{names[0]} has different values")
        (value,) = found
        if not value or not value.isascii() or not value.isprintable():
            raise RejectedError(f"{names[0]} is empty or not printable ASCII")
        return value


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    """What the product expects as the answer to its call."""

    status: int = 200
    body: bytes = b""
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class Handshake:
    """A call that only wants an answer: nothing is stored, nothing is worked on."""

    answer: WebhookResponse


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message; `size` in bytes, `duration` in seconds."""

    kind: str  # photo, document, voice, audio, video, other
    file_id: str  # empty for what the product does not hand out to bots; `name` says what it is
    mime: str = ""
    name: str = ""
    size: int | None = None
    duration: float | None = None
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """What a message answers, as far as the product delivers it with the message."""

    sender_name: str = ""
    sender_username: str = ""
    sender_id: str | None = None
    text: str = ""  # its first MAX_QUOTE_CHARS, or of the part that was chosen
    is_cut: bool = False
    by_bot: bool = False  # the program wrote it
    attachments: tuple[Attachment, ...] = ()
    things: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One event by a person. Times are Unix seconds."""

    channel: str
    kind: MessageKind
    id: str  # the message's, or the event's, where the product says so
    dedupe_keys: tuple[str, ...]
    chat_id: str
    text: str = ""  # decoded, the bot's own mention removed
    thread_id: str | None = None
    chat_type: str = "private"  # private, group, channel
    chat_title: str = ""  # of a group or channel, where the product tells it with the message
    sender_id: str | None = None
    sender_name: str = ""
    sender_is_bot: bool = False  # an adapter drops such messages, unless the operator asked to hear bots
    command: str | None = None  # without the slash, in lower case
    args: str = ""
    callback_id: str | None = None
    callback_data: str | None = None
    reply_to_id: str | None = None
    mentions_bot: bool = False  # by name, by a reply to the bot, or in a thread that the bot is in
    attachments: tuple[Attachment, ...] = ()
    things: tuple[str, ...] = ()  # in words what is neither text nor file: a place, a contact, a poll
    quote: Quote | None = None
    forwarded_from: str = ""  # who wrote it first, where the person only passes it on
    album_id: str | None = None  # of several messages that a person sent as one
    sent_at: float = 0.0
    received_at: float = 0.0
    waited: bool | None = None  # whether it came while nobody was there to take it; nothing: `sent_at` tells
    sender_username: str = ""  # where the product has one beside the name
    sender_language: str = ""  # as the product tells it, such as `de`
    # Addresses that answer this event, such as a response_url: in memory only, never stored or logged.
    reply_context: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def stored(self) -> dict[str, Any]:
        """Return everything but `reply_context`, as JSON can hold it."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "reply_context"}
        values["attachments"] = [asdict(item) for item in self.attachments]
        values["quote"] = asdict(self.quote) if self.quote else None
        return values

    @classmethod
    def restore(cls, values: Mapping[str, Any]) -> "InboundMessage":
        """Return what `stored` was made of; fields of a newer version are left out."""
        message = _restored(cls, values)
        quote = _restored(Quote, values["quote"]) if values.get("quote") else None
        return replace(message, kind=MessageKind(message.kind), dedupe_keys=tuple(message.dedupe_keys), quote=quote)


def _restored(kind: type[T], values: Mapping[str, Any]) -> T:
    known = {name: values[name] for name in (f.name for f in fields(kind)) if name in values}  # type: ignore[arg-type]
    attachments = tuple(_restored(Attachment, item) for item in known.pop("attachments", ()))
    lists = {"attachments": attachments, "things": tuple(known.pop("things", ()))}
    return kind(**known, **{name: value for name, value in lists.items() if value})


class InboundAdapter(ABC):
    """Base of everything that receives. Constructing one never fails: a missing secret makes `verify` reject."""

    name: ClassVar[str]
    supports_streaming: ClassVar[bool] = False
    # Whether `send_response` takes the parse mode COMMONMARK, too; else what a model wrote goes through the queue.
    answers_markdown: ClassVar[bool] = False
    # How often the indicator is shown anew while work goes on; nothing means that once is enough.
    indicator_every_s: ClassVar[float | None] = None

    def __init__(self, config: "Values", tools: "Tools") -> None:
        self.config = config
        self.http = tools.http
        self.clock = tools.clock

    @abstractmethod
    def verify(self, request: WebhookRequest, now: float) -> None:
        """Raise RejectedError unless the raw bytes are proved to come from the product; `now` is Unix time."""

    @abstractmethod
    async def receive(self, request: WebhookRequest) -> InboundMessage | Handshake | None:
        """Return what a verified call says, or nothing for an event that concerns nobody here.

        Must not raise for content that is broken or unknown: the product would send it again and again.
        """

    @abstractmethod
    def reply_target(self, message: InboundMessage) -> str:
        """Return where the outbound side of the channel sends an answer, thread included."""

    def replay_key(self, request: WebhookRequest) -> str:
        """Return what names this signed call, or nothing where a repeated one is found by its dedupe keys."""
        return ""

    def signed_at(self, request: WebhookRequest) -> float | None:
        """Return the Unix time at which a verified call was signed; `None` where `verify` checks its age."""
        return None

    def answer_to(self, message: InboundMessage | None) -> WebhookResponse:
        """Return what the product expects for an event that is stored, was stored before, or is ignored."""
        return WebhookResponse()

    def reply_extra(self, message: InboundMessage) -> dict[str, Any]:
        """Return what the outbound side needs beside the target to answer this message, as JSON can hold it."""
        return {}

    async def acknowledge(self, message: InboundMessage) -> None:  # noqa: B027  # not every product has it
        """Show that the message was read: a reaction, or the end of a button's spinner; may raise ChannelError."""

    async def start_processing_indicator(self, message: InboundMessage) -> None:  # noqa: B027
        """Show that somebody works on an answer; may raise ChannelError."""

    async def send_response(self, message: InboundMessage, response: str, parse_mode: str = PLAIN) -> None:
        """Answer by what `reply_context` has, at once and not through the queue.

        `response` is text as it is, or with `COMMONMARK` Markdown; see `answers_markdown`.
        Raises PartlyAnsweredError when some of it went out or may have, and any other ChannelError when
        that is not possible (any more): then the answer goes through the queue.
        """
        raise ChannelError(f"{self.name} has no direct way to answer this message")

    async def answer_privately(self, message: InboundMessage, response: str) -> None:
        """Tell `response`, text as it is, to nobody but who sent the message; raises ChannelError if that fails."""
        raise ChannelError(f"{self.name} has no private way to answer this message")

    async def withdraw(self, message: InboundMessage) -> None:  # noqa: B027  # not every product has it
        """Take back the sign that a direct answer is coming, because none is; may raise ChannelError."""


class CachedLookup(Generic[T]):
    """What the product tells about ourselves, such as the bot's own name: asked for once, when it first matters."""

    def __init__(self, channel: str, ask: Callable[[], Awaitable[T]], clock: Clock) -> None:
        self.value: T | None = None
        self._channel = channel
        self._ask = ask
        self._clock = clock
        self._asking = asyncio.Lock()
        self._not_before = float("-inf")

    async def get(self) -> T:
        """Return it, however long that takes; raises what asking raises."""
        async with self._asking:
            if self.value is None:
                self.value = await self._ask()
            return self.value

    async def soon(self) -> T | None:
        """Return it if it is known or told within `SOON_S`; after a failure nobody is asked for half a minute."""
        if self.value is None and self._clock.monotonic() >= self._not_before:
            try:
                async with asyncio.timeout(SOON_S):
                    return await self.get()
            except (RemoteError, TimeoutError) as error:
                self._not_before = self._clock.monotonic() + ASK_AGAIN_S
                reason = error.sentence() if isinstance(error, RemoteError) else "no answer in time"
                log.warning(
                    "the product does not say who the bot is", extra={"channel": self._channel, "reason": reason}
                )
        return self.value


def digest_of_proof(proof_of: Callable[[WebhookRequest], tuple[str, str]], request: WebhookRequest) -> str:
    """Return what a repetition of this very call has in common with it; empty where `proof_of` rejects it."""
    try:
        signature, timestamp = proof_of(request)
    except RejectedError:
        return ""
    return sha256(f"{signature}{timestamp}".encode()).hexdigest()


def attachment_kind(mime: str) -> str:
    """Return the kind of attachment of a media type."""
    return {"image": "photo", "audio": "audio", "video": "video"}.get(mime.partition("/")[0], "document")


async def answer_in_parts(parts: Sequence[str], post: Callable[[str], Awaitable[None]]) -> None:
    """Post one part after the other; `post` may raise RemoteError.

    Raises ChannelError when nothing arrived, else PartlyAnsweredError. A part whose outcome is unknown
    counts as arrived: nothing is ever sent twice.
    """
    for number, part in enumerate(parts):
        try:
            await post(part)
        except RemoteError as failure:
            raise _unfinished(parts, number, failure) from None


def as_channel_error(failure: RemoteError) -> ChannelError:
    """Return the failure of a call as the error that the methods of an inbound adapter may raise."""
    return failure if isinstance(failure, ChannelError) else ChannelError(str(failure), **_facts(failure))


def _unfinished(parts: Sequence[str], number: int, failure: RemoteError) -> ChannelError:
    arrived = number + (failure.kind is FailureKind.AMBIGUOUS)
    if not arrived:
        return as_channel_error(failure)
    told = f"sent {number} of {len(parts)} parts: {failure}" if len(parts) > 1 else str(failure)
    return PartlyAnsweredError(told, unsent="\n".join(parts[arrived:]), **_facts(failure))


def _facts(failure: RemoteError) -> dict[str, Any]:
    return {
        "hint": failure.hint,
        "kind": failure.kind,
        "provider_code": failure.provider_code,
        "retry_after_s": failure.retry_after_s,
        "whole_account": failure.whole_account,
    }
