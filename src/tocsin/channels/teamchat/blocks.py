"""Show a message with title, colour, mentions and buttons as blocks. Source: docs/facts/teamchat.md, "Blocks"."""

import re
from collections.abc import Sequence
from typing import Any

from tocsin.channels.content import Content, MessageAction, colour, symbol
from tocsin.channels.dressing import Dressing
from tocsin.channels.model import PLAIN, Part, Shown
from tocsin.channels.teamchat.wording import escape
from tocsin.core.text.strings import split

MAX_CHARS = 9_000  # of one part: over all blocks about 12,000 are accepted
_HEADER_CHARS, _SECTION_CHARS, _BUTTON_CHARS = 150, 3_000, 75
_STYLES = {"primary": "primary", "success": "primary", "danger": "danger"}
_EVERYONE = {"@here": "<!here>", "@channel": "<!channel>"}
_ID = re.compile(r"[UW][A-Z0-9]{1,63}")
_GROUP = re.compile(r"S[A-Z0-9]{1,63}")


class TeamchatBlocks(Dressing):
    """Blocks: header, sections, buttons; a type colours them."""

    def mention(self, name: str) -> str | None:
        """Return the markup that mentions `@here`, `@channel`, or the ID of a user or a user group."""
        return mention_markup(name)

    def parts(self, text: str, parse_mode: str, content: Content) -> Sequence[Shown]:
        """Split into messages whose blocks the product accepts."""
        return self.fit(text, parse_mode, min(self.adapter.chunk_at() or MAX_CHARS, MAX_CHARS))

    def dress(self, body: dict[str, Any], part: Part, content: Content) -> None:
        """Add the blocks to a message; its text remains what notifications show."""
        title = _title(content) if part.first else ""
        mentions = _mentions(content) if part.first else ""
        text = body["text"]
        sections = (
            [] if title and part.text in {content.title, escape(content.title)} else _sections(text, part.parse_mode)
        )
        if mentions:
            sections.insert(0, _mrkdwn(mentions))
        if part.last and (buttons := _buttons(content)):
            sections.append({"type": "actions", "elements": buttons})
        head = [_header(title)] if title else []
        lines = [title and escape(title), mentions, "" if text in {title, escape(content.title)} and title else text]
        body["text"] = "\n".join(filter(None, lines))
        shade = colour(content) if content.type else None
        if shade is None:
            body["blocks"] = [*head, *sections]
            return
        inside = sections if head and sections else [_mrkdwn(content.type.capitalize())]
        body["blocks"] = head or sections
        body["attachments"] = [{"color": f"#{shade:06X}", "blocks": inside}]


def mention_markup(name: str) -> str | None:
    """Return the reference to everyone, a user ID or a user group's ID; `None` for other names."""
    if _ID.fullmatch(name):
        return f"<@{name}>"
    return f"<!subteam^{name}>" if _GROUP.fullmatch(name) else _EVERYONE.get(name)


def _title(content: Content) -> str:
    lead = symbol(content, ("priority",))
    return f"{lead} {content.title}" if lead and content.title else content.title


def _header(title: str) -> dict[str, Any]:
    if len(title) <= _HEADER_CHARS:
        return {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}}
    return _mrkdwn(escape(title) if "*" in title else f"*{escape(title)}*")


def _sections(text: str, parse_mode: str) -> list[dict[str, Any]]:
    if parse_mode != PLAIN:
        return [_mrkdwn(piece) for piece in split(text, _SECTION_CHARS)]
    raw = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    shown = [{"type": "plain_text", "text": piece, "emoji": False} for piece in split(raw, _SECTION_CHARS)]
    return [{"type": "section", "text": each} for each in shown]


def _mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def _mentions(content: Content) -> str:
    """Return the references; a message without a sound names people and mentions none."""
    if content.quiet:
        return escape(" ".join(name for name in content.mention if mention_markup(name)))
    return " ".join(filter(None, map(mention_markup, content.mention)))


def _buttons(content: Content) -> Sequence[dict[str, Any]]:
    opened = [MessageAction(label="Open", url=content.click)] if content.click else []
    return [_button(number, action) for number, action in enumerate((*opened, *content.actions))]


def _button(number: int, action: MessageAction) -> dict[str, Any]:
    button: dict[str, Any] = {
        "type": "button",
        "text": {"type": "plain_text", "text": action.label[:_BUTTON_CHARS], "emoji": False},
        "action_id": f"{action.action}:{number}",
        **({"value": action.token} if action.calls else {"url": action.url}),
    }
    if style := _STYLES.get(action.style):
        button["style"] = style
    if action.confirm:
        plain = {"title": action.label, "text": action.confirm, "confirm": "Yes", "deny": "No"}
        button["confirm"] = {name: {"type": "plain_text", "text": text} for name, text in plain.items()}
    return button
