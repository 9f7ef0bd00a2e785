"""Calls besides sending: a `response_url`, a reaction, and who the bot is. Source: docs/facts/teamchat.md."""

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tocsin.channels.contract import COMMONMARK, visible
from tocsin.channels.inbound import answer_in_parts, as_channel_error
from tocsin.channels.replies import rate_limited, refused, unusable
from tocsin.channels.teamchat.adapter import ADVICE, API_URL, BOT_TOKEN, THROTTLED, escape
from tocsin.channels.teamchat.mrkdwn import Mrkdwn
from tocsin.core.errors import ChannelError, RemoteError
from tocsin.core.http.transport import origin_of
from tocsin.core.reading.untrusted import identifier
from tocsin.core.text.markup import PlainText, literal, render
from tocsin.core.text.measures import escaped_code_points

if TYPE_CHECKING:
    from tocsin.core.config.settings import Values
    from tocsin.core.http.transport import HttpResponse, Transport
    from tocsin.core.time.clock import Clock

MAX_USES = 5  # of a response_url, in 30 minutes
LIFE_S = 1_790.0
CHUNK_AT = 4_000
HOSTS = ("https://hooks.slack.com", "https://hooks.slack-gov.com")
# The bot cannot react at all: asking again for every message would not help.
_HOPELESS = (
    "missing_scope",
    "not_authed",
    "invalid_auth",
    "account_inactive",
    "token_revoked",
    "not_allowed_token_type",
)
_PATH = re.compile(r"/[A-Za-z0-9/_.~%-]{1,1000}")


@dataclass(slots=True)
class ResponseUrl:
    """An address that answers one command or button without a token; `expires_at` in monotonic seconds."""

    url: str = field(repr=False)
    expires_at: float
    thread_id: str | None
    uses_left: int = MAX_USES

    @classmethod
    def of(cls, url: object, api_url: str, now: float, thread_id: str | None) -> "ResponseUrl | None":
        """Return the address, or nothing unless it is on the product's host or on that of `api_url`."""
        if not isinstance(url, str):
            return None
        origin = origin_of(url)
        if origin not in (*HOSTS, origin_of(api_url)) or not _PATH.fullmatch(url.removeprefix(origin)):
            return None
        return cls(url, now + LIFE_S, thread_id)

    async def answer(
        self, text: str, parse_mode: str, http: "Transport", clock: "Clock", *, private: bool = False
    ) -> None:
        """Post `text` in as many parts as it needs; raise ChannelError if that cannot work.

        Unless it is `private`, all see it, as they would an answer through the queue. Markdown of more than one part
        is not begun: if it broke off, what is left could not be told any more.
        """
        markdown = parse_mode == COMMONMARK
        if clock.monotonic() >= self.expires_at:
            raise refused("expired_url", "a command can be answered directly for half an hour")
        parts = _rendered(text) if markdown else _literal(text)
        if len(parts) > (min(1, self.uses_left) if markdown else self.uses_left):
            raise refused("used_url", "a command can be answered directly by five messages")

        async def post(part: str) -> None:
            self.uses_left -= 1
            said: dict[str, Any] = {"text": part} if markdown else {"text": escape(part), "mrkdwn": False}
            await self._post({"response_type": "ephemeral" if private else "in_channel", **said}, http)

        await answer_in_parts(parts, post)

    async def _post(self, said: dict[str, Any], http: "Transport") -> None:
        body: dict[str, Any] = {"replace_original": False, **said}
        if self.thread_id:
            body["thread_ts"] = self.thread_id
        reply = await http.request(
            "POST",
            self.url,
            headers={"Content-Type": "application/json; charset=utf-8"},
            body=json.dumps(body).encode(),
        )
        _check_taken(reply)


def _literal(text: str) -> list[str]:
    """Return the parts of text that is no markup, not yet escaped."""
    return [part.text for part in literal(visible(text), PlainText(CHUNK_AT, escaped_code_points))]


def _rendered(text: str) -> list[str]:
    return [part.text for part in render(visible(text), Mrkdwn(CHUNK_AT))]


async def react(message_ts: str, chat_id: str, config: "Values", http: "Transport") -> bool:
    """Put 👀 on a message; false when the bot may not react anywhere. Raises ChannelError for other failures."""
    body = {"channel": chat_id, "timestamp": message_ts, "name": "eyes"}
    try:
        reply = await _call("reactions.add", body, config, http)
    except RemoteError as failure:
        raise as_channel_error(failure) from None
    answer = reply.json_object() or {}
    code = _code(answer.get("error"))
    if answer.get("ok") is True or code == "already_reacted":
        return True
    if code in _HOPELESS:
        return False
    raise _refusal(reply, code, ADVICE.get(code, ""))


async def own_ids(config: "Values", http: "Transport") -> tuple[str, ...]:
    """Return the user ID and the bot ID that belong to the token; raises RemoteError."""
    reply = await _call("auth.test", {}, config, http)
    answer = reply.json_object() or {}
    if answer.get("ok") is not True:
        code = _code(answer.get("error"))
        raise _refusal(reply, code, ADVICE.get(code, ""))
    return tuple(own for name in ("user_id", "bot_id") if (own := identifier(answer.get(name))))


async def _call(method: str, body: dict[str, str], config: "Values", http: "Transport") -> "HttpResponse":
    headers = {"Authorization": f"Bearer {config[BOT_TOKEN]}", "Content-Type": "application/json; charset=utf-8"}
    return await http.request("POST", f"{config[API_URL]}/{method}", headers=headers, body=json.dumps(body).encode())


def _check_taken(reply: "HttpResponse") -> None:
    answer = reply.json_object() or {}
    code = _code(answer.get("error")) or _code(reply.body.decode("ascii", "replace").strip())
    if reply.status != 200 or answer.get("ok") is False:
        raise _refusal(reply, code, "the answer goes out as a message of its own")


def _refusal(reply: "HttpResponse", code: str, advice: str) -> ChannelError:
    if code in THROTTLED or reply.status == 429:
        return rate_limited(reply.retry_after_s(), code or "HTTP 429")
    return refused(code, advice) if code and reply.status < 500 else unusable(reply, API_URL.name)


def _code(value: object) -> str:
    """Return the provider's code for a refusal; nothing where it is something else, such as a page."""
    return value if isinstance(value, str) and re.fullmatch(r"[a-z_]{3,60}", value) else ""
