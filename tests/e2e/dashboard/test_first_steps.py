"""The first steps on Home: a channel is connected, and a first message sent, in forms."""

from collections.abc import Callable

from playwright.sync_api import expect
from tests.e2e.dashboard.conftest import LOOKS, Visitor
from tests.e2e.dashboard.served import ServedDashboard

from tocsin.core.http.transport import HttpResponse

Visit = Callable[..., Visitor]
TOKEN = "123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"  # the shape of one
BOT = HttpResponse(200, {}, b'{"ok": true, "result": {"id": 1, "username": "ops_bot"}}')
WRONG = HttpResponse(401, {}, b'{"ok": false, "error_code": 401, "description": "Unauthorized"}')
SENT = HttpResponse(200, {}, b'{"ok": true, "result": {"message_id": 7}}')


def test_a_channel_is_connected_and_a_first_message_sent_on_home(visit: Visit, dashboard: ServedDashboard):
    for theme, size in LOOKS:  # the form is as usable on a phone
        visitor = visit(size, theme)
        page = visitor.open()
        steps = page.get_by_role("region", name="First steps")
        steps.get_by_role("button", name="Connect a channel").click()
        steps.get_by_label("Channel").select_option("Telegram")
        expect(steps.get_by_label("BOTCHAT_BOT_TOKEN")).to_have_attribute("type", "password")
        assert visitor.violations("main") == []
        assert visitor.overflow() == 0
    visitor.expected = ("422",)
    dashboard.transport.script = [WRONG, BOT, SENT]
    steps.get_by_label("BOTCHAT_BOT_TOKEN").fill(TOKEN)
    steps.get_by_role("button", name="Connect", exact=True).click()
    expect(steps.get_by_role("alert")).to_contain_text("copy it again from @BotFather")
    steps.get_by_role("button", name="Connect", exact=True).click()
    expect(page.get_by_text("connected as ops_bot")).to_be_visible()
    expect(steps.get_by_text("Connect a channel: done")).to_be_attached()

    steps.get_by_label("To").fill("42")
    steps.get_by_role("button", name="Send").click()
    expect(steps.get_by_text("Notify your phone: done")).to_be_attached()
    assert f"BOTCHAT_BOT_TOKEN={TOKEN}" in (dashboard.app.settings.data_dir / ".env").read_text()
    assert TOKEN not in page.content()
