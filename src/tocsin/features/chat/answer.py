"""Writing one answer of the chat model: its text is stored in pieces as it is streamed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.text.strings import storable
from tocsin.core.time.clock import Clock, sleep_or_event
from tocsin.features.chat.answer_store import AnswerEnd, AnswerStore
from tocsin.features.chat.model import INTERRUPTED, MessageStatus
from tocsin.providers.contract import Completion

log = logging.getLogger(__name__)

# Pieces within this time are merged into one event; models send more pieces than a person can see.
FLUSH_EVERY_S = 0.05
# How often to check whether another process asked to stop.
LISTEN_EVERY_S = 0.5
# A model may send no text for minutes: other processes must see that this process is alive.
BEAT_EVERY_S = 15.0
_TRIES, _TRY_EVERY_S = 30, 1.0
_LEAVE_S = 1.0  # for the client of the model to close its connection

OnText = Callable[[str], None]
OnRestart = Callable[[], None]
AskModel = Callable[[OnText, OnRestart], Awaitable[Completion]]

NO_ANSWER = {"code": "no-answer", "message": "the chat model sent an empty answer"}
BROKEN = {"code": "internal-error", "message": "the answer failed because of a bug; see the log for details"}


class AnswerWriter:
    """Writes one answer, and records its end in every case."""

    def __init__(
        self, message_id: str, owner: str, ask: AskModel, store: AnswerStore, clock: Clock, told: Callable[[], None]
    ) -> None:
        """`told` is called whenever there are new events."""
        self._message_id = message_id
        self._owner = owner
        self._ask = ask
        self._store = store
        self._clock = clock
        self._told = told
        self._pieces: list[str] = []
        self._is_void = False  # the text so far is void: the model starts again
        self._news = asyncio.Event()
        self._is_stopped = False
        self._beat_at = clock.monotonic() + BEAT_EVERY_S

    def stop(self) -> None:
        """Stop the answer; the text so far is kept."""
        self._is_stopped = True
        self._news.set()

    async def write(self) -> None:
        """Write the answer to its end; cancellation interrupts it."""
        asking = asyncio.ensure_future(self._ask(self._take, self._begin_anew))
        asking.add_done_callback(lambda _: self._news.set())
        end = AnswerEnd(MessageStatus.FAILED, error=INTERRUPTED)
        try:
            await self._relay(asking)
            end = await self._end(asking)
        finally:
            asking.cancel()
            await self._finish(end)
            await asyncio.wait([asking], timeout=_LEAVE_S)

    def _take(self, piece: str) -> None:
        self._pieces.append(piece)
        self._news.set()

    def _begin_anew(self) -> None:
        self._pieces.clear()
        self._is_void = True
        self._news.set()

    async def _relay(self, asking: "asyncio.Future[Completion]") -> None:
        """Store pieces as they arrive, until the model has finished or the answer is stopped."""
        while not self._is_stopped:
            await sleep_or_event(self._clock, LISTEN_EVERY_S, self._news)
            self._news.clear()
            # Read before the pieces are taken: no piece arrives after the end.
            is_over = asking.done()
            await self._flush(is_over=is_over)
            if is_over:
                return
            await self._clock.sleep(FLUSH_EVERY_S)

    async def _flush(self, *, is_over: bool) -> None:
        text = self._taken(is_over=is_over)
        anew, self._is_void = self._is_void, False
        try:
            if text or anew or self._clock.monotonic() >= self._beat_at:
                goes_on = await self._store.add_text(self._message_id, self._owner, text, self._clock.now(), anew=anew)
                self._beat_at = self._clock.monotonic() + BEAT_EVERY_S
                self._told()
            else:
                goes_on = await self._store.may_continue(self._message_id, self._owner)
        except StoreUnavailableError as error:
            log.warning("part of an answer could not be stored yet", extra={"reason": error.sentence()})
            self._pieces.insert(0, text)
            self._is_void = self._is_void or anew
            await self._clock.sleep(_TRY_EVERY_S)
            return
        self._is_stopped = self._is_stopped or not goes_on

    def _taken(self, *, is_over: bool) -> str:
        """Return the text of the pieces; the first half of a surrogate pair waits for the second."""
        text = "".join(self._pieces).replace("\0", "")
        self._pieces.clear()
        if text and not is_over and "\ud800" <= text[-1] <= "\udbff":
            self._pieces.append(text[-1])
            text = text[:-1]
        return storable(text)

    async def _end(self, asking: "asyncio.Future[Completion]") -> AnswerEnd:
        if not asking.done():
            await self._flush(is_over=True)
            return AnswerEnd(MessageStatus.STOPPED)
        try:
            completion = asking.result()
        except TocsinError as error:
            log.warning("the chat model failed", extra={"reason": error.sentence()})
            return AnswerEnd(MessageStatus.FAILED, error={"code": error.code, "message": error.sentence()})
        except Exception:
            log.exception("an answer of the chat model failed")
            return AnswerEnd(MessageStatus.FAILED, error=BROKEN)
        if not completion.text.strip():
            return AnswerEnd(MessageStatus.FAILED, error=NO_ANSWER)
        return AnswerEnd(
            MessageStatus.COMPLETE,
            storable(completion.text.replace("\0", "")),
            completion.model,
            completion.provider,
            completion.input_tokens,
            completion.output_tokens,
            completion.truncated,
        )

    async def _finish(self, end: AnswerEnd) -> None:
        """Record the end, retrying while the database is unavailable."""
        for _ in range(_TRIES):
            try:
                await self._store.finish(self._message_id, self._owner, end, self._clock.now())
            except StoreUnavailableError as error:
                reason = error.sentence()
                await self._clock.sleep(_TRY_EVERY_S)
            else:
                self._told()
                return
        log.error("the end of an answer could not be recorded", extra={"answer": self._message_id, "reason": reason})
