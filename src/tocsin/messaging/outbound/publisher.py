"""Publish to the bus, or directly into the queue while Redis does not answer."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tocsin.channels.model import FORMATS, NO_CONTENT
from tocsin.core.errors import TocsinError
from tocsin.core.ids import new_id
from tocsin.core.storage.redis_client import RedisClient
from tocsin.core.text.compact_json import to_json
from tocsin.delivery.bus.bus import publish
from tocsin.delivery.bus.entry import DATA, TOPIC, BusEntry
from tocsin.delivery.model import Delivery, NewDelivery
from tocsin.messaging.outbound.audit_actions import BUS
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox

log = logging.getLogger(__name__)


class Publisher:
    """Puts messages on the bus, and takes them from it into the queue."""

    def __init__(self, outbox: Outbox, redis: Callable[[], RedisClient] | None) -> None:
        """`redis` returns a client that its owner closes."""
        self._outbox = outbox
        self._redis = redis

    async def publish(
        self,
        channel: str,
        target: str,
        message: str,
        caller: Caller,
        *,
        parse_mode: str = "",
        content: Mapping[str, Any] = NO_CONTENT,
    ) -> str:
        """Publish durably and return where the message is stored.

        Raises UnknownChannelError, and ChannelError for a message that cannot be sent.
        """
        new = self._outbox.prepare(channel, target, message, caller.source, parse_mode=parse_mode, content=content)
        id_ = new_id()  # lets the queue recognise a second copy if the bus's answer was lost
        if place := await self._put_on_bus(new, id_):
            return place
        [delivery] = await self._outbox.enqueue([new.with_terms(None, None, f"bus:{id_}")], caller)
        return f"queue {delivery.id}"

    async def _put_on_bus(self, new: NewDelivery, id_: str) -> str:
        """Return the entry's ID on the stream, or `None` if Redis does not answer."""
        if self._redis is None:
            return ""
        client = self._redis()
        try:
            fields = {"target": new.target, "message": new.message, "id": id_}
            if new.content or new.parse_mode:
                whole = {**fields, **new.content, "format": new.parse_mode}
                fields = {DATA: to_json(whole)}
            return f"{TOPIC}{new.channel} {await publish(client, new.channel, fields)}"
        except TocsinError as error:
            log.info("published without Redis", extra={"reason": error.sentence()})
            return ""

    def prepare(self, channel: str, entry: BusEntry) -> NewDelivery:
        """Check one entry of the bus and return the message to queue."""
        mode = FORMATS.get(entry.format, entry.format)
        return self._outbox.prepare(
            channel, entry.target, entry.message, "bus", entry.policy, parse_mode=mode, content=entry.content
        )

    async def enqueue(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        """Queue prepared entries, all or none."""
        return await self._outbox.enqueue(new, Caller(BUS.name))
