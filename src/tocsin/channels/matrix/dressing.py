"""Show title, type and links as text, mentions by the list of those who are mentioned."""

import re
from collections.abc import Sequence
from html import escape
from typing import Any
from urllib.parse import quote

from tocsin.channels.content import Content, with_lines
from tocsin.channels.dressing import Dressing
from tocsin.channels.matrix.content import HTML
from tocsin.channels.model import COMMONMARK, Part, Shown

_USER = re.compile(r"@[^\s:]{1,200}:[A-Za-z0-9.:\[\]-]{1,230}")
_ROOM = {"@here", "@channel", "@room"}
_LINES = ("title", "priority", "type", "click", "actions")


class MatrixDressing(Dressing):
    """Lines of the text, the first one bold; mentions before it."""

    def mention(self, name: str) -> str | None:
        """Return what the text shows of the room, or of a user ID; the product mentions no other names."""
        if name in _ROOM:
            return "@room"
        return name if _USER.fullmatch(name) else None

    def parts(self, text: str, parse_mode: str, content: Content) -> Sequence[Shown]:
        """Return the parts of a text with title and links."""
        lined = with_lines(text, content, _LINES, markdown=parse_mode == COMMONMARK)
        return self.adapter.parts_of(lined, parse_mode)

    def dress(self, body: dict[str, Any], part: Part, content: Content) -> None:
        """Add the bold title of a plain text, and the mentions, to the content of an event."""
        if content.quiet:
            body["msgtype"] = "m.notice"
        if not part.first:
            return
        if content.title and part.parse_mode != COMMONMARK:
            first, gap, rest = body["body"].partition("\n")
            html = f"<strong>{escape(first)}</strong>" + (f"<br>{escape(rest)}".replace("\n", "<br>") if gap else "")
            body |= {"format": HTML, "formatted_body": html}
        names = list(dict.fromkeys(found for name in content.mention if (found := self.mention(name))))
        if not names:
            return
        html = body.get("formatted_body") or escape(body["body"]).replace("\n", "<br>")
        body |= {"body": f"{' '.join(names)}\n{body['body']}", "format": HTML}
        body["formatted_body"] = f"{' '.join(map(_shown, names))}<br>{html}"
        if not content.quiet:
            people = [name for name in names if name != "@room"]
            body["m.mentions"] = ({"room": True} if "@room" in names else {}) | ({"user_ids": people} if people else {})


def _shown(name: str) -> str:
    if name == "@room":
        return name
    return f'<a href="https://matrix.to/#/{quote(name, safe="@:")}">{escape(name)}</a>'
