"""The Bot API client: method calls, downloads and the interpretation of responses.

Source: docs/facts/botchat.md. The client does not know about messages: callers decide by the fields of a `BotApiError`
what to do.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.channels.replies import describe_wait, unusable
from tocsin.core.config.variables import Variable, base_url
from tocsin.core.errors import ChannelError, FailureKind, clamp_retry_after_s
from tocsin.core.http.bodies import UploadedFile, multipart
from tocsin.core.http.departure import upload_s
from tocsin.core.http.transport import CALL_TIMEOUT_S, READ_TIMEOUT_S, HttpResponse, Transport
from tocsin.core.text.redaction import Redactor

# The token is part of every URL, so only characters that need no escaping there are accepted.
_TOKEN = r"[0-9]+:[A-Za-z0-9_-]+"  # noqa: S105  # the shape of one
MAX_DESCRIPTION = 300
DOWNLOAD_TIMEOUT_S = 120.0
HEADERS = {"Content-Type": "application/json"}


def bot_token(value: str) -> str:
    """Parse a bot token: the bot's ID, a colon, and characters that are safe in a URL."""
    stripped = value.strip()
    if not re.fullmatch(_TOKEN, stripped):
        raise ValueError("the token from @BotFather: digits, a colon, then letters, digits, _ and -")
    return stripped


BOT_TOKEN = Variable("BOTCHAT_BOT_TOKEN", bot_token, "", "Bot token from @BotFather.", secret=True, required=True)
API_URL = Variable(
    "BOTCHAT_API_URL",
    base_url,
    "https://api.telegram.org",
    "Base URL of the Bot API, or of your own Bot API server.",
)

# Remedies by words in the description; the first match wins. Descriptions are sentences for people, and the API defines
# no codes for them.
ADVICE = (
    ("bot was blocked", "the user must open the chat with the bot and press Start (or Restart)"),
    ("user is deactivated", "the account was deleted; remove the target"),
    ("bot was kicked", "add the bot to the chat again"),
    ("bot is not a member", "add the bot to the chat; in a channel, as an administrator"),
    ("can't initiate conversation", "the user must open the chat with the bot and press Start first"),
    ("can't send messages to bots", "use a person, group or channel as target; this one is a bot"),
    (
        "chat not found",
        "check the chat ID; a user must press Start first, and a group or channel must have the bot as a member",
    ),
    ("group chat was deleted", "the chat no longer exists; remove the target"),
    ("upgraded to a supergroup", "use the group's new ID"),
    ("not enough rights", "allow the bot to send messages in that chat"),
    ("have no rights", "allow the bot to send messages in that chat"),
    ("need administrator rights", "make the bot an administrator of that chat"),
    ("chat_write_forbidden", "allow the bot to send messages in that chat"),
    ("topic_closed", "reopen the topic, or send without /<thread ID>"),
    ("message thread not found", "the topic no longer exists; send without /<thread ID>"),
    ("message is too long", "send it in shorter parts"),
    ("file must be non-empty", "attach a file with content"),
    ("wrong file identifier", "send the message again"),
    ("button_data_invalid", "Telegram does not take the data of a button, which is a bug; report it"),
    ("button_url_invalid", "the address of a button must begin with https:// or http://, and name a public host"),
    ("text is empty", "write at least one visible character"),
    ("can't parse entities", "correct the markup, or send it as plain text"),
    ("webhook is active", "polling and a webhook cannot be combined; delete the webhook"),
    ("terminated by other getupdates", "another program polls with the same token; stop one of them"),
    ("logged out", f"the bot was moved to another Bot API server; correct {API_URL.name}"),
)
ADVICE_BY_CODE = {
    401: f"invalid token; copy it again from @BotFather into {BOT_TOKEN.name}",
    403: "the bot may not post there; check its membership and permissions",
    404: f"invalid token or address; check {BOT_TOKEN.name} and {API_URL.name}",
    413: "the server takes files of at most 50 MB, and pictures of 10 MB; send a smaller file",
    409: "another program uses the same token; stop one of them",
    200: f"Telegram itself does not answer so; check {API_URL.name}, and the log of a Bot API server of your own",
}


class BotApiError(ChannelError):
    """The Bot API, or a server in front of it, refused the call; the fields hold the details."""

    def __init__(
        self,
        error_code: int,
        description: str = "",
        parameters: Mapping[str, Any] | None = None,
        *,
        header_wait_s: float | None = None,
    ) -> None:
        self.error_code = error_code
        self.description = description
        self.parameters = dict(parameters or {})
        wait_s = _longer(_seconds(self.parameters.get("retry_after")), header_wait_s)
        super().__init__(
            _sentence(error_code, description),
            hint=_advice(error_code, description, wait_s),
            kind=_kind(error_code),
            provider_code=str(error_code),
            retry_after_s=wait_s,
        )

    @property
    def migrate_to(self) -> int | None:
        """The new ID of a chat that became a supergroup."""
        value = self.parameters.get("migrate_to_chat_id")
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def mentions(self, *words: str) -> bool:
        """Whether the description has one of `words`, in any letter case."""
        description = self.description.casefold()
        return any(word.casefold() in description for word in words)


