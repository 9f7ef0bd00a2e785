"""Idempotency keys in Redis, shared by every host."""

from pathlib import Path

from tocsin.core.storage.redis_client import RedisClient, load_script
from tocsin.messaging.outbound.idempotency import KEPT_S, LEASE_S, KeyReusedError, StillRunningError, StoredResponse

PREFIX = "tocsin:idempotency:"
LEASE = "tocsin:idempotency-lease:"  # not a suffix of the other name, because a caller's key may end in anything

_LUA = Path(__file__).parent / "lua"
_BEGIN = load_script(_LUA, "begin")
_FINISH = load_script(_LUA, "finish")


class RedisKeys:
    """Idempotency keys in Redis."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    async def begin(self, key: str, digest: str) -> StoredResponse | None:
        answer = await self._client.run(_BEGIN, _names(key), [digest, int(KEPT_S), int(LEASE_S * 1000)])
        state, *rest = (bytes(part).decode() for part in answer)
        if state == "reused":
            raise KeyReusedError(f"the key {key} was used before with another body", hint="use a new key")
        if state == "running":
            raise StillRunningError(f"the request with the key {key} is still running", hint="retry in a second")
        if state == "known":
            return StoredResponse(int(rest[0]), rest[1])
        return StoredResponse() if state == "abandoned" else None

    async def renew(self, key: str) -> None:
        await self._client.command("PEXPIRE", f"{LEASE}{key}", int(LEASE_S * 1000))

    async def finish(self, key: str, status: int, body: str) -> None:
        await self._client.run(_FINISH, _names(key), [status, body])

    async def forget(self, key: str) -> None:
        await self._client.command("DEL", *_names(key))


def _names(key: str) -> list[str]:
    return [f"{PREFIX}{key}", f"{LEASE}{key}"]
