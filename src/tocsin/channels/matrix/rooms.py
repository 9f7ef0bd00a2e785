"""Find the room of a target, and refuse what would break a promise: encryption, or a token without a device."""

from typing import TYPE_CHECKING
from urllib.parse import quote

from tocsin.channels.matrix.api import MISSING, TOKEN, MatrixApi
from tocsin.core.errors import ChannelError

if TYPE_CHECKING:
    from tocsin.core.time.clock import Clock

# A room may become encrypted at any time, and never becomes clear again.
LOOK_AGAIN_S = 60.0


class MatrixRooms:
    """The rooms that were looked up."""

    def __init__(self, api: MatrixApi, clock: "Clock") -> None:
        self._api = api
        self._clock = clock
        self._ids: dict[str, str] = {}  # by alias
        self._clear_until: dict[str, float] = {}  # by room, in monotonic seconds
        self._has_device = False

    async def find(self, target: str) -> str:
        """Return the ID of a room that takes clear text. Raises RemoteError."""
        room = target
        if target.startswith("#"):
            if target not in self._ids:
                found = await self._api.get(f"/directory/room/{quote(target, safe='')}", "room_id")
                self._ids[target] = str(found["room_id"])
            room = self._ids[target]
        if self._clock.monotonic() >= self._clear_until.get(room, 0.0):
            await self._check_clear(room)
            self._clear_until[room] = self._clock.monotonic() + LOOK_AGAIN_S
        if not self._has_device:
            await self.account()
        return room

    def forget(self, target: str) -> None:
        """Look a target up again: an alias may name another room now."""
        self._ids.pop(target, None)

    async def account(self) -> str:
        """Return the user ID of the token; raise ChannelError if the homeserver would not recognise repeats."""
        found = await self._api.get("/account/whoami", "user_id")
        self._has_device = isinstance(found.get("device_id"), str)
        if not self._has_device:
            raise ChannelError(
                "the token has no device, so the homeserver would not recognise a repeated message",
                hint=f"log in with a password and a `device_id`, and put that token into {TOKEN.name}",
            )
        return str(found["user_id"])

    async def _check_clear(self, room: str) -> None:
        try:
            await self._api.get(f"/rooms/{quote(room, safe='')}/state/m.room.encryption", "algorithm")
        except ChannelError as refusal:
            if refusal.provider_code == MISSING:
                return
            raise
        raise ChannelError(
            "the room is encrypted, and Tocsin never sends clear text there",
            hint="use a room without encryption; it cannot be switched off in a room",
            provider_code="encrypted",
        )
