"""Stand-in of the Slack Web API: errors come with HTTP 200, throttling with 429."""

from __future__ import annotations

import itertools
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tocsin_standins.faults import Fault
from tocsin_standins.pacing import Bucket
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import HttpStandIn, RefusalError, parse_json, whole_seconds
from tocsin_standins.teamchat.history import History, read_metadata
from tocsin_standins.teamchat.uploads import Uploads

TOKEN = "xoxb-100000000001-100000000002-StandInStandInStandIn00"  # noqa: S105  # opens nothing else
SIGNING_SECRET = "57a4d1357a4d1357a4d1357a4d135700"  # noqa: S105  # opens nothing else
TEAM_ID, APP_ID, BOT_ID, BOT_USER_ID, BOT_NAME = "T0STANDIN", "A0STANDIN", "B0STANDIN", "U0STANDIN", "tocsin"
SCOPES = frozenset(
    {"chat:write", "chat:write.public", "files:write", "reactions:write", "im:history", "app_mentions:read"}
)
NEEDED_SCOPE = {
    "chat.postMessage": "chat:write",
    "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
    "files.delete": "files:write",
    "reactions.add": "reactions:write",
    "assistant.threads.setStatus": "chat:write",
}
MAX_EDITED_TEXT = 4_000
MAX_TEXT = 40_000  # chat.postMessage: hard limit, counted after escaping
MAX_RESPONSES = 5  # response_url: at most 5 uses in 30 minutes
RESPONSE_LIFE_S = 1800


@dataclass(frozen=True, slots=True)
class TeamchatConversation:
    """A channel, or a user whose DM opens by itself; `member`: the bot has been invited."""

    id: str
    name: str
    private: bool = False
    member: bool = True
    archived: bool = False


PLACES = (
    TeamchatConversation("C0GENERAL", "general"),
    TeamchatConversation("C00000OPS", "ops"),
    TeamchatConversation("C0PUBLIC1", "lobby", member=False),
    TeamchatConversation("C0PRIVATE", "board", private=True, member=False),
    TeamchatConversation("C0ARCHIVE", "attic", archived=True),
    TeamchatConversation("U00ALICE1", "alice"),
    TeamchatConversation("U00BOB001", "bob"),
)


