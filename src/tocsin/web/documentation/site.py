"""The files of the documentation site, as the dashboard serves them below `/docs/` and `make site` writes them."""

import json
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Final

import tocsin
from tocsin import __version__
from tocsin.web.documentation.files import FILES, HERE, load_file
from tocsin.web.documentation.pages import DocumentPage, Documents

# In a checkout a link to `docs`; the wheel contains the files.
DOCS: Final = Documents(Path(tocsin.__file__).parent / "docs")
FIRST: Final = "index"
# The deepest headings that the list beside a page shows.
_DEEPEST = 3


def names() -> Iterator[str]:
    yield from (name for name in FILES if name != "api.js")  # its page is part of a running port
    yield "search.json"
    yield from (f"{name}.html" for name in DOCS.names())


def load_text(name: str) -> str | None:
    """Return a text file of the site, or `None` if there is none of this name."""
    if name == "search.json":
        return _search_index()
    page = name.removesuffix(".html")
    if name.endswith(".html") and page in DOCS.names():
        return _document(DOCS.page(page))
    return load_file(name)


def _document(page: DocumentPage) -> str:
    root = "../" * page.name.count("/")
    values = {
        "title": escape(page.title),
        "root": root,
        "version": __version__,
        "pages": _navigation(page.name, root),
        "contents": _contents(page),
        "text": page.html,
    }
    template = (HERE / "page.html").read_text("utf-8")
    # The text comes last: what it contains is not replaced.
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template


def _navigation(here: str, root: str) -> str:
    """Return the groups and pages that the first page links to."""
    groups = []
    for heading, links in _groups():
        rows = "".join(
            f'<li><a href="{root}{name}.html"{" aria-current=page" if name == here else ""}>{escape(text)}</a></li>'
            for name, text in links
        )
        groups.append(f"<h2>{escape(heading)}</h2><ul>{rows}</ul>")
    return "".join(groups)


@cache
def _groups() -> tuple[tuple[str, list[tuple[str, str]]], ...]:
    return tuple(DOCS.links(FIRST))


def _contents(page: DocumentPage) -> str:
    rows = "".join(
        f'<li class="level-{each.level}"><a href="#{each.anchor}">{escape(each.heading)}</a></li>'
        for each in page.sections
        if 1 < each.level <= _DEEPEST
    )
    return f"<h2>On this page</h2><ul>{rows}</ul>" if rows else ""


def _search_index() -> str:
    """Return the texts of all pages as JSON: `[[page, title, [[heading, anchor, text], …]], …]`."""
    pages = (DOCS.page(name) for name in DOCS.names())
    found = [
        [each.name, each.title, [[part.heading, part.anchor, part.text] for part in each.sections]] for each in pages
    ]
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))
