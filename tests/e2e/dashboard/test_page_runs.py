"""The pages of runs, over the real service."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect
from tests.e2e.dashboard.conftest import NARROW, Visitor
from tests.e2e.dashboard.test_page_cron import add_job

Visit = Callable[..., Visitor]


def begin(visitor: Visitor, job: str) -> str:
    headers = {"X-Requested-With": "dashboard", "Idempotency-Key": f"once-{job}"}
    answer = visitor.page.request.post(f"{visitor.address}api/cron/jobs/{job}/run", data={}, headers=headers)
    assert answer.status == 202, answer.text()
    return str(answer.json()["id"])


def test_what_a_run_prints_is_seen_while_it_goes_on_and_it_is_cancelled_and_retried(visit: Visit, tmp_path: Path):
    visitor = visit()
    go_on = tmp_path / "go-on"
    waiting = f"echo first; until [ -e {go_on} ]; do sleep 0.05; done; echo second; sleep 600"
    run = begin(visitor, add_job(visitor, {"name": "long", "command": waiting}))
    page = visitor.open(f"#/runs/{run}")

    expect(page.locator(".log__text", has_text="first")).to_be_visible()
    go_on.touch()
    expect(page.locator(".log__text", has_text="second")).to_be_visible()

    page.keyboard.press("c")
    expect(page.get_by_role("dialog").get_by_role("button", name="Cancel", exact=True)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".page-head__note")).to_contain_text("Cancelled")
    expect(page.get_by_role("dialog")).to_have_count(0)  # the page behind it hears no keys
    page.keyboard.press("r")
    expect(page.locator(".facts")).to_contain_text("Retry of")
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_role("button", name="Cancel the run").click()
    expect(page.locator(".page-head__note")).to_contain_text("Cancelled")


def test_a_failed_run_is_found_by_its_state_and_says_why(visit: Visit):
    visitor = visit()
    run = begin(visitor, add_job(visitor, {"name": "fails", "command": "echo '<b>bold</b>'; exit 7"}))
    page = visitor.open("#/runs?status=failed")

    row = page.locator(f'tr[data-key="{run}"]')
    expect(row).to_contain_text("exit code 7")
    row.locator("a").first.click()
    expect(page.locator(".run .notice")).to_contain_text("exit code 7")
    expect(page.locator(".log__text")).to_contain_text("<b>bold</b>")
    page.get_by_text("Definition").click()
    expect(page.get_by_role("region", name="Definition")).to_contain_text("echo '<b>bold</b>'; exit 7")


def test_on_a_small_screen_a_run_tells_in_one_line_what_it_was_and_below_why_it_failed(visit: Visit):
    visitor = visit(NARROW)
    job = add_job(visitor, {"name": "narrow", "command": "exit 9"})
    run = begin(visitor, job)
    page = visitor.open("#/runs")
    card = page.locator(f'tr[data-key="{run}"]')
    expect(card).to_contain_text("exit code 9")
    tops = card.locator(
        "td[data-title]:is([data-title=Kind], [data-title=Started], [data-title=Duration])"
    ).evaluate_all("cells => cells.map((cell) => cell.getBoundingClientRect().top)")
    assert len(tops) == 3
    assert len(set(tops)) == 1

    page.goto(f"{visitor.address}#/cron/{job}")
    expect(page.locator(f'tr[data-key="{run}"]').get_by_text("exit code 9")).to_be_visible()
