"""A lease: one process of several does a task, and another one takes over within seconds of its end.

The holder increments a counter every `BEAT_S`. Another process takes the lease when the holder has released it, has
provably ended, or has not incremented the counter for `SILENCE_S`; each process measures with its own monotonic clock,
so changes of the wall clock do not matter. Each takeover increments the fencing token: later writes of a former holder
are rejected in the same transaction (`confirm`).
"""

import logging
import sqlite3
from collections.abc import Callable
from typing import ClassVar

from tocsin.core.errors import TocsinError
from tocsin.core.process.identity import is_dead, own_identity
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock

log = logging.getLogger(__name__)

BEAT_S = 2.5
SILENCE_S = 7.0  # with a check every LOOK_S, a takeover takes less than 10 s
LOOK_S = 1.0
MOVE_RUNS = "move-runs"  # the lease for moving runs to Redis, which is not one of the scheduler

# Never edit a released migration; add a new one.
MIGRATIONS = (
    """
    CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        holder TEXT NOT NULL,
        token INTEGER NOT NULL,
        beat INTEGER NOT NULL
    ) WITHOUT ROWID;
    """,
)
_TAKE = """
    INSERT INTO leases VALUES (:name, :holder, 1, 0)
    ON CONFLICT (name) DO UPDATE SET holder = :holder, token = token + 1, beat = 0
    WHERE token = :token AND beat = :beat
    RETURNING token
"""


class LeaseLostError(TocsinError):
    """Another process has taken the lease."""

    code: ClassVar[str] = "lease-lost"


class Lease:
    """A named lease, as seen by this process."""

    def __init__(
        self,
        database: Database,
        name: str,
        clock: Clock,
        holder: str = "",
        *,
        is_dead: Callable[[str], bool] = is_dead,
    ) -> None:
        """Name the lease; `holder` identifies this process, by default so that others can prove that it has ended."""
        self.name = name
        self.token = 0  # 0 while this process does not hold it
        self._database = database
        self._clock = clock
        self._holder = holder or own_identity()
        self._is_dead = is_dead
        self._beaten_at = 0.0  # monotonic, like the next
        self._seen: tuple[int, int] = (0, 0)  # token and counter of the holder
        self._seen_at = 0.0

    @property
    def held(self) -> bool:
        """Whether this process holds the lease; after a time without renewals, it must call `keep` first."""
        return bool(self.token) and self._clock.monotonic() - self._beaten_at < SILENCE_S

    async def keep(self) -> bool:
        """Take or renew the lease if due, and return whether this process holds it; call it every second."""
        now = self._clock.monotonic()
        if self.held and now - self._beaten_at < BEAT_S:
            return True
        if self.token and await self._renew(now):
            return True
        self.token = 0
        return await self._try_to_take(now)

    async def release(self) -> None:
        """Release the lease, so that another process can take it at once.

        An error of the store is logged; the lease then expires.
        """
        if not self.token:
            return
        token, self.token = self.token, 0
        sql = "UPDATE leases SET holder = '' WHERE name = ? AND token = ?"
        try:
            await self._database.execute(sql, [self.name, token])
        except TocsinError as error:
            log.warning("a lease could not be released", extra={"lease": self.name, "reason": error.sentence()})

    def confirm(self, connection: sqlite3.Connection) -> None:
        """Raise LeaseLostError unless this process holds the lease, which it then does until the transaction ends."""
        sql = "SELECT 1 FROM leases WHERE name = ? AND token = ? AND holder = ?"
        if not connection.execute(sql, [self.name, self.token, self._holder]).fetchone():
            self.token = 0
            raise LeaseLostError(f"another process has taken over as {self.name}")

    async def _renew(self, now: float) -> bool:
        sql = "UPDATE leases SET beat = beat + 1 WHERE name = ? AND token = ? AND holder = ?"
        if not await self._database.execute(sql, [self.name, self.token, self._holder]):
            return False
        self._beaten_at = now
        return True

    async def _try_to_take(self, now: float) -> bool:
        def look(connection: sqlite3.Connection) -> sqlite3.Row | None:
            row: sqlite3.Row | None = connection.execute("SELECT * FROM leases WHERE name = ?", [self.name]).fetchone()
            return row

        row = await self._database.read(look)
        seen = (row["token"], row["beat"]) if row else (0, 0)
        if seen != self._seen:
            self._seen, self._seen_at = seen, now
        free = row is None or row["holder"] in {"", self._holder} or self._is_dead(row["holder"])
        if not free and now - self._seen_at < SILENCE_S:
            return False
        values = {"name": self.name, "holder": self._holder, "token": seen[0], "beat": seen[1]}

        def take(connection: sqlite3.Connection) -> int:
            taken = connection.execute(_TAKE, values).fetchone()
            return int(taken["token"]) if taken else 0

        self.token = await self._database.write(take)
        self._beaten_at = now
        return bool(self.token)
