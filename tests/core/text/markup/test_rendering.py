"""Markdown as blocks and runs, shown without formatting (docs/facts/markdown.md)."""

import pytest

from tocsin.core.text.markup import BOLD, CODE, ITALIC, Block, PlainText, Renderer, Shown, TextRun, literal, render
from tocsin.core.text.markup.inline import settle
from tocsin.core.text.markup.parsing import MAX_BRACKETS, MAX_SOURCE, RULE, parse
from tocsin.core.text.markup.tables import display_width
from tocsin.core.text.measures import utf16_units


class Aligned(PlainText):
    aligned_tables = True


def shown(source: str, dialect: Renderer | None = None) -> str:
    (part,) = render(source, dialect or PlainText(None))
    return part.text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("**a** *b* ~~c~~ `d`", "a b c d"),
        ("a\nb", "a\nb"),
        ("a  \nb\\\nc", "a\nb\nc"),
        ("a\n\nb", "a\n\nb"),
        ("# Title\ntext", "Title\n\ntext"),
        ("Title\n===\ntext", "Title\n\ntext"),
        ("[t](https://a.b/c_d 'title')", "t (https://a.b/c_d)"),
        ("[**t** u](https://a.b)", "t u (https://a.b)"),
        ("[t\nu](https://a.b)", "t u (https://a.b)"),
        ("[](https://a.b)", "https://a.b"),
        ("[t]\n\n[t]: https://a.b", "t (https://a.b)"),
        ("<https://a.b/c>", "https://a.b/c"),
        ("<me@example.org>", "me@example.org"),
        ("[mail](mailto:me@example.org)", "mail (me@example.org)"),
        ("![alt *x*](https://a.b/i.png)", "alt x (https://a.b/i.png)"),
        ("[![alt](https://a.b/i.png)](https://c.d)", "alt (https://c.d)"),
        ("[x](javascript:alert(1)) [y](data:text/html,z) [z](/path)", "x y z"),
        ("![x](file:///etc/passwd)", "x"),
        ("<b>raw</b> <!-- no --> &amp; \\*", "<b>raw</b> <!-- no --> & *"),
        ("<div>\nblock\n</div>", "<div>\nblock\n</div>"),
        ("https://a.b/_c_*d*_e **https://a.b/_c_**, x", "https://a.b/_c_*d*_e https://a.b/_c_, x"),
        ("https://a.b/c\\_d?e=1&amp;f=2_", "https://a.b/c_d?e=1&f=2_"),
        ("[https://a.b/_c_](https://a.b/_c_) (https://a.b)", "https://a.b/_c_ (https://a.b)"),
        ("snake_case __init__ 2 * 3 * 4", "snake_case init 2 * 3 * 4"),
        ("---", RULE),
        ("[unused]: https://a.b\n\ntext", "text"),
        ("漢**字**😀 שלום", "漢字😀 שלום"),
    ],
)
def test_markdown_is_readable_without_formatting(source: str, text: str):
    assert shown(source) == text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("- a\n- b", "• a\n• b"),
        ("- a\n\n- b", "• a\n\n• b"),
        ("- a\n  more\n- b", "• a\n  more\n• b"),
        ("- a\n  - b\n    - c\n- d", "• a\n  • b\n    • c\n• d"),
        ("3. a\n4. b\n   - c", "3. a\n4. b\n  • c"),
        ("0) a", "0. a"),
        ("- a\n\n  second\n- b", "• a\n\n  second\n\n• b"),
        ("- [ ] open\n- [x] done", "• [ ] open\n• [x] done"),
        ("- \n- a", "•\n• a"),
        ("- - a\n  - b", "• • a\n  • b"),
        ("- # big\n- b", "• big\n• b"),
        ("text\n- a", "text\n\n• a"),
        ("- a\n\n1. b\n\n* c", "• a\n\n1. b\n\n• c"),
        ("-     code", "•\n\ncode"),
        ("> a\n> b", "> a\n> b"),
        ("> a\n>\n> b", "> a\n> \n> b"),
        ("> a\n> > b", "> a\n> \n> b"),
        ("> a\n\ntext\n\n> b", "> a\n\ntext\n\n> b"),
        ("> - a\n>   more", "> • a\n>   more"),
    ],
)
def test_lists_and_quotes_keep_their_structure(source: str, text: str):
    assert shown(source) == text


def test_lists_nested_deeper_than_ten_are_indented_no_further():
    source = "".join(f"{'  ' * level}- {level}\n" for level in range(14))
    assert shown(source).split("\n")[8:] == [f"{'  ' * min(level, 9)}• {level}" for level in range(8, 14)]


