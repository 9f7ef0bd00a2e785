"""Buttons in the chat of the operator that approve or reject a waiting step."""

from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from tocsin.channels.conversation import Keyboard
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.errors import TocsinError
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, Reply
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.control import RunControl
from tocsin.runs.service import Runs

APPROVE, REJECT = "confirm:run:", "cancel:run:"
# Telegram takes 64 bytes in a button: https://core.telegram.org/bots/api#inlinekeyboardbutton
_HASH_CHARS = 8
_GONE = "This step does not wait any more."


class _Press(NamedTuple):
    run_id: str
    step: str  # the hash of its name
    approved: bool


def buttons_for(run_id: str, step: str) -> Keyboard:
    """Return the two buttons of a waiting step."""
    rest = f"{UUID(run_id).hex}:{_hash(step)}"
    return [[("Approve", f"{APPROVE}{rest}"), ("Reject", f"{REJECT}{rest}")]]


class ApprovalButtons:
    """A handler of received messages: it takes the buttons of waiting steps."""

    def __init__(self, runs: Runs, control: RunControl) -> None:
        self._runs = runs
        self._control = control

    async def matches(self, message: InboundMessage) -> bool:
        """Whether a message is acknowledged in its chat: a button is answered at once."""
        return False

    async def __call__(self, received: MessageContext) -> HandlerResult | None:
        """Decide about the step of a button; the chat is who decides."""
        message = received.message
        press = _press_of(message.callback_data or "") if message.kind is MessageKind.CALLBACK else None
        if press is None:
            return None
        await received.begin()
        caller = Caller.of("bot", f"chat:{message.chat_id}")
        try:
            waiting = [each.step for each in await self._runs.waiting(press.run_id) if _hash(each.step) == press.step]
            if not waiting:
                return HandlerResult(HandlingStatus.ANSWERED, (Reply(_GONE),))
            made = await self._control.decide(press.run_id, caller, approved=press.approved, step=waiting[0])
        except TocsinError as error:
            return HandlerResult(HandlingStatus.FAILED, (Reply(error.sentence()),), error.code)
        done = "approved" if made.approved else "rejected"
        return HandlerResult(HandlingStatus.ANSWERED, (Reply(f"{made.step}: {done}"),))


def _hash(step: str) -> str:
    return sha256(step.encode()).hexdigest()[:_HASH_CHARS]


def _press_of(data: str) -> _Press | None:
    """Return what a button means, None for other buttons."""
    prefix = next((prefix for prefix in (APPROVE, REJECT) if data.startswith(prefix)), "")
    run, colon, step = data.removeprefix(prefix).partition(":")
    if not prefix or not colon:
        return None
    try:
        return _Press(str(UUID(run)), step, prefix == APPROVE)
    except ValueError:
        return None
