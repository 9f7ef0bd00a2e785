"""Plans of skill mode in the database of this host: the component `intake`."""

import sqlite3
from collections.abc import Sequence
from secrets import token_hex

from tocsin.bot.skill_mode.plans import KEPT_S, Plan, Step, packed, unpacked
from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock


class SqlitePlans:
    """Shared by every process of the data directory."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, chat_id: str, steps: Sequence[Step]) -> Plan:
        plan = Plan(token_hex(8), chat_id, tuple(steps))
        await self.restore(plan, "")
        return plan

    async def take(self, id: str, chat_id: str, taker: str) -> Plan | None:
        oldest = self._clock.now() - KEPT_S

        def work(connection: sqlite3.Connection) -> str | None:
            connection.execute(
                "UPDATE plans SET taken_by = ? WHERE id = ? AND chat_id = ? AND taken_by = '' AND created_at >= ?",
                [taker, id, chat_id, oldest],
            )
            found = connection.execute("SELECT steps FROM plans WHERE id = ? AND taken_by = ?", [id, taker]).fetchone()
            return str(found[0]) if found else None

        steps = await self._database.write(work)
        return Plan(id, chat_id, unpacked(steps)) if steps else None

    async def give_back(self, plan: Plan) -> None:
        await self._run("UPDATE plans SET taken_by = '' WHERE id = ?", plan.id)

    async def save(self, plan: Plan) -> None:
        await self._run("UPDATE plans SET steps = ? WHERE id = ?", packed(plan.steps), plan.id)

    async def stored(self) -> Sequence[tuple[Plan, str]]:
        sql, oldest = "SELECT * FROM plans WHERE created_at >= ?", self._clock.now() - KEPT_S
        rows = await self._database.read(lambda c: c.execute(sql, [oldest]).fetchall())
        return [(Plan(row["id"], row["chat_id"], unpacked(row["steps"])), row["taken_by"]) for row in rows]

    async def restore(self, plan: Plan, taker: str) -> None:
        now = self._clock.now()

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM plans WHERE created_at < ?", [now - KEPT_S])
            row = (plan.id, plan.chat_id, packed(plan.steps), taker, now)
            sql = "INSERT OR IGNORE INTO plans (id, chat_id, steps, taken_by, created_at) VALUES (?, ?, ?, ?, ?)"
            connection.execute(sql, row)

        await self._database.write(work)

    async def _run(self, sql: str, *values: object) -> None:
        def work(connection: sqlite3.Connection) -> None:
            connection.execute(sql, values)

        await self._database.write(work)
