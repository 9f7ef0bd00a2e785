"""The metrics of the bot; those of received messages are of the inbox."""

from collections.abc import Callable

from tocsin.bot.door.access_store import AccessState
from tocsin.bot.storage.stores import BotStores
from tocsin.core.metrics import Metric, MetricSource, Sample, count_samples

CHATS = Metric("tocsin_bot_chats", "Chats that asked for access to the bot, by state of the decision.", ("state",))
REQUEST = Metric("tocsin_bot_request_oldest_seconds", "How long the oldest pending access request has waited.")

BOT_METRICS = (CHATS, REQUEST)


def bot_metrics(stores: Callable[[], BotStores], now: Callable[[], float]) -> MetricSource:
    async def read() -> list[Sample]:
        records = await stores().access.records()
        states = [record.state for record in records]
        waiting = [record.changed_at for record in records if record.state is AccessState.PENDING]
        return [
            *count_samples(CHATS, {state: states.count(state) for state in AccessState}),
            Sample(REQUEST, max(0.0, now() - min(waiting, default=now()))),
        ]

    return MetricSource("bot", BOT_METRICS, read)
