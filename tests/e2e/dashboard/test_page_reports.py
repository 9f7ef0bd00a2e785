"""What other tools report: doors and heartbeats in the browser."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.dashboard.callers import call_door
from tests.e2e.dashboard.conftest import NARROW, WIDE, Visitor
from tests.e2e.dashboard.served import ServedDashboard, serve_dashboard

from tocsin.assembly.program import App
from tocsin.features.doors.service import Doors
from tocsin.features.heartbeats.model import PingKind, ReceivedPing
from tocsin.messaging.outbound.caller import Caller

Visit = Callable[..., Visitor]
PROFILES = 'oncall:\n  - {channel: slack, target: "#ops"}\n'
EVENT = {"name": "Backup of web1", "state": "failed", "volume": {"id": 7, "path": "/srv"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data directory of the module."""
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def dashboard(folder: Path) -> Iterator[ServedDashboard]:
    """Serve an installation with a channel and a profile."""
    (folder / "profiles.yaml").write_text(PROFILES)
    (folder / "profiles.yaml").chmod(0o600)
    with serve_dashboard(folder, {"TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example"}) as served:
        yield served


def add_door(dashboard: ServedDashboard, name: str, **fields: Any) -> str:
    async def add(app: App) -> str:
        doors: Doors = app.features.opened("doors")
        return (await doors.add(name, {"profile": "oncall", **fields}, Caller("test"))).token

    return dashboard.do(add)


def call(dashboard: ServedDashboard, name: str, payload: Any) -> None:
    dashboard.do(lambda app: call_door(app, name, payload))


def address_on(page: Page) -> str:
    return page.get_by_role("region", name="Address").locator("code").first.inner_text()


# --- doors


def test_a_door_is_added_by_keyboard_and_its_address_is_shown_once(visit: Visit):
    visitor = visit()
    visitor.expected = ("422",)
    page = visitor.open("#/doors")
    page.keyboard.press("n")
    page.get_by_label("Name").fill("code")
    page.get_by_label("Messages to").fill("nobody")
    page.get_by_label("Preset").select_option("github")
    page.get_by_label("Senders").fill("10.0.0.0/8")
    page.get_by_label("Secret").fill("a secret of GitHub")
    page.get_by_label("Secret").press("Enter")
    expect(page.locator("#field-profile-problem")).to_be_visible()
    assert visitor.violations() == []
    page.get_by_label("Messages to").fill("oncall")
    page.get_by_role("button", name="Create").press("Enter")

    address = address_on(page)
    assert "/in/" in address
    expect(page.get_by_role("region", name="Address")).to_contain_text(f"curl -d 'It works' {address}")
    assert visitor.in_every_look() == []
    page.get_by_role("link", name="Show the requests of code").press("Enter")
    expect(page.locator(".facts")).to_contain_text("10.0.0.0/8")
    expect(page.locator(".facts")).to_contain_text("github")
    assert address not in page.content()


def test_a_door_is_changed_and_its_secret_is_taken_away(visit: Visit, dashboard: ServedDashboard):
    add_door(dashboard, "edited", secret_name="HOOK", sources=["10.0.0.0/8"])
    visitor = visit()
    visitor.expected = ("422",)
    page = visitor.open("#/doors/edited")
    expect(page.locator(".facts")).to_contain_text("HOOK")
    page.get_by_role("link", name="Edit", exact=True).click()
    expect(page.get_by_label("Senders", exact=True)).to_have_value("10.0.0.0/8")
    page.get_by_label("Messages to").fill("nobody")
    page.get_by_role("button", name="Save").press("Enter")
    expect(page.locator("#field-profile-problem")).to_be_visible()
    assert visitor.in_every_look() == []
    page.get_by_label("Messages to").fill("oncall")
    page.get_by_label("Severity").select_option("warning")
    page.get_by_label("Senders", exact=True).fill("")
    page.get_by_label("Senders need no secret").check()
    page.get_by_role("button", name="Save").press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("edited")
    expect(page.locator(".facts")).to_contain_text("any address")
    expect(page.locator(".facts")).to_contain_text("Warning")
    expect(page.locator(".facts")).to_contain_text("none, the address suffices")


