"""Every page of the menu opens on an installation with nothing in it, for everybody, and tells what is missing."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect
from tests.e2e.dashboard.conftest import LOOKS, Visitor

from tocsin.web.ui.assets import ROOT

Visit = Callable[..., Visitor]
ROUTES = (ROOT / "shell" / "routes.js").read_text(encoding="utf-8")
PAGES = re.findall(r'\{ name: "(\w+)"', ROUTES)


@pytest.mark.parametrize(("theme", "size"), LOOKS)
def test_every_page_is_for_everybody(visit: Visit, theme: str, size: tuple[int, int]):
    visitor = visit(size, theme)
    page = visitor.open()
    found: dict[str, object] = {}
    for name in PAGES:
        page.goto(f"{visitor.address}#/{name}")
        expect(page.locator("main h1, main .failure").first).to_be_visible()
        expect(page.locator("main .loading")).to_have_count(0)
        wrong = [*visitor.violations(), *page.locator("main .failure").all_inner_texts()]
        if visitor.overflow() > 0:
            wrong.append(f"{visitor.overflow()} pixels too wide")
        if wrong:
            found[name] = wrong
    assert found == {}


def test_no_page_is_wider_than_the_smallest_screen(visit: Visit):
    visitor = visit((320, 640))
    page = visitor.open()
    found = {}
    for name in PAGES:
        page.goto(f"{visitor.address}#/{name}")
        expect(page.locator("main h1, main .failure").first).to_be_visible()
        found[name] = max(visitor.overflow(), 0)
    assert found == dict.fromkeys(PAGES, 0)
