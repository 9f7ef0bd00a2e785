"""One send: checks of its target and text, its progress, and exceptions as failures."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tocsin.channels.model import CUT, FILES, HeldError, Sent, UnknownAttempt
from tocsin.channels.replies import repeatable
from tocsin.core.errors import ChannelError, FailureKind, RemoteError, StoreUnavailableError, TocsinError
from tocsin.core.http.departure import Departure
from tocsin.core.text.measures import code_points
from tocsin.core.text.strings import normalise, safe_str

BetweenParts = Callable[["Progress"], Awaitable[None]]


@dataclass(slots=True, eq=False, repr=False)
class Progress:
    """The progress of one message in `OutboundAdapter.transmit`."""

    started: float
    patient: bool = True
    between_parts: BetweenParts | None = None
    note: str = ""  # of the first part that this attempt sent
    sent: int = 0
    total: int = 0
    texts: int = 0  # how many of the parts have a text; the others have only files
    attempts: int = 0
    departure: Departure | None = None  # of the current attempt
    ref: Mapping[str, str] = field(default_factory=dict)  # of the message, to change it later
    ignored: Sequence[str] = ()  # fields of the message that the product lacks
    remark: str = ""  # the outcome of an earlier attempt whose answer was lost

    @property
    def text_sent(self) -> bool:
        """Whether the whole text was sent, and files of it were not."""
        return 0 < self.texts <= self.sent < self.total

    @property
    def full_note(self) -> str:
        """The note of the first part, with the number of parts and the outcome of the message."""
        several = f" ({self.total} parts)" if self.total > 1 else ""
        ignored = f" (ignored: {', '.join(self.ignored)})" if self.ignored else ""
        return f"{self.note}{several}{ignored}" + (f" ({self.remark})" if self.remark else "")

    def explain(self, error: str) -> str:
        """Return `error` with what was sent before it."""
        if self.text_sent:
            return f"the text was sent, but not every file: {error}"
        return f"sent {self.sent} of {self.total} parts: {error}" if self.total > 1 else error

    def require(self, total: int) -> None:
        """Raise ChannelError unless an earlier attempt had as many parts, as far as its worker lived to tell."""
        if total not in {0, self.total}:
            raise ChannelError("the text is now divided differently")

    def record(self, sent: str | Sent, redact: Callable[[str], str]) -> None:
        """Take over what a channel returned for a part."""
        if isinstance(sent, Sent):
            if not self.sent:
                self.ref = {**self.ref, **sent.ref}
            elif FILES in sent.ref:  # of a later part, only the files are needed to edit or to withdraw the message
                self.ref = {**self.ref, FILES: sent.ref[FILES]}
            sent = sent.note
        # A provider's answer may repeat the request, token included.
        self.note = self.note or redact(safe_str(sent))

    def mark_cut(self, *, was_cut: bool) -> None:
        """Note in the reference whether a file has the whole of the text, so that a shorter one removes it."""
        kept = {name: value for name, value in self.ref.items() if name != CUT}
        self.ref = {**kept, CUT: "yes"} if kept and was_cut else kept

    def cut_off(self) -> ChannelError:
        """Return the error for a send that is being cancelled."""
        if self.departure is None or not self.departure.possible:
            return ChannelError("interrupted before the send started", kind=FailureKind.TRANSIENT)
        return ChannelError(
            "outcome unknown: interrupted during the send",
            hint="check the recipient's side before you send again",
            kind=FailureKind.AMBIGUOUS,
        )


def to_failure(
    error: Exception, how_to_install: Callable[[str], str], departure: Departure | None = None
) -> RemoteError:
    """Return the failure for an exception raised by a channel's code; `how_to_install` is that of its spec.

    `departure` is that of the attempt: if nothing has left when its time is over, nothing was sent.
    """
    if isinstance(error, RemoteError):
        return error
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        return ChannelError(f"{package}: package not installed", hint=how_to_install(package))
    if isinstance(error, TimeoutError) and departure is not None and not departure.possible:
        return ChannelError(
            "the time was up before anything was sent",
            hint="check the network and the load of this machine, and try again",
            kind=FailureKind.TRANSIENT,
            provider_code="timeout",
        )
    if isinstance(error, TimeoutError):
        return ChannelError("outcome unknown: no response in time", kind=FailureKind.AMBIGUOUS, provider_code="timeout")
    if isinstance(error, TocsinError):
        kind = FailureKind.TRANSIENT if isinstance(error, StoreUnavailableError) else FailureKind.PERMANENT
        return ChannelError(str(error), hint=error.hint, kind=kind)
    # Importing logging takes 3 ms, which a successful send does not need.
    from logging import getLogger

    getLogger(__name__).error("adapter raised an unexpected error", exc_info=error)
    return ChannelError(
        f"unexpected {type(error).__name__}: {safe_str(error)}", hint="this is a bug; see the log for details"
    )


def unproved(failure: RemoteError, label: str) -> RemoteError:
    """Return the failure of a connection test, which sends nothing."""
    return repeatable(failure, f"check the network and the settings of {label}")


def not_found_out(failure: RemoteError, unknown: UnknownAttempt) -> str:
    """Return the remark of a part that is sent again, because an earlier attempt could not be looked for.

    Raises the error of the attempt, if the part is not sent again now.
    """
    said = f"an earlier attempt may have been sent, and could not be looked for: {failure.sentence()}"
    if failure.kind is not FailureKind.PERMANENT:
        raise ChannelError(said, kind=FailureKind.AMBIGUOUS, retry_after_s=failure.retry_after_s) from None
    if unknown.held:
        raise HeldError(said, kind=FailureKind.AMBIGUOUS) from None
    return f"sent again: {said}"


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


def as_text(value: object) -> str:
    """Return `value` if it is text: callers from Python may pass anything."""
    if not isinstance(value, str):
        raise ChannelError(f"target and message must be text, not {type(value).__name__}")
    return value


def one_line(target: str) -> str:
    """Return a target without surrounding blanks; raise ChannelError if it is not one line of visible characters."""
    # Numbers pasted from a page often contain no-break spaces.
    stripped = target.replace("\u00a0", " ").replace("\u202f", " ").strip()
    if not stripped:
        raise ChannelError("the target is empty", hint="specify the recipient")
    if len(stripped) > 1000 or not stripped.isprintable():
        raise ChannelError("the target contains control characters or is too long", hint="write it on one line")
    return stripped
