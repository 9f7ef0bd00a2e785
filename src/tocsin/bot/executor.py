"""Execution of the bot's work: limited by the gate, indicated in the chat, cancellable, ending with one answer."""

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
from tocsin.core.text.markup import close_markup
from tocsin.core.text.strings import normalise
from tocsin.messaging.inbound.handling import EventTakenOverError, HandlerResult, HandlingStatus, MessageContext, Reply

log = logging.getLogger(__name__)

TOO_MANY = "Too many requests -- please wait for current jobs to finish."
CANCELLED = "(cancelled)"
# The reasons of results.
QUEUE_FULL = "too many requests"
BY_PERSON = "cancelled"
BROKEN = "Something went wrong, and the answer is incomplete. The log has the details."
NOTHING_TO_READ = f"I cannot read anything in your message. {ACCEPTED}."
UNREADABLE = "I could not read that message. Please try again, or send it as text."


# Shows a processing indicator in the chat while the block runs.
Indicating = Callable[[InboundMessage], AbstractAsyncContextManager[None]]


class TaskContext:
    """The context of one running task."""

    def __init__(self, received: MessageContext, preview: Preview, tell: Tell, target: str) -> None:
        self.received = received
        self.preview = preview
        self._tell = tell
        self._target = target
        self._said = 0

    async def say(self, reply: Reply) -> None:
        """Send a progress message to the chat; a repeated attempt does not send it twice."""
        self._said += 1
        await self._tell(self._target, reply, f"bot:{self.received.id}:progress:{self._said}")


Task = Callable[[TaskContext], Awaitable[HandlerResult]]
# Handles a free-form message in one mode.
FreeForm = Callable[[TaskContext, Prepared], Awaitable[HandlerResult]]


class ChatExecutor:
    """Runs tasks of chats, limited by the gate."""

    def __init__(
        self,
        gate: Gate,
        previews: Previews,
        sequencer: MessageSequencer,
        *,
        tell: Tell,
        target_of: Callable[[InboundMessage], str],
        shared: SharedWork,
        indicating: Indicating | None = None,
    ) -> None:
        """Through `shared`, other processes see the tasks of this process and can cancel them."""
        self.gate = gate
        self.tasks = ChatTasks()
        self._previews = previews
        self.sequencer = sequencer
        self._tell = tell
        self._target_of = target_of
        self._indicating = indicating or (lambda _: nullcontext())
        self.shared = shared

    async def do(self, received: MessageContext, task: Task) -> HandlerResult:
        """Run `task` in a slot of the chat; the last reply replaces the preview, if there is one."""
        preview = await self._previews.open(received)
        if await self.shared.begin(received):
            result = await self._work(received, preview, task)
        else:
            result = cancelled(preview, received.message)
        await preview.settled()
        return self._replace_preview(result, received, preview)

    async def cancel(self, received: MessageContext, id: str = "") -> int:
        """Cancel all tasks of the chat, or the task of the event `id`, in every process; return the number."""
        chat = received.message.chat_id
        own = self.tasks.ids(chat)
        count = self.tasks.cancel(chat, id)
        if id and count:
            return count
        try:
            return count + await self.shared.cancel(received, id, own)
        except StoreUnavailableError as error:
            if not count:
                raise
            log.warning("work of other processes could not be cancelled", extra={"reason": error.sentence()})
            return count

    async def _work(self, received: MessageContext, preview: Preview, task: Task) -> HandlerResult:
        message = received.message
        work = TaskContext(received, preview, self._tell, self._target_of(message))
        # A message accepted before a crash is not rejected after it.
        patient = received.backlog or received.attempt > 1
        await self.sequencer.turn(received)  # no `await` between this line and the gate
        try:
            with self.tasks.running(message.chat_id, received.id):
                async with (
                    self.shared.watched(received, partial(self.tasks.cancel, message.chat_id, received.id)),
                    self.gate.slot(message.chat_id, patient=patient),
                    self._indicating(message),
                    preview.shown(),
                ):
                    await received.begin()
                    result = await task(work)
        except GateFullError:
            result = failed(TOO_MANY, QUEUE_FULL)
        except TaskCancelledError:
            result = cancelled(preview, message)
        except EventTakenOverError:
            raise  # the preview belongs to the other process
        except Exception as error:
            if preview.message_id is None:
                await self.shared.end(received)
                raise
            # A partial answer must not remain beside the message about its failure.
            log.exception("work with a shown progress failed", extra={"event": received.id})
            result = failed(BROKEN, f"unexpected {type(error).__name__}")
        await self.shared.end(received)
        return result

    def _replace_preview(self, result: HandlerResult, received: MessageContext, preview: Preview) -> HandlerResult:
        """Let the last reply replace the preview."""
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
    """Return the result of a cancelled message: no reply, except to close a preview or a message with buttons."""
    if preview.message_id is not None:
        written = close_markup(normalise(preview.text))
        return HandlerResult(
            HandlingStatus.ANSWERED, (Reply(f"{written}\n\n{CANCELLED}".strip(), COMMONMARK),), BY_PERSON
        )
    replies = (Reply(CANCELLED),) if message_pressed(message) is not None else ()
    return HandlerResult(HandlingStatus.ANSWERED, replies, BY_PERSON)


def was_rejected(result: HandlerResult) -> bool:
    """Return True if the work did not start because the queue is full."""
    return result.reason == QUEUE_FULL


def was_cancelled(result: HandlerResult) -> bool:
    """Return True if a person cancelled the work."""
    return result.reason == BY_PERSON


def has_content(message: InboundMessage, ready: Prepared) -> bool:
    """Return True if there is content to answer, not only files that could not be read."""
    # A mention of the bot in a reply refers to the quoted message.
    return bool(ready.text.strip() or ready.images or (message.quote and not ready.notes))


async def prepared(prepare: Prepare, handle: FreeForm, work: TaskContext) -> HandlerResult:
    """Read the message's attachments, send the notes about them, then handle the message."""
    try:
        ready = await prepare(work.received.message)
    except TocsinError as error:
        log.warning("a message cannot be prepared", extra={"reason": error.sentence()})
        return failed(UNREADABLE, error.sentence())
    notes = tuple(Reply(note) for note in ready.notes)
    if not has_content(work.received.message, ready):
        return HandlerResult(HandlingStatus.ANSWERED, notes) if notes else answered(NOTHING_TO_READ)
    for note in notes:  # now: the answer replaces its preview, which may appear before the answer is complete
        await work.say(note)
    return await handle(work, ready)
