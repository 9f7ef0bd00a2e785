"""What changes in the stores of messages as events: deliveries and received events, on whichever host."""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tocsin.core.errors import TocsinError
from tocsin.core.storage.change_stream import ChangeStream
from tocsin.core.time.clock import Clock
from tocsin.rest.event_stream import encode_event

log = logging.getLogger(__name__)

# What changed at once beyond these is cheaper to fetch anew: each record is read by itself.
MAX_RECORDS = 50
# A stream that changes more often is announced once a second.
FLOOD_S = 1.0


@dataclass(frozen=True, slots=True)
class StreamSource:
    """The events of one topic."""

    topic: str
    event: str  # what its events are called, before the dot
    stream: ChangeStream
    records: Callable[[Sequence[str]], Awaitable[Mapping[str, Any]]]  # returns by ID the records that exist


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
        """The topics there are."""
        return self._sources.keys()

    async def follow(self, topics: Collection[str]) -> None:
        """Follow these topics from now on, besides those that are followed already."""
        for topic in self._sources.keys() & topics - self._followed.keys():
            try:
                self._followed[topic] = _Followed(await self._sources[topic].stream.end())
            except TocsinError as error:  # the next look tries again
                log.debug("cannot follow changes", extra={"topic": topic, "reason": error.sentence()})

    def resync(self, topics: Collection[str]) -> bytes:
        """Return what tells a reader who comes back to fetch anew what these events have no numbers for."""
        return b"".join(_resync(self._sources[topic]) for topic in sorted(self._sources.keys() & topics))

    async def events(self, wanted: Collection[str]) -> list[tuple[str, bytes]]:
        """Return an event for each record that has changed since the last look."""
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
    """Return what makes readers of one topic fetch anew what they show of it."""
    return encode_event(f"{source.event}.resync", {})
