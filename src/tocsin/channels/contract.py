"""What a channel is: data (`ChannelSpec`) and two abilities, to deliver a text and to prove credentials.

An author writes `deliver` and `probe`, which may raise. `send` and `test_connection` around them
never do: splitting, retries, time limits, and keeping secrets out of errors are done here, once.
"""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

from tocsin.channels.attempt import BetweenParts, Progress, failure_of
from tocsin.core.config.variables import MAX_PARTS, Variable
from tocsin.core.errors import ChannelError, FailureKind, RemoteError, TocsinError, TooManyPartsError
from tocsin.core.http.departure import watch
from tocsin.core.text.measures import Measure, code_points
from tocsin.core.text.strings import normalise, readable, split
from tocsin.core.time.ratelimit import Rate

if TYPE_CHECKING:
    from tocsin.channels.inbound import InboundAdapter
    from tocsin.core.config.settings import Values
    from tocsin.core.http.transport import Transport
    from tocsin.core.text.markup import Renderer
    from tocsin.core.time.clock import Clock


# The parse mode that every channel takes: Markdown as models and people write it, shown as well as it can.
COMMONMARK = "commonmark"
# … and text that is no markup, such as the output of a command.
PLAIN = "plain"

# The text of a part, and its `markup`.
Shown = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class SendResult:
    """The outcome of one send; exactly these five fields."""

    ok: bool
    channel: str
    target: str  # empty for connection tests
    message: str = ""  # delivery note, on success
    error: str = ""  # reason and remedy, on failure

    def as_dict(self) -> dict[str, object]:
        """Return the five fields by name; dataclasses.asdict takes 20 times as long."""
        return {
            "ok": self.ok,
            "channel": self.channel,
            "target": self.target,
            "message": self.message,
            "error": self.error,
        }


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One message to one target, as the caller wants it sent."""

    target: str
    text: str
    key: str = ""  # the same for every attempt: a provider that recognises repeats gets one from it
    # One of the channel's `parse_modes`, `COMMONMARK` or `PLAIN`; empty is the channel's default.
    parse_mode: str = ""
    parts_sent: int = 0  # what an earlier attempt got out, of how many: these parts are not sent again
    parts_total: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)  # what only this channel knows: a reply, buttons


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a message that fits the provider's limit; the target is checked already."""

    target: str
    text: str
    key: str
    parse_mode: str = ""
    markup: tuple[Any, ...] = ()  # what a channel that formats by ranges of the text made of its markup
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
    delivery: str = ""  # the id of its record, where there is one


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often one synchronous send tries again, and how long it waits at most.

    The durable queue has a schedule of its own.
    """

    transient: int = 0  # further tries after a failure that certainly delivered nothing
    rate_limited: int = 1  # further tries after "too many requests"
    longest_wait_s: float = 30.0

    def wait_s(self, failure: RemoteError, tries: int) -> float | None:
        """Return how long to wait after `tries` attempts, or nothing when it is time to give up."""
        allowed = {FailureKind.TRANSIENT: self.transient, FailureKind.RATE_LIMITED: self.rate_limited}
        if tries > allowed.get(failure.kind, 0):
            return None
        if failure.retry_after_s is not None:
            return failure.retry_after_s if failure.retry_after_s <= self.longest_wait_s else None
        # random costs 1 ms to import and a send that works never waits.
        from random import uniform

        return float(2 ** (tries - 1)) * uniform(1.0, 1.25)  # noqa: S311  # 1, 2, 4 s and jitter: docs/facts/calls.md


@dataclass(frozen=True, slots=True)
class ChannelSpec:
    """What a channel is. Command line, API, docs, settings and tests read it; none names a channel."""

    kind: str
    label: str
    product: str
    aliases: tuple[str, ...] = ()
    secrets: tuple[Variable[Any], ...] = ()
    options: tuple[Variable[Any], ...] = ()
    receiving: tuple[Variable[Any], ...] = ()  # what only the inbound side needs; never `required`
    proof: Variable[Any] | None = None  # of `receiving`: without it every webhook call is rejected
    target_format: str = ""
    max_length: int | None = None  # in units of `measure`; nothing means no limit
    chunk_at: int | None = None  # texts are split at so many units; nothing means never
    measure: Measure = code_points
    parse_modes: tuple[str, ...] = ()
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    inbound: tuple[str, ...] = ()  # of: polling, webhook
    conversation: bool = False  # its receiver is a ConversationAdapter, so that the bot can use it
    # How fast the durable queue sends: to one target, to one group, over the whole account.
    target_rate: Rate | None = None
    group_rate: Rate | None = None
    group_prefix: str = ""  # what the targets begin with that are groups
    account_rate: Rate | None = None
    recognises_repeats: bool = False  # the provider drops a second message with the same key
    at_most_once: bool = False  # by default, rather lose a message than send it twice
    platform: str = ""  # the only platform identifier it runs on
    platform_variable: Variable[str] | None = None  # overrides what this machine says it is, for tests
    send_timeout_s: float = 60.0  # one attempt at one part, over the whole call
    test_timeout_s: float = 30.0

    @property
    def variables(self) -> tuple[Variable[Any], ...]:
        """All settings of the channel."""
        return (*self.secrets, *self.options, *self.receiving)


@dataclass(frozen=True, slots=True)
class Tools:
    """What is lent to every adapter, so that a test can lend something else."""

    http: "Transport"
    clock: "Clock"
    redact: Callable[[str], str] | None = None  # masks every secret of the program, not only the channel's
    max_parts: int = MAX_PARTS.default


class OutboundAdapter(ABC):
    """Base of every channel. Constructing one fails with ChannelError when a required value is missing."""

    spec: ClassVar[ChannelSpec]

    def __init__(self, config: "Values", tools: Tools) -> None:
        if missing := config.missing():
            raise ChannelError(
                f"{self.spec.kind} needs {', '.join(missing)}", hint="set it in the environment or in .env"
            )
        self.config = config
        self.http = tools.http
        self.clock = tools.clock
        self._max_parts = tools.max_parts
        # Knowing what channels there are needs no redaction, and its patterns take time to compile.
        from tocsin.core.text.redaction import Redactor

        self._redact = tools.redact or Redactor(config.secrets())

    @classmethod
    def receiver(cls) -> "type[InboundAdapter] | None":
        """Return the class of the channel's inbound side, imported only now; nothing where it cannot receive."""
        return None

    @abstractmethod
    async def deliver(self, part: Part) -> str:
        """Hand one part to the provider and return the delivery note; may raise anything."""

    @abstractmethod
    async def probe(self) -> str:
        """Prove the credentials without sending and return the account's name; may raise anything."""

    def check_target(self, target: str) -> str:
        """Return `target` as the provider wants it; raise ChannelError when its shape is wrong."""
        return target

    def chunk_at(self) -> int | None:
        """Return the length at which texts are split, or nothing when they never are."""
        return self.spec.chunk_at

    def check_extra(self, extra: Mapping[str, Any]) -> None:
        """Raise ChannelError when a part of `extra` that the channel knows cannot be sent."""
        return

    def split_text(self, text: str) -> list[str]:
        """Return `text` in parts that fit; raise ChannelError when it cannot be sent."""
        spec, clean = self.spec, visible(text)
        if chunk_at := self.chunk_at():
            return split(clean, chunk_at, spec.measure)
        return [within_limit(clean, spec.max_length, spec.measure)]

    def dialect(self, parse_mode: str) -> "Renderer":
        """Return how the channel shows text in `COMMONMARK` or `PLAIN`: here, without any formatting."""
        from tocsin.core.text.markup import PlainText

        return PlainText(self.chunk_at() or self.spec.max_length, self.spec.measure)

    def parts_of(self, text: str, parse_mode: str) -> Sequence[Shown]:
        """Return `text` as it is shown, in parts that fit; raise ChannelError when it cannot be sent."""
        if parse_mode not in {COMMONMARK, PLAIN}:
            return [(part, ()) for part in self.split_text(text)]
        from tocsin.core.text.markup import literal, render

        show = literal if parse_mode == PLAIN else render
        return show(visible(text), self.dialect(parse_mode))

    @final
    async def send(self, target: str, message: str) -> SendResult:
        """Send `message` to `target`; never raises."""
        return (await self.transmit(Outgoing(target, message))).result

    @final
    async def test_connection(self) -> SendResult:
        """Verify the credentials without sending; never raises."""
        kind = self.spec.kind
        try:
            async with _timeout(self.spec.test_timeout_s):
                name = await self.probe()
        except Exception as error:  # noqa: BLE001  # the edge that promises never to raise
            return SendResult(False, kind, "", error=self._explain(failure_of(error)))
        return SendResult(True, kind, "", message=self._redact(f"connected as {readable(name)}"))

    @final
    async def transmit(
        self,
        outgoing: Outgoing,
        *,
        patient: bool = True,
        between_parts: BetweenParts | None = None,
        on_cut_off: Callable[[Receipt], None] | None = None,
    ) -> Receipt:
        """Send with all facts in the receipt; never raises, unless it is cancelled.

        Without `patient` there is one try a part: the durable queue waits by its own schedule.
        `between_parts` is awaited after each part but the last, with how many are out, of how many.
        `on_cut_off` gets the receipt when the caller is cancelled: its failure tells whether the message may be out.
        """
        progress = Progress(time.monotonic(), patient=patient, between_parts=between_parts)
        failure: RemoteError | None = None
        try:
            await self._send_parts(outgoing, progress)
        except Exception as error:  # noqa: BLE001  # the edge that promises never to raise
            failure = failure_of(error)
        except BaseException:
            if on_cut_off:
                on_cut_off(self._receipt(outgoing, progress, progress.cut_off()))
            raise
        return self._receipt(outgoing, progress, failure)

    @final
    def check(self, outgoing: Outgoing) -> tuple[str, Sequence[Shown]]:
        """Return target and parts as they would be sent.

        Raises ChannelError when they cannot be, TooManyPartsError when the text is too long for one send.
        """
        target, mode = self.check_target(_one_line(_as_text(outgoing.target))), outgoing.parse_mode
        known = dict.fromkeys((*self.spec.parse_modes, PLAIN, COMMONMARK))
        if mode and mode not in known:
            raise ChannelError(f"{mode} is no parse mode of {self.spec.kind}", hint=f"it has: {', '.join(known)}")
        self.check_extra(outgoing.extra)
        parts = self.parts_of(_as_text(outgoing.text), mode)
        if len(parts) > self._max_parts:
            raise TooManyPartsError(len(parts), self._max_parts)
        return target, parts

    async def _send_parts(self, outgoing: Outgoing, progress: Progress) -> None:
        target, parts = self.check(outgoing)
        mode, extra, total = outgoing.parse_mode, outgoing.extra, len(parts)
        # A setting that changed since the earlier attempt cuts the text elsewhere: then all is sent again.
        progress.total, progress.sent = total, outgoing.parts_sent if outgoing.parts_total == total else 0
        for number, (text, markup) in enumerate(parts[progress.sent :], start=progress.sent):
            key = f"{outgoing.key}:{number}" if outgoing.key else _fresh_key()
            part = Part(target, text, key, mode, markup, extra, first=not number, last=number == total - 1)
            note = await self._deliver_patiently(part, progress)
            progress.note = progress.note or note
            progress.sent += 1
            progress.departure = None
            if progress.between_parts and progress.sent < progress.total:
                await progress.between_parts(progress.sent, progress.total)

    async def _deliver_patiently(self, part: Part, progress: Progress) -> str:
        """Deliver one part, trying again as the channel's retry policy allows."""
        for tries in range(1, 100):
            progress.attempts += 1
            progress.departure = watch()
            try:
                async with _timeout(self.spec.send_timeout_s):
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
        )

    def _result(self, outgoing: Outgoing, progress: Progress, failure: RemoteError | None) -> SendResult:
        kind = self.spec.kind
        target = readable(outgoing.target)
        if failure is None:
            # What a provider answers may repeat what it was sent, the token included.
            return SendResult(True, kind, target, message=self._redact(readable(progress.note)))
        text = self._explain(failure)
        if progress.total > 1:
            text = f"sent {progress.sent} of {progress.total} parts: {text}"
        return SendResult(False, kind, target, error=text)

    def _explain(self, failure: TocsinError) -> str:
        return self._redact(failure.sentence())


