"""Devices: a browser becomes one, shows what is sent to it, and presses a button from the notification."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import http_ece
import pytest
from playwright.sync_api import Browser as Window
from playwright.sync_api import CDPSession, Page, Playwright, Worker, expect
from tests.e2e.dashboard.conftest import running_browser, sign_in
from tests.e2e.dashboard.served import ServedDashboard, serve_dashboard
from tests.waiting import eventually, until

from tocsin.assembly.full.receiving import open_receiving
from tocsin.assembly.program import App
from tocsin.channels.webpush.devices import Subscription
from tocsin.channels.webpush.standin import CONTACT, Browser
from tocsin.core.http.transport import HttpResponse
from tocsin.messaging.outbound.caller import Caller

ENDPOINT = "https://fcm.googleapis.com/fcm/send/example"
TAKEN, GONE = HttpResponse(201, {}, b""), HttpResponse(410, {}, b"")
# No push service can be reached from a test: what the browser would have got there is given to it.
SUBSCRIBED = """
(() => {
  let own = null;
  const make = (key) => ({
    endpoint: "%s", options: { applicationServerKey: key },
    toJSON: () => ({ endpoint: "%s", keys: %s }),
    unsubscribe: async () => { own = null; return true; },
  });
  const plain = (text) => atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = (text) => Uint8Array.from(plain(text), (each) => each.charCodeAt(0)).buffer;
  PushManager.prototype.subscribe = async ({ applicationServerKey }) => (own = make(bytes(applicationServerKey)));
  PushManager.prototype.getSubscription = async () => own;
})()
"""

COUNTED = """() => {
  const { showNotification } = ServiceWorkerRegistration.prototype;
  self.told = 0;
  ServiceWorkerRegistration.prototype.showNotification = async function (...all) {
    await showNotification.apply(this, all);
    self.told += 1;
  };
}"""


@pytest.fixture(scope="module")
def chromium(playwright: Playwright) -> Iterator[Window]:
    """Start the whole Chromium: its headless shell shows no notifications."""
    with running_browser(playwright, "chromium") as browser:
        yield browser


@pytest.fixture(scope="module")
def pushing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    """Serve a dashboard that can send notifications."""
    with serve_dashboard(tmp_path_factory.mktemp("devices"), {"WEBPUSH_CONTACT": CONTACT}) as served:
        served.transport.script[:] = [TAKEN]
        yield served


@pytest.fixture
def phone(pushing: ServedDashboard) -> Iterator[Browser]:
    """Return a browser whose device is gone after the test, so that a second try adds it anew."""
    yield Browser("phone")

    async def remove(app: App) -> None:
        devices = app.features.opened("devices")
        for device in await devices.all():
            await devices.remove(device.name, Caller("cli"))

    pushing.do(remove)


def become_a_device(visit: Any, served: ServedDashboard, phone: Browser, name: str, *expected: str) -> Page:
    visitor = visit(served=served)
    visitor.expected = expected
    page: Page = visitor.page
    page.context.grant_permissions(["notifications"], origin=served.address.rstrip("/"))
    page.add_init_script(SUBSCRIBED % (ENDPOINT, ENDPOINT, json.dumps(phone.keys)))
    visitor.open("#/devices")
    page.get_by_label("Name of this device").fill(name)
    page.get_by_role("button", name="Notify this device").click()
    expect(page.get_by_text(f"This device takes notifications as {name}.")).to_be_visible()
    return page


class Worked:
    """The service worker of a page, which gets messages from the browser's debugger."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.origin = page, address.rstrip("/")
        self.found: list[dict[str, Any]] = []
        self.session: CDPSession = page.context.new_cdp_session(page)
        self.session.on(
            "ServiceWorker.workerRegistrationUpdated", lambda told: self.found.extend(told["registrations"])
        )
        self.session.send("ServiceWorker.enable")
        until(self._is_in_charge, "the service worker, which finds no window before it controls one")
        self.worker.evaluate(COUNTED)

    def _is_in_charge(self) -> bool:
        in_charge = self.page.evaluate("navigator.serviceWorker.controller !== null")
        return bool(in_charge and self.found and self.page.context.service_workers)

    @property
    def worker(self) -> Worker:
        return self.page.context.service_workers[0]

    def receive(self, text: str) -> None:
        registration = self.found[-1]["registrationId"]
        told = {"origin": self.origin, "registrationId": registration, "data": text}
        self.session.send("ServiceWorker.deliverPushMessage", told)

    def show(self, act: Callable[[], object]) -> None:
        """Do what shows a notification, and wait for it without `shown`: Chromium forgets one that it still draws."""
        before = self.worker.evaluate("self.told")
        act()
        until(lambda: self.worker.evaluate("self.told") > before, "the notification")

    def shown(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.worker.evaluate(
            """async () => (await self.registration.getNotifications()).map(({ title, body, tag, silent, actions }) =>
              ({ title, body, tag, silent, actions: actions.map(({ title }) => title) }))"""
        )
        return found

    def permit_windows(self) -> None:
        """Let the worker focus and open windows, which browsers allow after a real tap only; opened ones are noted."""
        self.worker.evaluate(
            """() => {
              WindowClient.prototype.focus = async function () { return this; };
              self.opened = [];
              Clients.prototype.openWindow = async (href) => void self.opened.push(href);
            }"""
        )

    def opened(self) -> list[str]:
        found: list[str] = self.worker.evaluate("self.opened")
        return found

    def click(self, action: str = "") -> None:
        """Press a button by its number, or tap the notification."""
        self.worker.evaluate(
            """async (action) => {
              const [notification] = await self.registration.getNotifications();
              self.dispatchEvent(new NotificationEvent("notificationclick", { notification, action }));
            }""",
            action,
        )


def sent_text(served: ServedDashboard, phone: Browser) -> str:
    """Return the last message as an independent implementation decrypts it."""
    body = served.transport.sent[-1].body
    return str(http_ece.decrypt(body, private_key=phone.private, auth_secret=phone.auth).decode())


def test_a_browser_shows_a_message_and_its_button_is_pressed_from_the_notification(
    visit: Any, pushing: ServedDashboard, phone: Browser
):
    page = become_a_device(visit, pushing, phone, "laptop")
    worked = Worked(page, pushing.address)
    call = {"action": "call", "label": "Clean up", "name": "cleanup", "once": False}
    key = uuid4().hex  # of this try: a message that changes nothing is not sent again
    content = {"title": "Disk full", "type": "warning", "actions": [call], "key": key}
    receipt = pushing.do(lambda app: app.messenger.send("webpush", "laptop", "91 % ü", Caller("cli"), content=content))
    assert receipt.result.ok, receipt.result.error
    worked.show(lambda: worked.receive(sent_text(pushing, phone)))
    [shown] = worked.shown()
    assert (shown["title"], shown["body"], shown["actions"]) == ("⚠️ Disk full", "91 % ü", ["Clean up"])
    worked.show(lambda: worked.click("0"))
    [after] = worked.shown()
    assert "received" in after["body"]
    assert (after["tag"], after["silent"], after["actions"]) == (shown["tag"], True, [])
    [event] = pushing.do(lambda app: app.stores.inbox().search(1))
    assert (event.message.sender_id, event.message.channel, event.message.chat_id) == ("operator", "webpush", "laptop")
    page.goto(f"{pushing.address}#/deliveries/{receipt.delivery}")
    page.get_by_role("button", name="Clean up").click()
    expect(page.get_by_text("Your press was received")).to_be_visible()
    withdrawn = pushing.do(lambda app: app.messenger.withdraw("webpush", "laptop", key, Caller("cli")))
    assert withdrawn.result.ok
    worked.receive(sent_text(pushing, phone))
    until(lambda: not worked.shown(), "the withdrawal")


def push(served: ServedDashboard, worked: Worked, phone: Browser, name: str, **content: Any) -> str:
    """Send a message and show its notification; return the ID of its delivery."""
    receipt = served.do(lambda app: app.messenger.send("webpush", name, "91 %", Caller("cli"), content=content))
    assert receipt.result.ok, receipt.result.error
    worked.show(lambda: worked.receive(sent_text(served, phone)))
    return receipt.delivery


def test_a_press_from_the_notification_is_carried_out_by_a_trigger(visit: Any, tmp_path: Path, phone: Browser):
    rule = f"- {{on: action, name: cleanup, command: 'touch {tmp_path}/cleaned', reply: false}}\n"
    (tmp_path / "triggers.yaml").write_text(rule)

    async def carry_out(app: App) -> None:
        inbox = (await open_receiving(app, fetch=False)).inbox
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(inbox.run())
            await eventually((tmp_path / "cleaned").exists, "the command of the trigger")
            inbox.stop()

    with serve_dashboard(tmp_path, {"WEBPUSH_CONTACT": CONTACT}) as served:
        served.transport.script[:] = [TAKEN]
        worked = Worked(become_a_device(visit, served, phone, "laptop"), served.address)
        push(served, worked, phone, "laptop", actions=[{"action": "call", "label": "Clean up", "name": "cleanup"}])
        worked.click("0")
        served.do(carry_out)


def test_a_tap_shows_the_delivery_in_the_window_that_is_there_and_an_address_in_a_new_one(
    visit: Any, pushing: ServedDashboard, phone: Browser
):
    page = become_a_device(visit, pushing, phone, "desktop")
    worked = Worked(page, pushing.address)
    worked.permit_windows()
    delivery = push(pushing, worked, phone, "desktop", key=uuid4().hex)
    worked.click()
    expect(page.get_by_role("heading", name="Web Push desktop")).to_be_visible()
    expect(page).to_have_url(f"{pushing.address}#/deliveries/{delivery}")
    until(lambda: not worked.shown(), "the end of the notification")
    push(pushing, worked, phone, "desktop", click="https://wiki.example/run")
    worked.click()
    until(worked.opened, "the window")
    assert worked.opened() == ["https://wiki.example/run"]


def test_what_cannot_be_read_is_shown_as_such_and_no_answer_is_kept(
    visit: Any, pushing: ServedDashboard, phone: Browser
):
    page = become_a_device(visit, pushing, phone, "desk")
    worked = Worked(page, pushing.address)
    worked.show(lambda: worked.receive("no JSON"))
    assert worked.shown()[0]["body"] == "A message could not be read."
    assert page.evaluate("caches.keys()") == []


def test_a_device_is_tested_renamed_and_removed(visit: Any, pushing: ServedDashboard, phone: Browser):
    page = become_a_device(visit, pushing, phone, "tablet")
    page.get_by_role("button", name="Test tablet").click()
    expect(page.get_by_text("A notification is on its way to tablet")).to_be_visible()
    page.get_by_role("button", name="Rename tablet").click()
    page.get_by_role("dialog").get_by_label("Name").fill("kitchen")
    page.get_by_role("dialog").get_by_role("button", name="Rename").click()
    expect(page.get_by_text("This device takes notifications as kitchen.")).to_be_visible()
    page.get_by_role("button", name="Remove kitchen").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_role("button", name="Notify this device")).to_be_visible()


