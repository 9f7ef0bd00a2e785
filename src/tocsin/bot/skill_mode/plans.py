"""Plans of skill mode: the requirements of a message, their skills and their progress. They survive a restart."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from secrets import token_hex

from tocsin.bot.storage.keyed_table import OpenTable, add

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
    """Keeps plans until they are carried out or cancelled, for every process."""

    def __init__(self, open_table: OpenTable) -> None:
        self._plans = open_table("plans", KEPT_S)

    async def add(self, chat_id: str, steps: Sequence[Step]) -> Plan:
        """Keep a new plan."""
        plan = Plan(token_hex(8), chat_id, tuple(steps))
        await self.restore(plan, "")
        return plan

    async def take(self, id: str, chat_id: str, taker: str) -> Plan | None:
        """Return the plan to the first event that takes it, and to the same event again after a crash."""

        def take(text: str | None, _: float) -> str | None:
            kept = json.loads(text) if text else None
            if kept is None or kept["chat"] != chat_id or kept["taken"]:
                return text
            return json.dumps({**kept, "taken": taker})

        found = (await self._plans.change(id, take)).after
        kept = json.loads(found) if found else None
        if kept is None or kept["chat"] != chat_id or kept["taken"] != taker:
            return None
        return Plan(id, chat_id, unpacked(kept["steps"]))

    async def give_back(self, plan: Plan) -> None:
        """Let the plan be taken again, because no step has started."""
        await self._amend(plan.id, "taken", "")

    async def save(self, plan: Plan) -> None:
        """Store the progress of the plan."""
        await self._amend(plan.id, "steps", packed(plan.steps))

    async def stored(self) -> Sequence[tuple[Plan, str]]:
        """Return every plan that is kept, with the event that has taken it."""
        kept = [(id_, json.loads(text)) for id_, text in (await self._plans.all()).items()]
        return [(Plan(id_, each["chat"], unpacked(each["steps"])), each["taken"]) for id_, each in kept]

    async def restore(self, plan: Plan, taker: str) -> None:
        """Take over a plan of another store, unless it is known; from now on it is kept as long as a new one."""
        text = json.dumps({"chat": plan.chat_id, "steps": packed(plan.steps), "taken": taker})
        await add(self._plans, plan.id, text)

    async def _amend(self, id: str, name: str, value: str) -> None:
        await self._plans.change(id, lambda text, _: text and json.dumps({**json.loads(text), name: value}))


def packed(steps: Sequence[Step]) -> str:
    """Return steps as JSON."""
    return json.dumps([asdict(step) for step in steps])


def unpacked(text: str | bytes) -> tuple[Step, ...]:
    """Return the steps that `packed` made JSON of; ignore what another version has added."""
    known = {field.name for field in fields(Step)}
    return tuple(Step(**{name: step[name] for name in step if name in known}) for step in json.loads(text))
