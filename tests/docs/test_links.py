"""Every link inside the repository leads somewhere."""

import re
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, name_of

CODE = re.compile(r"^ *```.*?^ *```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ADDRESS = re.compile(r"[a-z]+:")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings(page: Path):
    text = CODE.sub("", page.read_text("utf-8"))
    broken = [link for link in LINK.findall(text) if not ADDRESS.match(link) and not leads_somewhere(page, link)]
    assert broken == []


def leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target)


def anchors(page: Path) -> set[str]:
    """Return the names that a page's headings have on GitHub."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}
