"""Check whether a Redis keeps deliveries safe."""

from collections.abc import Iterator, Mapping

from tocsin.core.errors import StoreUnavailableError
from tocsin.core.storage.redis_client import RedisClient
from tocsin.core.storage.redis_failures import OLDEST_VERSION
from tocsin.delivery.store import Health


async def health_of(client: RedisClient) -> Health:
    """Return the problems that endanger deliveries."""
    try:
        info = await client.info()
    except StoreUnavailableError as error:
        return Health("redis", ok=False, problems=[error.sentence()])
    problems = list(_problems(info, client.where))
    advice = [] if problems else await _advice(client)
    return Health("redis", ok=not problems, problems=[*problems, *advice])


async def _advice(client: RedisClient) -> list[str]:
    """Return what a crash of the server may lose; empty if the server hides its settings."""
    try:
        answer = await client.command("CONFIG", "GET", "appendfsync")
    except StoreUnavailableError:
        return []
    if answer.get(b"appendfsync") == b"always":
        return []
    return [
        f"Redis at {client.where} may lose the last two seconds when it is killed, as it answers"
        " before it writes: set `appendfsync always` in its configuration"
    ]


def _problems(info: Mapping[str, str], where: str) -> Iterator[str]:
    """Yield the problems of this Redis, each with its setting."""
    version = info.get("redis_version", "")
    if tuple(int(part) for part in version.split(".")[:2] if part.isdigit()) < OLDEST_VERSION:
        yield f"Redis at {where} has version {version}; {OLDEST_VERSION[0]}.{OLDEST_VERSION[1]} or newer is needed"
    if info.get("role") == "slave":
        yield f"Redis at {where} is a read-only replica: name the master in REDIS_URL"
    if info.get("aof_enabled") != "1":
        yield f"Redis at {where} loses every delivery when it is killed: set `appendonly yes` in its configuration"
    elif info.get("aof_last_write_status", "ok") != "ok":
        yield f"Redis at {where} cannot write its append-only file: free some space; its log says more"
    policy = info.get("maxmemory_policy", "noeviction")
    if policy.startswith("allkeys-") and info.get("maxmemory", "0") != "0":
        yield f"Redis at {where} throws deliveries away when its memory is full: set `maxmemory-policy noeviction`"
