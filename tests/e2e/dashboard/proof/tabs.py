"""What several tabs ask of the server while nobody does anything."""

from playwright.sync_api import Request, expect
from tests.chaos.figures import Figure
from tests.e2e.dashboard.conftest import Visitor
from tests.e2e.dashboard.proof.stage import Stage

TABS = 5
MINUTES = 2
MOST_PER_MINUTE = 2
# What tabs ask at first is over then, and what the service tells after its start: a lease is taken over within 10 s.
SETTLES_MS = 20_000


def five_idle_tabs(stage: Stage) -> list[Figure]:
    """Open five tabs and wait."""
    with stage.window() as visitor:
        context = visitor.page.context
        asked: list[str] = []

        def note(request: Request) -> None:
            asked.append(request.url)

        context.on("request", note)
        pages = ["#/home", "#/cron", "#/runs", "#/notifications", "#/settings"]
        for place in pages[:TABS]:
            tab = visitor if place == "#/home" else Visitor(context.new_page(), stage.address)
            tab.open(place)
            expect(tab.page.locator(".live--live")).to_be_visible()
        streams = sum("/stream/" in url for url in asked)
        visitor.page.wait_for_timeout(SETTLES_MS)
        asked.clear()
        visitor.page.wait_for_timeout(MINUTES * 60_000)
        more = [url for url in asked if "/api/" in url]
    return [
        Figure(f"streams of {TABS} tabs", streams + sum("/stream/" in url for url in more), "=", 1),
        Figure(
            f"requests per minute by {TABS} idle tabs", len(more) / MINUTES, "≤", MOST_PER_MINUTE, detail=str(more[:5])
        ),
    ]
