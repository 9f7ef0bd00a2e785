"""Every link inside the repository leads somewhere."""

import re
from functools import cache
from pathlib import Path

from tests.docs.pages import PAGES, name_of

CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ADDRESS = re.compile(r"[a-z]+:")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def test_links_lead_to_files_and_headings():
    links = [
        (page, link)
        for page in PAGES
        for link in LINK.findall(CODE.sub("", page.read_text("utf-8")))
        if not ADDRESS.match(link)
    ]
    assert links
    assert [(name_of(page), link) for page, link in links if not leads_somewhere(page, link)] == []


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target)


@cache
def anchors(page: Path) -> set[str]:
    """Return the names that a page's headings have on GitHub."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}
