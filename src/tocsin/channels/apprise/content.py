"""Parts of the channel that are loaded only when needed: fields, previews, the list of services."""

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.channels.apprise.outcomes import missing
from tocsin.channels.apprise.sending import AppriseProcesses
from tocsin.channels.content import Content, with_lines
from tocsin.channels.dressing import Dressing
from tocsin.channels.layout.model import LayoutLook, LayoutSection, MessageLayout, TextSpan, text_block, title_block
from tocsin.channels.model import COMMONMARK, Shown

_LINES = ("click", "actions")


class AppriseDressing(Dressing):
    """Title, type and files go to the library; link and buttons are lines of the text."""

    def parts(self, text: str, parse_mode: str, content: Content) -> Sequence[Shown]:
        """Return the text with a line for the link and for each button."""
        shown = with_lines(text, content, _LINES, markdown=parse_mode == COMMONMARK)
        return self.adapter.parts_of(shown, parse_mode)


def layout_of(body: Mapping[str, Any]) -> MessageLayout:
    """Return the layout of a message: its title and its text."""
    blocks = [title_block(body["title"])] if body["title"] else []
    return MessageLayout(LayoutLook.POST, (LayoutSection((*blocks, text_block([TextSpan(body["text"])]))),))


async def list_services() -> Sequence[Mapping[str, Any]]:
    """Return name, schemes, forms, files and page of each service of the installed version; raise ChannelError."""
    answer = await AppriseProcesses().ask({"do": "services"})
    if package := answer.get("missing"):
        raise missing(package)
    found: Sequence[Mapping[str, Any]] = answer["services"]
    return found
