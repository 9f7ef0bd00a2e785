"""Idempotency keys: the same key and body get the same response for 24 hours, also after a restart."""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from tocsin.core.errors import ConflictError, TocsinError
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)

KEPT_S = 24 * 3600.0
# A running request renews its lease before it expires; after a crash the key becomes free then.
LEASE_S = 10.0
RENEW_S = 3.0

MIGRATIONS = (
    """
    CREATE TABLE idempotency (
        key TEXT PRIMARY KEY,
        digest TEXT NOT NULL,
        status INTEGER,
        body TEXT,
        created_at REAL NOT NULL,
        lease_until REAL NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX idempotency_created ON idempotency (created_at);
    """,
)


class KeyReusedError(TocsinError):
    """The key was used before with another body."""

    code = "idempotency-key-reused"


class StillRunningError(ConflictError):
    """The first request with this key is still running."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A known key with its response; `status` is None if the process died before responding."""

    status: int | None = None
    body: str = ""


class IdempotencyKeys(Protocol):
    """Stores keys and responses."""

    async def begin(self, key: str, digest: str, *, former: str = "") -> StoredResponse | None:
        """Claim a new key and return `None`, or return the response stored for it.

        The key of a process that died is taken over and returned without a response. A record that earlier versions
        stored for the same request as `former` is renamed to `key`. Raises KeyReusedError and StillRunningError.
        """
        ...

    async def renew(self, key: str) -> None:
        """Renew the lease of a running request."""
        ...

    async def finish(self, key: str, status: int, body: str) -> None:
        """Store the response."""
        ...

    async def forget(self, key: str) -> None:
        """Free the key of a request that had no effect, so that it may be repeated."""
        ...


@asynccontextmanager
async def keep_lease(keys: IdempotencyKeys, key: str, *, every_s: float = RENEW_S) -> AsyncIterator[None]:
    """Renew the lease while the block runs."""

    ended = False

    async def renew() -> None:
        # A client library may swallow a cancellation that coincides with its own time-out; `ended` stops the loop.
        while not ended:
            await asyncio.sleep(every_s)
            try:
                await keys.renew(key)
            except TocsinError as error:  # the lease outlasts three attempts to renew it
                log.warning("renewing the lease of an Idempotency-Key failed", extra={"reason": error.sentence()})

    task = asyncio.create_task(renew())
    try:
        yield
    finally:
        ended = True
        task.cancel()


class SqliteKeys:
    """Idempotency keys in the database of this host."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def begin(self, key: str, digest: str, *, former: str = "") -> StoredResponse | None:
        def work(connection: sqlite3.Connection) -> StoredResponse | None:
            # Read while no other process writes: with an earlier time, a lease given meanwhile would last too long.
            now, mono = self._clock.now(), self._clock.monotonic()
            connection.execute("DELETE FROM idempotency WHERE created_at < ?", [now - KEPT_S])
            sql = "UPDATE OR IGNORE idempotency SET key = ? WHERE key = ? AND digest = ?"
            connection.execute(sql, [key, former, digest])
            row = connection.execute("SELECT * FROM idempotency WHERE key = ?", [key]).fetchone()
            if row is None:
                connection.execute(
                    "INSERT INTO idempotency (key, digest, created_at, lease_until) VALUES (?, ?, ?, ?)",
                    [key, digest, now, mono + LEASE_S],
                )
                return None
            if row["digest"] != digest:
                raise KeyReusedError(f"the key {key} was already used with a different body", hint="use a new key")
            if row["status"] is not None:
                return StoredResponse(row["status"], row["body"])
            # A lease ending later than a new one predates a reboot.
            if mono < row["lease_until"] <= mono + LEASE_S:
                raise StillRunningError(
                    f"the request with the key {key} is still being processed", hint="retry in a second"
                )
            connection.execute("UPDATE idempotency SET lease_until = ? WHERE key = ?", [mono + LEASE_S, key])
            return StoredResponse()

        return await self._database.write(work)

    async def renew(self, key: str) -> None:
        until = self._clock.monotonic() + LEASE_S
        await self._database.execute("UPDATE idempotency SET lease_until = ? WHERE key = ?", [until, key])

    async def finish(self, key: str, status: int, body: str) -> None:
        await self._database.execute("UPDATE idempotency SET status = ?, body = ? WHERE key = ?", [status, body, key])

    async def forget(self, key: str) -> None:
        await self._database.execute("DELETE FROM idempotency WHERE key = ?", [key])
