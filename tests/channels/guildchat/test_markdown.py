"""Markdown on guildchat (docs/facts/guildchat.md). A border is U+200B."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.text.markup.soup import markdown_soup

from tocsin.channels.contract import COMMONMARK, PLAIN, Outgoing, Receipt
from tocsin.channels.guildchat import GuildchatAdapter
from tocsin.channels.guildchat.markdown import GuildMarkdown
from tocsin.core.text.markup import literal, render
from tocsin.testing import FakeClock, ScriptedTransport, build_adapter

ENV = {"GUILDCHAT_BOT_TOKEN": "MTAwMDAwexampleMDAw.Gexamp.exampleexampleexample"}


def shown(source: str) -> str:
    (part,) = render(source, GuildMarkdown(2_000))
    return part.text.replace("\u200b", "¦")


def shown_literally(text: str) -> str:
    (part,) = literal(text, GuildMarkdown(2_000))
    return part.text


async def send(text: str, mode: str) -> tuple[Receipt, list[str]]:
    http = ScriptedTransport().will_answer({"id": "1400000000000000001"})
    adapter = build_adapter(GuildchatAdapter, ENV, http=http, clock=FakeClock())
    receipt = await adapter.transmit(Outgoing("100000000000000001", text, parse_mode=mode))
    return receipt, [request.json()["content"] for request in http.sent]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("**a** *b* ~~c~~ `d`", "**a** *b* ~~c~~ `d`"),
        ("__a__ _b_", "**a** *b*"),
        ("***a***", "***a***"),
        ("**a***b*", "**a**¦*b*"),
        ("*a*~~b~~`c``d`", "*a*¦~~b~~¦`c``d`"),
        ("**a\nb**", "**a**\n**b**"),
        ("snake_case _ x_ \\_y\\_ a\\_\\_b\\_\\_c", "snake_case \\_ x\\_ \\_y\\_ a\\_\\_b\\_\\_c"),
        ("\\*a\\* \\`b\\` 2 * 3", "\\*a\\* \\`b\\` 2 \\* 3"),
        ("||a|| b | c ~ \\~\\~d\\~\\~", "\\|\\|a\\|\\| b | c ~ \\~\\~d\\~\\~"),
        ("\\# a\n\\- b\n1\\. c\n\\> d\n-# e\n#f", "\\# a\n\\- b\n1\\. c\n\\> d\n\\-# e\n#f"),
        ("a # b - c 1. d > e", "a # b - c 1. d > e"),
        ("[a] \\[b](https://c.d)", "\\[a\\] \\[b\\](https://c.d)"),
        ("<@123> <#4> <:e:5> <b> a < b", "\\<@123> \\<#4> \\<:e:5> \\<b> a < b"),
        ("[a_b](https://c.d/e_(f)*g)", "[a_b](https://c.d/e_%28f%29%2Ag)"),
        ("[**a** b](https://c.d)", "[**a** b](https://c.d)"),
        ("[\\[1\\]](https://c.d)", "[\\[1\\]](https://c.d)"),
        ("[a \\] b](https://c.d)", "a \\] b (https://c.d)"),
        ("[see https://a.b](https://c.d)", "see https://a.b (https://c.d)"),
        ("[a](mailto:b@c.d)", "a (b@c.d)"),
        ("[a](javascript:b)", "a"),
        ("<https://a.b/c_d_e>", "https://a.b/c_d_e"),
        ("https://a.b/_c_*d and _e_", "https://a.b/_c_%2Ad and *e*"),
        ("![a](https://b.c/d.png)", "https://b.c/d.png"),
        (
            "see ![a](https://b.c/d.png) and [![e](https://b.c/e.png)](https://f.g)",
            "see https://b.c/d.png and [e](https://f.g)",
        ),
        ("# a\n\n### b\n\n#### c *d*", "# a\n\n### b\n\n**c *d***"),
        ("- a\n  - b\n\n10. c\n    - d", "- a\n  - b\n\n10. c\n    - d"),
        ("> a\n> b\n>\n> c", "> a\n> b\n> \n> c"),
        ("```py\na **b** \\*\n```", "```py\na **b** \\*\n```"),
        ("```my lang!\na\n```", "```my\na\n```"),
        ("```my!lang\na\n```", "```\na\n```"),
        ("````\n```\na\n````", "```\n``¦`\na\n```"),
        ("``a`b``", "``a`b``"),
        ("`` `a` ``", "`` `a` ``"),
        ("``` a``b`c ```", "``a`¦`b`c``"),
        ("|a|漢|\n|-|-|\n|1|2|", "```\na | 漢\n--+---\n1 | 2\n```"),
        ("a  \nb", "a\nb"),
    ],
)
def test_markdown_becomes_the_products_markdown(source: str, text: str):
    assert shown(source) == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("*a* _b_ `c` ~~d~~ ||e||", "\\*a\\* \\_b\\_ \\`c\\` \\~\\~d\\~\\~ \\|\\|e\\|\\|"),
        ("# a\n  - b\n12. c\n> d\n>>> e\n-# f", "\\# a\n  \\- b\n12\\. c\n\\> d\n\\>>> e\n\\-# f"),
        ("```\na\n```", "\\`\\`\\`\na\n\\`\\`\\`"),
        ("[a](https://b.c/d_e) \\ <@1>", "\\[a\\](https://b.c/d_e) \\\\ \\<@1>"),
        ("total 8\n-rw-r--r-- 1 my_user 17% file.txt", "total 8\n-rw-r--r-- 1 my_user 17% file.txt"),
    ],
)
def test_plain_text_is_escaped_where_it_would_act(text: str, escaped: str):
    assert shown_literally(text) == escaped


@given(markdown_soup(), st.sampled_from([100, 2_000]))
def test_every_part_fits(source: str, limit: int):
    for parts in (render(source, GuildMarkdown(limit)), literal(source, GuildMarkdown(limit))):
        assert parts
        assert all(0 < len(part.text) <= limit for part in parts)


@given(st.text("ab *_`~|#>-[]()<\\1.\n", min_size=1, max_size=80).filter(str.strip))
def test_escaping_adds_nothing_but_backslashes(text: str):
    escaped = "".join(part.text for part in literal(text, GuildMarkdown(2_000)))
    assert escaped.replace("\\", "") == text.rstrip().replace("\\", "")


@pytest.mark.parametrize("mode", [COMMONMARK, PLAIN])
async def test_long_answers_are_split_and_never_refused(mode: str):
    receipt, contents = await send("**word** " * 1_000, mode)
    assert receipt.result.ok
    assert receipt.parts_sent == len(contents) > 4
    assert all(len(content) <= 2_000 for content in contents)


async def test_without_a_parse_mode_a_long_text_is_still_refused():
    receipt, contents = await send("word " * 1_000, "")
    assert "limit 2,000" in receipt.result.error
    assert contents == []


async def test_code_that_is_cut_is_reopened_with_its_language():
    lines = [f"line_{number} = '*'" for number in range(300)]
    _, contents = await send("```py\n" + "\n".join(lines) + "\n```", COMMONMARK)
    assert len(contents) > 2
    assert all(content.startswith("```py\n") and content.endswith("\n```") for content in contents)
    assert [line for content in contents for line in content.split("\n")[1:-1]] == lines
