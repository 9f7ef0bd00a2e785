"""The client of the REST API: calls, and the meaning of answers. Source: docs/facts/mattermost.md, "Errors"."""

from typing import Any

from tocsin.channels.attached import AttachedFile
from tocsin.channels.replies import invisibly, rate_limited, refused, unusable
from tocsin.core.config.settings import Values
from tocsin.core.config.variables import Variable, base_url, token
from tocsin.core.errors import ChannelError, FailureKind, RemoteError
from tocsin.core.http.bodies import StreamedBody, multipart
from tocsin.core.http.departure import upload_s
from tocsin.core.http.transport import CALL_TIMEOUT_S, HttpResponse, Transport

URL = Variable("MATTERMOST_URL", base_url, "", "Address of the server, as in a browser.", required=True)
TOKEN = Variable("MATTERMOST_TOKEN", token, "", "Access token of the bot account.", secret=True, required=True)

MAX_CHARS = 16_383  # of a post
IN_FLIGHT = "api.post.deduplicate_create_post.pending"
POST_MISSING = "app.post.get.app_error"
TOO_OLD = "api.post.update_post.permissions_time_limit.app_error"
# Remedies by the server's error ID, or by the status for IDs that are not here.
ADVICE = {
    "api.context.session_expired.app_error": "the token was revoked, or the bot is disabled; create a token and put it "
    "into MATTERMOST_TOKEN",
    "api.context.invalid_token.error": "create a token for the bot, and put it into MATTERMOST_TOKEN",
    "api.context.permissions.app_error": "add the bot to the team and to the channel",
    "api.post.create_post.can_not_post_to_deleted.error": "the channel is archived; unarchive it or choose another one",
    "api.post.create_post.town_square_read_only": "only administrators may post there; choose another channel",
    "app.channel.get.existing.app_error": "no channel has this ID; copy it from View Info of the channel",
    "app.channel.get_by_name.missing.app_error": "write the name as in the channel's address, and add the bot to a "
    "private channel",
    "app.team.get_by_name.missing.app_error": "write the team's name as in its address",
    "app.user.get_by_username.app_error": "no active account has this user name",
    POST_MISSING: "it was deleted there",
    TOO_OLD: "an administrator can raise the time limit for editing posts",
    "api.file.upload_file.too_large_detailed.app_error": "the server takes no files of this size; send a smaller one",
    "api.file.attachments.disabled.app_error": "the server allows no files; an administrator can change that",
    "model.post.is_valid.file_ids.app_error": "older servers take 5 files in a post; send the others in a second one",
    "model.post.is_valid.msg.app_error": "the server's limit for posts is lower; shorten the text",
    "401": "create a token for the bot, and put it into MATTERMOST_TOKEN",
    "403": "add the bot to the team and to the channel",
    "404": "check the target and MATTERMOST_URL",
    "413": "the server's limit is lower; an administrator can raise it",
}


class MattermostApi:
    """The calls of one bot."""

    def __init__(self, config: Values, http: Transport) -> None:
        self._config = config
        self._http = http

    async def call(self, method: str, path: str, document: Any = None, *, proof: str = "id") -> dict[str, Any]:
        """Return the answer, which is the server's only if it has the text field `proof`. Raises RemoteError."""
        from json import dumps

        body = b"" if document is None else dumps(document, ensure_ascii=False).encode()
        reply = await self._request(method, path, body, "" if document is None else "application/json")
        answer = reply.json_object() or {}
        if reply.status in {200, 201} and isinstance(answer.get(proof), str):
            return answer
        raise _failure(reply, answer)

    async def look_up(self, path: str, document: Any = None) -> str:
        """Return the ID of what a call finds. Raises RemoteError; without an answer, nothing happened yet."""
        call = self.call("GET" if document is None else "POST", path, document)
        return str((await invisibly("the target could not be looked up", call))["id"])

    async def upload(self, file: AttachedFile, channel: str) -> str:
        """Upload a file, which is invisible until a post of the channel names it; return its ID. Raises RemoteError."""
        body = multipart({"channel_id": channel}, [("files", file)])
        sent = self._request("POST", "/files", body, body.content_type)
        reply = await invisibly("the upload was interrupted", sent)
        answer = reply.json_object() or {}
        try:
            return str(answer["file_infos"][0]["id"])
        except (KeyError, IndexError, TypeError):
            raise _failure(reply, answer) from None

    async def _request(self, method: str, path: str, body: bytes | StreamedBody, kind: str) -> HttpResponse:
        headers = {"Authorization": f"Bearer {self._config[TOKEN]}"} | ({"Content-Type": kind} if kind else {})
        timeout_s = CALL_TIMEOUT_S + (0.0 if isinstance(body, bytes) else upload_s(len(body)))
        url = f"{self._config[URL]}/api/v4{path}"
        return await self._http.request(method, url, headers=headers, body=body, timeout_s=timeout_s)


def _failure(reply: HttpResponse, answer: dict[str, Any]) -> RemoteError:
    code = answer.get("id")
    if reply.status < 400 or not isinstance(code, str) or "message" not in answer:
        return unusable(reply, URL.name, whole_account=True)
    said = " ".join(f"{code} {answer['message']}".split())[:300].rstrip(".")
    if reply.status == 429:
        return rate_limited(reply.retry_after_s(), said, whole_account=True)
    if reply.status >= 500 or code.startswith(IN_FLIGHT):
        hint = "the server has an internal problem; try again later" if reply.status >= 500 else "it is sent again"
        return ChannelError(said, hint=hint, kind=FailureKind.TRANSIENT, provider_code=code)
    failure = refused(said, ADVICE.get(code) or ADVICE.get(str(reply.status), ""))
    failure.provider_code = code
    return failure
