"""Show title, type and links as Markdown, urgency as a label. Source: docs/facts/mattermost.md, "Text"."""

import re
from collections.abc import Sequence
from typing import Any

from tocsin.channels.content import Content, link_lines, symbol
from tocsin.channels.dressing import Dressing
from tocsin.channels.mattermost.api import MAX_CHARS
from tocsin.channels.mattermost.context import signed_context
from tocsin.channels.mattermost.markup import escape, without_mentions
from tocsin.channels.model import PLAIN, Part, Shown

LABELS = {4: "important", 5: "urgent"}
_EVERYONE = {"@here", "@channel", "@all"}


class MattermostDressing(Dressing):
    """A bold title, links below the text, mentions before it."""

    def mention(self, name: str) -> str | None:
        """Return the mention of everyone or a user name; an ID cannot be mentioned."""
        return name.lower() if name in _EVERYONE or re.fullmatch(r"@[a-z0-9][a-z0-9._-]*", name.lower()) else None

    def parts(self, text: str, parse_mode: str, content: Content) -> Sequence[Shown]:
        """Return the parts of a text in the product's Markdown, with room for what `dress` adds to the first."""
        lead, links = first_line(content), _links(content)
        if parse_mode == PLAIN:
            text = escape(text)
        if text == content.title and content.title:
            text = lead
        elif lead:
            # A symbol alone stays on the line of the text.
            text = f"{lead}\n{text}" if content.title else f"{lead} {text}"
        mentions = sum(len(name) + 2 for name in content.mention)
        limit = max(MAX_CHARS - mentions, MAX_CHARS // 2)
        return self.fit(without_mentions(link_lines(text, links, markdown=True)), "", limit)

    def dress(self, body: dict[str, Any], part: Part, content: Content) -> None:
        """Add mentions and the label of the urgency."""
        if part.first and (names := [found for name in content.mention if (found := self.mention(name))]):
            shown = " ".join(without_mentions(name) if content.quiet else name for name in names)
            body["message"] = f"{shown}\n{part.text}"
        if part.first and not content.quiet and (label := LABELS.get(content.priority)):
            body["metadata"] = {"priority": {"priority": label}}
        if part.last and content.calls:
            body["props"] = {"attachments": [{"fallback": "", "actions": self._buttons(content)}]}

    def _buttons(self, content: Content) -> list[dict[str, Any]]:
        """Return the buttons; the server shows no one their context, and sends it with a press."""
        config, url = self.adapter.config, f"{self.adapter.public_url}/webhook/{self.adapter.spec.kind}"
        return [
            {
                "id": f"action{number}",  # the server takes letters and digits only
                "type": "button",
                "name": each.label,
                **({"style": each.style} if each.style else {}),
                "integration": {"url": url, "context": signed_context(config, each.token)},
            }
            for number, each in enumerate(content.calls)
        ]


def first_line(content: Content) -> str:
    """Return symbol and bold title; empty without both."""
    title = f"**{escape(content.title)}**" if content.title else ""
    return " ".join(filter(None, [symbol(content, ("type",)), title]))


def _links(content: Content) -> list[tuple[str, str]]:
    links = [("", content.click)] if content.click else []
    return links + [(each.label, each.url) for each in content.actions if not each.calls]
