"""Where the bot works: behind the gate, visibly, cancellable, with one answer at the end."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import partial

from tocsin.bot.chat_tasks import ChatTasks, TaskCancelledError
from tocsin.bot.contract import Prepare, Prepared, Tell, answered, failed
from tocsin.bot.files.attachments import ACCEPTED
from tocsin.bot.gate import Gate, GateFullError
from tocsin.bot.pressed import message_pressed
from tocsin.bot.shared_work import SharedWork
from tocsin.bot.talk.preview import Preview, Previews
from tocsin.bot.talk.sequencer import MessageSequencer
from tocsin.channels.contract import COMMONMARK
from tocsin.channels.conversation import replacing
from tocsin.channels.inbound import InboundMessage
from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.text.markup import completed
from tocsin.core.text.strings import normalise
from tocsin.messaging.inbound.handling import EventTakenOverError, HandlerResult, HandlingStatus, MessageContext, Reply

log = logging.getLogger(__name__)

TOO_MANY = "Too many requests -- please wait for current jobs to finish."
CANCELLED = "(cancelled)"
# Reasons of results.
TURNED_AWAY = "too many requests"
BY_PERSON = "cancelled"
BROKEN = "Something went wrong, and the answer is incomplete. The log has the details."
NOTHING_TO_READ = f"I cannot read anything in your message. {ACCEPTED}."
UNREADABLE = "I could not read that message. Please try again, or send it as text."


# Shows the chat a processing indicator while the block runs.
Indicating = Callable[[InboundMessage], AbstractAsyncContextManager[None]]


class TaskContext:
    """One piece of work while it goes on."""

    def __init__(self, received: MessageContext, preview: Preview, tell: Tell, target: str) -> None:
        self.received = received
        self.preview = preview
        self._tell = tell
        self._target = target
        self._said = 0

    async def say(self, reply: Reply) -> None:
        """Send the chat a progress message; a repeated attempt does not send it twice."""
        self._said += 1
        await self._tell(self._target, reply, f"bot:{self.received.id}:progress:{self._said}")


Task = Callable[[TaskContext], Awaitable[HandlerResult]]
# What a mode does with a free-form message.
FreeForm = Callable[[TaskContext, Prepared], Awaitable[HandlerResult]]


class ChatExecutor:
    """Does work for chats, as much at the same time as the gate lets through."""

    def __init__(
        self,
        gate: Gate,
        previews: Previews,
        sequencer: MessageSequencer,
        *,
        tell: Tell,
        target_of: Callable[[InboundMessage], str],
        indicating: Indicating | None = None,
        shared: SharedWork | None = None,
    ) -> None:
        """With `shared`, other processes know what this one works on, and may cancel it."""
        self.gate = gate
        self.tasks = ChatTasks()
        self._previews = previews
        self.sequencer = sequencer
        self._tell = tell
        self._target_of = target_of
        self._indicating = indicating or (lambda _: nullcontext())
        self._shared = shared

    async def do(self, received: MessageContext, task: Task) -> HandlerResult:
        """Do `task` in a slot of the chat; the last reply takes the place of the preview, if there is one."""
        preview = await self._previews.open(received)
        if self._shared is not None and not await self._shared.begin(received):
            result = cancelled(preview, received.message)
        else:
            result = await self._work(received, preview, task)
        await preview.settled()
        return self._sealed(result, received, preview)

    async def cancel(self, received: MessageContext, id: str = "") -> int:
        """Cancel all work for the chat of `received`, or on the event `id`, in every process; return the number."""
        chat = received.message.chat_id
        own = self.tasks.ids(chat)
        count = self.tasks.cancel(chat, id)
        if self._shared is None or (id and count):
            return count
        try:
            return count + await self._shared.cancel(received, id, own)
        except StoreUnavailableError as error:
            if not count:
                raise
            log.warning("work of other processes could not be cancelled", extra={"reason": error.sentence()})
            return count

    async def forget(self, received: MessageContext) -> None:
        """Keep what other processes do for the chat out of its history, which was forgotten by `received`."""
        if self._shared is not None:
            await self._shared.forget(received)

    async def is_forgotten(self, received: MessageContext) -> bool:
        """Whether another process has forgotten the history since `received` came."""
        return self._shared is not None and await self._shared.is_forgotten(received)

    async def _work(self, received: MessageContext, preview: Preview, task: Task) -> HandlerResult:
        message = received.message
        work = TaskContext(received, preview, self._tell, self._target_of(message))
        # Who was promised an answer before a crash is not turned away after it.
        patient = received.backlog or received.attempt > 1
        await self.sequencer.turn(received)  # no `await` from here to the gate
        try:
            with self.tasks.running(message.chat_id, received.id):
                async with (
                    self._watched(received),
                    self.gate.slot(message.chat_id, patient=patient),
                    self._indicating(message),
                    preview.shown(),
                ):
                    await received.begin()
                    result = await task(work)
        except GateFullError:
            result = failed(TOO_MANY, TURNED_AWAY)
        except TaskCancelledError:
            result = cancelled(preview, message)
        except EventTakenOverError:
            raise  # the preview is the other process's
        except Exception as error:
            if preview.message_id is None:
                await self._ended(received)
                raise
            # Half an answer must not stay there beside the message that it failed.
            log.exception("work with a shown progress failed", extra={"event": received.id})
            result = failed(BROKEN, f"unexpected {type(error).__name__}")
        await self._ended(received)
        return result

    def _watched(self, received: MessageContext) -> AbstractAsyncContextManager[None]:
        if self._shared is None:
            return nullcontext()
        return self._shared.watched(received, partial(self.tasks.cancel, received.message.chat_id, received.id))

    async def _ended(self, received: MessageContext) -> None:
        if self._shared is not None:
            await self._shared.end(received)

    def _sealed(self, result: HandlerResult, received: MessageContext, preview: Preview) -> HandlerResult:
        """Let the last reply take the preview's place."""
        if preview.message_id is None or not result.replies:
            return result
        *before, last = result.replies
        last = replace(last, extra={**last.extra, **replacing(preview.message_id)})

        async def done() -> None:
            if result.done:
                await result.done()
            await self._previews.forget(received)

        return replace(result, replies=(*before, last), done=done)


