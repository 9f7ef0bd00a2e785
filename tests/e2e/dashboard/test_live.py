"""What happens on the server shows in every tab, by one stream, also after the server was away."""

import re
from collections.abc import Callable

from playwright.sync_api import Request, expect
from tests.e2e.dashboard.conftest import Visitor
from tests.e2e.dashboard.served import serve_dashboard
from tests.ports import free_port

Visit = Callable[..., Visitor]


def test_five_tabs_share_one_stream_and_all_are_told(visit: Visit):
    visitor = visit()
    context = visitor.page.context
    streams: list[str] = []

    def keep(request: Request) -> None:
        if "/stream/" in request.url:
            streams.append(request.url)

    context.on("request", keep)
    visitor.open()
    expect(visitor.page.locator(".live--live")).to_be_visible()
    tabs = [visitor.page, *(context.new_page() for _ in range(4))]
    for tab in tabs[1:]:
        tab.goto(visitor.address)
        expect(tab.locator(".live--live")).to_be_visible()

    context.request.post(f"{visitor.address}api/notifications", data={"title": "For all"})

    for tab in tabs:
        expect(tab.get_by_role("button", name=re.compile("Notifications, [0-9]+ unread"))).to_be_visible()
    assert len(streams) == 1


def test_another_tab_reads_the_stream_when_the_first_is_closed(visit: Visit):
    visitor = visit()
    context = visitor.page.context
    visitor.open()
    expect(visitor.page.locator(".live--live")).to_be_visible()
    second = context.new_page()
    second.goto(visitor.address)
    expect(second.locator(".live--live")).to_be_visible()

    with context.expect_event("request", lambda request: "/stream/" in request.url):
        visitor.page.close()
    expect(second.locator(".live--live")).to_be_visible()


def test_a_server_that_was_away_is_found_again_and_what_was_missed_is_read(visit: Visit, tmp_path):
    port = free_port()
    with serve_dashboard(tmp_path, port=port) as served:
        visitor = visit(served=served)
        visitor.expected += ("ERR_", "503")
        page = visitor.open()
        expect(page.locator(".live--live")).to_be_visible()
    expect(page.locator(".live--retrying")).to_be_visible()
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()

    with serve_dashboard(tmp_path, port=port):
        page.context.request.post(f"{visitor.address}api/notifications", data={"title": "Meanwhile"})
        expect(page.get_by_role("button", name="Notifications, 1 unread")).to_be_visible()
        expect(page.locator(".live--live")).to_be_visible()
        page.close()


def test_the_event_source_of_a_browser_is_told_and_comes_back_to_what_it_missed(visit: Visit, tmp_path):
    port = free_port()
    with serve_dashboard(tmp_path, port=port) as served:
        visitor = visit(served=served)
        visitor.expected += ("ERR_", "favicon")
        page = visitor.page
        page.goto(f"{visitor.address}health")  # no script of ours runs there
        page.evaluate(
            """async () => {
              window.told = {};
              const listen = (path) => new Promise((resolve) => {
                const source = new EventSource(path);
                window.told[path] = [];
                source.onopen = resolve;
                source.addEventListener("notification.created", (event) =>
                  window.told[path].push([JSON.parse(event.data).title, event.lastEventId]));
              });
              await listen("/api/jobs/stream/updates?topics=notifications");
              await listen("/api/notifications/feed");
            }"""
        )
        page.context.request.post(f"{visitor.address}api/notifications", data={"title": "First"})
        page.wait_for_function("Object.values(told).every((events) => events.length === 1)")

    with serve_dashboard(tmp_path, port=port):
        page.context.request.post(f"{visitor.address}api/notifications", data={"title": "Meanwhile"})
        page.wait_for_function("Object.values(told).every((events) => events.length === 2)")
        updates, feed = page.evaluate("Object.values(told)")
        assert [title for title, _ in updates] == ["First", "Meanwhile"]
        assert updates == feed
        assert int(updates[0][1]) < int(updates[1][1])
        page.close()


def test_a_message_shows_in_deliveries_and_changes_home_without_a_reload(visit: Visit, tmp_path):
    with serve_dashboard(tmp_path, {"TEAMCHAT_BOT_TOKEN": "xoxb-test-000000-aaaaaaaaaaaaaaaaaaaaaaaa"}) as served:
        visitor = visit(served=served)
        page = visitor.open()
        messaging = page.locator(".card", has_text="Messaging")
        expect(messaging).to_contain_text("0 waiting")
        listed = page.context.new_page()
        listed.goto(f"{visitor.address}#/deliveries")
        expect(listed.get_by_text("Nothing has been sent yet.")).to_be_visible()
        expect(listed.locator(".live--live")).to_be_visible()

        message = {"channel": "teamchat", "target": "#ops", "message": "Backup begins", "queue": True}
        page.context.request.post(f"{visitor.address}api/msg/send", data=message)

        expect(listed.locator("tbody tr")).to_contain_text(["Backup begins"])
        expect(listed.locator("tbody tr")).to_contain_text(["Slack #ops"])
        expect(messaging).to_contain_text("1 waiting")
        page.context.close()
