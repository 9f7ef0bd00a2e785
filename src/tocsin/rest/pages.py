"""Paginated lists: a limit, and a cursor that is valid for one list only."""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Generic, TypeVar

from fastapi import Depends, Query, Request

from tocsin.rest.problems import HttpProblemError
from tocsin.rest.refusals import refuse_parameter

T = TypeVar("T")

USUAL_LIMIT, MAX_LIMIT = 50, 200
USUAL_ENTRIES, MAX_ENTRIES = 100, 1000
_MARK_CHARS = 12
_OF_THE_PAGE = frozenset({"limit", "cursor"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T]):
    """A page of a list; ask for the next one with `cursor`."""

    items: Sequence[T]
    next_cursor: str | None
    total: int | None


@dataclass(frozen=True, slots=True)
class Paging:
    """The requested page of a list; `start` is the store's position, empty for the first page."""

    limit: int
    start: str
    list_id: str

    def cursor_at(self, next_start: str | None) -> str | None:
        """Return the cursor of the page that begins at a position."""
        return None if next_start is None else _encode(_mark(self.list_id, next_start), next_start)

    def page(self, items: Iterable[T], next_start: str | None, total: int | None = None) -> Page[T]:
        """Return a page; `next_start` is the position of the next page, `None` on the last one."""
        return Page(items=list(items), next_cursor=self.cursor_at(next_start), total=total)

    def start_like(self, pattern: str) -> str:
        """Return `start` if it has the format of this list, because clients can send any cursor."""
        if self.start and not re.fullmatch(pattern, self.start, re.ASCII):
            raise _not_a_cursor()
        return self.start

    def cut(self, items: Sequence[T], key: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
        """Return a page of items in memory, sorted by the unique `key`, and the position of the next page."""
        rest = [item for item in items if key(item) > self.start] if self.start else items
        page = rest[: self.limit]
        return page, key(page[-1]) if len(rest) > self.limit else None


def _paging(usual: int, most: int, what: str) -> Callable[..., Awaitable[Paging]]:
    """Return a dependency that parses the paging parameters; a cursor of another list is a problem."""

    async def paging(
        request: Request,
        limit: Annotated[int, Query(ge=1, le=most, description=f"Maximum number of {what}.")] = usual,
        cursor: Annotated[str, Query(max_length=500, description="`next_cursor` of the previous page.")] = "",
    ) -> Paging:
        asked = [(name, value) for name, value in request.query_params.multi_items() if name not in _OF_THE_PAGE]
        list_id = sha256(json.dumps([request.url.path, sorted(asked)]).encode()).hexdigest()
        return Paging(limit, _decode(list_id, cursor) if cursor else "", list_id)

    return paging


def _mark(list_id: str, start: str) -> str:
    """Return the prefix of a cursor, which binds it to a list and a position; it is not a signature."""
    return sha256(f"{list_id} {start}".encode(errors="surrogatepass")).hexdigest()[:_MARK_CHARS]


def _encode(mark: str, start: str) -> str:
    return urlsafe_b64encode(f"{mark}{start}".encode()).decode().rstrip("=")


def _decode(list_id: str, cursor: str) -> str:
    try:
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    except (Base64Error, ValueError):
        raise _not_a_cursor() from None
    start = text[_MARK_CHARS:]
    if not start or text != _mark(list_id, start) + start:
        raise _not_a_cursor()
    return start


def _not_a_cursor() -> HttpProblemError:
    return refuse_parameter(
        "cursor", "bad-cursor", "Must be the `next_cursor` of a page of this list with the same filters"
    )


PagingOf = Annotated[Paging, Depends(_paging(USUAL_LIMIT, MAX_LIMIT, "items"))]
LongPagingOf = Annotated[Paging, Depends(_paging(USUAL_ENTRIES, MAX_ENTRIES, "entries"))]  # for lists of small entries
