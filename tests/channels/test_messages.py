"""What each product is sent for title, urgency, links, buttons and mentions (docs/messages.md)."""

import json
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import pytest
from tests.facts import mentions

from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.content import read_content
from tocsin.channels.contract import OutboundAdapter, Outgoing
from tocsin.channels.email import EmailAdapter
from tocsin.channels.guildchat import GuildchatAdapter
from tocsin.channels.model import COMMONMARK, PLAIN
from tocsin.channels.teamchat import TeamchatAdapter
from tocsin.core.errors import ChannelError
from tocsin.core.http.direct import DirectTransport
from tocsin.testing import ScriptedTransport, build_adapter
from tocsin_standins.mail import PASSWORD, USER, MailServer

ENVIRONMENTS = {
    TeamchatAdapter: {"TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example"},
    BotchatAdapter: {"BOTCHAT_BOT_TOKEN": "123456789:AAexampleEXAMPLE_example-example"},
    GuildchatAdapter: {"GUILDCHAT_BOT_TOKEN": "MTAwMDAwexampleMDAw.Gexamp.exampleexampleexample"},
}
ANSWERS: dict[type[OutboundAdapter], dict[str, Any]] = {
    TeamchatAdapter: {"ok": True, "channel": "C0GENERAL", "ts": "1503435956.000247"},
    BotchatAdapter: {"ok": True, "result": {"message_id": 5, "chat": {"id": 7}}},
    GuildchatAdapter: {"id": "1400000000000000001", "channel_id": "100000000000000001"},
}
TARGETS = {TeamchatAdapter: "#ops", BotchatAdapter: "1001", GuildchatAdapter: "100000000000000001"}
RUN_BOOK = {"label": "Run book", "url": "https://wiki.example/run"}


async def wire(kind: type[OutboundAdapter], text: str, mode: str = "", **content: Any) -> dict[str, Any]:
    """Send one message and return the JSON that the provider was sent."""
    http = ScriptedTransport()
    http.will_answer(ANSWERS[kind])
    receipt = await build_adapter(kind, ENVIRONMENTS[kind], http=http).transmit(
        Outgoing(TARGETS[kind], text, parse_mode=mode, content=content)
    )
    assert receipt.result.ok, receipt.result.error
    [sent] = http.sent
    document: dict[str, Any] = json.loads(sent.body)
    return document


# --- reading


def test_a_priority_is_a_number_or_a_word():
    found = [read_content({"priority": given}) for given in ("urgent", 5, "min")]
    assert [each.priority if each else None for each in found] == [5, 5, 1]


def test_a_low_priority_makes_no_sound():
    found = read_content({"priority": "low"})
    assert found is not None
    assert found.quiet


def test_a_stored_content_is_read_back_as_it_was():
    content = read_content({"title": "T", "priority": 4, "actions": [RUN_BOOK], "mention": "@here", "silent": True})
    assert content is not None
    assert read_content(json.loads(json.dumps(content.as_stored()))) == content


def test_each_wrong_field_is_named():
    with pytest.raises(ChannelError) as refusal:
        read_content({"title": "x" * 251, "type": "panic"})
    assert mentions(str(refusal.value), "title", "250", "type")


# --- Slack


async def test_slack_shows_a_title_as_header_and_repeats_all_in_the_text_of_the_notification():
    body = await wire(TeamchatAdapter, "a < b", title="Disk & co", priority=5)
    assert body["blocks"][0] == {
        "type": "header",
        "text": {"type": "plain_text", "text": "🚨 Disk & co", "emoji": False},
    }
    assert body["blocks"][1]["text"] == {"type": "mrkdwn", "text": "a &lt; b"}
    assert body["text"] == "🚨 Disk &amp; co\na &lt; b"


async def test_slack_shows_a_type_as_a_coloured_bar_below_the_header():
    body = await wire(TeamchatAdapter, "91 %", title="Disk", type="warning")
    assert [block["type"] for block in body["blocks"]] == ["header"]
    [bar] = body["attachments"]
    assert bar["color"] == "#ECB22E"
    assert bar["blocks"][0]["text"]["text"] == "91 %"


