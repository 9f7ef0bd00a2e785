"""The contract of a receiving channel: verify, read, acknowledge, show an indicator, reply.

An author writes `verify`, `receive` and `reply_target`. The route treats *any* exception of `verify` as a
rejection, so that a bug in a verifier fails closed. Source: docs/facts/webhooks.md.
"""

import asyncio
import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from hashlib import sha256
from typing import Any, ClassVar, Generic, TypeVar

from tocsin.channels.contract import PLAIN, Tools
from tocsin.core.config.settings import Values
from tocsin.core.errors import ChannelError, FailureKind, RemoteError, TocsinError
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)

T = TypeVar("T")

# A webhook call must be answered within a second; the products give up after three.
SOON_S = 0.8
ASK_AGAIN_S = 30.0
MAX_QUOTE_CHARS = 1_000


class RejectedError(TocsinError):
    """The sender of a webhook call could not be verified; the reason is for log and audit only."""

    code = "invalid-signature"


class PartlyAnsweredError(ChannelError):
    """A direct answer broke off. `unsent` certainly did not arrive, and goes through the queue."""

    def __init__(self, message: str, *, unsent: str, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.unsent = unsent


class MessageKind(StrEnum):
    """The kind of event that a person caused."""

    MESSAGE = "message"
    COMMAND = "command"
    CALLBACK = "callback"  # a button
    EDIT = "edit"


@dataclass(frozen=True, slots=True)
class WebhookRequest:
    """One raw call. Header names are in lower case; repeated headers are kept."""

    headers: tuple[tuple[str, str], ...]
    body: bytes

    def values(self, *names: str) -> list[str]:
        """Return every value of the headers `names` (lower case)."""
        return [value for name, value in self.headers if name in names]

    def agreed_value(self, *names: str) -> str:
        """Return the only value of the headers `names` (lower case), in printable ASCII.

        Raises RejectedError if it is missing or empty, and if two values differ: a proxy may have checked another one.
        """
        found = set(self.values(*names))
        if len(found) != 1:
            raise RejectedError(
                f"{names[0]} is missing" if not found else f"{names[0]} is repeated with different values"
            )
        (value,) = found
        if not value or not value.isascii() or not value.isprintable():
            raise RejectedError(f"{names[0]} is empty or not printable ASCII")
        return value


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    """The answer to a call."""

    status: int = 200
    body: bytes = b""
    content_type: str = ""

    @classmethod
    def json(cls, document: Mapping[str, Any]) -> "WebhookResponse":
        """Return an answer in JSON."""
        return cls(200, json.dumps(document).encode(), "application/json")


@dataclass(frozen=True, slots=True)
class Handshake:
    """A call that only needs an answer and is not stored."""

    answer: WebhookResponse


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a message; `size` in bytes, `duration` in seconds."""

    kind: str  # photo, document, voice, audio, video, other
    file_id: str  # empty if the product does not give the file to bots; then `name` describes it
    mime: str = ""
    name: str = ""
    size: int | None = None
    duration: float | None = None
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """The message that another one answers, as far as the product delivers it."""

    sender_name: str = ""
    sender_username: str = ""
    sender_id: str | None = None
    text: str = ""  # the first MAX_QUOTE_CHARS, or those of the selected part
    is_cut: bool = False
    by_bot: bool = False  # written by the bot itself
    attachments: tuple[Attachment, ...] = ()
    things: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """One event by a person. Times are Unix seconds."""

    channel: str
    kind: MessageKind
    id: str  # of the message, or else of the event
    dedupe_keys: tuple[str, ...]
    chat_id: str
    text: str = ""  # decoded, the bot's own mention removed
    thread_id: str | None = None
    chat_type: str = "private"  # private, group, channel
    chat_title: str = ""  # of a group or channel, if delivered with the message
    sender_id: str | None = None
    sender_name: str = ""
    sender_is_bot: bool = False  # adapters drop such messages unless a setting allows them
    command: str | None = None  # without the slash, in lower case
    args: str = ""
    callback_id: str | None = None
    callback_data: str | None = None
    reply_to_id: str | None = None
    mentions_bot: bool = False  # by name, by a reply to the bot, or in a thread with the bot
    attachments: tuple[Attachment, ...] = ()
    things: tuple[str, ...] = ()  # descriptions of other content: a place, a contact, a poll
    quote: Quote | None = None
    forwarded_from: str = ""  # the original author of a forwarded message
    album_id: str | None = None  # shared by several messages that were sent as one
    sent_at: float = 0.0
    received_at: float = 0.0
    waited: bool | None = None  # whether it arrived while the program was down; None: `sent_at` decides
    sender_username: str = ""  # if the product has one besides the name
    sender_language: str = ""  # as reported by the product, such as `de`
    sender_scopes: tuple[str, ...] = ()  # of a person who is signed in to the dashboard
    # How to answer this event directly, such as a response_url: in memory only, never stored or logged.
    reply_context: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def stored(self) -> dict[str, Any]:
        """Return everything but `reply_context` as values for JSON."""
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "reply_context"}
        values["attachments"] = [asdict(item) for item in self.attachments]
        values["quote"] = asdict(self.quote) if self.quote else None
        return values

    @classmethod
    def restore(cls, values: Mapping[str, Any]) -> "InboundMessage":
        """Return the message that `stored` describes; ignore fields of a newer version.

        Raises ValueError, TypeError or KeyError for a message that only another version knows, such as a new kind.
        """
        message = _restored(cls, values)
        quote = _restored(Quote, values["quote"]) if values.get("quote") else None
        return replace(message, kind=MessageKind(message.kind), dedupe_keys=tuple(message.dedupe_keys), quote=quote)


def _restored(kind: type[T], values: Mapping[str, Any]) -> T:
    names = (each.name for each in fields(kind))  # type: ignore[arg-type]  # T is any of our dataclasses
    known = {name: values[name] for name in names if name in values}
    attachments = tuple(_restored(Attachment, item) for item in known.pop("attachments", ()))
    lists = {"attachments": attachments, **{name: tuple(known.pop(name, ())) for name in ("things", "sender_scopes")}}
    return kind(**known, **{name: value for name, value in lists.items() if value})


class InboundAdapter(ABC):
    """Base of every receiver. The constructor never fails: without its secret, `verify` rejects every call."""

    name: ClassVar[str]
    supports_streaming: ClassVar[bool] = False
    # Whether `send_response` accepts COMMONMARK; otherwise Markdown goes through the queue.
    answers_markdown: ClassVar[bool] = False
    # Whether the product takes one answer to a pressed button: then a hint takes the place of the acknowledgement.
    answers_presses_once: ClassVar[bool] = False
    # The interval at which the indicator must be renewed; None if once is enough.
    indicator_every_s: ClassVar[float | None] = None

    def __init__(self, config: Values, tools: Tools) -> None:
        self.config = config
        self.http = tools.http
        self.clock = tools.clock

    @abstractmethod
    def verify(self, request: WebhookRequest, now: float) -> None:
        """Raise RejectedError unless the proof of the raw bytes is valid; `now` is Unix time."""

    @abstractmethod
    async def receive(self, request: WebhookRequest) -> InboundMessage | Handshake | None:
        """Return the content of a verified call, or `None` for an event to ignore.

        Must not raise for broken or unknown content: the product would repeat the call.
        """

    @abstractmethod
    def reply_target(self, message: InboundMessage) -> str:
        """Return the target of a reply for the outbound side of the channel, thread included."""

    def replay_key(self, request: WebhookRequest) -> str:
        """Return a key of this signed call, or `""` if its dedupe keys identify a repetition."""
        return ""

    def signed_at(self, request: WebhookRequest) -> float | None:
        """Return the Unix time at which a verified call was signed; `None` if `verify` checks its age."""
        return None

    def answer_to(self, message: InboundMessage | None) -> WebhookResponse:
        """Return the answer for an event that is stored, was stored before, or is ignored."""
        return WebhookResponse()

    async def answer_stored(self, message: InboundMessage) -> WebhookResponse:
        """Return the answer for a new event, which the work on it may decide; the product waits meanwhile."""
        return self.answer_to(message)

    def reply_extra(self, message: InboundMessage) -> dict[str, Any]:
        """Return the `extra` of a reply to this message, representable as JSON."""
        return {}

    async def acknowledge(self, message: InboundMessage) -> None:  # noqa: B027  # not every product has it
        """Show that the message was read: a reaction, or the end of a button's progress; may raise ChannelError."""

    async def start_processing_indicator(self, message: InboundMessage) -> None:  # noqa: B027  # not every product has it
        """Show that an answer is being prepared; may raise ChannelError."""

    async def send_response(self, message: InboundMessage, response: str, parse_mode: str = PLAIN) -> None:
        """Answer directly through `reply_context`, without the queue.

        `response` is plain text, or Markdown with `COMMONMARK` if `answers_markdown`. Raises PartlyAnsweredError if
        some of it was or may have been sent, and any other ChannelError if a direct answer is not possible (any more):
        the answer then goes through the queue.
        """
        raise ChannelError(f"{self.name} cannot reply directly to this message")

    async def answer_privately(self, message: InboundMessage, response: str) -> None:
        """Show `response`, plain text, only to the author of the message; raises ChannelError if that fails."""
        raise ChannelError(f"{self.name} cannot reply privately to this message")

    async def withdraw(self, message: InboundMessage) -> None:  # noqa: B027  # not every product has it
        """Remove the sign of a coming direct answer, because there is none; may raise ChannelError."""


class CachedLookup(Generic[T]):
    """A fact about the bot, such as its name, that is requested from the product once, at its first use."""

    def __init__(self, channel: str, ask: Callable[[], Awaitable[T]], clock: Clock) -> None:
        self.value: T | None = None
        self._channel = channel
        self._ask = ask
        self._clock = clock
        self._asking = asyncio.Lock()
        self._not_before = float("-inf")

    async def get(self) -> T:
        """Return the value, however long that takes; raises the request's errors."""
        async with self._asking:
            if self.value is None:
                self.value = await self._ask()
            return self.value

    async def soon(self) -> T | None:
        """Return the value if it is known within `SOON_S`, else `None`; after a failure, ask again in `ASK_AGAIN_S`."""
        if self.value is None and self._clock.monotonic() >= self._not_before:
            try:
                async with asyncio.timeout(SOON_S):
                    return await self.get()
            except (RemoteError, TimeoutError) as error:
                self._not_before = self._clock.monotonic() + ASK_AGAIN_S
                reason = error.sentence() if isinstance(error, RemoteError) else "no response in time"
                log.warning(
                    "the identity of the bot could not be fetched", extra={"channel": self._channel, "reason": reason}
                )
        return self.value


def digest_of_proof(read_proof: Callable[[WebhookRequest], tuple[str, str]], request: WebhookRequest) -> str:
    """Return a digest that is the same for every repetition of a call; empty if `read_proof` rejects it."""
    try:
        signature, timestamp = read_proof(request)
    except RejectedError:
        return ""
    return sha256(f"{signature}{timestamp}".encode()).hexdigest()


def attachment_kind(mime: str) -> str:
    """Return the kind of attachment of a media type."""
    return {"image": "photo", "audio": "audio", "video": "video"}.get(mime.partition("/")[0], "document")


async def answer_in_parts(parts: Sequence[str], post: Callable[[str], Awaitable[None]]) -> None:
    """Post the parts in order; `post` may raise RemoteError.

    Raises ChannelError if no part arrived, else PartlyAnsweredError. A part with an unknown outcome counts as arrived,
    so that it is not sent twice.
    """
    for number, part in enumerate(parts):
        try:
            await post(part)
        except RemoteError as failure:
            raise _unfinished(parts, number, failure) from None


def as_channel_error(failure: RemoteError) -> ChannelError:
    """Return a failure as ChannelError, the only error of an inbound adapter's methods."""
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
