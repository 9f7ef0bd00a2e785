"""Operations on the audit log."""

import asyncio
import csv
import io
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, pairwise
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from fastapi.responses import Response

from tocsin.core.audit.chain import Verification
from tocsin.core.audit.reader import AuditEntry
from tocsin.core.audit.record import AuditRecord, as_record
from tocsin.core.audit.trail import AuditTrail
from tocsin.core.records.as_json import to_json
from tocsin.core.time.timestamps import parse_timestamp
from tocsin.rest.headers import JSON
from tocsin.rest.operations import operation
from tocsin.rest.pages import LongPagingOf, Paging
from tocsin.rest.preferences import accepted_type
from tocsin.rest.refusals import parse_time, refuse_parameter

NDJSON, CSV = "application/x-ndjson", "text/csv"
_COLUMNS = ("id", "ts", "action", "detail", "source", "actor", "ip", "request_id", "outcome")

# Lines are in the order of writing; where the clock was set back, their times are not. A search reads back to an entry
# that is this much older than `since`, so that a recent `since` never reads a large log as a whole.
_CLOCK_CORRECTION_S = 3600

_FORMULA = frozenset("=+-@")  # a spreadsheet evaluates text that begins with one of them


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """Entries, newest first."""

    items: list[AuditRecord]
    next_cursor: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSearch(AuditPage):
    """Results of a search."""

    took_ms: int


_EXPORTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {NDJSON: {"schema": {"type": "string"}}, CSV: {"schema": {"type": "string"}}}}
}


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The filter of a request."""

    query: str = ""
    action: str = ""
    source: str = ""
    actor: str = ""
    since: float | None = None
    until: float | None = None
    before: int | None = None  # sequence number
    after: int | None = None


async def _asked(
    query: Annotated[str, Query(max_length=500, description="Text to search for; case is ignored.")] = "",
    action: Annotated[str, Query(max_length=100, description="Action, or a group of actions such as `vault.*`.")] = "",
    source: Annotated[str, Query(max_length=100, description="Source of the entries.")] = "",
    actor: Annotated[str, Query(max_length=200, description="Actor of the entries.")] = "",
    since: Annotated[str, Query(max_length=40, description="Earliest time of the entries.")] = "",
    until: Annotated[str, Query(max_length=40, description="Time before which the entries were written.")] = "",
) -> _Wanted:
    """Parse the filter of a search."""
    return _Wanted(query, action, source, actor, parse_time("since", since), parse_time("until", until))


class AuditRoutes:
    """The operations on the audit log."""

    def __init__(self, trail: AuditTrail, verify: Callable[[], Verification]) -> None:
        self._trail = trail
        self._verify = verify

    @operation("GET", "/api/audit/tail", problems=("validation-failed",), answer=AuditPage, responses=_EXPORTS)
    async def tail_audit(
        self,
        request: Request,
        paging: LongPagingOf,
        after: Annotated[
            str, Query(max_length=20, description="ID of an entry; only later entries are returned.")
        ] = "",
    ) -> Any:
        """List audit entries, newest first.

        To export them, send `Accept: application/x-ndjson` or `text/csv`.
        """
        items, more = await asyncio.to_thread(self._find, _Wanted(after=_number("after", after)), paging)
        return _answer(request, AuditPage(items=items, next_cursor=more))

    @operation("GET", "/api/audit/search", problems=("validation-failed",), answer=AuditSearch, responses=_EXPORTS)
    async def search_audit(
        self, request: Request, wanted: Annotated[_Wanted, Depends(_asked)], paging: LongPagingOf
    ) -> Any:
        """Search audit entries, newest first."""
        began = time.monotonic()
        items, more = await asyncio.to_thread(self._find, wanted, paging)
        took_ms = round((time.monotonic() - began) * 1000)
        return _answer(request, AuditSearch(items=items, next_cursor=more, took_ms=took_ms))

    @operation("GET", "/api/audit/verify", extension=True, answer=Verification)
    async def verify_audit(self) -> Any:
        """Verify that no entry was changed, added, moved or removed, in all files of the log."""
        return await asyncio.to_thread(self._verify)

    def _find(self, wanted: _Wanted, paging: Paging) -> tuple[list[AuditRecord], str | None]:
        start = paging.start_like(r"\d{1,18}")
        wanted = replace(wanted, before=int(start) if start else None)
        found = list(islice(_matching(self._trail.log.newest(), wanted), paging.limit + 1))
        more = found[paging.limit - 1].id if len(found) > paging.limit else None
        return found[: paging.limit], paging.cursor_at(more)


def _matching(entries: Iterable[AuditEntry], wanted: _Wanted) -> Iterator[AuditRecord]:
    for entry, before in _with_before(entries):
        record = as_record(entry, before)
        number = int(record.id or 0)
        if wanted.after is not None and number <= wanted.after:
            return
        if wanted.since is not None and parse_timestamp(entry.ts) < wanted.since - _CLOCK_CORRECTION_S:
            return
        if _fits(entry, record, number, wanted):
            yield record


def _fits(entry: AuditEntry, record: AuditRecord, number: int, wanted: _Wanted) -> bool:
    family = wanted.action.removesuffix("*") if wanted.action.endswith(".*") else ""
    return (
        (wanted.before is None or number < wanted.before)
        and (wanted.since is None or parse_timestamp(entry.ts) >= wanted.since)
        and (wanted.until is None or parse_timestamp(entry.ts) < wanted.until)
        and (not wanted.source or entry.source == wanted.source)
        and (not wanted.actor or record.actor == wanted.actor)
        and (not wanted.action or (entry.action.startswith(family) if family else entry.action == wanted.action))
        and (not wanted.query or wanted.query.casefold() in _text_of(record).casefold())
    )


def _with_before(entries: Iterable[AuditEntry]) -> Iterator[tuple[AuditEntry, AuditEntry | None]]:
    """Yield each entry with its predecessor."""
    for entry, before in pairwise(chain(entries, [None])):
        if entry is not None:
            yield entry, before


def _text_of(record: AuditRecord) -> str:
    shown = {name: value for name, value in to_json(record).items() if name not in {"hash", "prev_hash"}}
    return json.dumps(shown, ensure_ascii=False)


def _number(name: str, text: str) -> int | None:
    if text and not (text.isascii() and text.isdigit()):
        raise refuse_parameter(name, "bad-value", "Must be the ID of an entry")
    return int(text) if text else None


def _answer(request: Request, page: AuditPage) -> Any:
    match accepted_type(request, (JSON, NDJSON, CSV)):
        case "application/x-ndjson":
            return Response("".join(f"{json.dumps(to_json(item))}\n" for item in page.items), media_type=NDJSON)
        case "text/csv":
            return Response(_csv(page.items), media_type=CSV)
        case _:
            return page


def _csv(items: Sequence[AuditRecord]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(_COLUMNS)
    for item in items:
        found = (getattr(item, name) for name in _COLUMNS)
        cells = ["" if value is None else str(value) for value in found]
        writer.writerow([f"'{cell}" if cell.lstrip()[:1] in _FORMULA else cell for cell in cells])
    return out.getvalue()
