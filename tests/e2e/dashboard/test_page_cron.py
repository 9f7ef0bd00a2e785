"""The pages of cron jobs, over the real service."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

from playwright.sync_api import expect
from tests.e2e.dashboard.conftest import Visitor

Visit = Callable[..., Visitor]
WRONG = "/api/cron/jobs?dry_run=true"
PROBLEM = "application/problem+json"
JITTER = {
    "title": "The request is invalid",
    "status": 422,
    "code": "validation-failed",
    "request_id": "01a2",
    "errors": [{"pointer": "#/jitter_seconds", "detail": "must be at most 3600"}],
}


def add_job(visitor: Visitor, job: Mapping[str, Any]) -> str:
    given = {"schedule": "@yearly", "command": "echo said", **job}
    headers = {"X-Requested-With": "dashboard"}
    answer = visitor.page.request.post(f"{visitor.address}api/cron/jobs", data=given, headers=headers)
    assert answer.status == 201, answer.text()
    return str(answer.json()["id"])


def test_a_schedule_is_told_in_words_and_times_while_it_is_typed_and_stored_by_keyboard_alone(visit: Visit):
    visitor = visit()
    visitor.expected = (WRONG,)
    page = visitor.open("#/cron")

    page.keyboard.press("n")
    expect(page.locator("h1")).to_have_text("New job")
    page.get_by_label("Name").focus()
    name = f"by-keyboard-{uuid4().hex[:8]}"
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("61 2 * * 0")
    expect(page.locator(".preview")).to_contain_text("minute 61 is outside 0-59")
    page.get_by_role("combobox", name="Schedule").press("ControlOrMeta+a")
    page.keyboard.type("at start")
    expect(page.locator(".preview")).to_have_text("Once after each start of the machine")
    page.get_by_role("combobox", name="Schedule").press("ControlOrMeta+a")
    page.keyboard.type("30 2 * * 0")
    page.keyboard.press("Tab")
    page.keyboard.type("Europe/Berlin")
    expect(page.locator(".preview")).to_contain_text("At 02:30 on Sunday, Europe/Berlin")
    expect(page.locator(".preview li")).to_have_count(5)
    page.keyboard.press("Escape")  # closes the suggestions of the field
    page.get_by_label("Command").focus()
    page.keyboard.type("echo hello")
    page.get_by_label("Send the output").press("Enter")

    expect(page.locator("h1")).to_have_text(name)
    expect(page.locator(".page-head__note")).to_contain_text("At 02:30 on Sunday, Europe/Berlin")


def test_jobs_due_at_once_stand_out_and_a_job_is_run_switched_off_and_on_changed_and_deleted(visit: Visit):
    visitor = visit()
    unique = uuid4().hex[:8]  # the service keeps the jobs of a try that failed
    name, crowd = f"by-mouse-{unique}", f"crowd-{unique}"
    add_job(visitor, {"name": name})
    for number in range(3):
        add_job(visitor, {"name": f"{crowd}-{number}", "schedule": "7 * * * *"})
    page = visitor.open("#/cron?tab=ahead")
    expect(page.locator(".timeline__names").first).to_contain_text("crowd-")
    page.goto(f"{visitor.address}#/cron")

    page.get_by_label(f"Run {name} now").click()
    expect(page.locator(".run .page-head__note")).to_contain_text("Succeeded")
    page.go_back()
    expect(page.get_by_role("row", name=name)).to_contain_text("Succeeded")
    switch = page.get_by_label(f"{name} runs on schedule")
    switch.click()
    expect(switch).not_to_be_checked()
    page.get_by_role("button", name="Undo").click()
    expect(switch).to_be_checked()

    page.get_by_role("link", name=name, exact=True).click()
    page.get_by_role("tab", name="Log").click()
    expect(page.locator(".log__text", has_text="said")).to_be_visible()
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Description").fill("Says something")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".page-head__note")).to_contain_text("Says something")
    visitor.expected += ("404",)  # the page may read what changed, its job, before it closes
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()

    expect(page.locator("h1")).to_have_text("Cron")
    expect(page.get_by_role("link", name=name, exact=True)).to_have_count(0)


def test_a_job_with_parameters_asks_for_them_and_tells_what_would_run(visit: Visit):
    visitor = visit()
    job = add_job(visitor, {"name": "with-params", "params": {"place": "alpha"}})
    page = visitor.open(f"#/cron/{job}")

    page.get_by_role("button", name="Run", exact=True).first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Value 1").fill("beta")
    dialog.get_by_label("Only show").check()
    dialog.get_by_role("button", name="Run", exact=True).click()
    expect(dialog.get_by_role("status")).to_contain_text('{"place":"beta"}')
    dialog.get_by_label("Only show").uncheck()
    dialog.get_by_role("button", name="Run", exact=True).click()

    expect(page.locator(".run .facts")).to_contain_text("place=beta")


def test_what_is_wrong_with_a_new_job_stands_once_at_its_field_or_above_the_form(visit: Visit):
    visitor = visit()
    visitor.expected = ("/api/cron/jobs",)
    add_job(visitor, {"name": "taken"})
    page = visitor.open("#/cron/new")
    page.get_by_label("Name").fill("-dash")
    page.get_by_role("combobox", name="Schedule").fill("61 2 * * 0")
    expect(page.get_by_text("minute 61 is outside 0-59")).to_have_count(1)
    page.get_by_label("Command").fill("true")
    page.get_by_role("button", name="Create the job").click()

    expect(page.get_by_text("not a valid name")).to_have_count(1)
    expect(page.get_by_label("Name")).to_be_focused()
    expect(page.get_by_text("minute 61 is outside 0-59")).to_have_count(1)
    expect(page.locator("form .failure")).to_have_count(0)

    # A field that is not shown cannot say it.
    page.get_by_label("Name").fill("right")
    page.get_by_role("combobox", name="Schedule").fill("30 2 * * 0")
    page.get_by_label("Show all settings").check()
    page.get_by_label("Spread over").fill("9999999")
    page.get_by_label("Show all settings").uncheck()
    page.route("**/api/cron/jobs", lambda route: route.fulfill(status=422, json=JITTER, content_type=PROBLEM))
    page.get_by_role("button", name="Create the job").click()
    expect(page.locator("form .failure")).to_contain_text("jitter_seconds must be at most 3600")
    expect(page.locator("form .failure")).not_to_contain_text("01a2")
    page.unroute_all()


def test_the_next_runs_are_shown_while_another_field_is_wrong(visit: Visit):
    visitor = visit()
    visitor.expected = ("/api/cron/jobs",)
    page = visitor.open("#/cron/new")
    page.get_by_label("Name").fill("-dash")
    page.get_by_role("combobox", name="Schedule").fill("30 2 * * 0")
    expect(page.locator(".preview li")).to_have_count(5)
    page.get_by_role("combobox", name="Schedule").fill("61 2 * * 0")
    page.get_by_label("Command").fill("true")
    page.get_by_role("button", name="Create the job").click()
    expect(page.locator(".preview")).to_have_text("The next runs are shown once the schedule is valid.")


def test_the_open_page_of_a_job_shows_its_new_figures_after_a_run(visit: Visit):
    visitor = visit()
    job = add_job(visitor, {"name": "counted", "command": "exit 3"})
    page = visitor.open(f"#/cron/{job}")
    fact = page.locator(".facts dt", has_text="Failures in a row").locator("xpath=following-sibling::dd")
    expect(fact).to_have_text("0")
    expect(page.locator(".live--live")).to_be_visible()
    visitor.page.request.post(
        f"{visitor.address}api/cron/jobs/{job}/run", data={}, headers={"X-Requested-With": "dashboard"}
    )
    expect(fact).to_have_text("1")


def test_every_time_says_whose_it_is_and_a_clock_change_is_told_before_it_comes(visit: Visit):
    visitor = visit(zone="America/New_York")
    jobs = {
        month: add_job(visitor, {"name": month, "schedule": f"30 2 * {number} 0L", "timezone": "Europe/Berlin"})
        for month, number in (("march", 3), ("october", 10))
    }
    page = visitor.open(f"#/cron/{jobs['october']}?tab=preview")
    expect(page.get_by_role("row").nth(1)).to_contain_text("02:30 occurs twice, runs once")
    page = visitor.open(f"#/cron/{jobs['march']}?tab=preview")
    first = page.get_by_role("row").nth(1)
    expect(first).to_contain_text("runs at 03:00")
    expect(first).to_contain_text("03:00:00 CEST")
    expect(first).to_contain_text("21:00:00 GMT-4")  # of the day before, where the reader is

    page.get_by_role("button", name="Pause").click()
    until = page.get_by_label("Until")
    expect(page.get_by_text("In your time zone, America/New_York.")).to_be_visible()
    until.fill("2099-03-08T02:30")  # which does not come there
    expect(until).to_have_value("2099-03-08T03:30")
    page.get_by_role("dialog").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused until Sun, 8 Mar 2099, 08:30:00 CET")).to_be_visible()

    page = visitor.open()
    expect(page.locator(".strip__zone")).to_have_text("America/New_York")
