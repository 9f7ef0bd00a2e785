"""The routes of heartbeats at the front door, answered as healthchecks, Uptime Kuma and Cronitor answer."""

import json
import re
from collections.abc import Sequence
from math import inf

from tocsin.features.front_door import (
    ANY_METHOD,
    BodyExcerpt,
    FrontDoor,
    FrontHandler,
    FrontRequest,
    FrontResponse,
    FrontRoute,
)
from tocsin.features.heartbeats.door.badges import Badges
from tocsin.features.heartbeats.door.receiver import (
    HEAD_BYTES,
    TAIL_BYTES,
    PingAddress,
    PingOutcome,
    PingReceiver,
)
from tocsin.features.heartbeats.model import PingKind, ReceivedPing
from tocsin.features.heartbeats.service import Heartbeats
from tocsin.features.heartbeats.watching.watch import HeartbeatWatch

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SLUG = re.compile(r"[-a-zA-Z0-9_]+")
_ACTIONS = {"": PingKind.SUCCESS, "start": PingKind.START, "fail": PingKind.FAIL, "log": PingKind.LOG}
_HEADERS = {"Ping-Body-Limit": str(HEAD_BYTES + TAIL_BYTES), "Access-Control-Allow-Origin": "*"}
_LIMITED = FrontResponse(429, b"rate limit exceeded", headers={"Retry-After": "60", **_HEADERS})
_NOT_FOUND = FrontResponse(404, b"not found")
_BAD_URL = FrontResponse(400, b"invalid url format")
_BAD_RID = FrontResponse(400, b"invalid uuid format")
_MAX_AGENT = 200
_MAX_RID = 64
_STATES = {"run": PingKind.START, "complete": PingKind.SUCCESS, "ok": PingKind.SUCCESS, "fail": PingKind.FAIL}
_LONGEST_MS = 100_000_000_000  # uptime-kuma


