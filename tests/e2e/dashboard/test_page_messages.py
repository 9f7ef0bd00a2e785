"""The pages of messages: the composer with its preview, and deliveries."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping

import pytest
from playwright.sync_api import Page, Request, expect
from tests.e2e.dashboard.conftest import Visitor
from tests.e2e.dashboard.served import ServedDashboard, serve_dashboard

from tocsin.assembly.program import App
from tocsin.channels.registry import discover
from tocsin.delivery.model import DeliveryStatus
from tocsin.delivery.store import DeliveryFilter
from tocsin.messaging.inbound.audit_actions import INBOX, MSG_PRESS
from tocsin.messaging.outbound.caller import Caller

Visit = Callable[..., Visitor]
CHANNELS = {
    "TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example",
    "TEAMCHAT_SIGNING_SECRET": "00112233445566778899aabbccddeeff",
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


@pytest.fixture(autouse=True)
def of_this_test_alone(dashboard: ServedDashboard) -> None:
    """Forget the answers and requests of earlier tests."""
    dashboard.transport.script.clear()
    dashboard.transport.sent.clear()


def compose(page: Page, to: str, text: str, target: str = "") -> None:
    page.get_by_role("combobox", name="To").select_option(to)
    if target:
        page.get_by_label("Target").fill(target)
    page.get_by_label("Message", exact=True).fill(text)


def more(page: Page) -> None:
    page.get_by_text("More fields").click()


# --- the composer


def test_the_composer_shows_the_message_as_each_product_of_a_profile_would(visit: Visit):
    visitor = visit()
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
    assert visitor.in_every_look() == []


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


def test_a_button_that_starts_something_is_shown_in_the_preview(visit: Visit):
    visitor = visit()
    visitor.expected = ("422",)
    page = visitor.open("#/msg")
    compose(page, "channel:botchat", "Disk is full", "123456789")
    more(page)
    page.get_by_role("button", name="Add a button").click()
    page.get_by_label("What button 1 does").select_option("call")
    page.get_by_label("Label of button 1").fill("Clean up")
    page.get_by_label("What button 1 starts").fill("Job Cleanup")
    expect(page.locator("#field-actions")).to_have_attribute("aria-describedby", "field-actions-problem")
    page.get_by_label("What button 1 starts").fill("job:cleanup")
    page.get_by_label("Value of button 1").fill("web1")
    expect(page.locator(".message__button")).to_have_text("Clean up")
    assert visitor.violations("main") == []


def test_each_channel_is_shown_with_the_letter_of_its_name(visit: Visit):
    page = visit().open("#/msg")
    cards = page.locator("ul.channels > li")
    expect(cards.first).to_be_visible()
    names = [name.strip() for name in cards.locator(".channel__name").all_inner_texts()]
    assert {name.split()[-1] for name in names} >= {"Slack", "Matrix", "Mattermost", "ntfy", "Teams", "Webhook"}
    labels = sorted((each.spec.label for each in discover().classes), key=len)
    shown = [next(label for label in reversed(labels) if name.endswith(label)) for name in names]
    marks = cards.locator("svg.channel-mark").all_text_contents()
    assert [mark.strip() for mark in marks] == [label[0].upper() for label in shown]


def test_what_was_typed_survives_a_reload(visit: Visit):
    page = visit().open("#/msg")
    compose(page, "profile:oncall", "half a sentence")
    more(page)
    page.get_by_label("Title").fill("web1")
    page.reload()
    expect(page.get_by_label("Message", exact=True)).to_have_value("half a sentence")
    expect(page.get_by_text("(1 filled in)")).to_be_visible()


# --- files

PNG = bytes.fromhex(  # 2 by 2 pixels
    "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a73000000"
    "1049444154789c63f8cfc000440c100a001fee03fd8b5f14d40000000049454e44ae426082"
)
HOSTILE = 'invoice\u202egnp.exe"><img src=x onerror=alert(1)>.txt'


def choose(page: Page, *files: tuple[str, str, bytes]) -> None:
    page.locator("input[type=file]").set_input_files(
        [{"name": name, "mimeType": kind, "buffer": data} for name, kind, data in files]
    )


def test_the_composer_lists_files_and_shows_them_as_each_product_would(visit: Visit):
    visitor = visit()
    page = visitor.open("#/msg")
    compose(page, "profile:oncall", "Root is full")
    expect(page.get_by_text("At most 10 files, 50 MiB together")).to_be_visible()
    choose(page, ("graph.png", "image/png", PNG), ("df.log", "text/plain", b"x" * 4_096))
    chosen = page.get_by_role("group", name="Files").get_by_role("listitem")
    expect(chosen).to_have_text(["graph.png 73 B", "df.log 4.0 KiB"])
    expect(page.get_by_text("2 of 10 files, 4.1 KiB of 50 MiB")).to_be_visible()
    slack, telegram, discord, mail = (
        page.get_by_role("article", name=name) for name in ("Slack #ops", "Telegram", "Discord", "E-mail")
    )
    for product in (slack, telegram, discord, mail):
        expect(product.get_by_role("img", name="graph.png")).to_be_visible()
        expect(product.get_by_text("df.log")).to_be_visible()
    expect(slack.locator(".message")).to_have_count(2)  # the files stand in the thread
    expect(telegram.locator(".message")).to_have_count(3)  # a picture and a file are no album
    expect(mail.locator(".message")).to_have_count(1)
    assert visitor.in_every_look() == []
    page.get_by_role("button", name="Remove the file df.log").click()
    expect(chosen).to_have_count(1)
    expect(mail.get_by_text("df.log")).to_have_count(0)


def test_files_are_dropped_and_images_are_pasted(visit: Visit):
    page = visit().open("#/msg")
    compose(page, "channel:teamchat", "Root is full", "#ops")
    give = """([type, property, names]) => {
        const data = new DataTransfer();
        const typeOf = (name) => (name.endsWith("g") ? "image/png" : "");
        for (const name of names) data.items.add(new File(["x"], name, { type: typeOf(name) }));
        const given = { bubbles: true, cancelable: true, [property[1]]: data };
        document.querySelector(".composer__text textarea").dispatchEvent(new globalThis[type](property[0], given));
    }"""
    page.evaluate(give, ["DragEvent", ["drop", "dataTransfer"], ["a.txt", "b.txt"]])
    page.evaluate(give, ["ClipboardEvent", ["paste", "clipboardData"], ["image.png"]])
    listed = page.get_by_role("group", name="Files").get_by_role("listitem")
    expect(listed).to_have_text(["a.txt 1 B", "b.txt 1 B", "image.png 1 B"])
    expect(page.get_by_label("Message", exact=True)).to_have_value("Root is full")


def test_a_file_that_cannot_be_sent_is_named_beside_the_others(visit: Visit):
    visitor = visit()
    visitor.expected = ("422",)
    page = visitor.open("#/msg")
    compose(page, "channel:teamchat", "Root is full", "#ops")
    files, alert = page.get_by_role("group", name="Files"), page.get_by_role("group", name="Files").get_by_role("alert")
    choose(page, ("a.log", "text/plain", b""))
    expect(alert).to_have_text("a.log is empty.")
    choose(page, *((f"{number}.log", "text/plain", b"x") for number in range(11)))
    expect(alert).to_have_text("A message has at most 10 files.")
    expect(files.get_by_role("listitem")).to_have_count(10)
    for number in range(10):
        page.get_by_role("button", name=f"Remove the file {number}.log").click()
    choose(page, (HOSTILE, "text/plain", b"x"))
    expect(alert).to_contain_text("not the name of a file")
    expect(files.get_by_role("listitem")).to_contain_text('invoice\ufffdgnp.exe"><img src=x onerror=alert(1)>.txt')
    assert visitor.violations("main") == []


def test_a_message_with_files_is_sent_and_its_delivery_shows_them(visit: Visit, dashboard: ServedDashboard):
    answers = dashboard.transport
    answers.will_answer({"ok": True, "channel": "C0OPS", "ts": "1503435956.000247"})
    page = visit().open("#/msg")
    compose(page, "channel:guildchat", "Root is full", "100000000000000001")
    page.get_by_text("Retry until the message is delivered").click()
    choose(page, ("graph.png", "image/png", PNG), ("<b>.html", "text/html", b"<script>alert(1)</script>"))
    page.get_by_role("button", name="Queue", exact=True).click()
    page.get_by_role("button", name="Show").click()
    files = page.get_by_role("region", name="Files")
    expect(files.get_by_role("listitem")).to_have_count(2)
    expect(files).to_contain_text("73 B")
    expect(files.get_by_role("img", name="graph.png")).to_have_js_property("naturalWidth", 2)
    expect(files.get_by_role("img")).to_have_count(1)
    with page.expect_download() as waiting:
        files.get_by_role("link", name="<b>.html").click()
    assert waiting.value.path().read_bytes() == b"<script>alert(1)</script>"


def test_a_delivery_with_files_is_for_everybody(visit: Visit, dashboard: ServedDashboard):
    async def work(app: App) -> str:
        attach = [
            {"name": name, "content": b64encode(data).decode()}
            for name, data in (("graph.png", PNG), ("a" * 190, b"x"))
        ]
        content = await app.files().take({"attach": attach})
        [queued] = await app.outbox.enqueue(
            [app.outbox.prepare("guildchat", "100000000000000001", "full", "cli", content=content)], Caller("cli")
        )
        return queued.id

    visitor = visit()
    page = visitor.open(f"#/deliveries/{dashboard.do(work)}")
    expect(page.get_by_role("img", name="graph.png")).to_be_visible()
    assert visitor.in_every_look() == []


def test_an_edit_removes_the_files_of_its_message(visit: Visit, dashboard: ServedDashboard):
    async def work(app: App) -> str:
        attach = [{"name": "a.log", "content": b64encode(b"x").decode()}]
        content = await app.files().take({"attach": attach, "key": "disk-files"})
        [queued] = await app.outbox.enqueue(
            [app.outbox.prepare("teamchat", "#files", "full", "cli", content=content)], Caller("cli")
        )
        return queued.id

    page = visit().open(f"#/msg?edit={dashboard.do(work)}")
    page.get_by_label("Remove the files of the message").check()
    page.get_by_text("Retry until the message is delivered").click()
    page.get_by_role("button", name="Replace", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Replace").click()
    expect(page.get_by_text("The message was queued.")).to_be_visible()

    async def newest(app: App) -> Mapping[str, object]:
        waiting = DeliveryFilter(target="#files", status=DeliveryStatus.QUEUED)
        return (await app.outbox.store.search(waiting)).items[0].content

    assert dashboard.do(newest) == {"key": "disk-files", "attach": []}


# --- deliveries


def send(dashboard: ServedDashboard, text: str, **fields: object) -> str:
    """Send a message with a key, and return the ID of its delivery."""
    dashboard.transport.will_answer({"ok": True, "channel": "C0OPS", "ts": "1503435956.000247"})
    content = {"key": "disk-web1", **fields}

    async def work(app: App) -> str:
        receipt = await app.messenger.send("teamchat", "#ops", text, Caller("gateway"), content=content)
        assert receipt.result.ok, receipt.result.error
        return receipt.delivery

    return dashboard.do(work)


def test_a_delivery_shows_its_fields_and_the_other_messages_of_its_key(visit: Visit, dashboard: ServedDashboard):
    first = send(dashboard, "Disk 91 % full", title="web1", type="failure", click="https://graphs.example/web1")
    second = send(dashboard, "Disk is fine again", type="success")
    visitor = visit()
    page = visitor.open(f"#/deliveries/{second}")
    facts = page.locator(".facts")
    expect(facts).to_contain_text("Edit")
    expect(facts).to_contain_text("disk-web1")
    revisions = page.get_by_role("region", name="Messages with this key")
    expect(revisions.locator("[aria-current=page]")).to_contain_text("Disk is fine again")
    revisions.locator(f"a[href='#/deliveries/{first}']").click()
    expect(page.locator(".delivery__message")).to_contain_text("Disk 91 % full")
    expect(page.get_by_role("link", name="https://graphs.example/web1")).to_be_visible()
    assert visitor.in_every_look() == []


def test_a_delivery_shows_who_pressed_which_of_its_buttons(visit: Visit, dashboard: ServedDashboard):
    button = {"action": "call", "label": "Acknowledge", "name": "ack"}
    delivery = send(dashboard, "Disk 91 % full", key="pressed", actions=[button])

    async def pressed(app: App) -> None:
        facts = {"channel": "teamchat", "target": "#ops", "delivery": delivery, "button": "ack", "sender": "U0ADA"}
        app.audit.record(MSG_PRESS, "ack on teamchat by Ada", source=INBOX.name, metadata=facts)

    page = visit().open(f"#/deliveries/{delivery}")
    expect(page.locator(".facts")).to_contain_text("Acknowledge")
    expect(page.get_by_role("region", name="Pressed buttons")).to_have_count(0)
    dashboard.do(pressed)
    page.reload()
    expect(page.get_by_role("region", name="Pressed buttons")).to_contain_text("ack on teamchat by Ada")


def test_the_list_of_deliveries_is_filtered_by_key(visit: Visit, dashboard: ServedDashboard):
    send(dashboard, "With another key", key="other")
    page = visit().open(f"#/deliveries/{send(dashboard, 'With the key', key='only-one')}")
    page.locator(".facts").get_by_role("link", name="only-one").click()
    expect(page.get_by_role("row").filter(has_text="With the key")).to_have_count(1)
    expect(page.get_by_role("row").filter(has_text="With another key")).to_have_count(0)
    expect(page.get_by_role("searchbox", name="Key")).to_have_value("only-one")


def test_a_message_with_a_key_is_edited_in_the_composer_after_a_question(visit: Visit, dashboard: ServedDashboard):
    delivery = send(dashboard, "Disk 91 % full", title="web1", key="edited", priority=4)
    page = visit().open(f"#/deliveries/{delivery}")
    page.get_by_role("link", name="Edit", exact=True).click()
    expect(page.get_by_role("heading", name="Edit the message edited")).to_be_visible()
    expect(page.get_by_label("Message", exact=True)).to_have_value("Disk 91 % full")
    page.get_by_label("Message", exact=True).fill("Disk is fine again")
    dashboard.transport.will_answer({"ok": True, "channel": "C0OPS", "ts": "1503435956.000247"})
    page.get_by_role("button", name="Replace").click()
    page.get_by_role("dialog").get_by_role("button", name="Replace").click()
    expect(page.get_by_role("region", name="Messages with this key").get_by_role("listitem")).to_have_count(2)
    sent = dashboard.transport.sent[-1]
    assert sent.url.endswith("chat.update")
    assert json.loads(sent.body)["blocks"][0]["text"]["text"].endswith("web1")


def test_a_message_with_a_key_is_withdrawn_after_a_question(visit: Visit, dashboard: ServedDashboard):
    delivery = send(dashboard, "Disk 91 % full", key="withdrawn")
    page = visit().open(f"#/deliveries/{delivery}")
    dashboard.transport.will_answer({"ok": True})
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
    expect(page.get_by_role("region", name="Messages with this key")).to_contain_text("Withdrawal")
    assert dashboard.transport.sent[-1].url.endswith("chat.delete")
    expect(page.get_by_role("button", name="Withdraw")).to_have_count(0)


# --- two forms


def test_a_heartbeat_is_created_and_changed_in_a_form_that_names_what_is_wrong(visit: Visit):
    visitor = visit()
    visitor.expected = ("422",)
    page = visitor.open("#/heartbeats/new")
    name = "nightly"
    page.get_by_label("Name").fill(name)
    page.get_by_label("Expected").select_option("schedule")
    page.get_by_label("Schedule", exact=False).fill("0 25 * * *")
    page.get_by_label("Grace").fill("soon")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#field-schedule")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#field-grace-problem")).to_be_visible()
    assert visitor.in_every_look() == []
    page.locator("#field-schedule").fill("0 3 * * *")
    page.locator("#field-grace").fill("30m")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    page.get_by_role("link", name="Edit", exact=True).click()
    expect(page.locator("#field-grace")).to_have_value("30m")
    page.get_by_label("Expected").select_option("period")
    page.locator("#field-period").fill("1h30m")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    expect(page.locator(".facts")).to_contain_text("Every 1 h 30 min")


def test_a_new_token_is_limited_to_the_profiles_that_are_chosen(visit: Visit):
    visitor = visit()
    page = visitor.open("#/settings?tab=tokens")
    page.get_by_role("button", name="New token").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("alerts")
    dialog.get_by_label("Scopes").select_option("send")
    dialog.get_by_label("oncall").check()
    assert visitor.violations() == []
    dialog.get_by_role("button", name="Create").click()
    page.get_by_role("button", name="Done").click()
    expect(page.get_by_role("row").filter(has_text="alerts")).to_contain_text("oncall")