def test_a_device_that_is_gone_leaves_the_list_and_the_error_says_so(
    visit: Any, pushing: ServedDashboard, phone: Browser
):
    page = become_a_device(visit, pushing, phone, "old", "status of 422")
    pushing.transport.script[:] = [GONE, TAKEN]
    page.get_by_role("button", name="Test old").click()
    expect(page.get_by_text("was removed").first).to_be_visible()
    expect(page.get_by_role("button", name="Test old")).to_have_count(0)


def test_without_a_contact_the_page_names_the_setting(visit: Any):
    page = visit().open("#/devices")
    expect(page.get_by_text("WEBPUSH_CONTACT")).to_be_visible()
    expect(page.get_by_role("button", name="Notify this device")).to_have_count(0)


def test_on_an_iphone_the_page_says_how_to_install_the_app(chromium: Any, pushing: ServedDashboard):
    agent = (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Version/17.5 Mobile Safari/604.1"
    )
    context = chromium.new_context(user_agent=agent)
    sign_in(context, pushing, shared=True)
    page = context.new_page()
    page.add_init_script("delete window.PushManager; delete window.Notification;")
    page.goto(f"{pushing.address}#/devices")
    expect(page.get_by_text("Add to Home Screen")).to_be_visible()
    context.close()


def test_the_page_of_devices_is_accessible(visit: Any, pushing: ServedDashboard):
    for name, service in (("iphone", "web.push.apple.com"), ("firefox-linux", "updates.push.services.mozilla.com")):
        subscription = {"endpoint": f"https://{service}/{name}", **Browser(name).keys}
        add(pushing, name, subscription)
    visitor = visit(served=pushing)
    visitor.page.context.grant_permissions(["notifications"], origin=pushing.address.rstrip("/"))
    visitor.open("#/devices")
    expect(visitor.page.get_by_role("button", name="Notify this device")).to_be_visible()
    assert visitor.in_every_look() == []


def add(served: ServedDashboard, name: str, subscription: dict[str, str]) -> None:
    served.do(lambda app: app.features.opened("devices").add(name, Subscription(**subscription), Caller("cli")))
