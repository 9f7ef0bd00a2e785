"""The files of the site that need no Markdown, and the page that shows and tries the operations of a port."""

from html import escape
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
_UI = HERE.parent / "ui"
# In this order: later files use the tokens.
_SOURCES = {
    "site.css": (_UI / "style" / "tokens.css", HERE / "site.css"),
    "site.js": (HERE / "site.js",),
    "api.js": (HERE / "api.js",),
    "theme.js": (_UI / "boot.js",),
    "icon.svg": (_UI / "images" / "bell.svg",),
}
FILES: Final = tuple(_SOURCES)
API_PAGE: Final = "api.html"


def load_file(name: str) -> str | None:
    """Return one of `FILES`, or `None`."""
    sources = _SOURCES.get(name)
    return "\n".join(path.read_text("utf-8") for path in sources) if sources else None


def load_api_page(document: str, home: str) -> str:
    """Return the page for the OpenAPI document at the path `document`; its brand leads to the path `home`."""
    page = (HERE / API_PAGE).read_text("utf-8")
    return page.replace("{document}", escape(document)).replace("{home}", escape(home))
