"""Parse Markdown, MarkdownV2 and HTML to text and entities as the Bot API does, with its error messages.

Written from the documented grammar (https://core.telegram.org/bots/api#formatting-options) and the known error
texts; shares no code with Tocsin's renderer, so that each checks the other.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import Any

Entity = dict[str, Any]
ParsedText = tuple[str, list[Entity]]

MODES = ("", "markdown", "markdownv2", "html")
RESERVED_V2 = frozenset("_*[]()~`>#+-=|{}.!")
NAMES_V2 = {
    "bold": "Bold", "italic": "Italic", "underline": "Underline", "strikethrough": "Strikethrough",
    "spoiler": "Spoiler", "code": "Code", "pre": "Pre", "text_link": "TextUrl", "blockquote": "BlockQuote",
}  # fmt: skip
TAGS = {
    "b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
    "s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler",
    "span": "spoiler", "code": "code", "pre": "pre", "a": "text_link", "blockquote": "blockquote",
    "tg-emoji": "custom_emoji",
}  # fmt: skip
_ATTRIBUTE = re.compile(r"""([A-Za-z-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+)))?\s*""")
_CHARACTER_REFERENCE = re.compile(r"&(?:lt|gt|amp|quot|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});?")


class MarkupError(Exception):
    """The text does not parse; carries the Bot API's message."""


def parse(text: str, mode: str) -> ParsedText:
    """Parse by `parse_mode`, one of `MODES` in any letter case; raise `MarkupError`."""
    match mode.casefold():
        case "markdown":
            return _Legacy(text).run()
        case "markdownv2":
            return _V2(text).run()
        case "html":
            return _Html(text).run()
    return text, []


