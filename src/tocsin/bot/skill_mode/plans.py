"""Plans of skill mode: the requirements of a message, their skills and their progress. They survive a restart."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Protocol

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


class Plans(Protocol):
    """Keeps plans until they are carried out or cancelled, for every process."""

    async def add(self, chat_id: str, steps: Sequence[Step]) -> Plan:
        """Keep a new plan."""
        ...

    async def take(self, id: str, chat_id: str, taker: str) -> Plan | None:
        """Return the plan to the first event that takes it, and to the same event again after a crash."""
        ...

    async def give_back(self, plan: Plan) -> None:
        """Let the plan be taken again, because no step has started."""
        ...

    async def save(self, plan: Plan) -> None:
        """Store the progress of the plan."""
        ...

    async def stored(self) -> Sequence[tuple[Plan, str]]:
        """Return every plan that is kept, with the event that has taken it."""
        ...

    async def restore(self, plan: Plan, taker: str) -> None:
        """Take over a plan of another store, unless it is known; from now on it is kept as long as a new one."""
        ...


def packed(steps: Sequence[Step]) -> str:
    """Return steps as JSON."""
    return json.dumps([asdict(step) for step in steps])


def unpacked(text: str | bytes) -> tuple[Step, ...]:
    """Return the steps that `packed` made JSON of; ignore what another version has added."""
    known = {field.name for field in fields(Step)}
    return tuple(Step(**{name: step[name] for name in step if name in known}) for step in json.loads(text))
