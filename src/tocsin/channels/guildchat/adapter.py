"""guildchat sends: Discord, by REST v10. Source: docs/facts/guildchat.md."""

import re
from typing import TYPE_CHECKING, Any

from tocsin.channels.contract import ChannelSpec, MessageGoneError, OutboundAdapter, Part, Sent, Tools
from tocsin.channels.guildchat.api import API_URL, BOT_TOKEN, MAX_CHARS, SUPPRESS_EMBEDS, GuildchatApi
from tocsin.channels.guildchat.settings import PUBLIC_KEY
from tocsin.channels.model import FileLimits, degraded, native
from tocsin.channels.replies import repeat_once
from tocsin.core.config.settings import Values
from tocsin.core.config.variables import Variable, boolean
from tocsin.core.errors import ChannelError
from tocsin.core.time.ratelimit import Rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tocsin.channels.attached import AttachedFile
    from tocsin.core.text.markup import Renderer

SPLIT = Variable(
    "GUILDCHAT_SPLIT", boolean, False, "Split texts longer than 2,000 characters instead of rejecting them."
)
UNKNOWN_MESSAGE = "10008"
_TARGET = r"[0-9]{17,20}"


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
        target_format="channel ID of 17 to 20 digits (enable Developer Mode, right-click, Copy Channel ID)",
        arrival=(
            "The bot may view the channel and send messages in it.",
            "The notification settings of the channel are All Messages: many servers notify only about mentions.",
            "You are signed in on the phone with an account that sees the channel.",
        ),
        max_length=MAX_CHARS,
        inbound=("webhook",),
        target_rate=Rate(5, 5.0),  # evenly, because no burst is documented and refusals count towards a ban
        account_rate=Rate(50, 1.0),
        recognises_repeats=True,
        abilities={
            "title": native("the title of an embed"),
            "priority": degraded("the colour of an embed, from 4 on"),
            "type": native("the colour of an embed"),
            "click": native("the link of the title, else a button"),
            "actions": native("buttons; an address of more than 512 characters is a line"),
            "call": native("a button; `confirm` is not asked"),
            "attach": native("below the text; pictures are shown"),
            "mention": native(),
            "silent": native(),
            "key": native("edits; slow for messages older than an hour"),
            "withdraw": native(),
            "thread": native("replies to the first message"),
        },
        files=FileLimits(each=10 * 2**20, together=25 * 2**20),  # servers with boosts take more
        # Two waits of 30 s and two calls of 25 s: the longest that `deliver` takes.
        send_timeout_s=120.0,
    )

    dressing = "tocsin.channels.guildchat.embeds:GuildchatEmbeds"
    layouts = "tocsin.channels.guildchat.layout:layout_of"
    inbound = "tocsin.channels.guildchat.inbound:GuildchatInbound"

    def __init__(self, config: Values, tools: Tools) -> None:
        super().__init__(config, tools)
        self._api = GuildchatApi(config, tools.http, tools.clock)

    def check_target(self, target: str) -> str:
        """Accept a channel ID."""
        if not re.fullmatch(_TARGET, target):
            raise ChannelError(f"{target!r} is not a valid target", hint=f"use the {self.spec.target_format}")
        return target

    def chunk_at(self) -> int | None:
        """Return the provider's limit if the operator wants long texts split, else None."""
        return MAX_CHARS if self.config[SPLIT] else None

    def dialect(self, parse_mode: str) -> "Renderer":
        """Return the product's Markdown, in which plain text is escaped."""
        from tocsin.channels.guildchat.markdown import GuildMarkdown

        return GuildMarkdown(MAX_CHARS)

    async def deliver(self, part: Part) -> Sent:
        """Post one part; the note is the message's ID.

        An unanswered attempt is repeated once: because of the nonce, the provider then returns the first message
        instead of posting a second one.
        """
        body = {**self._body(part), "nonce": nonce(part), "enforce_nonce": True}
        if part.thread and (root := part.thread.ref.get("id")):
            body["message_reference"] = {"message_id": root, "fail_if_not_exists": False}
        path, longest_s = f"/channels/{part.target}/messages", self.spec.retry.longest_wait_s
        sent = await repeat_once(
            lambda: self._api.call("POST", path, body, part.files, proof="id", longest_wait_s=longest_s)
        )
        return Sent(f"id={sent['id']}", {"channel": part.target, "id": sent["id"]})

    async def edit(self, part: Part, ref: "Mapping[str, str]") -> str:
        """Replace a message of the bot; repeating this has no further effect."""
        body = {"embeds": [], "components": [], **self._body(part)}
        if not part.keeps_files:  # those that are not listed are removed
            body.setdefault("attachments", [])
        body["flags"] &= SUPPRESS_EMBEDS  # the only one that can be changed
        try:
            await self._change("PATCH", ref, body, part.files)
        except ChannelError as refusal:
            if refusal.provider_code == UNKNOWN_MESSAGE:
                raise MessageGoneError("the message was deleted there", provider_code=UNKNOWN_MESSAGE) from None
            raise
        return f"id={ref['id']}"

    async def withdraw(self, ref: "Mapping[str, str]") -> str:
        """Delete a message of the bot."""
        try:
            await self._change("DELETE", ref, None)
        except ChannelError as refusal:
            if refusal.provider_code != UNKNOWN_MESSAGE:
                raise
            return "it was deleted there already"
        return f"withdrew id={ref['id']}"

    async def _change(
        self,
        method: str,
        ref: "Mapping[str, str]",
        body: dict[str, Any] | None,
        files: "tuple[AttachedFile, ...]" = (),
    ) -> None:
        path, longest_s = f"/channels/{ref['channel']}/messages/{ref['id']}", self.spec.retry.longest_wait_s
        await repeat_once(lambda: self._api.call(method, path, body, files, longest_wait_s=longest_s))

    def _body(self, part: Part) -> dict[str, Any]:
        body = {"content": part.text, "allowed_mentions": {"parse": []}, "flags": SUPPRESS_EMBEDS}
        if part.content:
            self.dresser.dress(body, part, part.content)
        if part.files:
            body["attachments"] = [
                {"id": number, "filename": file.name, **({"description": file.alt} if file.alt else {})}
                for number, file in enumerate(part.files)
            ]
        return body

    def body(self, part: Part) -> dict[str, Any]:
        """Return the body of a new message."""
        return self._body(part)

    async def probe(self) -> str:
        """Look up the bot's own user."""
        return str((await self._api.own_user()).get("username", "?"))


def nonce(part: Part) -> str:
    """Return the nonce of a part: the same at every attempt, at most 25 characters."""
    from hashlib import sha256

    # The provider may compare nonces over all of a bot's channels.
    return sha256(f"{part.target}\n{part.key}".encode()).hexdigest()[:24]
