"""teamchat: Slack, by the Web API. Source: docs/facts/teamchat.md."""

import re
from typing import TYPE_CHECKING, Any

from tocsin.channels.contract import COMMONMARK, PLAIN, ChannelSpec, OutboundAdapter, Part
from tocsin.channels.replies import rate_limited, refused, unusable
from tocsin.core.config.variables import Variable, base_url, boolean, integer, token
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.text.measures import escaped_code_points
from tocsin.core.time.ratelimit import Rate

if TYPE_CHECKING:
    from tocsin.channels.inbound import InboundAdapter
    from tocsin.core.http.transport import HttpResponse
    from tocsin.core.text.markup import Renderer

BOT_TOKEN = Variable(
    "TEAMCHAT_BOT_TOKEN",
    token,
    "",
    "Bot token `xoxb-…` with the scopes `chat:write` and `chat:write.public`.",
    secret=True,
    required=True,
    shape=r"xox[a-z]-[A-Za-z0-9-]{20,}",
)
API_URL = Variable("TEAMCHAT_API_URL", base_url, "https://slack.com/api", "Base address of the Web API.")
CHUNK_AT = Variable(
    "TEAMCHAT_CHUNK_AT",
    integer(100, 40_000),
    4_000,
    "Longer texts are split into parts of so many characters.",
)
SIGNING_SECRET = Variable(
    "TEAMCHAT_SIGNING_SECRET",
    token,
    "",
    "Signing secret of the app; without it every webhook call is rejected.",
    secret=True,
    shape=r"[0-9a-f]{32}",
)
HEAR_BOTS = Variable("TEAMCHAT_HEAR_BOTS", boolean, False, "Also take in what other bots write.")

# What to do about an error, by the provider's code; unknown codes are shown as they are.
ADVICE = {
    "not_in_channel": "invite the bot or add chat:write.public",
    "channel_not_found": "wrong ID or name, or a private channel that the bot was not invited to",
    "is_archived": "the channel is archived; choose another one or unarchive it",
    "msg_too_long": "lower TEAMCHAT_CHUNK_AT",
    "no_text": "the message has no visible text",
    "restricted_action": "a workspace setting forbids the bot to post there; ask an admin",
    "invalid_auth": "bad token; copy the bot token again into TEAMCHAT_BOT_TOKEN",
    "not_authed": "bad token; copy the bot token again into TEAMCHAT_BOT_TOKEN",
    "account_inactive": "bad token: the app was removed; install it again and set TEAMCHAT_BOT_TOKEN",
    "token_revoked": "bad token: it was revoked; install the app again and set TEAMCHAT_BOT_TOKEN",
    "token_expired": "bad token: it has expired; set a fresh TEAMCHAT_BOT_TOKEN",
    "user_not_found": "no such user in this workspace",
    "cannot_dm_bot": "bots cannot be written to",
}
TRANSIENT = {"fatal_error", "internal_error", "service_unavailable", "request_timeout"}
THROTTLED = {"ratelimited", "rate_limited"}
_TARGET = r"([CGDUW][A-Z0-9]{1,63}|#[^\s#@,/]{1,80})(?:/(\d{1,12}\.\d{1,9}))?"


