"""The ledger: what was accepted, where it is now, and what the provider got of it."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from tests.chaos.figures import Figure, none_of
from tests.chaos.processes import Child, Redis, Row, Town, wait_for

OPEN = frozenset({"queued", "sending", "retry_wait"})
ENDS = ("sent", "dead", "uncertain", "cancelled", "expired", "superseded")


@dataclass(frozen=True, slots=True)
class Entry:
    """One delivery as the queue has it; `message_id` is ours."""

    id: str
    message_id: str
    channel: str
    target: str
    status: str
    policy: str
    attempts: int
    error: str
    place: int  # in the order of acceptance

    @property
    def may_repeat(self) -> bool:
        """Whether it may reach a person twice after a crash."""
        return self.policy == "at_least_once" and self.channel not in {"noncechat", "guildchat"}


class Queue(Protocol):
    """Where deliveries are kept, seen from outside."""

    def entries(self) -> dict[str, Entry]:
        """Return all deliveries by id."""
        ...

    def open_count(self) -> int:
        """Return how many deliveries are not finished."""
        ...

    def in_flight(self, worker: Child) -> list[Entry]:
        """Return what a worker was sending; exact once the worker is dead."""
        ...


class SqliteQueue:
    """The queue of a town in SQLite."""

    def __init__(self, town: Town) -> None:
        self._path = town.data_dir / "tocsin.db"

    def _rows(self, sql: str, values: Iterable[object] = ()) -> list[tuple[object, ...]]:
        def look() -> list[list[tuple[object, ...]]] | None:
            try:
                with closing(sqlite3.connect(f"file:{self._path}?mode=ro", uri=True, timeout=10)) as connection:
                    return [connection.execute(sql, tuple(values)).fetchall()]
            except sqlite3.OperationalError:  # nobody has made it yet
                return None

        return wait_for("the database can be read", look)[0]

    def entries(self) -> dict[str, Entry]:
        """See `Queue`."""
        rows = self._rows("SELECT id, channel, target, status, policy, attempts, error, message, seq FROM deliveries")
        return {str(row[0]): _entry(*row) for row in rows}

    def last_place(self) -> int:
        """Return how many deliveries have been accepted."""
        return int(str(self._rows("SELECT coalesce(max(seq), 0) FROM deliveries")[0][0]))

    def open_count(self) -> int:
        """See `Queue`."""
        sql = "SELECT count(*) FROM deliveries WHERE status IN ('queued', 'sending', 'retry_wait')"
        return int(str(self._rows(sql)[0][0]))

    def in_flight(self, worker: Child) -> list[Entry]:
        """See `Queue`."""
        rows = self._rows(
            "SELECT d.id, d.channel, d.target, d.status, d.policy, d.attempts, d.error, d.message, d.seq FROM lanes l"
            " JOIN deliveries d ON d.seq = l.sending WHERE l.worker LIKE ?",
            [f"%:{worker.pid}:%"],
        )
        return [_entry(*row) for row in rows]


class RedisQueue:
    """The queue of a town in Redis; its deliveries are read through the gateway."""

    def __init__(self, town: Town, redis: Redis) -> None:
        self._town = town
        self._redis = redis

    def entries(self) -> dict[str, Entry]:
        """See `Queue`."""
        found: dict[str, Entry] = {}
        cursor = ""
        while True:
            status, page = self._town.ask("GET", f"/deliveries?limit=200&cursor={cursor}")
            assert status == 200, page
            items = page["items"]
            places = self._redis.ask_many(("HGET", f"{{tocsin:delivery}}:d:{item['id']}", "seq") for item in items)
            for item, place in zip(items, places, strict=True):
                found[item["id"]] = _entry(*(item[name] for name in _NAMES), int(place))
            cursor = page["next_cursor"]
            if not cursor:
                return found

    def open_count(self) -> int:
        """See `Queue`."""
        return sum(int(self._redis.ask("ZCARD", f"{{tocsin:delivery}}:status:{status}")) for status in OPEN)

    def in_flight(self, worker: Child) -> list[Entry]:
        """See `Queue`."""
        ids = [raw.decode() for raw in self._redis.ask("HVALS", "{tocsin:delivery}:busy")]
        fields = ("worker", "status", "attempts", "seq", "fixed")
        found = self._redis.ask_many(("HMGET", f"{{tocsin:delivery}}:d:{id_}", *fields) for id_ in ids)
        held = []
        for id_, (name, status, attempts, seq, fixed) in zip(ids, found, strict=True):
            if name and f":{worker.pid}:" in name.decode():
                known = json.loads(fixed)
                place = (known["channel"], known["target"], status.decode(), known["policy"])
                held.append(_entry(id_, *place, int(attempts), "", known["message"], int(seq)))
        return held


_NAMES = ("id", "channel", "target", "status", "policy", "attempts", "error", "message")


def _entry(*row: object) -> Entry:
    id_, channel, target, status, policy = (str(value) for value in row[:5])
    attempts, error, message, place = row[5:]
    text = str(message)
    message_id = str(json.loads(text)["id"]) if text.startswith("{") else text
    return Entry(id_, message_id, channel, target, status, policy, int(str(attempts)), str(error), int(str(place)))


@dataclass(frozen=True, slots=True)
class Ledger:
    """One reading: `accepted` maps our ids to those of the deliveries we were told."""

    accepted: Mapping[str, str]
    entries: Mapping[str, Entry]
    received: list[Row]

    @property
    def taken(self) -> Counter[str]:
        """How often a person saw each message."""
        return Counter(row.id for row in self.received if row.taken)

    def duplicates(self, ids: Iterable[str]) -> int:
        """Return how many of these messages too many were seen."""
        taken = self.taken
        return sum(max(0, taken[id_] - 1) for id_ in ids)

    def figures(self) -> list[Figure]:
        """Return what must hold after every run, whatever happened in it."""
        by_message: dict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries.values():
            by_message[entry.message_id].append(entry)
        states = Counter(entry.status for entry in self.entries.values())
        taken = self.taken
        sent = [entry for entry in self.entries.values() if entry.status == "sent"]
        balance = sum(states[end] for end in ENDS) + sum(states[status] for status in OPEN)
        return [
            Figure("accepted", len(self.accepted), detail=", ".join(f"{n} {s}" for s, n in sorted(states.items()))),
            none_of("accepted and lost", [m for m, id_ in self.accepted.items() if id_ not in self.entries]),
            none_of("accepted and still open", [e.id for e in self.entries.values() if e.status in OPEN]),
            none_of("sent, and the provider does not know of it", [e.id for e in sent if not taken[e.message_id]]),
            none_of("accepted twice", [m for m, found in by_message.items() if len(found) > 1]),
            none_of("received and accepted by nobody", [m for m in taken if m not in by_message]),
            Figure("in the ledger, less in one of its states", len(self.entries) - balance, "=", 0),
            none_of("overtaken in its target's queue", self._overtaken()),
        ]

    def _overtaken(self) -> list[str]:
        """Return messages that were first tried after a later one to the same target."""
        order = {entry.message_id: entry.place for entry in self.entries.values()}
        last: dict[tuple[str, str], int] = {}
        seen: set[str] = set()
        overtaken = []
        for row in self.received:
            if row.id in seen or row.id not in order:
                continue
            seen.add(row.id)
            lane = (row.channel, row.target)
            if order[row.id] < last.get(lane, 0):
                overtaken.append(row.id)
            last[lane] = max(order[row.id], last.get(lane, 0))
        return overtaken


def settle(town: Town, queue: Queue, accepted: Mapping[str, str]) -> Ledger:
    """Wait until nothing is open, and return the ledger of that moment.

    What counts is one reading: a late message from the bus may be accepted between two.
    """

    def look() -> dict[str, Entry] | None:
        for worker in town.workers:
            worker.must_live()
        if queue.open_count():
            return None
        entries = queue.entries()
        return None if any(entry.status in OPEN for entry in entries.values()) else entries

    entries = wait_for("every delivery is finished", look, every_s=0.1)
    return Ledger(accepted, entries, town.provider.rows())
