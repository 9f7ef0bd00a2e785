"""Plans of skill mode: the requirements of a message, their skills and their progress. They survive a restart."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from secrets import token_hex

from tocsin.bot.storage.keyed_table import OpenTable, add

KEPT_S = 24 * 3600.0  # the buttons of an older plan have no effect


@dataclass(frozen=True, slots=True)
class Step:
    """One requirement; `ok` is `None` until its skill has run."""

    requirement: str
    skill: str = ""  # empty: no skill matches
    ok: bool | None = None
    result: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps that one message asks for."""

    id: str
    chat_id: str
    steps: tuple[Step, ...]

    def with_step(self, number: int, step: Step) -> "Plan":
        """Return a copy of the plan with one step replaced."""
        return replace(self, steps=(*self.steps[:number], step, *self.steps[number + 1 :]))


class Plans:
    """Stores plans until they are executed or cancelled, shared by all processes."""

    def __init__(self, open_table: OpenTable) -> None:
        self._plans = open_table("plans", KEPT_S)

    async def add(self, chat_id: str, steps: Sequence[Step]) -> Plan:
        plan = Plan(token_hex(8), chat_id, tuple(steps))
        await self.restore(plan, "")
        return plan

    async def take(self, id: str, chat_id: str, taker: str) -> Plan | None:
        """Return the plan to the first event that claims it, and to the same event again after a crash."""

        def take(text: str | None, _: float) -> str | None:
            kept = json.loads(text) if text else None
            if kept is None or kept["chat"] != chat_id or kept["taken"]:
                return text
            return json.dumps({**kept, "taken": taker})

        found = (await self._plans.change(id, take)).after
        kept = json.loads(found) if found else None
        if kept is None or kept["chat"] != chat_id or kept["taken"] != taker:
            return None
        return Plan(id, chat_id, decode_steps(kept["steps"]))

    async def give_back(self, plan: Plan) -> None:
        """Release the plan, because no step has started."""
        await self._amend(plan.id, "taken", "")

    async def save(self, plan: Plan) -> None:
        await self._amend(plan.id, "steps", encode_steps(plan.steps))

    async def stored(self) -> Sequence[tuple[Plan, str]]:
        """Return every stored plan with the event that has claimed it."""
        kept = [(id_, json.loads(text)) for id_, text in (await self._plans.all()).items()]
        return [(Plan(id_, each["chat"], decode_steps(each["steps"])), each["taken"]) for id_, each in kept]

    async def restore(self, plan: Plan, taker: str) -> None:
        """Copy a plan from another store unless it exists; it expires as late as a new one."""
        text = json.dumps({"chat": plan.chat_id, "steps": encode_steps(plan.steps), "taken": taker})
        await add(self._plans, plan.id, text)

    async def _amend(self, id: str, name: str, value: str) -> None:
        await self._plans.change(id, lambda text, _: text and json.dumps({**json.loads(text), name: value}))


def encode_steps(steps: Sequence[Step]) -> str:
    return json.dumps([asdict(step) for step in steps])


def decode_steps(text: str | bytes) -> tuple[Step, ...]:
    """Decode the steps that `encode_steps` encoded; ignore fields that another version added."""
    known = {field.name for field in fields(Step)}
    return tuple(Step(**{name: step[name] for name in step if name in known}) for step in json.loads(text))
