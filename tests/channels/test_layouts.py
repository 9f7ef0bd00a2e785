"""How a message looks on each product (docs/messages.md, "Preview"), made from what would be sent."""

from collections.abc import Iterable
from typing import Any

import pytest
from tests.channels.test_messages import ENVIRONMENTS, RUN_BOOK, TARGETS

from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.contract import OutboundAdapter, Outgoing
from tocsin.channels.devicemsg import DevicemsgAdapter
from tocsin.channels.email import EmailAdapter
from tocsin.channels.guildchat import GuildchatAdapter
from tocsin.channels.layout.html import html_spans
from tocsin.channels.layout.marks import MarkRules, marked_spans
from tocsin.channels.layout.model import BlockKind, LayoutLook, MessageLayout, TextSpan, ranged_spans, text_block
from tocsin.channels.model import COMMONMARK, PLAIN
from tocsin.channels.teamchat import TeamchatAdapter
from tocsin.testing import build_adapter

MAIL = {"SMTP_HOST": "127.0.0.1", "SMTP_USER": "alerts@example.org", "SMTP_PASS": "made up"}
MARKDOWN = "Root is **91 %** `full`, see [wiki](https://wiki.example/x)\n\n> quoted\n\n```sh\ndf -h\n```"
RULES = MarkRules({"**": "bold", "*": "italic"}, escapes=True)


def layout(kind: type[OutboundAdapter], text: str, mode: str = "", **content: Any) -> MessageLayout:
    """Return the layout of a message of one part."""
    others = {EmailAdapter: (MAIL, "ops@example.org"), DevicemsgAdapter: ({}, "+15551234567")}
    env, target = others.get(kind) or (ENVIRONMENTS[kind], TARGETS[kind])
    [part] = build_adapter(kind, env).dresser.plan(Outgoing(target, text, parse_mode=mode, content=content)).parts
    return part.layout


def spans(found: MessageLayout) -> list[TextSpan]:
    """Return all spans of a layout."""
    return [span for section in found.sections for block in section.blocks for span in block.spans]


def styled(found: Iterable[TextSpan]) -> list[tuple[str, ...]]:
    """Return the formatted spans as text, styles and address."""
    return [(span.text, *span.styles, span.url) for span in found if span.styles or span.url]


# --- products


@pytest.mark.parametrize("kind", [TeamchatAdapter, BotchatAdapter, GuildchatAdapter, EmailAdapter])
def test_markdown_is_shown_with_the_formatting_that_the_product_gives_it(kind: type[OutboundAdapter]):
    title = {"title": "web1"} if kind is EmailAdapter else {}
    assert styled(spans(layout(kind, MARKDOWN, COMMONMARK, **title))) == [
        ("91 %", "bold", ""),
        ("full", "code", ""),
        ("wiki", "https://wiki.example/x"),
        ("quoted", "quote", ""),
        ("df -h", "pre", ""),
    ]


@pytest.mark.parametrize("kind", [TeamchatAdapter, BotchatAdapter, GuildchatAdapter, DevicemsgAdapter])
def test_the_marks_of_a_plain_text_are_text(kind: type[OutboundAdapter]):
    text = "cp *.log <x> & a_b_c [y](z) ~/q"
    assert "".join(span.text for span in spans(layout(kind, text, PLAIN))) == text


def test_slack_shows_a_header_and_below_it_a_bar_with_text_and_buttons():
    found = layout(TeamchatAdapter, "91 % full", title="web1", type="warning", actions=[RUN_BOOK])
    head, card = found.sections
    assert (found.look, head.blocks[0].kind, head.blocks[0].spans[0].text) == (LayoutLook.POST, BlockKind.TITLE, "web1")
    assert (card.card, card.colour, [block.kind for block in card.blocks]) == (True, "#ECB22E", ["text", "buttons"])
    assert [(each.label, each.url) for each in card.blocks[1].buttons] == [("Run book", RUN_BOOK["url"])]


def test_slack_shows_a_mention_as_one_and_an_escaped_one_as_text():
    found = styled(spans(layout(TeamchatAdapter, "call <!channel>", mention=["@here"])))
    assert found == [("@here", "mention", "")]


def test_telegram_shows_a_bubble_with_each_button_in_a_row_below():
    found = layout(BotchatAdapter, "91 % full", PLAIN, title="web1", click="https://x.example/", actions=[RUN_BOOK])
    text, keys = found.sections
    assert (found.look, text.blocks[0].spans[0]) == (LayoutLook.CHAT, TextSpan("web1", ("bold",)))
    assert [[each.label for each in block.buttons] for block in keys.blocks] == [["Open"], ["Run book"]]