async def test_slack_shows_links_as_buttons():
    body = await wire(TeamchatAdapter, "91 %", click="https://graphs.example/d", actions=[RUN_BOOK])
    buttons = body["blocks"][-1]["elements"]
    assert [(each["text"]["text"], each["url"]) for each in buttons] == [
        ("Open", "https://graphs.example/d"),
        ("Run book", "https://wiki.example/run"),
    ]
    assert len({each["action_id"] for each in buttons}) == 2


async def test_slack_mentions_exactly_those_who_are_named_and_nobody_of_the_text():
    body = await wire(TeamchatAdapter, "hello <!channel>", mention=["@here", "U0ADA", "@anna"])
    assert body["blocks"][0]["text"]["text"] == "<!here> <@U0ADA>"
    assert "&lt;!channel&gt;" in body["text"]


async def test_a_silent_message_on_slack_names_people_without_a_mention():
    body = await wire(TeamchatAdapter, "hello", mention=["@here"], silent=True)
    assert body["blocks"][0]["text"]["text"] == "@here"


async def test_a_long_text_with_a_title_goes_to_slack_in_messages_that_it_accepts():
    http = ScriptedTransport()
    for _ in range(4):
        http.will_answer(ANSWERS[TeamchatAdapter])
    adapter = build_adapter(TeamchatAdapter, ENVIRONMENTS[TeamchatAdapter], http=http)
    text = "\n".join(f"line {number} of the report" for number in range(1_000))
    receipt = await adapter.transmit(Outgoing("#ops", text, content={"title": "Report", "actions": [RUN_BOOK]}))
    bodies = [json.loads(sent.body) for sent in http.sent]
    assert receipt.parts_sent == len(bodies) > 1
    assert all(sum(len(block["text"]["text"]) for block in b["blocks"] if "text" in block) <= 12_000 for b in bodies)
    assert all(len(block["text"]["text"]) <= 3_000 for b in bodies for block in b["blocks"] if "text" in block)
    assert bodies[0]["blocks"][0]["type"] == "header"
    assert [any(block["type"] == "actions" for block in b["blocks"]) for b in bodies].index(True) == len(bodies) - 1


# --- Telegram


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("HTML", "<b>✅ a_b &lt;c&gt;</b>\nhello"),
        ("MarkdownV2", "*✅ a\\_b <c\\>*\nhello"),
        ("Markdown", "✅ a\\_b <c>\nhello"),
    ],
)
async def test_telegram_shows_a_title_as_bold_first_line_in_the_markup_of_the_text(mode: str, text: str):
    body = await wire(BotchatAdapter, "hello", mode, title="a_b <c>", type="success")
    assert (body["text"], body["parse_mode"]) == (text, mode)


@pytest.mark.parametrize("mode", [PLAIN, COMMONMARK])
async def test_telegram_makes_title_and_users_ranges_where_the_text_has_no_markup(mode: str):
    body = await wire(BotchatAdapter, "hello", mode, title="😀 a_b", mention=["123456789", "@anna_k"])
    text, ranges = body["text"], body["entities"]
    wide = text.encode("utf-16-le")
    shown = {
        each["type"]: wide[2 * each["offset"] : 2 * (each["offset"] + each["length"])].decode("utf-16-le")
        for each in ranges
    }
    assert shown == {"bold": "😀 a_b", "text_link": "123456789"}
    assert text.endswith("123456789 @anna_k")
    assert [each.get("url") for each in ranges if each["type"] == "text_link"] == ["tg://user?id=123456789"]


async def test_telegram_shows_links_as_buttons_and_is_quiet():
    body = await wire(BotchatAdapter, "91 %", click="https://graphs.example/d", actions=[RUN_BOOK], priority="low")
    assert body["reply_markup"]["inline_keyboard"] == [
        [{"text": "Open", "url": "https://graphs.example/d"}],
        [{"text": "Run book", "url": "https://wiki.example/run"}],
    ]
    assert body["disable_notification"] is True


# --- Discord


