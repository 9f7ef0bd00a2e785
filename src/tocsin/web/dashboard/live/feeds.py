"""Streams that each follow one numbered list of events, such as the events of a conversation."""

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tocsin.rest.event_stream import RESYNC, EventFeed, OpenStream, encode_event, encode_greeting


@dataclass(slots=True)
class _Followed:
    feed: EventFeed
    end: int  # the last event that was sent to all streams
    streams: set[OpenStream] = field(default_factory=set)


class FeedStreams:
    """Sends new events of feeds to the open streams that follow them."""

    def __init__(self) -> None:
        self._followed: dict[str, _Followed] = {}
        self._lock = asyncio.Lock()  # a stream opens between two reads

    def __iter__(self) -> Iterator[OpenStream]:
        return iter([stream for followed in self._followed.values() for stream in followed.streams])

    async def open(self, feed: EventFeed, last_event_id: str) -> OpenStream:
        """Return a stream of the events after the last one that the client received."""
        stream = OpenStream()
        async with self._lock:
            followed = self._followed.get(feed.key)
            if followed is None:
                followed = _Followed(feed, await feed.end())
            else:
                await self._look_at(followed)
            stream.send(encode_greeting("" if last_event_id else f"{feed.key}:{followed.end}"))
            if last_event_id:
                stream.send(await _missed(followed, last_event_id))
            self._followed.setdefault(feed.key, followed).streams.add(stream)
        return stream

    def close(self, feed: EventFeed, stream: OpenStream) -> None:
        followed = self._followed.get(feed.key)
        if followed is None:
            return
        followed.streams.discard(stream)
        if not followed.streams:
            del self._followed[feed.key]

    async def look(self) -> None:
        """Send the new events of all feeds."""
        async with self._lock:
            for followed in list(self._followed.values()):
                await self._look_at(followed)

    async def _look_at(self, followed: _Followed) -> None:
        page = await followed.feed.after(followed.end)
        followed.end = page.end
        piece = b"".join(event for _, event in page.events) if page.complete else _resync(followed)
        for stream in list(followed.streams):
            if piece:
                stream.send(piece)
            if page.is_over:
                stream.end()


async def _missed(followed: _Followed, last_event_id: str) -> bytes:
    """Return the events that a reconnecting client has missed, up to the last read."""
    key, _, number = last_event_id.rpartition(":")
    if key != followed.feed.key or not re.fullmatch("[0-9]{1,18}", number):
        return _resync(followed)
    page = await followed.feed.after(int(number))
    if not page.complete:
        return _resync(followed)
    return b"".join(event for seq, event in page.events if seq <= followed.end)


def _resync(followed: _Followed) -> bytes:
    return encode_event(RESYNC, {}, f"{followed.feed.key}:{followed.end}")