class TeamChat(HttpStandIn):
    """The Web API of one workspace; the base URL for adapters is `api_url`.

    `paced` enforces one message per second per channel, apart from short bursts. `places` and `scopes` may be changed
    while it runs.
    """

    channel = "teamchat"

    def __init__(
        self,
        recorder: Recorder | None = None,
        *,
        token: str = TOKEN,
        signing_secret: str = SIGNING_SECRET,
        places: Iterable[TeamchatConversation] = PLACES,
        scopes: Iterable[str] = SCOPES,
        paced: bool = False,
        **serving: Any,
    ) -> None:
        super().__init__(recorder, **serving)
        self.token = token
        self.signing_secret = signing_secret
        self.places = {place.id: place for place in places}
        self.scopes = set(scopes)
        self.paced = paced
        self._pace = Bucket(1.0)
        self._last_ts = 0
        self.posted: dict[tuple[str, str], dict[str, Any]] = {}
        self._uploads = Uploads(self)
        self._history = History(self)
        self._reactions: set[tuple[str, str, str]] = set()
        self._response_urls: dict[str, tuple[float, itertools.count[int]]] = {}

    @property
    def files(self) -> dict[str, bytes]:
        """The contents of shared files by their ID."""
        return self._uploads.shared

    @property
    def api_url(self) -> str:
        """The value for `TEAMCHAT_API_URL`."""
        return f"{self.url}/api"

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        """Serve every method under `/api/`, and slash command responses."""
        return [
            web.route("*", "/api/{method}", self._call),
            web.post("/upload/{secret}", self._uploads.receive),
            web.post("/commands/{team}/{number}/{secret}", self._respond),
        ]

    def refusal(self, fault: Fault) -> web.Response:
        """Return `{"ok": false, "error": code}` with 200, or `ratelimited` with 429."""
        if fault.kind == "rate_limited":
            return _rate_limited(fault.seconds)
        extra = {"needed": fault.text} if fault.code == "missing_scope" and fault.text else {}
        return _answer({"ok": False, "error": fault.code, **extra}, status=fault.http_status or 200)

    def open_response_url(self) -> str:
        """Return a new `response_url`: no token, five uses in half an hour."""
        path = f"/commands/{TEAM_ID}/{secrets.randbelow(10**12)}/{secrets.token_urlsafe(18)}"
        self._response_urls[path] = (self.clock() + RESPONSE_LIFE_S, itertools.count(1))
        return self.url + path

    async def _call(self, request: web.Request) -> web.Response:
        method = request.match_info["method"]
        args, warnings = await _arguments(request)
        self._check_token(request, args)
        match method:
            case "chat.postMessage":
                result = self._post_message(request, args)
            case "chat.update":
                result = self._update_message(request, args)
            case "chat.delete":
                result = self._delete_message(request, args)
            case "files.getUploadURLExternal" | "files.completeUploadExternal" | "files.delete":
                result = self._uploads.answer(request, method, args)
            case "conversations.history" | "conversations.replies" | "conversations.list" | "conversations.open":
                result = self._history.answer(request, method, args)
            case "auth.test":
                result = self._identity()
            case "reactions.add":
                result = self._add_reaction(request, args)
            case "assistant.threads.setStatus":
                result = self._set_status(request, args)
            case _:
                raise refused("unknown_method", req_method=method)
        if warnings:
            result |= {"warning": ",".join(warnings), "response_metadata": {"warnings": warnings}}
        return _answer(result, scopes=self.scopes)

    def _check_token(self, request: web.Request, args: Mapping[str, Any]) -> None:
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.casefold() != "bearer":
            # A token inside a JSON body is ignored: https://docs.slack.dev/apis/web-api/
            given = "" if request.content_type == "application/json" else str(args.get("token", ""))
        if not given.strip():
            raise refused("not_authed")
        if not secrets.compare_digest(given.strip().encode(), self.token.encode()):
            raise refused("invalid_auth")

    def check_scope(self, method: str) -> None:
        """Raise the refusal of a method whose scope the app lacks."""
        self.require_scope(NEEDED_SCOPE[method])

    def require_scope(self, needed: str) -> None:
        """Raise the refusal of a call that needs a scope which the app lacks."""
        if needed not in self.scopes:
            raise refused("missing_scope", needed=needed, provided=",".join(sorted(self.scopes)))

    def _post_message(self, request: web.Request, args: Mapping[str, Any]) -> dict[str, Any]:
        self.check_scope("chat.postMessage")
        channel_id = self._posting_place(required(args, "channel"))
        text = args.get("text")
        if not isinstance(text, str) or not text.strip():
            if not args.get("blocks") and not args.get("attachments"):
                raise refused("no_text")
            text = ""
        if len(text) > MAX_TEXT:
            raise refused("msg_too_long")
        if self.paced and (wait_s := self._pace.take(channel_id, self.clock())):
            raise RefusalError(_rate_limited(wait_s))
        return self._accept(request, channel_id, text, args)

    def _accept(self, request: web.Request, channel_id: str, text: str, args: Mapping[str, Any]) -> dict[str, Any]:
        ts, thread = self.next_ts(), str(args.get("thread_ts") or "")
        message: dict[str, Any] = {
            "type": "message", "text": text, "ts": ts, "user": BOT_USER_ID, "bot_id": BOT_ID,
            "app_id": APP_ID, "team": TEAM_ID,
        }  # fmt: skip
        if thread:
            message["thread_ts"] = thread
        if metadata := args.get("metadata"):
            message["metadata"] = read_metadata(metadata)
        self.posted[channel_id, ts] = message
        self.record(
            request,
            channel_id,
            unescape(text),
            id=ts,
            account=BOT_NAME,
            thread=thread,
            body=_without_token(args),
        )
        return {"ok": True, "channel": channel_id, "ts": ts, "message": message}

    def _update_message(self, request: web.Request, args: Mapping[str, Any]) -> dict[str, Any]:
        message, text = self._own_message(args), str(args.get("text") or "")
        if not text and not args.get("blocks"):
            raise refused("no_text")
        if len(text) > MAX_EDITED_TEXT:
            raise refused("msg_too_long")
        channel_id, ts = str(args["channel"]), message["ts"]
        message |= {"text": text, "edited": {"user": BOT_USER_ID, "ts": self.next_ts()}}
        self.record(
            request, channel_id, unescape(text), id=ts, account=BOT_NAME, kind="edit", body=_without_token(args)
        )
        return {"ok": True, "channel": channel_id, "ts": ts, "text": text}

    def _delete_message(self, request: web.Request, args: Mapping[str, Any]) -> dict[str, Any]:
        message, channel_id = self._own_message(args), str(args["channel"])
        del self.posted[channel_id, message["ts"]]
        self.record(request, channel_id, "", id=message["ts"], account=BOT_NAME, kind="deletion")
        return {"ok": True, "channel": channel_id, "ts": message["ts"]}

    def _own_message(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return a message of the bot; the channel is given by its ID, never by a name."""
        self.check_scope("chat.postMessage")
        channel_id = required(args, "channel")
        self.known_channel(channel_id)
        if (message := self.posted.get((channel_id, required(args, "ts")))) is None:
            raise refused("message_not_found")
        return message

    def _posting_place(self, channel: str) -> str:
        """Return the conversation to post to; a name is accepted, and a user's ID opens the DM."""
        place = self.places.get(channel) or next(
            (p for p in self.places.values() if p.id[0] in "CG" and channel.removeprefix("#") == p.name), None
        )
        if place is None and channel.startswith("D"):
            place = next((p for p in self.places.values() if _dm_of(p.id) == channel), None)
        if place is None or (place.private and not place.member):
            raise refused("channel_not_found")
        if place.archived:
            raise refused("is_archived")
        if not place.member and "chat:write.public" not in self.scopes:
            raise refused("not_in_channel")
        return _dm_of(place.id)

    def name_of(self, place_id: str) -> str:
        return self.places[place_id].name if place_id in self.places else place_id

    def next_ts(self) -> str:
        """Return the timestamp of the next message; timestamps rise even if the clock stands still."""
        self._last_ts = max(self._last_ts + 1, int(self.clock() * 1_000_000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"

    def _identity(self) -> dict[str, Any]:
        return {
            "ok": True, "url": "https://standin.slack.com/", "team": "Stand-in", "user": BOT_NAME,
            "team_id": TEAM_ID, "user_id": BOT_USER_ID, "bot_id": BOT_ID, "is_enterprise_install": False,
        }  # fmt: skip

    def _add_reaction(self, request: web.Request, args: Mapping[str, Any]) -> dict[str, Any]:
        self.check_scope("reactions.add")
        channel, name = required(args, "channel"), required(args, "name").strip(":")
        ts = str(args.get("timestamp") or "")
        if not ts:
            raise refused("no_item_specified")
        self.known_channel(channel)
        if not re.fullmatch(r"\d+\.\d{6}", ts):
            raise refused("bad_timestamp")
        if not re.fullmatch(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?", name):
            raise refused("invalid_name")
        if (channel, ts, name) in self._reactions:
            raise refused("already_reacted")
        self._reactions.add((channel, ts, name))
        self.record(request, channel, name, id=ts, account=BOT_NAME, kind="reaction", body=_without_token(args))
        return {"ok": True}

    def _set_status(self, request: web.Request, args: Mapping[str, Any]) -> dict[str, Any]:
        self.check_scope("assistant.threads.setStatus")
        channel, thread = required(args, "channel_id"), required(args, "thread_ts")
        self.known_channel(channel)
        self.record(
            request, channel, str(args.get("status", "")), id=thread, thread=thread, account=BOT_NAME,
            kind="action", body=_without_token(args),
        )  # fmt: skip
        return {"ok": True}

    def known_channel(self, channel: str) -> None:
        """Raise the refusal of what is not the ID of a channel."""
        if channel not in {_dm_of(place.id) for place in self.places.values()}:
            raise refused("channel_not_found")

    async def _respond(self, request: web.Request) -> web.Response:
        until, uses = self._response_urls.get(request.path, (0.0, itertools.count(1)))
        if self.clock() > until:
            return web.Response(status=404, text="expired_url")
        if next(uses) > MAX_RESPONSES:
            return web.Response(status=404, text="used_url")
        args, _ = await _arguments(request)
        text = str(args.get("text", ""))
        if not text and not args.get("blocks"):
            return web.Response(status=500, text="no_text")
        self.record(request, "response_url", unescape(text), id="", account=BOT_NAME, kind="response", body=args)
        return web.Response(text="ok")


def unescape(text: str) -> str:
    """Undo Slack's three escapes, as its clients do when they show a message."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _dm_of(place_id: str) -> str:
    return "D" + place_id[1:] if place_id[0] in "UW" else place_id


def _without_token(args: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in args.items() if name != "token"}


def required(args: Mapping[str, Any], name: str) -> str:
    """Return a field of a call, or refuse."""
    value = args.get(name)
    if not isinstance(value, str) or not value:
        messages = [f"[ERROR] missing required field: {name}"]
        raise refused("invalid_arguments", response_metadata={"messages": messages})
    return value


async def _arguments(request: web.Request) -> tuple[dict[str, Any], list[str]]:
    """Return the arguments as Slack reads them, and its warnings about the charset."""
    if request.method == "GET" or not request.body_exists:
        return dict(request.query), []
    if "Content-Type" not in request.headers:
        raise refused("missing_post_type")
    try:
        charset = (request.charset or "utf-8").casefold()
    except RuntimeError:
        charset = ""
    if charset not in ("utf-8", "iso-8859-1"):
        raise refused("invalid_charset")
    if request.content_type == "application/json":
        return await _json_arguments(request), [] if request.charset else ["missing_charset"]
    if request.content_type in ("application/x-www-form-urlencoded", "multipart/form-data"):
        form = await request.post()
        return {**request.query, **form}, ["superfluous_charset"] if request.charset else []
    if request.content_type == "text/plain":
        return dict(request.query), [] if request.charset else ["missing_charset"]
    raise refused("invalid_post_type")


async def _json_arguments(request: web.Request) -> dict[str, Any]:
    try:
        args = parse_json(await request.read())
    except ValueError:
        raise refused("invalid_json") from None
    if not isinstance(args, dict):
        raise refused("json_not_object")
    return args


def refused(error: str, **extra: Any) -> RefusalError:
    """Return the refusal with this code."""
    return RefusalError(_answer({"ok": False, "error": error, **extra}))


def _rate_limited(seconds: float) -> web.Response:
    return _answer({"ok": False, "error": "ratelimited"}, status=429, **{"Retry-After": whole_seconds(seconds)})


def _answer(data: Mapping[str, Any], *, status: int = 200, scopes: Iterable[str] = (), **headers: str) -> web.Response:
    if scopes:
        headers["x-oauth-scopes"] = ",".join(sorted(scopes))
    headers["x-slack-req-id"] = secrets.token_hex(16)
    return web.json_response(data, status=status, headers=headers)
