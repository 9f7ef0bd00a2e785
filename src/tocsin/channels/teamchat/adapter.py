"""teamchat sends: Slack, by the Web API. Source: docs/facts/teamchat.md."""

import re
from typing import TYPE_CHECKING, Any

from tocsin.channels.contract import (
    COMMONMARK,
    PLAIN,
    ChannelSpec,
    MessageGoneError,
    OutboundAdapter,
    Part,
    Sent,
    Tools,
)
from tocsin.channels.model import FILES, degraded, native
from tocsin.channels.teamchat.api import API_URL, BOT_TOKEN, TeamchatApi
from tocsin.channels.teamchat.history import EVENT_TYPE, find_channel, find_message
from tocsin.channels.teamchat.settings import FIND_SENT, HEAR_BOTS, SIGNING_SECRET
from tocsin.channels.teamchat.wording import escape
from tocsin.core.config.variables import Variable, integer
from tocsin.core.errors import ChannelError
from tocsin.core.text.measures import escaped_code_points
from tocsin.core.time.ratelimit import Rate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tocsin.channels.attached import AttachedFile
    from tocsin.channels.model import Shown
    from tocsin.core.config.settings import Values
    from tocsin.core.text.markup import Renderer

CHUNK_AT = Variable(
    "TEAMCHAT_CHUNK_AT",
    integer(100, 40_000),
    40_000,  # longer texts are truncated: docs/facts/teamchat.md
    "Maximum number of characters per message; longer texts are split.",
)
_TARGET = r"([CGDUW][A-Z0-9]{1,63}|#[^\s#@,/]{1,80})(?:/(\d{1,12}\.\d{1,9}))?"


