"""Record whether a request may have left this machine, for the outcome of an interrupted send.

A transport notes how far it is. Where none does, an attempt that has begun counts as possibly gone.
"""

from contextvars import ContextVar

_CURRENT: ContextVar["Departure | None"] = ContextVar("departure", default=None)


class Departure:
    """What is known of one attempt; `possible` is false while certainly nothing of it has left."""

    __slots__ = ("_has_left", "possible")

    def __init__(self) -> None:
        self.possible = True
        self._has_left = False

    def note(self, *, possible: bool) -> None:
        """Note it; what may have left once is not called back."""
        self._has_left = self._has_left or possible
        self.possible = self._has_left


def watch() -> Departure:
    """Begin an attempt; what transports note in this task from now on is about it."""
    departure = Departure()
    _CURRENT.set(departure)
    return departure


def note_departure(*, possible: bool) -> None:
    """Note, as a transport, whether what it was given may have left: false before, true from its first byte on."""
    departure = _CURRENT.get()
    if departure is not None:
        departure.note(possible=possible)
