"""HTML of senders as Markdown."""

import re

from tocsin.channels.layout.html import html_spans, well_formed
from tocsin.channels.layout.model import TextSpan

_SPECIAL = re.compile(r"([\\`*_\[\]<>~])")
_MARKS = {"bold": "**", "heading": "**", "italic": "_", "strike": "~~"}


def html_to_markdown(source: str) -> str:
    """Return what an HTML document shows as Markdown; nothing of it is fetched."""
    return "".join(map(_markdown, html_spans(well_formed(source)))).strip()


def _markdown(span: TextSpan) -> str:
    core = span.text.strip()
    if not core:
        return span.text
    lead, _, trail = span.text.partition(core)
    if "pre" in span.styles and "\n" in core:
        return f"{lead}\n```\n{core}\n```\n{trail}"
    if {"code", "pre"} & set(span.styles) and "`" not in core:
        return f"{lead}`{core}`{trail}"
    said = _SPECIAL.sub(r"\\\1", core)
    if "\n\n" not in said:  # a style ends with its paragraph
        for style in span.styles:
            mark = _MARKS.get(style, "")
            said = f"{mark}{said}{mark}"
    if span.url.startswith(("http://", "https://", "mailto:")):
        said = core if core == span.url else f"[{said}](<{span.url}>)"
    return f"{lead}{said}{trail}"
