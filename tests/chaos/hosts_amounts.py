"""Large amounts on Redis: a million messages that wait, and a move from one store to the other."""

import asyncio
import json
import os
import subprocess
import time
from pathlib import Path

import uvloop
from tests.chaos.clients import Message, queue_all
from tests.chaos.figures import Figure, percentile
from tests.chaos.processes import TOCSIN, Redis, Town, open_town

from tocsin.core.storage.redis_client import open_redis
from tocsin.core.time.clock import SystemClock
from tocsin.delivery.model import NewDelivery
from tocsin.delivery.redis.store import RedisStore
from tocsin.delivery.store import ChannelRules

BATCH = 1_000
TARGETS = 10_000
CLAIMS, AT_ONCE = 500, 16
TEXT = "disk 91 % full on web-3, seen since midnight; somebody should look at it before the night is over. "
CLAIM_MS = 20.0


def hold_a_million(directory: Path, *, messages: int = 1_000_000) -> list[Figure]:
    """Let so many messages wait; measure what they take and how long a claim lasts among them."""
    with open_town(directory) as town:
        redis = Redis(town, directory, appendfsync="everysec", **{"auto-aof-rewrite-percentage": "0"})
        redis.start()
        empty = _memory(redis)
        accepted_s, claims = uvloop.run(_fill_and_claim(redis.url, messages))
        each = (_memory(redis) - empty) / messages
        return [
            Figure("messages that wait", messages),
            Figure("memory of Redis for each, with a text of 99 characters", round(each), unit="bytes"),
            Figure("accepted in batches", messages / accepted_s, unit="/s"),
            Figure(f"claim of {AT_ONCE}, p50", percentile(claims, 0.5) * 1000, unit="ms"),
            Figure(f"claim of {AT_ONCE}, p99", percentile(claims, 0.99) * 1000, "≤", CLAIM_MS, "ms"),
            Figure("… of which within Redis, p99", _p99_of_scripts(redis) / 1000, unit="ms"),
        ]


def _told(redis: Redis, section: str, name: str) -> str:
    lines = bytes(redis.ask("INFO", section)).decode().splitlines()
    return next(line for line in lines if line.startswith(f"{name}:")).partition(":")[2]


def _memory(redis: Redis) -> int:
    return int(_told(redis, "memory", "used_memory"))


def _p99_of_scripts(redis: Redis) -> float:
    """Return the microseconds that 99 of 100 scripts took at most, since the statistics were reset."""
    told = _told(redis, "latencystats", "latency_percentiles_usec_evalsha")
    return float(dict(part.split("=") for part in told.split(","))["p99"])


async def _fill_and_claim(url: str, messages: int) -> tuple[float, list[float]]:
    client = open_redis(url, answer_timeout_s=60.0)
    store, rules = RedisStore(client, SystemClock()), {"chaoschat": ChannelRules()}
    begun = time.perf_counter()
    for first in range(0, messages, BATCH):
        numbers = range(first, min(first + BATCH, messages))
        await store.enqueue_many([NewDelivery("chaoschat", f"t{n % TARGETS}", TEXT, "bench") for n in numbers])
    accepted_s = time.perf_counter() - begun
    await client.command("CONFIG", "RESETSTAT")
    claims = []
    for _ in range(CLAIMS):
        started = time.perf_counter()
        claimed = await store.claim_due("w1", AT_ONCE, rules)
        claims.append(time.perf_counter() - started)
        assert len(claimed) == AT_ONCE
    await client.aclose()
    return accepted_s, claims


def move_between_stores(directory: Path, *, messages: int = 50_000) -> list[Figure]:
    """Queue messages on one host, move all to Redis and back, and time both."""
    with open_town(directory) as town:
        redis = Redis(town, directory)
        redis.start()
        town.environment["REDIS_URL"] = redis.url
        gateway = town.start_gateway(DELIVERY_WORKERS="0")
        some = (Message(f"m{n}", "chaoschat", f"t{n % TARGETS}", keyed=True) for n in range(messages))
        accepted = asyncio.run(queue_all(town.port, some, clients=16))
        assert len(accepted.ids) == messages, accepted.refused[:3]
        gateway.stop()
        found = [Figure("messages and as many keys to move", messages)]
        for to in ("redis", "sqlite"):
            begun = time.perf_counter()
            moved = _migrate(town, to)
            seconds = time.perf_counter() - begun
            found += [
                Figure(f"deliveries moved to {to}", moved["deliveries"], "=", messages),
                Figure(f"the move to {to}", seconds, unit="s"),
            ]
        return found


def _migrate(town: Town, to: str) -> dict[str, int]:
    command = [str(TOCSIN), "store", "migrate", "--to", to, "--json"]
    done = subprocess.run(command, env=town.environment, capture_output=True, cwd=town.directory, check=False)
    assert done.returncode == os.EX_OK, done.stderr.decode()
    document: dict[str, dict[str, int]] = json.loads(done.stdout)
    return document["moved"]
