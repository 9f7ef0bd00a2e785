"""What a Redis server can do under load, as the queue and as the bus; and that one publish is one send."""

import asyncio
import json
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from tests.chaos.clients import Accepted, Message, queue_all, repeat_unanswered
from tests.chaos.figures import Figure, none_of
from tests.chaos.ledger import RedisQueue, SqliteQueue, settle
from tests.chaos.processes import Redis, Town, open_town, wait_for

HEAL_S = 5.0
DOWN_S = 1.0
PAUSE_S = 3.0
# Of one processor, while Redis is away: trying again is allowed, trying all the time is not.
BUSY_SHARE = 0.5


@contextmanager
def town_with_redis(directory: Path, backend: str) -> Iterator[tuple[Town, Redis]]:
    """Run a town and its Redis; the queue is kept in `backend`."""
    # Not below pytest's directory: the path of a socket has at most 107 characters.
    with tempfile.TemporaryDirectory(prefix="chaos-redis-") as place:
        settings = {"REDIS_URL": f"unix://{place}/redis.sock", "STORE": backend, "DELIVERY_WORKERS": "16"}
        with open_town(directory, settings) as town:
            redis = Redis(town, Path(place))
            redis.start()
            yield town, redis


def survive_redis_as_queue(directory: Path, *, rounds: int, workers: int = 2, clients: int = 8) -> list[Figure]:
    """Kill, restart and pause the Redis that keeps the queue, while clients and workers use it."""
    with town_with_redis(directory, "redis") as (town, redis):
        queue = RedisQueue(town, redis)
        town.provider.set_delay(0.02)
        town.start_gateway(DELIVERY_WORKERS="0")
        for _ in range(workers):
            town.start_worker()
        accepted, healed, busy = asyncio.run(_use_through_outages(town, redis, rounds, clients))
        asyncio.run(repeat_unanswered(town.port, accepted))
        ledger = settle(town, queue, accepted.ids)
        return [
            Figure("kills and pauses of Redis", 2 * rounds),
            *ledger.figures(),
            Figure(
                "duplicates (at most: in flight at the outages)",
                ledger.duplicates(e.message_id for e in ledger.entries.values()),
                "≤",
                2 * rounds * workers * 16,
            ),
            Figure("longest until the queue worked again", max(healed), "≤", HEAL_S, "s"),
            Figure("processor time of a worker while Redis was away", max(busy), "≤", BUSY_SHARE, "of a processor"),
        ]


async def _use_through_outages(
    town: Town, redis: Redis, rounds: int, clients: int
) -> tuple[Accepted, list[float], list[float]]:
    done = False
    messages = (Message(f"q{n}", "chaoschat", f"t{n % 101}", keyed=n % 2 == 0) for n in count())
    load = asyncio.create_task(queue_all(town.port, messages, clients=clients, until=lambda: done))
    healed: list[float] = []
    busy: list[float] = []
    try:
        for _ in range(rounds):
            for outage in (_restart, _pause):
                await asyncio.to_thread(_wait_for_news, town, time.monotonic())
                await asyncio.to_thread(_break, town, redis, outage, healed, busy)
    finally:
        done = True
    return await load, healed, busy


def _wait_for_news(town: Town, since: float) -> float:
    """Return when the provider next got something after `since`."""
    seen = 0

    def look() -> float | None:
        nonlocal seen
        rows = town.provider.rows(seen)
        seen += len(rows)
        return next((row.at for row in rows if row.at > since), None)

    return wait_for("the provider gets something", look)


def _break(
    town: Town, redis: Redis, outage: Callable[[Redis, float], float], healed: list[float], busy: list[float]
) -> None:
    before = [(worker, worker.cpu_s()) for worker in town.workers]
    down_s = outage(redis, 0.0)
    busy += [(worker.cpu_s() - cpu_s) / down_s for worker, cpu_s in before]
    back_at = time.monotonic()
    healed.append(_wait_for_news(town, back_at) - back_at)


def _restart(redis: Redis, _: float) -> float:
    begun = time.monotonic()
    redis.child.kill()
    time.sleep(DOWN_S)  # long enough for somebody to spin
    redis.start()
    return time.monotonic() - begun


def _pause(redis: Redis, _: float) -> float:
    redis.child.signal(signal.SIGSTOP)
    time.sleep(PAUSE_S)
    redis.child.signal(signal.SIGCONT)
    return PAUSE_S


def survive_redis_as_bus(directory: Path, *, rounds: int, messages_each: int, workers: int = 2) -> list[Figure]:
    """Empty, kill and pause the Redis that carries the bus, with the queue in SQLite."""
    with town_with_redis(directory, "sqlite") as (town, redis):
        queue = SqliteQueue(town)
        for _ in range(workers):
            town.start_worker()
        bus = _BusUser(town, redis)
        bus.wait_for_both()
        healed: list[float] = []
        busy: list[float] = []
        outages: tuple[Callable[[Redis, float], float], ...] = (_flush, _restart, _pause)
        for _ in range(rounds):
            for outage in outages:
                bus.add(messages_each)
                if outage is _flush:  # what is flushed from a bus before it was read is gone with it
                    bus.wait_until_received()
                before = [(worker, worker.cpu_s()) for worker in town.workers]
                down_s = outage(redis, 0.0)
                if outage is not _flush:
                    busy += [(worker.cpu_s() - cpu_s) / down_s for worker, cpu_s in before]
                healed.append(bus.wait_for_both())
        bus.wait_until_received()
        ledger = settle(town, queue, {})
        taken = ledger.taken
        return [
            Figure("flushes, kills and pauses of Redis", rounds * len(outages)),
            Figure("messages on the durable stream", len(bus.added)),
            none_of("accepted by the stream and lost", [name for name in bus.added if not taken[name]]),
            none_of("sent twice", [name for name in bus.added if taken[name] > 1]),
            none_of("open", [e.id for e in ledger.entries.values() if e.status != "sent"]),
            Figure("longest until stream and PUBLISH worked again", max(healed), "≤", HEAL_S, "s"),
            Figure("processor time of a worker while Redis was away", max(busy), "≤", BUSY_SHARE, "of a processor"),
        ]


