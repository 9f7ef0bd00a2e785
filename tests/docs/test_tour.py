"""The tour of the dashboard shows every page that there is, and no other."""

import re
from pathlib import Path

from tools.tour import find_tours

from tocsin.features.registry import find_features
from tocsin.web.ui.manifest import build_manifest, feature_pages

DOCS = Path(__file__).parents[2] / "docs"
TOUR = (DOCS / "tour.md").read_text(encoding="utf-8")
FEATURES = find_features().features
MENU = build_manifest(FEATURES, feature_pages(FEATURES))["pages"]
MAX_KB, MAX_KB_EACH = 1_200, 60


def test_each_page_of_the_tour_exists_and_each_page_of_the_menu_is_on_it():
    areas = {f"/{page['name']}" for page in MENU}
    details = {f"/{page['name']}" + re.sub(r":(\w+)", r"{\1}", path) for page in MENU for path in page["routes"]}
    shown = set(re.findall(r"`#(/[^`]+)`", TOUR))
    assert shown - areas - details == set()
    assert areas - shown == set()


def test_each_page_declares_the_pictures_that_the_tour_shows():
    stops = [stop for tour in find_tours(FEATURES) for stop in tour.stops]
    assert sorted(stop.name for stop in stops) == sorted(re.findall(r"\(tour/([\w-]+)\.webp\)", TOUR))
    opened = {stop.address.partition("/")[0].partition("?")[0] for stop in stops}
    assert opened == {page["name"] for page in MENU}


def test_its_pictures_are_there_and_small():
    shown = re.findall(r"!\[[^\]]+\]\((tour/[\w-]+\.webp)\)", TOUR)
    kept = [path.relative_to(DOCS).as_posix() for path in (DOCS / "tour").iterdir()]
    assert sorted(shown) == sorted(kept)
    sizes = {name: (DOCS / name).stat().st_size / 1_000 for name in kept}
    assert {name: size for name, size in sizes.items() if size > MAX_KB_EACH} == {}
    assert sum(sizes.values()) <= MAX_KB
