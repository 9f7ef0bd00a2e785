"""Reading methods: the messages of conversations that a bot has joined, and the list of conversations.

Sources: conversations.history, conversations.replies, conversations.list and conversations.open in the reference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tocsin_standins.pacing import SlidingWindow
from tocsin_standins.serving import RefusalError, whole_seconds

if TYPE_CHECKING:
    from tocsin_standins.teamchat.server import TeamChat

_KINDS = {"C": "channels", "G": "groups", "D": "im"}  # by the first letter of an ID: the prefix of the scope
_FORMS_ONLY = {"conversations.history", "conversations.list", "conversations.replies"}  # they do not read JSON
TIER_3 = 50  # calls a minute of one method


class History:
    """The reading methods of one workspace."""

    def __init__(self, workspace: TeamChat) -> None:
        self._workspace = workspace
        self._pace = SlidingWindow(TIER_3, 60.0)

    def answer(self, request: web.Request, method: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one call, or refuse it."""
        workspace = self._workspace
        if method in _FORMS_ONLY and request.content_type == "application/json":
            args = {}
        if workspace.paced and (wait_s := self._pace.take(method, workspace.clock())):
            headers = {"Retry-After": whole_seconds(wait_s)}
            raise RefusalError(web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers))
        match method:
            case "conversations.list":
                return self._list(args)
            case "conversations.open":
                return self._open(args)
            case _:
                return self._read(method, args)

    def _list(self, args: Mapping[str, Any]) -> dict[str, Any]:
        types = str(args.get("types") or "public_channel").split(",")
        for name, scope in (("public_channel", "channels:read"), ("private_channel", "groups:read")):
            if name in types:
                self._workspace.require_scope(scope)
        shown = [
            {"id": place.id, "name": place.name, "is_channel": True, "is_private": place.private,
             "is_archived": place.archived, "is_member": place.member}
            for place in self._workspace.places.values()
            if place.id[0] in "CG"
            and ("private_channel" if place.private else "public_channel") in types
            and (place.member or not place.private)
            and not (place.archived and _yes(args.get("exclude_archived")))
        ]  # fmt: skip
        return _page("channels", shown, args)

    def _open(self, args: Mapping[str, Any]) -> dict[str, Any]:
        self._workspace.require_scope("im:write")
        place = self._workspace.places.get(str(args.get("users") or ""))
        if place is None or place.id[0] not in "UW":
            raise _refusal("user_not_found")
        return {"ok": True, "no_op": True, "already_open": True, "channel": {"id": "D" + place.id[1:]}}

    def _read(self, method: str, args: Mapping[str, Any]) -> dict[str, Any]:
        required = ("channel", "ts") if method == "conversations.replies" else ("channel",)
        if missing := [name for name in required if not args.get(name)]:
            raise _refusal("invalid_arguments", [f"[ERROR] missing required field: {name}" for name in missing])
        workspace, channel = self._workspace, str(args["channel"])
        workspace.known_channel(channel)
        workspace.require_scope(f"{_KINDS[channel[0]]}:history")
        place = workspace.places.get(channel)
        if place is not None and not place.member:
            raise _refusal("channel_not_found" if place.private else "not_in_channel")
        messages = [message for (where, _), message in workspace.posted.items() if where == channel]
        if method == "conversations.replies":
            root = str(args.get("ts") or "")
            if (channel, root) not in workspace.posted:
                raise _refusal("thread_not_found")
            messages = [each for each in messages if root in (each["ts"], each.get("thread_ts"))]
        else:
            # Answers in threads are not part of the history of a channel; the newest message is the first one.
            messages = [each for each in messages if each.get("thread_ts") in (None, each["ts"])][::-1]
        oldest, latest = _time(args.get("oldest"), 0), _time(args.get("latest"), None)
        shown = [
            each for each in messages if oldest < Decimal(each["ts"]) and (not latest or Decimal(each["ts"]) < latest)
        ]
        if not _yes(args.get("include_all_metadata")):
            shown = [{name: value for name, value in each.items() if name != "metadata"} for each in shown]
        return _page("messages", shown, args)


def read_metadata(given: object) -> dict[str, Any]:
    """Return the metadata of a message, which a form has as JSON; refuse another shape."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            given = None
    if (
        not isinstance(given, dict)
        or not isinstance(given.get("event_type"), str)
        or not isinstance(given.get("event_payload"), dict)
    ):
        raise _refusal("invalid_metadata_format")
    return given


def _page(field: str, shown: Sequence[dict[str, Any]], args: Mapping[str, Any]) -> dict[str, Any]:
    limit = int(args.get("limit") or 100)
    if not 0 < limit <= 999:
        raise _refusal("invalid_limit")
    cursor = str(args.get("cursor") or "0")
    if not cursor.isdecimal():
        raise _refusal("invalid_cursor")
    start, end = int(cursor), int(cursor) + limit
    more = end < len(shown)
    found: dict[str, Any] = {"ok": True, field: [*shown[start:end]]}
    if field == "messages":
        found["has_more"] = more
    return found | {"response_metadata": {"next_cursor": str(end) if more else ""}}


def _time(given: object, absent: int | None) -> Any:
    try:
        return absent if given in (None, "") else Decimal(str(given))
    except InvalidOperation:
        raise _refusal("invalid_ts_latest" if absent is None else "invalid_ts_oldest") from None


def _yes(given: object) -> bool:
    return given in (True, "true", "True", "1", 1)


def _refusal(code: str, messages: Sequence[str] = ()) -> RefusalError:
    told = {"response_metadata": {"messages": messages}} if messages else {}
    return RefusalError(web.json_response({"ok": False, "error": code, **told}))
