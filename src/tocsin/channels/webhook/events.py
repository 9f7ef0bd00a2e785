"""The fields of a message in an event, and how the composer shows them."""

import json
from collections.abc import Mapping
from typing import Any

from tocsin.channels.content import Content, MessageAction
from tocsin.channels.dressing import Dressing
from tocsin.channels.layout.model import LayoutLook, LayoutSection, MessageLayout, TextSpan, text_block
from tocsin.channels.model import Part


class WebhookDressing(Dressing):
    """The fields of a message as data."""

    def mention(self, name: str) -> str:
        """Return the mention unchanged: the receiver decides what it means."""
        return name

    def dress(self, body: dict[str, Any], part: Part, content: Content) -> None:
        """Add the fields that are used."""
        body |= {
            "title": content.title,
            "priority": content.priority,
            "type": content.type or None,
            "click": content.click or None,
            "silent": content.quiet,
            "mention": list(content.mention),
            "actions": [self._action(each) for each in content.actions] if part.last else [],
        }

    def _action(self, action: MessageAction) -> dict[str, Any]:
        """Return a button; a `call` has an address whose POST presses it, and neither name nor value."""
        calls = self.is_pressed_by_post(action)
        return {
            "action": "call" if calls else "view",
            "label": action.label,
            "url": action.url,
            "style": action.style or None,
            "confirm": action.confirm or None,
            "once": action.once if calls else None,
        }


def layout_of(body: Mapping[str, Any]) -> MessageLayout:
    """Return the layout of an event: its data as JSON."""
    text = json.dumps(body, ensure_ascii=False, indent=2)
    return MessageLayout(LayoutLook.TEXT, (LayoutSection((text_block([TextSpan(text, ("pre",))]),)),))
