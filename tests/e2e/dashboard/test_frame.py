"""The frame of the dashboard in a real browser: first load, menu, keyboard, live updates, accessibility."""

import gzip
import re
from collections.abc import Callable

from playwright.sync_api import Response, Route, expect
from tests.e2e.dashboard.conftest import NARROW, Visitor

MAX_FIRST_LOAD_BYTES = 60 * 1024
MAX_REQUESTS = 16  # the first steps included, which a new installation loads as well
SUBSYSTEMS = 10

Visit = Callable[..., Visitor]


def test_the_first_load_is_small(visit: Visit):
    visitor = visit()
    answers: list[Response] = []

    def keep(answer: Response) -> None:
        answers.append(answer)  # Playwright does not take a method of a list

    visitor.page.on("response", keep)

    visitor.open()
    expect(visitor.page.locator(".strip svg")).to_be_visible()

    code = [answer for answer in answers if re.search(r"\.(js|css)$", answer.url)]
    size = sum(len(gzip.compress(answer.body(), 9)) for answer in code)
    assert size <= MAX_FIRST_LOAD_BYTES, f"{size} bytes"
    assert len(answers) <= MAX_REQUESTS, [answer.url for answer in answers]


def test_home_shows_every_subsystem_to_everybody(visit: Visit):
    visitor = visit()
    page = visitor.open()

    expect(page.locator(".card")).to_have_count(SUBSYSTEMS)
    expect(page.locator(".strip svg")).to_be_visible()
    assert visitor.in_every_look() == []


def test_nothing_is_wider_than_the_smallest_screen(visit: Visit):
    visitor = visit((320, 600))
    visitor.open()
    assert visitor.overflow() <= 0


def test_a_page_is_reached_by_keyboard_alone_and_tells_so(visit: Visit):
    page = visit().open()

    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("g")
    page.keyboard.press("h")
    assert page.url.endswith("#/home")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_who_cannot_see_the_page_hears_which_one_is_there(visit: Visit):
    page = visit().open()
    said = page.locator(".frame > [role=status]")
    expect(said).to_have_text("")  # the browser itself says where one begins

    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(said).to_have_text("Cron")
    expect(page.locator("main")).to_be_focused()


def test_shortcuts_of_one_letter_can_be_switched_off(visit: Visit):
    page = visit().open()

    page.keyboard.press("?")
    page.get_by_label("Single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Go to or run")).to_be_focused()


def test_the_palette_finds_a_page_by_a_part_of_its_name(visit: Visit):
    visitor = visit()
    page = visitor.open()

    page.keyboard.press("Control+k")
    assert visitor.violations() == []
    page.keyboard.type("hom")
    expect(page.get_by_role("option", name="Home")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text("1 found.")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.url.endswith("#/home")


def test_the_palette_changes_the_theme_and_ends_the_session(visit: Visit):
    page = visit(signs_out=True).open()
    page.keyboard.press("Control+k")
    page.keyboard.type("theme")
    expect(page.get_by_role("option", name="Theme: ")).to_have_count(3)
    page.get_by_role("option", name="Theme: Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")

    page.keyboard.press("Control+k")
    page.keyboard.type("sign out")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Sign in to Tocsin")).to_be_visible()


def test_what_is_typed_before_the_search_is_loaded_stands_in_it(visit: Visit):
    page = visit().open("#/cron")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/shell/palette.js", hold)

    with page.expect_request("**/shell/palette.js"):
        page.keyboard.press("Control+k")
    page.keyboard.type("nothx")
    page.keyboard.press("Backspace")
    expect(page.get_by_role("heading", level=1)).to_have_text("Cron")  # "n" makes a job where it is not typed
    held[0].continue_()

    expect(page.get_by_role("combobox", name="Go to or run")).to_have_value("noth")
    page.keyboard.type("ing")
    expect(page.get_by_role("combobox", name="Go to or run")).to_have_value("nothing")


def test_the_theme_is_chosen_kept_and_there_before_anything_is_seen(visit: Visit):
    visitor = visit()
    page = visitor.open()
    page.get_by_role("button", name="Theme and account").click()
    page.get_by_role("radio", name="Dark").check(force=True)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")

    page.reload(wait_until="commit")
    page.wait_for_selector("body", state="attached")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_an_address_that_means_nothing_says_so_and_leads_home(visit: Visit):
    visitor = visit()
    visitor.page.goto(f"{visitor.address}#/no/such/page")
    expect(visitor.page.get_by_role("heading", name="Page not found", level=1)).to_be_visible()
    expect(visitor.page).to_have_title("Page not found · Tocsin")
    visitor.page.get_by_role("link", name="Go to Home").click()
    expect(visitor.page.get_by_role("heading", name="Home", level=1)).to_be_visible()


def test_a_page_whose_record_does_not_exist_is_not_titled_after_it(visit: Visit):
    visitor = visit()
    visitor.expected += ("404",)
    visitor.page.goto(f"{visitor.address}#/workflows/new")
    expect(visitor.page.get_by_role("heading", name="Not found", level=1)).to_be_visible()
    expect(visitor.page).to_have_title("Not found · Tocsin")


def test_a_notice_shows_at_the_bell_the_moment_it_is_there(visit: Visit):
    visitor = visit()
    page = visitor.open()
    expect(page.locator(".live--live")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Notifications"))).to_be_visible()

    page.request.post(
        f"{visitor.address}api/notifications", data={"title": "Backup <b>failed</b>", "body": "exit code 2"}
    )

    bell = page.get_by_role("button", name=re.compile("Notifications, [0-9]+ unread"))
    bell.click()
    expect(page.locator(".bell__title").first).to_have_text("Backup <b>failed</b>")
    assert visitor.violations() == []
    page.get_by_role("button", name="Mark all as read").click()
    expect(page.get_by_text("Nothing new.")).to_be_visible()
    expect(page.get_by_role("button", name="Notifications", exact=True)).to_be_visible()


def test_on_a_small_screen_four_pages_and_all_others_are_below(visit: Visit):
    visitor = visit(NARROW)
    page = visitor.open()

    page.get_by_role("button", name="More").click()
    expect(page.locator(".sidebar").get_by_role("link", name="Vault")).to_be_visible()
    assert visitor.violations() == []
    page.locator(".sidebar").get_by_role("link", name="Vault").click()
    expect(page.locator(".sidebar").get_by_role("link", name="Vault")).to_be_hidden()
    here = page.locator(".bottom-bar [aria-current]")
    expect(here).to_have_text("More")
    page.locator(".bottom-bar").get_by_role("link", name="Home").click()
    expect(here).to_have_text("Home")


def test_the_menu_is_folded_and_stays_so(visit: Visit):
    page = visit().open()
    page.get_by_role("button", name="Collapse the sidebar").click()
    page.reload()
    expect(page.get_by_role("button", name="Expand the sidebar")).to_be_visible()
    expect(page.locator(".sidebar").get_by_role("link", name="Vault")).to_be_visible()
