"""The first steps on Home: each is done in a form, and the list stands until all are done or it is hidden."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.e2e.dashboard.conftest import LOOKS, NARROW, Visitor
from tests.e2e.dashboard.served import PASSWORD, USER, ServedDashboard, serve_dashboard

from tocsin.assembly.program import App
from tocsin.core.http.transport import HttpResponse
from tocsin.features.context import Notice, NoticeLevel
from tocsin.messaging.outbound.caller import Caller
from tocsin.web.access.links import SignInLinks
from tocsin.web.access.tokens import ApiTokens

Visit = Callable[..., Visitor]
TOKEN = "123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"  # the shape of one
BOT = HttpResponse(200, {}, b'{"ok": true, "result": {"id": 1, "username": "ops_bot"}}')
WRONG = HttpResponse(401, {}, b'{"ok": false, "error_code": 401, "description": "Unauthorized"}')
SENT = HttpResponse(200, {}, b'{"ok": true, "result": {"message_id": 7}}')
SIGN_IN = "Keep the sign-in"
CHANNEL = "Connect a channel"
JOB = "Create the first job"
PHONE = "Notify your phone"


@pytest.fixture
def connected(tmp_path: Path) -> Iterator[ServedDashboard]:
    """Serve an installation with a connected channel."""
    with serve_dashboard(tmp_path, {"BOTCHAT_BOT_TOKEN": TOKEN}) as served:
        yield served


def steps_of(page: Page) -> Locator:
    return page.get_by_role("region", name="First steps")


def expect_done(page: Page, *titles: str) -> None:
    for title in titles:
        expect(steps_of(page).get_by_text(f"{title}: done")).to_be_attached()


def test_a_channel_is_connected_on_home_with_its_optional_settings_folded_away(visit: Visit, fresh: ServedDashboard):
    for theme, size in LOOKS:  # the form is as usable on a phone
        visitor = visit(size, theme, fresh)
        page = visitor.open()
        steps = steps_of(page)
        steps.get_by_role("button", name=CHANNEL).click()
        steps.get_by_label("Channel").select_option("Telegram")
        expect(steps.get_by_label("BOTCHAT_BOT_TOKEN")).to_have_attribute("type", "password")
        expect(steps.get_by_label("BOTCHAT_PARSE_MODE")).to_have_count(0)
        steps.get_by_label("Show optional settings").check()
        expect(steps.get_by_label("BOTCHAT_PARSE_MODE")).to_be_visible()
        assert visitor.violations("main") == []
        assert visitor.overflow() == 0
    visitor.expected = ("422",)
    fresh.transport.script = [WRONG, BOT]
    steps.get_by_label("BOTCHAT_BOT_TOKEN").fill(TOKEN)
    steps.get_by_label("BOTCHAT_PARSE_MODE").fill("HTML")
    steps.get_by_role("button", name="Connect", exact=True).click()
    expect(steps.get_by_role("alert")).to_contain_text("copy it again from @BotFather")
    steps.get_by_role("button", name="Connect", exact=True).click()
    expect(page.get_by_text("connected as ops_bot")).to_be_visible()
    expect_done(page, CHANNEL, "Test a channel")
    written = (fresh.app.settings.data_dir / ".env").read_text().splitlines()
    assert sorted(written) == [f"BOTCHAT_BOT_TOKEN={TOKEN}", "BOTCHAT_PARSE_MODE=HTML"]
    assert TOKEN not in page.content()


def test_the_sign_in_is_kept_once_it_was_entered_in_the_form(visit: Visit, fresh: ServedDashboard):
    visitor = visit(served=fresh, signed_in=False)
    link = fresh.do(lambda app: SignInLinks(app.database, app.clock).make())
    page = visitor.page
    page.goto(fresh.address.rstrip("/") + link)
    steps = steps_of(page)
    expect(steps.get_by_text(SIGN_IN)).to_be_visible()
    expect(steps.get_by_text(f"{SIGN_IN}: done")).to_have_count(0)

    steps.get_by_role("button", name="Enter the password").click()
    expect(steps.get_by_label("User name")).to_have_value(USER)
    assert visitor.violations("main") == []
    visitor.expected = ("401",)
    steps.get_by_label("Password").fill("a guess")
    steps.get_by_role("button", name="Check").click()
    expect(steps.get_by_role("alert")).to_contain_text("user name or password is wrong")
    steps.get_by_label("Password").fill(PASSWORD)
    steps.get_by_role("button", name="Check").click()
    expect_done(page, SIGN_IN)
    page.reload()
    expect_done(page, SIGN_IN)


def test_notices_reach_the_phone_on_which_the_test_message_arrived(visit: Visit, connected: ServedDashboard):
    for theme, size in LOOKS:
        visitor = visit(size, theme, connected)
        page = visitor.open()
        steps = steps_of(page)
        connected.transport.script = [SENT]
        steps.get_by_role("button", name="Send a test message").click()
        expect(steps.get_by_text("numeric chat ID")).to_be_visible()
        steps.get_by_role("textbox", name="To", exact=True).fill("42")
        steps.get_by_role("button", name="Send a test message").click()
        expect(steps.get_by_text("Did it arrive?")).to_be_visible()
        steps.get_by_role("button", name="No", exact=True).click()
        expect(steps.get_by_text("pressed Start")).to_be_visible()
        expect(steps.get_by_role("link", name="Setting up Telegram")).to_be_visible()
        assert visitor.violations("main") == []
        assert visitor.overflow() == 0
    folder = connected.app.settings.data_dir
    assert not (folder / "profiles.yaml").exists(), "nobody confirmed yet"
    steps.get_by_role("button", name="Yes, it arrived").click()
    expect_done(page, PHONE)
    assert (folder / "profiles.yaml").read_text() == 'notices:\n  - channel: botchat\n    target: "42"\n'
    assert (folder / ".env").read_text() == "NOTIFY_PROFILE=notices\n"

    async def fail(app: App) -> None:
        await app.features.abilities.notices.notify(Notice("the backup failed", level=NoticeLevel.ERROR))
        await app.features.opened("notifications").forwarder.step()

    connected.do(fail)
    page.goto(f"{connected.address}#/deliveries")
    expect(page.get_by_role("row").filter(has_text="Queued")).to_contain_text("42")


def test_the_first_job_is_created_in_its_form_and_shows_its_first_run(visit: Visit, fresh: ServedDashboard):
    for theme, size in LOOKS:
        visitor = visit(size, theme, fresh)
        page = visitor.open()
        steps = steps_of(page)
        steps.get_by_role("button", name="New job").click()
        steps.get_by_label("Name").fill("hello")
        steps.get_by_role("combobox", name="Schedule").fill("@daily")
        expect(steps.locator(".preview__list li")).to_have_count(5)
        steps.get_by_label("Command").fill("echo first light")
        expect(steps.get_by_label("Send the output to")).to_be_visible()
        assert visitor.violations("main") == []
        assert visitor.overflow() == 0
    steps.get_by_role("button", name="Create the job and run it").click()
    expect(steps.get_by_text("first light")).to_be_visible()
    expect(steps.get_by_text("succeeded")).to_be_visible()
    expect_done(page, JOB)
    assert visitor.violations("main") == []
    steps.get_by_role("button", name="Close").click()
    expect(steps.get_by_text("first light")).to_have_count(0)


def test_a_hidden_list_is_hidden_in_every_browser_until_settings_shows_it(visit: Visit, fresh: ServedDashboard):
    page = visit(served=fresh).open()
    steps_of(page).get_by_role("button", name="Hide").click()
    expect(steps_of(page)).to_have_count(0)

    other = visit(NARROW, "dark", fresh)
    page = other.open()
    expect(page.get_by_role("heading", name="Last runs")).to_be_visible()
    expect(steps_of(page)).to_have_count(0)
    other.open("#/settings")
    page.get_by_role("button", name="Show the first steps").click()
    expect(steps_of(page)).to_be_visible()


def test_open_steps_stand_after_a_reload_though_others_are_done(visit: Visit, connected: ServedDashboard):
    page = visit(served=connected).open()
    expect(steps_of(page)).to_be_visible()
    job, origin = {"name": "hello", "schedule": "@daily", "command": "true"}, connected.address.rstrip("/")
    made = page.context.request.post(f"{origin}/api/cron/jobs", data=job, headers={"Origin": origin})
    assert made.ok
    expect_done(page, JOB)  # so the next read of the status, which is kept for five seconds, has it
    page.reload()
    expect_done(page, CHANNEL, JOB)
    expect(steps_of(page).get_by_role("button", name="Send a test message")).to_be_visible()


def test_the_list_ends_with_the_last_step_and_stays_away(visit: Visit, connected: ServedDashboard):
    page = visit(served=connected).open()
    expect(steps_of(page)).to_be_visible()
    origin = connected.address.rstrip("/")
    job = {"name": "hello", "schedule": "@daily", "command": "true"}
    connected.transport.script = [BOT]
    for path, body in (
        ("cron/jobs", job),
        ("msg/test/botchat", {}),
        ("notifications/target", {"channel": "botchat", "target": "42"}),
    ):
        assert page.context.request.post(f"{origin}/api/{path}", data=body, headers={"Origin": origin}).ok
    expect_done(page, JOB)  # as above
    page.reload()
    expect(page.get_by_text("All first steps are done")).to_be_visible()
    expect(steps_of(page)).to_have_count(0)
    page.reload()
    expect(page.get_by_role("heading", name="Last runs")).to_be_visible()
    expect(page.get_by_text("All first steps are done")).to_have_count(0)


def test_a_failed_read_shows_the_error_and_a_retry(visit: Visit, fresh: ServedDashboard):
    visitor = visit(served=fresh)
    visitor.expected = ("500",)
    failure = '{"title": "Internal error", "status": 500, "code": "internal-error"}'
    for path in ("**/api/settings/first-steps", "**/api/msg/channels"):
        visitor.page.route(
            path, lambda route: route.fulfill(status=500, content_type="application/problem+json", body=failure)
        )
        page = visitor.open()
        expect(steps_of(page).get_by_text("Internal error")).to_be_visible()
        visitor.page.unroute(path)
        steps_of(page).get_by_role("button", name="Try again").click()
        expect(steps_of(page).get_by_text(re.compile("of 5 done"))).to_be_visible()
        page.goto("about:blank")


def test_a_caller_without_the_scope_sees_what_a_step_requires(visit: Visit, fresh: ServedDashboard):
    _, token = fresh.do(
        lambda app: ApiTokens(app.database, app.clock, app.audit).create("reader", ["read"], Caller("cli"))
    )
    visitor = visit(served=fresh, signed_in=False)
    visitor.page.context.set_extra_http_headers({"Authorization": f"Bearer {token}"})
    page = visitor.open()
    expect(steps_of(page).get_by_text("a token with the scope admin").first).to_be_visible()
    expect(steps_of(page).get_by_role("button", name=CHANNEL)).to_have_count(0)
    expect(steps_of(page).get_by_role("button", name="New job")).to_have_count(0)
    expect(steps_of(page).get_by_role("button", name="Hide")).to_have_count(0)
