"""Doors and their requests as rows of the database."""

import json
import sqlite3
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from tocsin.features.doors.model import (
    FIELDS,
    Door,
    DoorDefinition,
    DoorRequest,
    DoorRequestRecord,
    DoorSeverity,
    RequestState,
    UnknownDoorError,
)

_COLUMNS = frozenset({"state", "payload", "facts"})
_FACTS = ("method", "route", "path", "query", "headers", "files")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRequest:
    """A stored request and its door."""

    id: int
    door: Door
    request: DoorRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome:
    """The outcome of a request, for people. `payload` is masked."""

    state: RequestState
    payload: str = ""
    facts: str = ""  # JSON of the request without its body, masked
    title: str = ""
    text: str = ""
    severity: str = ""
    key: str = ""
    link: str = ""
    profile: str = ""
    deliveries: tuple[str, ...] = field(default_factory=tuple)
    note: str = ""


def find(connection: sqlite3.Connection, name_or_id: str) -> Door:
    """Return the door with this name or ID; raises UnknownDoorError."""
    sql = "SELECT * FROM doors WHERE removed_at IS NULL AND (name = :it OR id = :it)"
    row = connection.execute(sql, {"it": name_or_id}).fetchone()
    if row is None:
        raise UnknownDoorError(f"unknown door {name_or_id[:100]!r}", hint="`tocsin doors list` shows all")
    return door_of(row)


def door_of(row: sqlite3.Row) -> Door:
    """Return the door of a row."""
    plain = ("id", "name", "secret", "created_at", "updated_at", "removed_at", "requests", "last_at")
    return Door(definition=_restored(row["definition"]), **{name: row[name] for name in plain})


def insert(connection: sqlite3.Connection, door: Door, token_hash: bytes) -> None:
    """Insert a door; the caller has checked that its name is free."""
    sql = (
        "INSERT INTO doors (id, name, protocol, definition, token_hash, secret, created_at, updated_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    )
    values = (door.id, door.name, door.definition.protocol, stored(door.definition), token_hash, door.secret)
    connection.execute(sql, [*values, door.created_at, door.updated_at])


def stored(definition: DoorDefinition) -> str:
    """Return a definition as it is stored."""
    return json.dumps({name: getattr(definition, name) for name in FIELDS})


@lru_cache(maxsize=1_000)  # each request reads one
def _restored(text: str) -> DoorDefinition:
    found = json.loads(text)
    own = {"severity": DoorSeverity(found["severity"]), "sources": tuple(found["sources"])}
    return DoorDefinition(**{**found, **own})


def insert_request(connection: sqlite3.Connection, door: Door, request: DoorRequest, status: int) -> int:
    """Insert an accepted request, and return its number."""
    facts = facts_of(request)
    sql = (
        "INSERT INTO door_requests (door_id, at, client, status, state, facts, body) "
        "VALUES (?, ?, ?, ?, 'stored', ?, ?)"
    )
    number = connection.execute(sql, [door.id, request.at, request.client, status, facts, request.body]).lastrowid
    connection.execute("UPDATE doors SET requests = requests + 1, last_at = ? WHERE id = ?", [request.at, door.id])
    return number or 0


def insert_refused(connection: sqlite3.Connection, door: Door, client: str, now: float, status: int) -> int:
    """Insert a refused request, without its body, and return its number."""
    sql = (
        "INSERT INTO door_requests (door_id, at, client, status, state, facts, body) "
        "VALUES (?, ?, ?, ?, 'refused', '', '')"
    )
    return connection.execute(sql, [door.id, now, client, status]).lastrowid or 0


def request_of(row: sqlite3.Row, door: Door) -> StoredRequest:
    """Return a request that was not processed yet."""
    facts: Mapping[str, Any] = json.loads(row["facts"])
    request = DoorRequest(client=row["client"], body=row["body"], at=row["at"], **facts)
    return StoredRequest(id=row["id"], door=door, request=request)


def facts_of(request: DoorRequest) -> str:
    """Return a request without its body as it is stored."""
    return json.dumps({name: getattr(request, name) for name in _FACTS}, ensure_ascii=False)


def kept_request(row: sqlite3.Row) -> DoorRequest:
    """Return a request that was processed, with its masked payload as the body."""
    facts: Mapping[str, Any] = json.loads(row["facts"])
    body = zlib.decompress(row["body"])
    request = DoorRequest(client=row["client"], body=body, at=row["at"], **facts)
    kind = request.headers.get("content-type", "").partition("charset")[0].rstrip("; ")
    return replace(request, headers={**request.headers, "content-type": kind} if kind else request.headers)


def finish(connection: sqlite3.Connection, number: int, outcome: RequestOutcome) -> None:
    """Replace the body of a request by its masked form, and record its outcome."""
    shown = {each.name: getattr(outcome, each.name) for each in fields(outcome) if each.name not in _COLUMNS}
    values = [outcome.state, outcome.facts, zlib.compress(outcome.payload.encode()), json.dumps(shown), number]
    connection.execute("UPDATE door_requests SET state = ?, facts = ?, body = ?, outcome = ? WHERE id = ?", values)


def announce(connection: sqlite3.Connection, door_id: str) -> None:
    """Record a change of a door, so that pages show the outcomes of its requests."""
    connection.execute("UPDATE doors SET requests = requests WHERE id = ?", [door_id])


def record_of(row: sqlite3.Row) -> DoorRequestRecord:
    """Return a request as people see it."""
    state = RequestState(row["state"])
    if state is RequestState.STORED:
        payload, shown = "", {"note": "not processed yet"}
    else:
        payload, shown = zlib.decompress(row["body"]).decode(), json.loads(row["outcome"])
    return DoorRequestRecord(
        id=row["id"],
        at=row["at"],
        client=row["client"],
        status=row["status"],
        state=state,
        payload=payload,
        deliveries=tuple(shown.get("deliveries", ())),
        **{name: shown.get(name, "") for name in ("title", "text", "severity", "key", "link", "profile", "note")},
    )
