"""A dashboard as a process of its own, filled with records, and a browser in front of it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, StorageState, expect, sync_playwright
from tests.e2e.dashboard.conftest import WIDE, Visitor
from tests.e2e.dashboard.filled import Site, fill, write_files
from tests.e2e.dashboard.served import LOGIN, PASSWORD, USER, serve_dashboard
from tests.http_calls import is_answered
from tests.ports import free_port
from tests.quick_start import TOCSIN
from tests.town_thread import town_on_a_thread
from tests.waiting import PATIENCE_S, until

SHORT_MS = 15_000
EXACT_HEAP = ["--enable-precise-memory-info", "--js-flags=--expose-gc"]


@dataclass
class Stage:
    """The service, its records, and windows."""

    site: Site
    browser: Browser
    kept: StorageState

    @property
    def address(self) -> str:
        return self.site.served.address

    @contextmanager
    def window(self, *, signed_in: bool = True, size: tuple[int, int] = WIDE, **options: Any) -> Iterator[Visitor]:
        """Open a window with nothing kept but the session."""
        state = {"storage_state": self.kept} if signed_in else {}
        context = self.browser.new_context(viewport={"width": size[0], "height": size[1]}, **state, **options)
        context.set_default_timeout(SHORT_MS)
        try:
            yield self.visitor(context)
        finally:
            context.close()

    def visitor(self, context: BrowserContext) -> Visitor:
        visitor = Visitor(context.new_page(), self.address)
        visitor.page.on("console", lambda message: self._note(visitor, message))
        visitor.page.on("pageerror", lambda error: visitor.problems.append(f"error: {error}"))
        return visitor

    @staticmethod
    def _note(visitor: Visitor, message: Any) -> None:
        if message.type in {"error", "warning"}:
            visitor.problems.append(f"{message.type}: {message.text}")


@dataclass
class _Elsewhere:
    """What `Site` wants of a service that another process serves."""

    address: str


@contextmanager
def open_stage(folder: Path) -> Iterator[Stage]:
    """Fill a data directory, serve it by `tocsin dashboard`, and start the browser."""
    with town_on_a_thread() as town:
        env = {**write_files(folder), **town.environment()}
        (folder / "profiles.yaml").write_text("oncall:\n  - channel: teamchat\n    target: '#ops'\n")
        with serve_dashboard(folder, env) as served:
            filled = Site(served)
            fill(filled)
        expect.set_options(timeout=SHORT_MS)
        with _process(folder, env) as address, sync_playwright() as playwright:
            site = Site(_Elsewhere(address))
            site.routes = filled.routes
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
                args=["--no-sandbox", "--disable-dev-shm-usage", *EXACT_HEAP],
            )
            context = browser.new_context()
            assert context.request.post(f"{address}login", data={"username": USER, "password": PASSWORD}).ok
            yield Stage(site, browser, context.storage_state())
            browser.close()


@contextmanager
def _process(folder: Path, env: dict[str, str]) -> Iterator[str]:
    port = free_port()
    own = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "TOCSIN_DATA_DIR": str(folder)}
    settings = {
        "REDIS_URL": "off",
        "RATE_LIMIT_PER_USER": "100000",
        "RATE_LIMIT_PER_IP": "100000",
        "DASHBOARD_PORT": str(port),
        "LOG_LEVEL": "error",
        **LOGIN,
        **env,
    }
    with subprocess.Popen([TOCSIN, "dashboard"], env={**own, **settings}, stdin=subprocess.DEVNULL) as child:
        try:
            address = f"http://127.0.0.1:{port}/"
            until(lambda: is_answered(f"{address}health"), "the dashboard")
            yield address
        finally:
            child.terminate()
            try:
                child.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                child.kill()
                raise


def tab_to(page: Page, selector: Any, most: int = 400) -> None:
    """Reach an element as somebody without a mouse does."""
    element = selector.first
    expect(element).to_be_visible()
    for _ in range(most):
        if element.evaluate("one => one.contains(document.activeElement)"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} is not reached by the keyboard")
