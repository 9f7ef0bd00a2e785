"""The page as one document: `page.html` with its style and script; `{nonce}` is a placeholder for the policy's."""

from functools import cache
from pathlib import Path


@cache
def page_source() -> str:
    """Return the document, which loads nothing from other hosts."""
    html, style, script = (
        Path(__file__).with_name(f"page.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    return html.replace("{style}", style).replace("{script}", script)
