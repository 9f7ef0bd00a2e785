"""The contract of a channel: data (`ChannelSpec`) and two methods, to deliver a text and to prove the credentials.

An author writes `deliver` and `probe`, which may raise. `send` and `test_connection` never raise: this module splits,
retries, limits the time, and keeps secrets out of errors.
"""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, cast, final

from tocsin.channels.attempt import (
    BetweenParts,
    Progress,
    as_text,
    not_found_out,
    one_line,
    to_failure,
    unproved,
    visible,
    within_limit,
)
from tocsin.channels.model import (
    COMMONMARK,
    FILES,
    NO_CONTENT,
    NO_REF,
    PLAIN,
    ChannelSpec,
    KeyedMessage,
    MessageGoneError,
    MessageOperation,
    Outgoing,
    Part,
    Receipt,
    RetryPolicy,
    SendResult,
    Sent,
    Shown,
    Tools,
    UnknownAttempt,
)
from tocsin.core.errors import ChannelError, FailureKind, RemoteError, TocsinError, TooManyPartsError
from tocsin.core.http.departure import upload_s, watch
from tocsin.core.plugins import load_class
from tocsin.core.text.redaction import Redactor
from tocsin.core.text.strings import safe_str, split
from tocsin.core.tracing.spans import SpanKind, span

if TYPE_CHECKING:
    from tocsin.channels.attached import AttachedFile
    from tocsin.channels.content import Content
    from tocsin.channels.dressing import Dressing
    from tocsin.channels.inbound import InboundAdapter
    from tocsin.channels.layout.model import MessageLayout
    from tocsin.channels.targets import ChannelTargets
    from tocsin.core.config.settings import Values
    from tocsin.core.storage.documents.document import ChannelDocument
    from tocsin.core.text.markup import Renderer
    from tocsin.core.time.ratelimit import Rate

__all__ = [
    "COMMONMARK",
    "NO_CONTENT",
    "PLAIN",
    "ChannelSpec",
    "KeyedMessage",
    "MessageGoneError",
    "MessageOperation",
    "OutboundAdapter",
    "Outgoing",
    "Part",
    "Receipt",
    "RetryPolicy",
    "SendResult",
    "Sent",
    "Shown",
    "Tools",
    "visible",
    "within_limit",
]


