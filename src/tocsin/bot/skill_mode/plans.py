"""Plans of skill mode: the requirements of a message, their skills and their progress. They survive a restart."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from secrets import token_hex

from tocsin.core.storage.database import Database
from tocsin.core.time.clock import Clock

KEPT_S = 24 * 3600.0  # after that its buttons have no effect


@dataclass(frozen=True, slots=True)
class Step:
    """One requirement; `ok` is `None` until its skill ran."""

    requirement: str
    skill: str = ""  # empty: none fits
    ok: bool | None = None
    result: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps that one message asks for."""

    id: str
    chat_id: str
    steps: tuple[Step, ...]

    def with_step(self, number: int, step: Step) -> "Plan":
        """Return the plan with another step in one place."""
        return replace(self, steps=(*self.steps[:number], step, *self.steps[number + 1 :]))


class Plans:
    """Keeps plans until they are carried out or cancelled."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, chat_id: str, steps: Sequence[Step]) -> Plan:
        """Keep a new plan."""
        plan, now = Plan(token_hex(8), chat_id, tuple(steps)), self._clock.now()

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM plans WHERE created_at < ?", [now - KEPT_S])
            row = (plan.id, chat_id, _packed(plan), now)
            connection.execute("INSERT INTO plans (id, chat_id, steps, created_at) VALUES (?, ?, ?, ?)", row)

        await self._database.write(work)
        return plan

    async def take(self, id: str, chat_id: str, taker: str) -> Plan | None:  # noqa: A002
        """Return the plan to the first event that takes it, and to the same event again after a crash."""
        oldest = self._clock.now() - KEPT_S

        def work(connection: sqlite3.Connection) -> str | None:
            connection.execute(
                "UPDATE plans SET taken_by = ? WHERE id = ? AND chat_id = ? AND taken_by = '' AND created_at >= ?",
                [taker, id, chat_id, oldest],
            )
            found = connection.execute("SELECT steps FROM plans WHERE id = ? AND taken_by = ?", [id, taker]).fetchone()
            return str(found[0]) if found else None

        steps = await self._database.write(work)
        return Plan(id, chat_id, tuple(Step(**step) for step in json.loads(steps))) if steps else None

    async def give_back(self, plan: Plan) -> None:
        """Let the plan be taken again, because no step has started."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE plans SET taken_by = '' WHERE id = ?", [plan.id])

        await self._database.write(work)

    async def save(self, plan: Plan) -> None:
        """Store the progress of the plan."""

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("UPDATE plans SET steps = ? WHERE id = ?", [_packed(plan), plan.id])

        await self._database.write(work)


def _packed(plan: Plan) -> str:
    return json.dumps([asdict(step) for step in plan.steps])
