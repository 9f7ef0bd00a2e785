"""The page as one document: `page.html` with its style and its script; `{nonce}` stands where the policy's goes."""

from functools import cache
from pathlib import Path


@cache
def page_source() -> str:
    """Return the document; nothing in it comes from elsewhere."""
    html, style, script = (
        Path(__file__).with_name(f"page.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    return html.replace("{style}", style).replace("{script}", script)
