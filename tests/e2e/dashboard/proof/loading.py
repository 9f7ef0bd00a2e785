"""How much is sent before something is seen, and how soon."""

import statistics
from collections.abc import Sequence

from playwright.sync_api import Page, Response, expect
from tests.chaos.figures import Figure
from tests.e2e.dashboard.proof.stage import Stage

FIRST_KB, FIRST_REQUESTS, FIRST_PAINT_MS, SLOW_PAINT_MS = 60, 14, 250, 1_200
PAGE_KB, CHAT_KB = 15, 45
SLOW_DOWN = 4
TIMES = 9
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


def first_load(stage: Stage) -> list[Figure]:
    """Load Home with nothing in the browser's memory."""
    with stage.window() as visitor:
        answers = _noted(visitor.page)
        visitor.open()
        expect(visitor.page.locator(".strip svg")).to_be_visible()
        code, size = _code(answers), _size(_code(answers))
    figures = [
        Figure("code and styles of the first load", size / 1024, "≤", FIRST_KB, "KiB", f"{len(code)} files"),
        Figure("requests of the first load", len(answers), "≤", FIRST_REQUESTS),
    ]
    for name, rate, limit in (("", 1, FIRST_PAINT_MS), (f" at {SLOW_DOWN}x slow-down", SLOW_DOWN, SLOW_PAINT_MS)):
        paints = [_first_paint(stage, rate) for _ in range(TIMES)]
        detail = f"{min(paints):.0f} to {max(paints):.0f} ms"
        figures.append(Figure(f"first paint{name}", statistics.median(paints), "≤", limit, "ms", detail))
    return figures


def each_page(stage: Stage) -> list[Figure]:
    """Open every page after Home, each in a new browser."""
    sizes: dict[str, float] = {}
    for route in stage.site.routes:
        with stage.window() as visitor:
            visitor.open()
            expect(visitor.page.locator(".strip svg")).to_be_visible()
            answers = _noted(visitor.page)
            visitor.open(route)
            expect(visitor.page.locator("main .loading")).to_have_count(0)
            name = route[2:].split("?")[0].split("/")
            sizes["/".join([name[0], *("…" for _ in name[1:])])] = _size(_code(answers)) / 1024
    chats = {name: sizes.pop(name) for name in list(sizes) if name.startswith("chat")}
    largest = max(sizes, key=lambda name: sizes[name])
    return [
        Figure("largest further page", sizes[largest], "≤", PAGE_KB, "KiB", f"{largest}; {len(sizes)} pages"),
        Figure("chat", max(chats.values()), "≤", CHAT_KB, "KiB"),
    ]


def _noted(page: Page) -> list[Response]:
    answers: list[Response] = []
    page.on("response", lambda answer: answers.append(answer))  # noqa: PLW0108  # Playwright wants a function
    return answers


def _code(answers: Sequence[Response]) -> list[Response]:
    return [answer for answer in answers if answer.url.split("?")[0].endswith((".js", ".css"))]


def _size(answers: Sequence[Response]) -> int:
    return sum(answer.request.sizes()["responseBodySize"] for answer in answers)


def _first_paint(stage: Stage, rate: int) -> float:
    with stage.window() as visitor:
        client = visitor.page.context.new_cdp_session(visitor.page)
        client.send("Emulation.setCPUThrottlingRate", {"rate": rate})
        visitor.open()
        visitor.page.wait_for_function(f"({_PAINT}) > 0")
        return float(visitor.page.evaluate(_PAINT))
