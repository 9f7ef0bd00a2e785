"""Stand-in of a Mattermost server: one team, one bot. It imports nothing of ours: it plays the other side."""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tocsin_standins.faults import Fault
from tocsin_standins.recorder import Recorder
from tocsin_standins.serving import HttpStandIn, RefusalError, parse_json, whole_seconds

TOKEN = "instandinstandinstandinsta"  # noqa: S105  # opens nothing else
TEAM, CHANNEL, ARCHIVED, STRANGE = "ops-team", "alerts", "archived", "strange"
CHANNEL_ID, ARCHIVED_ID, STRANGE_ID = (
    f"{word:x<26}" for word in ("channelalerts", "channelarchived", "channelstrange")
)
BOT_ID, ANNA_ID = f"{'userbot':x<26}", f"{'useranna':x<26}"
MAX_MESSAGE = 16_383
SEEN_S = 30.0  # how long a repeated post is recognised
LABELS = {"important", "urgent"}
MAX_FILE_BYTES = 100 * 2**20
MAX_BUTTONS = 25
STYLES = {"default", "primary", "success", "good", "warning", "danger"}
PRIORITY_OFF = "api.post.post_priority.priority_post_not_allowed.app_error"
MEANINGS = {
    "api.context.404.app_error": (404, "Sorry, we could not find the page."),
    "api.context.session_expired.app_error": (401, "Invalid or expired session, please login again."),
    "api.context.permissions.app_error": (403, "You do not have the appropriate permissions."),
    "api.context.invalid_body_param.app_error": (400, "Invalid or missing parameter in request body."),
    "api.post.create_post.can_not_post_to_deleted.error": (400, "Can not post to deleted channel."),
    "api.post.create_post.root_id.app_error": (400, "Invalid RootId parameter."),
    "app.channel.get.existing.app_error": (404, "Unable to find the existing channel."),
    "app.channel.get_by_name.missing.app_error": (404, "Channel does not exist."),
    "app.team.get_by_name.missing.app_error": (404, "Unable to find the existing team."),
    "app.user.get_by_username.app_error": (404, "Unable to find an existing account matching your username."),
    "app.post.get.app_error": (404, "Unable to get the post."),
    "model.post.is_valid.msg.app_error": (400, "Invalid message."),
    "model.post.is_valid.file_ids.app_error": (400, "Invalid file ids."),
    "api.file.upload_file.too_large_detailed.app_error": (413, "Unable to upload file. File is too large."),
    "api.file.attachments.disabled.app_error": (501, "File attachments have been disabled on this server."),
    PRIORITY_OFF: (403, "Post priority is not allowed."),
}


@dataclass(slots=True)
class MattermostPlace:
    """A channel; the bot writes only where it is a member."""

    id: str
    name: str
    archived: bool = False
    member: bool = True


