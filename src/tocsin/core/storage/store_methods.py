"""Methods of stores that are one read or one transaction: written for a connection, called without it."""

import sqlite3
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from tocsin.core.storage.database import Database


class _Store(Protocol):
    _database: Database


S = TypeVar("S", bound=_Store)
P = ParamSpec("P")
T = TypeVar("T")


def reads(
    work: Callable[Concatenate[S, sqlite3.Connection, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Run the method by `Database.read` of the store's database; callers omit the connection."""

    @wraps(work)
    async def run(store: S, /, *given: P.args, **named: P.kwargs) -> T:
        database = store._database  # noqa: SLF001  # of the class that has the method
        return await database.read(lambda connection: work(store, connection, *given, **named))

    return run


def writes(
    work: Callable[Concatenate[S, sqlite3.Connection, P], T],
) -> Callable[Concatenate[S, P], Coroutine[Any, Any, T]]:
    """Run the method by `Database.write` of the store's database, in one transaction; otherwise like `reads`."""

    @wraps(work)
    async def run(store: S, /, *given: P.args, **named: P.kwargs) -> T:
        database = store._database  # noqa: SLF001  # of the class that has the method
        return await database.write(lambda connection: work(store, connection, *given, **named))

    return run
