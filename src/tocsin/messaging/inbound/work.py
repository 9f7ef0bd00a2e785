"""The work on one received event: acknowledge it, call the handlers, queue the replies, record the outcome.

After a crash, the work is repeated, but its replies are not: they are stored with the outcome before the first is
queued, and queued under keys that the queue recognises.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, TypeVar

from tocsin.channels.action_tokens import read_token
from tocsin.channels.contract import COMMONMARK, PLAIN
from tocsin.channels.inbound import InboundAdapter, InboundMessage, PartlyAnsweredError
from tocsin.channels.registry import Registry
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.errors import ChannelError, StoreUnavailableError, TocsinError
from tocsin.core.time.clock import Clock
from tocsin.messaging.inbound.audit_actions import INBOX, MSG_BRAKE, MSG_HANDLE
from tocsin.messaging.inbound.handling import (
    EventTakenOverError,
    Handler,
    HandlerResult,
    HandlingStatus,
    MessageContext,
    Reply,
)
from tocsin.messaging.inbound.loop_guard import MUTED_S, WINDOW_S, LoopGuard, LoopVerdict
from tocsin.messaging.inbound.model import URGENT, Chat, InboxEvent, InboxStatus
from tocsin.messaging.inbound.presses.links import receiver_of
from tocsin.messaging.inbound.presses.verdict import PressVerdict
from tocsin.messaging.inbound.store import InboxStore, encode
from tocsin.messaging.outbound.audit_actions import record_send
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox

log = logging.getLogger(__name__)

T = TypeVar("T")

# High, because the message being handled is rarely the reason that a process dies.
MAX_ATTEMPTS = 30
BACK_OFF_S = (0.5, 1.0, 2.0)
# A message sent even longer before the start is not backlog: providers repeat a call for a day at most.
BACKLOG_S = 2 * 86400.0
SECOND_S = 1.0  # products cut the time of a message to whole seconds: within the second of the start it is not late
# The longest time that an acknowledgement may outlast the work.
ACKNOWLEDGE_S = 5.0

BROKEN = "Something went wrong, and I could not handle your message. The log has the details."
GIVEN_UP = f"I could not handle your message: the program stopped {MAX_ATTEMPTS} times while processing it."

Notify = Callable[[str], Awaitable[None]]
OnEnded = Callable[[str, HandlingStatus], None]  # channel, outcome
MayAcknowledge = Callable[[InboundMessage], Awaitable[bool]]


def is_addressed(message: InboundMessage) -> bool:
    """Whether the message is addressed to the program, and not to other people in the chat."""
    return message.chat_type == "private" or message.kind in URGENT or message.mentions_bot


async def acknowledge_addressed(message: InboundMessage) -> bool:
    return is_addressed(message)


async def discard_notice(text: str) -> None:
    """Discard the notice, which is also in the log and the audit log."""


@dataclass(frozen=True, slots=True)
class InboxHooks:
    """The callbacks through which the rest of the program takes part in the inbox.

    `handlers` are called in order. `may_acknowledge` prevents the read receipt for people who must not learn that a bot
    is present, and for messages without an answer. `notify` receives a sentence for the operator.
    """

    handlers: Sequence[Handler] = ()
    may_acknowledge: MayAcknowledge = acknowledge_addressed
    notify: Notify = discard_notice
    on_ended: OnEnded | None = None  # called for every event that ends in this process


class InboxWork:
    """Works on one event per call; calls may run concurrently."""

    def __init__(
        self,
        store: InboxStore,
        registry: Registry,
        outbox: Outbox,
        audit: AuditTrail,
        clock: Clock,
        hooks: InboxHooks,
        loop_guard: LoopGuard,
    ) -> None:
        self._store = store
        self._registry = registry
        self._outbox = outbox
        self._audit = audit
        self._clock = clock
        self._hooks = hooks
        self._loop_guard = loop_guard
        self.started_at = clock.now()

    async def work_off(self, entry: InboxEvent, owner: str, reply_context: Mapping[str, Any]) -> None:
        """Work on a claimed event until it has ended."""
        try:
            await self._work_off(entry, owner, reply_context)
        except EventTakenOverError:
            _lost(entry)
        except Exception as error:  # an unexpected error must neither stop the inbox nor repeat forever
            log.exception("a message could not be handled", extra={"event": entry.id})
            await self._end(
                entry, owner, HandlerResult(HandlingStatus.FAILED, reason=f"unexpected {type(error).__name__}")
            )

    async def _work_off(self, entry: InboxEvent, owner: str, reply_context: Mapping[str, Any]) -> None:
        assert entry.message is not None, "only ended events lose their content"  # noqa: S101  # tells mypy
        try:
            adapter = receiver_of(self._registry, entry.message)
        except TocsinError as error:  # a removed plug-in, or a setting that became invalid
            await self._end(entry, owner, HandlerResult(HandlingStatus.FAILED, reason=error.sentence()))
            return
        message = replace(entry.message, reply_context=reply_context)
        if entry.status is InboxStatus.REPLYING:
            result = HandlerResult(HandlingStatus(entry.ending), entry.replies, entry.reason)
            await self._answer(entry, owner, adapter, message, result)
            return
        press = PressVerdict()
        async with self._acknowledged(entry, adapter, message, press):
            result = await self._judge(entry, owner, message, press)
            if result.replies and not await self._store_outcome(entry, owner, result):
                return
            if result.hint and not _answers_once(adapter, message):
                await self._hint(adapter, message, result.hint)
            left = await self._answer_directly(entry, owner, adapter, message, result)
            if left is result and message.reply_context:
                await self._withdraw(adapter, message)
            await self._answer(entry, owner, adapter, message, left)

    @asynccontextmanager
    async def _acknowledged(
        self, entry: InboxEvent, adapter: InboundAdapter, message: InboundMessage, press: PressVerdict
    ) -> AsyncIterator[None]:
        """Acknowledge a message while the block works on it; a failure is only logged."""
        task = asyncio.create_task(self._acknowledge(entry, adapter, message, press))
        await asyncio.sleep(0)  # lets the call start before the work
        try:
            yield
            await asyncio.wait({task}, timeout=ACKNOWLEDGE_S)
        finally:
            task.cancel()

    async def _acknowledge(
        self, entry: InboxEvent, adapter: InboundAdapter, message: InboundMessage, press: PressVerdict
    ) -> None:
        try:
            if _answers_once(adapter, message) and (hint := await press.soon()):
                await adapter.answer_privately(message, hint)
                return
            # A button is always acknowledged, to end its progress bar: its user knows that the bot is present.
            is_heard = not await self._is_muted(entry, message) and await self._hooks.may_acknowledge(message)
            if message.callback_id or is_heard:
                await adapter.acknowledge(message)
        except Exception as error:  # noqa: BLE001  # a failed acknowledgement must not prevent the answer
            log.debug("acknowledging a message failed", extra={"channel": message.channel, "reason": str(error)})

    async def _judge(
        self, entry: InboxEvent, owner: str, message: InboundMessage, press: PressVerdict
    ) -> HandlerResult:
        """Call the handlers, unless the message had too many attempts or the chat is muted."""
        try:
            result = await self._call_handlers(entry, owner, message, press)
            press.decide(result.hint)
            return result
        finally:
            press.decide()

    async def _call_handlers(
        self, entry: InboxEvent, owner: str, message: InboundMessage, press: PressVerdict
    ) -> HandlerResult:
        backlog = self._is_backlog(entry, message)
        chat = (entry.channel, entry.chat)
        if entry.attempts >= MAX_ATTEMPTS:
            return await self._failure(message, GIVEN_UP, f"{MAX_ATTEMPTS} processes ended while processing it")
        if await self._is_muted(entry, message):
            return HandlerResult(HandlingStatus.IGNORED, reason="the chat is muted")

        async def begin() -> None:
            if not await self._store.begin(entry.seq, owner):
                raise EventTakenOverError("another process has taken over the message")
            press.decide()

        result = await self._ask(MessageContext(entry.id, message, backlog, entry.attempts + 1, entry.seq, begin))
        # Backlog is always answered: it cannot be part of a loop, which needs both programs running.
        if not result.replies or backlog:
            return result
        verdict = await self._loop_guard.take(chat, len(result.replies))
        if verdict is LoopVerdict.PASSES:
            return result
        if verdict is LoopVerdict.MUTES:
            await self._mute(chat)
        return HandlerResult(HandlingStatus.IGNORED, reason="too many replies within a minute")

    async def _is_muted(self, entry: InboxEvent, message: InboundMessage) -> bool:
        return not self._is_backlog(entry, message) and await self._loop_guard.is_muted((entry.channel, entry.chat))

    def _is_backlog(self, entry: InboxEvent, message: InboundMessage) -> bool:
        """Whether the message arrived while the program was down, according to the poller or else to its time."""
        if entry.accepted_at < self.started_at:
            return True
        if message.waited is not None:
            return message.waited
        return SECOND_S <= self.started_at - message.sent_at < BACKLOG_S

    async def _ask(self, received: MessageContext) -> HandlerResult:
        try:
            for handler in self._hooks.handlers:
                if (result := await self._call_handler(handler, received)) is not None:
                    encode(result.replies)  # raises if the replies cannot be stored
                    return result
        except EventTakenOverError:
            raise
        except (Exception, asyncio.CancelledError, SystemExit, GeneratorExit) as error:
            task = asyncio.current_task()
            if not isinstance(error, Exception) and (task is None or task.cancelling()):
                raise
            # A handler may be a plug-in; its failure must not affect other messages or show its text to the person.
            log.exception("a handler failed", extra={"event": received.id})
            return await self._failure(received.message, BROKEN, f"unexpected {type(error).__name__}")
        return HandlerResult(HandlingStatus.IGNORED, reason="no handler accepted it")

    async def _call_handler(self, handler: Handler, received: MessageContext) -> HandlerResult | None:
        """Call a handler, and retry while the store is unavailable; the handler then starts over."""
        for pause_s in BACK_OFF_S:
            try:
                return await handler(received)
            except StoreUnavailableError as error:
                facts = {"event": received.id, "reason": error.sentence()}
                log.warning("a message waits until the store is available", extra=facts)
            await self._clock.sleep(pause_s)
        return await handler(received)

    async def _failure(self, message: InboundMessage, told: str, reason: str) -> HandlerResult:
        """Return a failure; the person is informed only if they addressed the bot and may know of it."""
        try:
            may_know = is_addressed(message) and await self._hooks.may_acknowledge(message)
        except Exception:
            log.exception("checking who may see an error failed", extra={"channel": message.channel})
            may_know = False
        return HandlerResult(HandlingStatus.FAILED, (Reply(told),) if may_know else (), reason)

    async def _mute(self, chat: Chat) -> None:
        channel, chat_id = chat
        said = f"more than {self._loop_guard.limit} replies in {WINDOW_S:.0f} s on"
        muted = f"in chat {chat_id}: muted for {MUTED_S / 60:.0f} minutes"
        facts = {"channel": channel, "chat": chat_id}
        log.warning("a chat was muted, because it answers in a loop", extra={**facts, "minutes": MUTED_S / 60})
        self._audit.record(MSG_BRAKE, f"{said} {channel} {muted}", source=INBOX.name, metadata=facts)
        try:
            label = self._registry.label(channel)
            await self._hooks.notify(f"{said} {label} {muted}, because this looks like a loop.")
        except Exception:
            log.exception("a notification failed")

    async def _store_outcome(self, entry: InboxEvent, owner: str, result: HandlerResult) -> bool:
        """Store the outcome; return False if another process has taken the event over."""
        held = await self._retry_while_unavailable(
            lambda: self._store.outcome(entry.seq, owner, result.ending, result.replies, result.reason)
        )
        return held or _lost(entry)

    async def _answer_directly(
        self, entry: InboxEvent, owner: str, adapter: InboundAdapter, message: InboundMessage, result: HandlerResult
    ) -> HandlerResult:
        """Answer directly through `reply_context`; return the result with the replies that remain to be queued.

        If the process dies between the answer and its record, the queue sends the answer again.
        """
        if len(result.replies) != 1 or not message.reply_context:
            return result
        (reply,) = result.replies
        if reply.extra or not _can_answer(adapter, reply.parse_mode):
            return result
        facts = {"event": entry.id, "channel": entry.channel}
        mode = {} if reply.parse_mode == PLAIN else {"parse_mode": reply.parse_mode}
        try:
            await adapter.send_response(message, reply.text, **mode)
        except PartlyAnsweredError as error:
            log.warning("a direct reply was interrupted", extra={**facts, "reason": error.sentence()})
            self._note_direct(entry, error.sentence())
            unsent = (replace(reply, text=error.unsent),) if error.unsent.strip() else ()
            rest = replace(result, replies=unsent, reason=result.reason or str(error))
            await self._store_outcome(entry, owner, rest)
            return rest
        except ChannelError as error:
            log.info("a reply is sent through the queue", extra={**facts, "reason": error.sentence()})
            return result
        except Exception:
            log.exception("a reply is sent through the queue", extra=facts)
            return result
        self._note_direct(entry, "")
        return replace(result, replies=())

    def _note_direct(self, entry: InboxEvent, problem: str) -> None:
        """Write the audit entry of a message sent without the queue."""
        facts = {"channel": entry.channel, "target": entry.chat, "ok": not problem, "event": entry.id}
        outcome = f"interrupted ({problem})" if problem else "sent"
        record_send(self._audit, outcome, ", in reply to an event", source=INBOX.name, metadata=facts)

    async def _hint(self, adapter: InboundAdapter, message: InboundMessage, hint: str) -> None:
        try:
            await adapter.answer_privately(message, hint)
        except Exception as error:  # noqa: BLE001  # a lost hint is not a failure
            log.info("showing a hint failed", extra={"channel": message.channel, "reason": str(error)})

    async def _withdraw(self, adapter: InboundAdapter, message: InboundMessage) -> None:
        try:
            await adapter.withdraw(message)
        except Exception as error:  # noqa: BLE001  # the answer itself goes through the queue
            log.info("withdrawing a deferred answer failed", extra={"channel": message.channel, "reason": str(error)})

    async def _answer(
        self, entry: InboxEvent, owner: str, adapter: InboundAdapter, message: InboundMessage, result: HandlerResult
    ) -> None:
        """Queue the replies and end the event; a reply that cannot be sent makes it a failure."""
        try:
            if result.replies:
                await self._retry_while_unavailable(lambda: self._queue(entry, adapter, message, result.replies))
        except Exception as error:  # from the channel's code, or a reply that cannot be sent
            if not isinstance(error, TocsinError):
                log.exception("a reply could not be queued", extra={"event": entry.id})
            reason = error.sentence() if isinstance(error, TocsinError) else f"unexpected {type(error).__name__}"
            result = replace(result, ending=HandlingStatus.FAILED, reason=f"the reply cannot be sent: {reason}")
        await self._end(entry, owner, result)

    async def _queue(
        self, entry: InboxEvent, adapter: InboundAdapter, message: InboundMessage, replies: Sequence[Reply]
    ) -> None:
        extra = adapter.reply_extra(message)
        merged = [replace(reply, extra={**extra, **reply.extra}) for reply in replies]
        caller = Caller(INBOX.name, {"event": entry.id})
        target = adapter.reply_target(message)
        await self._outbox.queue_replies(entry.channel, target, merged, f"inbox:{entry.id}", caller)

    async def _end(self, entry: InboxEvent, owner: str, result: HandlerResult) -> None:
        held = await self._retry_while_unavailable(
            lambda: self._store.finish(entry.seq, owner, result.ending, result.reason)
        ) or _lost(entry)
        if not held:
            return
        if result.ending is HandlingStatus.FAILED:
            self._notify_failure(entry, result.reason)
        if self._hooks.on_ended is not None:
            self._hooks.on_ended(entry.channel, result.ending)
        if result.done is not None:
            try:
                await result.done()
            except Exception:  # the message is answered already
                log.exception("the follow-up of a reply failed", extra={"event": entry.id})

    def _notify_failure(self, entry: InboxEvent, reason: str) -> None:
        facts = {"event": entry.id, "channel": entry.channel, "chat": entry.chat}
        log.warning("a message was not handled", extra={**facts, "reason": reason})
        detail = f"a message on {entry.channel} in chat {entry.chat} was not handled ({reason or 'no reason given'})"
        self._audit.record(MSG_HANDLE, detail, source=INBOX.name, metadata={**facts, "ok": False})

    async def _retry_while_unavailable(self, call: Callable[[], Awaitable[T]]) -> T:
        """Retry while the store is unavailable; other errors are raised."""
        for attempt in count():
            try:
                return await call()
            except StoreUnavailableError as error:
                level = logging.DEBUG if attempt else logging.WARNING
                log.log(
                    level,
                    "the end of a message will be stored when the store is available",
                    extra={"reason": error.sentence()},
                )
                await self._clock.sleep(BACK_OFF_S[min(attempt, len(BACK_OFF_S) - 1)])
        raise AssertionError("count() never ends")


def _answers_once(adapter: InboundAdapter, message: InboundMessage) -> bool:
    """Whether the acknowledgement of a pressed button is also the only private answer."""
    return adapter.answers_presses_once and read_token(message.callback_data) is not None


def _can_answer(adapter: InboundAdapter, parse_mode: str) -> bool:
    return parse_mode == PLAIN or (parse_mode == COMMONMARK and adapter.answers_markdown)


def _lost(entry: InboxEvent) -> bool:
    log.warning("another process has taken over a message", extra={"event": entry.id})
    return False
