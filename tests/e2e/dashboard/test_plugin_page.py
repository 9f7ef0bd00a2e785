"""A feature of another distribution brings a page, operations, a kind of run and a subsystem."""

import importlib
import shutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import expect
from tests.cli.conftest import Cli, wait_until_it_listens
from tests.cli.test_feature_plugins import declare
from tests.e2e.dashboard.conftest import NARROW, Visitor
from tests.e2e.dashboard.served import LOGIN, PASSWORD, USER
from tests.ports import free_port
from tools.tour import SIZE, find_tours, open_stop, take_picture

EXAMPLE = Path(__file__).parents[3] / "examples" / "freshness"
POINTS = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]["tocsin.features"]

Visit = Callable[..., Visitor]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The dashboard of `tocsin dashboard` beside the installed example, with a fresh folder and an empty one."""
    home = tmp_path_factory.mktemp("plugged")
    site, folders = home / "site", home / "backups"
    shutil.copytree(EXAMPLE / "tocsin_freshness", site / "tocsin_freshness")
    declare(site, "tocsin_freshness", "\n".join(["[tocsin.features]", *(f"{k} = {v}" for k, v in POINTS.items()), ""]))
    for name in ("db", "mail"):
        (folders / name).mkdir(parents=True)
    (folders / "db" / "dump.sql").write_text("backup")
    port = free_port()
    setting = {"FRESHNESS_FOLDERS": f"{folders}/db:24,{folders}/mail:24", "DASHBOARD_PORT": str(port)}
    cli = Cli(home, {"PYTHONPATH": str(site), "REDIS_URL": "off", **LOGIN, **setting})
    with cli.running("dashboard") as child:
        wait_until_it_listens(child)
        yield f"http://127.0.0.1:{port}/"
        child.terminate()
        child.communicate()


@pytest.fixture
def visitor(visit: Visit, address: str) -> Visitor:
    """A window on that dashboard."""
    visitor = visit(signed_in=False)
    visitor.address = address
    login = {"username": USER, "password": PASSWORD}
    assert visitor.page.context.request.post(f"{address}login", data=login).ok
    return visitor


def test_its_page_is_in_the_menu_with_its_icon_and_its_state(visitor: Visitor):
    page = visitor.open()
    entry = page.get_by_role("navigation", name="Pages").get_by_role("link", name="Backups")
    expect(entry.locator("svg.icon path")).to_have_attribute("d", "M3 5h14v4H3zM4.5 9v7h11V9M8 12h4")
    expect(page.locator(".card", has_text="Backups")).to_contain_text("2 folders, 1 without a fresh backup")
    entry.click()
    expect(page.get_by_role("heading", name="Backups", level=1)).to_be_visible()
    expect(page.get_by_role("row", name="mail").get_by_text("Failing")).to_be_visible()
    assert visitor.violations() == []


def test_its_runs_are_shown_under_their_name_and_change_its_page(visitor: Visitor):
    page = visitor.open("#/freshness")
    page.get_by_role("button", name="Check now db").click()
    expect(page.get_by_role("heading", name="db", level=1)).to_be_visible()
    expect(page.locator(".page-head")).to_contain_text("Backup check")
    expect(page.locator(".log__text")).to_contain_text("newest file: dump.sql")
    page.goto(f"{visitor.address}#/freshness")
    expect(page.get_by_role("row", name="db").get_by_text("Succeeded")).to_be_visible()
    page.goto(f"{visitor.address}#/runs?kind=freshness")
    expect(page.get_by_role("row", name="db").first).to_contain_text("Backup check")


def test_the_palette_finds_its_records_and_runs_them(visitor: Visitor):
    page = visitor.open()
    page.keyboard.press("Control+k")
    page.keyboard.type("run mail")
    expect(page.get_by_role("option", name="Run mail now")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="mail", level=1)).to_be_visible()
    expect(page.get_by_text("it has no files").first).to_be_visible()
    page.keyboard.type("gf")
    expect(page.get_by_role("heading", name="Backups", level=1)).to_be_visible()


def test_its_stop_is_on_the_tour(visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    feature = importlib.import_module("tocsin_freshness.feature").FEATURE
    [stop] = [stop for tour in find_tours((feature,)) for stop in tour.stops if stop.name == "backups"]
    visitor.page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
    open_stop(visitor.page, visitor.address, stop, {})
    expect(visitor.page.get_by_role("row", name="mail")).to_be_visible()
    assert take_picture(visitor.page, tmp_path / "backups.webp") > 0
    with Image.open(tmp_path / "backups.webp") as picture:
        assert picture.size == SIZE


def test_its_page_fits_a_small_screen(visit: Visit, visitor: Visitor):
    visitor.page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    visitor.open("#/freshness")
    assert visitor.overflow() <= 0
    assert visitor.violations() == []