def _flush(redis: Redis, _: float) -> float:
    redis.ask("FLUSHALL")
    return 1.0


class _BusUser:
    """Publishes both ways, and looks at what arrives."""

    def __init__(self, town: Town, redis: Redis) -> None:
        self._town = town
        self._redis = redis
        self._number = count()
        self.added: list[str] = []
        self.published: list[str] = []

    def add(self, how_many: int) -> None:
        """Put messages on the durable stream."""
        names = [f"x{next(self._number)}" for _ in range(how_many)]
        self._redis.ask_many(("XADD", "outbound:chaoschat", "*", *_fields(name)) for name in names)
        self.added += names

    def publish(self, how_many: int) -> None:
        """Publish messages, fire and forget."""
        names = [f"p{next(self._number)}" for _ in range(how_many)]
        self._redis.ask_many(("PUBLISH", "outbound:chaoschat", json.dumps(_document(name))) for name in names)
        self.published += names

    def wait_for_both(self) -> float:
        """Try both ways until a message by each has arrived; return how long that took."""
        begun = time.monotonic()
        streamed = f"probe-x{next(self._number)}"
        self._redis.ask("XADD", "outbound:chaoschat", "*", *_fields(streamed))
        probes: list[str] = []

        def look() -> bool:
            probes.append(f"probe-p{next(self._number)}")
            self._redis.ask("PUBLISH", "outbound:chaoschat", json.dumps(_document(probes[-1])))
            got = {row.id for row in self._town.provider.rows()}
            return streamed in got and not got.isdisjoint(probes)

        wait_for("a message arrives by stream and by PUBLISH", look, every_s=0.1)
        return time.monotonic() - begun

    def wait_until_received(self) -> None:
        """Return when everything has arrived."""

        def look() -> bool:
            got = {row.id for row in self._town.provider.rows()}
            return got.issuperset(self.added) and got.issuperset(self.published)

        wait_for("everything from the bus has arrived", look, every_s=0.1)


def _document(name: str) -> dict[str, str]:
    # Every message has a target of its own: nothing waits for another.
    return {"target": f"bus-{name}", "message": json.dumps({"id": name})}


def _fields(name: str) -> tuple[str, ...]:
    return tuple(word for pair in _document(name).items() for word in pair)


def one_publish_is_one_send(directory: Path, *, messages_each: int, most_workers: int = 8) -> list[Figure]:
    """Publish both ways with 1, 2, 4 and 8 workers, and count what arrives."""
    figures: list[Figure] = []
    with town_with_redis(directory, "sqlite") as (town, redis):
        bus = _BusUser(town, redis)
        while len(town.workers) < most_workers:
            wanted = max(1, 2 * len(town.workers))
            fresh = [town.start_worker() for _ in range(wanted - len(town.workers))]
            bus.wait_for_both()
            _wait_for_consumers(redis, wanted)
            bus.added, bus.published = [], []
            for _ in range(4):
                bus.add(messages_each // 4)
                bus.publish(messages_each // 4)
            bus.wait_until_received()
            assert all(child.alive for child in fresh)
            taken = settle(town, SqliteQueue(town), {}).taken
            figures += [
                none_of(f"not sent exactly once by XADD, {wanted} workers", [n for n in bus.added if taken[n] != 1]),
                none_of(
                    f"not sent exactly once by PUBLISH, {wanted} workers", [n for n in bus.published if taken[n] != 1]
                ),
            ]
        return [Figure("messages each way and number of workers", messages_each // 4 * 4), *figures]


def _wait_for_consumers(redis: Redis, how_many: int) -> None:
    """Return when so many workers read the stream."""

    def look() -> bool:
        groups = redis.ask("XINFO", "GROUPS", "outbound:chaoschat")
        return bool(dict(zip(groups[0][::2], groups[0][1::2], strict=True))[b"consumers"] == how_many)

    wait_for("every worker reads the stream", look)


def kill_redis_workers(directory: Path, *, kills: int, messages_each: int, workers: int = 4) -> list[Figure]:
    """Kill workers while they send, with the queue in Redis."""
    from tests.chaos.kills import kill_workers

    with tempfile.TemporaryDirectory(prefix="chaos-redis-") as place:

        def prepare(town: Town) -> RedisQueue:
            redis = Redis(town, Path(place))
            redis.start()
            return RedisQueue(town, redis)

        settings = {"REDIS_URL": f"unix://{place}/redis.sock", "STORE": "redis"}
        sizes = {"kills": kills, "messages_each": messages_each, "workers": workers}
        return kill_workers(directory, **sizes, prepare=prepare, settings=settings)
