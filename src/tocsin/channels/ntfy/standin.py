"""Stand-in of an ntfy server: topics, accounts, sequences. It imports nothing of ours: it plays the other side."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from email.header import decode_header, make_header
from typing import Any

from aiohttp import web

from tocsin_standins.faults import Fault
from tocsin_standins.pacing import SlidingWindow
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import HttpStandIn, RefusalError

TOKEN = "tk_InStandInStandInStandInStand0"  # noqa: S105  # opens nothing else
TOPIC = "ops"
MESSAGE_BYTES = 4_096
TITLE_BYTES = 1_024
DISALLOWED = {"docs", "static", "file", "app", "account", "settings", "signup", "login", "v1", "metrics"}
MEANINGS = {
    40007: (400, "invalid priority parameter"),
    40009: (400, "invalid request: topic invalid"),
    40010: (400, "invalid request: topic name is not allowed"),
    40011: (400, "invalid request: message must be UTF-8 encoded"),
    40013: (400, "invalid request: attachment URL is invalid"),
    40014: (400, "invalid request: attachments not allowed"),
    40018: (400, "invalid request: actions invalid"),
    40049: (400, "invalid request: sequence ID invalid"),
    40101: (401, "unauthorized"),
    40301: (403, "forbidden"),
    40401: (404, "page not found"),
    41301: (413, "attachment too large, or bandwidth limit reached"),
    42901: (429, "limit reached: too many requests"),
    42908: (429, "limit reached: daily message quota reached"),
    50001: (500, "internal server error"),
}
_NAME = re.compile(r"[-_A-Za-z0-9]{1,64}")
_KNOWN_HEADERS = {
    "x-title",
    "x-priority",
    "x-tags",
    "x-click",
    "x-actions",
    "x-sequence-id",
    "x-message",
    "x-filename",
    "x-attach",
}


class NtfyServer(HttpStandIn):
    """A server with one account; the base URL for adapters is `url`.

    Writing to the topics of `protected` takes the account's token; those of `closed` refuse everyone. Before 2.16, a
    server has no `sequences`. `paced` allows 60 requests at once and one every 5 seconds after them.
    """

    channel = "ntfy"
    sample = TOPIC

    def __init__(
        self,
        recorder: Recorder | None = None,
        *,
        token: str = TOKEN,
        protected: Iterable[str] = (TOPIC,),
        closed: Iterable[str] = ("closed",),
        sequences: bool = True,
        paced: bool = False,
        file_bytes: int = 15 * 2**20,
        **serving: Any,
    ) -> None:
        super().__init__(recorder, **serving)
        self.token = token
        self.protected, self.closed = set(protected), set(closed)
        self.sequences = sequences
        self.file_bytes = file_bytes
        self.files: dict[str, bytes] = {}  # contents by their address
        self.shown: dict[tuple[str, str], dict[str, Any]] = {}  # what a device shows, by topic and sequence
        self._window = SlidingWindow(60, 300.0) if paced else None

    def environment(self) -> dict[str, str]:
        """Return the settings that point the channel here."""
        return {"NTFY_URL": self.url, "NTFY_TOKEN": self.token, "NTFY_PER_MINUTE": "100000"}

    def operation(self, request: web.Request) -> str:
        """Return `publish`, `delete` or `account`."""
        return {"PUT": "publish", "POST": "publish", "DELETE": "delete"}.get(request.method, "account")

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        return [
            web.get("/v1/account", self._account),
            web.put("/{topic}", self._publish),
            web.post("/{topic}", self._publish),
            web.delete("/{topic}/{sequence}", self._delete),
            web.route("*", "/{tail:.*}", self._missing),
        ]

    def refusal(self, fault: Fault) -> web.Response:
        """Answer with one of the server's error codes; without `Retry-After`, as the server does."""
        if fault.kind == "rate_limited":
            return answer_with(42901)
        code = int(fault.code) if fault.code.isdigit() else 50001
        return answer_with(code, fault.text, status=fault.http_status)

    async def _account(self, request: web.Request) -> web.Response:
        known = self._is_known(request)
        account = {"username": "tocsin", "role": "user"} if known else {"username": "*", "role": "anonymous"}
        return web.json_response({**account, "limits": {"basis": "ip", "messages": 17_280}})

    async def _publish(self, request: web.Request) -> web.Response:
        topic = self._writable(request)
        given = headers_of(request)
        if unknown := {name for name in given if name.startswith("x-")} - _KNOWN_HEADERS:
            raise refuse(40000, f"invalid request: header {min(unknown)}")
        message: dict[str, Any] = {"id": identifier(), "time": int(self.clock()), "event": "message", "topic": topic}
        message |= content_of(given)
        body = await request.read()
        name = given.get("x-filename", "attachment.txt")
        if attached := given.get("x-attach"):
            if not attached.startswith(("http:", "https:")) or body:
                raise refuse(40013)
            message["attachment"] = {"name": name, "url": attached}
            message["message"] = message_of(given, name)
        elif len(body) >= MESSAGE_BYTES or "x-filename" in given:
            if len(body) > self.file_bytes:
                raise refuse(41301)
            url = f"{self.url}/file/{message['id']}"
            message["attachment"] = {"name": name, "size": len(body), "url": url}
            message["message"] = message_of(given, name)
            self.files[url] = body
        else:
            try:
                message["message"] = body.decode().strip() or "triggered"
            except UnicodeDecodeError:
                raise refuse(40011) from None
        sequence = self._sequence(given) or message["id"]
        if sequence != message["id"]:
            message["sequence_id"] = sequence
        kind = "edit" if (topic, sequence) in self.shown else "message"
        self.shown[topic, sequence] = message
        text = "\n".join(filter(None, [message.get("title", ""), message["message"]]))
        self.record(request, topic, text, id=sequence, account="tocsin", kind=kind, body=message)
        return web.json_response(message)

    async def _delete(self, request: web.Request) -> web.Response:
        if not self.sequences:
            raise refuse(40401)
        topic, sequence = self._writable(request), request.match_info["sequence"]
        if not _NAME.fullmatch(sequence):
            raise refuse(40049)
        self.shown.pop((topic, sequence), None)
        self.record(request, topic, "", id=sequence, account="tocsin", kind="deletion")
        event = {"id": identifier(), "time": int(self.clock()), "event": "message_delete", "topic": topic}
        return web.json_response({**event, "sequence_id": sequence})

    async def _missing(self, request: web.Request) -> web.Response:
        raise refuse(40401)

    def _sequence(self, given: Mapping[str, str]) -> str:
        sequence = given.get("x-sequence-id", "") if self.sequences else ""
        if sequence and not _NAME.fullmatch(sequence):
            raise refuse(40049)
        return sequence

    def _is_known(self, request: web.Request) -> bool:
        """Whether the request is the account's; refuse a wrong token, also where none is needed."""
        given = request.headers.get("Authorization", "")
        if given and not secrets.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            raise refuse(40101)
        return bool(given)

    def _writable(self, request: web.Request) -> str:
        topic = request.match_info["topic"]
        if not _NAME.fullmatch(topic):
            raise refuse(40009)
        if topic in DISALLOWED:
            raise refuse(40010)
        known = self._is_known(request)
        if topic in self.closed or (topic in self.protected and not known):
            raise refuse(40301)
        if self._window and self._window.take("", self.clock()):
            raise refuse(42901)
        return topic


