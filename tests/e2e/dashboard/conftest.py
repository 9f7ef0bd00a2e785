"""A browser for the tests of the dashboard, and pages that fail the test when something is wrong in them."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, expect, sync_playwright
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
def chromium() -> Iterator[Browser]:
    """Start the system's Chromium."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert program, "there is no Chromium; `sh tools/bootstrap.sh dev` installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    """Serve an installation with nothing in it, for the tests of one module."""
    with serve_dashboard(tmp_path_factory.mktemp("dashboard")) as served:
        yield served


@dataclass(eq=False)
class Visitor:
    """A browser's window, and what went wrong in it."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()  # parts of messages that the test provokes
    used: bool = False  # by the test before: the page is loaded anew, from what the browser has compiled

    def open(self, hash_: str = "#/home") -> Page:
        """Open a page of the dashboard and wait until it shows something."""
        if self.used and self.page.url.startswith(f"{self.address}#"):
            self.page.evaluate("address => history.replaceState(null, '', address)", self.address + hash_)
            self.problems.clear()  # what the page of the test before still heard
            self.page.reload()
        else:
            self.page.goto(self.address + hash_)
        self.used = False
        expect(self.page.locator("main h1, main .failure").first).to_be_visible()
        return self.page

    def listen(self) -> None:
        """Note what goes wrong, from now on."""
        self.page.on("console", self._note_message)
        self.page.on("pageerror", self._note_error)

    def leave(self) -> None:
        """Take back what a test may have left in its window, for the next one."""
        self.page.remove_listener("console", self._note_message)
        self.page.remove_listener("pageerror", self._note_error)
        self.page.evaluate(
            "() => { localStorage.clear(); sessionStorage.clear(); fetch = () => new Promise(() => {}) }"
        )
        self.page.unroute_all()
        self.page.context.clear_cookies()

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.problems.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def _note_error(self, error: Error) -> None:
        self.problems.append(f"error: {error}")

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


@pytest.fixture(scope="module")
def windows() -> Iterator[dict[str, Page]]:
    """Keep one window of each dashboard for the tests of a module: a new one compiles all of the page's code."""
    kept: dict[str, Page] = {}
    yield kept
    for page in kept.values():
        page.context.close()


@pytest.fixture
def visit(chromium: Browser, dashboard: ServedDashboard, windows: dict[str, Page]) -> Iterator[Callable[..., Visitor]]:
    """Open windows; at the end, nothing may stand in their consoles.

    Tests share the first window of a dashboard, signed in and with empty storage. What changes more than its page takes
    a window `alone`: a clock, scripts that run first, permissions, other tabs, a connection that is cut.
    """
    visitors: list[Visitor] = []
    shared: list[Visitor] = []

    def start(
        size: tuple[int, int] = WIDE,
        theme: Any = "light",
        served: ServedDashboard = dashboard,
        *,
        alone: bool = False,
        signed_in: bool = True,
        signs_out: bool = False,
        zone: str | None = None,
    ) -> Visitor:
        if alone or signs_out or zone or not signed_in or any(one.address == served.address for one in shared):
            context = _new_context(chromium, zone)
            if signed_in:
                sign_in(context, served, shared=not signs_out)
            visitor = Visitor(context.new_page(), served.address)
        else:
            visitor = _shared_window(chromium, served, windows)
            shared.append(visitor)
        visitor.page.set_viewport_size({"width": size[0], "height": size[1]})
        visitor.page.emulate_media(color_scheme=theme)
        visitor.listen()
        visitors.append(visitor)
        return visitor

    yield start
    found = [
        problem for one in visitors for problem in one.problems if not any(part in problem for part in one.expected)
    ]
    for one in visitors:
        if one in shared:
            one.leave()
        else:
            one.page.context.close()
    assert found == []


def _new_context(chromium: Browser, zone: str | None = None) -> BrowserContext:
    context = chromium.new_context(reduced_motion="reduce", timezone_id=zone)
    context.set_default_timeout(PATIENCE_S * 1000)
    return context


def _shared_window(chromium: Browser, served: ServedDashboard, windows: dict[str, Page]) -> Visitor:
    page = windows.get(served.address)
    visitor = Visitor(page or _new_context(chromium).new_page(), served.address, used=page is not None)
    windows[served.address] = visitor.page
    sign_in(visitor.page.context, served, shared=True)
    return visitor


def sign_in(context: BrowserContext, served: ServedDashboard, *, shared: bool) -> None:
    """Sign in, which takes as long as a page; what is `shared` is the session of all windows that do not end it."""
    if shared and served.session:
        context.add_cookies(served.session)
        return
    login = context.request.post(f"{served.address}login", data={"username": USER, "password": PASSWORD})
    assert login.ok
    if shared:
        served.session = context.cookies()
