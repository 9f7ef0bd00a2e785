"""The fields of a message that a notification shows besides its text."""

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.channels.content import USUAL, Content, MessageAction, symbol
from tocsin.channels.dressing import Dressing
from tocsin.channels.layout.model import (
    LayoutButton,
    LayoutLook,
    LayoutSection,
    MessageLayout,
    TextSpan,
    button_block,
    text_block,
    title_block,
)
from tocsin.channels.model import Part, Shown

MAX_BUTTONS = 2  # Chrome shows two: `Notification.maxActions`


class WebpushDressing(Dressing):
    """The fields of a notification."""

    def parts(self, text: str, parse_mode: str, content: Content) -> Sequence[Shown]:
        """Return the text without further lines: what a notification lacks is on the page that a tap opens."""
        return self.adapter.parts_of(text, parse_mode)

    def dress(self, body: dict[str, Any], part: Part, content: Content) -> None:
        """Add the fields that are used."""
        mark = symbol(content, {"type"})
        title = content.title or (body["title"] if mark else "")
        shown = {
            "title": " ".join(filter(None, (mark, title))),
            "url": content.click,
            "silent": content.quiet,
            "sticky": content.priority > USUAL + 1,
            "actions": [_button(number, each) for number, each in enumerate(content.actions[:MAX_BUTTONS])],
            "more": len(content.actions) > MAX_BUTTONS,
        }
        body |= {name: value for name, value in shown.items() if value}
        if part.text == content.title:
            body["body"] = ""


def _button(number: int, action: MessageAction) -> dict[str, Any]:
    """Return a button; of a `call`, the device gets its number alone: a press names the delivery."""
    if not action.calls:
        return {"label": action.label, "url": action.url}
    return {"label": action.label, "press": number, **({"asks": True} if action.confirm else {})}


def layout_of(body: Mapping[str, Any]) -> MessageLayout:
    """Return the layout of a notification: title, text and buttons; a tap opens its address."""
    blocks = [title_block(body["title"], body.get("url", ""))]
    blocks += [text_block([TextSpan(body["body"])])] if body["body"] else []
    buttons = [LayoutButton(each["label"], each.get("url", "")) for each in body.get("actions", ())]
    blocks += [button_block(buttons)] if buttons else []
    return MessageLayout(LayoutLook.POST, (LayoutSection(tuple(blocks)),), silent=body.get("silent", False))
