"""The modules that are not seen, called where they run: in a browser."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Route
from tests.e2e.dashboard.conftest import Visitor

Visit = Callable[..., Visitor]
Call = Callable[[str], Any]
STREAM = 'retry: 500\n\nid: 4\nevent: run.updated\ndata: {"a":\ndata: 1}\n\n: ping\n\nid: 5\r\ndata: plain text\r\n\r\n'


@pytest.fixture
def page(visit: Visit) -> Page:
    visitor = visit()
    visitor.expected += ("/api/busy",)
    return visitor.open()


@pytest.fixture
def call(page: Page) -> Iterator[Call]:
    """Evaluate an expression in which `lib` has all that the frame exports."""
    base = page.evaluate("document.querySelector('script[type=module]').src.replace('shell/main.js', '')")

    def evaluate(expression: str) -> Any:
        return page.evaluate(
            f"""async () => {{
                const lib = await import("{base}shell/main.js");
                return await ({expression});
            }}"""
        )

    return evaluate


def test_amounts_are_written_for_people(call: Call):
    durations = [0, 41, 1234, 59_000, 185_000, 300_000, 7_800_000, 90_000_000, 86_400_000]
    assert call(f"{durations}.map(lib.duration)") == [
        "0 ms",
        "41 ms",
        "1.2 s",
        "59 s",
        "3 m 05 s",
        "5 m",
        "2 h 10 m",
        "1 d 01 h",
        "1 d",
    ]
    assert call("[0, 512, 1434, 1048576, null].map(lib.bytes)") == ["0 B", "512 B", "1.4 KiB", "1.0 MiB", "–"]
    assert call("[lib.counted(1, 'job'), lib.counted(1200, 'job')]") == ["1 job", "1,200 jobs"]


def test_times_name_their_zone_and_say_how_far_they_are(call: Call):
    at = "'2026-11-20T08:00:05Z'"
    assert call(f"lib.absolute({at}, 'Europe/Berlin')") == "Fri, 20 Nov 2026, 09:00:05 CET"
    assert call(f"lib.absolute({at}, 'Not/AZone')").endswith("UTC")
    assert call("lib.absolute('no time')") == ""
    start = 1_000_000_000_000
    # 40 hours ahead need not be tomorrow, nor 17 months in the next year.
    distances = [-3000, 90_000, -7_300_000, -3 * 86_400_000, 144_000_000, 500 * 86_400_000]
    assert call(f"{distances}.map((d) => lib.relative({start} + d, {start}))") == [
        "now",
        "in 1 min",
        "2 hr ago",
        "3 days ago",
        "in 1 day",
        "in 16 mo",
    ]


def test_a_wrong_clock_of_the_browser_does_not_show(call: Call):
    shown = call(
        "(lib.setServerTime(new Date(Date.now() + 3600000).toUTCString()), lib.relative(Date.now() + 3600000))"
    )
    assert shown == "now"
    call("lib.setServerTime(new Date().toUTCString())")


def test_addresses_hold_any_name(call: Call):
    names = ["a/b", "ü ?&#%", "<b>"]
    for name in names:
        found = call(f"lib.match('/cron/:id', lib.placeOf(lib.link('cron', {json.dumps(name)})).path)")
        assert found == {"id": name}
    assert call("lib.match('/cron/:id', '/cron/100%')") == {"id": "100%"}
    assert call("lib.match('/cron/:id', '/cron')") is None
    assert call("lib.placeOf('#/runs?status=failed&q=a%20b').query") == {"status": "failed", "q": "a b"}


def test_an_address_without_a_page_is_home(call: Call):
    for address in ("", "#", "#/", "#//"):
        assert call(f"lib.placeOf('{address}').path") == "/home"
    assert call("lib.placeOf('#/cron/').path") == "/cron"


def test_a_list_that_is_left_open_is_read_again_before_it_holds_too_much(call: Call):
    heard = """(() => {
        let list = { items: [{ id: "old" }] }, before = list;
        let count = 0;
        for (; list && count < 1000; count += 1) [before, list] = [list, lib.withHeard(list, { id: count }, "id")];
        const again = lib.withHeard(before, { id: "old", state: "sent" }, "id");
        return [count, list === undefined, before.items.length, again.items.length, again.items.at(-1).state];
    })()"""
    assert call(heard) == [201, True, 201, 201, "sent"]


def test_a_stream_may_be_cut_anywhere(call: Call):
    seen = call(
        f"""(() => {{
            const text = {json.dumps(STREAM)};
            const all = new Set();
            for (let cut = 0; cut <= text.length; cut += 1) {{
                const events = [];
                const keep = (event) => events.push(event);
                const parse = lib.eventParser({{ onEvent: keep, onRetry: keep }});
                parse(text.slice(0, cut));
                parse(text.slice(cut));
                all.add(JSON.stringify(events));
            }}
            return [...all].map((one) => JSON.parse(one));
        }})()"""
    )
    first = {"type": "run.updated", "id": "4", "data": {"a": 1}}
    assert seen == [[500, first, {"type": "message", "id": "5", "data": "plain text"}]]


def test_a_log_line_shows_its_colours_and_no_control(call: Call):
    assert call(r"lib.plainText('\x1b]0;title\x07a\x1b[2Kb\x00c\rd')") == "ab␀c␍d"
    pieces = call(r"lib.ansiPieces('\x1b[1;31mred\x1b[0m plain \x1b[38;5;2mgreen\x1b[38;2;1;2;3mrest')")
    assert pieces == [
        {"text": "red", "name": "ansi-1 ansi-bold"},
        {"text": " plain ", "name": ""},
        {"text": "green", "name": "ansi-2"},
        {"text": "rest", "name": "ansi-2"},
    ]


def test_a_problem_names_the_fields(call: Call):
    fields = call(
        """new lib.ApiProblem({ code: "x", errors: [
            { pointer: "#/comand", detail: "Unknown field.", suggestion: "command" },
            { pointer: "#/retry/delay_seconds", detail: "Too small." }, { detail: "Somewhere." },
        ] }).fields"""
    )
    assert fields == {"comand": "Unknown field. Did you mean command?", "retry/delay_seconds": "Too small."}


def test_reading_waits_out_a_busy_server_and_changing_does_not_try_again(page: Page, call: Call):
    asked: list[str] = []

    def busy(route: Route) -> None:
        asked.append(route.request.method)
        if len(asked) == 1 or route.request.method == "POST":
            route.fulfill(status=503, headers={"Retry-After": "1"}, json={"code": "not-ready", "detail": "Later."})
        else:
            route.fulfill(json={"fine": True})

    page.route("**/api/busy", busy)
    assert call("lib.api.get('/api/busy')") == {"fine": True}
    assert asked == ["GET", "GET"]
    told = call(
        "lib.api.post('/api/busy').catch((error) => [error.status, error.code, error.detail, error.retryAfter])"
    )
    assert told == [503, "not-ready", "Later.", 1]
    assert asked == ["GET", "GET", "POST"]