def visible(text: str) -> str:
    """Return `text` with one kind of line ends and whole characters; raise ChannelError when nothing of it shows."""
    clean = normalise(text)
    if not clean.strip():
        raise ChannelError("the message is empty", hint="write at least one visible character")
    return clean


def within_limit(text: str, limit: int | None, measure: Callable[[str], int] = code_points) -> str:
    """Return `text`, or raise ChannelError when it is longer than `limit`."""
    if limit is not None and (length := measure(text)) > limit:
        raise ChannelError(
            f"the message has {length:,} characters, limit {limit:,}", hint="shorten it or send it in parts"
        )
    return text


def _as_text(value: object) -> str:
    """Return `value`; callers from Python may hand over anything, and a send never raises."""
    if not isinstance(value, str):
        raise ChannelError(f"target and message must be text, not {type(value).__name__}")
    return value


def _one_line(target: str) -> str:
    # A no-break space comes with many a number that was pasted from a page.
    stripped = target.replace("\u00a0", " ").replace("\u202f", " ").strip()
    if not stripped:
        raise ChannelError("the target is empty", hint="name who shall get the message")
    if len(stripped) > 1000 or not stripped.isprintable():
        raise ChannelError("the target has control characters or is too long", hint="write it on one line")
    return stripped


def _timeout(seconds: float) -> Any:
    # asyncio costs 40 ms to import; reading what channels there are does not pay for it.
    import asyncio

    return asyncio.timeout(seconds)


def _fresh_key() -> str:
    return os.urandom(16).hex()
