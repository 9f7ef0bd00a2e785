"""Show title, mentions and buttons of a message. Source: docs/facts/botchat.md, "Messages"."""

import re
from collections.abc import Sequence
from html import escape as escape_html
from typing import TYPE_CHECKING, Any

from tocsin.channels.botchat.draft import Draft
from tocsin.channels.botchat.settings import PARSE_MODE
from tocsin.channels.content import Content, MessageAction, escape_commonmark, symbol
from tocsin.channels.dressing import Dressing
from tocsin.channels.model import COMMONMARK, PLAIN, Part, Shown
from tocsin.core.text.measures import utf16_units

if TYPE_CHECKING:
    from tocsin.channels.botchat.extras import InlineKeyboard

_USER = re.compile(r"[1-9][0-9]{4,15}")
_NAME = re.compile(r"@[A-Za-z][A-Za-z0-9_]{4,31}")
_SPECIAL = {"Markdown": r"([_*`\[])", "MarkdownV2": r"([_*\[\]()~`>#+\-=|{}.!\\])"}


class BotchatDressing(Dressing):
    """A bold title above the text, mentions below it, buttons."""

    def mention(self, name: str) -> str | None:
        """Return the text that mentions a user's ID or `@name`."""
        return mention_markup(name)

    def parts(self, text: str, parse_mode: str, content: Content) -> Sequence[Shown]:
        """Return the parts of the text below its title and above its mentions."""
        usual: str = self.adapter.config[PARSE_MODE]
        return self.adapter.parts_of(compose(text, parse_mode or usual, content), parse_mode)

    def dress(self, body: Draft, part: Part, content: Content) -> None:
        """Add the ranges of a text without markup, the buttons, and the quiet mode."""
        body.silent = content.quiet
        if part.parse_mode == PLAIN and part.first and content.title:
            title = _lead(content)
            if body.text.startswith(title):
                body.entities.append({"type": "bold", "offset": 0, "length": utf16_units(title)})
        if part.last:
            if part.parse_mode in {PLAIN, COMMONMARK}:
                body.entities += _user_links(body.text, _mentions(content))
            body.keyboard = [*(body.keyboard or []), *_buttons(content)] or None


def mention_markup(name: str) -> str | None:
    """Return the text of a mention: a user's ID or `@name`; `None` for other names."""
    return name if _USER.fullmatch(name) or _NAME.fullmatch(name) else None


def compose(text: str, parse_mode: str, content: Content) -> str:
    """Return the text below its title and above its mentions, in the markup of `parse_mode`."""
    names = _mentions(content)
    lines = [_title(parse_mode, content)]
    lead = "" if content.title else symbol(content)
    lines += [] if text == content.title else [f"{lead} {text}" if lead else text]
    lines += [" ".join(_mention(parse_mode, name) for name in names)] if names else []
    gap = "\n\n" if parse_mode == COMMONMARK else "\n"
    return gap.join(filter(None, lines))


def _mentions(content: Content) -> list[str]:
    return [name for name in content.mention if mention_markup(name)]


def _lead(content: Content) -> str:
    mark = symbol(content)
    return f"{mark} {content.title}" if mark else content.title


def _title(parse_mode: str, content: Content) -> str:
    if not content.title:
        return ""
    plain = _lead(content)
    title = _escape(parse_mode, plain)
    match parse_mode:
        case "MarkdownV2":
            return f"*{title}*"
        case "Markdown":  # it has no escapes within bold text
            return title if title != plain else f"*{title}*"
        case "HTML":
            return f"<b>{title}</b>"
        case mode if mode == COMMONMARK:
            return f"**{title}**"
    return title


def _mention(parse_mode: str, name: str) -> str:
    shown = _escape(parse_mode, name)
    if name.startswith("@") or parse_mode in {PLAIN, COMMONMARK}:
        return shown
    address = f"tg://user?id={name}"
    return f'<a href="{address}">{shown}</a>' if parse_mode == "HTML" else f"[{shown}]({address})"


def _escape(parse_mode: str, text: str) -> str:
    if special := _SPECIAL.get(parse_mode):
        return re.sub(special, r"\\\1", text)
    if parse_mode == "HTML":
        return escape_html(text, quote=False)
    return escape_commonmark(text) if parse_mode == COMMONMARK else text


def _user_links(text: str, names: list[str]) -> list[dict[str, Any]]:
    """Return the ranges that make the user IDs of the last line mentions."""
    line = " ".join(names)
    if not line or not text.endswith(line):
        return []
    found, at = [], utf16_units(text[: len(text) - len(line)])
    for name in names:
        if not name.startswith("@"):
            place = {"offset": at, "length": len(name)}
            found.append({"type": "text_link", **place, "url": f"tg://user?id={name}"})
        at += len(name) + 1
    return found


def _buttons(content: Content) -> "InlineKeyboard":
    opened = [MessageAction(label="Open", url=content.click)] if content.click else []
    return [[_button(action)] for action in (*opened, *content.actions)]


def _button(action: MessageAction) -> dict[str, str]:
    does = {"callback_data": action.token} if action.calls else {"url": action.url}
    return {"text": action.label, **does, **({"style": action.style} if action.style else {})}
