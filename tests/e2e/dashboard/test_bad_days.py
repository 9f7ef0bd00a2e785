"""What people see when something is wrong: with the server, with the connection, with the browser."""

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, Route, expect
from tests.e2e.dashboard.conftest import NARROW, Visitor
from tests.e2e.dashboard.served import PASSWORD, USER, ServedDashboard, serve_dashboard
from tests.e2e.dashboard.test_page_cron import add_job
from tests.e2e.dashboard.test_page_runs import begin
from tests.waiting import until

from tocsin.assembly.program import App

Visit = Callable[..., Visitor]
MANY_NOTICES = 10_000
LINES = 20_000
# Colours, bells, backspaces, carriage returns, an unfinished sequence: what programs print that think of a terminal.
NOISE = rf"""awk 'BEGIN {{ for (i = 1; i <= {LINES}; i++) printf "\033[3%dm%d\a\b\r\t\033[\n", i % 8, i }}'"""
MAX_LOG_NODES = 1_500


def sign_in(page: Page) -> None:
    sheet = page.get_by_role("dialog")
    sheet.get_by_label("Name").fill(USER)
    sheet.get_by_label("Password", exact=True).fill(PASSWORD)
    sheet.get_by_role("button", name="Sign in").click()


def test_a_slow_server_is_waited_for_in_sight(visit: Visit, fresh: ServedDashboard):
    page = visit(served=fresh).open()
    held: list[Route] = []
    page.route("**/api/cron/jobs*", lambda route: held.append(route))  # noqa: PLW0108  # Playwright wants a function
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Cron").click()

    expect(page.locator("main .loading[role=status]")).to_be_visible()
    until(lambda: page.evaluate("1") and held, "the request")  # Playwright tells of it while it is asked something
    held[0].continue_()
    expect(page.get_by_text("No jobs yet.")).to_be_visible()


def test_a_server_that_is_gone_is_told_and_what_was_read_stays(visit: Visit):
    visitor = visit()
    visitor.expected += ("ERR_INTERNET_DISCONNECTED",)
    page = visitor.open("#/cron")
    page.context.set_offline(True)
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Memory").click()

    expect(page.get_by_text("The server does not respond. The data shown may be outdated.")).to_be_visible()
    expect(page.locator("main .failure")).to_contain_text(
        "Check that the service is running and that this machine is online."
    )
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Memory", level=1)).to_be_visible()
    expect(page.get_by_text("The data shown may be outdated.")).to_have_count(0)


def test_while_the_service_is_down_no_page_reports_success_and_the_next_try_is_counted_down(
    visit: Visit, tmp_path: Path
):
    with serve_dashboard(tmp_path) as served:
        visitor = visit(NARROW, served=served)
        visitor.expected += ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE")
        page = visitor.open()
        expect(page.get_by_text("Nothing needs attention.")).to_be_visible()
        expect(page.locator(".live--live")).to_be_visible()
    expect(page.locator(".notices")).to_contain_text(re.compile("Retrying in [0-9]+ s"))
    expect(page.get_by_text("The current state is unknown. Last response of")).to_be_visible()
    expect(page.get_by_text("Nothing needs attention.")).to_have_count(0)
    assert visitor.violations() == []
    assert visitor.overflow() <= 0


def test_a_page_that_is_older_than_the_server_asks_to_be_loaded_again(visit: Visit):
    visitor = visit()
    page = visitor.page

    def newer(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=json.dumps({**answer.json(), "version": "99.0"}))

    page.route("**/api/status", newer)
    visitor.open()
    expect(page.get_by_text("This page is older than the server.")).to_be_visible()
    page.unroute("**/api/status")
    page.get_by_role("button", name="Reload").click()
    expect(page.locator(".card").first).to_be_visible()
    expect(page.get_by_text("This page is older than the server.")).to_have_count(0)


def test_a_page_that_an_update_took_away_says_what_to_do(visit: Visit):
    visitor = visit()
    visitor.expected += ("404",)
    page = visitor.open()
    page.route("**/features/vault/page.js", lambda route: route.fulfill(status=404))
    page.goto(f"{visitor.address}#/vault")
    expect(page.locator("main .failure")).to_contain_text("Reload the dashboard.")


def test_too_many_requests_are_waited_out(visit: Visit, fresh: ServedDashboard):
    visitor = visit(served=fresh)
    visitor.expected += ("429",)
    visitor.page.clock.install()
    page = visitor.open("#/settings")
    expect(page.get_by_text("Data directory")).to_be_visible()  # this page asks for nothing more
    problem = {"title": "Too many requests", "status": 429, "code": "rate-limited"}

    def refuse(route: Route) -> None:
        route.fulfill(status=429, headers={"Retry-After": "60"}, json=problem, content_type="application/problem+json")

    page.route(re.compile("/api/runs[?]"), refuse)
    page.goto(f"{visitor.address}#/runs")
    expect(page.get_by_text(re.compile("Too many requests: retrying"))).to_be_visible()
    page.unroute_all()
    page.clock.fast_forward(60_000)
    expect(page.get_by_text("No runs yet.")).to_be_visible()
    expect(page.get_by_text("Too many requests")).to_have_count(0)


