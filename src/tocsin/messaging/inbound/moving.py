"""What of the inbox moves from one store into the other; both keep bodies and replies as the same JSON."""

from typing import NamedTuple


class MovedEvent(NamedTuple):
    """An event that is not worked off; the fields are those of the table."""

    id: str
    channel: str
    chat: str
    kind: str
    urgent: int
    status: str
    message: str | None
    accepted_at: float
    attempts: int
    ending: str
    reason: str
    replies: str | None


class MovedDedupeKey(NamedTuple):
    """A key by which a repeated event is known."""

    channel: str
    key: str
    age_s: float


class MovedCursor(NamedTuple):
    """Where polling goes on."""

    name: str
    position: int
