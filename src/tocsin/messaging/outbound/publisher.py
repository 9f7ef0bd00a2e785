"""Publishing: to the bus where Redis answers, else straight into the queue."""

import logging
from collections.abc import Callable, Sequence

from tocsin.core.errors import TocsinError
from tocsin.core.ids import new_id
from tocsin.core.storage.redis_client import RedisClient
from tocsin.delivery.bus.bus import publish
from tocsin.delivery.bus.entry import TOPIC, BusEntry
from tocsin.delivery.model import Delivery, NewDelivery
from tocsin.messaging.outbound.audit_actions import BUS
from tocsin.messaging.outbound.caller import Caller
from tocsin.messaging.outbound.outbox import Outbox

log = logging.getLogger(__name__)


class Publisher:
    """Puts messages on the bus, and takes them off it for the queue."""

    def __init__(self, outbox: Outbox, redis: Callable[[], RedisClient] | None) -> None:
        """`redis` returns a client that its owner closes."""
        self._outbox = outbox
        self._redis = redis

    async def publish(self, channel: str, target: str, message: str, caller: Caller) -> str:
        """Publish durably and return where the message is now.

        Raises UnknownChannelError and ChannelError for what could never be sent.
        """
        new = self._outbox.prepare(channel, target, message, caller.source)
        id_ = new_id()  # when the answer of the bus is lost, the second copy is known as one
        if place := await self._put_on_bus(new, id_):
            return place
        [delivery] = await self._outbox.enqueue([new.with_terms(None, None, f"bus:{id_}")], caller)
        return f"queue {delivery.id}"

    async def _put_on_bus(self, new: NewDelivery, id_: str) -> str:
        """Return the place on the durable stream; nothing when Redis does not answer."""
        if self._redis is None:
            return ""
        client = self._redis()
        try:
            fields = {"target": new.target, "message": new.message, "id": id_}
            return f"{TOPIC}{new.channel} {await publish(client, new.channel, fields)}"
        except TocsinError as error:
            log.info("published without Redis", extra={"reason": error.sentence()})
            return ""

    def prepare(self, channel: str, entry: BusEntry) -> NewDelivery:
        """Check one entry of the bus and return what may be queued; see `tocsin.delivery.bus.bus.Prepare`."""
        return self._outbox.prepare(channel, entry.target, entry.message, "bus", entry.policy)

    async def enqueue(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        """Queue prepared entries, all or none; see `tocsin.delivery.bus.bus.Enqueue`."""
        return await self._outbox.enqueue(new, Caller(BUS.name))