def headers_of(request: web.Request) -> dict[str, str]:
    """Return the headers with lower-case names and decoded words (RFC 2047)."""
    return {name.lower(): str(make_header(decode_header(value))) for name, value in request.headers.items()}


def message_of(given: Mapping[str, str], name: str) -> str:
    """Return the text of a message with a file, in which a backslash and an n are a line end."""
    text = given.get("x-message", "").replace("\\n", "\n")
    if len(text.encode()) > MESSAGE_BYTES:
        raise refuse(40000, "invalid request: message too long")
    return text or f"You received a file: {name}"


def content_of(given: Mapping[str, str]) -> dict[str, Any]:
    """Return what the headers add to a message, or refuse."""
    found: dict[str, Any] = {}
    if title := given.get("x-title", ""):
        if len(title.encode()) > TITLE_BYTES:
            raise refuse(40000, "invalid request: title too long")
        found["title"] = title
    if priority := given.get("x-priority", ""):
        if priority not in {"1", "2", "3", "4", "5"}:
            raise refuse(40007)
        found["priority"] = int(priority)
    if tags := given.get("x-tags", ""):
        found["tags"] = [tag.strip() for tag in tags.split(",") if tag.strip()]
    if click := given.get("x-click", ""):
        found["click"] = click
    if actions := given.get("x-actions", ""):
        found["actions"] = read_actions(actions)
    return found


def read_actions(text: str) -> list[dict[str, Any]]:
    """Return the buttons of a header in JSON, or refuse."""
    try:
        actions = json.loads(text)
    except ValueError:
        raise refuse(40018, "invalid request: actions invalid, JSON error") from None
    if not isinstance(actions, list) or len(actions) > 3:
        raise refuse(40018, "invalid request: actions invalid, only 3 actions allowed")
    for action in actions:
        if not isinstance(action, dict) or action.get("action") not in {"view", "http", "broadcast"}:
            raise refuse(40018)
        if not action.get("label") or (action["action"] != "broadcast" and not action.get("url")):
            raise refuse(40018, "invalid request: actions invalid, parameter 'label' or 'url' is required")
    return [{"id": identifier(), "clear": False, **action} for action in actions]


def identifier() -> str:
    """Return a random message ID."""
    return secrets.token_urlsafe(9).replace("-", "a").replace("_", "b")


def refuse(code: int, text: str = "") -> RefusalError:
    """Return the refusal with this code."""
    return RefusalError(answer_with(code, text))


def answer_with(code: int, text: str = "", *, status: int = 0) -> web.Response:
    """Return the answer with this code; text and status default to the product's."""
    usual_status, usual_text = MEANINGS.get(code, (400, "invalid request"))
    status = status or usual_status
    body = {"code": code, "http": status, "error": text or usual_text, "link": "https://ntfy.sh/docs/publish/"}
    return web.json_response(body, status=status)
