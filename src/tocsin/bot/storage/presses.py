"""The presses of buttons that won, shared by all processes: `PressClaims`."""

import json
from dataclasses import asdict

from tocsin.bot.storage.keyed_table import OpenTable
from tocsin.messaging.inbound.presses.buttons import VALID_S, PressClaim

KEPT_S = VALID_S + 86_400.0


class StoredPressClaims:
    """One claim per delivery."""

    def __init__(self, open_table: OpenTable) -> None:
        self._claims = open_table("presses", KEPT_S)

    async def claim(self, delivery: str, claim: PressClaim) -> PressClaim:
        text = json.dumps(asdict(claim))
        return _read((await self._claims.change(delivery, lambda present, _: present or text)).after or text)

    async def find(self, delivery: str) -> PressClaim | None:
        found = await self._claims.get(delivery)
        return _read(found) if found else None

    async def release(self, delivery: str, event: str) -> None:
        def remove(present: str | None, _: float) -> str | None:
            return None if present and _read(present).event == event else present

        await self._claims.change(delivery, remove)

    async def stored(self) -> dict[str, PressClaim]:
        """Return all claims by delivery."""
        return {delivery: _read(text) for delivery, text in (await self._claims.all()).items()}


def _read(text: str) -> PressClaim:
    return PressClaim(**json.loads(text))
