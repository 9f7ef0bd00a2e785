"""The Bot API's three markups: what parses, and the words in which the rest is refused."""

import pytest

from tocsin_standins.botchat.markup import MarkupError, parse


def shown(text, mode):
    plain, entities = parse(text, mode)
    encoded = plain.encode("utf-16-le")
    return plain, [
        (e["type"], encoded[e["offset"] * 2 : (e["offset"] + e["length"]) * 2].decode("utf-16-le")) for e in entities
    ]


@pytest.mark.parametrize(
    ("source", "plain", "entities"),
    [
        ("*b* _i_ `c`", "b i c", [("bold", "b"), ("italic", "i"), ("code", "c")]),
        ("**bold**", "bold", []),
        ("😀 *b*", "😀 b", [("bold", "b")]),
        ("snake\\_case", "snake_case", []),
        ("[t](https://x.example) z", "t z", [("text_link", "t")]),
        ("```py\na*b\n```", "a*b\n", [("pre", "a*b\n")]),
        ("a ~ b . c!", "a ~ b . c!", []),
    ],
)
def test_markdown_parses(source, plain, entities):
    assert shown(source, "Markdown") == (plain, entities)


@pytest.mark.parametrize(
    ("source", "offset"),
    [("snake_case", 5), ("é *open", 3), ("a [b", 2), ("```x", 0), ("*a* *", 4)],
)
def test_unbalanced_markdown_is_refused_with_the_byte_offset(source, offset):
    with pytest.raises(MarkupError) as refused:
        parse(source, "markdown")
    assert str(refused.value) == f"Can't find end of the entity starting at byte offset {offset}"


@pytest.mark.parametrize(
    ("source", "plain", "entities"),
    [
        ("*b _i_*", "b i", [("bold", "b i"), ("italic", "i")]),
        ("__u__ ~s~ ||p||", "u s p", [("underline", "u"), ("strikethrough", "s"), ("spoiler", "p")]),
        ("`a\\`b` ", "a`b ", [("code", "a`b")]),
        ("```py\nx=1\n```", "x=1\n", [("pre", "x=1\n")]),
        ("[t](https://x.example/\\))", "t", [("text_link", "t")]),
        ("*[t](https://x.example)*", "t", [("bold", "t"), ("text_link", "t")]),
        (">one\n>two\nthree", "one\ntwo\nthree", [("blockquote", "one\ntwo")]),
        (">one\n**>two||\n", "one\ntwo\n", [("blockquote", "one"), ("expandable_blockquote", "two")]),
        ("1\\. done\\!", "1. done!", []),
    ],
)
def test_markdown_v2_parses(source, plain, entities):
    assert shown(source, "MarkdownV2") == (plain, entities)


@pytest.mark.parametrize("char", "])(>#+-=|{}.!")
def test_a_reserved_character_must_be_escaped_in_markdown_v2(char):
    with pytest.raises(MarkupError) as refused:
        parse(f"a{char}", "MarkdownV2")
    assert str(refused.value) == f"Character '{char}' is reserved and must be escaped with the preceding '\\'"
    assert parse(f"a\\{char}", "MarkdownV2") == (f"a{char}", [])


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("🏟 🏟_abacaba", "Can't find end of Italic entity at byte offset 9"),
        ("🏟 🏟_abac * asd ", "Can't find end of Bold entity at byte offset 15"),
        ("🏟 🏟`", "Can't find end of Code entity at byte offset 9"),
        ("🏟 🏟```", "Can't find end of Pre entity at byte offset 9"),
        ("a [b", "Can't find end of TextUrl entity at byte offset 2"),
        ("[b](c", "Can't find end of a URL at byte offset 3"),
    ],
)
def test_unbalanced_markdown_v2_is_refused_with_kind_and_byte_offset(source, complaint):
    with pytest.raises(MarkupError) as refused:
        parse(source, "MarkdownV2")
    assert str(refused.value) == complaint


@pytest.mark.parametrize(
    ("source", "plain", "entities"),
    [
        ("<b>b <i>i</i></b>", "b i", [("bold", "b i"), ("italic", "i")]),
        ("1 &lt; 2 &amp; &#128512; &copy;", "1 < 2 & 😀 &copy;", []),
        ('<a href="https://x.example/?a=1&amp;b=2">t</a>', "t", [("text_link", "t")]),
        ('<pre><code class="language-py">x</code></pre>', "x", [("pre", "x")]),
        ('<span class="tg-spoiler">s</span>', "s", [("spoiler", "s")]),
        ("<blockquote expandable>q</blockquote>", "q", [("expandable_blockquote", "q")]),
        ("<B>b</>", "b", [("bold", "b")]),
    ],
)
def test_html_parses(source, plain, entities):
    assert shown(source, "HTML") == (plain, entities)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("a < b", 'Unsupported start tag "" at byte offset 2'),
        ("é<br>", 'Unsupported start tag "br" at byte offset 2'),
        ("<b>x", 'Can\'t find end tag corresponding to start tag "b"'),
        ("<b><i>x</b></i>", 'Unmatched end tag at byte offset 7, expected "</i>", found "</b>"'),
        ("x</b>", "Unexpected end tag at byte offset 1"),
        ("x <b", "Unclosed start tag at byte offset 2"),
        ("<span>x</span>", 'Tag "span" must have class "tg-spoiler" at byte offset 0'),
    ],
)
def test_malformed_html_is_refused(source, complaint):
    with pytest.raises(MarkupError) as refused:
        parse(source, "HTML")
    assert str(refused.value) == complaint


def test_a_link_keeps_its_address_and_code_its_language():
    assert parse("[t](https://x.example/\\)a)", "MarkdownV2")[1][0]["url"] == "https://x.example/)a"
    assert parse('<a href="https://x.example/?a&amp;b">t</a>', "HTML")[1][0]["url"] == "https://x.example/?a&b"
    assert parse("```py\nx```", "MarkdownV2")[1][0]["language"] == "py"
    assert parse('<pre><code class="language-py">x</code></pre>', "HTML")[1][0]["language"] == "py"
