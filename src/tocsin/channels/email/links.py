"""Show priority, type and links of a message in a mail."""

from collections.abc import Mapping, Sequence
from html import escape

from tocsin.channels.content import Content, colour, link_lines
from tocsin.channels.dressing import Dressing
from tocsin.channels.email.markdown import PAGE
from tocsin.channels.email.message import MailContents
from tocsin.channels.model import Part, Shown

# RFC 2156, 5.3.6, and the header that older programs read.
_HIGH = {"Importance": "high", "X-Priority": "1"}
_LOW = {"Importance": "low", "X-Priority": "5"}


def priority_headers(content: Content) -> Mapping[str, str]:
    """Return the headers of a high or low priority; none for the usual one."""
    return {1: _LOW, 2: _LOW, 4: _HIGH, 5: _HIGH}.get(content.priority, {})


class MailDressing(Dressing):
    """A subject, headers of priority, links below the text, and a colour in the HTML part."""

    def parts(self, text: str, parse_mode: str, content: Content) -> Sequence[Shown]:
        """Return the text: `dress` adds the links, which Markdown must not change."""
        return self.adapter.parts_of(text, parse_mode)

    def dress(self, body: MailContents, part: Part, content: Content) -> None:
        """Add the links to both texts, the colour to the HTML, and the headers."""
        body.headers = priority_headers(content)
        links = [("", content.click)] if content.click else []
        links += [(each.label, each.url) for each in content.actions]
        if not (links or content.type):
            return
        shown = _inside(body.html) or f'<div style="white-space:pre-wrap">{escape(body.text)}</div>\n'
        if links:
            anchors = (f'<a href="{escape(url)}">{escape(label or url)}</a>' for label, url in links)
            shown += f"<p>{' &#183; '.join(anchors)}</p>\n"
        if content.type:
            shown = f'<div style="border-left:4px solid #{colour(content):06x};padding-left:12px">\n{shown}</div>\n'
        body.text, body.html = link_lines(body.text, links, markdown=False), PAGE.format(shown)


def _inside(page: str) -> str:
    before, _, after = PAGE.partition("{}")
    return page.removeprefix(before).removesuffix(after)