def test_requests_appear_as_they_arrive_with_their_payload_and_their_message(visit: Visit, dashboard: ServedDashboard):
    add_door(dashboard, "nas")
    page = visit().open("#/doors")
    row = page.get_by_role("row").filter(has_text="nas")
    expect(row).to_contain_text("webhook")
    call(dashboard, "nas", EVENT)
    expect(row.get_by_role("cell", name="1", exact=True)).to_be_visible()

    row.click()
    request = page.get_by_role("button", name="Backup of web1")
    expect(request).to_be_visible()
    call(dashboard, "nas", {"title": "A second one", "severity": "ok"})
    expect(page.get_by_role("button", name="A second one")).to_be_visible()

    request.press("Enter")
    expect(page.get_by_role("region", name="Payload")).to_contain_text('"path": "/srv"')
    page.locator("main").get_by_role("link", name="delivery").click()
    expect(page.locator("main")).to_contain_text("#ops")


def test_a_long_title_of_a_request_ends_in_an_ellipsis_on_a_phone(visit: Visit, dashboard: ServedDashboard):
    add_door(dashboard, "long")
    call(dashboard, "long", {"title": "Backup of a host with a long name " * 4, "severity": "ok"})
    page = visit(NARROW).open("#/doors/long")
    title = page.get_by_role("button", name="Backup of a host")
    expect(title).to_have_css("text-overflow", "ellipsis")
    assert title.evaluate(
        "(one) => one.scrollWidth > one.clientWidth && one.clientWidth <= one.closest('th').clientWidth"
    )


def test_a_rule_made_from_a_request_shows_what_it_would_give_before_it_is_added(
    visit: Visit, dashboard: ServedDashboard, folder: Path
):
    name = "shop"
    add_door(dashboard, name)
    call(dashboard, name, EVENT)
    visitor = visit()
    visitor.expected = ("422",)
    page = visitor.open(f"#/doors/{name}")
    page.get_by_role("button", name="Backup of web1").click()
    page.get_by_role("link", name="Make a rule from this one").click()

    preview = page.get_by_role("region", name="What the request would become")
    expect(preview).to_contain_text("rule 1 of the text")
    editor = page.get_by_role("textbox", name="Rule")
    editor.fill('- title: "${payloud.name}"\n')
    expect(page.get_by_role("alert")).to_contain_text("payload")
    expect(page.get_by_role("button", name="Add to doors.yaml")).to_be_disabled()
    editor.fill('- title: "${payload.volume.path}: ${payload.state}"\n  severity: ${payload.state}\n')
    expect(preview).to_contain_text("/srv: failed")
    expect(preview).to_contain_text("Critical")
    assert visitor.in_every_look() == []

    page.get_by_role("button", name="Add to doors.yaml").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    assert f'{name}:\n- title: "${{payload.volume.path}}: ${{payload.state}}"\n' in (folder / "doors.yaml").read_text()
    call(dashboard, name, EVENT)
    expect(page.get_by_role("button", name="/srv: failed")).to_be_visible()


def test_a_door_is_tested_gets_a_new_address_and_is_removed_after_a_question(visit: Visit, dashboard: ServedDashboard):
    token = add_door(dashboard, "old")
    page = visit(NARROW).open("#/doors/old")
    page.get_by_role("button", name="Send a test").press("Enter")
    expect(page.get_by_role("status").get_by_role("link", name="delivery")).to_be_visible()

    page.get_by_role("button", name="New address").press("Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.get_by_role("dialog").get_by_role("button", name="New address").press("Enter")
    assert token not in address_on(page)

    page.get_by_role("button", name="Remove").press("Enter")
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    page.get_by_role("dialog").get_by_role("button", name="Remove").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Doors")
    expect(page.get_by_role("link", name="old", exact=True)).to_have_count(0)


# --- heartbeats


def test_the_list_of_heartbeats_is_filtered_and_shows_pings_as_they_arrive(visit: Visit, dashboard: ServedDashboard):
    async def add(app: App) -> None:
        for name in ("nightly", "sensor"):
            await app.features.opened("heartbeats").add(name, {"period": 3_600}, Caller("test"))

    async def ping(app: App) -> None:
        store, received = app.features.opened("heartbeats").store, ReceivedPing(kind=PingKind.SUCCESS)
        assert await store.take("name", "sensor", received, app.clock.now())

    dashboard.do(add)
    page = visit(WIDE).open("#/heartbeats")
    row = page.get_by_role("row").filter(has_text="sensor")
    expect(row).to_contain_text("New")
    expect(row).to_contain_text("Every hour")
    dashboard.do(ping)
    expect(row).to_contain_text("Up")
    expect(row.get_by_role("img")).to_have_count(1)

    page.get_by_label("State").select_option("up")
    expect(page.get_by_role("link", name="nightly")).to_have_count(0)
    row.click()
    expect(page.get_by_role("table", name="Latest pings")).to_contain_text("success")
