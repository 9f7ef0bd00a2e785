"""Show a message with title, colour, mentions and buttons as an embed. Source: docs/facts/guildchat.md, "Embeds"."""

import re
from collections.abc import Sequence
from typing import Any

from tocsin.channels.content import Content, MessageAction, colour, link_lines
from tocsin.channels.dressing import Dressing
from tocsin.channels.guildchat.api import MAX_CHARS, SUPPRESS_EMBEDS
from tocsin.channels.model import COMMONMARK, Part, Shown

MAX_DESCRIPTION = 4_096
SUPPRESS_NOTIFICATIONS = 4_096
MAX_URL = 512  # of a button
_BUTTON, _ROW = 2, 1  # types of components
_STYLES, _LINK = {"primary": 1, "": 2, "success": 3, "danger": 4}, 5
_USER = re.compile(r"[0-9]{17,20}")
_ROLE = re.compile(r"&[0-9]{17,20}")
_EVERYONE = {"@here": "@here", "@channel": "@everyone"}


class GuildchatEmbeds(Dressing):
    """An embed with title and colour, mentions in the text above it, link buttons below."""

    def mention(self, name: str) -> str | None:
        """Return the reference to everyone, a user or a role."""
        return mention_markup(name)

    def parts(self, text: str, parse_mode: str, content: Content) -> Sequence[Shown]:
        """Return the parts; an embed has room for twice as much."""
        text = link_lines(text, long_links(content), markdown=parse_mode == COMMONMARK)
        # Mentions stand above a text without an embed.
        room = MAX_DESCRIPTION if has_embed(content) else MAX_CHARS - sum(len(name) + 5 for name in content.mention)
        return self.fit(text, parse_mode, max(room, MAX_CHARS // 2), splits=self.adapter.chunk_at() is not None)

    def dress(self, body: dict[str, Any], part: Part, content: Content) -> None:
        """Turn the body of a plain message into one with an embed, mentions and buttons."""
        names = [name for name in content.mention if mention_markup(name)] if part.first else []
        mentions = " ".join(filter(None, map(mention_markup, names)))
        body["flags"] = SUPPRESS_NOTIFICATIONS if content.quiet else 0
        if has_embed(content):
            embed: dict[str, Any] = {"description": part.text}
            if part.first and content.title:
                embed["title"] = content.title
                if part.text == content.title:
                    del embed["description"]
                if content.click:
                    embed["url"] = content.click
            if (shade := colour(content)) is not None:
                embed["color"] = shade
            body |= {"content": mentions, "embeds": [embed]}
        else:
            body["content"] = f"{mentions}\n{part.text}" if mentions else part.text
            body["flags"] |= SUPPRESS_EMBEDS
        if names:
            body["allowed_mentions"] = {
                "parse": ["everyone"] if any(name in _EVERYONE for name in names) else [],
                "users": [name for name in names if _USER.fullmatch(name)],
                "roles": [name.removeprefix("&") for name in names if _ROLE.fullmatch(name)],
            }
        buttons = [_button(action) for action in _actions(content) if action.calls or len(action.url) <= MAX_URL]
        if part.last and buttons:
            rows = [buttons[at : at + 5] for at in range(0, len(buttons), 5)]
            body["components"] = [{"type": _ROW, "components": row} for row in rows]


def mention_markup(name: str) -> str | None:
    """Return the reference to everyone, a user's ID, or a role as `&ID`; `None` for other names."""
    if _USER.fullmatch(name) or _ROLE.fullmatch(name):
        return f"<@{name}>"
    return _EVERYONE.get(name)


def has_embed(content: Content) -> bool:
    """Whether a message is shown as an embed, which has room for a longer text."""
    return bool(content.title) or colour(content) is not None


def long_links(content: Content) -> list[tuple[str, str]]:
    """Return the labels and addresses that are too long for a button."""
    return [(each.label, each.url) for each in _actions(content) if not each.calls and len(each.url) > MAX_URL]


def _actions(content: Content) -> list[MessageAction]:
    # With a title, the title is the link.
    opened = [MessageAction(label="Open", url=content.click)] if content.click and not content.title else []
    return [*opened, *content.actions]


def _button(action: MessageAction) -> dict[str, Any]:
    if action.calls:
        return {"type": _BUTTON, "style": _STYLES[action.style], "label": action.label, "custom_id": action.token}
    return {"type": _BUTTON, "style": _LINK, "label": action.label, "url": action.url}
