"""Every page of the dashboard: for everybody, at every size, with nothing in it and with texts that want to be code."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Dialog, expect
from tests.e2e.dashboard.conftest import NARROW, WIDE, Visitor
from tests.e2e.dashboard.filled import Site, filled_site
from tests.web.ui.xss_strings import STRINGS

from tocsin.features.registry import find_features
from tocsin.web.ui.manifest import build_manifest, feature_pages

Visit = Callable[..., Visitor]
SMALLEST, TABLET = (320, 640), (768, 1024)
FEATURES = find_features().features
MENU = build_manifest(FEATURES, feature_pages(FEATURES))["pages"]
PAGES = [page["name"] for page in MENU]
DETAILS = [f"/{page['name']}{path}" for page in MENU for path in page["routes"] if path]
# What only markup that was let in can bring, and the marks of the texts that are shown, also in fields.
INJECTED = r"""() => {
    const found = [];
    for (const one of document.querySelectorAll("*")) {
        for (const { name, value } of one.attributes) {
            const leads = /^(xlink:)?(href|src|action|formaction)$/i.test(name);
            const ours = /^(#|\/static\/|\/api\/|\/docs\/|https?:|manifest\.webmanifest$|icon-192\.png$)/.test(value);
            if (/^on/i.test(name) || (leads && !ours)) found.push(`${one.localName} ${name}=${value}`);
        }
        const file = one.id === "manifest" || one.src?.startsWith?.(`${location.origin}/static/`);
        const ours = one.localName !== "script" || file;
        if (!ours || /^(img|video|iframe|object|embed|base|math|template|xmp)$/i.test(one.localName)) {
            found.push(one.outerHTML);
        }
    }
    if (window.hit) found.push(`${window.hit} ran`);
    const fields = [...document.querySelectorAll("input, textarea")].map(({ value }) => value);
    return { found, marks: `${document.documentElement.innerHTML} ${fields}`.match(/x\d{3}/g) ?? [] };
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with filled_site(tmp_path_factory.mktemp("site")) as site:
        yield site


def look(visitor: Visitor, number: int) -> None:
    """Take one of the four pairs of theme and size."""
    size = (WIDE, NARROW)[number // 2 % 2]
    visitor.page.emulate_media(color_scheme=("light", "dark")[number % 2])
    visitor.page.set_viewport_size({"width": size[0], "height": size[1]})


# What several rows have: heard out of its row, in a list of all buttons, it must say which one it is.
UNTOLD = """[...document.querySelectorAll("main tbody .button")]
    .filter((one) => !one.ariaLabel && !one.querySelector(".visually-hidden"))
    .map((one) => `not told: ${one.outerHTML}`)"""


def wrongs(visitor: Visitor, part: str) -> list[str]:
    """Return what axe finds, what failed, what has no name, and whether the page is too wide for the smallest."""
    expect(visitor.page.locator("main .loading")).to_have_count(0)
    found = [*visitor.violations(part), *visitor.page.locator("main .failure").all_inner_texts()]
    found += visitor.page.evaluate(UNTOLD)
    for width, height in (TABLET, SMALLEST):
        visitor.page.set_viewport_size({"width": width, "height": height})
        if visitor.overflow() > 0:
            found.append(f"{visitor.overflow()} pixels wider than {width}")
    return found


def test_every_page_is_for_everybody_and_every_size_and_no_text_becomes_a_part_of_it(visit: Visit, site: Site):
    visitor = visit(served=site.served)
    page = visitor.page
    dialogs: list[Dialog] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog), dialog.dismiss()))
    found: dict[str, object] = {}
    marks: set[str] = set()
    for number, route in enumerate(site.routes):
        look(visitor, number)
        visitor.open(route)
        expect(page.locator("main .loading")).to_have_count(0)
        seen = page.evaluate(INJECTED)
        marks.update(seen["marks"])
        # The frame is the same everywhere: once is enough.
        if wrong := [*seen["found"], *wrongs(visitor, "main" if number else "")]:
            found[route] = wrong
    assert found == {}
    assert above(visitor) == []
    assert unvisited(site.routes) == []
    assert dialogs == []
    assert len(marks) == len(STRINGS)


@pytest.mark.parametrize("route", ["runs", "deliveries", "triggers", "access"])
def test_a_list_is_for_everybody_in_either_theme_and_size(visit: Visit, site: Site, route: str):
    visitor = visit(served=site.served)
    found: dict[str, object] = {}
    for number in (0, 3):  # each theme and each size once
        look(visitor, number)
        visitor.open(f"#/{route}")
        expect(visitor.page.locator("main tbody tr").first).to_be_visible()
        if wrong := wrongs(visitor, "main"):
            found[f"{number}"] = wrong
    assert found == {}


def unvisited(routes: list[str]) -> list[str]:
    """Return the routes that none of these addresses opens."""
    patterns = [f"/{name}" for name in PAGES] + DETAILS
    visited = [route[1:].split("?")[0] for route in routes]
    return [p for p in patterns if not any(re.fullmatch(re.sub(r":\w+", "[^/]+", p), one) for one in visited)]


def above(visitor: Visitor) -> list[str]:
    """Return what was injected into what lies above the pages: the latest notices, and the search for everything."""
    page = visitor.page
    page.get_by_role("button", name=re.compile("Notifications")).click()
    expect(page.locator(".bell__title").first).to_be_visible()
    found = page.evaluate(INJECTED)["found"]
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("prints <img src=x onerror=alert(1)>")
    return [*found, *page.evaluate(INJECTED)["found"]]


def test_every_page_of_the_menu_is_for_everybody_when_nothing_is_there(visit: Visit):
    visitor = visit()
    page = visitor.open()
    found: dict[str, object] = {}
    for number, name in enumerate(PAGES):
        look(visitor, number + 1)
        page.goto(f"{visitor.address}#/{name}")
        expect(page.locator("main h1, main .failure").first).to_be_visible()
        if wrong := wrongs(visitor, "main"):
            found[name] = wrong
    assert found == {}