@pytest.mark.parametrize(
    ("mode", "text"),
    [("MarkdownV2", "a *b* [c](https://c.example/)\\."), ("HTML", 'a <b>b</b> <a href="https://c.example/">c</a>.')],
)
def test_telegram_shows_the_markup_of_its_own_modes(mode: str, text: str):
    found = spans(layout(BotchatAdapter, text, mode))
    assert "".join(span.text for span in found) == "a b c."
    assert styled(found) == [("b", "bold", ""), ("c", "https://c.example/")]


def test_discord_shows_an_embed_whose_title_is_the_link_and_its_colour_as_a_bar():
    found = layout(GuildchatAdapter, "91 % full", title="web1", type="success", click="https://x.example/")
    [card] = found.sections
    assert (found.look, card.card, card.colour) == (LayoutLook.CARD, True, "#2EB67D")
    assert card.blocks[0].spans == (TextSpan("web1", url="https://x.example/"),)


def test_a_mail_shows_its_headers_and_the_html_part_with_its_bar():
    found = layout(EmailAdapter, "91 % full", title="web1", priority=5, type="failure", actions=[RUN_BOOK])
    assert [(each.name, each.value) for each in found.headers] == [
        ("From", "alerts@example.org"),
        ("To", "ops@example.org"),
        ("Subject", "web1"),
        ("Importance", "high"),
    ]
    [section] = found.sections
    assert (found.look, section.card, section.colour) == (LayoutLook.MAIL, True, "#e01e5a")
    assert styled(spans(found)) == [("Run book", RUN_BOOK["url"])]


def test_another_channel_shows_the_text_that_it_would_send():
    found = layout(DevicemsgAdapter, "91 % full", title="web1")
    assert (found.look, [span.text for span in spans(found)]) == (LayoutLook.TEXT, ["web1\n91 % full"])


@pytest.mark.parametrize("kind", [BotchatAdapter, GuildchatAdapter])
def test_a_quiet_message_is_said_to_be_one(kind: type[OutboundAdapter]):
    assert layout(kind, "hello", priority="low").silent
    assert not layout(kind, "hello", title="T").silent


def test_each_part_has_its_own_layout_and_only_the_last_one_has_the_buttons():
    adapter = build_adapter(BotchatAdapter, ENVIRONMENTS[BotchatAdapter])
    outgoing = Outgoing("1001", "word " * 1_000, content={"actions": [RUN_BOOK]})
    parts = adapter.dresser.plan(outgoing).parts
    assert [len(part.layout.sections) for part in parts] == [1, 2]


# --- markup


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a **b *c* d** e", [("b ", "bold", ""), ("c", "bold", "italic", ""), (" d", "bold", "")]),
        ("2 * 3 * 4", []),
        ("a*b*c", []),
        ("**open", []),
        (r"\*a\*", []),
        ("`a *b*` c", [("a *b*", "code", "")]),
        ("```sh\na *b*\n```", [("a *b*", "pre", "")]),
    ],
)
def test_a_mark_acts_only_where_it_is_closed_beside_a_word(text: str, found: list[tuple[str, ...]]):
    assert styled(marked_spans(text, RULES)) == found


def test_a_text_of_many_open_marks_is_read_at_once():
    text = "*a " * 20_000
    assert "".join(span.text for span in marked_spans(text, RULES)) == text


def test_html_is_read_as_its_reader_sees_it():
    source = "<p>a\n<b>b</b></p><ul><li>c</li><li>d</li></ul><ol start='3'><li>e</li></ol><style>x</style><p>f<br>g</p>"
    assert "".join(span.text for span in html_spans(source)) == "a b\n\n• c\n• d\n\n3. e\n\nf\ng"


def test_ranges_count_utf_16_units():
    found = list(ranged_spans("🔔 bell", [{"offset": 3, "length": 4, "style": "bold"}]))
    assert found == [TextSpan("🔔 "), TextSpan("bell", ("bold",))]


def test_the_line_end_of_a_quote_stands_outside_it():
    block = text_block([TextSpan("a\n", ("quote",)), TextSpan("b\n", ("quote",)), TextSpan("c")])
    assert block.spans == (TextSpan("a\nb", ("quote",)), TextSpan("\n"), TextSpan("c"))