def units(text: str) -> int:
    """Count UTF-16 code units, in which entities are measured."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


@dataclass(slots=True)
class _Open:
    kind: str
    start: int
    at: int
    extra: dict[str, Any] = field(default_factory=dict)
    tag: str = ""


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.i = 0
        self.out: list[str] = []
        self.length = 0
        self.open: list[_Open] = []
        self.entities: list[Entity] = []

    def byte(self, index: int) -> int:
        return len(self.source[:index].encode())

    def at(self, token: str, index: int | None = None) -> bool:
        return self.source.startswith(token, self.i if index is None else index)

    def emit(self, text: str) -> None:
        self.out.append(text)
        self.length += units(text)

    def begin(self, kind: str, at: int, **extra: Any) -> None:
        self.open.append(_Open(kind, self.length, at, extra))

    def end(self, **extra: Any) -> None:
        opened = self.open.pop()
        if length := self.length - opened.start:
            kind = opened.kind
            self.entities.append({"type": kind, "offset": opened.start, "length": length, **opened.extra, **extra})

    def result(self) -> ParsedText:
        # Inner entities end first; outer ones are listed first, even if both have the same range.
        self.entities.reverse()
        self.entities.sort(key=lambda e: (e["offset"], -e["length"]))
        return "".join(self.out), self.entities


class _Legacy(_Parser):
    """Legacy Markdown: four markers, no nesting, escapes outside entities only."""

    def run(self) -> ParsedText:
        while self.i < len(self.source):
            char = self.source[self.i]
            if char == "\\" and self.source[self.i + 1 : self.i + 2] in tuple("_*`["):
                self.emit(self.source[self.i + 1])
                self.i += 2
            elif char in "_*`[":
                self._entity(char)
            else:
                self.emit(char)
                self.i += 1
        return self.result()

    def _entity(self, char: str) -> None:
        begin = self.i
        closing = "```" if self.at("```") else "]" if char == "[" else char
        start = begin + len(closing)
        stop = self.source.find(closing, start)
        if stop < 0:
            raise MarkupError(f"Can't find end of the entity starting at byte offset {self.byte(begin)}")
        content = self.source[start:stop]
        extra: dict[str, Any] = {}
        self.i = stop + len(closing)
        kind = {"_": "italic", "*": "bold", "`": "code", "[": "text_link", "```": "pre"}[
            char if closing != "```" else closing
        ]
        if kind == "pre":
            content, extra = _split_language(content)
        if kind == "text_link":
            extra = {"url": self._url(content)}
        self.begin(kind, begin, **extra)
        self.emit(content)
        self.end()

    def _url(self, content: str) -> str:
        if not self.at("("):
            return content
        stop = self.source.find(")", self.i)
        stop = len(self.source) if stop < 0 else stop
        url, self.i = self.source[self.i + 1 : stop], stop + 1
        return url


class _V2(_Parser):
    """MarkdownV2: nested markers, and every reserved character outside them must be escaped."""

    MARKERS = (("__", "underline"), ("_", "italic"), ("*", "bold"), ("~", "strikethrough"), ("||", "spoiler"))

    def run(self) -> ParsedText:
        while self.i < len(self.source):
            self._step(self.source[self.i])
        self._end_quote()
        if self.open:
            last = self.open[-1]
            name = "PreCode" if last.extra.get("language") else NAMES_V2[last.kind]
            raise MarkupError(f"Can't find end of {name} entity at byte offset {last.at}")
        return self.result()

    def _step(self, char: str) -> None:
        following = self.source[self.i + 1 : self.i + 2]
        if char == "\\" and following and ord(following) < 127:
            self.emit(following)
            self.i += 2
        elif self.open and self.open[-1].kind in ("code", "pre"):
            self._verbatim(char)
        elif char == "\n":
            self._line_end()
        elif not self._quote() and not self._marker() and not self._special(char):
            if char in RESERVED_V2:
                raise MarkupError(f"Character '{char}' is reserved and must be escaped with the preceding '\\'")
            self.emit(char)
            self.i += 1

    def _verbatim(self, char: str) -> None:
        closing = "```" if self.open[-1].kind == "pre" else "`"
        if self.at(closing):
            self.end()
            self.i += len(closing)
            return
        self.emit(char)
        self.i += 1

    def _line_end(self) -> None:
        # A quotation runs on while the next line starts with ">".
        if not self.at(">", self.i + 1):
            self._end_quote()
        self.emit("\n")
        self.i += 1

    def _end_quote(self) -> None:
        last = self.open[-1] if self.open else None
        expandable = last and last.kind == "spoiler" and last.start == self.length  # "||" at the very end
        if expandable and len(self.open) > 1 and self.open[-2].kind == "blockquote":
            self.open.pop()
            self.end(type="expandable_blockquote")
        elif last and last.kind == "blockquote":
            self.end()

    def _quote(self) -> bool:
        at_line_start = self.i == 0 or self.source[self.i - 1] == "\n"
        width = 3 if self.at("**>") else 1  # "**" separates two adjacent quotations
        if not at_line_start or not (self.at(">") or self.at("**>")):
            return False
        if not self.open:
            self.begin("blockquote", self.byte(self.i))
        elif self.open[0].kind != "blockquote":
            return False
        self.i += width
        return True

    def _marker(self) -> bool:
        for token, kind in self.MARKERS:
            if self.at(token):
                begin = self.byte(self.i)
                self.i += len(token)
                if self.open and self.open[-1].kind == kind:
                    self.end()
                else:
                    self.begin(kind, begin)
                return True
        return False

    def _special(self, char: str) -> bool:
        if char == "`":
            self._code()
        elif char == "[" or self.at("!["):
            self.begin("text_link", self.byte(self.i))
            self.i += 1 if char == "[" else 2
        elif char == "]" and self.open and self.open[-1].kind == "text_link":
            self.i += 1
            self.end(url=self._url())
        else:
            return False
        return True

    def _code(self) -> None:
        begin = self.byte(self.i)
        if not self.at("```"):
            self.begin("code", begin)
            self.i += 1
            return
        self.i += 3
        named = re.compile(r"([^\s`]+)\n|\n?").match(self.source, self.i)
        language = (named and named[1]) or ""
        self.i = named.end() if named else self.i
        self.begin("pre", begin, **({"language": language} if language else {}))

    def _url(self) -> str:
        if not self.at("("):
            return ""
        begin, self.i = self.i, self.i + 1
        url = []
        while self.i < len(self.source) and self.source[self.i] != ")":
            if self.source[self.i] == "\\" and self.i + 1 < len(self.source):
                self.i += 1
            url.append(self.source[self.i])
            self.i += 1
        if self.i >= len(self.source):
            raise MarkupError(f"Can't find end of a URL at byte offset {self.byte(begin)}")
        self.i += 1
        return "".join(url)


class _Html(_Parser):
    """The Bot API's HTML: a few tags, strictly nested."""

    def run(self) -> ParsedText:
        while self.i < len(self.source):
            if self.at("</"):
                self._close()
            elif self.at("<"):
                self._begin_tag()
            elif reference := _CHARACTER_REFERENCE.match(self.source, self.i):
                self.emit(html.unescape(reference[0]))
                self.i = reference.end()
            else:
                self.emit(self.source[self.i])
                self.i += 1
        if self.open:
            raise MarkupError(f'Can\'t find end tag corresponding to start tag "{self.open[-1].tag}"')
        return self.result()

    def _begin_tag(self) -> None:
        begin = self.byte(self.i)
        named = re.compile(r"<([^\s>]*)\s*").match(self.source, self.i)
        tag = named[1].lower() if named else ""
        if named is None or named.end() >= len(self.source):
            raise MarkupError(f"Unclosed start tag at byte offset {begin}")
        if tag not in TAGS:
            raise MarkupError(f'Unsupported start tag "{tag}" at byte offset {begin}')
        self.i = named.end()
        attributes = self._attributes(begin)
        if tag == "span" and attributes.get("class") != "tg-spoiler":
            raise MarkupError(f'Tag "span" must have class "tg-spoiler" at byte offset {begin}')
        self.begin(TAGS[tag], begin, **_extra_fields(tag, attributes))
        self.open[-1].tag = tag

    def _attributes(self, begin: int) -> dict[str, str]:
        found: dict[str, str] = {}
        while not self.at(">"):
            attribute = _ATTRIBUTE.match(self.source, self.i)
            if attribute is None:
                raise MarkupError(f"Unclosed start tag at byte offset {begin}")
            found[attribute[1].lower()] = html.unescape(attribute[2] or attribute[3] or attribute[4] or "")
            self.i = attribute.end()
        self.i += 1
        return found

    def _close(self) -> None:
        begin = self.byte(self.i)
        named = re.compile(r"</([^\s>]*)\s*").match(self.source, self.i)
        tag = named[1].lower() if named else ""
        if named is None or not self.at(">", named.end()):
            raise MarkupError(f"Unclosed end tag at byte offset {begin}")
        if not self.open:
            raise MarkupError(f"Unexpected end tag at byte offset {begin}")
        expected = self.open[-1].tag
        if tag not in ("", expected):
            raise MarkupError(f'Unmatched end tag at byte offset {begin}, expected "</{expected}>", found "</{tag}>"')
        self.i = named.end() + 1
        self._end_tag()

    def _end_tag(self) -> None:
        inner, outer = self.open[-1], self.open[-2] if len(self.open) > 1 else None
        if inner.tag == "code" and outer and outer.tag == "pre" and inner.start == outer.start:
            outer.extra |= inner.extra  # <pre><code class="language-x">: one entity
            self.open.pop()
            return
        self.end()


def _extra_fields(tag: str, attributes: dict[str, str]) -> dict[str, Any]:
    if tag == "a":
        return {"url": attributes.get("href", "")}
    if tag == "code" and attributes.get("class", "").startswith("language-"):
        return {"language": attributes["class"].removeprefix("language-")}
    if tag == "blockquote" and "expandable" in attributes:
        return {"type": "expandable_blockquote"}
    if tag == "tg-emoji":
        return {"custom_emoji_id": attributes.get("emoji-id", "")}
    return {}


def _split_language(content: str) -> tuple[str, dict[str, Any]]:
    named = re.match(r"([^\s`]+)\n", content)
    if named:
        return content[named.end() :], {"language": named[1]}
    return content.removeprefix("\n"), {}
