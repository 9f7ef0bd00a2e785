"""The preview of a streamed answer: one message, edited no faster than the channel allows.

An answer that is complete within a second has no preview. If one message cannot hold the answer, the preview shows
its newest part. A failure ends the preview but not the answer, which is sent through the durable queue and replaces
the preview. The message ID is stored before the first edit, so that a second attempt after a crash continues with the
same message.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tocsin.bot.contract import Hold, history_key
from tocsin.bot.keyboards import cancel_keyboard
from tocsin.bot.persistence import BotPersistence
from tocsin.channels.conversation import ConversationAdapter
from tocsin.channels.inbound import InboundMessage
from tocsin.core.errors import FailureKind, RemoteError, TocsinError
from tocsin.core.text.markup.model import Shown
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.handling import MessageContext

log = logging.getLogger(__name__)

FIRST_AFTER_S = 1.0  # after the first piece
USUAL_PAUSE_S = 30.0  # after "too many requests" without Retry-After
# Shorter text is rendered in less time than a thread takes to start.
SHORT_CHARS = 4_000
_REMEMBERED = 1_000  # chats; the limits of older ones are dropped


class EditRateLimiter:
    """Limits the rate of edits per chat; shared by all previews."""

    def __init__(self, clock: Clock, every_s: float, hold: Hold | None = None) -> None:
        self._clock = clock
        self._every_s = every_s
        self._hold = hold
        self._free_at: dict[str, float] = {}

    async def linger(self, seconds: float) -> None:
        """Wait, regardless of the chat."""
        await self._clock.sleep(seconds)

    async def wait(self, chat: str) -> None:
        """Wait until an edit in the chat is allowed, and reserve the interval after it."""
        while (wait_s := self._free_at.get(chat, 0.0) - self._clock.monotonic()) > 0:
            await self._clock.sleep(wait_s)
        self.pause(chat, self._every_s)

    def pause(self, chat: str, seconds: float) -> None:
        """Make no call for the chat during the next `seconds`."""
        now = self._clock.monotonic()
        if len(self._free_at) >= _REMEMBERED:
            self._free_at = {known: at for known, at in self._free_at.items() if at > now}
        self._free_at[chat] = max(self._free_at.get(chat, 0.0), now + seconds)

    async def throttle(self, message: InboundMessage, seconds: float, reason: str) -> None:
        """Wait as long as the provider asked, here and in the queue: the answer must wait, too."""
        self.pause(message.chat_id, seconds)
        if self._hold is not None:
            await self._hold(message.channel, history_key(message), seconds, reason)


class Preview:
    """The preview of one answer. Without a channel it shows nothing."""

    def __init__(
        self,
        received: MessageContext,
        channel: ConversationAdapter | None,
        persistence: BotPersistence,
        limiter: EditRateLimiter,
        message_id: str | None = None,
    ) -> None:
        self.message_id = message_id
        self._id = received.id
        self._message = received.message
        self._channel = channel
        self._persistence = persistence
        self._limiter = limiter
        self._text = ""
        self._shown = Shown("")
        self._changed = asyncio.Event()
        self._ended = self._calling = self._throttled = False

    @property
    def wanted(self) -> bool:
        """Whether pieces of the answer are shown."""
        return self._channel is not None

    @property
    def text(self) -> str:
        """The text received so far, in Markdown."""
        return self._text

    def write(self, piece: str) -> None:
        """Append a piece of the answer."""
        self._text += piece
        self._changed.set()

    def restart(self) -> None:
        """Discard the text: the answer starts again."""
        self._text = ""

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Update the preview during the block; no call is in flight afterwards."""
        if self._channel is None:
            yield
            return
        task = asyncio.create_task(self._show_changes(self._channel))
        try:
            yield
        finally:
            self._ended = True
            # Wait for a call in flight: cancelling it could leave a message with an unknown ID.
            if not self._calling:
                task.cancel()
            await asyncio.wait([task])
            if not task.cancelled() and (bug := task.exception()):
                log.error("the preview failed unexpectedly", exc_info=bug)

    async def settled(self) -> None:
        """Wait until the message may be edited again: the answer is subject to the same limit."""
        if self._channel is not None and self.message_id is not None and not self._throttled:
            await self._limiter.wait(self._message.chat_id)

    async def _show_changes(self, channel: ConversationAdapter) -> None:
        await self._changed.wait()
        await self._limiter.linger(FIRST_AFTER_S)
        while not self._ended:
            await self._changed.wait()
            await self._limiter.wait(self._message.chat_id)
            self._changed.clear()
            shown = await self._rendered(channel)
            if not shown.text or shown == self._shown:
                continue
            self._calling = True
            try:
                await self._show(channel, shown)
            except RemoteError as error:
                if error.kind is not FailureKind.RATE_LIMITED:
                    self._give_up(error)
                    return
                if not await self._back_off(error):
                    return
            except TocsinError as error:  # the ID could not be stored
                self._give_up(error)
                return
            finally:
                self._calling = False

    async def _back_off(self, error: RemoteError) -> bool:
        """Wait as long as the provider asked; return False if the queue cannot be paused."""
        self._throttled = True
        wait_s = USUAL_PAUSE_S if error.retry_after_s is None else error.retry_after_s
        try:
            await self._limiter.throttle(self._message, wait_s, error.sentence())
        except TocsinError as failure:
            self._give_up(failure)
            return False
        self._changed.set()
        return True

    async def _rendered(self, channel: ConversationAdapter) -> Shown:
        if len(self._text) <= SHORT_CHARS:
            return channel.render_preview(self._text)
        return await asyncio.to_thread(channel.render_preview, self._text)

    async def _show(self, channel: ConversationAdapter, shown: Shown) -> None:
        buttons = cancel_keyboard(self._id)
        if self.message_id is not None:
            await channel.edit(self._message, self.message_id, shown, buttons)
        else:
            self.message_id = await channel.draft(self._message, shown, buttons)
            await self._persistence.keep_preview(self._id, self.message_id)
        self._shown = shown

    def _give_up(self, error: TocsinError) -> None:
        log.debug("the preview was stopped", extra={"chat_id": self._message.chat_id, "reason": error.sentence()})


class Previews:
    """Creates previews and stores which message has one."""

    def __init__(
        self, channel: ConversationAdapter | None, persistence: BotPersistence, clock: Clock, hold: Hold | None = None
    ) -> None:
        self._channel = channel
        self._persistence = persistence
        self._limiter = EditRateLimiter(clock, channel.edit_every_s if channel else 0.0, hold)

    async def open(self, received: MessageContext) -> Preview:
        """Return the preview of the answer to `received`; after a crash, the existing one."""
        known = await self._persistence.preview(received.id) if received.attempt > 1 else None
        return Preview(received, self._channel, self._persistence, self._limiter, known)

    async def forget(self, received: MessageContext) -> None:
        await self._persistence.forget_preview(received.id)
