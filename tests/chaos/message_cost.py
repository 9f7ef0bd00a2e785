"""What a queued message costs in processor time, beside a bare consumer that makes the same HTTP calls."""

import asyncio
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.chaos.clients import Message, queue_all
from tests.chaos.figures import Figure
from tests.chaos.ledger import Queue, RedisQueue, SqliteQueue
from tests.chaos.processes import HERE, Child, Redis, Town, open_town, wait_for

# Enough places that the worker is never idle, and so many targets that no lane has to wait for another message.
PLACES, TARGETS, DELAY_S = 64, 400, 0.05
STREAM, GROUP = "bare", "bare"
MICRO = 1e6


def compare_cost(directory: Path, *, messages: int, rounds: int = 3) -> list[Figure]:
    """Measure, in turn, a bare consumer and a worker on either store; each figure is a median."""
    found: dict[str, list[float]] = {"bare": [], "redis": [], "sqlite": []}
    for number in range(rounds):
        for kind, costs in found.items():
            place = directory / f"cost-{kind}-{number}"
            place.mkdir()
            costs.append(_bare(place, messages) if kind == "bare" else _worker(place, kind, messages))
    us = {kind: statistics.median(costs) * MICRO for kind, costs in found.items()}
    return [
        Figure("processor time of a bare consumer, each message", us["bare"], unit="µs"),
        Figure("processor time of a worker on Redis, each message", us["redis"], unit="µs"),
        Figure("processor time of a worker on SQLite, each message", us["sqlite"], unit="µs"),
        Figure("worker on Redis, times a bare consumer", us["redis"] / us["bare"], "≤", 3),
        Figure("worker on SQLite, times a bare consumer", us["sqlite"] / us["bare"], "≤", 3),
    ]


def _messages(many: int) -> Iterator[Message]:
    return (Message(f"c{n}", "chaoschat", f"t{n % TARGETS}") for n in range(many))


def _bare(directory: Path, many: int) -> float:
    with open_town(directory) as town:
        town.provider.set_delay(DELAY_S)
        redis = Redis(town, directory)
        redis.start()
        redis.ask("XGROUP", "CREATE", STREAM, GROUP, "0", "MKSTREAM")
        bodies = ({"target": m.target, "text": m.text, "key": m.id, "channel": m.channel} for m in _messages(many))
        redis.ask_many(("XADD", STREAM, "*", "body", json.dumps(body)) for body in bodies)
        url = f"{town.provider.url}/send"
        consumer = town.run([sys.executable, HERE / "bare_consumer.py", redis.socket, STREAM, url, str(PLACES)], "bare")
        return _cost(town, consumer, many, lambda: many - _acknowledged(redis))


def _acknowledged(redis: Redis) -> int:
    [group] = redis.ask("XINFO", "GROUPS", STREAM)
    facts = dict(zip(group[::2], group[1::2], strict=True))
    return int(facts[b"entries-read"] or 0) - int(facts[b"pending"])


def _worker(directory: Path, store: str, many: int) -> float:
    with open_town(directory) as town:
        town.provider.set_delay(DELAY_S)
        queue: Queue = SqliteQueue(town)
        if store == "redis":
            redis = Redis(town, directory)
            redis.start()
            town.environment |= {"STORE": "redis", "REDIS_URL": redis.url}
            queue = RedisQueue(town, redis)
        gateway = town.start_gateway(DELIVERY_WORKERS="0")
        accepted = asyncio.run(queue_all(town.port, _messages(many), clients=16))
        assert len(accepted.ids) == many, accepted.refused[:3]
        gateway.stop()
        return _cost(town, town.start_worker(DELIVERY_WORKERS=str(PLACES)), many, queue.open_count)


def _cost(town: Town, worker: Child, many: int, left: Callable[[], int]) -> float:
    """Return processor seconds for each message, from when a quarter is sent until three quarters are."""

    def when_left(at_most: int) -> tuple[int, float]:
        def look() -> tuple[int, float] | None:
            worker.must_live()
            count = left()
            return (count, worker.cpu_s()) if count <= at_most else None

        return wait_for(f"{at_most} messages are left", look, every_s=0.05)

    count, used = when_left(many * 3 // 4)
    later, used_later = when_left(many // 4)
    wait_for("all is sent", lambda: left() == 0, every_s=0.05)
    assert len(town.provider.rows()) == many, "each is sent once"
    return (used_later - used) / (count - later)
