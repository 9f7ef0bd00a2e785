"""The client of the server's API: calls, and the meaning of answers. Source: docs/facts/ntfy.md, "Errors"."""

from collections.abc import Mapping
from typing import Any

from tocsin.channels.ntfy.settings import TOKEN, URL
from tocsin.channels.replies import rate_limited, refused, unusable
from tocsin.core.config.settings import Values
from tocsin.core.errors import FailureKind
from tocsin.core.http.bodies import StreamedBody
from tocsin.core.http.departure import upload_s
from tocsin.core.http.transport import CALL_TIMEOUT_S, HttpResponse, Transport

# Remedies by the server's error code; other codes are shown without one.
ADVICE = {
    40009: "a topic has 1 to 64 letters, digits, _ and -",
    40010: "the server reserves this name; choose another topic",
    40014: "the server stores no attachments; its operator can set `attachment-cache-dir`",
    40013: "the server does not read the address of the file; send the file again",
    40018: "the server does not accept a button; shorten its address",
    40101: "the token was revoked, expired or belongs to another server; create one and put it into NTFY_TOKEN",
    40301: "grant the account the right to write (`ntfy access USER TOPIC write-only`), or set its NTFY_TOKEN",
    40401: "the server has no such page; check NTFY_URL",
    41301: "the file is larger than the server accepts, or its room or the day's bandwidth is used up",
    50701: "the server delivers this topic only while someone is subscribed to it",
}
# Seconds to wait, because the server tells none: a request is free again after 5 s, a quota after a day at most.
_WAITS_S = {42901: 10.0, 42905: 3600.0, 42908: 3600.0, 42909: 60.0}


class NtfyApi:
    """The calls of one account."""

    def __init__(self, config: Values, http: Transport) -> None:
        self._config = config
        self._http = http

    async def call(
        self, method: str, path: str, headers: Mapping[str, str] | None = None,
        body: bytes | StreamedBody = b"", *, proof: str,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the answer, which is the server's only if it has the text field `proof`. Raises RemoteError."""
        sent = dict(headers or {})
        if self._config[TOKEN]:
            sent["Authorization"] = f"Bearer {self._config[TOKEN]}"
        timeout_s = CALL_TIMEOUT_S + (0.0 if isinstance(body, bytes) else upload_s(len(body)))
        url = f"{self._config[URL]}{path}"
        reply = await self._http.request(method, url, headers=sent, body=body, timeout_s=timeout_s)
        answer = reply.json_object() or {}
        if reply.status == 200 and isinstance(answer.get(proof), str):
            return answer
        raise _failure(reply, answer)


def _failure(reply: HttpResponse, answer: dict[str, Any]) -> Exception:
    code = answer.get("code")
    if not isinstance(code, int) or reply.status < 400:
        return unusable(reply, URL.name, whole_account=True)
    said = " ".join(f"{code} {answer.get('error', '')}".split())[:200]
    if reply.status == 429:
        # Who goes on after a 429 is banned by address, so that it holds every topic.
        return rate_limited(reply.retry_after_s() or _WAITS_S.get(code), said, whole_account=True)
    kind = FailureKind.TRANSIENT if reply.status >= 500 and code != 50701 else FailureKind.PERMANENT
    return refused(said, ADVICE.get(code, ""), kind=kind)
