"""The stored state of the list of first steps, for the installation rather than for one browser."""

import sqlite3

from tocsin.core.storage.database import Database

SIGN_IN = "sign-in"  # the digest of the credentials that were last entered in the login form
DISMISSED = "dismissed"  # `yes` while the list is hidden


class FirstStepMarks:
    """Texts by name, in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def get(self, name: str) -> str:
        """Return the text of a name; empty if there is none."""

        def read(connection: sqlite3.Connection) -> str:
            row = connection.execute("SELECT value FROM access_first_steps WHERE name = ?", [name]).fetchone()
            return str(row["value"]) if row else ""

        return await self._database.read(read)

    async def put(self, name: str, value: str) -> None:
        """Replace the text of a name."""
        await self._database.execute("REPLACE INTO access_first_steps VALUES (?, ?)", [name, value])
