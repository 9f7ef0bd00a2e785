"""Render Markdown as safe HTML: no raw HTML, only links to http, https and mailto, no images."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from tocsin.core.text.markup.parsing import is_safe, parse_tokens, parser

if TYPE_CHECKING:
    from markdown_it.token import Token


def render_html(source: str) -> str:
    """Render normalised Markdown as HTML; unparsed source if parsing would take too long."""
    tokens = parse_tokens(source)
    if not tokens:
        return f"<pre>{escape(source)}</pre>\n"
    for token in tokens:
        if token.children:
            token.children = list(_safe(token.children))
    markdown = parser()
    return str(markdown.renderer.render(tokens, markdown.options, {}))


def _safe(children: "Sequence[Token]") -> "Iterator[Token]":
    """Yield the tokens without dangerous links; an image becomes a link, because reading must not fetch anything."""
    links: list[bool] = []
    for token in children:
        if token.type == "link_open":
            links.append(is_safe(str(token.attrGet("href") or "")))
            if links[-1]:
                yield token
        elif token.type == "link_close":
            if links.pop():
                yield token
        elif token.type == "image":
            yield from _as_link(token, inside_link=any(links))
        else:
            yield token


def _as_link(image: "Token", *, inside_link: bool) -> "Iterator[Token]":
    from markdown_it.token import Token

    url = str(image.attrGet("src") or "")
    text = Token("text", "", 0, content=image.content or url)
    if inside_link or not is_safe(url):
        yield text
        return
    yield Token("link_open", "a", 1, attrs={"href": url})
    yield text
    yield Token("link_close", "a", -1)