class TeamchatAdapter(OutboundAdapter):
    """Posts to channels by name or ID and to people by user ID."""

    spec = ChannelSpec(
        kind="teamchat",
        label="Slack",
        product="Slack Web API",
        aliases=("slack",),
        secrets=(BOT_TOKEN,),
        options=(API_URL, CHUNK_AT),
        receiving=(SIGNING_SECRET, HEAR_BOTS),
        proof=SIGNING_SECRET,
        target_format="#channel, channel ID or user ID; a thread as C0123/1503435956.000247",
        max_length=40_000,
        chunk_at=4_000,
        measure=escaped_code_points,
        parse_modes=("mrkdwn",),
        inbound=("webhook",),
        target_rate=Rate(1, 1.0, burst=3),  # short bursts are tolerated
    )

    @classmethod
    def receiver(cls) -> "type[InboundAdapter]":
        """Return the side that reads events, commands and interactions."""
        from tocsin.channels.teamchat.inbound import TeamchatInbound

        return TeamchatInbound

    def check_target(self, target: str) -> str:
        """Accept a `#name`, an ID, and either with `/` and the time stamp of a thread's first message."""
        if target.startswith("@"):
            raise ChannelError(
                "names of people are no targets any more", hint="use the user ID (profile, ⋮, Copy member ID)"
            )
        if not re.fullmatch(_TARGET, target):
            raise ChannelError(f"{target!r} is no target", hint=f"write {self.spec.target_format}")
        return target

    def chunk_at(self) -> int:
        """Return the length the operator chose."""
        return self.config[CHUNK_AT]

    def dialect(self, parse_mode: str) -> "Renderer":
        """Return mrkdwn, or what shows text without reading it as that."""
        from tocsin.channels.teamchat.mrkdwn import LiteralMrkdwn, Mrkdwn

        return (LiteralMrkdwn if parse_mode == PLAIN else Mrkdwn)(self.chunk_at())

    async def deliver(self, part: Part) -> str:
        """Post one part; the note is the time stamp that names the message."""
        channel, _, thread = part.target.partition("/")
        body: dict[str, Any] = {
            "channel": channel,
            "text": part.text if part.parse_mode in {COMMONMARK, PLAIN} else escape(part.text),
            "unfurl_links": False,
            "unfurl_media": False,
            "link_names": False,
        }
        if part.parse_mode == PLAIN:
            body["mrkdwn"] = False
        if thread:
            body["thread_ts"] = thread
        return f"ts={(await self._call('chat.postMessage', body, proof='ts'))['ts']}"

    async def probe(self) -> str:
        """Check the token; the answer names the bot and the workspace."""
        answer = await self._call("auth.test", {}, proof="user")
        return f"{answer['user']} ({answer.get('team', '?')})"

    async def _call(self, method: str, body: dict[str, Any], *, proof: str) -> dict[str, Any]:
        """Call `method`; an answer without the field `proof` is not one of the provider."""
        import json

        reply = await self.http.request(
            "POST",
            f"{self.config[API_URL]}/{method}",
            headers={
                "Authorization": f"Bearer {self.config[BOT_TOKEN]}",
                "Content-Type": "application/json; charset=utf-8",
            },
            body=json.dumps(body).encode(),
        )
        answer = reply.json_object()
        if answer is None or not isinstance(answer.get("ok"), bool) or 300 <= reply.status < 400:
            raise unusable(reply, API_URL.name)
        if not answer["ok"]:
            raise _refusal(reply, answer)
        if not isinstance(answer.get(proof), str):
            raise unusable(reply, API_URL.name)
        return answer


def escape(text: str) -> str:
    """Escape the three characters that the provider reads as markup; this also disarms `<!channel>`."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _refusal(reply: "HttpResponse", answer: dict[str, Any]) -> ChannelError:
    code = _short(answer.get("error") or f"HTTP {reply.status}")
    if code in THROTTLED or reply.status == 429:
        return rate_limited(reply.retry_after_s(), code)
    if code == "missing_scope":
        needed, provided = (_short(answer.get(name, "?")) for name in ("needed", "provided"))
        return refused(code, f"add the scope {needed} and reinstall the app (it has: {provided})")
    if code in TRANSIENT or reply.status >= 500:
        return refused(code, "the provider has trouble; try again later", kind=FailureKind.TRANSIENT)
    advice = ADVICE.get(code) or (ADVICE["restricted_action"] if code.startswith("restricted_action") else "")
    return refused(code, advice)


def _short(value: object) -> str:
    """Return what the provider says on one line, not too long."""
    words = " ".join(str(value).split())
    return words if len(words) <= 300 else f"{words[:299]}…"