class BotApi:
    """Calls methods of one bot; `base` is the address without a trailing slash."""

    def __init__(self, http: Transport, base: str, token: str) -> None:
        self._http = http
        self._prefix = f"{base}/bot{token}"
        self._files = f"{base}/file/bot{token}"
        self._redact = Redactor([token])

    async def call(self, method: str, /, *, read_timeout_s: float = READ_TIMEOUT_S, **params: Any) -> Any:
        """Call `method` and return its `result`; parameters that are `None` are omitted.

        For long polling, set `read_timeout_s` to the poll's own `timeout` plus 10 s. Raises BotApiError for a refusal,
        and another RemoteError if there is no usable response.
        """
        from json import dumps

        reply = await self._http.request(
            "POST",
            f"{self._prefix}/{method}",
            headers=HEADERS,
            body=dumps({name: value for name, value in params.items() if value is not None}).encode(),
            timeout_s=read_timeout_s + CALL_TIMEOUT_S - READ_TIMEOUT_S,
            read_timeout_s=read_timeout_s,
        )
        return self._result(reply)

    async def upload(self, method: str, files: Sequence[tuple[str, UploadedFile]], params: Mapping[str, Any]) -> Any:
        """Call `method` with files, each under the name of its parameter; otherwise like `call`."""
        from json import dumps

        texts = {name: each if isinstance(each, str | None) else dumps(each) for name, each in params.items()}
        body = multipart(texts, files)
        reply = await self._http.request(
            "POST",
            f"{self._prefix}/{method}",
            headers={"Content-Type": body.content_type},
            body=body,
            timeout_s=CALL_TIMEOUT_S + upload_s(len(body)),
        )
        return self._result(reply)

    def _result(self, reply: HttpResponse) -> Any:
        answer = reply.json_object()
        if answer is None or not isinstance(answer.get("ok"), bool) or 300 <= reply.status < 400:
            raise _no_answer(reply)
        if not answer["ok"]:
            raise self._refusal(reply, answer)
        return answer.get("result")

    async def download(self, path: str, max_bytes: int) -> bytes | None:
        """Return the file at `path` (from `getFile`), or `None` if it exceeds `max_bytes`; raises RemoteError."""
        from urllib.parse import quote

        reply = await self._http.request(
            "GET",
            f"{self._files}/{quote(path)}",
            headers={},
            timeout_s=DOWNLOAD_TIMEOUT_S,
            max_body_bytes=max_bytes,
        )
        if reply.status != 200:
            raise unusable(reply, API_URL.name)
        if reply.complete:
            return reply.body
        if len(reply.body) >= max_bytes:
            return None
        raise ChannelError("the file was not received completely", hint="send it again", kind=FailureKind.TRANSIENT)

    def _refusal(self, reply: HttpResponse, answer: dict[str, Any]) -> BotApiError:
        code, description, parameters = (answer.get(name) for name in ("error_code", "description", "parameters"))
        return BotApiError(
            code if isinstance(code, int) and not isinstance(code, bool) else reply.status,
            # Servers and proxies may quote the request path, which contains the token.
            self._redact(_one_line(description)) if isinstance(description, str) else "",
            parameters if isinstance(parameters, dict) else {},
            header_wait_s=reply.retry_after_s(),
        )


def _no_answer(reply: HttpResponse) -> ChannelError:
    """Return the error for a response without the Bot API's JSON, by its status and Retry-After."""
    if reply.status in {413, 429} or reply.status >= 500:
        return BotApiError(reply.status, header_wait_s=reply.retry_after_s())
    return unusable(reply, API_URL.name)


def _kind(error_code: int) -> FailureKind:
    if error_code == 429:
        return FailureKind.RATE_LIMITED
    return FailureKind.TRANSIENT if error_code >= 500 else FailureKind.PERMANENT


def _sentence(error_code: int, description: str) -> str:
    if description:
        return f"{error_code} {description}"
    # The status of a success explains no refusal.
    unexplained = ", but the call was refused without a reason" if error_code == 200 else ""
    return f"HTTP {error_code}{unexplained}"


def _advice(error_code: int, description: str, wait_s: float | None) -> str:
    if error_code == 429:
        return f"the provider asks to {describe_wait(wait_s)}; send again later"
    if error_code >= 500:
        return "the provider has an internal problem; try again later"
    lower = description.casefold()
    by_words = next((advice for words, advice in ADVICE if words in lower), "")
    return by_words or ADVICE_BY_CODE.get(error_code, "")


def _one_line(description: str) -> str:
    line = " ".join(description.split())
    return line if len(line) <= MAX_DESCRIPTION else line[: MAX_DESCRIPTION - 1] + "…"


def _seconds(value: object) -> float | None:
    """Return `value` as a wait in seconds, or `None` if it is not a valid one."""
    return clamp_retry_after_s(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _longer(one: float | None, other: float | None) -> float | None:
    """Return the longer of two waits, either of which may be `None`."""
    known = [seconds for seconds in (one, other) if seconds is not None]
    return max(known, default=None)
