"""Check whether a Redis keeps deliveries safe."""

import asyncio
from collections.abc import Iterator, Mapping

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.storage.redis_client import RedisClient
from tocsin.core.storage.redis_failures import OLDEST_VERSION
from tocsin.delivery.store import Health

# Beyond that, messages with `not_before` or `expires_at` are sent by a clock that the operator should check.
LARGEST_SKEW_S = 30.0


async def read_health(client: RedisClient, now: float) -> Health:
    """Return the problems that endanger deliveries; `now` is the host's Unix time."""
    try:
        infos, skew, sync = await asyncio.gather(client.infos(), _skew(client, now), _sync(client))
    except StoreUnavailableError as error:
        return Health("redis", ok=False, problems=[error.sentence()])
    told = {problem: None for info in infos for problem in _problems(info, client.where, client.wait_replicas)}
    advice = [] if told else [*_advice(client, infos[0], sync), *skew]
    return Health("redis", ok=not told, problems=[*told, *advice])


async def _sync(client: RedisClient) -> bytes | None:
    """Return when the server writes to its disk; `None` if it hides its settings."""
    try:
        answer = await client.command("CONFIG", "GET", "appendfsync")
    except StoreUnavailableError:
        return None
    return bytes(answer.get(b"appendfsync", b""))


def _advice(client: RedisClient, info: Mapping[str, str], sync: bytes | None) -> list[str]:
    """Return what may be lost in rare cases."""
    policy, advice = info.get("maxmemory_policy", ""), []
    if policy.startswith("volatile-") and info.get("maxmemory", "0") != "0":
        advice.append(
            f"Redis at {client.where} evicts idempotency keys when its memory is full, so that a repeated request "
            "may send twice: set `maxmemory-policy noeviction`"
        )
    if sync is not None and sync != b"always":
        advice.append(
            f"Redis at {client.where} may lose the last two seconds when it is killed, because it responds before "
            "it writes to disk: set `appendfsync always` in its configuration"
        )
    return advice


async def _skew(client: RedisClient, now: float) -> list[str]:
    """Return a sentence if this host and the server disagree about the time."""
    try:
        seconds, micros = await client.command("TIME")
    except StoreUnavailableError:
        return []
    ahead_s = now - int(seconds) - int(micros) / 1e6
    if abs(ahead_s) <= LARGEST_SKEW_S:
        return []
    way = "ahead of" if ahead_s > 0 else "behind"
    return [
        (
            f"the clock of this host is {abs(ahead_s):,.0f} s {way} that of Redis at {client.where}: synchronise "
            "both with the same time servers; for `not_before` and `expires_at`, the clock of the sending host "
            "applies"
        )
    ]


def _problems(info: Mapping[str, str], where: str, wait_replicas: int) -> Iterator[str]:
    """Yield the problems of this Redis, each with its setting."""
    version = info.get("redis_version", "")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < OLDEST_VERSION:
        yield f"Redis at {where} has version {version}; {OLDEST_VERSION[0]}.{OLDEST_VERSION[1]} or newer is needed"
    if info.get("loading") == "1":
        yield f"Redis at {where} is still loading its data: the check is repeated"
        return
    if info.get("role") == "slave":
        yield f"Redis at {where} is a read-only replica: put the master into REDIS_URL"
    if info.get("aof_enabled") != "1":
        yield f"Redis at {where} loses every delivery when it is killed: set `appendonly yes` in its configuration"
    elif info.get("aof_last_write_status", "ok") != "ok":
        yield f"Redis at {where} cannot write its append-only file: free some disk space; its log has the details"
    limit = int(info.get("maxmemory", "0"))
    if limit and info.get("maxmemory_policy", "noeviction").startswith("allkeys-"):
        yield f"Redis at {where} deletes deliveries when its memory is full: set `maxmemory-policy noeviction`"
    elif limit and int(info.get("used_memory", "0")) >= limit:
        yield (
            f"Redis at {where} has reached its maxmemory limit and rejects new data: raise it, or delete unneeded data"
        )
    replicas = int(info.get("connected_slaves", "0"))
    if replicas < wait_replicas:
        yield (
            f"Redis at {where} has {replicas} of the {wait_replicas} replicas required by REDIS_WAIT_REPLICAS, so "
            "new messages are rejected: start the missing replicas, or lower REDIS_WAIT_REPLICAS"
        )
