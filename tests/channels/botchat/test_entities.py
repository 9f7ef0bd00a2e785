"""Markdown on botchat: text and entities (docs/facts/botchat.md)."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.chaos.bot_markup import show_corpus
from tests.chaos.figures import must_be_met
from tests.core.text.markup.soup import markdown_soup

from tocsin.channels.botchat.entities import LONGEST_URL, MOST_ENTITIES, Entities
from tocsin.core.text.markup import literal, render
from tocsin.core.text.measures import utf16_units
from tocsin.core.text.strings import normalise
from tocsin_standins.botchat.entities import covered_text, mistake
from tocsin_standins.botchat.world import formatted

Shown = list[tuple[str, str]]


def entities(source: str, limit: int = 4_000) -> tuple[str, Shown]:
    """Return the text of the only part, and what of it each entity formats."""
    (part,) = render(normalise(source), Entities(limit))
    check(part.text, part.markup)
    return part.text, [(entity["type"], covered_text(part.text, entity)) for entity in part.markup]


def check(text: str, markup: tuple[dict[str, object], ...]) -> None:
    """Fail unless the server takes the part, and shows it just as it is."""
    taken = formatted({"text": text, "entities": list(markup)}, max_chars=4_096, utf16=True, strict=True)
    assert taken == (text, list(markup))
    assert mistake(text, markup) == ""


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        ("**a** *b* ~~c~~ `d`", "a b c d", [("bold", "a"), ("italic", "b"), ("strikethrough", "c"), ("code", "d")]),
        ("**a *b***", "a b", [("bold", "a b"), ("italic", "b")]),
        ("***a***", "a", [("italic", "a"), ("bold", "a")]),
        ("**a __b__ c**", "a b c", [("bold", "a b c")]),
        ("**a `b` c**", "a b c", [("bold", "a"), ("code", "b"), ("bold", "c")]),
        ("[`a` b](https://c.d)", "a b", [("text_link", "a b")]),
        ("[**a** b](https://c.d)", "a b", [("text_link", "a b"), ("bold", "a")]),
        ("**[a](https://c.d)**", "a", [("bold", "a"), ("text_link", "a")]),
        ("<https://c.d/e>", "https://c.d/e", []),
        ("[a](mailto:b@c.d)", "a (b@c.d)", []),
        ("![a](https://c.d/e.png)", "a", [("text_link", "a")]),
        (f"[a](https://c.d/{'e' * LONGEST_URL})", f"a (https://c.d/{'e' * LONGEST_URL})", []),
        ("# a `b`\n\nc", "a b\n\nc", [("bold", "a"), ("code", "b")]),
        ("```py\na\n```", "a", [("pre", "a")]),
        ("- a\n  b\n- **c\n  d**", "• a\n  b\n• c\n  d", [("bold", "c\n  d")]),
        ("> a\n>\n> **b**\n\nc", "a\n\nb\n\nc", [("blockquote", "a\n\nb"), ("bold", "b")]),
        ("> a\n> > b\n\ntext\n\n> c", "a\n\nb\n\ntext\n\nc", [("blockquote", "a\n\nb"), ("blockquote", "c")]),
        ("> ```\n> a\n> ```", "a", [("blockquote", "a"), ("pre", "a")]),
        ("|a|b|\n|-|-|\n|1|2|", "a | b\n--+--\n1 | 2", [("pre", "a | b\n--+--\n1 | 2")]),
        ("😀 **漢😀** שלום *x*", "😀 漢😀 שלום x", [("bold", "漢😀"), ("italic", "x")]),
        ("snake_case * 2 [x] <b>", "snake_case * 2 [x] <b>", []),
    ],
)
def test_markdown_becomes_text_and_entities(source: str, text: str, found: Shown):
    assert entities(source) == (text, found)


def test_entities_carry_language_and_address():
    (part,) = render("```python title\na\n```\n\n[b](https://c.d/e_f)", Entities(4_000))
    assert part.markup == (
        {"type": "pre", "offset": 0, "length": 1, "language": "python"},
        {"type": "text_link", "offset": 3, "length": 1, "url": "https://c.d/e_f"},
    )


def test_code_is_sent_as_it_is_with_its_blanks_and_tabs():
    text, found = entities("c\n\n```make\n\n  all:\n\tb\n```")
    assert found == [("pre", "\n  all:\n\tb")]
    assert text == "c\n\n\n  all:\n\tb"


def test_code_that_a_message_begins_with_keeps_its_indentation_although_the_server_trims():
    assert entities("```\n    a\n  b\n```") == ("\u00a0   a\n  b", [("pre", "\u00a0   a\n  b")])


def test_a_quote_that_is_cut_goes_on_as_a_quote():
    source = "> " + "word **bold** " * 30
    parts = render(source, Entities(100))
    assert len(parts) > 2
    for part in parts:
        check(part.text, part.markup)
        assert [covered_text(part.text, entity) for entity in part.markup if entity["type"] == "blockquote"] == [
            part.text
        ]


def test_code_that_is_cut_keeps_its_language_and_its_lines():
    lines = [f"line {number} = '*{number}*'" for number in range(500)]
    parts = render("```py\n" + "\n".join(lines) + "\n```", Entities(4_000))
    assert len(parts) > 1
    assert [line for part in parts for line in part.text.split("\n")] == lines
    assert {(entity["type"], entity["language"]) for part in parts for entity in part.markup} == {("pre", "py")}
    assert all(entity["length"] == utf16_units(part.text) for part in parts for entity in part.markup)


def test_above_a_hundred_entities_the_styles_go_first_and_code_blocks_and_links_stay():
    source = "**b** " * 150 + "[link](https://a.b)\n\n```\ncode\n```\n\n> quote"
    (part,) = render(source, Entities(4_000))
    check(part.text, part.markup)
    kinds = [entity["type"] for entity in part.markup]
    assert len(kinds) == MOST_ENTITIES
    assert {"text_link", "pre", "blockquote"} <= set(kinds)


def test_literal_text_has_no_entities_and_keeps_its_lines():
    (part,) = literal("*a*\n  _b_\n```\n[c](d)", Entities(4_000))
    assert part == ("*a*\n  _b_\n```\n[c](d)", ())


def test_code_that_begins_with_a_blank_is_marked_from_its_first_character():
    (part,) = render("*`\n|---|:-:|--:|\n*`", Entities(40))
    assert part == ("* |---|:-:|--:| *", ({"type": "code", "offset": 2, "length": 15},))
    check(part.text, part.markup)


@given(markdown_soup(), st.sampled_from([40, 200, 4_000]))
@example("```py\n\n> " + "long" * 20, 40)  # no room for the blank that would keep the empty line
def test_the_server_takes_every_part_of_any_text(source: str, limit: int):
    parts = render(source, Entities(limit))
    assert parts
    for part in parts:
        assert utf16_units(part.text) <= limit
        check(part.text, part.markup)


def test_a_corpus_of_markdown_is_shown_whole_with_every_line_of_code_as_it_was():
    must_be_met(show_corpus(60))