def cancelled(preview: Preview, message: InboundMessage) -> HandlerResult:
    """Return how a cancelled message ends: silent, but for a preview or a message with buttons, which is closed."""
    if preview.message_id is not None:
        written = completed(normalise(preview.text))
        return HandlerResult(
            HandlingStatus.ANSWERED, (Reply(f"{written}\n\n{CANCELLED}".strip(), COMMONMARK),), BY_PERSON
        )
    replies = (Reply(CANCELLED),) if message_pressed(message) is not None else ()
    return HandlerResult(HandlingStatus.ANSWERED, replies, BY_PERSON)


def was_turned_away(result: HandlerResult) -> bool:
    """Whether the work has not begun, because too much waits already."""
    return result.reason == TURNED_AWAY


def was_cancelled(result: HandlerResult) -> bool:
    """Whether a person cancelled the work."""
    return result.reason == BY_PERSON


def has_content(message: InboundMessage, ready: Prepared) -> bool:
    """Whether there is anything to answer but that files could not be read."""
    # A mention of the bot in a reply is about the message replied to.
    return bool(ready.text.strip() or ready.images or (message.quote and not ready.notes))


async def prepared(prepare: Prepare, handle: FreeForm, work: TaskContext) -> HandlerResult:
    """Read the message's attachments, then handle it; what was found out about them is told first."""
    try:
        ready = await prepare(work.received.message)
    except TocsinError as error:
        log.warning("a message cannot be prepared", extra={"reason": error.sentence()})
        return failed(UNREADABLE, error.sentence())
    notes = tuple(Reply(note) for note in ready.notes)
    if not has_content(work.received.message, ready):
        return HandlerResult(HandlingStatus.ANSWERED, notes) if notes else answered(NOTHING_TO_READ)
    for note in notes:  # at once: an answer takes the place of its preview, which is there before its end
        await work.say(note)
    return await handle(work, ready)
