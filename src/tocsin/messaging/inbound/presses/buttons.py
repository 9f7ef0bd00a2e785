"""Buttons that were pressed: what their tokens offer, which press wins, and the edit that removes them."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from tocsin.channels.action_tokens import ActionToken
from tocsin.core.errors import ConflictError, StoreUnavailableError, TocsinError
from tocsin.core.time.clock import Clock
from tocsin.delivery.keyed import find_keyed
from tocsin.delivery.model import Delivery
from tocsin.delivery.store import UnknownDeliveryError
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox

log = logging.getLogger(__name__)

VALID_S = 7 * 86_400.0
# A direct send is recorded after the product has the message: a press may come first.
RECORDED_S = 60.0

UNKNOWN = "This button is not known here any more."
EXPIRED = "This button was valid for 7 days."
NOT_OFFERED = "This is no longer offered: the message has changed since."
SOURCE = "action"
_EDIT_OF = "press:"  # how the idempotency key of the edit begins that removes the buttons of a delivery


class PressRefusedError(ConflictError):
    """The press has no effect; the sentence is for the person."""


@dataclass(frozen=True, slots=True)
class PressClaim:
    """The press that won: the event, who pressed, and what."""

    event: str
    by: str
    label: str
    at: float  # Unix seconds


class PressClaims(Protocol):
    """The presses that won, by the ID of the delivery whose message was pressed; kept longer than `VALID_S`."""

    async def claim(self, delivery: str, claim: PressClaim) -> PressClaim:
        """Store the claim unless there is one; return the one that is stored."""
        ...

    async def find(self, delivery: str) -> PressClaim | None:
        """Return the claim of a delivery."""
        ...

    async def release(self, delivery: str, event: str) -> None:
        """Remove the claim of an event that had no effect after all."""
        ...


@dataclass(frozen=True, slots=True)
class OfferedAction:
    """A button that can still be pressed, as one delivery offers it: the latest one of the message."""

    delivery: Delivery
    action: Mapping[str, Any]

    @property
    def once(self) -> bool:
        """Whether the first press removes the buttons."""
        return bool(self.action.get("once", True))

    @property
    def label(self) -> str:
        """The text of the button."""
        return str(self.action["label"])


class PressedButtons:
    """Finds what a token offers, and lets one press win."""

    def __init__(self, outbox: Outbox, claims: PressClaims, clock: Clock) -> None:
        self._outbox = outbox
        self._claims = claims
        self._clock = clock

    async def find(self, token: ActionToken, event: str = "") -> OfferedAction:
        """Return what the button offers to a press, whose event may have been at work before.

        Raises PressRefusedError with a sentence for the person, and StoreUnavailableError.
        """
        delivery = await self._delivery(token)
        offered = _action(delivery, token)
        if offered is None:
            raise PressRefusedError(UNKNOWN)
        if self._clock.now() - delivery.created_at > VALID_S:
            raise PressRefusedError(EXPIRED)
        if offered.once:
            await self._refuse_second(delivery, event)
        latest = await self._outbox.store.latest(delivery.channel, delivery.target, delivery.key)
        if latest is not None and latest.source == SOURCE and latest.id != delivery.id:
            latest = await self._outbox.store.get((latest.idempotency_key or "").removeprefix(_EDIT_OF))
        if latest is None or latest.id == delivery.id:
            return offered
        now = _named(latest, str(offered.action["name"]))
        if now is None:
            raise PressRefusedError(NOT_OFFERED)
        if now.once:
            await self._refuse_second(latest, event)
        return OfferedAction(latest, offered.action)

    async def _refuse_second(self, delivery: Delivery, event: str) -> None:
        claim = await self._claims.find(delivery.id)
        if claim is not None and claim.event != event:
            raise _already(claim)

    async def take(self, offered: OfferedAction, event: str, by: str) -> None:
        """Claim the message for a press, and queue the edit that removes its buttons.

        Raises PressRefusedError if another press was first.
        """
        if not offered.once:
            return
        delivery = offered.delivery
        claim = PressClaim(event, by, offered.label, self._clock.now())
        first = await self._claims.claim(delivery.id, claim)
        if first.event != event:
            raise _already(first)
        await self._remove_buttons(delivery)

    async def give_back(self, offered: OfferedAction, event: str) -> None:
        """Let the button be pressed again, because this press had no effect."""
        await self._claims.release(offered.delivery.id, event)

    async def _delivery(self, token: ActionToken) -> Delivery:
        try:
            delivery = await self._outbox.store.get(token.delivery)
        except UnknownDeliveryError:
            made_at = (UUID(token.delivery).int >> 80) / 1_000  # RFC 9562, 5.7: milliseconds
            if 0 <= self._clock.now() - made_at < RECORDED_S:
                raise StoreUnavailableError("the message of a button is not recorded yet") from None
            raise PressRefusedError(UNKNOWN) from None
        if not token.is_of(delivery.extra):
            raise PressRefusedError(UNKNOWN)
        return delivery

    async def _remove_buttons(self, delivery: Delivery) -> None:
        """Queue an edit of the message, unless it was changed meanwhile; a failure leaves buttons without effect."""
        store = self._outbox.store
        place = (delivery.channel, delivery.target, delivery.key)
        latest = await store.latest(*place)
        if latest is None or latest.id != delivery.id or await find_keyed(store, *place):
            return
        left = [each for each in delivery.content["actions"] if each["action"] != "call" or not each.get("once", True)]
        content = {**delivery.content, "actions": left, "if_gone": "drop", "unable": "skip"}
        try:
            new = self._outbox.prepare(
                delivery.channel,
                delivery.target,
                delivery.message,
                SOURCE,
                parse_mode=delivery.parse_mode,
                content=content,
            )
            await self._outbox.enqueue([new.with_terms(None, None, f"{_EDIT_OF}{delivery.id}")], Caller(SOURCE))
        except StoreUnavailableError:
            raise
        except TocsinError as error:
            facts = {"delivery": delivery.id, "reason": error.sentence()}
            log.warning("the buttons of a message could not be removed", extra=facts)


def _already(claim: PressClaim) -> PressRefusedError:
    return PressRefusedError(f"Already done: {claim.label}, by {claim.by}.")


def _action(delivery: Delivery, token: ActionToken) -> OfferedAction | None:
    actions = delivery.content.get("actions", ())
    if token.number >= len(actions) or actions[token.number].get("action") != "call":
        return None
    return OfferedAction(delivery, actions[token.number])


def _named(delivery: Delivery, name: str) -> OfferedAction | None:
    found = (each for each in delivery.content.get("actions", ()) if each.get("name") == name)
    return next((OfferedAction(delivery, each) for each in found), None)
