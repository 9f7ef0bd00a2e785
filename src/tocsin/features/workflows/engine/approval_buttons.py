"""Buttons in chats that approve or reject a waiting step."""

import re

from tocsin.channels.conversation import Keyboard, replacing
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.errors import TocsinError
from tocsin.features.ability_records import AskedChat
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, Reply
from tocsin.messaging.outbound.caller import Caller
from tocsin.runs.approvals import CHAT, ButtonPress, NotApproverError, UnknownQuestionError
from tocsin.runs.control import RunControl

# With the ID of a question, 44 bytes; Telegram takes 64: https://core.telegram.org/bots/api#inlinekeyboardbutton
APPROVE, REJECT = "confirm:run:", "cancel:run:"
_DATA = re.compile(rf"({APPROVE}|{REJECT})(.*)", re.DOTALL)
_GONE = "This step is no longer waiting."


def buttons_for(question: str) -> Keyboard:
    """Return the two buttons of a question, by its ID."""
    return [[("Approve", f"{APPROVE}{question}"), ("Reject", f"{REJECT}{question}")]]


class ApprovalButtons:
    """A handler of received messages: it takes the buttons of waiting steps."""

    def __init__(self, control: RunControl) -> None:
        self._control = control

    async def matches(self, message: InboundMessage) -> bool:
        """Whether a message is acknowledged in its chat: a button is answered at once."""
        return False

    async def __call__(self, received: MessageContext) -> HandlerResult | None:
        """Decide about the step of a button; a button counts only in the chats that its question was sent to."""
        message = received.message
        found = _DATA.fullmatch(message.callback_data or "") if message.kind is MessageKind.CALLBACK else None
        if found is None:
            return None
        await received.begin()
        facts = {"actor": f"{CHAT}{message.chat_id}", **({"sender": message.sender_id} if message.sender_id else {})}
        press = ButtonPress(found[2], str(AskedChat(message.channel, message.chat_id)), message.sender_id)
        try:
            made = await self._control.press(press, message.chat_id, Caller("bot", facts), approved=found[1] == APPROVE)
        except UnknownQuestionError as error:
            return HandlerResult(HandlingStatus.ANSWERED, (Reply(_GONE),), error.code)
        except NotApproverError as error:
            return HandlerResult(HandlingStatus.FAILED, (Reply(f"{error}."),), error.code)
        except TocsinError as error:
            return HandlerResult(HandlingStatus.FAILED, (Reply(error.sentence()),), error.code)
        pressed = message.reply_to_id if message.callback_id else None
        text = f"{made.step}: {'approved' if made.approved else 'rejected'}"
        return HandlerResult(HandlingStatus.ANSWERED, (Reply(text, extra=replacing(pressed) if pressed else {}),))
