"""The delivery queue in SQLite: the default, for one host and any number of processes on it."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TypeVar

from tocsin.core.pages import ListPage
from tocsin.core.process.identity import boot_id
from tocsin.core.short_ids import matching
from tocsin.core.storage.change_stream import SqliteChangeStream
from tocsin.core.storage.database import Database, DatabaseError
from tocsin.core.text.strings import storable
from tocsin.core.time.clock import Clock
from tocsin.delivery.model import (
    KEYS_KEPT_S,
    LEASE_S,
    NEEDING_PERSON,
    REPLAYABLE,
    WAITING,
    AttemptOutcome,
    Delivery,
    DeliveryStatus,
    MessageOperation,
    NewDelivery,
    pack_extra,
)
from tocsin.delivery.sqlite import lanes
from tocsin.delivery.sqlite.accept import enqueue, record_all
from tocsin.delivery.sqlite.batching import Batcher, Outcomes
from tocsin.delivery.sqlite.lanes import Now, to_delivery
from tocsin.delivery.sqlite.schema import CHANGES
from tocsin.delivery.sqlite.search import index_words, needed_files, search
from tocsin.delivery.store import (
    ONLY_CANCELS,
    ONLY_DISMISSALS,
    ONLY_REPLAYS,
    ONLY_RETRIES,
    ChannelFigures,
    ChannelRules,
    DeliveryFilter,
    DeliveryHold,
    Health,
    check_finished,
    not_allowed,
    unknown_delivery,
)

T = TypeVar("T")
Work = Callable[[sqlite3.Connection, Now], T]

PRUNE_BATCH = 1_000
# Between two commits of direct sends while many are under way: docs/decisions/0047-what-a-send-costs.md.
RECORDS_PAUSE_S = 0.003
# On a nearly full disk small writes still succeed; they must not make health flicker.
UNWELL_S = 5.0
INDEX_BATCH = 2_000  # deliveries indexed per transaction: 50 ms
# The time limit of a write probe, after which the store counts as failing.
PROBE_S = 1.0


class SqliteStore:
    """Deliveries in a SQLite database, shared by all processes of this host."""

    def __init__(self, database: Database, clock: Clock, *, boot: Callable[[], str] = boot_id) -> None:
        self._database = database
        self._records = Batcher(self._record_all, pause_s=RECORDS_PAUSE_S)
        self._failures = 0
        self._unwell_until = 0.0
        self._clock = clock
        self._boot = cache(boot)
        self._adopted = False

    async def enqueue_many(self, new: Sequence[NewDelivery]) -> list[Delivery]:
        return await self._write(lambda c, now: [enqueue(c, item, now) for item in new])

    async def record(self, delivery: Delivery) -> None:
        check_finished(delivery)
        pack_extra(delivery.extra)  # raises here, so that other records are not affected
        if not self._adopted:
            await self._adopt()
        await self._records.add(delivery)

    def _record_all(self, deliveries: Sequence[Delivery], done: Callable[[Outcomes], None]) -> None:
        self._database.submit(
            lambda c: record_all(c, deliveries, self._now()), lambda outcomes, error: done(error or outcomes or [])
        )

    async def claim_due(self, worker: str, limit: int, rules: Mapping[str, ChannelRules]) -> list[Delivery]:

        def work(connection: sqlite3.Connection, now: Now) -> list[Delivery]:
            lanes.tidy(connection, now)
            claimed: list[Delivery] = []
            for channel, rule in rules.items():
                claimed += lanes.claim_channel(connection, worker, channel, rule, limit - len(claimed), now)
            return claimed

        return await self._write(work)

    async def renew(self, worker: str, ids: Sequence[str]) -> set[str]:

        def work(connection: sqlite3.Connection, now: Now) -> set[str]:
            held = {id_: row for id_ in ids if (row := _held(connection, worker, id_))}
            for row in held.values():
                connection.execute(
                    "UPDATE lanes SET lease_until = ? WHERE channel = ? AND target = ?",
                    [now.mono + LEASE_S, row["channel"], row["target"]],
                )
            return set(held)

        return await self._write(work)

    async def latest(self, channel: str, target: str, key: str) -> Delivery | None:
        sql = (
            "SELECT * FROM deliveries INDEXED BY deliveries_key WHERE channel = ? AND target = ? AND key = ?"
            " AND key <> '' AND status IN ('sent', 'uncertain') ORDER BY seq DESC LIMIT 1"
        )
        return await self._find(sql, channel, target, key)

    async def thread_root(self, channel: str, target: str, thread: str) -> Delivery | None:
        sql = (
            "SELECT * FROM deliveries INDEXED BY deliveries_thread WHERE channel = ? AND target = ? AND thread = ?"
            " AND thread <> '' AND status = 'sent' AND ref <> '' ORDER BY seq LIMIT 1"
        )
        return await self._find(sql, channel, target, thread)

    async def _find(self, sql: str, *texts: str) -> Delivery | None:
        words = list(map(storable, texts))
        row = await self._database.read(lambda c: c.execute(sql, words).fetchone())
        return to_delivery(row) if row else None

    async def begin_change(self, worker: str, id: str, operation: MessageOperation) -> bool:

        def work(connection: sqlite3.Connection, _: Now) -> bool:
            row = _held(connection, worker, id)
            if row is not None:
                connection.execute("UPDATE deliveries SET operation = ? WHERE seq = ?", [operation, row["seq"]])
            return row is not None

        return await self._write(work)

    async def progress(self, worker: str, id: str, parts_sent: int, parts_total: int, ref: str = "") -> bool:

        def work(connection: sqlite3.Connection, _: Now) -> bool:
            row = _held(connection, worker, id)
            if row is not None:
                sql = "UPDATE deliveries SET parts_sent = ?, parts_total = ?, ref = ? WHERE seq = ?"
                connection.execute(sql, [parts_sent, parts_total, ref or row["ref"], row["seq"]])
            return row is not None

        return await self._write(work)

    async def pace(self, channel: str, target: str, rules: ChannelRules) -> float:
        return await self._write(lambda c, now: lanes.take(c, channel, target, rules, now))

    async def hold(self, channel: str, target: str, wait_s: float, reason: str) -> None:
        await self._write(lambda c, now: lanes.block(c, lanes.target_key(channel, target), wait_s, reason, now))

    async def hold_account(self, channel: str, wait_s: float, reason: str) -> None:
        await self._write(lambda c, now: lanes.block(c, lanes.account_key(channel), wait_s, reason, now))

    async def account_holds(self, channels: Sequence[str]) -> dict[str, DeliveryHold]:
        await self._adopt()
        now = self._now()

        def work(connection: sqlite3.Connection) -> dict[str, DeliveryHold]:
            holds = {kind: lanes.find_hold(connection, lanes.account_key(kind), now) for kind in channels}
            return {kind: hold for kind, hold in holds.items() if hold}

        return await self._database.read(work)

    async def finish(self, worker: str, id: str, outcome: AttemptOutcome) -> bool:

        def work(connection: sqlite3.Connection, now: Now) -> bool:
            row = _held(connection, worker, id)
            if row is not None:
                lanes.end_try(connection, row, outcome, now)
            return row is not None

        return await self._write(work)

    async def release(self, worker: str, ids: Sequence[str]) -> None:

        def work(connection: sqlite3.Connection, now: Now) -> None:
            for row in [row for id_ in ids if (row := _held(connection, worker, id_))]:
                connection.execute(
                    "UPDATE deliveries SET status = 'queued', attempts = attempts - 1, due_mono = 0 WHERE seq = ?",
                    [row["seq"]],
                )
                lanes.free_lane(connection, row["channel"], row["target"], now)

        await self._write(work)

    async def seconds_to_next(self, rules: Mapping[str, ChannelRules]) -> float | None:
        await self._adopt()
        now = self._now()
        return await self._database.read(lambda c: lanes.seconds_to_next(c, rules, now))

    async def get(self, id: str) -> Delivery:
        now = self._now()
        return await self._database.read(lambda c: lanes.explain(c, to_delivery(_row(c, id)), now))

    async def matching(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        return await self._database.read(lambda c: matching(c, "deliveries", texts, limit))

    async def search(self, query: DeliveryFilter) -> ListPage[Delivery]:
        if query.text:
            while await self._index_words() == INDEX_BATCH:
                pass
        now = self._now()

        def work(connection: sqlite3.Connection) -> ListPage[Delivery]:
            page = search(connection, query)
            return replace(page, items=[lanes.explain(connection, delivery, now) for delivery in page.items])

        return await self._database.read(work)

    async def replay(self, id: str) -> Delivery:

        def work(connection: sqlite3.Connection, now: Now) -> Delivery:
            row = _row(connection, id)
            _check_status(row, REPLAYABLE, ONLY_REPLAYS)
            asleep = row["not_before"] is not None and row["not_before"] > now.wall
            connection.execute(
                "UPDATE deliveries SET status = 'queued', failures = 0, due_mono = 0, asleep = ?,"
                " expires_at = NULL, finished_at = NULL, error = '', error_class = '', dismissed = 0 WHERE seq = ?",
                [asleep, row["seq"]],
            )
            if not asleep:
                lanes.open_lane(connection, row["channel"], row["target"], now)
                lanes.hurry_lane(connection, row["channel"], row["target"], now)
            return to_delivery(_row(connection, id))

        return await self._write(work)

    async def dismiss(self, id: str) -> Delivery:

        def work(connection: sqlite3.Connection, _: Now) -> Delivery:
            row = _row(connection, id)
            _check_status(row, NEEDING_PERSON, ONLY_DISMISSALS)
            connection.execute("UPDATE deliveries SET dismissed = 1 WHERE seq = ?", [row["seq"]])
            return to_delivery(_row(connection, id))

        return await self._write(work)

    async def retry(self, id: str) -> Delivery:

        def work(connection: sqlite3.Connection, now: Now) -> Delivery:
            row = _row(connection, id)
            _check_status(row, frozenset({DeliveryStatus.RETRY_WAIT}), ONLY_RETRIES)
            sql = "UPDATE deliveries SET due_mono = 0, next_attempt_at = ? WHERE seq = ?"
            connection.execute(sql, [now.wall, row["seq"]])
            lanes.hurry_lane(connection, row["channel"], row["target"], now)
            return lanes.explain(connection, to_delivery(_row(connection, id)), now)

        return await self._write(work)

    async def cancel(self, id: str) -> Delivery:

        def work(connection: sqlite3.Connection, now: Now) -> Delivery:
            row = _row(connection, id)
            _check_status(row, WAITING, ONLY_CANCELS)
            connection.execute(
                "UPDATE deliveries SET status = 'cancelled', asleep = 0, finished_at = ?, next_attempt_at = NULL"
                " WHERE seq = ?",
                [now.wall, row["seq"]],
            )
            lanes.hurry_lane(connection, row["channel"], row["target"], now)
            return to_delivery(_row(connection, id))

        return await self._write(work)

    async def needed_files(self, since: float) -> frozenset[str]:
        return await self._database.read(lambda c: needed_files(c, since))

    async def counts(self) -> dict[DeliveryStatus, int]:
        sql = "SELECT status, count(*) FROM deliveries GROUP BY status"
        found = await self._database.read(lambda c: {DeliveryStatus(status): n for status, n in c.execute(sql)})
        return {status: found.get(status, 0) for status in DeliveryStatus}

    async def figures(self, since: float) -> dict[str, ChannelFigures]:
        sql = """
            SELECT channel, sum(status = 'sent') AS sent, sum(status IN ('dead', 'uncertain', 'expired')) AS failed,
                max(CASE WHEN status = 'sent' THEN finished_at END) AS last
            FROM deliveries WHERE created_at >= ? GROUP BY channel
        """
        rows = await self._database.read(lambda c: c.execute(sql, [since]).fetchall())
        return {row["channel"]: ChannelFigures(row["sent"], row["failed"], row["last"]) for row in rows}

    async def prune(self, before: float) -> int:
        sql = (
            "DELETE FROM deliveries WHERE seq IN"
            " (SELECT seq FROM deliveries d WHERE finished_at IS NOT NULL AND finished_at < ?"
            " AND NOT (key <> '' AND finished_at >= ? AND seq = (SELECT max(seq) FROM deliveries k"
            " INDEXED BY deliveries_key WHERE k.channel = d.channel AND k.target = d.target AND k.key = d.key"
            " AND k.key <> '' AND k.status IN ('sent', 'uncertain')))"
            " AND NOT (thread <> '' AND finished_at >= ? AND seq = (SELECT min(seq) FROM deliveries r"
            " INDEXED BY deliveries_thread WHERE r.channel = d.channel AND r.target = d.target AND r.thread = d.thread"
            " AND r.thread <> '' AND r.status = 'sent' AND r.ref <> '')) LIMIT ?)"
        )
        forgotten, keys = 0, self._clock.now() - KEYS_KEPT_S
        while count := await self._write(lambda c, _: c.execute(sql, [before, keys, keys, PRUNE_BATCH]).rowcount):
            forgotten += count
        # SQLite reuses the highest number after its row was deleted.
        await self._write(lambda c, _: _forget_number(c))
        return forgotten

    async def tidy(self) -> None:
        await self._index_words()

    async def _index_words(self) -> int:
        return await self._write(lambda c, _: index_words(c, INDEX_BATCH))

    async def health(self) -> Health:
        if self._database.problem:
            with suppress(DatabaseError):
                await self.try_write()
        now = self._clock.monotonic()
        if self._database.failures != self._failures:
            self._failures, self._unwell_until = self._database.failures, now + UNWELL_S
        problem = self._database.problem
        if not problem and now < self._unwell_until:
            problem = "the last write failed"
        return Health("sqlite", not problem, [problem] if problem else [])

    def changes(self) -> SqliteChangeStream:
        return SqliteChangeStream(self._database, CHANGES)

    async def aclose(self) -> None:
        """No-op: the database belongs to its opener."""

    async def try_write(self) -> None:
        try:
            async with asyncio.timeout(PROBE_S):
                await self._write(lambda connection, _: _touch(connection))
        except TimeoutError:
            raise DatabaseError(
                f"writing to the database took longer than {PROBE_S:.0f} s", hint="another process keeps it locked"
            ) from None

    async def _write(self, work: Work[T]) -> T:
        await self._adopt()
        # The time is read when the job runs: a lease must not begin before it is given.
        return await self._database.write(lambda c: work(c, self._now()))

    async def _adopt(self) -> None:
        if not self._adopted:
            await self._database.write(lambda c: lanes.adopt(c, self._now()))
            self._adopted = True

    def _now(self) -> Now:
        return Now(self._clock.now(), self._clock.monotonic(), self._boot())


def _touch(connection: sqlite3.Connection) -> None:
    # An update without a change would not write to the disk.
    connection.execute("INSERT INTO boot VALUES ('')")
    connection.execute("DELETE FROM boot WHERE id = ''")


def _row(connection: sqlite3.Connection, id_: str) -> sqlite3.Row:
    sql = "SELECT * FROM deliveries WHERE id = ?"
    row: sqlite3.Row | None = connection.execute(sql, [storable(id_)]).fetchone()
    if row is None:
        raise unknown_delivery(id_)
    return row


def _held(connection: sqlite3.Connection, worker: str, id_: str) -> sqlite3.Row | None:
    """Return what a change needs of a delivery in `sending` whose lane `worker` has leased."""
    row: sqlite3.Row | None = connection.execute(
        "SELECT d.seq, d.channel, d.target, d.provider_id, d.ref FROM deliveries d"
        " JOIN lanes l ON l.channel = d.channel AND l.target = d.target"
        " WHERE d.id = ? AND l.sending = d.seq AND l.worker = ?",
        [id_, worker],
    ).fetchone()
    return row


def _check_status(row: sqlite3.Row, allowed: frozenset[DeliveryStatus], hint: str) -> None:
    if row["status"] not in allowed:
        raise not_allowed(row["id"], row["status"], hint)


def _forget_number(connection: sqlite3.Connection) -> None:
    (highest,) = connection.execute("SELECT max(seq) FROM deliveries").fetchone()
    connection.execute("UPDATE words_indexed SET up_to = min(up_to, ?) WHERE rowid = 1", [highest or 0])
