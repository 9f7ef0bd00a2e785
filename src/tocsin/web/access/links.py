"""Links that sign in once, for a person with access to the machine, instead of a password."""

import secrets
import sqlite3
from hashlib import sha256

from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock

LIFETIME_S = 600.0
PATH = "/login/link/"


class SignInLinks:
    """The links, shared by all processes: a link made in one process can be used in another."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def make(self) -> str:
        """Return the path of a link that signs in once within 10 minutes."""
        code, now = secrets.token_urlsafe(32), self._clock.now()

        def insert(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM access_links WHERE expires_at <= ?", [now])
            connection.execute("INSERT INTO access_links VALUES (?, ?)", [_hash(code), now + LIFETIME_S])

        await self._database.write(insert)
        return f"{PATH}{code}"

    async def take(self, code: str) -> bool:
        """Use a link; return True if it was still valid."""
        hashed, now = _hash(code), self._clock.now()

        def delete(connection: sqlite3.Connection) -> bool:
            rows = connection.execute(
                "DELETE FROM access_links WHERE hash = ? RETURNING expires_at", [hashed]
            ).fetchall()
            return any(row["expires_at"] > now for row in rows)

        return await self._database.write(delete)


def _hash(code: str) -> bytes:
    return sha256(code.encode(errors="surrogatepass")).digest()
