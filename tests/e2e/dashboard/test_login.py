"""People sign in once, come back to where they were, and lose nothing when a session ends."""

from collections.abc import Callable

from playwright.sync_api import Page, expect
from tests.e2e.dashboard.conftest import Visitor
from tests.e2e.dashboard.served import PASSWORD, USER, serve_dashboard

Visit = Callable[..., Visitor]
REFUSED = ("401", "503")  # the browser notes in its console what the server refuses


def sign_in(page: Page, password: str = PASSWORD) -> None:
    page.get_by_label("Name").fill(USER)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in").click()


def test_the_login_is_for_everybody(visit: Visit):
    visitor = visit(signed_in=False)
    visitor.page.goto(visitor.address)
    expect(visitor.page.get_by_label("Name")).to_be_focused()
    assert visitor.in_every_look() == []


def test_a_deep_link_survives_the_login(visit: Visit):
    visitor = visit(signed_in=False)
    visitor.expected += REFUSED
    page = visitor.page
    page.goto(f"{visitor.address}#/home?from=mail")

    sign_in(page, "wrong")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Password", exact=True)).to_be_focused()
    sign_in(page)

    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    assert page.url.endswith("#/home?from=mail")


def test_the_login_leads_on_a_person_who_is_signed_in(visit: Visit):
    visitor = visit()
    page = visitor.page
    page.goto(f"{visitor.address}#/login?next=%23/runs")
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()

    page.goto(f"{visitor.address}#/login")
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_when_a_session_ends_the_login_lies_over_the_page_and_the_request_is_repeated(visit: Visit):
    visitor = visit()
    visitor.expected += REFUSED
    page = visitor.open()
    expect(page.locator(".strip svg")).to_be_visible()  # nothing else is asked for then
    page.context.clear_cookies()

    # As an event, for the login may lie over the button by then: the page asks for things of its own, too.
    page.get_by_role("button", name="Notifications").dispatch_event("click")
    sheet = page.get_by_role("dialog", name="Your session has ended")
    expect(sheet).to_be_visible()
    expect(page.get_by_role("heading", name="Home", level=1, include_hidden=True)).to_be_visible()
    assert visitor.violations() == []
    sign_in(page)

    expect(page.get_by_text("Nothing new.")).to_be_visible()


def test_signing_out_shows_the_login(visit: Visit):
    visitor = visit(signs_out=True)
    visitor.expected += REFUSED
    page = visitor.open()
    page.get_by_role("button", name="Theme and account").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Name")).to_be_visible()


def test_an_installation_without_a_password_says_what_to_set(visit: Visit, tmp_path):
    with serve_dashboard(tmp_path, {"DASHBOARD_USER": "", "DASHBOARD_PASS_HASH": ""}) as served:
        visitor = visit(served=served, signed_in=False)
        visitor.expected += REFUSED
        visitor.page.goto(served.address)
        expect(visitor.page.get_by_role("alert")).to_contain_text("DASHBOARD_PASS")
