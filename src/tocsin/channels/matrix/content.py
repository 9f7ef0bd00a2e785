"""The content of a message: plain text, and the same as HTML. Source: docs/facts/matrix.md, "Text"."""

from typing import Any

HTML = "org.matrix.custom.html"


def plain_message(text: str) -> dict[str, Any]:
    """Return the content of a text without markup. Its empty mentions say that no word of it is one."""
    return {"msgtype": "m.text", "body": text, "m.mentions": {}}


def rich_message(source: str) -> dict[str, Any]:
    """Return the content of Markdown."""
    # The parser costs 30 ms to import.
    from tocsin.core.text.markup import PlainText, html, render

    body = "".join(part.text for part in render(source, PlainText(None))) or source
    return {**plain_message(body), "format": HTML, "formatted_body": html.render_html(source).strip()}


def shrink(content: dict[str, Any], limit: int) -> dict[str, Any]:
    """Return content of at most `limit` bytes of JSON: longer HTML is left out, because the plain text says it too."""
    from json import dumps

    if len(dumps(content, ensure_ascii=False).encode()) <= limit:
        return content
    lean = {name: value for name, value in content.items() if name not in {"format", "formatted_body"}}
    if new := lean.get("m.new_content"):
        lean["m.new_content"] = shrink(new, 0)
    return lean