def test_a_server_that_is_not_ready_is_called_so_and_asked_until_it_fails_for_good(visit: Visit):
    visitor = visit()
    visitor.expected += ("503",)
    visitor.page.clock.install()
    page = visitor.open("#/settings")
    expect(page.get_by_text("Data directory")).to_be_visible()
    problem = {"title": "The service is unavailable", "status": 503, "code": "not-ready", "detail": "The disk is full."}
    page.route(re.compile("/api/runs[?]"), lambda route: route.fulfill(status=503, json=problem))
    page.goto(f"{visitor.address}#/runs")
    notice = page.get_by_text("The server is not ready: retrying")
    failed = page.get_by_role("heading", name="The service is unavailable", level=1)
    expect(notice).to_be_visible()

    def ended() -> bool:
        page.clock.fast_forward(5_000)
        return failed.is_visible()

    until(ended, "the page to give up")
    expect(notice).to_have_count(0)


def test_a_session_that_ends_in_the_middle_of_a_form_costs_nothing(visit: Visit):
    visitor = visit()
    visitor.expected += ("401",)
    page = visitor.open("#/cron/new")
    page.get_by_label("Name").fill("kept")
    page.get_by_role("combobox", name="Schedule").fill("30 2 * * 0")
    page.get_by_label("Command").fill("echo kept")
    expect(page.locator(".preview")).to_contain_text("02:30")
    page.context.clear_cookies()
    page.get_by_role("button", name="Create").dispatch_event("click")  # the login may lie over it already

    expect(page.get_by_role("dialog", name="Your session has ended")).to_be_visible()
    sign_in(page)
    expect(page.locator("main h1")).to_have_text("kept")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_dashboard_works_where_storage_is_refused(visit: Visit):
    visitor = visit()
    refuse = "{ get() { throw new DOMException('refused', 'SecurityError'); } }"
    visitor.page.add_init_script(
        f"for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, {refuse})"
    )
    page = visitor.open("#/cron/new")
    page.get_by_label("Name").fill("typed")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Theme and account").click()
    page.get_by_role("radio", name="Dark").check(force=True)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_without_javascript_a_sentence_says_what_to_do(chromium: Browser, dashboard: ServedDashboard):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(dashboard.address)
    expect(page.locator("noscript p")).to_contain_text("The dashboard needs JavaScript.")
    expect(page.get_by_text("Loading")).to_be_hidden()
    context.close()


def test_a_browser_whose_clock_is_wrong_tells_times_by_that_of_the_server(visit: Visit):
    visitor = visit()
    begin(visitor, add_job(visitor, {"name": "timed"}))
    visitor.page.add_init_script("{ const now = Date.now; Date.now = () => now() + 3 * 3600e3; }")
    page = visitor.open("#/runs")
    expect(page.get_by_role("row", name="timed").locator("time").first).to_have_text(
        re.compile("^(now|[0-9]+ (sec|min) ago)$")
    )


def test_ten_thousand_notices_are_shown_a_page_at_a_time(visit: Visit, dashboard: ServedDashboard):
    dashboard.do(_many_notices)
    visitor = visit()
    page = visitor.open("#/notifications")
    expect(page.get_by_role("rowheader", name="Notice 9999")).to_be_visible()
    assert page.evaluate("document.querySelectorAll('main *').length") < MAX_LOG_NODES
    assert visitor.overflow() <= 0


async def _many_notices(app: App) -> None:
    values = "'', 'info', 'system', 'test', '', '', unixepoch(), unixepoch(), 0"
    sql = f"""
        WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < {MANY_NOTICES - 1})
        INSERT OR IGNORE INTO notifications
            (id, title, body, level, category, source, link, dedupe_key, created_at, last_at, due)
        SELECT printf('many-%05d', n), 'Notice ' || n, {values} FROM numbers
    """

    def work(connection: sqlite3.Connection) -> None:
        connection.execute(sql)

    await app.database.write(work)


def test_a_long_log_with_control_characters_is_read_as_text(visit: Visit):
    visitor = visit()
    run = begin(visitor, add_job(visitor, {"name": "noisy", "command": NOISE, "log_max_bytes": 10_000_000}))
    path = f"{visitor.address}api/runs/{run}"
    until(lambda: visitor.page.request.get(path).json()["status"] == "succeeded", "the end of the run")
    page = visitor.open(f"#/runs/{run}")

    expect(page.get_by_text(f"{LINES:,} lines")).to_be_visible()
    page.locator(".log__box").press("End")
    expect(page.locator(f".log__number[data-n='{LINES}']")).to_be_visible()
    assert page.evaluate("document.querySelectorAll('.log *').length") <= MAX_LOG_NODES
    assert re.search(r"[\x00-\x08\x0b-\x1f]", page.locator(".log").inner_text()) is None
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    on_paper = (page.locator(".run__print").text_content() or "").splitlines()
    assert (len(on_paper), on_paper[0]) == (2_001, f"[{LINES - 2_000:,} earlier lines are not printed]")
