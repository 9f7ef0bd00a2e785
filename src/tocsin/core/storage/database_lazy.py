"""A database that is opened when it is first used, and again after a failure to open it.

A command that sends one message must not fail, nor a listing one write, because of the record.
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from typing import TypeVar

from tocsin.core.storage.database import Database, DatabaseError

T = TypeVar("T")


class LazyDatabase:
    """See `Database`; `open_database` makes it, and may raise DatabaseError."""

    def __init__(self, open_database: Callable[[], Database]) -> None:
        self._open_database = open_database
        self._opening = threading.Lock()
        self._opened: Database | None = None
        self._closed = False
        self._problem = ""

    @property
    def problem(self) -> str:
        """Why it cannot be written now."""
        return self._opened.problem if self._opened else self._problem

    @property
    def failures(self) -> int:
        """How many commits have failed."""
        return self._opened.failures if self._opened else 0

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """See `Database.write`."""
        return await (self._opened or await self._open()).write(work)

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """See `Database.read`."""
        return await (self._opened or await self._open()).read(work)

    async def aclose(self) -> None:
        """See `Database.aclose`."""
        self._closed = True
        await asyncio.to_thread(self._wait_for_opening)
        if self._opened:
            await self._opened.aclose()

    def _wait_for_opening(self) -> None:
        with self._opening:
            pass

    async def _open(self) -> Database:
        # Where another process keeps the file locked, this takes seconds, and the program goes on meanwhile.
        return await asyncio.to_thread(self._open_once)

    def _open_once(self) -> Database:
        with self._opening:
            if self._opened is None:
                if self._closed:
                    raise DatabaseError("the database is closed", hint="the program is about to end")
                try:
                    self._opened = self._open_database()
                except DatabaseError as error:
                    self._problem = error.sentence()
                    raise
            return self._opened