class TeamchatAdapter(OutboundAdapter):
    """Posts to channels by name or ID and to people by user ID."""

    spec = ChannelSpec(
        kind="teamchat",
        label="Slack",
        product="Slack Web API",
        aliases=("slack",),
        secrets=(BOT_TOKEN,),
        options=(API_URL, CHUNK_AT, FIND_SENT),
        receiving=(SIGNING_SECRET, HEAR_BOTS),
        proof=SIGNING_SECRET,
        target_format="#channel, channel ID or user ID; a thread as C0123/1503435956.000247",
        arrival=(
            "The bot is a member of the channel: type /invite and its name there.",
            "The target is the channel that you look at; for a direct message, your member ID, which starts with U.",
            "The channel is not muted, and Slack notifies you about all new messages in it.",
        ),
        max_length=40_000,
        chunk_at=CHUNK_AT.default,
        measure=escaped_code_points,
        parse_modes=("mrkdwn",),
        inbound=("webhook",),
        target_rate=Rate(1, 1.0, burst=3),  # short bursts are tolerated
        abilities={
            "title": native("a header; bold text if longer than 150 characters"),
            "priority": degraded("a symbol before the title, from 4 on"),
            "type": native("a coloured bar"),
            "click": native("a button"),
            "actions": native(),
            "call": native("a button"),
            "attach": native("in the thread of the message; the bot needs the scope files:write"),
            "mention": native(),
            "silent": degraded("names without a mention; the product has no quiet mode"),
            "key": native("edits; up to 4,000 characters"),
            "withdraw": native(),
            "thread": native(),
        },
        edit_length=4_000,
    )

    dressing = "tocsin.channels.teamchat.blocks:TeamchatBlocks"
    layouts = "tocsin.channels.teamchat.layout:layout_of"
    inbound = "tocsin.channels.teamchat.inbound:TeamchatInbound"

    def __init__(self, config: "Values", tools: Tools) -> None:
        super().__init__(config, tools)
        self._api = TeamchatApi(config, tools.http)

    def check_target(self, target: str) -> str:
        """Accept a `#name` or an ID, optionally with `/` and the timestamp of a thread's first message."""
        if target.startswith("@"):
            raise ChannelError(
                "user names are no longer valid targets", hint="use the user ID (profile, ⋮, Copy member ID)"
            )
        if not re.fullmatch(_TARGET, target):
            raise ChannelError(f"{target!r} is not a valid target", hint=f"write {self.spec.target_format}")
        return target

    def chunk_at(self) -> int:
        """Return the configured length."""
        return self.config[CHUNK_AT]

    def dialect(self, parse_mode: str) -> "Renderer":
        """Return the renderer for mrkdwn, or for text that the product must not read as mrkdwn."""
        from tocsin.channels.teamchat.mrkdwn import LiteralMrkdwn, Mrkdwn

        return (LiteralMrkdwn if parse_mode == PLAIN else Mrkdwn)(self.chunk_at())

    def share_files(
        self, texts: "Sequence[Shown]", files: "tuple[AttachedFile, ...]", *, keyed: bool
    ) -> "Sequence[tuple[Shown, tuple[AttachedFile, ...]]]":
        """Send the files after the text: the product tells no message ID for files, only for texts."""
        texts = texts or [(", ".join(file.name for file in files), ())]
        return [*((shown, ()) for shown in texts), (("", ()), files)]

    async def deliver(self, part: Part) -> Sent:
        """Post one part; the note is the timestamp that identifies the message."""
        channel, _, thread = part.target.partition("/")
        if part.files:
            return await self._share(part, thread)
        body = self._body(part, channel)
        if root := thread or (part.thread.ref.get("ts") if part.thread else ""):
            body["thread_ts"] = root
        if self.finds_sent():
            body["metadata"] = {"event_type": EVENT_TYPE, "event_payload": {"id": part.key}}
        return _sent(await self._api.call("chat.postMessage", body, proof="ts"), channel)

    def finds_sent(self) -> bool:
        """Whether the operator allowed the bot to read the history."""
        return self.config[FIND_SENT]

    async def find(self, part: Part, since: float) -> Sent | None:
        """Return the message whose metadata names the part."""
        if part.files:
            raise ChannelError("files carry no mark by which they could be found")
        channel, _, thread = part.target.partition("/")
        thread = thread or (part.thread.ref.get("ts", "") if part.thread else "")
        place = await find_channel(self._api, channel)
        ts = await find_message(self._api, place, thread, part.key, since)
        return _sent({"channel": place, "ts": ts}, place) if ts else None

    async def _share(self, part: Part, thread: str) -> Sent:
        """Upload files, and show them in the thread of the message that they belong to."""
        uploaded = [await self._api.upload(file) for file in part.files]
        thread = thread or (part.thread.ref.get("ts", "") if part.thread else "") or part.message.get("ts", "")
        await self._api.share(uploaded, part.message.get("channel") or part.target.partition("/")[0], thread)
        return Sent(f"{len(uploaded)} files", {FILES: ",".join(file["id"] for file in uploaded)})

    async def edit(self, part: Part, ref: "Mapping[str, str]") -> Sent:
        """Update a message of the bot; both text and blocks are replaced."""
        body = {"blocks": [], "attachments": [], **self._body(part, ref["channel"]), "ts": ref["ts"]}
        try:
            sent = _sent(await self._api.call("chat.update", body, proof="ts"), ref["channel"])
        except ChannelError as refusal:
            if refusal.provider_code == "message_not_found":
                raise MessageGoneError("the message was deleted there", provider_code="message_not_found") from None
            raise
        if not part.keeps_files:
            await self._remove_files(ref)
        return sent

    async def _remove_files(self, ref: "Mapping[str, str]") -> None:
        for file in filter(None, ref.get(FILES, "").split(",")):
            await self._api.remove(file)

    async def withdraw(self, ref: "Mapping[str, str]") -> str:
        """Delete a message of the bot, and its files."""
        await self._remove_files(ref)
        try:
            await self._api.call("chat.delete", {"channel": ref["channel"], "ts": ref["ts"]})
        except ChannelError as refusal:
            if refusal.provider_code != "message_not_found":
                raise
            return "it was deleted there already"
        return f"withdrew ts={ref['ts']}"

    def _body(self, part: Part, channel: str) -> dict[str, Any]:
        body: dict[str, Any] = {
            "channel": channel,
            "text": part.text if part.parse_mode in {COMMONMARK, PLAIN} else escape(part.text),
            "unfurl_links": False,
            "unfurl_media": False,
            "link_names": False,
        }
        if part.parse_mode == PLAIN:
            body["mrkdwn"] = False
        if part.content:
            self.dresser.dress(body, part, part.content)
        return body

    def body(self, part: Part) -> dict[str, Any]:
        """Return the body of `chat.postMessage`."""
        return self._body(part, part.target)

    async def probe(self) -> str:
        """Check the token; the answer names the bot and the workspace."""
        answer = await self._api.call("auth.test", {}, proof="user")
        return f"{answer['user']} ({answer.get('team', '?')})"


def _sent(answer: dict[str, Any], channel: str) -> Sent:
    """Return the note, and the channel's ID with the timestamp: updates take no names."""
    found = answer.get("channel")
    return Sent(f"ts={answer['ts']}", {"channel": found if isinstance(found, str) else channel, "ts": answer["ts"]})
