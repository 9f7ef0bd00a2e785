"""The documentation is a site: every link and anchor in it leads somewhere, also without what the wheel leaves out."""

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from posixpath import normpath

import pytest
from starlette.applications import Starlette
from tests.docs.pages import ROOT
from tests.web.asgi_client import Client

from tocsin.features.registry import find_features
from tocsin.web.documentation.pages import Documents
from tocsin.web.documentation.site import DOCS, load_text, names
from tocsin.web.ui.static import ui_routes


class Found(HTMLParser):
    """The addresses and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.anchors: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.addresses += [value for name in ("href", "src") if (value := values.get(name))]
        self.anchors += [value] if (value := values.get("id")) else []


@pytest.fixture(scope="module")
def site() -> dict[str, str]:
    """Every text file by its name."""
    return {name: text for name in names() if (text := load_text(name)) is not None}


@pytest.fixture(scope="module")
def pages(site: dict[str, str]) -> dict[str, Found]:
    return {name: Found(text) for name, text in site.items() if name.endswith(".html")}


@pytest.fixture(scope="module")
def browser() -> Client:
    return Client(Starlette(routes=list(ui_routes(find_features().features))))


def test_every_address_and_anchor_leads_somewhere(site: dict[str, str], pages: dict[str, Found]):
    broken = [
        (name, address)
        for name, page in pages.items()
        for address in page.addresses
        if not re.match("[a-z]+:", address) and not leads_somewhere(name, address, pages, site)
    ]
    assert len(pages) > 50
    assert broken == []


def leads_somewhere(here: str, address: str, pages: dict[str, Found], site: dict[str, str]) -> bool:
    path, _, anchor = address.partition("#")
    target = normpath(f"{here}/../{path}") if path else here
    if anchor:
        return target in pages and anchor in pages[target].anchors
    return target in site or DOCS.attachment(target) is not None


def test_no_anchor_is_given_twice_on_a_page(pages: dict[str, Found]):
    for name, page in pages.items():
        assert sorted(set(page.anchors)) == sorted(page.anchors), name


def test_no_page_loads_anything_from_elsewhere(site: dict[str, str]):
    loaded = re.compile(r'(?:src|<link[^>]*href)="(?:[a-z]+:|//)')
    assert [name for name, text in site.items() if name.endswith(".html") and loaded.search(text)] == []


def test_the_first_page_leads_to_every_page_but_single_facts_and_decisions():
    linked = {name for _, links in DOCS.links("index") for name, _ in links}
    single = {name for name in DOCS.names() if name.startswith(("facts/", "decisions/")) and "README" not in name}
    assert linked == set(DOCS.names()) - single - {"index"}


def test_every_section_of_every_page_is_in_the_search(site: dict[str, str], pages: dict[str, Found]):
    index = {page: {anchor for _, anchor, _ in sections} for page, _, sections in json.loads(site["search.json"])}
    assert index.keys() == set(DOCS.names())
    assert "host-keys" in index["ssh"]
    for page, anchors in index.items():
        assert anchors <= set(pages[f"{page}.html"].anchors)


def test_a_link_to_what_the_site_lacks_becomes_its_text(tmp_path: Path):
    links = "[read](../README.md), ![a picture](tour/home.webp), [web](https://example.org)"
    (tmp_path / "page.md").write_text(f"# Page\n\n<!-- generated -->\n{links} <b>\n")
    html = Documents(tmp_path).page("page").html
    assert "generated" not in html
    assert "read, a picture, " in html
    assert 'href="https://example.org"' in html
    assert "&lt;b&gt;" in html


def test_a_site_without_the_pages_that_the_wheel_leaves_out_has_no_broken_link(tmp_path: Path):
    left_out = re.findall(r'"/src/tocsin/docs/(\w+)/"', (ROOT / "pyproject.toml").read_text())
    assert left_out
    folder = shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns(*left_out))
    documents = Documents(folder)
    for name in documents.names():
        for address in Found(documents.page(name).html).addresses:
            path = address.partition("#")[0]
            if path and not re.match("[a-z]+:", address):
                target = normpath(f"{name}/../{path}")
                found = target.removesuffix(".html") in documents.names() or documents.attachment(target)
                assert found, (name, address)


@pytest.mark.parametrize(
    ("path", "status", "media_type"),
    [
        ("", 200, "text/html; charset=utf-8"),
        ("watchers.html", 200, "text/html; charset=utf-8"),
        ("channels/email.html", 200, "text/html; charset=utf-8"),
        ("search.json", 200, "application/json; charset=utf-8"),
        ("site.css", 200, "text/css; charset=utf-8"),
        ("tour/home.webp", 200, "image/webp"),
        ("reference/schemas/watchers.json", 200, "application/json"),
        ("none.html", 404, "text/plain; charset=utf-8"),
        ("../pyproject.toml", 404, "text/plain; charset=utf-8"),
        ("tour/../../pyproject.toml", 404, "text/plain; charset=utf-8"),
        ("watchers.md", 404, "text/plain; charset=utf-8"),
        ("tour", 404, "text/plain; charset=utf-8"),
    ],
)
async def test_the_dashboard_serves_the_site_under_its_strict_policy(
    browser: Client, path: str, status: int, media_type: str
):
    page = await browser.get(f"/docs/{path}")
    assert (page.status, page.header("content-type")) == (status, media_type)
    if media_type.startswith("text/html"):
        assert "unsafe" not in page.header("content-security-policy")
        assert page.body.startswith(b"<!doctype html>")


async def test_the_address_without_a_slash_leads_to_the_first_page(browser: Client):
    answer = await browser.get("/docs")
    assert (answer.status, answer.header("location")) == (301, "docs/")
