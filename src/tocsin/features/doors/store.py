"""Doors in the database."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from tocsin.core.storage.database import Database
from tocsin.core.storage.store_methods import reads, writes
from tocsin.features.doors import rows
from tocsin.features.doors.model import (
    Door,
    DoorChangedError,
    DoorDefinition,
    DoorNameTakenError,
    DoorRequest,
    DoorRequestRecord,
)
from tocsin.features.doors.rows import RequestOutcome, StoredRequest

KEPT = 20  # newest requests of a door
KEPT_S = REPEATS_KEPT_S = 7 * 86_400.0
PROBLEMS_KEPT_S = 30 * 86_400.0


class DoorProblem(NamedTuple):
    """A key that is, or was, a problem."""

    episode: int = 0
    is_open: bool = False
    at: float = 0.0
    expires_at: float | None = None
    message: str = ""  # JSON of title and text, for a resolution without a request


ProblemKey = tuple[str, str]  # ID of the door, and key


def hash_of(token: str) -> bytes:
    """Return the form of a token that is stored; tokens are random, so one round is enough."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


class DoorStore:
    """The tables of doors, shared with other processes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def all(self) -> list[Door]:
        """Return all doors by name."""
        sql = "SELECT * FROM doors WHERE removed_at IS NULL ORDER BY name"
        return await self._database.read(lambda c: [rows.door_of(row) for row in c.execute(sql)])

    async def exist(self) -> bool:
        """Whether there is a door, or a request that is not processed yet."""
        sql = (
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM doors WHERE removed_at IS NULL) "
            "OR EXISTS (SELECT 1 FROM door_requests WHERE state = 'stored')"
        )
        return await self._database.read(lambda c: c.execute(sql).fetchone() is not None)

    async def get(self, name_or_id: str) -> Door:
        """Return one door; raises UnknownDoorError."""
        return await self._database.read(lambda c: rows.find(c, name_or_id))

    async def several(self, ids: Sequence[str]) -> list[Door]:
        """Return the doors of IDs that exist."""
        sql = f"SELECT * FROM doors WHERE removed_at IS NULL AND id IN ({', '.join('?' * len(ids))})"  # noqa: S608  # marks
        return await self._database.read(lambda c: [rows.door_of(row) for row in c.execute(sql, list(ids))])

    async def by_token(self, token: str) -> Door | None:
        """Return the door of a token."""
        sql = "SELECT * FROM doors WHERE token_hash = ? AND removed_at IS NULL"
        digest = hash_of(token)
        row = await self._database.read(lambda c: c.execute(sql, [digest]).fetchone())
        return None if row is None else rows.door_of(row)

    @writes
    def insert(self, connection: sqlite3.Connection, door: Door, token: str) -> None:
        """Store a new door; raises DoorNameTakenError."""
        _check_free(connection, door.name)
        rows.insert(connection, door, hash_of(token))

    @writes
    def change(self, connection: sqlite3.Connection, name_or_id: str, sql: str, *values: object) -> Door:
        """Set columns of a door, and return it as it is then; raises UnknownDoorError."""
        before = rows.find(connection, name_or_id)
        connection.execute(f"UPDATE doors SET {sql} WHERE id = ?", [*values, before.id])  # noqa: S608  # our own SQL
        return rows.door_of(connection.execute("SELECT * FROM doors WHERE id = ?", [before.id]).fetchone())

    @writes
    def redefine(
        self, connection: sqlite3.Connection, before: Door, definition: DoorDefinition, secret: str, now: float
    ) -> Door:
        """Change the definition and the secret of a door; raises UnknownDoorError and DoorChangedError."""
        if rows.find(connection, before.id).updated_at != before.updated_at:
            raise DoorChangedError(f"door {before.name} was changed meanwhile", hint="read it again")
        sql = "UPDATE doors SET definition = ?, secret = ?, updated_at = ? WHERE id = ?"
        connection.execute(sql, [rows.stored(definition), secret, now, before.id])
        return rows.find(connection, before.id)

    @writes
    def take_all(
        self, connection: sqlite3.Connection, requests: Sequence[tuple[Door, DoorRequest]], repeat: str, status: int
    ) -> list[int | None]:
        """Store requests that are answered with `status`, and return their numbers; `None` if a door was removed.

        All of them are stored, or none. Repeated ones get the numbers of the first.
        """
        digests = [sha256(f"{repeat}{n or ''}".encode()).digest() if repeat else b"" for n in range(len(requests))]
        if not all(_is_there(connection, door) for door, _ in requests):
            return [None] * len(requests)
        return [_take(connection, *each, digest, status) for each, digest in zip(requests, digests, strict=True)]

    @writes
    def note_refusal(
        self, connection: sqlite3.Connection, door: Door, client: str, status: int, outcome: RequestOutcome, now: float
    ) -> None:
        """Store that a request was refused, without its body."""
        number = rows.insert_refused(connection, door, client, now, status)
        rows.finish(connection, number, outcome)
        _prune_door(connection, door.id)
        rows.announce(connection, door.id)

    @reads
    def waiting(self, connection: sqlite3.Connection, limit: int, max_bytes: int) -> list[StoredRequest]:
        """Return the oldest requests that are not processed yet; of bodies at most `max_bytes`, but the first one."""
        sizes = (
            "SELECT id, SUM(LENGTH(body)) OVER (ORDER BY id) AS size FROM door_requests WHERE state = 'stored' "
            "ORDER BY id LIMIT ?"
        )
        sql = "SELECT * FROM door_requests WHERE state = 'stored' AND id <= ? ORDER BY id"
        ids = [(row["id"], row["size"]) for row in connection.execute(sizes, [limit])]
        last = max((each for n, (each, size) in enumerate(ids) if not n or size <= max_bytes), default=0)
        found = connection.execute(sql, [last]).fetchall()
        doors: dict[str, Door] = {}
        for door_id in {row["door_id"] for row in found}:
            row = connection.execute("SELECT * FROM doors WHERE id = ?", [door_id]).fetchone()
            doors[door_id] = rows.door_of(row)
        return [rows.request_of(row, doors[row["door_id"]]) for row in found]

    async def count_waiting(self) -> int:
        """Return how many requests are not processed yet."""
        sql = "SELECT COUNT(*) FROM door_requests WHERE state = 'stored'"
        return await self._database.read(lambda c: int(c.execute(sql).fetchone()[0]))

    async def files_waiting(self) -> frozenset[str]:
        """Return the hashes of the files of requests that are not processed yet."""
        sql = "SELECT facts FROM door_requests WHERE state = 'stored'"
        found = await self._database.read(lambda c: [row["facts"] for row in c.execute(sql)])
        files = [each for facts in found for each in json.loads(facts).get("files", ())]
        return frozenset(each["hash"] for each in files if "hash" in each)

    async def problems(self, keys: Iterable[ProblemKey]) -> dict[ProblemKey, DoorProblem]:
        """Return what is known about keys."""
        sql = "SELECT * FROM door_problems WHERE door_id = ? AND key = ?"
        wanted = list(dict.fromkeys(keys))

        def work(connection: sqlite3.Connection) -> dict[ProblemKey, DoorProblem]:
            found = ((key, connection.execute(sql, list(key)).fetchone()) for key in wanted)
            return {key: _problem(row) for key, row in found if row is not None}

        return await self._database.read(work) if wanted else {}

    async def expired(self, now: float, limit: int) -> dict[ProblemKey, DoorProblem]:
        """Return open problems that count as resolved at `now`."""
        sql = "SELECT * FROM door_problems WHERE is_open AND expires_at <= ? LIMIT ?"
        found = await self._database.read(lambda c: c.execute(sql, [now, limit]).fetchall())
        return {(row["door_id"], row["key"]): _problem(row) for row in found}

    async def any_door(self, door_id: str) -> Door | None:
        """Return a door by its ID, also a removed one."""
        sql = "SELECT * FROM doors WHERE id = ?"
        row = await self._database.read(lambda c: c.execute(sql, [door_id]).fetchone())
        return None if row is None else rows.door_of(row)

    @writes
    def finish(
        self,
        connection: sqlite3.Connection,
        outcomes: Mapping[int, RequestOutcome],
        problems: Mapping[ProblemKey, DoorProblem],
        confirm: Callable[[sqlite3.Connection], None],
    ) -> None:
        """Record the outcomes of requests, and the state of problems, while the lease holds."""
        confirm(connection)
        for number, outcome in outcomes.items():
            rows.finish(connection, number, outcome)
        for (door_id, key), each in problems.items():
            values = [door_id, key, each.episode, each.is_open, each.at, each.expires_at, each.message]
            connection.execute("REPLACE INTO door_problems VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        marks = ", ".join("?" * len(outcomes))
        touched = f"SELECT DISTINCT door_id FROM door_requests WHERE id IN ({marks})"  # noqa: S608  # marks
        for row in connection.execute(touched, list(outcomes)).fetchall():
            _prune_door(connection, row["door_id"])
            rows.announce(connection, row["door_id"])

    async def requests(self, door_id: str, limit: int) -> list[DoorRequestRecord]:
        """Return the newest requests of a door."""
        sql = "SELECT * FROM door_requests WHERE door_id = ? ORDER BY id DESC LIMIT ?"
        return await self._database.read(lambda c: [rows.record_of(row) for row in c.execute(sql, [door_id, limit])])

    async def request(self, door_id: str, number: int | None) -> DoorRequest | None:
        """Return a request that was processed, by default the newest with a payload; `None` if it is not kept."""
        sql = (
            "SELECT * FROM door_requests WHERE door_id = :door AND state NOT IN ('stored', 'refused') AND facts <> '' "
            "AND (:number IS NULL OR id = :number) ORDER BY id DESC LIMIT 1"
        )
        row = await self._database.read(lambda c: c.execute(sql, {"door": door_id, "number": number}).fetchone())
        return None if row is None else rows.kept_request(row)

    @writes
    def prune(self, connection: sqlite3.Connection, now: float) -> None:
        """Delete old requests, and removed doors without one."""
        connection.execute("DELETE FROM door_requests WHERE state <> 'stored' AND at < ?", [now - KEPT_S])
        connection.execute("DELETE FROM door_repeats WHERE at < ?", [now - REPEATS_KEPT_S])
        connection.execute("DELETE FROM door_problems WHERE at < ? AND NOT is_open", [now - PROBLEMS_KEPT_S])
        unused = "SELECT 1 FROM door_requests WHERE door_id = doors.id"
        connection.execute(f"DELETE FROM doors WHERE removed_at IS NOT NULL AND NOT EXISTS ({unused})")  # noqa: S608  # our own SQL


def _is_there(connection: sqlite3.Connection, door: Door) -> bool:
    sql = "SELECT 1 FROM doors WHERE id = ? AND removed_at IS NULL"
    return connection.execute(sql, [door.id]).fetchone() is not None


def _take(connection: sqlite3.Connection, door: Door, request: DoorRequest, digest: bytes, status: int) -> int:
    if digest:
        known = "SELECT request FROM door_repeats WHERE door_id = ? AND digest = ?"
        if row := connection.execute(known, [door.id, digest]).fetchone():
            return int(row["request"])
    number = rows.insert_request(connection, door, request, status)
    if digest:
        connection.execute("INSERT INTO door_repeats VALUES (?, ?, ?, ?)", [door.id, digest, number, request.at])
    return number


def _check_free(connection: sqlite3.Connection, name: str) -> None:
    sql = "SELECT 1 FROM doors WHERE name = ? AND removed_at IS NULL"
    if connection.execute(sql, [name]).fetchone():
        raise DoorNameTakenError(f"door {name} already exists", hint="choose another name, or remove it first")


def _prune_door(connection: sqlite3.Connection, door_id: str) -> None:
    """Delete all but the newest requests of a door that are processed."""
    sql = (
        "DELETE FROM door_requests WHERE door_id = :door AND state <> 'stored' AND id <= (SELECT id FROM "
        "door_requests WHERE door_id = :door ORDER BY id DESC LIMIT 1 OFFSET :kept)"
    )
    connection.execute(sql, {"door": door_id, "kept": KEPT})


def _problem(row: Any) -> DoorProblem:
    return DoorProblem(row["episode"], bool(row["is_open"]), row["at"], row["expires_at"], row["message"])
