"""Heartbeats of processes in their shared store: a counter for each process."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tocsin.core.storage.database import Database
    from tocsin.core.storage.redis_client import RedisClient

# A released migration is never edited; a new one is added.
MIGRATIONS = ("CREATE TABLE processes (identity TEXT PRIMARY KEY, beat INTEGER NOT NULL) WITHOUT ROWID;",)

_ADD = "INSERT INTO processes VALUES (?, 1) ON CONFLICT (identity) DO UPDATE SET beat = beat + 1"
_REMOVE = "DELETE FROM processes WHERE identity = ?"


class Beats(Protocol):
    """Counts heartbeats; raises StoreUnavailableError."""

    async def add(self, identity: str) -> None:
        """Count a heartbeat."""

    async def remove(self, identities: Sequence[str]) -> None:
        """Delete the counters of processes."""

    async def all(self) -> dict[str, int]:
        """Return the counters of all processes."""


class SqliteBeats:
    """Heartbeats of the processes that share a data directory."""

    def __init__(self, database: "Database") -> None:
        self._database = database

    async def add(self, identity: str) -> None:
        await self._database.execute(_ADD, [identity])

    async def remove(self, identities: Sequence[str]) -> None:
        await self._database.execute_many(_REMOVE, [[identity] for identity in identities])

    async def all(self) -> dict[str, int]:
        return await self._database.read(
            lambda connection: {row["identity"]: row["beat"] for row in connection.execute("SELECT * FROM processes")}
        )


class RedisBeats:
    """Heartbeats of the processes on all hosts that share a Redis."""

    def __init__(self, client: "RedisClient", *, prefix: str = "tocsin") -> None:
        self._client = client
        self._key = f"{{{prefix}:presence}}:beats"

    async def add(self, identity: str) -> None:
        await self._client.command("HINCRBY", self._key, identity, 1)

    async def remove(self, identities: Sequence[str]) -> None:
        await self._client.command("HDEL", self._key, *identities)

    async def all(self) -> dict[str, int]:
        found = await self._client.command("HGETALL", self._key)
        return {identity.decode(): int(count) for identity, count in found.items()}
