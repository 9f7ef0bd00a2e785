"""The pages of workflows, over the real service."""

from collections.abc import Callable

from playwright.sync_api import expect
from tests.e2e.dashboard.conftest import Visitor
from tests.e2e.dashboard.served import ServedDashboard

Visit = Callable[..., Visitor]
STEPS = """\
name: {name}
description: {about}
params:
  level: {{type: integer, default: 3, minimum: 1, maximum: 9}}
steps:
  - name: first
    command: echo level ${{params.level}}
  - name: ask
    depends_on: [first]
    type: wait
    approval: true
    message: Go on?
  - name: aside
    depends_on: [first]
    command: echo aside
  - name: last
    depends_on: [ask]
    command: echo over
"""


def write(visitor: Visitor, name: str, about: str = "Asks") -> None:
    headers = {"X-Requested-With": "dashboard"}
    given = {"yaml": STEPS.format(name=name, about=about)}
    answer = visitor.page.request.put(f"{visitor.address}api/workflows/{name}", data=given, headers=headers)
    assert answer.ok, answer.text()


def test_a_run_is_planned_watched_in_the_graph_approved_and_repeated_from_a_step(visit: Visit):
    visitor = visit()
    write(visitor, "watched")
    page = visitor.open("#/workflows/watched")

    expect(page.locator(".graph__box")).to_have_count(4)
    page.keyboard.press("d")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("level").fill("7")
    dialog.get_by_label("level").press("Enter")
    expect(dialog.locator('tr[data-key="first"]')).to_contain_text("echo level 7")
    expect(dialog.locator('tr[data-key="last"]')).to_contain_text("ask")
    page.keyboard.press("Escape")

    page.get_by_role("button", name="Run …", exact=True).click()
    page.get_by_label("level").fill("5")
    page.get_by_role("button", name="Run watched").click()
    expect(page.locator(".graph__box--warn")).to_contain_text("ask")
    expect(page.locator(".graph__box--ok", has_text="first")).to_be_visible()
    page.get_by_role("button", name="Approve").click()
    dialog = page.get_by_role("dialog", name="Approve watched?")
    expect(dialog).to_contain_text("Go on?")
    dialog.get_by_role("button", name="Approve").click()
    expect(page.locator(".page-head__note")).to_contain_text("Succeeded")
    expect(page.locator(".log__text", has_text="level 5")).to_be_visible()

    page.locator('tr[data-key="last"]').get_by_role("button", name="Run again from here").click()
    page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    expect(page.locator(".facts")).to_contain_text("Retry of")
    expect(page.locator(".page-head__note")).to_contain_text("Succeeded")


def test_a_plan_is_read_on_a_phone_without_moving_it_sideways(visit: Visit):
    visitor = visit((390, 844))
    write(visitor, "planned", "Asks")
    page = visitor.open("#/workflows/planned")
    page.get_by_role("button", name="Dry run …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("level").press("Enter")
    expect(dialog.locator('tr[data-key="last"]')).to_be_visible()
    assert dialog.locator(".dialog__body").evaluate("body => body.scrollWidth - body.clientWidth") == 0


def test_a_notice_of_an_approval_is_decided_where_it_is_shown_and_then_closed(visit: Visit, fresh: ServedDashboard):
    visitor = visit(served=fresh)
    write(visitor, "noticed")
    headers = {"X-Requested-With": "dashboard"}
    page = visitor.open("#/notifications")
    row = page.get_by_role("row", name="noticed waits for approval")
    for number, (answer, ended) in enumerate((("Approve", "approved"), ("Reject", "rejected"))):
        page.request.post(f"{visitor.address}api/workflows/noticed/run", data={}, headers=headers)
        expect(row).to_contain_text("Go on?")
        expect(row).not_to_contain_text("tocsin runs")
        if number:  # in the list of the bell, too
            page.get_by_role("button", name="Notifications, 1 unread").click()
            page.locator(".bell").get_by_role("button", name=answer).click()
        else:
            row.get_by_role("button", name=answer).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("Go on?")
        dialog.get_by_role("button", name=answer).click()

        closed = page.get_by_role("row", name=f"noticed was {ended} by operator")
        expect(closed.get_by_role("button", name="Mark as unread")).to_be_visible()
        expect(row).to_have_count(0)
        expect(page.get_by_role("button", name="Notifications", exact=True)).to_be_visible()


def test_a_workflow_is_made_its_mistakes_stand_at_their_lines_and_a_text_replaces_no_newer_one(visit: Visit):
    visitor = visit()
    visitor.expected = ("412",)  # of the text that would replace a newer one
    page = visitor.open("#/workflows")
    page.get_by_role("button", name="New workflow").first.click()
    page.get_by_label("Name").fill("edited")
    page.get_by_role("button", name="Create").click()
    editor = page.get_by_label("Text of the workflow")
    expect(editor).to_be_visible()
    write(visitor, "edited")
    page.reload()
    expect(editor).to_have_value(STEPS.format(name="edited", about="Asks"))

    right = editor.input_value()
    editor.fill(right.replace("depends_on: [ask]", "depend_on: [ask]"))
    expect(page.locator(".editor__note")).to_contain_text("Line 17")
    expect(page.locator(".editor__note")).to_contain_text("depends_on")
    editor.fill(right.replace("Asks", "Asks somebody"))
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".page-head__note")).to_contain_text("Asks somebody")

    editor.fill(right.replace("Asks", "Asks nobody"))
    write(visitor, "edited", "Written meanwhile")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Load the file again").click()
    expect(editor).to_have_value(STEPS.format(name="edited", about="Written meanwhile"))


def test_a_workflow_names_the_job_that_starts_it_and_its_runs_say_who_started_them(visit: Visit):
    visitor = visit()
    write(visitor, "started")
    headers = {"X-Requested-With": "dashboard"}
    job = {"name": "weekly-start", "schedule": "@weekly", "type": "workflow", "command": "started"}
    for path, given in (("cron/jobs", job), ("workflows/started/run", {})):
        answer = visitor.page.request.post(f"{visitor.address}api/{path}", data=given, headers=headers)
        assert answer.ok, answer.text()
    page = visitor.open("#/workflows/started")
    expect(page.locator(".facts").get_by_role("link", name="weekly-start")).to_be_visible()
    page = visitor.open("#/workflows/started?tab=runs")
    expect(page.get_by_role("columnheader", name="Status")).to_be_visible()
    expect(page.locator("main tbody tr").first).to_contain_text("a person, operator")
