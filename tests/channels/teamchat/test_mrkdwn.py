"""Markdown on teamchat: mrkdwn (docs/facts/teamchat.md). A border is U+200B."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.text.markup.soup import markdown_soup

from tocsin.channels.contract import COMMONMARK, PLAIN, Outgoing, Receipt
from tocsin.channels.teamchat import TeamchatAdapter
from tocsin.channels.teamchat.mrkdwn import LiteralMrkdwn, Mrkdwn
from tocsin.core.text.markup import literal, render
from tocsin.testing import ScriptedTransport, build_adapter

ENV = {"TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example"}
POSTED = {"ok": True, "channel": "C0GENERAL", "ts": "1503435956.000247"}


def shown(source: str) -> str:
    (part,) = render(source, Mrkdwn(4_000))
    assert part.markup == ()
    return part.text.replace("\u200b", "¦")


async def send(text: str, mode: str, **env: str) -> tuple[Receipt, list[dict[str, object]]]:
    http = ScriptedTransport().will_answer(POSTED)
    adapter = build_adapter(TeamchatAdapter, ENV | env, http=http)
    receipt = await adapter.transmit(Outgoing("#ops", text, parse_mode=mode))
    return receipt, [request.json() for request in http.sent]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("**a** *b* ~~c~~ `d`", "*a* _b_ ~c~ `d`"),
        ("**a *b* c**", "*a _b_ c*"),
        ("**a `b`**", "*a `b`*"),
        ("x**a**y", "x¦*a*¦y"),
        ("中**文**字", "中¦*文*¦字"),
        ("(**a**), **b**: **c**.", "(*a*), *b*: *c*."),
        ("**a**`b`*c*", "*a*¦`b`¦_c_"),
        ("**a**[b](https://c.d)**e**", "*a*¦<https://c.d|b>¦*e*"),
        ("**a\nb** c", "*a*\n*b* c"),
        ("**a ** b", "**a ** b"),
        ("[a](https://b.c/d?e=1&f=|g)", "<https://b.c/d?e=1&amp;f=%7Cg|a>"),
        ("[a > **b**](https://c.d)", "<https://c.d|a &gt; b>"),
        ("**[a](https://b.c)**", "*<https://b.c|a>*"),
        ("<https://a.b/c>", "https://a.b/c"),
        ("[a](mailto:b@c.d)", "<mailto:b@c.d|a>"),
        ("[a](javascript:b)", "a"),
        ("![a](https://b.c/d.png)", "<https://b.c/d.png|a>"),
        ("# a *b*", "*a _b_*"),
        ("- a\n  - **b**\n- c", "• a\n  • *b*\n• c"),
        ("> a\n> **b**\n>\n> c", "> a\n> *b*\n> \n> c"),
        ("```py\na < b & `c`\n```", "```\na &lt; b &amp; `c`\n```"),
        ("````\n```\na\n```\n````", "```\n``¦`\na\n``¦`\n```"),
        ("``a`b``", "a`b"),
        ("`<a>`", "`&lt;a&gt;`"),
        ("|a|漢|\n|-|-|\n|1|2|", "```\na | 漢\n--+---\n1 | 2\n```"),
        ("<b> & <!channel> <@U1>", "&lt;b&gt; &amp; &lt;!channel&gt; &lt;@U1&gt;"),
        ("a\nb  \nc", "a\nb\nc"),
    ],
)
def test_markdown_becomes_mrkdwn(source: str, text: str):
    assert shown(source) == text


def test_an_address_that_leaves_no_room_for_its_label_stands_behind_it():
    url = "https://a.b/" + "c" * 100
    assert [part.text for part in render(f"[x]({url})", Mrkdwn(400))] == [f"x ({url})"]
    assert shown(f"[x]({url})") == f"<{url}|x>"


@given(markdown_soup(), st.sampled_from([100, 4_000]))
def test_every_part_fits_and_names_nobody(source: str, limit: int):
    for part in render(source, Mrkdwn(limit)):
        assert len(part.text) <= limit
        assert not re.search(r"<[!@#]", part.text)
        assert set(re.findall(r"<(\w+):", part.text)) <= {"http", "https", "mailto", "HTTP", "HTTPS", "MAILTO"}


@given(markdown_soup())
def test_plain_text_is_escaped_and_nothing_else(source: str):
    for part in literal(source, LiteralMrkdwn(100)):
        assert len(part.text) <= 100
        assert not {"<", ">"} & set(part.text)


async def test_an_answer_in_markdown_goes_out_as_mrkdwn():
    receipt, bodies = await send("**a** & [b](https://c.d)", COMMONMARK)
    assert receipt.result.ok
    assert [(body["text"], "mrkdwn" in body) for body in bodies] == [("*a* &amp; <https://c.d|b>", False)]


async def test_plain_text_goes_out_with_markup_switched_off():
    _, bodies = await send("*a* <b>\n```\nc", PLAIN)
    assert [(body["text"], body["mrkdwn"]) for body in bodies] == [("*a* &lt;b&gt;\n```\nc", False)]


async def test_the_default_escapes_what_the_caller_wrote():
    _, bodies = await send("*a* <b>", "")
    assert [(body["text"], "mrkdwn" in body) for body in bodies] == [("*a* &lt;b&gt;", False)]


async def test_long_markdown_is_split_at_the_length_that_the_operator_chose():
    receipt, bodies = await send("**word** & " * 100, COMMONMARK, TEAMCHAT_CHUNK_AT="200")
    assert receipt.parts_sent == len(bodies) > 5
    assert all(len(str(body["text"])) <= 200 for body in bodies)
