"""The client of the REST API: calls, the meaning of answers, rate limits.

Source: docs/facts/guildchat.md.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tocsin import __version__
from tocsin.channels.replies import rate_limited, refused, still_throttled, unusable
from tocsin.core.config.variables import Variable, base_url, token
from tocsin.core.errors import ChannelError, FailureKind, clamp_retry_after_s
from tocsin.core.http.bodies import UploadedFile, multipart
from tocsin.core.http.departure import upload_s
from tocsin.core.http.transport import CALL_TIMEOUT_S

if TYPE_CHECKING:
    from tocsin.core.config.settings import Values
    from tocsin.core.http.transport import HttpResponse, Transport
    from tocsin.core.time.clock import Clock


BOT_TOKEN = Variable(
    "GUILDCHAT_BOT_TOKEN",
    token,
    "",
    "Bot token; the bot needs the permissions View Channels and Send Messages.",
    secret=True,
    required=True,
)
API_URL = Variable("GUILDCHAT_API_URL", base_url, "https://discord.com/api/v10", "Base URL of the REST API.")

# Without this form the provider answers 40333.
USER_AGENT = f"DiscordBot (https://github.com/tocsin-project/tocsin, {__version__})"
MAX_CHARS = 2_000  # code points: an emoji counts as one
SUPPRESS_EMBEDS = 4

# Remedies by the provider's error code; other codes are shown without one.
ADVICE = {
    10003: "wrong channel ID, or the channel was deleted; copy its ID again",
    10008: "it was deleted there",
    40058: "a forum, or a post without a message by its author; choose a text channel or a thread",
    40005: "the file is larger than the server of the channel allows; send a smaller one",
    40333: "the provider rejected the User-Agent; a proxy may have changed it",
    50001: "the bot is not a member of the server, or cannot see the channel; invite it and grant View Channel",
    50005: "another bot or person wrote the message",
    50006: "the message has no visible text",
    50007: (
        "this user does not accept direct messages from the bot; the user must allow them or share a server with it"
    ),
    50008: "not a text channel; choose another one",
    50013: "grant the bot Send Messages there (in a thread: Send Messages in Threads)",
    50035: "the provider rejected a field of the message",
    50045: "the file is larger than the server of the channel allows; send a smaller one",
    50046: "the provider could not read the file; send it again",
    50083: "the thread is archived; reopen it or choose another one",
    160005: "the thread is locked; unlock it or choose another one",
    200000: "AutoMod blocked the text; change it, or exempt the bot's role from the rule",
}
# Slow mode, the channel's write limit, and edits of old messages.
THROTTLED = {20016, 20028, 30046}
BAD_TOKEN = "invalid token; copy the bot token again into GUILDCHAT_BOT_TOKEN and restart"  # noqa: S105  # advice
_EVERYWHERE = ""  # the key for all paths


class GuildchatApi:
    """The calls of one bot, within the provider's rate limits."""

    def __init__(self, config: "Values", http: "Transport", clock: "Clock") -> None:
        self._config = config
        self._http = http
        self._clock = clock
        self._token_refused = False
        self._free_at: dict[str, float] = {}  # by path, in monotonic seconds

    async def call(
        self,
        method: str,
        path: str,
        document: Any = None,
        files: Sequence[UploadedFile] = (),
        *,
        proof: str = "",
        longest_wait_s: float = 0.0,
    ) -> dict[str, Any]:
        """Call as the bot, after the wait that the provider asked for unless it exceeds `longest_wait_s`.

        An answer without the text field `proof` is not the provider's. Raises ChannelError for a refusal or an unusable
        answer, another RemoteError if there is no answer.
        """
        if self._token_refused:
            # 10,000 answers of 401, 403 or 429 in 10 minutes ban the address: one is enough.
            raise refused("401", f"not sent, because the token was rejected before: {BAD_TOKEN}")
        await self._wait_for_room(path, longest_wait_s)
        return await self._call_as_bot(method, path, document, proof, files)

    async def own_user(self) -> dict[str, Any]:
        """Return the bot's own user; allowed after the token was refused, and lifts that block on success."""
        user = await self._call_as_bot("GET", "/users/@me", None, "id")
        self._token_refused = False
        return user

    async def call_by_token(self, method: str, path: str, document: Any = None) -> None:
        """Call a path that contains an interaction's token; raises RemoteError without the provider's text."""
        reply = await self._request(method, path, document)
        _judge(reply, reply.json_object(), quoted=False)

    async def _call_as_bot(
        self, method: str, path: str, document: Any, proof: str, files: Sequence[UploadedFile] = ()
    ) -> dict[str, Any]:
        reply = await self._request(method, path, document, files, Authorization=f"Bot {self._config[BOT_TOKEN]}")
        answer = reply.json_object()
        self._keep_limits(path, reply, answer)
        if reply.status == 401:
            self._token_refused = True
            raise refused("401", BAD_TOKEN)
        found = _judge(reply, answer, quoted=True)
        if proof and not isinstance(found.get(proof), str):
            raise unusable(reply, API_URL.name)
        return found

    async def _request(
        self, method: str, path: str, document: Any, files: Sequence[UploadedFile] = (), **headers: str
    ) -> "HttpResponse":
        from json import dumps

        headers["User-Agent"] = USER_AGENT
        url = f"{self._config[API_URL]}{path}"
        if files:
            form = {"payload_json": dumps(document)}
            upload = multipart(form, [(f"files[{number}]", file) for number, file in enumerate(files)])
            headers["Content-Type"] = upload.content_type
            timeout_s = CALL_TIMEOUT_S + upload_s(len(upload))
            return await self._http.request(method, url, headers=headers, body=upload, timeout_s=timeout_s)
        if document is not None:
            headers["Content-Type"] = "application/json"
        body = b"" if document is None else dumps(document).encode()
        return await self._http.request(method, url, headers=headers, body=body)

    def _keep_limits(self, path: str, reply: "HttpResponse", answer: dict[str, Any] | None) -> None:
        """Record how long the provider wants no calls of `path` (one bucket of one channel), or of any path."""
        wait_s, headers = 0.0, reply.headers
        if headers.get("x-ratelimit-remaining") == "0":
            wait_s = _seconds(headers.get("x-ratelimit-reset-after")) or 0.0
        if reply.status == 429:
            wait_s = max(wait_s, _told_to_wait_s(reply, answer or {}) or 0.0)
            if _is_everywhere(reply, answer):
                path = _EVERYWHERE
        if wait_s:
            now = self._clock.monotonic()
            self._free_at = {key: at for key, at in self._free_at.items() if at > now}
            self._free_at[path] = max(now + wait_s, self._free_at.get(path, 0.0))

    async def _wait_for_room(self, path: str, longest_wait_s: float) -> None:
        """Wait as long as the provider asked, or fail immediately if that is too long for a caller."""
        here, everywhere = self._free_at.get(path, 0.0), self._free_at.get(_EVERYWHERE, 0.0)
        wait_s = round(max(here, everywhere) - self._clock.monotonic(), 3)
        if wait_s > longest_wait_s:
            raise still_throttled(wait_s, "429", whole_account=everywhere >= here)
        if wait_s > 0:
            await self._clock.sleep(wait_s)


