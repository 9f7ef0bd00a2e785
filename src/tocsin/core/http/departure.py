"""Record whether a request may have left this machine, for the outcome of an interrupted send.

A transport records its progress. If none does, a started attempt counts as possibly sent.
"""

from contextvars import ContextVar

SLOWEST_UPLOAD = 64 * 1024  # bytes per second; a slower upload times out

_CURRENT: ContextVar["Departure | None"] = ContextVar("departure", default=None)


class Departure:
    """The state of one attempt; `possible` is false while certainly nothing was sent."""

    __slots__ = ("_has_left", "possible")

    def __init__(self) -> None:
        self.possible = True
        self._has_left = False

    def note(self, *, possible: bool) -> None:
        """Record it; once true, it stays true."""
        self._has_left = self._has_left or possible
        self.possible = self._has_left


def watch() -> Departure:
    """Start an attempt; transports in this task record their progress in it from now on."""
    departure = Departure()
    _CURRENT.set(departure)
    return departure


def note_departure(*, possible: bool) -> None:
    """Record, as a transport, whether the request may have left: false before, true from its first byte on."""
    departure = _CURRENT.get()
    if departure is not None:
        departure.note(possible=possible)


def upload_s(size: int) -> float:
    """Return the seconds that an upload of `size` bytes may take in addition to the usual time-out."""
    return size / SLOWEST_UPLOAD
