"""The client of the client-server API: calls, and the meaning of answers. Source: docs/facts/matrix.md, "Errors"."""

from typing import Any

from tocsin.channels.attached import AttachedFile
from tocsin.channels.replies import invisibly, rate_limited, refused, repeat_once, unusable
from tocsin.core.config.settings import Values
from tocsin.core.config.variables import Variable, base_url, token
from tocsin.core.errors import ChannelError, FailureKind, RemoteError, clamp_retry_after_s
from tocsin.core.http.bodies import StreamedBody, file_body
from tocsin.core.http.departure import upload_s
from tocsin.core.http.transport import CALL_TIMEOUT_S, HttpResponse, Transport

URL = Variable("MATRIX_URL", base_url, "", "Address of the homeserver, such as https://matrix.org.", required=True)
TOKEN = Variable(
    "MATRIX_TOKEN",
    token,
    "",
    "Access token of the bot's account, from a login with a device.",
    secret=True,
    required=True,
)

MISSING = "M_NOT_FOUND"
# Remedies by the homeserver's error code; other codes are shown without one.
ADVICE = {
    "M_UNKNOWN_TOKEN": "the token expired or was revoked; log in again, and put the new one into MATRIX_TOKEN",
    "M_MISSING_TOKEN": "a proxy removed the token; let it pass the header Authorization",
    "M_FORBIDDEN": "the bot is not in the room, was removed, or may not send there; invite it, and let it join",
    "M_NOT_FOUND": "no such room or alias on this homeserver; copy it from the room's settings",
    "M_TOO_LARGE": "the text is too long for an event, or the file too large for the homeserver; send less",
    "M_UNRECOGNIZED": "not a homeserver, or an old one; check MATRIX_URL",
    "M_USER_DEACTIVATED": "the account was deactivated; create another one",
    "M_USER_LOCKED": "an administrator of the homeserver locked the account",
    "M_USER_SUSPENDED": "an administrator of the homeserver suspended the account",
    "M_CONSENT_NOT_GIVEN": "sign in as the bot once, and accept the terms of the homeserver",
    "M_RESOURCE_LIMIT_EXCEEDED": "the homeserver has reached a limit; its administrator can raise it",
    "M_GUEST_ACCESS_FORBIDDEN": "guests may not send; register an account",
}


class MatrixApi:
    """The calls of one account."""

    def __init__(self, config: Values, http: Transport) -> None:
        self._config = config
        self._http = http

    async def put(self, path: str, document: Any) -> str:
        """Send an event and return its ID; an unanswered call is repeated once, because it has a transaction ID."""
        return str((await repeat_once(lambda: self._call("PUT", path, document, "event_id")))["event_id"])

    async def get(self, path: str, proof: str) -> dict[str, Any]:
        """Look something up, which is the homeserver's answer only with the field `proof`. Raises RemoteError."""
        return await invisibly("the room could not be looked up", self._call("GET", path, None, proof))

    async def largest_upload(self) -> int:
        """Return the bytes that a file may have; 0 if the homeserver does not say. Raises RemoteError."""
        asked = self._request("GET", "/_matrix/client/v1/media/config")
        reply = await invisibly("the limit for files could not be looked up", asked)
        size = (reply.json_object() or {}).get("m.upload.size")
        return size if reply.status == 200 and isinstance(size, int) else 0

    async def upload(self, file: AttachedFile) -> str:
        """Upload a file, which is invisible until an event names it, and return its address. Raises RemoteError."""
        from urllib.parse import quote

        path = f"/_matrix/media/v3/upload?filename={quote(file.name, safe='')}"
        sent = self._request("POST", path, file_body(file), file.type)
        reply = await invisibly("the upload was interrupted", sent)
        return str(_found(reply, "content_uri")["content_uri"])

    async def _call(self, method: str, path: str, document: Any, proof: str) -> dict[str, Any]:
        from json import dumps

        body = b"" if document is None else dumps(document, ensure_ascii=False).encode()
        kind = "" if document is None else "application/json"
        return _found(await self._request(method, f"/_matrix/client/v3{path}", body, kind), proof)

    async def _request(self, method: str, path: str, body: bytes | StreamedBody = b"", kind: str = "") -> HttpResponse:
        headers = {"Authorization": f"Bearer {self._config[TOKEN]}"} | ({"Content-Type": kind} if kind else {})
        timeout_s = CALL_TIMEOUT_S + (0.0 if isinstance(body, bytes) else upload_s(len(body)))
        url = f"{self._config[URL]}{path}"
        return await self._http.request(method, url, headers=headers, body=body, timeout_s=timeout_s)


def _found(reply: HttpResponse, proof: str) -> dict[str, Any]:
    answer = reply.json_object() or {}
    if reply.status == 200 and isinstance(answer.get(proof), str):
        return answer
    raise _failure(reply, answer)


def _failure(reply: HttpResponse, answer: dict[str, Any]) -> RemoteError:
    code = answer.get("errcode")
    if reply.status < 400 or not isinstance(code, str):
        return unusable(reply, URL.name, whole_account=True)
    said = " ".join(f"{code} {answer.get('error', '')}".split())[:300].rstrip(".")
    if reply.status == 429:
        told = answer.get("retry_after_ms")
        wait_s = clamp_retry_after_s(told / 1000) if isinstance(told, int | float) else None
        return rate_limited(reply.retry_after_s() or wait_s, said, whole_account=True)
    if reply.status >= 500:
        hint = "the homeserver has an internal problem; try again later"
        return ChannelError(said, hint=hint, kind=FailureKind.TRANSIENT, provider_code=code)
    failure = refused(said, ADVICE.get(code, ""))
    failure.provider_code = code
    return failure
