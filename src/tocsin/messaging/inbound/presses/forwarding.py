"""Buttons named `CHANNEL:TARGET`, such as `webhook:ci`: their presses are forwarded to that target."""

from typing import Any

from tocsin.channels.contract import Outgoing
from tocsin.channels.inbound import InboundMessage
from tocsin.channels.model import PRESS
from tocsin.channels.registry import Registry
from tocsin.core.errors import ChannelError
from tocsin.messaging.inbound.audit_actions import INBOX
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext, PressedAction
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox


class PressForwarder:
    """A handler of received messages: it queues a press for the target that the button names."""

    def __init__(self, registry: Registry, outbox: Outbox) -> None:
        self._registry = registry
        self._outbox = outbox

    async def matches(self, message: InboundMessage) -> bool:
        """Whether a message is marked as read: a button is not."""
        return False

    async def __call__(self, received: MessageContext) -> HandlerResult | None:
        """Queue the press once, whatever happens to this process."""
        press = received.press
        kind, _, target = (press.name if press else "").partition(":")
        if press is None or not target or not self._takes_presses(kind):
            return None
        outgoing = Outgoing(target, press.label, extra={PRESS: _facts(press, received.id)})
        try:
            new = self._outbox.prepare_outgoing(kind, outgoing, INBOX.name)
        except ChannelError as error:
            hint = f"The press could not be forwarded: {error.sentence()}"
            return HandlerResult(HandlingStatus.FAILED, reason=error.sentence(), hint=hint)
        await received.begin()
        await self._outbox.enqueue([new.with_terms(None, None, f"{PRESS}ed:{received.id}")], Caller(INBOX.name))
        return HandlerResult(HandlingStatus.ANSWERED)

    def _takes_presses(self, kind: str) -> bool:
        return any(state.spec.kind == kind and state.spec.takes_presses for state in self._registry.states())


def _facts(press: PressedAction, event: str) -> dict[str, Any]:
    """Return what the target learns: which button, of which message, pressed by whom."""
    return {
        "event": event,
        "name": press.name,
        "value": press.value,
        "label": press.label,
        "by": press.by,
        "by_link": press.by_link,
        "channel": press.channel,
        "chat": press.target,
        "key": press.key,
        "message": press.text,
    }
