"""Read HTML as spans of text."""

import re
from collections.abc import Iterable
from html.parser import HTMLParser

from tocsin.channels.layout.model import TextSpan

_STYLES = {
    **dict.fromkeys(("b", "strong", "th"), "bold"),
    **dict.fromkeys(("i", "em"), "italic"),
    **dict.fromkeys(("u", "ins"), "underline"),
    **dict.fromkeys(("s", "strike", "del"), "strike"),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), "heading"),
    "code": "code",
    "pre": "pre",
    "blockquote": "quote",
    "tg-spoiler": "spoiler",
}
_BLOCKS = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "pre", "blockquote", "table", "div"})
_ROWS = frozenset({"li", "tr"})
_SKIPPED = frozenset({"head", "style", "script"})
_VOID = frozenset({"img", "input", "meta", "link", "col", "wbr", "area", "base", "source", "embed", "param", "track"})
_MARK = re.compile(r"<(?:[!?][^<>]*+|(/?[A-Za-z][A-Za-z0-9:-]*+)([^<>]*+))>|<")
_LINK = re.compile(r"""\bhref\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_MAX_ATTRIBUTES = 4_000
_MAX_OPEN = 100  # elements within each other; inner ones have no format of their own


def html_spans(source: str, *, is_page: bool = True) -> list[TextSpan]:
    """Return the spans of HTML; with `is_page`, blank space between elements has no meaning."""
    reader = _SpanReader(is_page=is_page)
    reader.feed(source)
    reader.close()
    return reader.spans


def html_text(source: str) -> str:
    """Return the text of a page of a stranger, with the addresses of links after their texts."""
    spans = html_spans(well_formed(source))
    text = "".join(
        f"{span.text} ({span.url})" if span.url and span.url not in {following.url, span.text} else span.text
        for span, following in zip(spans, [*spans[1:], TextSpan("")], strict=False)
    )
    return re.sub(r"\s*\n\s*\n\s*", "\n\n", re.sub(r"[^\S\n]+", " ", text)).strip()


def well_formed(source: str) -> str:
    """Return a page of a stranger with plain tags and addresses of links; on others, HTMLParser may take cubic time."""
    first, *others = source.split("<!--")
    return _MARK.sub(_tag, first + "".join(each.partition("-->")[2] for each in others))


def _tag(found: re.Match[str]) -> str:
    if found[0] == "<":
        return "&lt;"
    name = (found[1] or "").lower()
    link = _LINK.search(found[2][:_MAX_ATTRIBUTES]) if name == "a" else None
    address = link[1].strip("'\"").replace('"', "&quot;") if link else ""
    return f'<a href="{address}">' if address else f"<{name}>" if name else ""


class _SpanReader(HTMLParser):
    def __init__(self, *, is_page: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.spans: list[TextSpan] = []
        self._is_page = is_page
        self._open: list[tuple[str, str]] = []  # tag and address
        self._numbers: list[int] = []  # of the open lists; 0 has no numbers
        self._gap = ""

    def handle_starttag(self, tag: str, attrs: Iterable[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in {"br", "hr"}:
            self._add("\n")
            return
        self._begin(tag)
        if tag == "body":
            self._open = [each for each in self._open if each[0] != "head"]  # which need not be closed
        if tag in _VOID or len(self._open) >= _MAX_OPEN:
            return
        is_kept = "white-space:pre-wrap" in (values.get("style") or "")
        self._open.append(("pre-wrap" if is_kept else tag, values.get("href") or "" if tag == "a" else ""))
        if tag in {"ul", "ol"}:
            self._numbers.append(int(values.get("start") or 1) if tag == "ol" else 0)
        if tag == "li":
            number = self._numbers[-1] if self._numbers else 0
            self._add("  " * (len(self._numbers) - 1) + (f"{number}. " if number else "• "))
            if number:
                self._numbers[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        names = [name for name, _ in self._open]
        kind = tag if tag in names else "pre-wrap"
        if kind not in names:
            return
        del self._open[len(names) - 1 - names[::-1].index(kind) :]
        if tag in {"ul", "ol"} and self._numbers:
            self._numbers.pop()
        if tag in {"td", "th"}:
            self._add("  ")
        self._begin(tag)

    def handle_data(self, data: str) -> None:
        names = {name for name, _ in self._open}
        if names & _SKIPPED:
            return
        if self._is_page and not names & {"pre", "pre-wrap"}:
            data = re.sub(r"\s+", " ", data)
            if not self.spans or self._gap:
                data = data.lstrip()
        self._add(data)

    def _begin(self, tag: str) -> None:
        """Note the gap before the next text, which a block or a row causes."""
        if not self._is_page or not self.spans:
            return
        if tag in _BLOCKS and "li" not in {name for name, _ in self._open}:
            self._gap = "\n\n"
        elif tag in _ROWS or tag in _BLOCKS:
            self._gap = self._gap or "\n"

    def _add(self, text: str) -> None:
        if not text:
            return
        if self._gap:
            self.spans.append(TextSpan(self._gap))
            self._gap = ""
        styles = tuple(dict.fromkeys(_STYLES[name] for name, _ in self._open if name in _STYLES))
        if "pre" in styles:
            styles, text = ("pre",), text.rstrip("\n")
        self.spans.append(TextSpan(text, styles, next((url for _, url in reversed(self._open) if url), "")))
