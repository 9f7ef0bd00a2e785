"""What happens on the server shows in every tab, by one stream, also after the server was away."""

import re
from collections.abc import Callable
from functools import partial

from playwright.sync_api import Page, Request, expect
from tests.e2e.dashboard.conftest import Visitor
from tests.e2e.dashboard.served import ServedDashboard, serve_dashboard
from tests.ports import free_port

from tocsin.assembly.program import App
from tocsin.features.chat.answer_store import AnswerEnd, AnswerStore
from tocsin.features.chat.model import MessageStatus
from tocsin.features.chat.store import BegunAnswer, ChatStore, MessageDraft

Visit = Callable[..., Visitor]
HIDE = """(hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


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
        other = page.context.new_page()
        other.goto(f"{visitor.address}#/memory")
        expect(other.locator(".live--live")).to_be_visible()
    for tab in (page, other):  # the server's last word
        expect(tab.locator(".notices")).to_have_text(re.compile("^Tocsin is stopping or restarting"))
    expect(page.locator(".live--retrying")).to_be_visible()
    expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
    other.goto(f"{visitor.address}#/watchers")
    expect(other.locator("main .failure")).to_be_visible()

    with serve_dashboard(tmp_path, port=port):
        expect(other.get_by_role("heading", name="Watchers", level=1)).to_be_visible()  # nobody asks it to
        for tab in (page, other):
            expect(tab.locator(".notices")).to_have_text("")
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
        expect(listed.get_by_text("No messages yet.")).to_be_visible()
        expect(listed.locator(".live--live")).to_be_visible()

        message = {"channel": "teamchat", "target": "#ops", "message": "Backup begins", "queue": True}
        page.context.request.post(f"{visitor.address}api/msg/send", data=message)

        expect(listed.locator("tbody tr")).to_contain_text(["Backup begins"])
        expect(listed.locator("tbody tr")).to_contain_text(["Slack #ops"])
        expect(messaging).to_contain_text("1 waiting")
        page.context.close()


# --- an answer while it is written


async def ask(app: App) -> BegunAnswer:
    return await ChatStore(app.database).begin(MessageDraft("Count for me"), "test", app.clock.now())


async def say(text: str, begun: BegunAnswer, app: App) -> None:
    assert await AnswerStore(app.database).add_text(begun.answer.id, "test", text, app.clock.now())


async def finish(text: str, begun: BegunAnswer, app: App) -> None:
    end = AnswerEnd(MessageStatus.COMPLETE, text, model="m", provider="p")
    await AnswerStore(app.database).finish(begun.answer.id, "test", end, app.clock.now())


def following(page: Page, address: str) -> None:
    with page.expect_response(lambda response: "/api/chat/stream" in response.url):
        page.goto(address)


def test_an_answer_goes_on_where_it_was_after_the_line_was_cut(visit: Visit, dashboard: ServedDashboard):
    begun = dashboard.do(ask)
    visitor = visit()
    visitor.expected += ("ERR_",)
    page = visitor.page
    following(page, f"{dashboard.address}#/chat/{begun.question.conversation_id}")
    answer = page.locator(".turn--assistant .markdown")
    dashboard.do(partial(say, "one ", begun))
    expect(answer).to_have_text("one")

    page.context.set_offline(True)
    dashboard.do(partial(say, "two ", begun))
    page.context.set_offline(False)
    dashboard.do(partial(say, "three ", begun))
    expect(answer).to_have_text("one two three")
    dashboard.do(partial(finish, "one two three four", begun))
    expect(answer).to_have_text("one two three four")


def test_a_tab_that_is_not_seen_gives_its_connection_back_and_misses_nothing(visit: Visit, dashboard: ServedDashboard):
    begun = dashboard.do(ask)
    visitor = visit()
    page = visitor.page
    page.clock.install()
    following(page, f"{dashboard.address}#/chat/{begun.question.conversation_id}")
    answer = page.locator(".turn--assistant .markdown")
    dashboard.do(partial(say, "one ", begun))
    expect(answer).to_have_text("one")

    with page.expect_event("requestfailed", lambda request: "/api/chat/stream" in request.url):
        page.evaluate(HIDE, True)
        page.clock.fast_forward(10_000)
    dashboard.do(partial(say, "two", begun))
    with page.expect_request(lambda request: "/api/chat/stream" in request.url):
        page.evaluate(HIDE, False)
    expect(answer).to_have_text("one two")
