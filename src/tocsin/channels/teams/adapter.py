"""teams sends: an Adaptive Card to the trigger of a workflow. Source: docs/facts/teams.md."""

import json
from typing import TYPE_CHECKING, Any

from tocsin.channels.contract import ChannelSpec, OutboundAdapter, Part
from tocsin.channels.model import IGNORED, Ability, Support, degraded, native
from tocsin.channels.replies import judge_status
from tocsin.core.errors import ChannelError
from tocsin.core.plugins import load_class
from tocsin.core.text.measures import utf8_bytes
from tocsin.core.time.ratelimit import Rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tocsin.core.text.markup import Renderer

MAX_CARD_BYTES = 28_000
MAX_TEXT_BYTES = 20_000
_RENDERER = "tocsin.core.text.markup:PlainText"
_ENTRY = "the entry in targets.yaml"
_LINE = {"type": "RichTextBlock", "spacing": "None", "inlines": [""]}
_LINE_BYTES = len(json.dumps(_LINE, separators=(",", ":"))) + 1
# Remedies by status; other statuses are shown without one.
ADVICE = {
    "HTTP 400": "the workflow does not accept the card, or was deleted; create it from the template for webhook alerts",
    "HTTP 401": "the address lacks its signature, or was renewed; copy it again from the trigger of the workflow",
    "HTTP 403": "the workflow accepts calls of your organisation alone; let its trigger accept calls without a sign-in",
    "HTTP 404": "the workflow was deleted, or its owner has left; create it again",
    "HTTP 413": "the card is larger than the workflow accepts; send less text",
}


def card_bytes(text: str) -> int:
    """Count the bytes that a text takes in a card, in which each line is an element."""
    return utf8_bytes(json.dumps(text, ensure_ascii=False)) + _LINE_BYTES * text.count("\n")


def packed(body: "Mapping[str, Any]") -> bytes:
    """Return a message as it is posted."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


class TeamsAdapter(OutboundAdapter):
    """Posts to the workflows of `targets.yaml`."""

    spec = ChannelSpec(
        kind="teams",
        label="Teams",
        product="Microsoft Teams Workflows webhook",
        target_format="name of a target in targets.yaml",
        targets="tocsin.channels.teams.settings:TARGET",
        arrival=(
            "The workflow is switched on, and its history of runs shows a run at this time without an error.",
            "The owner of the workflow is a member of the team and of the channel.",
            "The workflow posts to this channel or chat.",
        ),
        max_length=MAX_TEXT_BYTES,
        chunk_at=MAX_TEXT_BYTES,
        measure=card_bytes,
        target_rate=Rate(4, 1.0),
        abilities={
            "title": native(),
            "priority": degraded("the colour of the card, from 4 on"),
            "type": native("the colour of the card"),
            "click": degraded("a link after the text"),
            "actions": native(),
            "attach": Ability(Support.REFUSED, "a workflow takes no files; put a link to the file into `click`"),
            "mention": IGNORED,
        },
    )
    dressing = "tocsin.channels.teams.card:TeamsDressing"
    layouts = "tocsin.channels.teams.card:layout_of"
    standin = "tocsin.channels.teams.standin:WorkflowServer"

    def dialect(self, parse_mode: str) -> "Renderer":
        """Return the renderer for text without formatting, whose limit a card with buttons lowers."""
        made: Renderer = load_class(_RENDERER)(MAX_TEXT_BYTES, card_bytes)  # the parser costs 30 ms to import
        return made

    async def deliver(self, part: Part) -> str:
        """Start the workflow with one card; whether it posts the card is not known."""
        body = packed(self.body(part))
        if len(body) > MAX_CARD_BYTES:
            size = f"the card has {len(body):,} bytes, limit {MAX_CARD_BYTES:,}"
            raise ChannelError(size, hint="shorten the text or the addresses of the buttons")
        url = (await self.targets.read(part.target))["url"]
        reply = await self.http.request("POST", url, headers={"Content-Type": "application/json"}, body=body)
        if reply.status != 202:
            raise judge_status(reply, _ENTRY, ADVICE)
        return "accepted by the workflow"

    async def probe(self) -> str:
        """Read the addresses of all workflows; there is no call that posts nothing."""
        names = self.targets.names()
        for name in names:
            await self.targets.read(name)
        return ", ".join(names)

    def body(self, part: Part) -> dict[str, Any]:
        """Return the message with its card."""
        card: dict[str, Any] = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            # A run of text is shown as it is, unlike a TextBlock, which is Markdown.
            "body": [{**_LINE, "inlines": [line or " "]} for line in part.text.split("\n")],
        }
        if part.content:
            self.dresser.dress(card, part, part.content)
        content_type = "application/vnd.microsoft.card.adaptive"
        return {"type": "message", "attachments": [{"contentType": content_type, "contentUrl": None, "content": card}]}
