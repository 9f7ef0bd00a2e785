"""The contract of a channel: data (`ChannelSpec`) and two methods, to deliver a text and to prove the credentials.

An author writes `deliver` and `probe`, which may raise. `send` and `test_connection` never raise: this module splits,
retries, limits the time, and keeps secrets out of errors.
"""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, final

from tocsin.channels.attempt import BetweenParts, Progress, to_failure
from tocsin.core.config.variables import MAX_PARTS, Variable
from tocsin.core.errors import ChannelError, FailureKind, RemoteError, TocsinError, TooManyPartsError
from tocsin.core.http.departure import watch
from tocsin.core.text.measures import Measure, code_points
from tocsin.core.text.strings import normalise, safe_str, split
from tocsin.core.time.ratelimit import Rate

if TYPE_CHECKING:
    from tocsin.channels.inbound import InboundAdapter
    from tocsin.core.config.settings import Values
    from tocsin.core.http.transport import Transport
    from tocsin.core.text.markup import Renderer
    from tocsin.core.time.clock import Clock


# A parse mode of every channel: Markdown as models and people write it, rendered as well as the product allows.
COMMONMARK = "commonmark"
# A parse mode of every channel: text without markup, such as the output of a command.
PLAIN = "plain"

# The text of a part, and its `markup`.
Shown = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class SendResult:
    """The outcome of one message."""

    ok: bool
    channel: str
    target: str  # empty for connection tests
    message: str = ""  # delivery note, on success
    error: str = ""  # reason and remedy, on failure

    def as_dict(self) -> dict[str, object]:
        """Return the five fields by name, 20 times as fast as dataclasses.asdict."""
        return {
            "ok": self.ok,
            "channel": self.channel,
            "target": self.target,
            "message": self.message,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message to one target, as requested by the caller."""

    target: str
    text: str
    key: str = ""  # the same for every attempt, so that a provider can recognise repeats
    # One of the channel's `parse_modes`, `COMMONMARK` or `PLAIN`; empty is the channel's default.
    parse_mode: str = ""
    parts_sent: int = 0  # parts that an earlier attempt sent, which are not sent again
    parts_total: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)  # specific to the channel: a reply, buttons


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message within the provider's limit; its target is valid."""

    target: str
    text: str
    key: str
    parse_mode: str = ""
    markup: tuple[Any, ...] = ()  # the ranges of a channel that formats by ranges of the text
    extra: Mapping[str, Any] = field(default_factory=dict)  # of the whole message; buttons belong to its last part
    first: bool = True
    last: bool = True


@dataclass(frozen=True, slots=True)
class Receipt:
    """A send result and the facts behind it, for the queue, metrics and the audit log."""

    result: SendResult
    parts_sent: int = 0
    parts_total: int = 0
    attempts: int = 0
    duration_ms: int = 0
    failure: RemoteError | None = None
    delivery: str = ""  # the ID of its record, if there is one
    provider_id: str = ""  # of the first part; the result's note also says how many parts there are


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often one direct send retries, and how long it waits at most; the durable queue has its own schedule."""

    transient: int = 0  # retries after a failure that certainly delivered nothing
    rate_limited: int = 1  # retries after "too many requests"
    longest_wait_s: float = 30.0

    def wait_s(self, failure: RemoteError, tries: int) -> float | None:
        """Return the wait after `tries` attempts, or `None` to give up."""
        allowed = {FailureKind.TRANSIENT: self.transient, FailureKind.RATE_LIMITED: self.rate_limited}
        if tries > allowed.get(failure.kind, 0):
            return None
        if failure.retry_after_s is not None:
            return failure.retry_after_s if failure.retry_after_s <= self.longest_wait_s else None
        # random costs 1 ms to import and a send that works never waits.
        from random import uniform

        return float(2 ** (tries - 1)) * uniform(1.0, 1.25)  # noqa: S311  # 1, 2, 4 s and jitter: docs/facts/calls.md


@dataclass(frozen=True, slots=True, eq=False, repr=False)  # what a start does not need costs it 0.2 ms
class ChannelSpec:
    """A channel as data, read by command line, API, docs, settings and tests."""

    kind: str
    label: str
    product: str
    aliases: tuple[str, ...] = ()
    secrets: tuple[Variable[Any], ...] = ()
    options: tuple[Variable[Any], ...] = ()
    receiving: tuple[Variable[Any], ...] = ()  # settings of the inbound side; never `required`
    proof: Variable[Any] | None = None  # of `receiving`: without it every webhook call is rejected
    target_format: str = ""
    max_length: int | None = None  # in units of `measure`; None is no limit
    chunk_at: int | None = None  # texts are split at this length; None is never
    measure: Measure = code_points
    parse_modes: tuple[str, ...] = ()
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    inbound: tuple[str, ...] = ()  # of: polling, webhook
    conversation: bool = False  # its receiver is a ConversationAdapter, so that the bot can use it
    # The rates of the durable queue: per target, per group, per account.
    target_rate: Rate | None = None
    group_rate: Rate | None = None
    group_prefix: str = ""  # the prefix of targets that are groups
    account_rate: Rate | None = None
    recognises_repeats: bool = False  # the provider drops a second message with the same key
    at_most_once: bool = False  # the default policy loses a message rather than sending it twice
    platform: str = ""  # the only platform identifier it runs on
    platform_variable: Variable[str] | None = None  # overrides the detected platform, for tests
    send_timeout_s: float = 60.0  # one attempt at one part, over the whole call
    test_timeout_s: float = 30.0

    @property
    def variables(self) -> tuple[Variable[Any], ...]:
        """All settings of the channel."""
        return (*self.secrets, *self.options, *self.receiving)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tools:
    """The dependencies of every adapter, which tests replace."""

    http: "Transport"
    clock: "Clock"
    redact: Callable[[str], str] | None = None  # masks every secret of the program, not only the channel's
    max_parts: int = MAX_PARTS.default


class OutboundAdapter(ABC):
    """Base of every channel. The constructor raises ChannelError if a required setting is missing."""

    spec: ClassVar[ChannelSpec]
    inbound: ClassVar[str] = ""  # the class of the inbound side as `module:Class`, imported when `receiver` is called

    def __init__(self, config: "Values", tools: Tools) -> None:
        if missing := config.missing():
            raise ChannelError(
                f"{self.spec.label} needs {', '.join(missing)}", hint="set it in the environment or in .env"
            )
        self.config = config
        self.http = tools.http
        self.clock = tools.clock
        self._max_parts = tools.max_parts
        # Imported here, because listing channels needs no redaction, and asyncio costs 40 ms to import.
        from tocsin.core.text.redaction import Redactor
        from tocsin.core.time.shared_timeout import SharedTimeout

        self._send_limits = SharedTimeout(self.spec.send_timeout_s)
        self._redact = tools.redact or Redactor(config.secrets())

    @classmethod
    def receiver(cls) -> "type[InboundAdapter] | None":
        """Return the class of the channel's inbound side; `None` if it cannot receive."""
        module, _, name = cls.inbound.partition(":")
        return getattr(import_module(module), name) if name else None

    @abstractmethod
    async def deliver(self, part: Part) -> str:
        """Hand one part to the provider and return the delivery note; may raise anything."""

    @abstractmethod
    async def probe(self) -> str:
        """Prove the credentials without sending and return the account's name; may raise anything."""

    def check_target(self, target: str) -> str:
        """Return `target` in the provider's form; raise ChannelError if it is malformed."""
        return target

    def chunk_at(self) -> int | None:
        """Return the length at which texts are split, or `None` if they never are."""
        return self.spec.chunk_at

    def check_extra(self, extra: Mapping[str, Any]) -> None:
        """Raise ChannelError if a key of `extra` that the channel knows has an invalid value."""
        return

    def split_text(self, text: str) -> list[str]:
        """Return `text` in parts within the limit; raise ChannelError if it cannot be sent."""
        spec, clean = self.spec, visible(text)
        if chunk_at := self.chunk_at():
            return split(clean, chunk_at, spec.measure)
        return [within_limit(clean, spec.max_length, spec.measure)]

    def dialect(self, parse_mode: str) -> "Renderer | None":
        """Return the renderer for `COMMONMARK` or `PLAIN`; `None` renders without formatting."""
        return None

    def parts_of(self, text: str, parse_mode: str) -> Sequence[Shown]:
        """Return `text` rendered, in parts within the limit; raise ChannelError if it cannot be sent."""
        if parse_mode not in {COMMONMARK, PLAIN}:
            return [(part, ()) for part in self.split_text(text)]
        from tocsin.core.text.markup import PlainText, literal, render

        dialect = self.dialect(parse_mode) or PlainText(self.chunk_at() or self.spec.max_length, self.spec.measure)
        return (literal if parse_mode == PLAIN else render)(visible(text), dialect)

    @final
    async def send(self, target: str, message: str) -> SendResult:
        """Send `message` to `target`; never raises."""
        return (await self.transmit(Outgoing(target, message))).result

    @final
    async def test_connection(self) -> SendResult:
        """Verify the credentials without sending; never raises."""
        return (await self.try_connection()).result

    @final
    async def try_connection(self) -> Receipt:
        """Verify the credentials like `test_connection`, and also return the failure."""
        import asyncio  # 40 ms, which listing channels avoids

        kind, started, failure = self.spec.kind, time.monotonic(), None
        try:
            async with asyncio.timeout(self.spec.test_timeout_s):
                name = await self.probe()
            result = SendResult(True, kind, "", message=self._redact(f"connected as {safe_str(name)}"))
        except Exception as error:  # noqa: BLE001  # the edge that promises never to raise
            failure = to_failure(error)
            result = SendResult(False, kind, "", error=self._explain(failure))
        return Receipt(result, attempts=1, duration_ms=round((time.monotonic() - started) * 1000), failure=failure)

    @final
    async def transmit(
        self,
        outgoing: Outgoing,
        *,
        patient: bool = True,
        between_parts: BetweenParts | None = None,
        on_cut_off: Callable[[Receipt], None] | None = None,
    ) -> Receipt:
        """Send and return all facts in the receipt; never raises, except when cancelled.

        Without `patient` there is one attempt per part. `between_parts` is awaited after each part but the last, with
        the numbers of sent and of all parts. `on_cut_off` receives the receipt if the caller is cancelled; its failure
        says whether the message may have been sent.
        """
        progress = Progress(time.monotonic(), patient=patient, between_parts=between_parts)
        failure: RemoteError | None = None
        try:
            await self._send_parts(outgoing, progress)
        except Exception as error:  # noqa: BLE001  # the edge that promises never to raise
            failure = to_failure(error)
        except BaseException:
            if on_cut_off:
                on_cut_off(self._receipt(outgoing, progress, progress.cut_off()))
            raise
        return self._receipt(outgoing, progress, failure)

    @final
    def check(self, outgoing: Outgoing) -> tuple[str, Sequence[Shown]]:
        """Return the target and the parts that `send` would use.

        Raises ChannelError if they are invalid, TooManyPartsError if the text is too long for one send.
        """
        target, mode = self.check_target(_one_line(_as_text(outgoing.target))), outgoing.parse_mode
        if mode and mode not in (known := dict.fromkeys((*self.spec.parse_modes, PLAIN, COMMONMARK))):
            raise ChannelError(f"{self.spec.label} does not support parse mode {mode}", hint=f"use {', '.join(known)}")
        self.check_extra(outgoing.extra)
        parts = self.parts_of(_as_text(outgoing.text), mode)
        if len(parts) > self._max_parts:
            raise TooManyPartsError(len(parts), self._max_parts)
        return target, parts

    async def _send_parts(self, outgoing: Outgoing, progress: Progress) -> None:
        target, parts = self.check(outgoing)
        mode, extra, total = outgoing.parse_mode, outgoing.extra, len(parts)
        # If a changed setting splits the text differently, all parts are sent again.
        progress.total, progress.sent = total, outgoing.parts_sent if outgoing.parts_total == total else 0
        for number, (text, markup) in enumerate(parts[progress.sent :], start=progress.sent):
            key = f"{outgoing.key}:{number}" if outgoing.key else _fresh_key()
            part = Part(target, text, key, mode, markup, extra, first=not number, last=number == total - 1)
            note = await self._deliver_with_retry(part, progress)
            # A provider's answer may repeat the request, token included.
            progress.note = progress.note or self._redact(safe_str(note))
            progress.sent += 1
            progress.departure = None
            if progress.between_parts and progress.sent < progress.total:
                await progress.between_parts(progress.sent, progress.total)

    async def _deliver_with_retry(self, part: Part, progress: Progress) -> str:
        """Deliver one part, with the retries that the channel's policy allows."""
        for tries in range(1, 100):
            progress.attempts += 1
            progress.departure = watch()
            try:
                with self._send_limits.limit():
                    return await self.deliver(part)
            except RemoteError as failure:
                progress.departure = None
                wait_s = self.spec.retry.wait_s(failure, tries) if progress.patient else None
                if wait_s is None:
                    raise
            await self.clock.sleep(wait_s)
        raise ChannelError("gave up after 99 attempts", kind=FailureKind.TRANSIENT)

    def _receipt(self, outgoing: Outgoing, progress: Progress, failure: RemoteError | None) -> Receipt:
        return Receipt(
            self._result(outgoing, progress, failure),
            progress.sent,
            progress.total,
            progress.attempts,
            round((time.monotonic() - progress.started) * 1000),
            failure,
            provider_id="" if failure else progress.note,
        )

    def _result(self, outgoing: Outgoing, progress: Progress, failure: RemoteError | None) -> SendResult:
        kind = self.spec.kind
        target = safe_str(outgoing.target)
        if failure is None:
            several = f" ({progress.total} parts)" if progress.total > 1 else ""
            return SendResult(True, kind, target, message=f"{progress.note}{several}")
        text = self._explain(failure)
        if progress.total > 1:
            text = f"sent {progress.sent} of {progress.total} parts: {text}"
        return SendResult(False, kind, target, error=text)

    def _explain(self, failure: TocsinError) -> str:
        return self._redact(failure.sentence())


def visible(text: str) -> str:
    """Return `text` with normalised line ends and characters; raise ChannelError if it is blank."""
    clean = normalise(text)
    if not clean.strip():
        raise ChannelError("the message is empty", hint="write at least one visible character")
    return clean


def within_limit(text: str, limit: int | None, measure: Callable[[str], int] = code_points) -> str:
    """Return `text`, or raise ChannelError when it is longer than `limit`."""
    if limit is not None and (length := measure(text)) > limit:
        raise ChannelError(
            f"the message has {length:,} characters, limit {limit:,}", hint="shorten it, or send it in parts"
        )
    return text


def _as_text(value: object) -> str:
    """Return `value` if it is text: callers from Python may pass anything."""
    if not isinstance(value, str):
        raise ChannelError(f"target and message must be text, not {type(value).__name__}")
    return value


def _one_line(target: str) -> str:
    # Numbers pasted from a page often contain no-break spaces.
    stripped = target.replace("\u00a0", " ").replace("\u202f", " ").strip()
    if not stripped:
        raise ChannelError("the target is empty", hint="specify the recipient")
    if len(stripped) > 1000 or not stripped.isprintable():
        raise ChannelError("the target contains control characters or is too long", hint="write it on one line")
    return stripped


def _fresh_key() -> str:
    return os.urandom(16).hex()
