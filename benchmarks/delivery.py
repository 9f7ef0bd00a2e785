"""The durable queue: accepting with fsync on, recovering, waiting, pacing, the bus, and searching a million records."""

import asyncio
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import uvloop
from report import Row, absolute, at_least

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.chaos.clients import Message, queue_all
from tests.chaos.faults import honour_retry_after
from tests.chaos.figures import Figure, percentile
from tests.chaos.kills import resume_after_kills
from tests.chaos.limits import keep_the_pace
from tests.chaos.processes import Child, Redis, Town, open_town, wait_for
from tests.chaos.redis_faults import town_with_redis

from tocsin.core.ids import new_id
from tocsin.core.storage.database import Database
from tocsin.delivery.sqlite.schema import MIGRATIONS
from tocsin.delivery.sqlite.search import index_words

ROUNDS, ACCEPTS, WARM_UP, CLIENTS = 3, 20_000, 2_000, 64
ENTRIES = 5_000
RECORDS = 1_000_000
SEARCHES = {
    "a word in 10 of them": "q=needle000077",
    "the beginning of 1,000 words": "q=needle077",
    "a word in all of them": "q=disk",
    "a word that is in none": "q=nowhere",
    "two words": "q=disk+needle000077",
    "the dead ones": "status=dead",
    "one channel": "channel=botchat",
    "one target": "target=t77",
    "one target and one word": "target=t77&q=disk",
    "the sent ones of the last hour": "status=sent&since={hour_ago}",
    "the first page": "limit=200",
}


def measure() -> list[Row]:
    """Return the rows; needs 1 GiB of temporary space, redis-server and about 4 minutes."""
    rows = []
    for part in (_accepts, _recovery, _retry_after, _pace, _bus, _search):
        with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as place:
            rows += part(Path(place))
    return rows


def _accepts(place: Path) -> list[Row]:
    with open_town(place) as town:
        town.start_gateway(DELIVERY_WORKERS="0")
        numbers = count()

        def messages(how_many: int) -> Iterator[Message]:
            return (Message(f"a{next(numbers)}", "chaoschat", f"t{number % 1000}") for number in range(how_many))

        uvloop.run(queue_all(town.port, messages(WARM_UP), clients=CLIENTS))
        runs = [uvloop.run(queue_all(town.port, messages(ACCEPTS), clients=CLIENTS)) for _ in range(ROUNDS)]
    assert all(len(run.ids) == ACCEPTS for run in runs), runs[0].refused[:3]
    rate = statistics.median(len(run.ids) / run.seconds for run in runs)
    p99 = statistics.median(percentile(run.latencies, 0.99) for run in runs)
    return [
        absolute("durable accepts, fsync on, 64 connections", rate, 3_000, "/s", larger_is_better=True),
        absolute("… p99", p99 * 1000, 120, "ms"),
    ]


def _recovery(place: Path) -> list[Row]:
    return [
        _row(resume_after_kills(place, kills=10), "longest until a killed worker's", "recovery after a worker kill")
    ]


def _retry_after(place: Path) -> list[Row]:
    figures = honour_retry_after(place, messages=1_000)
    return [
        _row(figures, "tried earlier than told", "retries earlier than Retry-After, of 1,500"),
        _row(figures, "Retry-After lateness, p99", "Retry-After lateness, p99"),
    ]


def _pace(place: Path) -> list[Row]:
    figures = keep_the_pace(place, seconds=30)
    return [
        _row(figures, "sent a second", "throughput where 30/s, 1/s a chat, 20/min a group are enforced"),
        _row(figures, "refused with 429", "… answers of 429"),
    ]


def _bus(place: Path) -> list[Row]:
    """Compare with the usual loop of redis-py: read, do nothing, acknowledge each message."""
    with town_with_redis(place, "sqlite") as (town, redis):
        raw = statistics.median(_drain_raw(redis) for _ in range(ROUNDS))
        ours = statistics.median(_drain_by_worker(town, redis) for _ in range(ROUNDS))
    what = "bus messages into the durable queue"
    return [at_least(what, ours, raw, 0.5, "/s", "redis-py, read and acknowledged one by one")]


