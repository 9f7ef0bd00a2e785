"""The page and its files are sent as they stand in the source, small, kept by browsers, and under a strict policy."""

import gzip
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from tests.web.asgi_client import Client

from tocsin import __version__
from tocsin.features.contract import Feature
from tocsin.features.registry import find_features
from tocsin.web.ui.assets import Assets, load_assets
from tocsin.web.ui.static import ui_routes


@pytest.fixture(scope="module")
def assets(compressed_once: None) -> Assets:
    return load_assets(find_features().features)


@pytest.fixture(scope="module", autouse=True)
def compressed_once() -> Iterator[None]:
    """Compress each text once, however often the files are read anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gzip, "compress", cache(gzip.compress))
        yield


@pytest.fixture(scope="module")
def browser() -> Client:
    return Client(Starlette(routes=list(ui_routes(find_features().features))))


async def test_the_page_names_files_of_this_version_and_each_of_them_is_there(browser: Client, assets: Assets):
    page = await browser.get("/")

    assert page.status == 200
    assert f'content="{__version__}"' in page.body.decode()
    named = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    assert len(named) >= 5
    beside = {"manifest.webmanifest", "icon-192.png"}  # of the installed app
    for path in {*named} - beside:
        assert path.startswith(assets.prefix)
        assert (await browser.get(path)).status == 200


async def test_the_page_holds_no_code_and_its_policy_allows_none(browser: Client):
    page = await browser.get("/")

    code = r'<script(?![^>]*(?: src=| type="application/json"))|<style|\son\w+=|\sstyle='
    assert not re.search(code, page.body.decode())
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


async def test_a_head_request_gets_the_head_alone(browser: Client):
    assert (await browser.request("HEAD", "/")).status == 200


@dataclass
class Garden:
    """A plug-in with a page, below a directory of packages."""

    package: Path

    def load(self) -> Assets:
        """Read the files anew, as a restarted service does."""
        for name in [name for name in sys.modules if name.startswith("tocsin_garden")]:
            del sys.modules[name]
        return load_assets(
            [*find_features().features, Feature(name="garden", package="tocsin_garden", summary="a garden")]
        )

    def write(self, name: str, text: str) -> None:
        """Change a file of its page."""
        (self.package / "ui" / name).write_text(text)


PAGE = 'from tocsin.features.pages import PageSpec\n\nPAGE = PageSpec(name="{name}", title="Garden", key="{key}")\n'


@pytest.fixture
def garden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Garden]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = Garden(tmp_path / "tocsin_garden")
    (found.package / "ui").mkdir(parents=True)
    (found.package / "__init__.py").touch()
    found.write("__init__.py", PAGE.format(name="garden", key="z"))
    found.write("icon.svg", '<svg><path d="M3 3h14"/></svg>')
    found.write("page.js", "export const page = {};\n")
    yield found
    for name in [name for name in sys.modules if name.startswith("tocsin_garden")]:
        del sys.modules[name]


def manifest(assets: Assets) -> dict[str, Any]:
    found = re.search(r'id="manifest">(.*?)</script>', assets.document.body.decode())
    assert found
    told: dict[str, Any] = json.loads(found[1])
    return told


def test_the_version_changes_with_any_file(garden: Garden):
    before = garden.load()
    assert b"export const page = {};" in before.files["features/garden/page.js"].body
    assert garden.load().version == before.version
    garden.write("page.js", "export const page = { wide: true };\n")
    assert garden.load().version != before.version


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("__init__.py", "raise RuntimeError\n"),
        ("__init__.py", "PAGE = 5\n"),
        ("__init__.py", PAGE.format(name="cron", key="z")),
        ("__init__.py", PAGE.format(name="login", key="z")),
        ("icon.svg", "<svg></svg>"),
        ("page.js", 'import { gone } from "tocsin/parts/gone.js";\nexport const page = gone;\n'),
    ],
)
def test_a_page_of_a_plug_in_that_cannot_be_shown_costs_the_others_nothing(
    garden: Garden, file: str, text: str, assets: Assets, caplog: pytest.LogCaptureFixture
):
    garden.write(file, text)
    found = garden.load()
    assert [page["name"] for page in manifest(found)["pages"]] == [page["name"] for page in manifest(assets)["pages"]]
    assert found.files.keys() == assets.files.keys()
    assert [(record.levelname, record.feature) for record in caplog.records] == [("ERROR", "garden")]  # type: ignore[attr-defined]


def test_a_key_that_goes_to_a_page_already_stays_with_it(garden: Garden):
    garden.write("__init__.py", PAGE.format(name="garden", key="h"))
    keys = {page["name"]: page["key"] for page in manifest(garden.load())["pages"]}
    assert (keys["home"], keys["garden"]) == ("h", "")
