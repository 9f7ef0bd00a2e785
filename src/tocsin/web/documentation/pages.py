"""The pages of the documentation: Markdown in, HTML and texts for the search out.

Links between documents become links between pages. A link to a file that is not part of the site, such as a picture
that the wheel leaves out, becomes its text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

_ATTACHED = {".webp", ".svg", ".png", ".json"}
_ADDRESS = re.compile(r"[a-z]+:", re.IGNORECASE)
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)


class DocumentSection(NamedTuple):
    """A heading of a page and the text below it."""

    heading: str
    anchor: str
    text: str
    level: int


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A page of the site; `name` is its path without suffix, such as `channels/email`."""

    name: str
    title: str
    html: str
    sections: tuple[DocumentSection, ...]


class Documents:
    """The Markdown files below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """Return the names of all pages; `README` is the first page of a folder."""
        found = (path.relative_to(self.folder).with_suffix("") for path in self.folder.rglob("*.md"))
        return sorted(path.as_posix() for path in found)

    def attachments(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.suffix in _ATTACHED)

    def attachment(self, name: str) -> Path | None:
        """Return a picture or a schema, or `None` if the site has none of this name."""
        path = self.folder / name
        return path if path.suffix in _ATTACHED and ".." not in path.parts and path.is_file() else None

    def page(self, name: str) -> DocumentPage:
        text = (self.folder / f"{name}.md").read_text("utf-8")
        parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        tokens = parser.parse(text)
        _lead(tokens, lambda href: self._target(href, name))
        sections = tuple(_sections(tokens))
        title = sections[0].heading if sections else name
        return DocumentPage(name, title, str(parser.renderer.render(tokens, parser.options, {})), sections)

    def links(self, name: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Yield the headings of a page, each with the links below it: the name and the text of a page."""
        parser = MarkdownIt("commonmark")
        heading, found = "", list[tuple[str, str]]()
        tokens = parser.parse((self.folder / f"{name}.md").read_text("utf-8"))
        for previous, token in pairwise(tokens):
            if token.type != "inline":
                continue
            if previous.type == "heading_open":
                if found:
                    yield heading, found
                heading, found = token.content, []
            children = token.children or []
            for opened, text in pairwise(children):
                if opened.type == "link_open" and str(opened.attrGet("href")).endswith(".md"):
                    found.append((str(opened.attrGet("href")).removesuffix(".md"), text.content))
        if found:
            yield heading, found

    def _target(self, href: str, here: str) -> str | None:
        """Return the address for a link of the page `here`; `None` if it leads to no page."""
        path, hash_, anchor = href.partition("#")
        if _ADDRESS.match(href) or not path:
            return href
        target = PurePosixPath(normpath((PurePosixPath(here).parent / path).as_posix()))
        if ".." in target.parts or not (self.folder / target).is_file():
            return None
        return f"{path.removesuffix('.md')}.html{hash_}{anchor}" if target.suffix == ".md" else path


def _lead(tokens: Sequence[Token], target: Callable[[str], str | None]) -> None:
    """Give headings their anchors, links and pictures their addresses; show HTML as text, but no comments."""
    taken = dict[str, int]()
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following:
            token.attrSet("id", _anchor(_text(following), taken))
        elif token.type == "html_block":
            token.content = escape(_COMMENT.sub("", token.content))
        elif token.type == "table_open":
            token.attrSet("tabindex", "0")  # a wide table scrolls
        for child in token.children or ():
            _lead_inline(child, target)
        dropped = [child for child in token.children or () if child.type == "link_open" and not child.attrs]
        for opened in dropped:
            _drop_link(token.children or [], opened)


def _lead_inline(token: Token, target: Callable[[str], str | None]) -> None:
    if token.type == "html_inline":
        token.content = escape(_COMMENT.sub("", token.content))
    elif token.type == "link_open":
        address = target(str(token.attrGet("href")))
        token.attrs = {"href": address} if address else {}
        if address and _ADDRESS.match(address):
            token.attrs |= {"rel": "noreferrer"}
    elif token.type == "image":
        address = target(str(token.attrGet("src")))
        if address and not _ADDRESS.match(address):
            token.attrs |= {"src": address, "loading": "lazy"}
        else:  # a picture of another site would reveal the reader
            token.type, token.tag = "text", ""


def _drop_link(children: list[Token], opened: Token) -> None:
    start = children.index(opened)
    end = next(n for n in range(start, len(children)) if children[n].type == "link_close")
    del children[end], children[start]


def _anchor(text: str, taken: dict[str, int]) -> str:
    """Return the anchor that GitHub gives a heading; repeated ones are numbered."""
    name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
    number = taken.get(name, 0)
    taken[name] = number + 1
    return f"{name}-{number}" if number else name


def _sections(tokens: Sequence[Token]) -> Iterator[DocumentSection]:
    heading, anchor, level, words = "", "", 0, list[str]()
    for previous, token in pairwise(tokens):
        if previous.type == "heading_open":
            if heading:
                yield DocumentSection(heading, anchor, " ".join(words), level)
            heading, anchor, words = _text(token), str(previous.attrGet("id")), []
            level = int(previous.tag[1:])
        elif token.type == "inline":
            words.append(_text(token))
        elif token.type in {"fence", "code_block"}:
            words.append(token.content)
    if heading:
        yield DocumentSection(heading, anchor, " ".join(words), level)


def _text(token: Token) -> str:
    return "".join(" " if child.type == "softbreak" else child.content for child in token.children or ())
