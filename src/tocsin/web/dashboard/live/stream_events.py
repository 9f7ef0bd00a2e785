"""Events of the message stores: deliveries and received events, on all hosts."""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.core.storage.change_stream import ChangeStream
from tocsin.core.time.clock import Clock
from tocsin.rest.event_stream import encode_event

log = logging.getLogger(__name__)

# More simultaneous changes than this are cheaper to fetch again: each record is read separately.
MAX_RECORDS = 50
# A stream that changes more often is announced once a second.
FLOOD_S = 1.0


@dataclass(frozen=True, slots=True)
class StreamSource:
    """The events of one topic."""

    topic: str
    event: str  # prefix of its events, before the dot
    stream: ChangeStream
    records: Callable[[Sequence[str]], Awaitable[Mapping[str, Any]]]  # returns the existing records by ID


@dataclass(slots=True)
class _Followed:
    position: str
    rests_until: float = 0.0  # monotonic


class StreamEvents:
    """Follows the streams of the subscribed topics."""

    def __init__(self, sources: Sequence[StreamSource], clock: Clock) -> None:
        self._sources = {source.topic: source for source in sources}
        self._clock = clock
        self._followed: dict[str, _Followed] = {}

    @property
    def topics(self) -> Collection[str]:
        """The available topics."""
        return self._sources.keys()

    async def follow(self, topics: Collection[str]) -> None:
        for topic in self._sources.keys() & topics - self._followed.keys():
            try:
                self._followed[topic] = _Followed(await self._sources[topic].stream.end())
            except TocsinError as error:  # retried at the next read
                log.debug("cannot follow changes", extra={"topic": topic, "reason": error.sentence()})

    def resync(self, topics: Collection[str]) -> bytes:
        """Return the events that make a reconnecting client fetch records again whose events are not numbered."""
        return b"".join(_resync(self._sources[topic]) for topic in sorted(self._sources.keys() & topics))

    async def events(self, wanted: Collection[str]) -> list[tuple[str, bytes]]:
        """Return an event for each record that has changed since the last read."""
        for topic in self._followed.keys() - wanted:
            del self._followed[topic]
        missing = [topic for topic in self._sources.keys() & wanted if topic not in self._followed]
        await self.follow(missing)
        found = [(topic, _resync(self._sources[topic])) for topic in missing if topic in self._followed]
        for topic, followed in self._followed.items():
            if topic not in missing and self._clock.monotonic() >= followed.rests_until:
                found += await self._news(self._sources[topic], followed)
        return found

    async def _news(self, source: StreamSource, followed: _Followed) -> list[tuple[str, bytes]]:
        try:
            page = await source.stream.after(followed.position, at_most=MAX_RECORDS)
            records = await source.records(page.subjects) if page.subjects else {}
        except TocsinError as error:
            log.debug("cannot read changes", extra={"topic": source.topic, "reason": error.sentence()})
            followed.rests_until = self._clock.monotonic() + FLOOD_S
            return []
        followed.position = page.end
        if not page.complete:
            followed.rests_until = self._clock.monotonic() + FLOOD_S
            return [(source.topic, _resync(source))]
        updated = f"{source.event}.updated"
        told = [subject for subject in page.subjects if subject in records]
        return [(source.topic, encode_event(updated, records[subject])) for subject in told]


def _resync(source: StreamSource) -> bytes:
    """Return the event that makes readers of one topic fetch its records again."""
    return encode_event(f"{source.event}.resync", {})
