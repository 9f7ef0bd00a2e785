"""Short IDs, as users type and read them.

IDs are UUIDv7: IDs of the same minute share their first characters, but the last group is random. A prefix of an ID is
accepted, and a prefix of its last group, which lists display.
"""

import re
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import groupby

from tocsin.core.errors import TocsinError

# Takes texts and a limit; returns for each text up to that many IDs that start with it, or whose last group does.
FindIds = Callable[[Sequence[str], int], Awaitable[list[list[str]]]]

_WHOLE = 36
_TAIL = 12  # characters of the last group
_SHOWN = (8, _TAIL)  # 32 bits distinguish nearly all of a million
_NAMED = 5  # candidates in an error


# Whether the current caller must give complete IDs.
_COMPLETE_ONLY: ContextVar[bool] = ContextVar("complete_ids_only", default=False)


class AmbiguousIdError(TocsinError):
    """Several records match the short ID."""

    code = "ambiguous-id"


class IncompleteIdError(TocsinError):
    """A caller without read access gave a short ID."""

    code = "validation-failed"


@contextmanager
def complete_ids(*, required: bool) -> Iterator[None]:
    """Reject short IDs within the block if `required`: without read access, callers could find IDs by guessing."""
    token = _COMPLETE_ONLY.set(required)
    try:
        yield
    finally:
        _COMPLETE_ONLY.reset(token)


async def resolve_id(text: str, find: FindIds, unknown: Callable[[str], TocsinError], records: str) -> str:
    """Return the only ID that matches `text`.

    Raises the error that `unknown` returns, IncompleteIdError, or AmbiguousIdError, whose message calls the records
    `records`.
    """
    short = text.strip().lower()
    if len(short) == _WHOLE:
        return short
    if _COMPLETE_ONLY.get():
        raise IncompleteIdError("the ID is incomplete; only callers with the scope read may use short IDs")
    if not re.fullmatch(r"[0-9a-f-]+", short):
        raise unknown(text)
    (found,) = await find([short], _NAMED + 1)
    if not found:
        raise unknown(text)
    if len(found) > 1:
        named = ", ".join(found[:_NAMED]) + (", …" if len(found) > _NAMED else "")
        raise AmbiguousIdError(f"{text} matches several {records}: {named}", hint="give more characters of the ID")
    return found[0]


async def shortened(ids: Sequence[str], find: FindIds) -> dict[str, str]:
    """Return the shortest unambiguous form of each ID."""
    short: dict[str, str] = {}
    for length in _SHOWN:
        left = {id_: id_.rpartition("-")[2][:length] for id_ in ids if id_ not in short}
        found = await find(list(left.values()), 2)
        short |= {id_: text for (id_, text), matching in zip(left.items(), found, strict=True) if matching == [id_]}
    return {id_: short.get(id_, id_) for id_ in ids}


def matching(connection: sqlite3.Connection, table: str, texts: Sequence[str], limit: int) -> list[list[str]]:
    """Return for each text up to `limit` IDs of a table that start with it, or whose last group does.

    Last groups have no index: maintaining one would cost more than it saves. All texts of the same length are searched
    in one pass over the index of IDs, which takes 0.2 s for a million IDs.
    """
    found: dict[str, dict[str, None]] = {text: {} for text in texts}
    for text, ids in found.items():
        sql = f"SELECT id FROM {table} WHERE id >= ? AND id < ? LIMIT ?"  # noqa: S608  # the name of a table
        # A tilde sorts after every character of an ID.
        ids.update((id_, None) for (id_,) in connection.execute(sql, [text, f"{text}~", limit]))
    open_ = sorted((text for text, ids in found.items() if len(ids) < limit and len(text) <= _TAIL), key=len)
    for length, group in groupby(open_, len):
        sought = list(group)
        rows = connection.execute(
            f"SELECT id, substr(id, 25, ?) FROM {table}"  # noqa: S608  # the name of a table and placeholders
            f" WHERE substr(id, 25, ?) IN ({', '.join('?' * len(sought))}) LIMIT ?",
            [length, length, *sought, limit if len(sought) == 1 else -1],
        )
        for id_, text in rows:
            found[text][id_] = None
    return [list(found[text])[:limit] for text in texts]
