"""Albums: several messages that a person sent as one are answered as one. Source: docs/facts/botchat.md."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from tocsin.bot.contract import ignored
from tocsin.channels.inbound import InboundMessage
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.handling import HandlerResult, MessageContext

QUIET_S = 1.0  # an album is complete this long after its last item: products do not report the number of items


@dataclass(slots=True)
class _Album:
    items: list[InboundMessage]
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    answered: bool = False


class Albums:
    """Collects the items of each album; the first item to arrive is answered for all of them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._open: dict[tuple[str, str], _Album] = {}

    async def handle(
        self, received: MessageContext, work: Callable[[MessageContext], Awaitable[HandlerResult]]
    ) -> HandlerResult:
        """Call `work` once with all items merged into one message; a single message is passed unchanged.

        Every item stays unfinished until the album is answered, so that none is lost if the process ends.
        """
        message = received.message
        if message.album_id is None:
            return await work(received)
        key = (message.chat_id, message.album_id)
        album = self._open.get(key)
        if album is not None:
            album.items.append(message)
            await album.ended.wait()
            if album.answered:
                return ignored("answered with the first item of its album")
            return await self.handle(received, work)
        album = self._open[key] = _Album([message])
        try:
            await self._until_quiet(album)
            del self._open[key]
            result = await work(replace(received, message=merge_items(album.items)))
            album.answered = True
            return result
        finally:
            if self._open.get(key) is album:
                del self._open[key]
            album.ended.set()

    async def _until_quiet(self, album: _Album) -> None:
        seen = 0
        while seen != len(album.items):
            seen = len(album.items)
            await self._clock.sleep(QUIET_S)


def merge_items(items: list[InboundMessage]) -> InboundMessage:
    """Merge the files and captions of all items into one message, in the order in which they were sent."""
    ordered = sorted(items, key=lambda item: (len(item.id), item.id))
    captions = [item.text for item in ordered if item.text]
    attachments = tuple(attachment for item in ordered for attachment in item.attachments)
    # In a group, only one caption mentions the bot.
    mentions_bot = any(item.mentions_bot for item in items)
    return replace(ordered[0], text="\n".join(captions), attachments=attachments, mentions_bot=mentions_bot)
