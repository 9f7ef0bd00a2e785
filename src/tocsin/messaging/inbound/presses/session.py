"""Presses by people who are signed in to the dashboard, for channels whose product cannot report them."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Literal

from tocsin.channels.action_tokens import SECRET, ActionToken
from tocsin.channels.presses import link_press_event
from tocsin.channels.registry import Registry
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.ids import new_id
from tocsin.core.time.clock import Clock
from tocsin.delivery.model import Delivery
from tocsin.messaging.inbound.audit_actions import MSG_CLICK
from tocsin.messaging.inbound.inbox import Inbox
from tocsin.messaging.inbound.model import InboxStatus
from tocsin.messaging.inbound.presses.buttons import UNKNOWN, PressedButtons, PressRefusedError
from tocsin.messaging.outbound.caller import Caller

# How long a press waits for its outcome, so that it can be shown to the person.
ENDS_WITHIN_S, LOOK_S = 3.0, 0.05

RECEIVED = "Your press was received and is being processed."
DONE = "Done."


@dataclass(frozen=True, slots=True)
class PressOutcome:
    """Outcome of a press, with a sentence for the person."""

    state: Literal["done", "received", "refused"]
    detail: str


class SessionPresses:
    """Takes presses of buttons on channels with `session_presses`."""

    def __init__(
        self,
        registry: Registry,
        buttons: PressedButtons,
        inbox: Callable[[], Inbox],
        audit: AuditTrail,
        clock: Clock,
    ) -> None:
        self._registry = registry
        self._buttons = buttons
        self._inbox = inbox
        self._audit = audit
        self._clock = clock

    async def press(self, delivery: Delivery, number: int, caller: Caller, scopes: Collection[str]) -> PressOutcome:
        """Press a button of a delivery for a person with `scopes`; raise StoreUnavailableError."""
        outcome = await self._press(delivery, number, caller.actor or "", scopes)
        facts = {"delivery": delivery.id, "channel": delivery.channel, "state": outcome.state, **caller.facts}
        self._audit.record(MSG_CLICK, outcome.detail, source=caller.source, metadata=facts)
        return outcome

    async def _press(self, delivery: Delivery, number: int, user: str, scopes: Collection[str]) -> PressOutcome:
        token = ActionToken(delivery.id, number, str(delivery.extra.get(SECRET, "")))
        if not self._registry.spec(delivery.channel).session_presses:  # its chat knows who presses, and who may
            return PressOutcome("refused", UNKNOWN)
        try:
            await self._buttons.find(token)
        except PressRefusedError as refusal:
            return PressOutcome("refused", str(refusal))
        event = link_press_event(
            delivery.channel,
            delivery.target,
            str(token),
            event_id=f"{delivery.id}:{new_id()}",
            now=self._clock.now(),
        )
        event = replace(event, sender_id=user, sender_name=user, sender_scopes=tuple(sorted(scopes)))
        inbox = self._inbox()
        await inbox.accept([event])
        return await outcome_of(inbox, event.id)


async def outcome_of(inbox: Inbox, message_id: str) -> PressOutcome:
    """Return how a press ended, if it does soon."""
    for _ in range(round(ENDS_WITHIN_S / LOOK_S)):
        if (ended := await inbox.find_ended(message_id)) is not None:
            if ended.status is InboxStatus.ANSWERED:
                return PressOutcome("done", DONE)
            return PressOutcome("refused", f"This did not work: {ended.reason}")
        await asyncio.sleep(LOOK_S)
    return PressOutcome("received", RECEIVED)
