"""Records of the inbox for moving between stores; both stores encode bodies and replies as the same JSON."""

from typing import NamedTuple


class MovedEvent(NamedTuple):
    """An event that is not handled yet; the fields are the columns of the table."""

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
    """A dedupe key, by which repeated events are recognised."""

    channel: str
    key: str
    age_s: float


class MovedCursor(NamedTuple):
    """The position at which polling continues."""

    name: str
    position: int
