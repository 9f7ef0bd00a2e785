"""guildchat: Discord, by REST v10. Source: docs/facts/guildchat.md."""

import re
from typing import TYPE_CHECKING, Any

from tocsin import __version__
from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part, Tools
from tocsin.channels.replies import rate_limited, refused, still_throttled, unusable
from tocsin.core.config.settings import Values
from tocsin.core.config.variables import Variable, base_url, boolean, token
from tocsin.core.errors import ChannelError, FailureKind, RemoteError, told_wait_s
from tocsin.core.time.ratelimit import Rate

if TYPE_CHECKING:
    from tocsin.channels.inbound import InboundAdapter
    from tocsin.core.http.transport import HttpResponse
    from tocsin.core.text.markup import Renderer


def _public_key(value: str) -> str:
    """Read an Ed25519 public key."""
    digits = value.strip().lower()
    if len(digits) != 64 or set(digits) - set("0123456789abcdef"):
        raise ValueError("the application's public key: 64 hexadecimal digits (Developer Portal, General Information)")
    return digits


BOT_TOKEN = Variable(
    "GUILDCHAT_BOT_TOKEN",
    token,
    "",
    "Bot token; the bot needs the permissions View Channels and Send Messages.",
    secret=True,
    required=True,
)
API_URL = Variable("GUILDCHAT_API_URL", base_url, "https://discord.com/api/v10", "Base address of the REST API.")
SPLIT = Variable("GUILDCHAT_SPLIT", boolean, False, "Split texts over 2,000 characters instead of refusing them.")
PUBLIC_KEY = Variable(
    "GUILDCHAT_PUBLIC_KEY",
    _public_key,
    "",
    "Public key of the application, 64 hexadecimal digits; without it every webhook call is rejected.",
)

# Without this form the provider answers 40333.
USER_AGENT = f"DiscordBot (https://github.com/tocsin-project/tocsin, {__version__})"
MAX_CHARS = 2_000  # code points: an emoji counts as one
SUPPRESS_EMBEDS = 4

# What to do about an error, by the provider's code; one that is not here is shown as it is.
ADVICE = {
    10003: "wrong channel ID, or the channel was deleted; copy its ID again",
    40058: "a forum, or a post that its author has not written in; choose a text channel or a thread",
    40333: "the provider refused the User-Agent; a proxy on the way may have changed it",
    50001: "the bot is not in that server, or may not see the channel; invite it and grant View Channel",
    50006: "the message has no visible text",
    50007: "that user takes no direct messages from the bot; they must open them or share a server with it",
    50008: "not a text channel; choose another one",
    50013: "grant the bot Send Messages there (in a thread: Send Messages in Threads)",
    50035: "the provider refused a field of the message",
    50083: "the thread is archived; reopen it or choose another one",
    200000: "AutoMod blocked the text; change it, or exempt the bot's role from the rule",
}
THROTTLED = {20016, 20028}  # slow mode and the channel's write limit
BAD_TOKEN = "bad token; copy the bot token again into GUILDCHAT_BOT_TOKEN and restart"  # noqa: S105 - advice
_TARGET = r"[0-9]{17,20}"
_EVERYWHERE = ""  # stands for all paths


