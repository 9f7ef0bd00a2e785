"""Search deliveries in Redis: positions in an index, and what only Python can compare."""

from dataclasses import replace
from typing import NamedTuple

from tocsin.delivery.model import FAILED, Delivery, DeliveryStatus
from tocsin.delivery.redis.records import encode_key
from tocsin.delivery.store import ChannelFigures, DeliveryFilter, search_words


class SearchPosition(NamedTuple):
    """The position of a record in an index: newest first, by time and then by acceptance."""

    score: str = ""
    member: str = ""

    @classmethod
    def from_cursor(cls, cursor: str) -> "SearchPosition":
        """Return the position of a cursor; the beginning for an unknown one."""
        score, _, member = cursor.partition(":")
        return cls(score, member) if score.isdigit() else cls()

    @property
    def cursor(self) -> str:
        """The position as text, for the next page."""
        return f"{self.score}:{self.member}"


def index_name(query: DeliveryFilter) -> bytes:
    """Return the smallest index that contains all results of the query."""
    if query.target:
        return b"target:" + encode_key(query.target)
    if query.status is not None:
        return b"status:" + query.status.encode()
    return b"channel:" + encode_key(query.channel) if query.channel else b"all"


def matches(delivery: Delivery, query: DeliveryFilter) -> bool:
    """Whether a record is a result of the query."""
    words = search_words(query.text.casefold().split())
    text = f"{delivery.message}\n{delivery.target}".casefold() if words else ""
    return (
        query.status in {None, delivery.status}
        and not (query.undismissed and delivery.dismissed)
        and query.channel in {"", delivery.channel}
        and query.target in {"", delivery.target}
        and query.key in {"", delivery.key}
        and all(word in text for word in words)
    )


def add_to_figures(figures: ChannelFigures, delivery: Delivery) -> ChannelFigures:
    """Return the figures of a channel with one more delivery."""
    if delivery.status is DeliveryStatus.SENT:
        last = max(figures.last_sent_at or 0.0, delivery.finished_at or 0.0)
        return replace(figures, sent=figures.sent + 1, last_sent_at=last)
    return replace(figures, failed=figures.failed + 1) if delivery.status in FAILED else figures
