"""Hosts, tasks and skills in the browser."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Route, expect
from tests.e2e.dashboard.conftest import Visitor
from tests.e2e.dashboard.served import ServedDashboard, serve_dashboard
from tests.ports import free_port

Visit = Callable[..., Visitor]
MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    """Serve an installation with two hosts that are away, and a skill."""
    folder = tmp_path_factory.mktemp("work")
    hosts = "".join(
        f"  - {{name: {name}, hostname: 127.0.0.1, port: {free_port()}, groups: [web], description: '{MARKUP}'}}\n"
        for name in ("web1", "web2")
    )
    (folder / "ssh_hosts.yaml").write_text(f"hosts:\n{hosts}")
    (folder / "ssh_hosts.yaml").chmod(0o600)
    (folder / "config").touch()
    skill = folder / "skills" / "hello"
    skill.mkdir(parents=True)
    (skill / "skill.yaml").write_text(f'name: hello\ndescription: Says {MARKUP}.\ncommand: echo hello "$1"\n')
    with serve_dashboard(folder, {"SSH_CONFIG": str(folder / "config")}) as served:
        yield served


def test_a_host_that_is_away_has_no_answer_and_a_failed_login(visit: Visit):
    def answer_nothing(route: Route) -> None:  # whether the machine of the tests answers a ping depends on its kernel
        health = route.fetch().json()
        for item in health["items"]:
            item["ping"] = {"ok": False, "method": "icmp", "rtt_ms": None, "error": "no answer"}
        route.fulfill(json=health)

    visitor = visit()
    visitor.page.route("**/api/ssh/health*", answer_nothing)
    row = visitor.open("#/ssh").get_by_role("row").filter(has_text="web1")
    expect(row.locator(".reach")).to_have_text(["no answer", "failed"])


def test_a_command_for_a_group_is_asked_about_and_shows_what_each_host_did(visit: Visit):
    page = visit().open("#/ssh")
    page.get_by_role("button", name="web 2").click()
    command = page.get_by_label("Command", exact=True)
    command.fill("uptime")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text("Dry run. This would run on 2 hosts:")).to_be_visible()

    command.press("Enter")
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("web2")
    question.get_by_role("button", name="Run on 2 hosts").click()

    output = page.get_by_role("region", name="Output of each host")
    expect(output.get_by_text("Unreachable", exact=True)).to_have_count(2)
    output.get_by_role("button", name="Select the failed hosts").click()
    expect(page.get_by_role("button", name="web1")).to_have_attribute("aria-pressed", "true")


def test_a_task_is_created_completed_and_deleted_by_keyboard(visit: Visit):
    page = visit().open("#/jobs")
    page.keyboard.press("n")
    expect(page.get_by_label("Title")).to_be_focused()
    page.keyboard.type(MARKUP)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text(MARKUP)

    page.get_by_role("button", name="Start").press("Enter")
    page.get_by_role("button", name="Complete").press("Enter")
    expect(page.get_by_label("Result")).to_be_focused()
    page.get_by_role("dialog").get_by_role("button", name="Complete").press("Enter")
    expect(page.locator(".page-head").get_by_text("Completed")).to_be_visible()

    page.get_by_role("button", name="Delete").press("Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.get_by_role("dialog").get_by_role("button", name="Delete").press("Enter")
    expect(page.get_by_text("No tasks yet.")).to_be_visible()


def test_a_skill_is_run_with_arguments_and_shows_what_it_prints(visit: Visit):
    page = visit().open("#/skills/hello")
    page.keyboard.press("r")
    expect(page.get_by_label("Arguments")).to_be_focused()
    page.keyboard.type("Ann")
    page.get_by_role("dialog").get_by_label("Mode").select_option("standard")
    page.get_by_role("dialog").get_by_role("button", name="Run", exact=True).press("Enter")
    expect(page.get_by_text("hello Ann", exact=True)).to_be_visible()


def test_an_assistant_skill_that_no_service_uses_is_idle_and_says_why(visit: Visit):
    page = visit().open("#/skills/secret-scanner")
    expect(page.get_by_text("Idle", exact=True)).to_be_visible()
    expect(page.get_by_text("SKILLS_WATCH is empty").first).to_be_visible()
    expect(page.locator(".whys li")).to_have_count(4)
    expect(page.locator(".whys li").nth(2)).to_contain_text("Unknown")
