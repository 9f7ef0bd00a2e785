"""Idempotency keys in Redis, shared by every host."""

from tocsin.core.redis_client import RedisClient, Script
from tocsin.messaging.idempotency import KEPT_S, LEASE_S, KeyReusedError, Known, StillRunningError

PREFIX = "tocsin:idempotency:"

# The lease is a key of its own, so that the server's clock ends it whoever has died.
_BEGIN = Script("""
local digest = redis.call('hget', KEYS[1], 'digest')
if not digest then
    redis.call('hset', KEYS[1], 'digest', ARGV[1])
    redis.call('expire', KEYS[1], ARGV[2])
    redis.call('set', KEYS[2], '1', 'PX', ARGV[3])
    return {'new'}
end
if digest ~= ARGV[1] then return {'reused'} end
local status = redis.call('hget', KEYS[1], 'status')
if status then return {'known', status, redis.call('hget', KEYS[1], 'body')} end
if redis.call('exists', KEYS[2]) == 1 then return {'running'} end
redis.call('set', KEYS[2], '1', 'PX', ARGV[3])
return {'abandoned'}
""")


class RedisKeys:
    """See `Keys`."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    async def begin(self, key: str, digest: str) -> Known | None:
        """See `Keys.begin`."""
        names = [f"{PREFIX}{key}", f"{PREFIX}{key}:lease"]
        answer = await self._client.run(_BEGIN, names, [digest, int(KEPT_S), int(LEASE_S * 1000)])
        state, *rest = (bytes(part).decode() for part in answer)
        if state == "reused":
            raise KeyReusedError(f"the key {key} came before with another body", hint="use a new key")
        if state == "running":
            raise StillRunningError(f"the request with the key {key} is still running", hint="ask again in a second")
        if state == "known":
            return Known(int(rest[0]), rest[1])
        return Known() if state == "abandoned" else None

    async def renew(self, key: str) -> None:
        """See `Keys.renew`."""
        await self._client.command("PEXPIRE", f"{PREFIX}{key}:lease", int(LEASE_S * 1000))

    async def finish(self, key: str, status: int, body: str) -> None:
        """See `Keys.finish`."""
        await self._client.command("HSET", f"{PREFIX}{key}", "status", status, "body", body)

    async def forget(self, key: str) -> None:
        """See `Keys.forget`."""
        await self._client.command("DEL", f"{PREFIX}{key}", f"{PREFIX}{key}:lease")
