"""A thousand jobs, and a log of a hundred thousand lines."""

import statistics

from playwright.sync_api import Page, expect
from tests.chaos.figures import Figure
from tests.e2e.dashboard.proof.stage import Stage

JOBS, SEEN_MS, FILTER_MS, TOGGLE_MS = 1_000, 400, 50, 100
LINES, FIRST_LINES_MS, MOST_NODES, HEAP_MB = 100_000, 300, 1_500, 60
PER_SECOND, SECONDS, FRAME_MS = 500, 10, 100
TIMES = 5
# Each gives the milliseconds from doing something until the next frame in which its effect stands.
_UNTIL = """async (act, done) => {
    const began = performance.now();
    act();
    for (;;) {
        // A window that is not seen gets no frames, and a call of `evaluate` has no time-out.
        await new Promise((next) => { requestAnimationFrame(next); setTimeout(next, 5000); });
        if (done()) break;
        if (performance.now() - began > 20000) throw new Error("nothing happened");
    }
    const { port1, port2 } = new MessageChannel(); // its message comes when the frame was painted
    await new Promise((next) => { port1.onmessage = next; port2.postMessage(0); });
    return performance.now() - began;
}"""
_FRAMES = """() => {
    window.longest = 0;
    let last = performance.now();
    const look = (now) => {
        window.longest = Math.max(window.longest, now - last);
        last = now;
        requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
}"""


def _measured(page: Page, act: str, done: str) -> float:
    return float(page.evaluate(f"() => ({_UNTIL})(() => {{ {act} }}, () => {done})"))


def thousand_jobs(stage: Stage) -> list[Figure]:
    """Show, filter and switch a thousand cron jobs."""
    call = stage.site.call
    for number in range(JOBS - call("GET", "cron/jobs?limit=1")["total"]):
        call(
            "POST",
            "cron/jobs",
            {"name": f"many-{number:04}", "schedule": "@yearly", "command": "true", "tags": ["many"]},
        )
    seen, filtered, switched = [], [], []
    for number in range(TIMES):
        with stage.window() as visitor:
            page = visitor.open("#/runs")
            expect(page.locator("main .loading")).to_have_count(0)
            rows = "document.querySelectorAll('main tbody tr').length >= 30"
            seen.append(_measured(page, "location.hash = '#/cron'", rows))
            expect(page.get_by_role("link", name="many-0000", exact=True)).to_be_visible()
            name = f"many-{number:02}"
            for typed in (name[:6], name):
                wanted = f"{_ROWS}.length && {_ROWS}.every((row) => row.innerText.includes('{typed}'))"
                filtered.append(_measured(page, _type(typed), wanted))
            box = "document.querySelector('main tbody tr [role=switch], main tbody tr input[type=checkbox]')"
            expect(page.get_by_role("main").get_by_role("switch").first).to_be_visible()
            before = page.evaluate(f"{box}.checked")
            told = "document.querySelector('.toasts')?.innerText.includes('Undo')"
            switched.append(_measured(page, f"{box}.click()", f"{box}.checked === {str(not before).lower()} && {told}"))
    return [
        Figure(f"{JOBS:,} cron jobs: seen", statistics.median(seen), "≤", SEEN_MS, "ms", _range(seen)),
        Figure("one more letter in the filter", statistics.median(filtered), "≤", FILTER_MS, "ms", _range(filtered)),
        Figure(
            "a job switched, and told so by the server",
            statistics.median(switched),
            "≤",
            TOGGLE_MS,
            "ms",
            _range(switched),
        ),
    ]


_ROWS = "[...document.querySelectorAll('main tbody tr')]"


def _type(text: str) -> str:
    return (
        "const field = document.querySelector('main input[type=search]');"
        f"Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, '{text}');"
        "field.dispatchEvent(new Event('input', { bubbles: true }));"
    )


def _range(values: list[float]) -> str:
    return f"{min(values):.0f} to {max(values):.0f} ms"


def long_log(stage: Stage) -> list[Figure]:
    """Open the log of a run that printed much, and follow one that goes on."""
    line = 'printf "2026-11-22T08:00:00Z \\033[3%dmlevel\\033[0m request %d took %d ms\\n", i % 8, i, i % 97'
    command = f"awk 'BEGIN {{ for (i = 1; i <= {LINES}; i++) {line} }}'"
    run = _begun(stage, "prints-much", command, log_max_bytes=50_000_000)
    stage.site.ended(run)
    first, heaps, nodes = [], [], 0
    for _ in range(TIMES):
        with stage.window() as visitor:
            page = visitor.open("#/runs")
            expect(page.locator("main .loading")).to_have_count(0)
            shown = "document.querySelectorAll('.log__text').length > 10"
            first.append(_measured(page, f"location.hash = '#/runs/{run}'", shown))
            expect(page.get_by_text(f"{LINES:,} lines")).to_be_visible()
            page.locator(".log__box").press("End")
            expect(page.locator(f".log__number[data-n='{LINES}']")).to_be_visible()
            nodes = max(nodes, page.evaluate("document.querySelectorAll('.log *').length"))
            heaps.append(page.evaluate("(gc(), performance.memory.usedJSHeapSize)") / 1e6)
    return [
        Figure(
            f"log of {LINES:,} lines: first lines", statistics.median(first), "≤", FIRST_LINES_MS, "ms", _range(first)
        ),
        Figure("elements of that log", nodes, "≤", MOST_NODES),
        Figure("heap of that page", statistics.median(heaps), "≤", HEAP_MB, "MB"),
        *_followed(stage),
    ]


def _followed(stage: Stage) -> list[Figure]:
    lines = "x of much\\n" * (PER_SECOND // 10)
    script = f"for n in range({SECONDS * 10}):\n print('{lines}', end='', flush=True)\n time.sleep(0.1)"
    run = _begun(stage, "prints-on", f'python3 -c "import time\n{script}"')
    with stage.window() as visitor:
        page = visitor.open(f"#/runs/{run}")
        expect(page.locator(".log__text").first).to_be_visible()
        page.evaluate(_FRAMES)
        last = f".log__number[data-n='{PER_SECOND * SECONDS}']"
        expect(page.locator(last)).to_be_visible()
        longest = float(page.evaluate("window.longest"))
    return [Figure(f"longest frame while {PER_SECOND} lines a second are followed", longest, "≤", FRAME_MS, "ms")]


def _begun(stage: Stage, name: str, command: str, **more: object) -> str:
    job = stage.site.call("POST", "cron/jobs", {"name": name, "schedule": "@yearly", "command": command, **more})
    return str(stage.site.call("POST", f"cron/jobs/{job['id']}/run", {})["id"])
