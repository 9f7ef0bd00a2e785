"""The parts of pages in a real browser, with mouse and keyboard, with much in them and for everybody."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect
from tests.e2e.dashboard.conftest import NARROW, Visitor
from tests.e2e.dashboard.parts import FEATURE
from tests.e2e.dashboard.served import ServedDashboard, serve_dashboard
from tests.waiting import until

Visit = Callable[..., Visitor]
MAX_LOG_NODES = 1500
AT_END = """(() => {
    const box = document.querySelector(".log__box");
    return box.scrollHeight - box.scrollTop - box.clientHeight < 30;
})()"""
# Where the log stands once the wheel has had all its effect, which may come in steps.
AT_REST = """(async () => {
    const box = document.querySelector(".log__box");
    let top;
    do {
        top = box.scrollTop;
        await new Promise((next) => { setTimeout(next, 100); });
    } while (box.scrollTop !== top);
    return top;
})()"""


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    with serve_dashboard(tmp_path_factory.mktemp("parts"), page=FEATURE) as served:
        yield served


def test_every_part_is_for_everybody(visit: Visit):
    visitor = visit()
    found = {}
    for tab in ("table", "form", "log", "code", "states"):
        visitor.open(f"#/parts?tab={tab}")
        found[tab] = visitor.in_every_look()
    assert not any(found.values()), found


def test_a_table_is_filtered_and_sorted_and_shows_a_thousand_rows(visit: Visit):
    page = visit().open("#/parts?rows=1000")
    page.keyboard.press("/")
    page.keyboard.type("disk-check-1")
    expect(page.locator("tbody tr")).to_have_count(23)  # 1, 11, 16, 1x1, 1x6, …
    page.keyboard.press("Escape")
    expect(page.locator("[data-filter]")).to_have_value("")
    page.keyboard.press("Escape")
    expect(page.locator("[data-filter]")).not_to_be_focused()
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("columnheader", name="Next")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("tbody tr").first).to_contain_text("certs-999")


def test_a_row_leads_to_its_record_and_hears_its_keys(visit: Visit):
    visitor = visit()
    visitor.expected += ("/pages/", "/api/")  # where it leads is another page
    page = visitor.open("#/parts")
    page.get_by_role("link", name="disk-check-1", exact=True).focus()
    page.keyboard.press("j")
    page.keyboard.press("r")
    expect(page.get_by_text("Run مرحبا-2")).to_be_visible()
    page.locator("tbody tr").first.locator("td").first.click()
    expect(page).to_have_url(re.compile("#/cron/job-0$"))


def test_what_cannot_be_undone_wants_the_name_and_shows_what_fails(visit: Visit):
    visitor = visit()
    page = visitor.open("#/parts")
    page.get_by_role("button", name="Delete nightly-backup-0").click()
    dialog = page.get_by_role("dialog", name="Delete nightly-backup-0?")
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    expect(dialog.get_by_role("button", name="Delete", exact=True)).to_be_disabled()
    dialog.get_by_role("textbox").fill("nightly-backup-0")
    dialog.get_by_role("button", name="Delete", exact=True).click()
    expect(dialog.get_by_role("alert")).to_contain_text("Cancel it first.")
    assert visitor.violations() == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Delete nightly-backup-0")).to_be_focused()


def test_a_row_that_goes_away_leaves_the_focus_to_the_next_one(visit: Visit):
    page = visit().open("#/parts?tab=gone")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(3)
    for left in (2, 1):
        rows.first.get_by_role("button", name="Remove").press("Enter")
        expect(rows).to_have_count(left)
        expect(rows.first.get_by_role("button", name="Remove")).to_be_focused()
    rows.first.get_by_role("button", name="Remove").press("Enter")
    expect(page.get_by_role("main")).to_be_focused()


def test_a_window_with_fields_begins_at_the_first_of_them(visit: Visit):
    page = visit().open("#/parts?tab=gone")
    page.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("dialog").get_by_label("New name")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Rename")).to_be_focused()


def test_what_was_done_can_be_taken_back(visit: Visit):
    visitor = visit()
    page = visitor.open("#/parts")
    page.get_by_role("button", name="Run nightly-backup-0").click()
    page.get_by_text("Started nightly-backup-0").hover()  # it stays while somebody is about to use it
    assert visitor.violations() == []
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone")).to_be_visible()


def test_problems_stand_at_their_fields_and_what_was_typed_is_kept(visit: Visit):
    page = visit().open("#/parts?tab=form")
    page.get_by_role("button", name="Save").click()
    name = page.get_by_role("textbox", name="Name", exact=True)
    expect(name).to_be_focused()
    name.fill("disk")
    page.get_by_label("Schedule").fill("61 * * * *")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Schedule")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#field-schedule-problem")).to_have_text("minute 61 is outside 0-59")
    expect(page.locator("#field-tags-problem")).to_have_text("too long")

    page.reload()
    expect(page.get_by_label("Schedule")).to_have_value("61 * * * *")
    page.get_by_label("Schedule").fill("@daily")
    page.get_by_label("Tags").fill("ops, disk")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#sent")).to_contain_text('"tags":["ops","disk"]')
    expect(page.locator("#sent")).to_contain_text('"retry":{"delay_seconds":5}')
    changed = page.locator("#sent").inner_text().split("},{")[-1]
    assert "timeout_seconds" not in changed
    page.reload()
    expect(name).to_have_value("")


def test_a_log_of_a_hundred_thousand_lines_takes_few_elements_and_follows_its_end(visit: Visit):
    page = visit().open("#/parts?tab=log&lines=100000")
    expect(page.get_by_text("100,000 lines")).to_be_visible()
    expect(page.locator(".log__number[data-n='100000']")).to_be_visible()
    assert page.evaluate("document.querySelectorAll('.log *').length") <= MAX_LOG_NODES
    page.evaluate("addLines(500)")
    expect(page.locator(".log__number[data-n='100500']")).to_be_visible()
    until(lambda: page.evaluate(AT_END), "the end of the log")


def test_following_stops_for_a_reader_until_it_is_asked_for_again(visit: Visit):
    page = visit().open("#/parts?tab=log")
    expect(page.locator(".log__number[data-n='3000']")).to_be_visible()
    page.locator(".log__box").hover()
    page.mouse.wheel(0, -2000)
    latest = page.get_by_role("button", name="Jump to latest")
    expect(latest).to_be_visible()
    top = page.evaluate(AT_REST)
    page.evaluate("addLines(100)")
    expect(page.get_by_text("3,100 lines")).to_be_visible()
    assert page.evaluate("document.querySelector('.log__box').scrollTop") == top
    latest.click()
    expect(page.locator(".log__number[data-n='3100']")).to_be_visible()


def test_a_line_has_an_address_and_words_are_found(visit: Visit):
    page = visit().open("#/parts?tab=log&line=1234")
    expect(page.locator(".log__line--marked .log__number")).to_have_attribute("data-n", "1234")
    page.get_by_label("Search in the log").fill("file-77.bin")
    expect(page.get_by_text("1 of 1")).to_be_visible()
    expect(page.locator("mark").first).to_have_text("file-77.bin")
    expect(page.locator(".log__text .ansi-2").first).to_have_text("ok")


def test_a_history_bar_says_in_words_what_it_shows(visit: Visit):
    visitor = visit()
    visitor.expected += ("/pages/", "/api/")
    page = visitor.open("#/parts")
    bar = page.get_by_role("img", name=re.compile(r"^nightly-backup-0: \d+ of \d+ ok, last failed"))
    bar.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".history__tip")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/runs/run-"))


def test_cards_on_a_small_screen_hold_what_the_table_holds(visit: Visit):
    page = visit(NARROW).open("#/parts")
    card = page.locator("tbody tr").first
    expect(card.get_by_role("button", name="Run nightly-backup-0")).to_be_visible()
    expect(card).to_contain_text("Scheduled")


def test_the_line_of_a_mistake_is_a_click_away(visit: Visit):
    page = visit().open("#/parts?tab=code")
    page.get_by_role("button", name=re.compile("Unknown key")).click()
    chosen = page.evaluate(
        "(() => { const field = document.querySelector('textarea');"
        " return field.value.slice(field.selectionStart, field.selectionEnd); })()"
    )
    assert chosen == "    comand: x"
