"""Buttons named `job:NAME` or `workflow:NAME` start a job or workflow, if the person may."""

from contextlib import suppress

from tocsin.channels.inbound import InboundMessage
from tocsin.core.config.core_variables import PUBLIC_URL
from tocsin.core.errors import StoreUnavailableError, TocsinError
from tocsin.core.ids import derived_id
from tocsin.features.context import FeatureContext
from tocsin.features.triggers.feature import TRIGGERS
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, PressedAction, Reply
from tocsin.runs.control import StartRequest
from tocsin.runs.engine.active_run import ActiveRun
from tocsin.runs.model import Run, RunStatus
from tocsin.runs.stored_run import UnknownRunError

# The kinds of run by the first word of a button's name, in the order in which a name is looked up.
KINDS = {"job": ("cron", "job"), "workflow": ("workflow",)}

NOT_KNOWN = "Who presses a link is not known, so it cannot start {what}. Start it on the dashboard."
NOT_ALLOWED = "You may not start {what}. The operator can allow you with ACTION_PEOPLE: {person}."


class StartingButtons:
    """A handler of received messages: it starts what a button names."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context

    async def matches(self, message: InboundMessage) -> bool:
        """Whether a message is marked as read: a button is not."""
        return False

    async def __call__(self, received: MessageContext) -> HandlerResult | None:
        """Start the job or the workflow of a pressed button."""
        press = received.press
        word, _, subject = (press.name if press else "").partition(":")
        if press is None or word not in KINDS or not subject:
            return None
        what = f"{word} {subject}"
        if refusal := self._refusal(received.message, press, what):
            return _refused(refusal)
        kind = await self._kind(word, subject)
        if kind is None:
            return _refused(f"There is no {what}.")
        # The same at every attempt, so that a press which was interrupted finds the run that it had started.
        run_id = derived_id(received.id, received.message.received_at)
        run = await self._started(run_id) if received.attempt > 1 else None
        if run is None:
            await received.begin()
            try:
                run = (await self._start(kind, subject, press, received.message, run_id)).run
            except StoreUnavailableError:
                raise
            except TocsinError as error:
                return _failed(what, error.sentence(), error.code)
        if run.status is RunStatus.SKIPPED:  # by the earlier attempt
            return _failed(what, run.reason or "", str(run.status))
        return HandlerResult(HandlingStatus.ANSWERED, (Reply(self._told(what, press, run)),))

    def _refusal(self, message: InboundMessage, press: PressedAction, what: str) -> str:
        """Return why the person may not start something; empty if they may."""
        if press.by_link:
            return NOT_KNOWN.format(what=what)
        if self._context.abilities.bot.may_act(message):
            return ""
        return NOT_ALLOWED.format(what=what, person=f"{message.channel}:{message.sender_id}")

    async def _kind(self, word: str, subject: str) -> str | None:
        """Return the kind of run that starts a subject; `None` if there is none of this name."""
        for kind in KINDS[word]:
            if subject in (await self._context.abilities.run_starter.subjects(kind) or ()):
                return kind
        return None

    async def _start(
        self, kind: str, subject: str, press: PressedAction, message: InboundMessage, run_id: str
    ) -> ActiveRun:
        request = StartRequest(
            source=TRIGGERS.name,
            cause=self._context.abilities.bot.cause(message),
            actor=_actor(message),
            offers={"value": press.value, "pressed_by": press.by},
            run_id=run_id,
        )
        return await self._context.abilities.run_starter.start(kind, subject, request)

    async def _started(self, run_id: str) -> Run | None:
        """Return the run that this press had started before its process ended."""
        with suppress(UnknownRunError):
            return await self._context.runs().get(run_id)
        return None

    def _told(self, what: str, press: PressedAction, run: Run) -> str:
        address = self._context.settings[PUBLIC_URL]
        place = f"{address}/#/runs/{run.id}" if address else f"run {run.id}"
        return f"{press.by} started {what}: {place}"


def _actor(message: InboundMessage) -> str:
    return f"chat:{message.sender_id or message.chat_id}"


def _failed(what: str, reason: str, code: str) -> HandlerResult:
    return HandlerResult(HandlingStatus.FAILED, (Reply(f"{what}: {reason}"),), code)


def _refused(reason: str) -> HandlerResult:
    return HandlerResult(HandlingStatus.IGNORED, reason=reason, hint=reason)