class OutboundAdapter(ABC):
    """Base of every channel. The constructor raises ChannelError if a required setting is missing."""

    spec: ClassVar[ChannelSpec]
    # The class that shows title, buttons and so on, as `module:Class`; loaded for messages with content.
    dressing: ClassVar[str] = "tocsin.channels.dressing:Dressing"
    # The function that describes how the product shows a `body`, as `module:function`; loaded for previews.
    layouts: ClassVar[str] = "tocsin.channels.layout.model:plain_layout"
    inbound: ClassVar[str] = ""  # the class of the inbound side as `module:Class`, imported when `receiver` is called
    standin: ClassVar[str] = ""  # the `HttpStandIn` that plays the product in `tocsin demo`, as `module:Class`
    services: ClassVar[str] = ""  # `async` function that lists the services a channel reaches, as `module:function`

    def __init__(self, config: "Values", tools: Tools) -> None:
        if missing := config.missing():
            raise ChannelError(
                f"{self.spec.label} needs {', '.join(missing)}", hint="set it in the environment or in .env"
            )
        self.config = config
        self.http = tools.http
        self.clock = tools.clock
        self.public_url = tools.public_url
        self.targets = cast("ChannelTargets", tools.targets)  # None unless `spec.targets` says what they are
        self._max_parts = tools.max_parts
        self._read_file = tools.read_file
        self.document = cast("ChannelDocument", tools.document and tools.document(self.spec.kind))  # in the store
        from tocsin.core.time.shared_timeout import SharedTimeout  # loads asyncio, which costs 40 ms

        self._send_limits = SharedTimeout(self.spec.send_timeout_s)
        self._redact = tools.redact or Redactor(config.secrets())

    @classmethod
    def receiver(cls) -> "type[InboundAdapter] | None":
        """Return the class of the channel's inbound side; `None` if it cannot receive."""
        return load_class(cls.inbound) if cls.inbound else None

    @cached_property
    def dresser(self) -> "Dressing":
        """The renderer of the content of messages."""
        dressing: Dressing = load_class(self.dressing)(self)
        return dressing

    @abstractmethod
    async def deliver(self, part: Part) -> str | Sent:
        """Hand one part to the provider; return the delivery note, and what `edit` needs; may raise anything."""

    async def edit(self, part: Part, ref: Mapping[str, str]) -> str | Sent:
        """Replace the message that `ref` names; raise MessageGoneError if it was deleted there.

        `ref` is that of a `Sent`; a returned note alone keeps it. Declare the ability `edit` as native.
        """
        raise ChannelError(f"{self.spec.label} cannot edit a message")

    async def withdraw(self, ref: Mapping[str, str]) -> str:
        """Delete the message that `ref` names, and return the note; one that is missing is deleted already.

        Declare the ability `withdraw` as native.
        """
        raise ChannelError(f"{self.spec.label} cannot withdraw a message")

    def finds_sent(self) -> bool:
        """Whether `find` can tell if a part was sent; by default, not."""
        return False

    async def find(self, part: Part, since: float) -> Sent | None:
        """Return what `deliver` returned for the same key after the Unix time `since`; None if nothing was sent.

        Called before a send is repeated whose answer was lost. After a permanent failure of it, the policy decides.
        """
        return None

    def body(self, part: Part) -> Any:
        """Return what `deliver` would send, for the function that `layouts` names; by default, the text."""
        return part.text

    @final
    def layout(self, part: Part) -> "MessageLayout":
        """Return how the product shows a part."""
        return load_class(self.layouts)(self.body(part))  # type: ignore[no-any-return]  # by a name

    @abstractmethod
    async def probe(self) -> str:
        """Prove the credentials without sending and return the account's name; may raise anything."""

    def check_target(self, target: str) -> str:
        """Return `target` in the provider's form; raise ChannelError if it is malformed."""
        return self.targets.check(target) if self.spec.targets else target

    def lacks_presses(self) -> str:
        """Return the setting without which presses of buttons cannot arrive; empty if they can."""
        proof = self.spec.proof
        return proof.name if proof and "polling" not in self.spec.inbound and not self.config[proof] else ""

    def chunk_at(self) -> int | None:
        """Return the length at which texts are split, or `None` if they never are."""
        return self.spec.chunk_at

    def account_rate(self) -> "Rate | None":
        """Return the rate of the durable queue for all targets together."""
        return self.spec.account_rate

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

    def share_files(
        self, texts: "Sequence[Shown]", files: "tuple[AttachedFile, ...]", *, keyed: bool
    ) -> "Sequence[tuple[Shown, tuple[AttachedFile, ...]]]":
        """Return the parts of a message with the files of each; a part without a text has only files.

        By default, the last text has all files, unless they are `apart`. A message with a key is edited later: its
        first part is what `edit` gets. The numbers of texts and files depend on nothing else, so that a retry finds the
        same parts.
        """
        return self.dresser.share(texts, files, keyed=keyed)

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
            failure = unproved(to_failure(error, self.spec.how_to_install), self.spec.label)
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
            failure = to_failure(error, self.spec.how_to_install, progress.departure)
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
        return self._prepare(outgoing)[:2]

    def _prepare(
        self, outgoing: Outgoing
    ) -> "tuple[str, Sequence[Shown], Content | None, tuple[AttachedFile, ...], bool]":
        """Return target and parts like `check`, content, files to send, and whether an edit keeps those there."""
        target, mode = self.check_target(one_line(as_text(outgoing.target))), outgoing.parse_mode
        if mode and mode not in (known := dict.fromkeys((*self.spec.parse_modes, PLAIN, COMMONMARK))):
            raise ChannelError(f"{self.spec.label} does not support parse mode {mode}", hint=f"use {', '.join(known)}")
        self.check_extra(outgoing.extra)
        text = as_text(outgoing.text)
        if outgoing.content or outgoing.keyed:
            parts, content, files, keeps = self.dresser.prepare(outgoing, text, self._read_file)
        else:
            parts, content, files, keeps = self.parts_of(text, mode), None, (), False
        if len(parts) > self._max_parts:
            raise TooManyPartsError(len(parts), self._max_parts)
        return target, parts, content, files, keeps

    async def _send_parts(self, outgoing: Outgoing, progress: Progress) -> None:
        keyed = outgoing.keyed
        if keyed and keyed.operation is MessageOperation.WITHDRAW:
            progress.record(await self._call_with_retry(lambda: self.withdraw(keyed.ref), progress), self._redact)
            progress.total = progress.sent = 1
            return
        target, texts, content, files, keeps = self._prepare(outgoing)
        progress.ignored = self.dresser.ignored(content) if content else ()
        parts = [(shown, files) for shown in texts] if not files else self.share_files(texts, files, keyed=bool(keyed))
        mode, extra, total, last_text = outgoing.parse_mode, outgoing.extra, len(parts), len(texts) - 1
        # If a changed setting splits the text differently, all parts are sent again.
        progress.total, progress.sent = total, outgoing.parts_sent if outgoing.parts_total == total else 0
        progress.texts, progress.ref = len(texts), outgoing.ref if (first := progress.sent) else progress.ref
        for number, ((text, markup), attached) in enumerate(parts[first:], start=first):
            key = f"{outgoing.key or os.urandom(16).hex()}:{number}"
            where = (not number, number == last_text, content, keyed, outgoing.thread, attached, keeps)
            part = Part(target, text, key, mode, markup, extra, *where, progress.ref if number else NO_REF)
            unknown = outgoing.unknown if number == first and not part.edits else None
            found = await self._look_for(part, unknown, outgoing.parts_total, progress) if unknown else None
            try:
                progress.record(found or await self._deliver_with_retry(part, progress), self._redact)
            except MessageGoneError as gone:
                if keyed is None or keyed.drop_if_gone:
                    progress.record(f"not sent: {gone}", self._redact)
                    progress.total = progress.sent = 1
                    return
                progress.ref = NO_REF
                await self._send_parts(outgoing.anew(keyed), progress)
                return
            progress.sent += 1
            progress.departure = None
            if progress.between_parts and progress.sent < progress.total:
                await progress.between_parts(progress)
        progress.mark_cut(was_cut=any(not each.hash for each in files))

    async def _look_for(self, part: Part, unknown: UnknownAttempt, total: int, progress: Progress) -> Sent | None:
        """Return the part that an earlier attempt at `total` parts sent, if the product has it."""
        try:
            progress.require(total)
            with self._send_limits.limit():
                found = await self.find(part, unknown.since)
        except Exception as error:  # noqa: BLE001  # the channel's code may raise anything
            progress.remark = self._redact(not_found_out(to_failure(error, self.spec.how_to_install), unknown))
            return None
        progress.remark = "found: an earlier attempt had sent it" if found else ""
        return found

    def _deliver_with_retry(self, part: Part, progress: Progress) -> Awaitable[str | Sent]:
        """Deliver one part, or edit its message."""
        keyed, size = part.keyed, sum(each.size for each in part.files) if part.files else 0
        if keyed is None or not part.edits:
            return self._call_with_retry(partial(self.deliver, part), progress, size)
        return self._edit_with_retry(part, keyed, progress, size)

    async def _edit_with_retry(self, part: Part, keyed: KeyedMessage, progress: Progress, size: int) -> str | Sent:
        progress.ref = keyed.ref  # kept if the edit fails
        sent = await self._call_with_retry(lambda: self.edit(part, keyed.ref), progress, size)
        if not part.keeps_files:
            progress.ref = {name: value for name, value in keyed.ref.items() if name != FILES}
        return sent

    async def _call_with_retry(
        self, call: Callable[[], Awaitable[str | Sent]], progress: Progress, upload: int = 0
    ) -> str | Sent:
        """Make one call, with the retries that the channel's policy allows."""
        for tries in range(1, 100):
            progress.attempts += 1
            progress.departure = watch()
            try:
                with (
                    span("call provider", SpanKind.CLIENT, channel=self.spec.kind),
                    self._send_limits.limit(upload_s(upload) if upload else 0.0),
                ):
                    return await call()
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
            ref=progress.ref,
            text_sent=progress.text_sent,
        )

    def _result(self, outgoing: Outgoing, progress: Progress, failure: RemoteError | None) -> SendResult:
        kind, target = self.spec.kind, safe_str(outgoing.target)
        if failure is None:
            return SendResult(True, kind, target, message=progress.full_note)
        return SendResult(False, kind, target, error=progress.explain(self._explain(failure)))

    def _explain(self, failure: TocsinError) -> str:
        return self._redact(failure.sentence())
