"""The handler of presses of `call` buttons.

It stands behind the access rules of a chat, and calls the other handlers with what was pressed. The one that takes the
press calls `MessageContext.begin`, which claims the message for this press. So a press that is not permitted or that
nothing handles uses up no button. After a crash the same event claims again, and wins again.
"""

from collections.abc import Sequence
from dataclasses import replace

from tocsin.channels.action_tokens import given_key, read_token
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.audit.trail import AuditTrail
from tocsin.messaging.inbound.audit_actions import INBOX, MSG_PRESS
from tocsin.messaging.inbound.handling import (
    Handler,
    HandlerResult,
    HandlingStatus,
    MessageContext,
    PressedAction,
)
from tocsin.messaging.inbound.presses.buttons import OfferedAction, PressedButtons, PressRefusedError

NO_HANDLER = "Nothing is set up for this button ({name}). The operator of this bot can see that in the log."
BY_LINK = "a person with the link"


class ActionHandler:
    """The handler of presses: it asks the other handlers with what was pressed."""

    def __init__(self, buttons: PressedButtons, handlers: Sequence[Handler], audit: AuditTrail) -> None:
        self._buttons = buttons
        self._handlers = handlers
        self._audit = audit

    async def __call__(self, received: MessageContext) -> HandlerResult | None:
        """Carry out a press; `None` for everything else."""
        message = received.message
        token = read_token(message.callback_data) if message.kind is MessageKind.CALLBACK else None
        if token is None:
            return None
        try:
            offered = await self._buttons.find(token, received.id)
            return await self._ask(offered, received)
        except PressRefusedError as refusal:
            return HandlerResult(HandlingStatus.IGNORED, reason=str(refusal), hint=str(refusal))

    async def _ask(self, offered: OfferedAction, received: MessageContext) -> HandlerResult:
        press, begun = _press(offered, received.message), False

        async def begin() -> None:
            nonlocal begun
            await self._buttons.take(offered, received.id, press.by)
            if not begun:
                self._note(press, received)
            begun = True
            await received.begin()

        context = replace(received, begin=begin, press=press)
        for handler in self._handlers:
            result = await handler(context)
            if result is None:
                continue
            if begun and result.ending is HandlingStatus.IGNORED:  # refused after all
                await self._buttons.give_back(offered, received.id)
            return result
        told = NO_HANDLER.format(name=press.name)
        return HandlerResult(HandlingStatus.FAILED, reason=f"nothing handles the action {press.name}", hint=told)

    def _note(self, press: PressedAction, received: MessageContext) -> None:
        facts = {
            "event": received.id,
            "channel": press.channel,
            "target": press.target,
            "delivery": press.delivery,
            "button": press.name,
            "sender": received.message.sender_id,
        }
        detail = f"{press.name} on {press.channel} by {press.by}"
        self._audit.record(MSG_PRESS, detail, source=INBOX.name, metadata=facts)


def _press(offered: OfferedAction, message: InboundMessage) -> PressedAction:
    delivery, action = offered.delivery, offered.action
    title = str(delivery.content.get("title", ""))
    return PressedAction(
        name=str(action["name"]),
        value=str(action.get("value", "")),
        label=offered.label,
        delivery=delivery.id,
        channel=delivery.channel,
        target=delivery.target,
        key=given_key(delivery.key),
        text="\n".join(filter(None, (title, delivery.message if delivery.message != title else ""))),
        source=delivery.source,
        by=message.sender_name or message.sender_id or BY_LINK,
        by_link=message.sender_id is None,
        request_key=delivery.idempotency_key or "",
    )