class MattermostServer(HttpStandIn):
    """The REST API of one server; the base URL for adapters is `url`.

    It has the team `ops-team` and the account `anna`. `labels` off is a server without priorities;
    `changes_files` off one that ignores other files in an edit.
    """

    channel = "mattermost"
    sample = f"{TEAM}/{CHANNEL}"

    def __init__(
        self, recorder: Recorder | None = None, *, token: str = TOKEN, labels: bool = True, max_files: int = 10,
        max_file_bytes: int = MAX_FILE_BYTES, changes_files: bool = True, **serving: Any
    ) -> None:  # fmt: skip
        super().__init__(recorder, **serving)
        self.max_files, self.max_file_bytes, self.changes_files = max_files, max_file_bytes, changes_files
        self.files: dict[str, tuple[str, bytes]] = {}  # channel and content by ID
        self.whispers: list[tuple[str, str]] = []  # people, and what only they see
        self.token = token
        self.labels = labels
        known = (
            MattermostPlace(CHANNEL_ID, CHANNEL),
            MattermostPlace(ARCHIVED_ID, ARCHIVED, archived=True),
            MattermostPlace(STRANGE_ID, STRANGE, member=False),
        )
        self.places = {place.id: place for place in known}
        self.people = {"anna": ANNA_ID, "tocsin": BOT_ID}
        self.posts: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, tuple[float, dict[str, Any]]] = {}

    def environment(self) -> dict[str, str]:
        """Return the settings that point the channel here."""
        return {"MATTERMOST_URL": self.url, "MATTERMOST_TOKEN": self.token}

    def operation(self, request: web.Request) -> str:
        """Return a name such as `POST posts`, `PUT patch` or `GET me`."""
        parts = request.path.removeprefix("/api/v4/").split("/")
        last = "posts" if parts[0] == "posts" and parts[-1] != "patch" else parts[-1]
        return f"{request.method} {last}"

    def routes(self) -> Iterable[web.AbstractRouteDef]:
        v4 = "/api/v4"
        return [
            web.get(v4 + "/users/me", self._me),
            web.get(v4 + "/users/username/{name}", self._user),
            web.post(v4 + "/channels/direct", self._direct),
            web.get(v4 + "/teams/name/{team}/channels/name/{name}", self._place_by_name),
            web.post(v4 + "/posts", self._post),
            web.post(v4 + "/files", self._upload),
            web.put(v4 + "/posts/{post}/patch", self._patch),
            web.delete(v4 + "/posts/{post}", self._delete),
            web.route("*", "/{tail:.*}", self._missing),
        ]

    def refusal(self, fault: Fault) -> web.Response:
        """Answer with one of the server's error IDs, or as its rate limiter, which answers in plain text."""
        if fault.kind == "rate_limited":
            headers = {"X-Ratelimit-Reset": whole_seconds(fault.seconds), "Retry-After": whole_seconds(fault.seconds)}
            return web.Response(status=429, text="limit exceeded", headers=headers)
        return answer_with(fault.code, fault.text, status=fault.http_status)

    async def _me(self, request: web.Request) -> web.Response:
        self._check(request)
        return web.json_response({"id": BOT_ID, "username": "tocsin", "is_bot": True})

    async def _user(self, request: web.Request) -> web.Response:
        self._check(request)
        name = request.match_info["name"]
        if name not in self.people:
            raise refuse("app.user.get_by_username.app_error")
        return web.json_response({"id": self.people[name], "username": name})

    async def _direct(self, request: web.Request) -> web.Response:
        self._check(request)
        pair = parse_json(await request.read())
        if not isinstance(pair, list) or len(pair) != 2 or not set(pair) <= set(self.people.values()):
            raise refuse("api.context.invalid_body_param.app_error")
        id_ = f"{'direct' + min(pair)[:10]:x<26}"
        self.places.setdefault(id_, MattermostPlace(id_, "__".join(sorted(pair))))
        return web.json_response({"id": id_, "type": "D"}, status=201)

    async def _place_by_name(self, request: web.Request) -> web.Response:
        self._check(request)
        if request.match_info["team"] != TEAM:
            raise refuse("app.team.get_by_name.missing.app_error")
        named = [place for place in self.places.values() if place.name == request.match_info["name"]]
        if not named:
            raise refuse("app.channel.get_by_name.missing.app_error")
        return web.json_response({"id": named[0].id, "name": named[0].name})

    async def _post(self, request: web.Request) -> web.Response:
        self._check(request)
        known = {"channel_id", "message", "root_id", "props", "metadata", "pending_post_id", "file_ids"}
        given = await read_object(request, known)
        place = self._writable(str(given.get("channel_id", "")))
        pending = str(given.get("pending_post_id", ""))
        at, earlier = self._seen.get(pending, (0.0, {}))
        if pending and earlier and self.clock() - at < SEEN_S:
            text = earlier["message"]
            self.record(request, place.id, text, id=earlier["id"], account="tocsin", kind="duplicate", body=given)
            return web.json_response(earlier, status=201)
        message, root = checked_message(given), given.get("root_id", "")
        if root and (root not in self.posts or self.posts[root]["root_id"]):
            raise refuse("api.post.create_post.root_id.app_error")
        self._check_label(given, root)
        check_buttons(given)
        post = {
            "id": identifier(), "channel_id": place.id, "user_id": BOT_ID, "message": message, "root_id": root,
            "create_at": int(self.clock() * 1000), "props": given.get("props", {}), "pending_post_id": pending,
            "file_ids": self._checked_files(given, place.id),
        }  # fmt: skip
        self.posts[post["id"]] = post
        self._seen[pending] = self.clock(), post
        self.record(request, place.id, message, id=post["id"], account="tocsin", thread=root, body=given)
        return web.json_response(post, status=201)

    async def _patch(self, request: web.Request) -> web.Response:
        self._check(request)
        given = await read_object(request, {"message", "props", "file_ids", "is_pinned"})
        post = self._own_post(request)
        check_buttons(given)
        if "file_ids" in given and self.changes_files:
            post["file_ids"] = self._checked_files(given, post["channel_id"])
        post |= {
            "message": checked_message({"file_ids": post["file_ids"], **given}),
            "edit_at": int(self.clock() * 1000),
        }
        post |= {name: given[name] for name in ("props",) if name in given}
        text = post["message"]
        self.record(request, post["channel_id"], text, id=post["id"], account="tocsin", kind="edit", body=given)
        return web.json_response(post)

    async def _delete(self, request: web.Request) -> web.Response:
        self._check(request)
        post = self._own_post(request)
        del self.posts[post["id"]]
        self.record(request, post["channel_id"], "", id=post["id"], account="tocsin", kind="deletion")
        return web.json_response({"status": "OK"})

    async def _upload(self, request: web.Request) -> web.Response:
        self._check(request)
        form = await request.post()
        file, place = form.get("files"), self._writable(str(form.get("channel_id", "")))
        if set(form) != {"channel_id", "files"} or not isinstance(file, web.FileField):
            raise refuse("api.context.invalid_body_param.app_error")
        data = file.file.read()
        if len(data) > self.max_file_bytes:
            raise refuse("api.file.upload_file.too_large_detailed.app_error")
        file_id = identifier()
        self.files[file_id] = (place.id, data)
        info = {"id": file_id, "name": file.filename, "size": len(data), "mime_type": file.content_type}
        return web.json_response({"file_infos": [info], "client_ids": []}, status=201)

    def press(self, post_id: str, number: int = 0) -> tuple[str, dict[str, Any]]:
        """Return address and body of the call that the server makes when anna presses a button of a post."""
        post = self.posts[post_id]
        [shown] = post["props"]["attachments"]
        action = shown["actions"][number]["integration"]
        body = {
            "user_id": ANNA_ID, "user_name": "anna", "channel_id": post["channel_id"], "post_id": post_id,
            "team_id": "", "trigger_id": identifier(), "type": "button", "data_source": "",
            "context": action["context"],
        }  # fmt: skip
        return action["url"], body

    def answered(self, body: bytes) -> None:
        """Show anna what the answer to the call of a press contains; raise ValueError for an unknown field."""
        answer = parse_json(body)
        if not isinstance(answer, dict) or set(answer) - {"update", "ephemeral_text", "error", "skip_slack_parsing"}:
            raise ValueError("not an answer to the call of a button")
        if text := answer.get("ephemeral_text"):
            self.whispers.append((ANNA_ID, text))

    def _checked_files(self, given: Mapping[str, Any], channel: str) -> list[str]:
        """Return the IDs of the files of a post, or refuse."""
        file_ids = given.get("file_ids", [])
        if not isinstance(file_ids, list) or len(file_ids) > self.max_files:
            raise refuse("model.post.is_valid.file_ids.app_error")
        if any(self.files.get(each, ("",))[0] != channel for each in file_ids):
            raise refuse("api.context.invalid_body_param.app_error")
        return file_ids

    async def _missing(self, request: web.Request) -> web.Response:
        raise refuse("api.context.404.app_error")

    def _check(self, request: web.Request) -> None:
        given = request.headers.get("Authorization", "")
        if not secrets.compare_digest(given.encode(), f"Bearer {self.token}".encode()):
            raise refuse("api.context.session_expired.app_error")

    def _check_label(self, given: Mapping[str, Any], root: str) -> None:
        metadata = given.get("metadata")
        if metadata is None:
            return
        if not isinstance(metadata, dict) or metadata.get("priority", {}).get("priority") not in LABELS or root:
            raise refuse("api.context.invalid_body_param.app_error")
        if not self.labels:
            raise refuse(PRIORITY_OFF)

    def _writable(self, id_: str) -> MattermostPlace:
        place = self.places.get(id_)
        if place is None or not place.member:  # a channel that the bot does not see is no different
            raise refuse("api.context.permissions.app_error")
        if place.archived:
            raise refuse("api.post.create_post.can_not_post_to_deleted.error")
        return place

    def _own_post(self, request: web.Request) -> dict[str, Any]:
        post = self.posts.get(request.match_info["post"])
        if post is None:
            raise refuse("app.post.get.app_error")
        return post


