"""What people come for: how many clicks it takes from Home, and whether it goes without a mouse."""

import re
from collections.abc import Callable, Sequence

from playwright.sync_api import Error, Locator, Page, expect
from tests.chaos.figures import Figure
from tests.e2e.dashboard.proof.stage import Stage, tab_to
from tests.e2e.dashboard.served import PASSWORD, USER
from tests.waiting import PATIENCE_S


class Clicks:
    """A mouse that counts."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    def on(self, element: Locator) -> None:
        element.first.click()
        self.count += 1

    def menu(self, name: str) -> None:
        self.on(self.page.get_by_role("navigation", name="Pages").get_by_role("link", name=re.compile(f"^{name}")))


def _failed_log(clicks: Clicks) -> None:
    clicks.on(clicks.page.locator(".attention a", has_text="prints"))
    expect(clicks.page.locator(".log__text").first).to_be_visible()


def _run_now(clicks: Clicks) -> None:
    clicks.menu("Cron")
    clicks.on(clicks.page.get_by_label("Run quick now"))
    expect(clicks.page.locator(".run .page-head__note")).to_contain_text("Succeeded")


def _disable(clicks: Clicks) -> None:
    clicks.menu("Cron")
    switch = clicks.page.get_by_label("quick runs on schedule")
    clicks.on(switch)
    expect(switch).not_to_be_checked()
    clicks.page.get_by_role("button", name="Undo").click()
    expect(switch).to_be_checked()


def _test_channel(clicks: Clicks) -> None:
    clicks.menu("Messaging")
    clicks.on(clicks.page.get_by_role("main").get_by_role("button", name=re.compile("^Test")))
    expect(
        clicks.page.get_by_role("main").get_by_text(re.compile("as tocsin|works|connected|tested", re.I)).first
    ).to_be_visible()


def _send(clicks: Clicks) -> None:
    clicks.on(clicks.page.get_by_role("link", name="Send a message"))
    clicks.page.locator(".composer select").select_option("profile:oncall")
    clicks.count += 1
    text = clicks.page.get_by_label("Message", exact=True)
    clicks.on(text)
    text.press_sequentially("hello")
    clicks.on(clicks.page.get_by_role("main").get_by_role("button", name="Send"))
    expect(clicks.page.locator(".composer__results")).to_contain_text("Sent")


def _ssh(clicks: Clicks) -> None:
    clicks.menu("SSH")
    clicks.on(clicks.page.get_by_role("main").get_by_role("button", name=re.compile("^web 1")))
    command = clicks.page.get_by_label("Command", exact=True)
    clicks.on(command)
    command.press_sequentially("uptime\n")  # the line end sends it
    expect(clicks.page.get_by_role("region", name="Output of each host")).to_contain_text("web1")


def _dry_run(clicks: Clicks) -> None:
    clicks.menu("Workflows")
    clicks.on(clicks.page.locator("tr[data-key=plain] a"))
    clicks.on(clicks.page.get_by_role("button", name="Dry run"))
    expect(clicks.page.get_by_role("dialog").locator("tr[data-key=only]")).to_be_visible()


CLICKS: Sequence[tuple[str, int, Callable[[Clicks], None]]] = (
    ("log of a failed job", 2, _failed_log),
    ("run a job now", 2, _run_now),
    ("switch a job off", 2, _disable),
    ("test a channel", 2, _test_channel),
    ("send to a profile", 4, _send),
    ("run a command on a group", 3, _ssh),
    ("dry run of a workflow", 3, _dry_run),
)


def clicks_from_home(stage: Stage) -> list[Figure]:
    """Do by mouse what is done most."""
    _prepare(stage)
    figures = []
    for what, most, task in CLICKS:
        with stage.window() as visitor:
            visitor.open()
            expect(visitor.page.locator(".card").first).to_be_visible()
            clicks = Clicks(visitor.page)
            try:
                task(clicks)
            except (AssertionError, Error) as error:
                figures.append(Figure(f"clicks: {what}", 99, "≤", most, detail=str(error)))
            else:
                figures.append(Figure(f"clicks: {what}", clicks.count, "≤", most))
    return figures


def _prepare(stage: Stage) -> None:
    call = stage.site.call
    if not any(job["name"] == "quick" for job in call("GET", "cron/jobs")["items"]):
        call("POST", "cron/jobs", {"name": "quick", "schedule": "@yearly", "command": "echo done"})
        for name, steps in (("plain", [{"name": "only", "command": "echo hello"}]), ("gate", [_GATE])):
            call("PUT", f"workflows/{name}", {"yaml": _yaml(name, steps)})


_GATE = {"name": "ask", "type": "wait", "approval": True, "message": "Go on?"}


def _yaml(name: str, steps: Sequence[object]) -> str:
    import json

    return json.dumps({"name": name, "description": "For the proof", "steps": steps})


def _k_run(stage: Stage, page: Page) -> None:
    page.keyboard.press("g")
    page.keyboard.press("c")
    tab_to(page, page.get_by_label("Run quick now"))
    page.keyboard.press("Enter")
    expect(page.locator(".run .page-head__note")).to_contain_text("Succeeded")


def _k_switch(stage: Stage, page: Page) -> None:
    page.keyboard.press("g")
    page.keyboard.press("c")
    switch = page.get_by_label("quick runs on schedule")
    tab_to(page, switch)
    page.keyboard.press("Space")
    expect(switch).not_to_be_checked()
    tab_to(page, page.get_by_role("button", name="Undo"))
    page.keyboard.press("Enter")
    expect(switch).to_be_checked()


def _k_new_job(stage: Stage, page: Page) -> None:
    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", name="Cron", level=1)).to_be_visible()
    page.keyboard.press("n")
    tab_to(page, page.get_by_label("Name"))
    page.keyboard.type("by-keyboard")
    tab_to(page, page.get_by_role("combobox", name="Schedule"))
    page.keyboard.type("@daily")
    tab_to(page, page.get_by_label("Command"))
    page.keyboard.type("echo hello")
    tab_to(page, page.get_by_role("button", name="Create the job"))
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("by-keyboard")


def _k_failed_log(stage: Stage, page: Page) -> None:
    tab_to(page, page.locator(".attention a", has_text="prints"))
    page.keyboard.press("Enter")
    expect(page.locator(".log__text").first).to_be_visible()


def _k_channel(stage: Stage, page: Page) -> None:
    page.keyboard.press("g")
    page.keyboard.press("m")
    tab_to(page, page.get_by_role("main").get_by_role("button", name=re.compile("^Test")))
    page.keyboard.press("Enter")
    expect(
        page.locator(".toasts, main").get_by_text(re.compile("as tocsin|works|connected|tested", re.I)).first
    ).to_be_visible()


def _k_message(stage: Stage, page: Page) -> None:
    page.keyboard.press("g")
    page.keyboard.press("m")
    tab_to(page, page.locator(".composer select"))
    page.keyboard.type("Slack")  # a browser chooses what begins so
    tab_to(page, page.get_by_label("Target"))
    page.keyboard.type("#ops")
    tab_to(page, page.get_by_label("Message", exact=True))
    page.keyboard.type("hello")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".composer__results")).to_contain_text("Sent")


def _k_ssh(stage: Stage, page: Page) -> None:
    page.keyboard.press("g")
    page.keyboard.press("s")
    tab_to(page, page.get_by_role("main").get_by_role("button", name=re.compile("^web 1")))
    page.keyboard.press("Space")
    tab_to(page, page.get_by_label("Command", exact=True))
    page.keyboard.type("uptime")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Output of each host")).to_contain_text("web1")


def _k_dry_run(stage: Stage, page: Page) -> None:
    page.keyboard.press("g")
    page.keyboard.press("w")
    tab_to(page, page.locator("tr[data-key=plain] a"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="plain", level=1)).to_be_visible()
    page.keyboard.press("d")
    expect(page.get_by_role("dialog").locator("tr[data-key=only]")).to_be_visible()


def _k_approve(stage: Stage, page: Page) -> None:
    run = stage.site.call("POST", "workflows/gate/run", {})["id"]
    page.goto(f"{stage.address}#/runs/{run}")
    tab_to(page, page.get_by_role("button", name="Approve"))
    page.keyboard.press("Enter")
    approve = page.get_by_role("dialog").get_by_role("button", name="Approve")
    expect(approve).to_be_visible()
    tab_to(page, approve)
    page.keyboard.press("Enter")
    expect(page.locator(".page-head__note")).to_contain_text("Succeeded")


def _k_memory(stage: Stage, page: Page) -> None:
    page.keyboard.press("g")
    page.keyboard.press("y")
    expect(page.get_by_role("heading", name="Memory", level=1)).to_be_visible()
    page.keyboard.press("n")
    dialog = page.get_by_role("dialog")
    tab_to(page, dialog.get_by_label("Key"))
    page.keyboard.type("colour")
    tab_to(page, dialog.get_by_role("textbox").nth(1))
    page.keyboard.type("blue")
    tab_to(page, dialog.locator("button[type=submit], .button--primary"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("main").get_by_text("colour").first).to_be_visible()


def _k_notices(stage: Stage, page: Page) -> None:
    stage.site.call("POST", "notifications", {"title": "Read me"})
    tab_to(page, page.get_by_role("banner").get_by_role("button", name=re.compile("Notifications")))
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("button", name="Mark all as read"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing new.")).to_be_visible()


def _k_search(stage: Stage, page: Page) -> None:
    page.keyboard.press("Control+k")
    page.keyboard.type("audit")
    expect(page.get_by_role("option", name="Audit").first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Audit", level=1)).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("vault")
    expect(page.get_by_role("row", name=re.compile("vault.set")).first).to_be_visible()


KEYBOARD: Sequence[tuple[str, Callable[[Stage, Page], None]]] = (
    ("run a job", _k_run),
    ("switch a job off and undo it", _k_switch),
    ("make a job", _k_new_job),
    ("read the log of a failed job", _k_failed_log),
    ("test a channel", _k_channel),
    ("send a message", _k_message),
    ("run a command on a group", _k_ssh),
    ("dry run of a workflow", _k_dry_run),
    ("approve a step", _k_approve),
    ("keep something in the memory", _k_memory),
    ("read all notices", _k_notices),
)


def by_keyboard_alone(stage: Stage) -> list[Figure]:
    """Do the main tasks without a mouse; the twelfth is to sign in and to search."""
    _prepare(stage)
    failed: list[str] = []
    done = 0
    with stage.window(signed_in=False) as visitor:
        page = visitor.page
        page.goto(stage.address)
        expect(page.get_by_label("Name")).to_be_focused()
        page.keyboard.type(USER)
        page.keyboard.press("Tab")
        page.keyboard.type(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.locator(".card").first).to_be_visible(timeout=PATIENCE_S * 1000)
        _k_search(stage, page)
        done += 1
    for what, task in KEYBOARD:
        with stage.window() as visitor:
            visitor.open()
            expect(visitor.page.locator(".card").first).to_be_visible()
            try:
                task(stage, visitor.page)
                done += 1
            except (AssertionError, Error) as error:
                failed.append(f"{what}: {str(error)[:300]}")
    wanted = len(KEYBOARD) + 1
    return [Figure("main tasks done by the keyboard alone", done, "=", wanted, detail="; ".join(failed))]
