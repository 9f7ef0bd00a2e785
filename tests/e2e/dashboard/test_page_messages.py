"""The pages of messages: the composer with its preview, and deliveries."""

import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, Request, expect
from tests.e2e.dashboard.conftest import LOOKS, Visitor
from tests.e2e.dashboard.served import ServedDashboard, serve_dashboard

Visit = Callable[..., Visitor]
CHANNELS = {
    "TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example",
    "BOTCHAT_BOT_TOKEN": "123456789:AAexampleEXAMPLE_example-example",
    "GUILDCHAT_BOT_TOKEN": "MTAwMDAwexampleMDAw.Gexamp.exampleexampleexample",
    "SMTP_HOST": "127.0.0.1",
    "SMTP_USER": "alerts@example.org",
    "SMTP_PASS": "made up",
}
PROFILES = """
oncall:
  - {channel: slack, target: "#ops"}
  - {channel: telegram, target: "123456789"}
  - {channel: discord, target: "100000000000000001"}
  - {channel: email, target: ops@example.org}
  - {channel: slack, target: "#loud", min_priority: urgent}
"""


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDashboard]:
    """Serve an installation with channels and a profile."""
    folder = tmp_path_factory.mktemp("messages")
    (folder / "profiles.yaml").write_text(PROFILES)
    (folder / "profiles.yaml").chmod(0o600)
    with serve_dashboard(folder, CHANNELS) as served:
        yield served


def compose(page: Page, to: str, text: str, target: str = "") -> None:
    page.get_by_role("combobox", name="To").select_option(to)
    if target:
        page.get_by_label("Target").fill(target)
    page.get_by_label("Message", exact=True).fill(text)


def more(page: Page) -> None:
    page.get_by_text("More fields").click()


# --- the composer


@pytest.mark.parametrize(("theme", "size"), LOOKS)
def test_the_composer_shows_the_message_as_each_product_of_a_profile_would(
    visit: Visit, theme: str, size: tuple[int, int]
):
    visitor = visit(size, theme)
    page = visitor.open("#/msg")
    compose(page, "profile:oncall", "Root is **91 %** full")
    more(page)
    page.get_by_label("Title").fill("web1")
    page.get_by_label("Format of the message").select_option("markdown")
    page.get_by_label("Type").select_option("warning")
    page.get_by_label("Mention").fill("@here")
    page.get_by_role("button", name="Add a button").click()
    page.get_by_label("Label of button 1").fill("Graph")
    page.get_by_label("Address of button 1").fill("https://graphs.example/web1")
    slack, telegram, discord, mail = (
        page.get_by_role("article", name=name) for name in ("Slack #ops", "Telegram", "Discord", "E-mail")
    )
    expect(slack.locator(".message__card")).to_have_css("border-inline-start-color", "rgb(236, 178, 46)")
    expect(slack.locator(".message__mention")).to_have_text("@here")
    expect(slack.get_by_role("link", name="Graph")).to_have_attribute("href", "https://graphs.example/web1")
    expect(telegram.locator(".message__words strong").last).to_have_text("91 %")
    expect(telegram.get_by_text("@here is left out")).to_be_visible()
    expect(discord.locator(".message__card .message__title")).to_have_text("web1")
    expect(mail.locator("dt", has_text="Subject")).to_be_visible()
    expect(page.get_by_role("article", name="Slack #loud")).to_contain_text("min_priority")
    expect(page.get_by_role("status").filter(has_text="Preview for 5 targets")).to_have_count(1)
    assert visitor.violations() == []
    assert visitor.overflow() <= 0


def test_a_preview_of_a_profile_is_one_request_and_sends_nothing(visit: Visit, dashboard: ServedDashboard):
    asked: list[Request] = []
    page = visit().open("#/msg")
    page.on("request", lambda request: asked.append(request) if request.method == "POST" else None)
    compose(page, "profile:oncall", "hello")
    expect(page.get_by_role("article", name="Discord")).to_contain_text("hello")
    assert [(request.url.split("/api/")[1], request.post_data_json["dry_run"]) for request in asked] == [
        ("msg/profiles/oncall/send", True)
    ]
    assert dashboard.transport.sent == []


def test_a_wrong_field_is_named_beside_it_and_a_refusal_where_the_message_would_be(visit: Visit):
    visitor = visit()
    visitor.expected = ("422",)
    page = visitor.open("#/msg")
    compose(page, "channel:teamchat", "hello", "nowhere at all")
    expect(page.locator(".outcome__note--bad")).to_contain_text("not a valid target")
    page.get_by_label("Target").fill("#ops")
    more(page)
    page.get_by_label("Link", exact=True).fill("javascript:alert(1)")
    expect(page.get_by_label("Link", exact=True)).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("not a web address")).to_be_visible()
    assert visitor.violations() == []


def test_a_message_with_fields_is_written_and_sent_by_keyboard(visit: Visit, dashboard: ServedDashboard):
    dashboard.transport.will_answer({"ok": True, "channel": "C0OPS", "ts": "1503435956.000247"})
    page = visit().open("#/msg")
    compose(page, "channel:teamchat", "", "#ops")
    page.get_by_label("Message", exact=True).focus()
    page.keyboard.type("Root is full")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # opens the other fields
    page.keyboard.press("Tab")
    page.keyboard.type("web1")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".composer__results")).to_contain_text("Sent")
    sent = json.loads(dashboard.transport.sent[-1].body)
    assert (sent["channel"], sent["blocks"][0]["text"]["text"]) == ("#ops", "web1")
    expect(page.get_by_label("Title")).to_have_value("")


def test_what_was_typed_survives_a_reload(visit: Visit):
    page = visit().open("#/msg")
    compose(page, "profile:oncall", "half a sentence")
    more(page)
    page.get_by_label("Title").fill("web1")
    page.reload()
    expect(page.get_by_label("Message", exact=True)).to_have_value("half a sentence")
    expect(page.get_by_text("(1 filled in)")).to_be_visible()
