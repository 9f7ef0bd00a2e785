"""Track the progress of one send, and convert exceptions to failures."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from tocsin.core.errors import ChannelError, FailureKind, RemoteError, TocsinError
from tocsin.core.http.departure import Departure
from tocsin.core.text.strings import safe_str

BetweenParts = Callable[[int, int], Awaitable[None]]


@dataclass(slots=True, eq=False, repr=False)
class Progress:
    """The progress of one message in `OutboundAdapter.transmit`."""

    started: float
    patient: bool = True
    between_parts: BetweenParts | None = None
    note: str = ""  # of the first part that this attempt sent
    sent: int = 0
    total: int = 0
    attempts: int = 0
    departure: Departure | None = None  # of the current attempt
    ref: Mapping[str, str] = field(default_factory=dict)  # of the message, to change it later
    ignored: Sequence[str] = ()  # fields of the message that the product lacks

    def cut_off(self) -> ChannelError:
        """Return the error for a send that is being cancelled."""
        if self.departure is None or not self.departure.possible:
            return ChannelError("interrupted before the send started", kind=FailureKind.TRANSIENT)
        return ChannelError(
            "outcome unknown: interrupted during the send",
            hint="check the recipient's side before you send again",
            kind=FailureKind.AMBIGUOUS,
        )


def to_failure(error: Exception) -> RemoteError:
    """Return the failure for an exception raised by a channel's code."""
    if isinstance(error, RemoteError):
        return error
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        return ChannelError(f"{package}: package not installed", hint=f"pip install {package}")
    if isinstance(error, TimeoutError):
        return ChannelError("outcome unknown: no response in time", kind=FailureKind.AMBIGUOUS, provider_code="timeout")
    if isinstance(error, TocsinError):
        return ChannelError(str(error), hint=error.hint)
    # Importing logging takes 3 ms, which a successful send does not need.
    from logging import getLogger

    getLogger(__name__).error("adapter raised an unexpected error", exc_info=error)
    return ChannelError(
        f"unexpected {type(error).__name__}: {safe_str(error)}", hint="this is a bug; see the log for details"
    )
