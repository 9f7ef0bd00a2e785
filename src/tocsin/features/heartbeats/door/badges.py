"""Badges: the state of a heartbeat or of all with a tag, for pages elsewhere; their key reveals no ping address."""

import hmac
import json
from collections.abc import Sequence
from html import escape

from tocsin.features.front_door import FrontRequest, FrontResponse
from tocsin.features.heartbeats.model import Heartbeat, HeartbeatState
from tocsin.features.heartbeats.service import Heartbeats
from tocsin.features.heartbeats.store import BADGE_KEY

_COLOURS = {"up": "#2c7a4b", "late": "#9a6700", "down": "#b42318"}
_NOT_FOUND = FrontResponse(404, b"not found")
_HEADERS = {"Cache-Control": "no-cache", "Access-Control-Allow-Origin": "*"}
_CHAR_PX, _PADDING_PX = 7, 10


class Badges:
    """The route of badges; every address is unknown until a badge key is made."""

    def __init__(self, heartbeats: Heartbeats) -> None:
        self._heartbeats = heartbeats

    async def show(self, request: FrontRequest) -> FrontResponse:
        """Answer `/badge/KEY/NAME.svg` and `.json`; NAME is a heartbeat or a tag."""
        key, (name, _, form) = await self._heartbeats.store.key(BADGE_KEY), request.path["file"].rpartition(".")
        if not key or not hmac.compare_digest(key.encode(), request.path["key"].encode("utf-8", "replace")):
            return _NOT_FOUND
        found = [each for each in await self._heartbeats.all() if each.name == name or name in each.definition.tags]
        if not found or form not in {"svg", "json"}:
            return _NOT_FOUND
        named = [each for each in found if each.name == name] or found
        status = worst(named, self._heartbeats.now())
        if form == "svg":
            return FrontResponse(200, _svg(name, status).encode(), "image/svg+xml", _HEADERS)
        document = {
            "status": status,
            "total": len(named),
            "down": sum(each.watched.state is HeartbeatState.DOWN for each in named),
        }
        return FrontResponse(200, json.dumps(document).encode(), "application/json", _HEADERS)


def worst(heartbeats: Sequence[Heartbeat], now: float) -> str:
    """Return down, late or up: the worst of several; others count as up."""
    states = {each.state(now) for each in heartbeats}
    return next((str(state) for state in (HeartbeatState.DOWN, HeartbeatState.LATE) if state in states), "up")


def _svg(label: str, status: str) -> str:
    left, right = (len(text) * _CHAR_PX + 2 * _PADDING_PX for text in (label, status))
    label = escape(label)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{label}: {status}"><rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLOURS[status]}"/>'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,sans-serif" font-size="11">'
        f'<text x="{left / 2}" y="14">{label}</text><text x="{left + right / 2}" y="14">{status}</text></g></svg>'
    )
