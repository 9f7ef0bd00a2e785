"""The tour of the dashboard shows every page that there is, and no other."""

import re
from pathlib import Path

from tocsin.web.ui.assets import ROOT

DOCS = Path(__file__).parents[2] / "docs"
TOUR = (DOCS / "tour.md").read_text(encoding="utf-8")
ROUTES = (ROOT / "shell" / "routes.js").read_text(encoding="utf-8")
MAX_KB, MAX_KB_EACH = 1_200, 60


def test_each_page_of_the_tour_exists_and_each_page_of_the_menu_is_on_it():
    areas = {f"/{name}" for name in re.findall(r'\{ name: "(\w+)"', ROUTES)}
    details = {re.sub(r":(\w+)", r"{\1}", path) for path in re.findall(r'\["(/[^"]+)", "\w+"\]', ROUTES)}
    shown = set(re.findall(r"`#(/[^`]+)`", TOUR))
    assert shown - areas - details == set()
    assert areas - shown == set()


def test_its_pictures_are_there_and_small():
    shown = re.findall(r"!\[[^\]]+\]\((tour/[\w-]+\.webp)\)", TOUR)
    kept = [path.relative_to(DOCS).as_posix() for path in (DOCS / "tour").iterdir()]
    assert sorted(shown) == sorted(kept)
    sizes = {name: (DOCS / name).stat().st_size / 1_000 for name in kept}
    assert {name: size for name, size in sizes.items() if size > MAX_KB_EACH} == {}
    assert sum(sizes.values()) <= MAX_KB