async def test_discord_shows_title_and_colour_in_an_embed_that_is_not_suppressed():
    body = await wire(GuildchatAdapter, "91 %", title="Disk", type="failure", click="https://graphs.example/d")
    assert body["embeds"] == [
        {"title": "Disk", "description": "91 %", "url": "https://graphs.example/d", "color": 0xE01E5A}
    ]
    assert body["flags"] & 4 == 0
    assert body["content"] == ""


async def test_discord_has_room_for_a_text_of_4096_characters_in_an_embed():
    assert len((await wire(GuildchatAdapter, "x" * 4_096, title="T"))["embeds"][0]["description"]) == 4_096
    adapter = build_adapter(GuildchatAdapter, ENVIRONMENTS[GuildchatAdapter], http=ScriptedTransport())
    receipt = await adapter.transmit(Outgoing(TARGETS[GuildchatAdapter], "x" * 4_097, content={"title": "T"}))
    assert mentions(receipt.result.error, "4,097", "4,096")


async def test_discord_allows_exactly_the_mentions_that_are_named():
    names = ["@channel", "100000000000000009", "&100000000000000008", "@anna"]
    body = await wire(GuildchatAdapter, "hello @everyone <@100000000000000007>", mention=names)
    assert body["content"].startswith("@everyone <@100000000000000009> <@&100000000000000008>\n")
    assert body["allowed_mentions"] == {
        "parse": ["everyone"],
        "users": ["100000000000000009"],
        "roles": ["100000000000000008"],
    }


async def test_a_silent_message_on_discord_keeps_its_mention_and_suppresses_the_notification():
    body = await wire(GuildchatAdapter, "hello", mention="@here", silent=True)
    assert body["flags"] == 4096 | 4
    assert body["content"] == "@here\nhello"


async def test_an_address_too_long_for_a_button_on_discord_is_a_line():
    long = f"https://x.example/{'a' * 600}"
    body = await wire(GuildchatAdapter, "hello", title="T", actions=[RUN_BOOK, {"label": "Long", "url": long}])
    assert [each["label"] for row in body["components"] for each in row["components"]] == ["Run book"]
    assert body["embeds"][0]["description"] == f"hello\n\nLong: {long}"


# --- e-mail


async def mailed(text: str, mode: str = "", **content: Any) -> EmailMessage:
    async with MailServer(mode="plain") as server:
        env = {"SMTP_HOST": "127.0.0.1", "SMTP_PORT": str(server.port), "SMTP_USER": USER, "SMTP_PASS": PASSWORD}
        adapter = build_adapter(EmailAdapter, {**env, "SMTP_TLS": "none"}, http=DirectTransport())
        receipt = await adapter.transmit(Outgoing("ops@example.org", text, parse_mode=mode, content=content))
        assert receipt.result.ok, receipt.result.error
        [mail] = server.recorder.of("email")
        found = message_from_bytes(str(mail.body).encode(), policy=policy.default)
        assert isinstance(found, EmailMessage)
        return found


async def test_the_title_of_a_mail_is_its_subject_and_the_whole_text_its_body():
    mail = await mailed("first line\nsecond", title="Disk full")
    assert mail["Subject"] == "Disk full"
    assert mail.get_content().split() == ["first", "line", "second"]
    assert mail["Importance"] is None


@pytest.mark.parametrize(("priority", "headers"), [(5, ("high", "1")), (1, ("low", "5")), (3, (None, None))])
async def test_the_priority_of_a_mail_is_in_both_headers_or_in_none(priority: int, headers: tuple[str | None, ...]):
    mail = await mailed("hello", title="T", priority=priority)
    assert (mail["Importance"], mail["X-Priority"]) == headers


async def test_the_links_of_a_mail_are_lines_and_in_html_links_below_a_coloured_bar():
    mail = await mailed("a < b", type="failure", click="https://graphs.example/d?x=1&y=2", actions=[RUN_BOOK])
    plain, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert mentions(plain.get_content(), "a < b", "https://graphs.example/d?x=1&y=2", "Run book: https://wiki.example")
    assert mentions(html.get_content(), "a &lt; b", 'href="https://graphs.example/d?x=1&amp;y=2"', "#e01e5a")
