"""Show title, type, link and buttons in a card. Source: docs/facts/teams.md, "Cards"."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tocsin.channels.content import Content
from tocsin.channels.dressing import Dressing
from tocsin.channels.layout.model import (
    LayoutBlock,
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
from tocsin.channels.teams.adapter import MAX_CARD_BYTES, MAX_TEXT_BYTES, packed

_LEAST_BYTES = 1_000  # of a text; with buttons that leave less room, a card is refused
# Styles of a container, by type, else by priority.
_STYLES = {"info": "accent", "success": "good", "warning": "warning", "failure": "attention"}
_STYLES_BY_PRIORITY = {4: "warning", 5: "attention"}
_COLOURS = {"accent": "#3b82f6", "good": "#2eb67d", "warning": "#ecb22e", "attention": "#e01e5a"}


class TeamsDressing(Dressing):
    """A bold title, a coloured container, a link and buttons."""

    def parts(self, text: str, parse_mode: str, content: Content) -> Sequence[Shown]:
        """Return the parts of a text, with room for what `dress` adds."""
        room = MAX_CARD_BYTES - len(packed(self.adapter.body(Part("", "", "", content=content))))
        return self.fit(text, parse_mode, min(max(room, _LEAST_BYTES), MAX_TEXT_BYTES))

    def dress(self, body: dict[str, Any], part: Part, content: Content) -> None:
        """Add the content to the card of a part."""
        if part.first and content.title and part.text != content.title:
            run: dict[str, Any] = {"type": "TextRun", "text": content.title, "weight": "Bolder", "size": "Medium"}
            body["body"].insert(0, {"type": "RichTextBlock", "inlines": [run]})
        if part.last and content.click:
            link = {"type": "TextRun", "text": content.click, "selectAction": _opening(content.click)}
            body["body"].append({"type": "RichTextBlock", "inlines": [link]})
        if style := _STYLES.get(content.type) or _STYLES_BY_PRIORITY.get(content.priority):
            body["body"] = [{"type": "Container", "style": style, "bleed": True, "items": body["body"]}]
        if part.last and content.actions:
            body["actions"] = [{**_opening(each.url), "title": each.label} for each in content.actions]


def _opening(url: str) -> dict[str, str]:
    return {"type": "Action.OpenUrl", "url": url}


def layout_of(body: Mapping[str, Any]) -> MessageLayout:
    """Return the layout of a card."""
    card = body["attachments"][0]["content"]
    items, colour = card["body"], ""
    if items and items[0]["type"] == "Container":
        colour, items = _COLOURS[items[0]["style"]], items[0]["items"]
    blocks = list(_blocks(items))
    if actions := card.get("actions"):
        blocks.append(button_block(LayoutButton(each["title"], each["url"]) for each in actions))
    return MessageLayout(LayoutLook.POST, (LayoutSection(tuple(blocks), card=True, colour=colour),))


def _blocks(items: Sequence[Mapping[str, Any]]) -> Iterator[LayoutBlock]:
    lines: list[str] = []
    runs = [item["inlines"][0] for item in items]
    for run in runs:
        if isinstance(run, str):
            lines.append(run)
        elif "weight" in run:
            yield title_block(run["text"])
    yield text_block([TextSpan("\n".join(lines))])
    for run in runs:
        if isinstance(run, dict) and "selectAction" in run:
            yield text_block([TextSpan(run["text"], url=run["selectAction"]["url"])])