@pytest.mark.parametrize(
    "source",
    [
        "```py\n{}\n```",
        "~~~\n{}\n~~~",
        "````\n{}\n````",
        "- item\n\n  ```\n  {}\n  ```",
        "> ```\n> {}\n> ```",
        "```\n{}",
        "text\n\n    {}",
    ],
)
def test_code_is_shown_exactly_wherever_it_stands(source: str):
    code = "a = **1** # `x` _y_ <z> &amp; \\* [t](u) | 漢😀"
    assert code in shown(source.format(code)).split("\n")


def test_code_keeps_indentation_blank_lines_and_tabs():
    code = "    def f():\n\n\treturn 1\n        # end"
    assert shown(f"```py\n{code}\n```") == code


def test_a_code_block_knows_the_first_word_of_its_language():
    (block,) = parse("``` python title=x\na\n```", PlainText(None))
    assert (block.code, block.language) == ("a", "python")


def test_a_table_becomes_lines_of_name_and_value():
    assert shown("| a | b |\n|---|---|\n| 1 | **2** |\n| | 3 |") == "a: 1\nb: 2\n\nb: 3"


def test_a_table_is_aligned_by_what_the_characters_take_on_the_screen():
    source = "| name | 数 |\n|---|--:|\n| 漢字漢 | 1 |\n| e\u0301 👍 | [x](https://a.b) |"
    assert shown(source, Aligned(None)).split("\n") == [
        "name   |              数",
        "-------+----------------",
        "漢字漢 |               1",
        "e\u0301 👍   | x (https://a.b)",
    ]


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("👍", 2), ("👩\u200d👧", 2), ("ｱ", 1)]
)
def test_width_is_counted_in_columns(text: str, width: int):
    assert display_width(text) == width


@pytest.mark.parametrize("source", ["[a]: https://b.c", "```\n```", "- ", "&#32;", "[](x)"])
def test_what_shows_nothing_as_markdown_is_shown_as_it_is(source: str):
    assert shown(source) == source.rstrip()


def test_blanks_at_the_edges_of_a_style_belong_to_no_style():
    runs = settle(
        [TextRun("a "), TextRun(" b ", (BOLD,)), TextRun(" c", (BOLD, ITALIC)), TextRun(" ", (CODE,))], by_line=False
    )
    assert runs == [
        *(TextRun("a "), TextRun(" "), TextRun("b", (BOLD,)), TextRun(" ", (BOLD,)), TextRun(" ", (BOLD,))),
        *(TextRun("c", (BOLD, ITALIC)), TextRun(" ", (CODE,))),
    ]


def test_where_styles_end_at_line_ends_no_blank_is_left_in_them():
    assert settle([TextRun("a \n b", (BOLD,))], by_line=True) == [
        *(TextRun("a", (BOLD,)), TextRun(" "), TextRun("\n"), TextRun(" "), TextRun("b", (BOLD,)))
    ]


# Bounds


@pytest.mark.parametrize(
    "source",
    ["> " * 200 + "deep", "> " * 100_000, "[" * 100_000, "![" * 50_000, "[a](" * 30_000, "- " * 60 + "deep"],
    ids=["quotes", "100,000 quotes", "brackets", "images", "links", "lists"],
)
def test_what_cannot_be_parsed_whole_is_shown_as_it_is(source: str):
    assert shown(source) == source.rstrip()


@pytest.mark.parametrize(
    "source",
    [
        *("*" * 30_000, "_a_*" * 8_000, "`" * 30_000, "`a``b```c" * 3_000, "[" * MAX_BRACKETS, "<a@" * 10_000),
        *("a\n\n" * 10_000, "- a\n" * 8_000, "|a|b\n|-|-\n" * 3_000, "**a** b" * 5_000, "a" + " " * 90_000 + "b"),
    ],
    ids=lambda source: source[:9],
)
def test_nothing_that_is_parsed_takes_without_end(source: str):
    assert render(source, PlainText(4_000, utf16_units))  # what grew with the square would take hours


@pytest.mark.parametrize("source", ["word " * 25_000, "x" * 125_000, "a **b**\n\n" * 14_000, "😀" * 125_000])
def test_a_text_too_long_to_be_parsed_is_cut_whole(source: str):
    assert len(source) > MAX_SOURCE
    parts = render(source, PlainText(4_000, utf16_units))
    assert "".join("".join(part.text for part in parts).split()) == "".join(source.split())


def test_a_limit_that_cannot_hold_every_character_is_refused():
    with pytest.raises(ValueError, match="9"):
        PlainText(9)


def test_literal_text_is_no_markup():
    source = "# a **b**\n  - `c`\n```\n<d>"
    assert literal(source, PlainText(None)) == [Shown(source)]


def test_a_block_that_ends_with_its_cut_has_no_rest():
    assert Block((TextRun("ab"), TextRun("c"))).since(3) is None
    assert Block(code="ab").since(2) is None