def _add(redis: Redis, stream: str) -> None:
    fields = ("target", "t", "message", '{"id": "disk 91 % full on web-3"}')
    for _ in range(ENTRIES // 500):
        redis.ask_many(("XADD", stream, "*", *fields) for _ in range(500))


def _drain_raw(redis: Redis) -> float:
    from redis import Redis as Client

    stream, group = "raw", "readers"
    redis.ask("DEL", stream)
    redis.ask("XGROUP", "CREATE", stream, group, "0", "MKSTREAM")
    _add(redis, stream)
    client: Any = Client(unix_socket_path=str(redis.socket))
    taken = 0
    started = time.perf_counter()
    while taken < ENTRIES:
        [(_, entries)] = client.xreadgroup(group, "me", {stream: ">"}, count=100)
        for id_, _ in entries:
            client.xack(stream, group, id_)
        taken += len(entries)
    seconds = time.perf_counter() - started
    client.close()
    return ENTRIES / seconds


def _drain_by_worker(town: Town, redis: Redis) -> float:
    """Return the entries a second from the first that leaves the stream to the last."""
    stream = "outbound:chaoschat"
    _add(redis, stream)
    town.provider.set_delay(60)  # the worker queues, and has next to nothing to send
    worker = town.start_worker(DELIVERY_WORKERS="1")
    left = wait_for("the worker begins", lambda: _left(redis, stream, worker), every_s=0.001)
    started = time.perf_counter()
    wait_for("the stream is empty", lambda: not redis.ask("XLEN", stream), every_s=0.005)
    seconds = time.perf_counter() - started
    town.end_worker(worker, kill=True)
    return left / seconds


def _left(redis: Redis, stream: str, worker: Child) -> int:
    worker.must_live()
    left = int(redis.ask("XLEN", stream))
    return left if left < ENTRIES else 0


def _search(place: Path) -> list[Row]:
    with open_town(place) as town:
        _fill(town.data_dir / "tocsin.db")
        town.start_gateway(DELIVERY_WORKERS="0")
        hour_ago = time.time() - 3600
        slowest = max((_median_ms(town, query.format(hour_ago=hour_ago)), what) for what, query in SEARCHES.items())
    what = f"slowest of {len(SEARCHES)} searches among {RECORDS:,} records: {slowest[1]}"
    return [absolute(what, slowest[0], 100, "ms")]


def _median_ms(town: Town, query: str) -> float:
    taken = []
    for _ in range(9):
        started = time.perf_counter()
        status, answer = town.ask("GET", f"/deliveries?{query}")
        taken.append((time.perf_counter() - started) * 1000)
        assert status == 200, answer
    return statistics.median(taken)


async def _create(path: Path) -> None:
    database = Database(path, {"delivery": MIGRATIONS})
    await database.read(lambda connection: connection.execute("SELECT 1").fetchone())
    await database.aclose()


def _fill(path: Path) -> None:
    """Write the records of a year, nearly all of them sent."""
    asyncio.run(_create(path))
    year_s = 365 * 86400
    begun = time.time() - year_s
    sql = (
        "INSERT INTO deliveries (id, channel, target, message, source, status, policy, created_at, finished_at,"
        " attempts) VALUES (?, ?, ?, ?, 'bench', ?, 'at_least_once', ?, ?, 1)"
    )
    rows = (
        (
            new_id(),
            ("teamchat", "botchat", "email")[number % 3],
            f"t{number % 1000}",
            f"disk {number % 100} % full on web-{number % 5000}, needle{number // 10:06}",
            "dead" if number % 1000 == 0 else "sent",
            created := begun + number * year_s / RECORDS,
            created + 1,
        )
        for number in range(RECORDS)
    )
    with closing(sqlite3.connect(path)) as connection:
        # How it is filled is not what is measured.
        connection.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000")
        connection.row_factory = sqlite3.Row
        connection.executemany(sql, rows)
        while index_words(connection, 20_000):
            pass
        connection.commit()


def _row(figures: list[Figure], begins: str, what: str) -> Row:
    figure = next(figure for figure in figures if figure.what.startswith(begins))
    larger = figure.sign == "≥"
    return absolute(what, figure.value, figure.limit, figure.unit, larger_is_better=larger)
