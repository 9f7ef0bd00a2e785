"""Signs of life: a service leaves one at intervals, and notices a gap when it starts."""

import sqlite3

from tocsin.core.service import ServiceLoop
from tocsin.features.context import FeatureContext, Notice
from tocsin_heartbeat.feature import EVERY_S, GAP, HEARTBEAT


class Heartbeat:
    """Leaves signs of life in the database."""

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self.every_s = context.settings[EVERY_S]
        self.loop = ServiceLoop("the heartbeat", self.beat, context.clock)

    async def age_s(self) -> float | None:
        """Return how long ago the last sign of life was left; `None` if there has been none."""

        def read(connection: sqlite3.Connection) -> float | None:
            row = connection.execute("SELECT beat_at FROM heartbeat").fetchone()
            return row["beat_at"] if row else None

        beat_at = await self._context.database.read(read)
        return None if beat_at is None else max(0.0, self._context.clock.now() - beat_at)

    async def beat(self) -> float:
        """Record a heartbeat, notify about a gap before it, and return the time of the next one."""
        age_s = await self.age_s()
        if age_s is not None and age_s > 2 * self.every_s:
            await self._tell(age_s)
        now = self._context.clock.now()

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO heartbeat VALUES (1, ?)", [now])

        await self._context.database.write(write)
        return float(self.every_s)

    async def _tell(self, gap_s: float) -> None:
        detail = f"no service ran for {gap_s:.0f} s"
        self._context.audit.record(GAP, detail, source=HEARTBEAT.name, metadata={"gap_s": round(gap_s)})
        await self._context.abilities.notices.notify(
            Notice("Tocsin was away", detail, source="heartbeat", dedupe_key="heartbeat")
        )
