"""Plans of skill mode in Redis, shared by every host."""

import json
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex

from tocsin.bot.skill_mode.plans import KEPT_S, Plan, Step, packed, unpacked
from tocsin.bot.storage.redis_calls import RedisCalls
from tocsin.core.storage.redis_client import load_script

_LUA = Path(__file__).parent / "lua"
_KEEP = load_script(_LUA, "keep")
_TAKE_PLAN = load_script(_LUA, "take_plan")
_CHANGE_PLAN = load_script(_LUA, "change_plan")


class RedisPlans:
    """A plan is JSON in which `steps` is JSON as well; plans are forgotten by the time of the server."""

    def __init__(self, client: RedisCalls, *, prefix: str = "tocsin") -> None:
        self._client = client
        self._plans = f"{{{prefix}:bot}}:plans"
        self._keys = (self._plans, f"{self._plans}-by-time")

    async def add(self, chat_id: str, steps: Sequence[Step]) -> Plan:
        plan = Plan(token_hex(8), chat_id, tuple(steps))
        await self.restore(plan, "")
        return plan

    async def take(self, id: str, chat_id: str, taker: str) -> Plan | None:
        steps = await self._client.run(_TAKE_PLAN, self._keys, [id, chat_id, taker, int(KEPT_S)])
        return Plan(id, chat_id, unpacked(steps)) if steps else None

    async def give_back(self, plan: Plan) -> None:
        await self._client.run(_CHANGE_PLAN, [self._plans], [plan.id, "taken", ""])

    async def save(self, plan: Plan) -> None:
        await self._client.run(_CHANGE_PLAN, [self._plans], [plan.id, "steps", packed(plan.steps)])

    async def stored(self) -> Sequence[tuple[Plan, str]]:
        found = await self._client.command("HGETALL", self._plans)
        plans = [(bytes(id_).decode(), json.loads(text)) for id_, text in found.items()]
        return [(Plan(id_, plan["chat"], unpacked(plan["steps"])), plan["taken"]) for id_, plan in plans]

    async def restore(self, plan: Plan, taker: str) -> None:
        text = json.dumps({"chat": plan.chat_id, "steps": packed(plan.steps), "taken": taker})
        await self._client.run(_KEEP, self._keys, [plan.id, text, int(KEPT_S), "new"])
