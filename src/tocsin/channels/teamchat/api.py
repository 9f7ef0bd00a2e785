"""The client of the Web API: calls, and the meaning of answers.

Source: docs/facts/teamchat.md.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.channels.attached import AttachedFile
from tocsin.channels.replies import invisibly, rate_limited, refused, unusable
from tocsin.core.config.settings import Values
from tocsin.core.config.variables import Variable, base_url, token
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.http.bodies import file_body
from tocsin.core.http.departure import upload_s
from tocsin.core.http.transport import CALL_TIMEOUT_S, HttpResponse, Transport
from tocsin.core.reading.untrusted import identifier

BOT_TOKEN = Variable(
    "TEAMCHAT_BOT_TOKEN",
    token,
    "",
    "Bot token `xoxb-…` with the scopes `chat:write` and `chat:write.public`; files need `files:write`.",
    secret=True,
    required=True,
    shape=r"xox[a-z]-[A-Za-z0-9-]{20,}",
)
API_URL = Variable("TEAMCHAT_API_URL", base_url, "https://slack.com/api", "Base URL of the Web API.")

# Remedies by the provider's error code; other codes are shown without one.
ADVICE = {
    "not_in_channel": "invite the bot or add chat:write.public",
    "channel_not_found": "wrong ID or name, or a private channel without the bot as a member",
    "is_archived": "the channel is archived; choose another one or unarchive it",
    "msg_too_long": "lower TEAMCHAT_CHUNK_AT; an edit takes at most 4,000 characters",
    "no_text": "the message has no visible text",
    "restricted_action": "a workspace setting does not allow the bot to post there; ask an admin",
    "invalid_auth": "invalid token; copy the bot token again into TEAMCHAT_BOT_TOKEN",
    "not_authed": "invalid token; copy the bot token again into TEAMCHAT_BOT_TOKEN",
    "account_inactive": "invalid token: the app was removed; install it again and set TEAMCHAT_BOT_TOKEN",
    "token_revoked": "invalid token: it was revoked; install the app again and set TEAMCHAT_BOT_TOKEN",
    "token_expired": "invalid token: it has expired; set a new TEAMCHAT_BOT_TOKEN",
    "user_not_found": "unknown user in this workspace",
    "cannot_dm_bot": "bots cannot receive direct messages",
    "message_not_found": "it was deleted there",
    "cant_update_message": "another app or person wrote the message",
    "cant_delete_message": "another app or person wrote the message",
    "edit_window_closed": "the workspace no longer allows editing it",
    "is_inactive": "the channel is archived or frozen",
    "msg_blocks_too_long": "shorten the text",
    "invalid_blocks": "Slack does not take this layout, which is a bug; report it",
    "invalid_blocks_format": "Slack does not take this layout, which is a bug; report it",
    "file_uploads_disabled": "the workspace allows no files; ask an admin",
    "file_uploads_except_images_disabled": "the workspace allows only pictures; ask an admin",
    "file_type_not_allowed": "the workspace does not allow files of this type; ask an admin",
    "file_upload_size_restricted": "the workspace does not allow files of this size; send a smaller one",
    "storage_limit_reached": "the storage of the workspace is full; ask an admin to remove files",
    "posting_to_channel_denied": "a workspace setting does not allow the bot to share files there; ask an admin",
}
TRANSIENT = {
    "external_channel_migrating",
    "fatal_error",
    "internal_error",
    "request_timeout",
    "service_unavailable",
    "update_failed",
}
# Methods that send something; their `fatal_error` may come after they did: docs/facts/teamchat.md.
CREATING = {"chat.postMessage", "files.completeUploadExternal"}
THROTTLED = {"ratelimited", "rate_limited"}
# Errors after which the bot cannot react to any message.
CANNOT_REACT = {
    "missing_scope",
    "not_authed",
    "invalid_auth",
    "account_inactive",
    "token_revoked",
    "not_allowed_token_type",
}


class TeamchatApi:
    """Calls of one app: methods by its bot token, and `response_url`s, which need none."""

    def __init__(self, config: Values, http: Transport) -> None:
        self._base = config[API_URL]
        self._token = config[BOT_TOKEN]
        self._http = http

    async def call(self, method: str, body: dict[str, Any], *, proof: str = "") -> dict[str, Any]:
        """Call `method`; an answer without the text field `proof` is not the provider's.

        Raises ChannelError for a refusal or an unusable answer, another RemoteError if there is no answer.
        """
        reply = await self._post(f"{self._base}/{method}", body, Authorization=f"Bearer {self._token}")
        return _answer(reply, proof, method)

    async def upload(self, file: AttachedFile) -> dict[str, str]:
        """Upload a file and return what `share` needs; it is invisible until then, so that a repeat is safe."""
        fields = {"filename": file.name, "length": str(file.size), "alt_txt": file.alt or None}
        asked = self.form("files.getUploadURLExternal", fields, proof="upload_url")
        place, body = await invisibly("the upload was interrupted", asked), file_body(file)
        sent = self._http.request(
            "POST",
            str(place["upload_url"]),
            headers={"Content-Type": body.content_type},
            body=body,
            timeout_s=CALL_TIMEOUT_S + upload_s(len(body)),
        )
        reply = await invisibly("the upload was interrupted", sent)
        if reply.status != 200:
            raise unusable(reply, API_URL.name)
        return {"id": str(place.get("file_id", "")), "title": file.name}

    async def share(self, files: Sequence[dict[str, str]], channel: str, thread: str) -> None:
        """Show uploaded files below a message; `channel` is an ID."""
        from json import dumps

        fields = {"files": dumps(list(files)), "channel_id": channel, "thread_ts": thread or None}
        await self.form("files.completeUploadExternal", fields)

    async def remove(self, file: str) -> None:
        """Delete a file of the app; one that is missing is deleted already."""
        try:
            await self.form("files.delete", {"file": file})
        except ChannelError as refusal:
            if refusal.provider_code not in {"file_not_found", "file_deleted"}:
                raise

    async def form(self, method: str, fields: Mapping[str, str | None], *, proof: str = "") -> dict[str, Any]:
        """Call a method that accepts forms only; raise as `call` does."""
        from urllib.parse import urlencode

        body = urlencode({name: value for name, value in fields.items() if value is not None})
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Authorization": f"Bearer {self._token}"}
        reply = await self._http.request("POST", f"{self._base}/{method}", headers=headers, body=body.encode())
        return _answer(reply, proof, method)

    async def respond(self, url: str, body: dict[str, Any]) -> None:
        """Post to a `response_url`, which answers in plain text; raises RemoteError."""
        reply = await self._post(url, body)
        answer = reply.json_object() or {}
        if reply.status == 200 and answer.get("ok") is not False:
            return
        code = _code(answer.get("error")) or _code(reply.body.decode("ascii", "replace").strip())
        if code in THROTTLED:
            raise rate_limited(reply.retry_after_s(), code)
        if not code or reply.status == 429 or reply.status >= 500:
            raise unusable(reply, API_URL.name)
        raise refused(code, "the reply is sent as a separate message")

    async def react(self, chat_id: str, message_ts: str) -> bool:
        """React with 👀; return False if the bot cannot react to any message. Raises RemoteError for other failures."""
        try:
            await self.call("reactions.add", {"channel": chat_id, "timestamp": message_ts, "name": "eyes"})
        except ChannelError as refusal:
            if refusal.provider_code in CANNOT_REACT:
                return False
            if refusal.provider_code != "already_reacted":
                raise
        return True

    async def own_ids(self) -> tuple[str, ...]:
        """Return the user ID and the bot ID that belong to the token; raises RemoteError."""
        answer = await self.call("auth.test", {})
        return tuple(own for name in ("user_id", "bot_id") if (own := identifier(answer.get(name))))

    async def _post(self, url: str, body: dict[str, Any], **headers: str) -> HttpResponse:
        from tocsin.core.text.compact_json import to_json  # loads json, which listing channels does not need

        headers["Content-Type"] = "application/json; charset=utf-8"
        return await self._http.request("POST", url, headers=headers, body=to_json(body).encode())


def _answer(reply: HttpResponse, proof: str, method: str) -> dict[str, Any]:
    """Return the answer to `method`; raise ChannelError for a refusal or an unusable answer."""
    answer = reply.json_object()
    if answer is None or not isinstance(answer.get("ok"), bool) or 300 <= reply.status < 400:
        raise unusable(reply, API_URL.name)
    if not answer["ok"]:
        raise _refusal(reply, answer, method)
    if proof and not isinstance(answer.get(proof), str):
        raise unusable(reply, API_URL.name)
    return answer


def _refusal(reply: HttpResponse, answer: dict[str, Any], method: str) -> ChannelError:
    code = _short(answer.get("error") or f"HTTP {reply.status}")
    if code in THROTTLED or reply.status == 429:
        return rate_limited(reply.retry_after_s(), code)
    if code == "missing_scope":
        needed, provided = (_short(answer.get(name, "?")) for name in ("needed", "provided"))
        return refused(code, f"add the scope {needed} and reinstall the app (it has: {provided})")
    if code == "fatal_error" and method in CREATING:
        return ChannelError(
            f"outcome unknown: {code}",
            hint="check the recipient's side before you send again",
            kind=FailureKind.AMBIGUOUS,
            provider_code=code,
        )
    if code in TRANSIENT or reply.status >= 500:
        return refused(code, "the provider has an internal problem; try again later", kind=FailureKind.TRANSIENT)
    advice = ADVICE.get(code) or (ADVICE["restricted_action"] if code.startswith("restricted_action") else "")
    return refused(code, advice)


def _short(value: object) -> str:
    """Return the provider's text on one line, shortened."""
    words = " ".join(str(value).split())
    return words if len(words) <= 300 else f"{words[:299]}…"


def _code(value: object) -> str:
    """Return the provider's error code; empty for other values, such as an HTML page."""
    return value if isinstance(value, str) and re.fullmatch(r"[a-z_]{3,60}", value) else ""