class GuildchatAdapter(OutboundAdapter):
    """Posts to channels, threads and direct messages by channel ID."""

    spec = ChannelSpec(
        kind="guildchat",
        label="Discord",
        product="Discord REST API v10",
        aliases=("discord",),
        secrets=(BOT_TOKEN,),
        options=(API_URL, SPLIT),
        receiving=(PUBLIC_KEY,),
        proof=PUBLIC_KEY,
        target_format="channel ID of 17 to 20 digits (Developer Mode on, right-click, Copy Channel ID)",
        max_length=MAX_CHARS,
        inbound=("webhook",),
        target_rate=Rate(5, 5.0),  # evenly: no burst is documented, and refusals count towards a ban
        account_rate=Rate(50, 1.0),
        recognises_repeats=True,
        # Two waits of 30 s and two calls of 25 s: the longest that `deliver` takes.
        send_timeout_s=120.0,
    )

    def __init__(self, config: Values, tools: Tools) -> None:
        super().__init__(config, tools)
        self._token_refused = False
        self._free_at: dict[str, float] = {}  # by path, in monotonic seconds

    @classmethod
    def receiver(cls) -> "type[InboundAdapter]":
        """Return the side that reads interactions and webhook events."""
        from tocsin.channels.guildchat.inbound import GuildchatInbound

        return GuildchatInbound

    def check_target(self, target: str) -> str:
        """Accept a channel ID."""
        if not re.fullmatch(_TARGET, target):
            raise ChannelError(f"{target!r} is not a valid target", hint=f"write the {self.spec.target_format}")
        return target

    def chunk_at(self) -> int | None:
        """Return the provider's limit if the operator wants long texts split, else nothing."""
        return MAX_CHARS if self.config[SPLIT] else None

    def dialect(self, parse_mode: str) -> "Renderer":
        """Return the product's Markdown; in it, plain text is escaped."""
        from tocsin.channels.guildchat.markdown import GuildMarkdown

        return GuildMarkdown(MAX_CHARS)

    async def deliver(self, part: Part) -> str:
        """Post one part; the note is the message's ID.

        An attempt without an answer is repeated once: because of the nonce, the provider then
        returns the first message instead of posting a second one.
        """
        body = {
            "content": part.text,
            "allowed_mentions": {"parse": []},
            "nonce": nonce(part),
            "enforce_nonce": True,
            "flags": SUPPRESS_EMBEDS,
        }
        try:
            return await self._post(part.target, body)
        except RemoteError as failure:
            if failure.kind is not FailureKind.AMBIGUOUS:
                raise
            unanswered = failure
        try:
            return await self._post(part.target, body)
        except RemoteError as second:
            # Whatever kept the second attempt from the provider, the first may have arrived.
            raise second if second.kind is FailureKind.PERMANENT else unanswered from None

    async def probe(self) -> str:
        """Look up the bot's own user; also allowed after the token was refused, and lifts that."""
        user = await self._call("GET", "/users/@me")
        self._token_refused = False
        return str(user.get("username", "?"))

    async def _post(self, channel: str, body: dict[str, Any]) -> str:
        from json import dumps

        if self._token_refused:
            # 10,000 answers of 401, 403 or 429 in 10 minutes ban the address: one is enough.
            raise refused("401", f"not sent, the token was refused before: {BAD_TOKEN}")
        path = f"/channels/{channel}/messages"
        await self._wait_for_room(path)
        return f"id={(await self._call('POST', path, dumps(body).encode()))['id']}"

    async def _call(self, method: str, path: str, body: bytes = b"") -> dict[str, Any]:
        headers = {"Authorization": f"Bot {self.config[BOT_TOKEN]}", "User-Agent": USER_AGENT}
        if body:
            headers["Content-Type"] = "application/json"
        reply = await self.http.request(method, f"{self.config[API_URL]}{path}", headers=headers, body=body)
        answer = reply.json_object()
        self._keep_limits(path, reply, answer)
        if reply.status == 401:
            self._token_refused = True
            raise refused("401", BAD_TOKEN)
        if answer is None or 300 <= reply.status < 400:
            raise unusable(reply, API_URL.name, whole_account=answer is None)
        if reply.status >= 400:
            raise _refusal(reply, answer)
        if not isinstance(answer.get("id"), str):
            raise unusable(reply, API_URL.name)
        return answer

    def _keep_limits(self, path: str, reply: "HttpResponse", answer: dict[str, Any] | None) -> None:
        """Remember how long the provider wants no calls of `path` (one bucket of one channel), or of any."""
        wait_s, headers = 0.0, reply.headers
        if headers.get("x-ratelimit-remaining") == "0":
            wait_s = _seconds(headers.get("x-ratelimit-reset-after")) or 0.0
        if reply.status == 429:
            wait_s = max(wait_s, _told_to_wait_s(reply, answer or {}) or 0.0)
            if _is_everywhere(reply, answer):
                path = _EVERYWHERE
        if wait_s:
            now = self.clock.monotonic()
            self._free_at = {key: at for key, at in self._free_at.items() if at > now}
            self._free_at[path] = max(now + wait_s, self._free_at.get(path, 0.0))

    async def _wait_for_room(self, path: str) -> None:
        """Wait as long as the provider asked; fail at once if that is longer than a caller should wait."""
        here, everywhere = self._free_at.get(path, 0.0), self._free_at.get(_EVERYWHERE, 0.0)
        wait_s = round(max(here, everywhere) - self.clock.monotonic(), 3)
        if wait_s > self.spec.retry.longest_wait_s:
            raise still_throttled(wait_s, "429", whole_account=everywhere >= here)
        if wait_s > 0:
            await self.clock.sleep(wait_s)


def nonce(part: Part) -> str:
    """Return what names a part to the provider: the same at every attempt, at most 25 characters."""
    from hashlib import sha256

    # The provider may compare nonces over all of a bot's channels.
    return sha256(f"{part.target}\n{part.key}".encode()).hexdigest()[:24]


def _is_everywhere(reply: "HttpResponse", answer: dict[str, Any] | None) -> bool:
    """Whether a 429 concerns all channels; the proxy before the provider, which has no JSON, throttles the address."""
    return answer is None or answer.get("global") is True or "x-ratelimit-global" in reply.headers


def _refusal(reply: "HttpResponse", answer: dict[str, Any]) -> ChannelError:
    given = answer.get("code")
    code = given if isinstance(given, int) and given else reply.status
    if reply.status == 429 or code in THROTTLED:
        told_s = _told_to_wait_s(reply, answer)
        return rate_limited(told_s, str(code), whole_account=_is_everywhere(reply, answer))
    told = f"{code} {_form_error(answer) or answer.get('message', '')}".strip()[:300]
    kind = FailureKind.TRANSIENT if reply.status >= 500 else FailureKind.PERMANENT
    hint = "the provider has trouble; try again later" if reply.status >= 500 else ADVICE.get(code, "")
    return ChannelError(told, hint=hint, kind=kind, provider_code=str(code))


def _form_error(answer: Any) -> str:
    """Return what 50035 tells about the content, or nothing."""
    for step in ("errors", "content", "_errors", 0, "message"):
        try:
            answer = answer[step]
        except (KeyError, IndexError, TypeError):
            return ""
    return str(answer)


def _told_to_wait_s(reply: "HttpResponse", answer: dict[str, Any]) -> float | None:
    """Return the longer one of body and header; either may be missing."""
    told = (_seconds(answer.get("retry_after")), reply.retry_after_s())
    return max((seconds for seconds in told if seconds is not None), default=None)


def _seconds(value: object) -> float | None:
    try:
        return told_wait_s(float(str(value)))
    except ValueError:
        return None