async def read_object(request: web.Request, fields: set[str]) -> dict[str, Any]:
    """Return the JSON object of a request, or refuse; a field that the API lacks is a mistake of the caller."""
    try:
        given = parse_json(await request.read())
    except ValueError:
        given = None
    if not isinstance(given, dict) or request.content_type != "application/json" or set(given) - fields:
        raise refuse("api.context.invalid_body_param.app_error")
    return given


def checked_message(given: Mapping[str, Any]) -> str:
    """Return the text of a post, or refuse."""
    message = given.get("message")
    if not isinstance(message, str) or not (message.strip() or given.get("file_ids")):
        raise refuse("api.context.invalid_body_param.app_error")
    if len(message) > MAX_MESSAGE:
        raise refuse("model.post.is_valid.msg.app_error")
    return message


def check_buttons(given: Mapping[str, Any]) -> None:
    """Refuse buttons that the server would not show."""
    for attachment in (given.get("props") or {}).get("attachments", []):
        actions = attachment.get("actions", [])
        well = len(actions) <= MAX_BUTTONS and all(
            re.fullmatch(r"[A-Za-z0-9]+", str(each.get("id"))) and each.get("type") == "button" and each.get("name")
            and each.get("style", "default") in STYLES
            and str(each["integration"]["url"]).startswith(("http:", "https:"))
            for each in actions
        )  # fmt: skip
        if not well:
            raise refuse("api.context.invalid_body_param.app_error")


def mentioned(message: str) -> list[str]:
    """Return the names that a text notifies: words after a sign, outside of code."""
    text = re.sub(r"`[^`]*`", " ", message)
    return re.findall(r"(?<![^\s(\[{,;!?*_~>\"'])@([a-z0-9][a-z0-9._-]*)", text, re.IGNORECASE)


def identifier() -> str:
    """Return a random ID."""
    return "".join(secrets.choice(string.ascii_lowercase + string.digits) for _ in range(26))


def refuse(code: str) -> RefusalError:
    """Return the refusal with this error ID."""
    return RefusalError(answer_with(code))


def answer_with(code: str, text: str = "", *, status: int = 0) -> web.Response:
    """Return the answer with this error ID; text and status default to the product's."""
    usual_status, usual_text = MEANINGS.get(code, (500, "An error occurred."))
    status = status or usual_status
    body = {"id": code, "message": text or usual_text, "detailed_error": "", "request_id": identifier()}
    return web.json_response({**body, "status_code": status}, status=status)