class PingRoutes:
    """The routes by which jobs report."""

    def __init__(self, receiver: PingReceiver) -> None:
        self._receiver = receiver

    async def ping(self, request: FrontRequest) -> FrontResponse:
        """Answer the addresses of healthchecks: a UUID, or the ping key and a name, and then an action."""
        first, _, rest = request.path["address"].partition("/")
        if _UUID.fullmatch(first):
            return await self._healthchecks(request, PingAddress(code=first), rest)
        name, slash, action = rest.partition("/")
        if slash and not action:
            return _NOT_FOUND
        if not _SLUG.fullmatch(first) or not _SLUG.fullmatch(name):
            return _NOT_FOUND
        if name != name.lower():
            return _BAD_URL
        create = request.query.get("create") == "1"
        return await self._healthchecks(request, PingAddress(key=first, name=name, create=create), action)

    async def _healthchecks(self, request: FrontRequest, address: PingAddress, action: str) -> FrontResponse:
        status = int(action) if action.isascii() and action.isdecimal() and len(action) < 10 else None
        if action not in _ACTIONS and not (action.isascii() and action.isdecimal()):
            return _NOT_FOUND
        bad = _BAD_URL if action.isdecimal() and (status is None or status > 255) else None
        rid = request.query.get("rid")
        if bad is None and rid is not None and not _UUID.fullmatch(rid.lower()):
            bad = _BAD_RID
        if bad is not None:  # an unknown address is named first
            return bad if await self._receiver.is_known(address) else await self._refused(address)
        kind = _ACTIONS[action] if status is None else PingKind.FAIL if status else PingKind.SUCCESS
        outcome = await self._take(request, address, kind, status, (rid or "").lower())
        match outcome:
            case PingOutcome.TAKEN:
                return FrontResponse(200, b"OK", headers=_HEADERS)
            case PingOutcome.CREATED:
                return FrontResponse(201, b"Created", headers=_HEADERS)
            case PingOutcome.TOO_MANY:
                return _LIMITED
            case _:
                return _NOT_FOUND

    async def _refused(self, address: PingAddress) -> FrontResponse:
        await self._receiver.refuse()
        return _NOT_FOUND

    async def push(self, request: FrontRequest) -> FrontResponse:
        """Answer the push address of Uptime Kuma: `status` other than `up` is a failure, `ping` is milliseconds."""
        token, query = request.path["token"], request.query
        kind = PingKind.SUCCESS if query.get("status", "up") == "up" else PingKind.FAIL
        duration = _number(query.get("ping", ""), inf, -inf)
        if duration is not None and not 0 <= duration <= _LONGEST_MS:
            await self._receiver.refuse()
            return _NOT_ACTIVE
        code = "-".join((token[:8], token[8:12], token[12:16], token[16:20], token[20:])) if len(token) == 32 else ""
        found = PingOutcome.UNKNOWN
        if _UUID.fullmatch(code):
            ping = self._of(request, kind, duration_s=None if duration is None else duration / 1000)
            found = await self._receiver.take(PingAddress(code=code), await self._with_text(ping, query.get("msg", "")))
        elif code or token:
            await self._receiver.refuse()
        if found is PingOutcome.TOO_MANY:
            return _LIMITED
        if found is PingOutcome.UNKNOWN:
            return _NOT_ACTIVE
        return _json({"ok": True}, 200)

    async def cronitor(self, request: FrontRequest) -> FrontResponse:
        """Answer Cronitor's telemetry: `state` is run, complete, fail or ok; `series` joins a start and its end."""
        query, name = request.query, request.path["monitor"]
        kind = _STATES.get(query.get("state", "ok"))
        if kind is None:
            return _BAD_URL
        status = _number(query.get("status_code", ""), 255)
        rid = query.get("series", "")[:_MAX_RID]
        ping = self._of(request, kind, rid=rid, status=None if status is None else int(status))
        address = PingAddress(key=request.path["key"], name=name.lower(), create=True)
        outcome = await self._receiver.take(address, await self._with_text(ping, query.get("message", "")))
        if outcome is PingOutcome.TOO_MANY:
            return _LIMITED
        return _NOT_FOUND if outcome is PingOutcome.UNKNOWN else FrontResponse(200, b"OK")

    async def _take(
        self, request: FrontRequest, address: PingAddress, kind: PingKind, status: int | None, rid: str
    ) -> PingOutcome:
        ping = self._of(request, kind, rid=rid, status=status)
        excerpt = await request.excerpt(HEAD_BYTES, TAIL_BYTES)
        return await self._receiver.take(address, await self._receiver.with_body(ping, excerpt))

    async def _with_text(self, ping: ReceivedPing, text: str) -> ReceivedPing:
        raw = text.encode("utf-8", "replace")
        return await self._receiver.with_body(ping, BodyExcerpt(raw, b"", len(raw)))

    def _of(
        self,
        request: FrontRequest,
        kind: PingKind,
        *,
        rid: str = "",
        status: int | None = None,
        duration_s: float | None = None,
    ) -> ReceivedPing:
        return ReceivedPing(
            kind=kind,
            exit_status=status,
            rid=rid,
            duration_s=duration_s,
            method=request.method,
            client=request.client,
            agent=request.headers.get("user-agent", "")[:_MAX_AGENT],
        )


def _number(text: str, highest: float, lowest: float = 0) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if lowest <= found <= highest else None


def _json(document: object, status: int) -> FrontResponse:
    return FrontResponse(
        status, json.dumps(document, separators=(",", ":")).encode(), "application/json; charset=utf-8"
    )


_NOT_ACTIVE = _json({"ok": False, "msg": "Monitor not found or not active."}, 404)  # every error


class HeartbeatsAtTheDoor:
    """The heartbeats of one process while its front door listens."""

    def __init__(self, heartbeats: Heartbeats) -> None:
        self.watch = HeartbeatWatch(heartbeats)
        self.pings = PingRoutes(PingReceiver(heartbeats, self.watch))
        self.badges = Badges(heartbeats)


def _at_the_door(heartbeats: Heartbeats) -> HeartbeatsAtTheDoor:
    if heartbeats.at_the_door is None:
        heartbeats.at_the_door = HeartbeatsAtTheDoor(heartbeats)
    found: HeartbeatsAtTheDoor = heartbeats.at_the_door
    return found


def front_routes(heartbeats: Heartbeats) -> Sequence[FrontRoute]:
    door = _at_the_door(heartbeats)
    pings: FrontHandler = door.pings.ping
    return [
        FrontRoute("/ping/{address:path}", pings, limited=_LIMITED),
        FrontRoute("/api/push/{token}", door.pings.push, ANY_METHOD, limited=_NOT_ACTIVE),
        FrontRoute("/p/{key}/{monitor}", door.pings.cronitor, limited=_LIMITED),
        FrontRoute("/badge/{key}/{file}", door.badges.show, ("GET",)),
    ]


FRONT_DOOR: FrontDoor[Heartbeats] = FrontDoor(routes=front_routes, beside=lambda each: _at_the_door(each).watch)
