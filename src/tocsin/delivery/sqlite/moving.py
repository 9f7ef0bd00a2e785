"""Move deliveries into and out of SQLite."""

import sqlite3
from collections.abc import Sequence

from tocsin.core.process.identity import boot_id
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock
from tocsin.delivery.model import OPEN, Delivery
from tocsin.delivery.sqlite import lanes
from tocsin.delivery.sqlite.accept import insert_open, record_all
from tocsin.delivery.sqlite.lanes import Now, to_delivery


class SqliteDeliveries:
    """All deliveries of a queue in SQLite, in the order of their acceptance."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def count(self) -> int:
        sql = "SELECT count(*) FROM deliveries"
        return int(await self._database.read(lambda connection: connection.execute(sql).fetchone()[0]))

    async def oldest(self, limit: int) -> list[Delivery]:
        sql = "SELECT * FROM deliveries ORDER BY seq LIMIT ?"
        rows = await self._database.read(lambda connection: connection.execute(sql, [limit]).fetchall())
        return [to_delivery(row) for row in rows]

    async def take_in(self, records: Sequence[Delivery]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            now = Now(self._clock.now(), self._clock.monotonic(), boot_id())
            lanes.adopt(connection, now)
            for delivery in records:
                if delivery.status in OPEN:
                    insert_open(connection, delivery, now)
                    continue
                if error := record_all(connection, [delivery], now)[0]:
                    raise error

        await self._database.write(work)

    async def remove(self, records: Sequence[Delivery]) -> None:
        def work(connection: sqlite3.Connection) -> None:
            now = Now(self._clock.now(), self._clock.monotonic(), boot_id())
            connection.executemany("DELETE FROM deliveries WHERE id = ?", [[one.id] for one in records])
            for channel, target in {(one.channel, one.target) for one in records if one.status in OPEN}:
                lanes.free_lane(connection, channel, target, now)

        await self._database.write(work)