def _judge(reply: "HttpResponse", answer: dict[str, Any] | None, *, quoted: bool) -> dict[str, Any]:
    """Return the JSON of a successful answer, `{}` if it has none; raise ChannelError for any other answer."""
    if reply.status == 204:
        return {}
    if reply.status == 413 and answer is None:
        raise refused("413", ADVICE[40005])
    if answer is None or 300 <= reply.status < 400:
        raise unusable(reply, API_URL.name, whole_account=answer is None)
    if reply.status >= 400:
        raise _refusal(reply, answer, quoted=quoted)
    return answer


def _is_everywhere(reply: "HttpResponse", answer: dict[str, Any] | None) -> bool:
    """Whether a 429 applies to all channels, as one without JSON does: a proxy throttles the IP address."""
    return answer is None or answer.get("global") is True or "x-ratelimit-global" in reply.headers


def _refusal(reply: "HttpResponse", answer: dict[str, Any], *, quoted: bool) -> ChannelError:
    given = answer.get("code")
    code = given if isinstance(given, int) and given else reply.status
    if reply.status == 429 or code in THROTTLED:
        told_s = _told_to_wait_s(reply, answer)
        return rate_limited(told_s, str(code), whole_account=_is_everywhere(reply, answer))
    told = f"{code} {_form_error(answer) or answer.get('message', '')}".strip()[:300] if quoted else str(code)
    kind = FailureKind.TRANSIENT if reply.status >= 500 else FailureKind.PERMANENT
    hint = "the provider has an internal problem; try again later" if reply.status >= 500 else ADVICE.get(code, "")
    return ChannelError(told, hint=hint, kind=kind, provider_code=str(code))


def _form_error(answer: Any) -> str:
    """Return the message of 50035 about the content without its full stop, or `""`."""
    for step in ("errors", "content", "_errors", 0, "message"):
        try:
            answer = answer[step]
        except (KeyError, IndexError, TypeError):
            return ""
    return str(answer).removesuffix(".")


def _told_to_wait_s(reply: "HttpResponse", answer: dict[str, Any]) -> float | None:
    """Return the longer wait of body and header, or `None`."""
    told = (_seconds(answer.get("retry_after")), reply.retry_after_s())
    return max((seconds for seconds in told if seconds is not None), default=None)


def _seconds(value: object) -> float | None:
    try:
        return clamp_retry_after_s(float(str(value)))
    except ValueError:
        return None
