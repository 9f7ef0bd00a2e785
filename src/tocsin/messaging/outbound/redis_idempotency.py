"""Idempotency keys in Redis, shared by all hosts."""

from pathlib import Path
from time import monotonic

from tocsin.core.storage.redis_client import RedisClient, load_script
from tocsin.core.storage.redis_names import FormerNames
from tocsin.messaging.outbound.idempotency import KEPT_S, LEASE_S, KeyReusedError, StillRunningError, StoredResponse

# Both keys of a request share one hash tag, the whole first name; neither can equal a key of another request.
_FORMER = "tocsin:idempotency:"
_FORMER_LEASE = "tocsin:idempotency-lease:"

_LUA = Path(__file__).parent / "lua"
_BEGIN = load_script(_LUA, "begin")
_FINISH = load_script(_LUA, "finish")
TAKE_IN = load_script(_LUA, "take_in")


class RedisKeys:
    """Idempotency keys in Redis."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client
        self._former = former_keys(client)
        # After this time no key of an earlier version exists: none is stored longer, and this version writes none.
        self._no_former_after = monotonic() + KEPT_S

    async def begin(self, key: str, digest: str, *, former: str = "") -> StoredResponse | None:
        await self._former.take_over()
        if former and monotonic() < self._no_former_after:
            await self._adopt(key, digest, former)
        answer = await self._client.run(_BEGIN, key_names(key), [digest, int(KEPT_S), int(LEASE_S * 1000)])
        state, *rest = (bytes(part).decode() for part in answer)
        if state == "reused":
            raise KeyReusedError(f"the key {key} was already used with a different body", hint="use a new key")
        if state == "running":
            raise StillRunningError(
                f"the request with the key {key} is still being processed", hint="retry in a second"
            )
        if state == "known":
            return StoredResponse(int(rest[0]), rest[1])
        return StoredResponse() if state == "abandoned" else None

    async def _adopt(self, key: str, digest: str, former: str) -> None:
        """Move the record of a request to `key`; in a cluster, the two names may be on different servers."""
        record, lease = key_names(former)
        found = await self._client.command("HGETALL", record)
        if found.get(b"digest") != digest.encode():
            return
        if await self._client.command("EXISTS", lease) and b"status" not in found:
            raise StillRunningError(
                f"the request with the key {former} is still being processed", hint="retry in a second"
            )
        left_s = int(await self._client.command("TTL", record))
        if left_s > 0:
            outcome = (found[b"status"], found[b"body"]) if b"status" in found else ()
            await self._client.run(TAKE_IN, key_names(key)[:1], [digest, left_s, *outcome])
        await self._client.command("DEL", record, lease)

    async def renew(self, key: str) -> None:
        await self._client.command("PEXPIRE", key_names(key)[1], int(LEASE_S * 1000))

    async def finish(self, key: str, status: int, body: str) -> None:
        await self._client.run(_FINISH, key_names(key), [status, body])

    async def forget(self, key: str) -> None:
        await self._client.command("DEL", *key_names(key))


def key_names(key: str) -> list[str]:
    """Return the names of the record and the lease of a request."""
    name = f"{{tocsin:idempotency:{key}}}"
    return [name, f"{name}:lease"]


def former_keys(client: RedisClient) -> FormerNames:
    """Return the names that earlier versions used."""
    return FormerNames(client, "idempotency", "tocsin:idempotency*", _renamed)


def _renamed(former: str) -> str:
    record, lease = former.removeprefix(_FORMER), former.removeprefix(_FORMER_LEASE)
    return key_names(lease)[1] if lease != former else key_names(record)[0]
