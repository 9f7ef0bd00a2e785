"""The page and its files are sent as they stand in the source, small, kept by browsers, and under a strict policy."""

import gzip
import re

import pytest
from starlette.applications import Starlette
from tests.web.asgi_client import Client

from tocsin import __version__
from tocsin.web.ui.assets import Assets, load_assets
from tocsin.web.ui.static import ui_routes


@pytest.fixture(scope="module")
def assets() -> Assets:
    return load_assets()


@pytest.fixture
def browser(assets: Assets) -> Client:
    return Client(Starlette(routes=list(ui_routes(assets))))


async def test_the_page_names_files_of_this_version_and_each_of_them_is_there(browser: Client, assets: Assets):
    page = await browser.get("/")

    assert page.status == 200
    assert f'content="{__version__}"' in page.body.decode()
    named = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    assert len(named) >= 5
    for path in named:
        assert path.startswith(assets.prefix)
        assert (await browser.get(path)).status == 200


async def test_the_page_holds_no_code_and_its_policy_allows_none(browser: Client):
    page = await browser.get("/")

    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=", page.body.decode())
    policy = page.header("content-security-policy")
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert page.header("x-content-type-options") == "nosniff"
    assert page.header("referrer-policy") == "no-referrer"


async def test_a_person_without_javascript_reads_a_sentence(browser: Client):
    assert "<noscript><p" in (await browser.get("/")).body.decode()


async def test_an_unchanged_page_is_not_sent_again(browser: Client):
    first = await browser.get("/")
    again = await browser.get("/", ("If-None-Match", first.header("etag")))

    assert (again.status, again.body) == (304, b"")
    assert first.header("cache-control") == "no-cache"


async def test_files_are_kept_for_ever_and_travel_compressed(browser: Client, assets: Assets):
    path = f"{assets.prefix}/style.css"
    packed = await browser.get(path, ("Accept-Encoding", "br, gzip"))
    plain = await browser.get(path, ("Accept-Encoding", "gzip;q=0"))

    assert packed.header("cache-control") == "public, max-age=31536000, immutable"
    assert packed.header("content-encoding") == "gzip"
    assert gzip.decompress(packed.body) == plain.body
    assert plain.header("content-encoding") == ""
    assert packed.header("vary") == plain.header("vary") == "Accept-Encoding"


@pytest.mark.parametrize(
    "path", ["000000000000/style.css", "{version}/none.js", "{version}/../static.py", "{version}/"]
)
async def test_a_file_of_another_version_or_none_at_all_is_not_found(browser: Client, assets: Assets, path: str):
    assert (await browser.get(f"/static/{path.format(version=assets.version)}")).status == 404


@pytest.mark.parametrize(
    ("path", "status"),
    [("watchers.md", 200), ("channels/email.md", 200), ("none.md", 404), ("../pyproject.toml", 404), ("tour", 404)],
)
async def test_the_documentation_of_this_version_is_served_as_markdown(browser: Client, path: str, status: int):
    page = await browser.get(f"/docs/{path}")
    assert page.status == status
    if status == 200:
        assert page.body.startswith(b"# ")
        assert (page.header("content-type"), page.header("cache-control")) == (
            "text/markdown; charset=utf-8",
            "no-cache",
        )


async def test_a_head_request_gets_the_head_alone(browser: Client):
    assert (await browser.request("HEAD", "/")).status == 200


def test_the_version_changes_with_any_file(assets: Assets, tmp_path):
    import shutil

    from tocsin.web.ui.assets import ROOT

    copy = tmp_path / "ui"
    shutil.copytree(ROOT, copy)
    assert load_assets(copy).version == assets.version
    (copy / "lib" / "router.js").write_text((copy / "lib" / "router.js").read_text() + "export const more = 1;\n")
    assert load_assets(copy).version != assets.version
