"""mattermost sends: posts, edits and threads of a bot. Source: docs/facts/mattermost.md."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.channels.contract import PLAIN, ChannelSpec, MessageGoneError, OutboundAdapter, Part, Sent, Shown, Tools
from tocsin.channels.mattermost.api import MAX_CHARS, POST_MISSING, TOKEN, TOO_OLD, URL, MattermostApi
from tocsin.channels.mattermost.markup import escape, without_mentions
from tocsin.channels.model import FileLimits, degraded, native
from tocsin.core.config.settings import Values
from tocsin.core.errors import ChannelError

PUBLIC_URL = "PUBLIC_URL"
_CHANNEL_ID, _NAME = r"[a-z0-9]{26}", r"[a-z0-9][a-z0-9._-]{0,63}"
_TARGET = re.compile(f"{_CHANNEL_ID}|@{_NAME}|{_NAME}/{_NAME}")


class MattermostAdapter(OutboundAdapter):
    """Posts to channels and people."""

    spec = ChannelSpec(
        kind="mattermost",
        label="Mattermost",
        schemes=("mmost", "mmosts"),
        product="Mattermost REST API v4",
        secrets=(TOKEN,),
        options=(URL,),
        inbound=("webhook",),
        target_format="team/channel as in the channel's address, @user, or a channel ID of 26 letters and digits",
        arrival=(
            "The bot is a member of the team and of the channel.",
            "You are signed in on the phone with an account that is a member of the channel.",
            "The server sends push notifications, and the channel does not notify about mentions only.",
        ),
        max_length=MAX_CHARS,
        chunk_at=MAX_CHARS,
        abilities={
            "title": degraded("a bold first line"),
            "priority": native("a label, from 4 on; not in a thread"),
            "type": degraded("a symbol before the title"),
            "click": degraded("a link after the text"),
            "actions": degraded("links after the text"),
            "call": native("a button; `confirm` is not asked"),
            "attach": native("below the text; pictures are shown"),
            "mention": native(),
            "silent": degraded("names without a mention; the product has no quiet mode"),
            "key": native("edits, unless the server limits the time for it"),
            "withdraw": native(),
            "thread": native(),
        },
        files=FileLimits(),  # older servers take 5 in a post
    )
    dressing = "tocsin.channels.mattermost.dressing:MattermostDressing"
    inbound = "tocsin.channels.mattermost.inbound:MattermostInbound"
    standin = "tocsin.channels.mattermost.standin:MattermostServer"

    def __init__(self, config: Values, tools: Tools) -> None:
        super().__init__(config, tools)
        self._api = MattermostApi(config, tools.http)
        self._channel_ids: dict[str, str] = {}  # by target

    def check_target(self, target: str) -> str:
        """Accept a channel by ID or name, and a person by name."""
        if not _TARGET.fullmatch(target):
            raise ChannelError(f"{target!r} is not a valid target", hint=f"use {self.spec.target_format}")
        return target

    def lacks_presses(self) -> str:
        """Return the setting without which the server cannot report a press."""
        return "" if self.public_url else PUBLIC_URL

    def parts_of(self, text: str, parse_mode: str) -> Sequence[Shown]:
        """Return the parts of a text, which the product reads as Markdown in every mode but `PLAIN`."""
        return [(part, ()) for part in self.split_text(without_mentions(escape(text) if parse_mode == PLAIN else text))]

    async def deliver(self, part: Part) -> Sent:
        """Post one part; the note is the post's ID.

        A server recognises a repeat by `pending_post_id` for 30 s, if it reaches the same node.
        """
        from hashlib import sha256

        channel = await self._channel_id(part.target)
        post = {
            "channel_id": channel, "pending_post_id": sha256(f"{channel} {part.key}".encode()).hexdigest()[:26],
            **self._content(part), **await self._upload(part, channel),
        }  # fmt: skip
        if part.thread and (root := part.thread.ref.get("id")):
            post["root_id"] = root
            post.pop("metadata", None)  # only the first post of a thread may have a priority
        return await self._post(part.target, post)

    async def edit(self, part: Part, ref: Mapping[str, str]) -> str:
        """Replace text and buttons of a post, and its files unless they stay; repeating this has no further effect."""
        content: dict[str, Any] = {"props": {"attachments": []}, **self._content(part)}
        content.pop("metadata", None)  # cannot be changed
        if not part.keeps_files:
            channel = await self._channel_id(part.target)
            content |= {"file_ids": [], **await self._upload(part, channel)}
        try:
            changed = await self._api.call("PUT", f"/posts/{ref['id']}/patch", content)
        except ChannelError as refusal:
            if refusal.provider_code in {POST_MISSING, TOO_OLD}:
                raise MessageGoneError(str(refusal), provider_code=refusal.provider_code) from None
            raise
        left, given = content.get("file_ids"), changed.get("file_ids") or []
        if left is None or set(left) == set(given):
            return f"id={ref['id']}"
        if left:  # a server that changes no files of a post shows the new ones below it
            root = str(changed.get("root_id") or ref["id"])
            await self._post(part.target, {"channel_id": channel, "message": "", "root_id": root, "file_ids": left})
        return f"id={ref['id']} (the server cannot remove its files, so they stay)"

    async def withdraw(self, ref: Mapping[str, str]) -> str:
        """Delete a post."""
        try:
            await self._api.call("DELETE", f"/posts/{ref['id']}", proof="status")
        except ChannelError as refusal:
            if refusal.provider_code != POST_MISSING:
                raise
            return "it was deleted there already"
        return f"withdrew id={ref['id']}"

    async def probe(self) -> str:
        """Look up the bot's own account."""
        return str((await self._api.call("GET", "/users/me", proof="username"))["username"])

    async def _post(self, target: str, post: dict[str, Any]) -> Sent:
        try:
            sent = await self._api.call("POST", "/posts", post)
        except ChannelError as refusal:
            self._channel_ids.pop(target, None)  # it may have been renamed
            if "priority" not in refusal.provider_code:
                raise
            post.pop("metadata", None)
            sent = await self._api.call("POST", "/posts", post)
            return Sent(f"id={sent['id']} (without priority, which the server has switched off)", {"id": sent["id"]})
        return Sent(f"id={sent['id']}", {"id": sent["id"]})

    def _content(self, part: Part) -> dict[str, Any]:
        content: dict[str, Any] = {"message": part.text}
        if part.content:
            self.dresser.dress(content, part, part.content)
        return content

    async def _upload(self, part: Part, channel: str) -> dict[str, Any]:
        """Upload the files of a part, and return the field of a post that names them."""
        found = [await self._api.upload(file, channel) for file in part.files]
        return {"file_ids": found} if found else {}

    async def _channel_id(self, target: str) -> str:
        if target not in self._channel_ids:
            self._channel_ids[target] = await self._look_up(target)
        return self._channel_ids[target]

    async def _look_up(self, target: str) -> str:
        if target.startswith("@"):
            person = await self._api.look_up(f"/users/username/{target[1:]}")
            own = await self._api.look_up("/users/me")
            return await self._api.look_up("/channels/direct", [own, person])
        if "/" in target:
            team, _, channel = target.partition("/")
            return await self._api.look_up(f"/teams/name/{team}/channels/name/{channel}")
        return target
