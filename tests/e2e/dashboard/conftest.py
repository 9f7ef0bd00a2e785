"""A browser for the tests of the dashboard, and pages that fail the test when something is wrong in them."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright
from tests.e2e.dashboard.served import PASSWORD, USER, ServedDashboard, serve_dashboard
from tests.waiting import PATIENCE_S

AXE = Path(__file__).parents[3] / ".cache" / "node" / "node_modules" / "axe-core" / "axe.min.js"
WIDE, NARROW = (1366, 900), (360, 740)
# Each theme and each size once; colours do not depend on the size, nor the order of things on the theme.
LOOKS: list[tuple[Any, tuple[int, int]]] = [("light", WIDE), ("dark", NARROW)]
AXE_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
expect.set_options(timeout=PATIENCE_S * 1000)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give a browser one second try, which pytest lists as RERUN: a test of ours in one process gets none."""
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.flaky(reruns=1))


# Of this package and not of the session: as long as Playwright is there, its loop runs in the thread of the tests, and
# none elsewhere can have one. So no test beside these is asynchronous.
@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    """Return what starts browsers."""
    with sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """Start Chromium's headless shell, which takes less of a processor for the same pages."""
    with running_browser(playwright, "chromium-headless-shell") as browser:
        yield browser


@contextmanager
def running_browser(playwright: Playwright, preferred: str) -> Iterator[Browser]:
    """Start a Chromium of this machine."""
    program = next(filter(None, map(shutil.which, (preferred, "chromium", "chromium-browser", "google-chrome"))), None)
    assert program, "there is no Chromium; `sh tools/bootstrap.sh dev` installs it"
    options = ["--no-sandbox", "--disable-dev-shm-usage"]
    with playwright.chromium.launch(executable_path=program, args=options) as browser:
        yield browser


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    """Serve an installation with nothing in it, for the tests of one module."""
    with serve_dashboard(tmp_path_factory.mktemp("dashboard")) as served:
        yield served


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[ServedDashboard]:
    """Serve an installation with nothing in it, for one test that needs it empty: others may run before."""
    with serve_dashboard(tmp_path) as served:
        yield served


@dataclass
class Visitor:
    """A browser's window, and what went wrong in it."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()  # parts of messages that the test provokes

    def open(self, hash_: str = "#/home") -> Page:
        """Open a page of the dashboard and wait until it shows something."""
        self.page.goto(self.address + hash_)
        expect(self.page.locator("main h1, main .failure").first).to_be_visible()
        return self.page

    def violations(self, part: str = "") -> list[str]:
        """Return what axe finds on what is shown, or on one part of it, which is quicker."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text(encoding="utf-8"))
        options = json.dumps({"runOnly": AXE_RULES, "resultTypes": ["violations"]})
        found = self.page.evaluate(f"axe.run({json.dumps(part)} || document, {options})")
        return [
            f"{rule['id']}: {node['html'][:160]} {node['any'][0]['message'] if node['any'] else ''}"
            for rule in found["violations"]
            for node in rule["nodes"]
        ]

    def in_every_look(self) -> list[str]:
        """Return what is wrong in each look of what is shown, the last of which stays."""
        found: list[str] = []
        for theme, (width, height) in LOOKS:
            self.page.emulate_media(color_scheme=theme)
            self.page.set_viewport_size({"width": width, "height": height})
            found += (f"{theme}, {width} pixels: {each}" for each in self.violations())
            if (wider := self.overflow()) > 0:
                found.append(f"{wider} pixels wider than {width}")
        return found

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))


@pytest.fixture
def visit(chromium: Browser, dashboard: ServedDashboard) -> Iterator[Callable[..., Visitor]]:
    """Open windows; at the end, nothing may stand in their consoles."""
    contexts: list[BrowserContext] = []
    visitors: list[Visitor] = []

    def start(
        size: tuple[int, int] = WIDE,
        theme: Any = "light",
        served: ServedDashboard = dashboard,
        *,
        signed_in: bool = True,
        signs_out: bool = False,
        zone: str | None = None,
    ) -> Visitor:
        context = chromium.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=theme,
            reduced_motion="reduce",
            timezone_id=zone,
        )
        context.set_default_timeout(PATIENCE_S * 1000)
        contexts.append(context)
        if signed_in:
            sign_in(context, served, shared=not signs_out)
        visitor = Visitor(context.new_page(), served.address)
        visitor.page.on("console", lambda message: _note(visitor, message))
        visitor.page.on("pageerror", lambda error: visitor.problems.append(f"error: {error}"))
        visitors.append(visitor)
        return visitor

    yield start
    found = [
        problem for one in visitors for problem in one.problems if not any(part in problem for part in one.expected)
    ]
    for context in contexts:
        context.close()
    assert found == []


def sign_in(context: BrowserContext, served: ServedDashboard, *, shared: bool) -> None:
    """Sign in, which takes as long as a page; what is `shared` is the session of all windows that do not end it."""
    if shared and served.session:
        context.add_cookies(served.session)
        return
    login = context.request.post(f"{served.address}login", data={"username": USER, "password": PASSWORD})
    assert login.ok
    if shared:
        served.session = context.cookies()


def _note(visitor: Visitor, message: Any) -> None:
    if message.type in {"error", "warning"}:
        visitor.problems.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")
