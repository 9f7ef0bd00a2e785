"""A database that is opened when it is first used, and again after a failure to open it.

A command that sends one message must not fail, nor a listing one write, because of the record.
"""

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from tocsin.core.database import Database, DatabaseError

T = TypeVar("T")


class LazyDatabase:
    """See `Database`; `open_database` makes it, and may raise DatabaseError."""

    def __init__(self, open_database: Callable[[], Database]) -> None:
        self._open_database = open_database
        self._opened: Database | None = None
        self._problem = ""

    @property
    def problem(self) -> str:
        """Why it cannot be written now."""
        return self._opened.problem if self._opened else self._problem

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """See `Database.write`."""
        return await self._database().write(work)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """See `Database.read`."""
        return await self._database().read(work)

    async def aclose(self) -> None:
        """See `Database.aclose`."""
        if self._opened:
            await self._opened.aclose()

    def _database(self) -> Database:
        if self._opened is None:
            try:
                self._opened = self._open_database()
            except DatabaseError as error:
                self._problem = error.sentence()
                raise
        return self._opened
