"""Idempotency keys in Redis, shared by every host."""

from tocsin.core.storage.redis_client import RedisClient, Script
from tocsin.messaging.outbound.idempotency import KEPT_S, LEASE_S, KeyReusedError, StillRunningError, StoredResponse

PREFIX = "tocsin:idempotency:"
LEASE = "tocsin:idempotency-lease:"  # not below the other one: a caller's key may end in anything

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
# A key that is gone (24 h, FLUSHALL) stays so: without its digest an answer would fit any body.
_FINISH = Script("""
if redis.call('exists', KEYS[1]) == 1 then redis.call('hset', KEYS[1], 'status', ARGV[1], 'body', ARGV[2]) end
redis.call('del', KEYS[2])
""")


class RedisKeys:
    """See `Keys`."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    async def begin(self, key: str, digest: str) -> StoredResponse | None:
        """See `Keys.begin`."""
        answer = await self._client.run(_BEGIN, _names(key), [digest, int(KEPT_S), int(LEASE_S * 1000)])
        state, *rest = (bytes(part).decode() for part in answer)
        if state == "reused":
            raise KeyReusedError(f"the key {key} came before with another body", hint="use a new key")
        if state == "running":
            raise StillRunningError(f"the request with the key {key} is still running", hint="ask again in a second")
        if state == "known":
            return StoredResponse(int(rest[0]), rest[1])
        return StoredResponse() if state == "abandoned" else None

    async def renew(self, key: str) -> None:
        """See `Keys.renew`."""
        await self._client.command("PEXPIRE", f"{LEASE}{key}", int(LEASE_S * 1000))

    async def finish(self, key: str, status: int, body: str) -> None:
        """See `Keys.finish`."""
        await self._client.run(_FINISH, _names(key), [status, body])

    async def forget(self, key: str) -> None:
        """See `Keys.forget`."""
        await self._client.command("DEL", *_names(key))


def _names(key: str) -> list[str]:
    return [f"{PREFIX}{key}", f"{LEASE}{key}"]
