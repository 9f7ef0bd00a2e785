"""Parts of a parsed document: where they are cut (docs/facts/splitting.md)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.text.markup.soup import markdown_soup

from tocsin.core.text.markup import PlainText, literal, render
from tocsin.core.text.measures import Measure, code_points, utf16_units
from tocsin.core.text.strings import normalise


def cut(source: str, limit: int, measure: Measure = code_points) -> list[str]:
    return [part.text for part in render(source, PlainText(limit, measure))]


def cut_literally(text: str, limit: int, measure: Measure = code_points) -> list[str]:
    return [part.text for part in literal(text, PlainText(limit, measure))]


@pytest.mark.parametrize(
    ("source", "limit", "parts"),
    [
        ("aaaa bbbb\n\ncccc dddd\n\neeee", 12, ["aaaa bbbb", "cccc dddd", "eeee"]),
        ("line one\nline two\nline three", 18, ["line one\nline two", "line three"]),
        ("One two. Three four! Five six? Seven.", 22, ["One two. Three four!", "Five six? Seven."]),
        ("alpha beta gamma delta", 11, ["alpha beta", "gamma delta"]),
        ("x" * 25, 10, ["x" * 10, "x" * 10, "x" * 5]),
        ("**alpha** *beta* ~~gamma~~ `delta`", 11, ["alpha beta", "gamma delta"]),
        ("これは文です。次の文です。終わり", 10, ["これは文です。", "次の文です。終わり"]),
        ("> alpha beta gamma", 14, ["> alpha beta", "> gamma"]),
        ("- alpha beta gamma", 14, ["• alpha beta", "  gamma"]),
        ("a\n\n```\nb\n```", 10, ["a\n\nb"]),
        ("text before the block\n\n```\ncode line 1\ncode line 2\n```", 40,
         ["text before the block", "code line 1\ncode line 2"]),
        ("```py\na=1\nb=2\nc=3\nd=4\ne=5\n```", 12, ["a=1\nb=2\nc=3", "d=4\ne=5"]),
        ("```\nif a:\n    b\nif c:\n    d\n    e\n```", 20, ["if a:\n    b", "if c:\n    d\n    e"]),
        ("```\nfirst  \nsecond\nthird\n```", 16, ["first  \nsecond", "third"]),
        (f"```\n{'x' * 25}\ny\n```", 10, ["x" * 10, "x" * 10, "xxxxx\ny"]),
    ],
)  # fmt: skip
def test_a_part_ends_where_a_reader_minds_it_least(source: str, limit: int, parts: list[str]):
    assert cut(source, limit) == parts


@pytest.mark.parametrize(
    ("source", "limit", "first"),
    [
        ("read this: `a b c` and on", 18, "read this: `a b c`"),
        ("read this: [a b c](https://a.b) and on", 32, "read this: a b c (https://a.b)"),
        ("one two `three four five six`", 22, "one two"),
    ],
)
def test_inline_code_stays_in_one_piece_where_that_is_possible(source: str, limit: int, first: str):
    assert cut(source, limit)[0] == first.replace("`", "")


def test_no_grapheme_cluster_is_divided_that_fits():
    family = "👩\u200d👩\u200d👧\u200d👦"
    assert cut(family * 3, 12, utf16_units) == [family] * 3


def test_a_cluster_that_no_part_can_hold_is_divided():
    assert "".join(cut("a" + "\u0301" * 40, 12)) == "a" + "\u0301" * 40


def test_nesting_that_leaves_no_room_is_dropped():
    source = "".join(f"{'  ' * level}- {level}\n" for level in range(10)) + " " * 20 + "text of the innermost"
    parts = cut(source, 20)
    assert all(len(part) <= 20 for part in parts)
    assert " ".join(parts).split()[-4:] == ["text", "of", "the", "innermost"]


@pytest.mark.parametrize(
    ("text", "limit", "parts"),
    [
        ("a b\n  c d\n    e f", 12, ["a b\n  c d", "    e f"]),
        ("    indented", 20, ["    indented"]),
        ("```\na\nb\nc\nd\n```", 10, ["```\na\nb\nc", "d\n```"]),
        ("# a\n- **b**", 12, ["# a\n- **b**"]),
        ("one two\n\n\n\nthree", 10, ["one two", "three"]),
        ("a <b> [c](d)", 11, ["a <b>", "[c](d)"]),
    ],
)
def test_literal_text_is_cut_without_being_read_as_markdown(text: str, limit: int, parts: list[str]):
    assert cut_literally(text, limit) == parts


@given(markdown_soup(), st.sampled_from([10, 33, 100, 4_000]), st.sampled_from([code_points, utf16_units]))
def test_every_part_fits_and_none_is_blank_whatever_the_source(source: str, limit: int, measure: Measure):
    for parts in (cut(source, limit, measure), cut_literally(source, limit, measure)):
        assert parts
        assert all(part.strip() and measure(part) <= limit for part in parts)


@given(st.text(min_size=1).map(normalise).filter(str.strip), st.integers(10, 60))
def test_literal_text_loses_nothing_but_blanks_at_the_cuts(text: str, limit: int):
    assert "".join("".join(cut_literally(text, limit)).split()) == "".join(text.split())


@given(markdown_soup(), st.sampled_from([33, 100]))
def test_the_same_source_is_always_cut_the_same_way(source: str, limit: int):
    assert cut(source, limit) == cut(source, limit)


@given(st.lists(st.text("ab =\t#`*_<>|😀", max_size=30), min_size=1, max_size=40), st.sampled_from([40, 100]))
def test_lines_of_code_are_never_changed_by_a_cut(lines: list[str], limit: int):
    code = [line for line in lines if "~" not in line]
    parts = cut("~~~\n" + "\n".join(code) + "\n~~~", limit)
    if any(line.strip() for line in code):
        assert [line for part in parts for line in part.split("\n") if line.strip()] == [
            line for line in code if line.strip()
        ]
