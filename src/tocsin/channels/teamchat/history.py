"""Find a message of the bot by the mark in its metadata. Source: docs/facts/teamchat.md, "History"."""

from collections.abc import AsyncGenerator
from typing import Any

from tocsin.channels.teamchat.api import TeamchatApi
from tocsin.core.errors import ChannelError

EVENT_TYPE = "tocsin_message"
CLOCKS_DIFFER_S = 300  # the timestamps are those of Slack's clock
_PAGES = 20  # Tier 3 allows 50 calls a minute


async def find_channel(api: TeamchatApi, target: str) -> str:
    """Return the ID of the conversation that messages to `target` go to; raise RemoteError if it cannot be known."""
    if target[0] in "UW":
        opened = (await api.form("conversations.open", {"users": target})).get("channel")
        return str(opened["id"]) if isinstance(opened, dict) else ""
    if not target.startswith("#"):
        return target
    of = {"types": "public_channel,private_channel", "exclude_archived": "true", "limit": "999"}
    async for channel in _pages(api, "conversations.list", of, "channels"):
        if channel.get("name") == target[1:]:
            return str(channel.get("id"))
    raise ChannelError(f"the bot sees no channel {target}", hint="use the channel's ID as target")


async def find_message(api: TeamchatApi, channel: str, thread: str, mark: str, since: float) -> str:
    """Return the timestamp of the bot's message with `mark`, posted after the Unix time `since`; empty if none.

    Members can read the marks, and other apps can post the same ones.
    """
    bot = (await api.call("auth.test", {}, proof="bot_id"))["bot_id"]
    oldest = f"{since - CLOCKS_DIFFER_S:.6f}"
    where = {"channel": channel, "oldest": oldest, "include_all_metadata": "true", "limit": "200"}
    method = "conversations.replies" if thread else "conversations.history"
    async for message in _pages(api, method, {**where, "ts": thread} if thread else where, "messages"):
        metadata = message.get("metadata")
        is_marked = isinstance(metadata, dict) and metadata.get("event_payload") == {"id": mark}
        if is_marked and message.get("bot_id") == bot:
            return str(message.get("ts"))
    return ""


async def _pages(api: TeamchatApi, method: str, fields: dict[str, str], field: str) -> AsyncGenerator[dict[str, Any]]:
    for _ in range(_PAGES):
        answer = await api.form(method, fields)
        if not isinstance(found := answer.get(field), list):
            raise ChannelError(f"the answer to {method} has no {field}")
        for each in found:
            if isinstance(each, dict):
                yield each
        more = answer.get("response_metadata")
        cursor = more.get("next_cursor") if isinstance(more, dict) else ""
        if not cursor:
            return
        fields = {**fields, "cursor": str(cursor)}
    raise ChannelError(f"{method} has more than {_PAGES} pages")
