"""Every page in every look, with every window that it opens."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from playwright.sync_api import Error, Page, expect
from tests.chaos.figures import Figure
from tests.e2e.dashboard.conftest import NARROW, WIDE, Visitor
from tests.e2e.dashboard.proof.stage import Stage

SMALLEST = (320, 640)
LOOKS = [(theme, size) for theme in ("light", "dark") for size in (WIDE, NARROW)]


def _press(name: str | re.Pattern[str]) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("main").get_by_role("button", name=name).first.click()


def _key(keys: str) -> Callable[[Page], None]:
    return lambda page: page.keyboard.press(keys)


def _header(name: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("banner").get_by_role("button", name=name).click()


def _on_tab(tab: str, name: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        page.get_by_role("tab", name=tab).click()
        _press(name)(page)

    return act


# Where, and what opens a window there; `@1` is the second of such pages.
WINDOWS: Sequence[tuple[str, str, Callable[[Page], None]]] = (
    ("#/home", "search", _key("Control+k")),
    ("#/home", "shortcuts", _key("?")),
    ("#/home", "bell", _header("Notifications")),
    ("#/home", "theme", _header("Theme and account")),
    ("#/cron/", "run with", _press("Run with …")),
    ("#/cron/", "pause", _press("Pause …")),
    ("#/cron/", "delete", _press("Delete")),
    ("#/workflows", "new", _press("New workflow")),
    ("#/workflows/asks", "run", _press("Run …")),
    ("#/workflows/asks", "dry run", _press("Dry run …")),
    ("#/jobs", "new", _press("New task")),
    ("#/jobs/", "complete", _press("Complete")),
    ("#/access", "allow", _press("Allow a chat")),
    ("#/access", "deny", _press("Deny")),
    ("#/memory", "new", _press("New entry")),
    ("#/skills/hello", "run", _press("Run")),
    ("#/chat/", "delete", _press("Delete")),
    ("#/settings", "new token", _on_tab("Tokens", "New token")),
    ("#/notifications", "delete", _press(re.compile("^Delete"))),
    ("#/runs/@1", "approve", _press(re.compile("Approve|from here"))),
)
# Tabs of details, which their pages show one at a time.
TABS = {"#/cron/": ("log", "definition", "preview"), "#/settings": ("values", "integrations", "tokens", "look")}


def all_states(stage: Stage) -> list[Figure]:
    """Ask axe about every page and every window, in both themes and at both sizes."""
    found: dict[str, list[str]] = {}
    seen = wide = 0
    problems: list[str] = []
    for theme, size in LOOKS:
        with stage.window(size=size, color_scheme=theme, reduced_motion="reduce") as visitor:
            for name in _places(stage, visitor):
                seen += 1
                where = f"{name} {theme} {size[0]}"
                if wrong := visitor.violations():
                    found[where] = wrong
                if size == NARROW:
                    visitor.page.set_viewport_size({"width": SMALLEST[0], "height": SMALLEST[1]})
                    if visitor.overflow() > 0:
                        wide += 1
                        found[f"{where}: wider than {SMALLEST[0]}"] = [str(visitor.overflow())]
                    visitor.page.set_viewport_size({"width": size[0], "height": size[1]})
            problems += visitor.problems
    violations = sum(len(wrong) for where, wrong in found.items() if "wider" not in where)
    details = "; ".join(f"{where}: {wrong[0]}" for where, wrong in found.items())
    return [
        Figure("states looked at", seen),
        Figure("violations that axe finds", violations, "=", 0, detail=details),
        Figure(f"states wider than {SMALLEST[0]} pixels", wide, "=", 0),
        Figure("errors in the console", len(problems), "=", 0, detail="; ".join(problems)),
    ]


def _places(stage: Stage, visitor: Visitor) -> Iterator[str]:
    """Show one place after the other; give its name while it is shown."""
    page = visitor.page
    for route in stage.site.routes:
        for tab in ("", *next((tabs for begin, tabs in TABS.items() if _is_below(route, begin)), ())):
            visitor.open(f"{route}?tab={tab}" if tab else route)
            expect(page.locator("main .loading")).to_have_count(0)
            yield f"{route}?{tab}"
    for begin, name, open_ in WINDOWS:
        part, _, number = begin.partition("@")
        route = [route for route in stage.site.routes if _is_below(route, part)][int(number or 0)]
        visitor.open("#/home")
        visitor.open(route)
        expect(page.locator("main .loading")).to_have_count(0)
        open_(page)
        expect(page.locator("dialog[open], .popover__panel").first).to_be_visible()
        yield f"{route} {name}"
        page.keyboard.press("Escape")
        with suppress(Error):
            page.locator("dialog[open]").first.wait_for(state="detached", timeout=2_000)


def _is_below(route: str, begin: str) -> bool:
    """`#/cron/` means the page of a record, `#/cron` the list."""
    if not begin.endswith("/"):
        return route == begin
    return route.startswith(begin) and route.count("/") == begin.count("/") and not route.endswith("/new")
