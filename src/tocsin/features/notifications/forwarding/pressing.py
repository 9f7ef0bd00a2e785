"""Pressed buttons of notices: approve or reject a waiting step or a chat, repeat a failed run.

They work in messages that the forwarder sent, or that are about the run to repeat, and in no others: a caller that may
only send cannot offer them.
"""

from contextlib import suppress

from tocsin.channels.inbound import InboundMessage
from tocsin.core.audit.actions import NOTICES
from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.features.context import FeatureContext
from tocsin.features.notifications.forwarding.receivers import APPROVE, REJECT
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, PressedAction, Reply
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.approvals import CHAT
from tocsin.runs.control import RunControl
from tocsin.runs.engine.run_type import RETRY, message_key
from tocsin.runs.model import Run
from tocsin.runs.store import MAX_PAGE
from tocsin.runs.stored_run import UnknownRunError

NOT_ALLOWED = "You may not do this. The operator can allow you with ACTION_PEOPLE: {person}."


class NoticeButtons:
    """A handler of received messages: it takes the buttons of notices, and of messages about ended runs."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._control = RunControl(context.runs(), context.audit, context.clock, context.abilities.run_starter.start)

    async def matches(self, message: InboundMessage) -> bool:
        """Whether a message is marked as read: a button is not."""
        return False

    async def __call__(self, received: MessageContext) -> HandlerResult | None:
        """Decide or repeat what the notice of a pressed button is about."""
        press, sender = received.press, received.message.sender_id
        if press is None or not await self._is_offered(press):
            return None
        if not sender or not (press.name in {APPROVE, REJECT} or self._context.abilities.bot.may_act(received.message)):
            return _refused(NOT_ALLOWED.format(person=f"{received.message.channel}:{sender}"))
        caller = Caller("bot", {"actor": f"{CHAT}{sender}", "sender": sender})
        try:
            if press.name == RETRY:
                return await self._retry(press, received, caller)
            return await self._decide(press, received, caller, sender)
        except StoreUnavailableError:
            raise
        except TocsinError as error:
            return _refused(error.sentence())

    async def _is_offered(self, press: PressedAction) -> bool:
        """Whether a message of the forwarder offers the button, or that about a run the button to repeat it."""
        if press.source == NOTICES.name or press.name != RETRY:
            return press.source == NOTICES.name and press.name in {APPROVE, REJECT, RETRY}
        with suppress(UnknownRunError):
            return press.request_key.startswith(f"{message_key(await self._context.runs().get(press.value))}:")
        return False

    async def _decide(
        self, press: PressedAction, received: MessageContext, caller: Caller, sender: str
    ) -> HandlerResult:
        run_id, _, step = press.value.partition(" ")
        if run_id.startswith(CHAT):
            return await self._admit(run_id.removeprefix(CHAT), press, received, caller)
        waiting = [each.question for each in await self._context.runs().waiting(run_id) if each.question.step == step]
        has_approvers = any(question.approvers for question in waiting)
        if not has_approvers and not self._context.abilities.bot.may_act(received.message, "answer"):
            return _refused(NOT_ALLOWED.format(person=f"{received.message.channel}:{sender}"))
        approved = press.name == APPROVE
        # Before the claim: a person who may not decide must not remove the buttons. A repeated decision is refused.
        await self._control.press_in_notice(run_id, step, sender, caller, approved=approved)
        await received.begin()
        return _done(f"{step}: {'approved' if approved else 'rejected'} by {press.by}")

    async def _admit(
        self, chat_id: str, press: PressedAction, received: MessageContext, caller: Caller
    ) -> HandlerResult:
        """Decide about a chat that asks for access to the bot; a repeated decision changes nothing."""
        bot, message = self._context.abilities.bot, received.message
        if not bot.may_admit(message):
            return _refused(NOT_ALLOWED.format(person=f"{message.channel}:{message.sender_id}"))
        await received.begin()
        return _done(await bot.admit(chat_id, caller, approved=press.name == APPROVE))

    async def _retry(self, press: PressedAction, received: MessageContext, caller: Caller) -> HandlerResult:
        run = await self._context.runs().get(press.value)
        again = await self._repeated(run) if received.attempt > 1 else None
        if again is None:
            await received.begin()
            again = (await self._control.retry(run.id, caller)).run
        return _done(f"{press.by} repeats {run.subject_name}: run {again.id}")

    async def _repeated(self, run: Run) -> Run | None:
        """Return the run that repeats a run already."""
        found = (await self._context.runs().search(run.kind, run.subject_id, limit=MAX_PAGE)).items
        return next((each for each in found if each.retry_of == run.id), None)


def _done(text: str) -> HandlerResult:
    return HandlerResult(HandlingStatus.ANSWERED, (Reply(text),))


def _refused(reason: str) -> HandlerResult:
    return HandlerResult(HandlingStatus.IGNORED, reason=reason, hint=reason)
