"""Sessions of signed-in people, in the database, so that a restart ends none."""

import re
import secrets
import sqlite3
from hashlib import sha256
from typing import NamedTuple

from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock

LIFETIME_S, REMEMBERED_S = 12 * 3600.0, 30 * 86400.0
# How many times within its lifetime an active session is extended: not with every request.
_MOVES = 360
MAX_SESSIONS = 1_000
# 32 random bytes in base64.
_ID = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


class LoginSession(NamedTuple):
    """A session in the form for its owner."""

    id: str  # the value of the cookie
    user: str
    remember: bool
    expires_at: float
    renewed: bool = False  # it was extended just now, so the cookie must be, too


class LoginSessions:
    """The sessions, shared by all processes. Only the hash of the cookie's value is stored."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def start(self, user: str, credential: str, *, remember: bool, replacing: str = "") -> LoginSession:
        """Start a session of `user`, and end the previous session of the browser.

        `credential` identifies the account and password; sessions of another one end now, as do the oldest above the
        limit.
        """
        now = self._clock.now()
        session = LoginSession(secrets.token_urlsafe(32), user, remember, now + _lifetime(remember))
        row = [_hash(session.id), user, credential, remember, now, now, session.expires_at]

        def insert(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM access_sessions WHERE hash = ?", [_hash(replacing)])
            connection.execute(
                "DELETE FROM access_sessions WHERE expires_at <= ? OR credential <> ?", [now, credential]
            )
            connection.execute("INSERT INTO access_sessions VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            connection.execute(
                "DELETE FROM access_sessions WHERE hash IN"
                " (SELECT hash FROM access_sessions ORDER BY seen_at DESC LIMIT -1 OFFSET ?)",
                [MAX_SESSIONS],
            )

        await self._database.write(insert)
        return session

    async def find(self, session_id: str, credential: str, *, use: bool = True) -> LoginSession | None:
        """Return the session of a cookie; `None` if there is none or it has ended. With `use`, extend it.

        A session that was started with another credential than the present one has ended.
        """
        if not _ID.fullmatch(session_id):
            return None
        hashed, now = _hash(session_id), self._clock.now()
        row = await self._database.read(
            lambda connection: connection.execute(
                "SELECT * FROM access_sessions WHERE hash = ? AND credential = ? AND expires_at > ?",
                [hashed, credential, now],
            ).fetchone()
        )
        if row is None:
            return None
        session = LoginSession(session_id, row["user"], bool(row["remember"]), row["expires_at"])
        lifetime = _lifetime(session.remember)
        if not use or now - row["seen_at"] < lifetime / _MOVES:
            return session
        return await self._renewed(session, now, now + lifetime)

    async def _renewed(self, session: LoginSession, now: float, end: float) -> LoginSession | None:
        sql = "UPDATE access_sessions SET seen_at = ?, expires_at = ? WHERE hash = ?"
        # 0 if its owner has signed out meanwhile.
        still_there = await self._database.execute(sql, [now, end, _hash(session.id)])
        return session._replace(expires_at=end, renewed=True) if still_there else None

    async def end(self, session_id: str) -> str:
        """End a session; return its user, empty if there is none."""
        hashed = _hash(session_id)

        def delete(connection: sqlite3.Connection) -> str:
            row = connection.execute("DELETE FROM access_sessions WHERE hash = ? RETURNING user", [hashed]).fetchone()
            return str(row["user"]) if row else ""

        return await self._database.write(delete)


def _lifetime(remember: bool) -> float:
    return REMEMBERED_S if remember else LIFETIME_S


def _hash(session_id: str) -> bytes:
    # A fast hash suffices: the token is 256 random bits.
    return sha256(session_id.encode(errors="surrogatepass")).digest()
