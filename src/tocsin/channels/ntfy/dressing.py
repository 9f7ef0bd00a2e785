"""Show title, urgency, link and buttons by headers. Source: docs/facts/ntfy.md, "Fields"."""

import json
from collections.abc import Sequence
from typing import Any

from tocsin.channels.content import QUIET_FROM, USUAL, Content, MessageAction, link_lines
from tocsin.channels.dressing import Dressing
from tocsin.channels.model import COMMONMARK, Part, Shown
from tocsin.channels.ntfy.files import header_text

MAX_BUTTONS = 3
# Names of emoji that the apps show before the title.
TAGS = {"info": "information_source", "success": "white_check_mark", "warning": "warning", "failure": "x"}


class NtfyDressing(Dressing):
    """Headers of a published message."""

    def parts(self, text: str, parse_mode: str, content: Content) -> Sequence[Shown]:
        """Return the parts of a text, with a line for each button beyond the third."""
        links = [(each.label, each.url) for each in content.actions[MAX_BUTTONS:]]
        return self.adapter.parts_of(link_lines(text, links, markdown=parse_mode == COMMONMARK), parse_mode)

    def dress(self, body: dict[str, str], part: Part, content: Content) -> None:
        """Add the headers of `content` to those of a part."""
        priority = min(content.priority, QUIET_FROM) if content.quiet else content.priority
        found = {
            "X-Title": content.title if part.first and part.text != content.title else "",
            "X-Priority": "" if priority == USUAL else str(priority),
            "X-Tags": TAGS.get(content.type, "") if part.first else "",
            "X-Click": content.click,
            "X-Actions": self._buttons(content) if part.last else "",
        }
        body |= {name: header_text(value) for name, value in found.items() if value}

    def _buttons(self, content: Content) -> str:
        """Return the buttons as the JSON of a header; empty if there are none."""
        shown = [self._button(each) for each in content.actions[:MAX_BUTTONS]]
        # The server would decode what looks like an encoded word (RFC 2047).
        return json.dumps(shown).replace("=?", "\\u003d?") if shown else ""

    def _button(self, action: MessageAction) -> dict[str, Any]:
        """Return one button; a press of a `call` makes the device call its address, and removes the notification."""
        if self.is_pressed_by_post(action):
            called = {"action": "http", "label": action.label, "url": action.url, "method": "POST"}
            return {**called, "clear": action.once}
        return {"action": "view", "label": action.label, "url": action.url}
