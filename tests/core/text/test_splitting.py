"""Where a long text is cut: the rules and properties of docs/facts/splitting.md."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.core.text.measures import code_points, escaped_code_points, utf16_units
from tocsin.core.text.strings import normalise, split

MEASURES = [code_points, utf16_units, escaped_code_points]
WIDEST = {code_points: 1, utf16_units: 2, escaped_code_points: 5}

FRAGMENTS = [
    *("a", "word ", "two words", "x" * 17, "End. ", 'What?" ', "\u6f22\u5b57\u3002", " ", "   ", "    ", "\t"),
    *("\n", "\n\n", " \n", "\r\n", "\r", "\0", "\u00a0", "\u2028", "\ud83d", "\ude00", "\ufeff"),
    *("`", "``", "```", "````", "\n```\n", "\n```py\n", "\n~~~\n", "~~~~ sh\n", "\n   ```\n", "~", "`````````````"),
    *("e\u0301", "\U0001f600", "\U0001f1e9\U0001f1ea", "\U0001f468\u200d\U0001f469", "\u0301" * 9),
    *("\\", "\\*", "&", "&amp;", "<", "<a href>", "[", "](", ")", "[text](https://x.org/a_(b))", "https://x.org/a/b"),
]
texts = st.lists(st.sampled_from(FRAGMENTS), max_size=60).map("".join)
wild_texts = texts | st.text(st.characters(codec=None), max_size=80)
limits = st.integers(5, 12) | st.integers(13, 60)
measures = st.sampled_from(MEASURES)


def fence_lines(text, limit, measure):
    """Return each line with whether it opens or closes a fence that fits `limit`, and whether one stays open."""
    found, marker = [], ""
    for line in text.split("\n"):
        opening = re.fullmatch(r"( {0,3})(?:(`{3,})[^`]*|(~{3,}).*)", line)
        closing = re.fullmatch(r" {0,3}(`{3,}|~{3,})\s*", line)
        is_fence = False
        if marker and closing and closing[1].startswith(marker):
            is_fence, marker = True, ""
        elif not marker and opening:
            mark = opening[2] or opening[3]
            spare = limit - measure(line.rstrip() + opening[1] + mark) - 2
            is_fence = spare >= max(limit // 8, 4 + WIDEST[measure])
            marker = mark if is_fence else ""
        found.append((line, is_fence))
    return found, bool(marker)


def content(text, limit, measure):
    lines, _ = fence_lines(text, limit, measure)
    return "".join("".join(line.split()) for line, is_fence in lines if not is_fence)


# Properties


@given(wild_texts, limits, measures)
def test_every_part_fits_and_none_is_blank(text, limit, measure):
    for part in split(text, limit, measure):
        assert measure(part) <= limit
        assert part.strip()


@given(wild_texts, limits, measures)
def test_no_part_holds_a_lone_surrogate(text, limit, measure):
    for part in split(text, limit, measure):
        part.encode()


@given(texts, limits, measures)
def test_text_without_whitespace_and_fence_lines_is_preserved_in_order(text, limit, measure):
    parts = [content(part, limit, measure) for part in split(text, limit, measure)]
    assert "".join(parts) == content(normalise(text), limit, measure)


@given(texts, limits, measures)
def test_fences_are_balanced_in_every_part(text, limit, measure):
    for part in split(text, limit, measure):
        assert not fence_lines(part, limit, measure)[1]


@given(wild_texts, limits, measures)
def test_a_part_is_not_split_again(text, limit, measure):
    for part in split(text, limit, measure):
        assert split(part, limit, measure) == [part]


# Rule 2: what a fence is


@pytest.mark.parametrize("fence", ["```", "~~~", "`````", "   ```", "```py", "~~~ a `b`"])
def test_a_fence_is_closed_at_the_cut_and_reopened_with_its_indentation_and_info(fence):
    closing = re.match(" *[`~]+", fence)[0]
    parts = split(f"{fence}\n" + "code line\n" * 8 + closing, 50)
    assert len(parts) > 1
    assert all(part.startswith(fence + "\n") and part.endswith("\n" + closing) for part in parts)


@pytest.mark.parametrize("line", ["    ```", "``", "``` a`b", "- ```", "text ```"])
def test_a_line_that_is_no_fence_is_not_repeated(line):
    parts = split(f"{line}\n" + "some text\n" * 8, 50)
    assert [part for part in parts if line in part] == parts[:1]


@pytest.mark.parametrize("line", ["```", "~~~~", "````x", "    ````", "`` ````"])
def test_only_a_bare_fence_of_the_same_mark_and_at_least_as_long_closes(line):
    parts = split(f"````\n{line}\n" + "code line\n" * 8 + "````", 50)
    assert all(part.endswith("\n````") for part in parts)


def test_a_longer_fence_with_blanks_behind_it_closes():
    assert split("```\ncode\n  ````` \t\n" + "word " * 4, 20) == ["```\ncode\n  `````", "word word word word"]


def test_a_fence_left_open_at_the_end_is_closed_in_every_part():
    assert split("```\ncode", 50) == ["```\ncode\n```"]
    assert split("```\naaaa\nbbbb\ncccc\n", 17) == ["```\naaaa\nbbbb\n```", "```\ncccc\n```"]
    assert split("text\n```", 50) == ["text\n```\n```"]


# Rule 3: the ranking of the cuts


@pytest.mark.parametrize(
    ("text", "limit", "first"),
    [
        ("aaaaaa\n\nbb. cc\ndd ee ff", 12, "aaaaaa"),  # a paragraph before a line
        ("aaaaaaa\nbb. cc dd", 14, "aaaaaaa"),  # a line before a sentence
        ("```\naaaa aa\nbb. cc dd\n```", 22, "```\naaaa aa\n```"),  # a code line before a sentence
        ("aaaaaa. bb cc", 12, "aaaaaa."),  # a sentence before a word
        ("aaaaaa bbbbbbbb", 12, "aaaaaa"),  # a word before a character
        ("aa\n\nbbbb cccc dddd", 14, "aa\n\nbbbb cccc"),  # not half full at the paragraph
        ("aa bb\u00a0cc", 6, "aa"),  # no break at a no-break space
        ("He said \u201cno.\u201d Then left", 20, "He said \u201cno.\u201d"),  # closing quotes stay
        ("version 1.2.3 of it", 12, "version"),  # a full stop needs a space
        ("\u6f22\u5b57\u6f22\u3002\u5b57\u6f22\u5b57", 6, "\u6f22\u5b57\u6f22\u3002"),  # a full-width one does not
    ],
)
def test_the_cut_is_the_last_of_the_best_rank_that_leaves_the_part_half_full(text, limit, first):
    assert split(text, limit)[0] == first


def test_a_cut_falls_between_grapheme_clusters():
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert split(family * 3, 7) == [family] * 3


def test_a_cluster_longer_than_the_limit_is_cut_between_code_points():
    assert split("e" + "\u0301" * 24, 10) == ["e" + "\u0301" * 9, "\u0301" * 10, "\u0301" * 5]


def test_many_flags_are_cut_between_flags():
    flag = "\U0001f1e9\U0001f1ea"
    assert split(flag * 200, 101) == [flag * 50] * 4


# Rule 4: where no cut is allowed


@pytest.mark.parametrize(
    "item",
    [
        "`code with blanks`",
        "``code ` tick``",
        "[some text](http://a)",
        "[a [b] c](d_(e) f)",
        "![an image](http://a)",
        "<a href='x y'>",
        "<@U12345678>",
        "https://example.org/a",
        "www.example.org/a",
        "```code on a line```",
    ],
)
def test_an_item_is_not_cut_unless_it_alone_exceeds_the_limit(item):
    assert any(item in part for part in split(f"some words {item} and more", 24))
    assert len(split(item, len(item) - 1)) == 2


def test_an_entity_and_an_escape_are_not_cut():
    assert split("aaaaaaa&amp;bbbb", 10) == ["aaaaaaa", "&amp;bbbb"]
    assert split("aaaaaaaaa\\*bbbb", 10) == ["aaaaaaaaa", "\\*bbbb"]


def test_items_do_not_span_paragraphs():
    assert split("one ` tick\n\nanother ` tick", 20) == ["one ` tick", "another ` tick"]


def test_an_escaped_backtick_does_not_begin_code():
    assert split("a \\` b c d ` e f", 12) == ["a \\` b c d `", "e f"]


def test_no_cut_leaves_an_empty_block():
    text = "text\n```py\nlongcodelines\n```"
    assert split(text, 24) == ["text", "```py\nlongcodelines\n```"]


@pytest.mark.parametrize("text", ["some words ~~~ and more", "some words ``` and more", "words words" + "~" * 9])
def test_no_part_begins_with_a_fence_that_began_no_line(text):
    assert not any(part.lstrip(" ").startswith(("```", "~~~")) for part in split(text, 13))


def test_where_no_other_cut_is_left_indentation_keeps_marks_from_being_a_fence():
    assert split("x" + "~" * 29, 20) == ["x" + "~" * 19, "    " + "~" * 10]


# Rule 5: what a cut drops


def test_outside_fences_a_cut_drops_blanks_and_blank_lines_but_keeps_indentation():
    assert split("aaaa bbbb  \n \n\n    cccc dddd", 15) == ["aaaa bbbb", "    cccc dddd"]


def test_inside_a_fence_a_cut_drops_exactly_one_newline():
    assert split("```\naaaa\n\n  bbbb\n```", 17) == ["```\naaaa\n\n```", "```\n  bbbb\n```"]


def test_a_closing_line_that_alone_remains_is_consumed():
    assert split("```\naaaa bbbb\n`````````\ntext", 18) == ["```\naaaa bbbb\n```", "text"]


def test_indentation_that_would_fill_parts_is_dropped():
    assert split("words" + "\n" + " " * 40 + "more words", 12) == ["words", "more words"]


# Limits too small for a fence


def test_a_fence_that_cannot_be_repeated_in_every_part_is_cut_like_text():
    assert split("```python\nabc def\n", 12) == ["```python", "abc def"]


@given(st.text("`~\n a", max_size=40), st.integers(1, 12))
def test_the_smallest_limits_still_make_progress(text, limit):
    parts = split(text, limit)
    assert all(0 < len(part) <= limit for part in parts)
    assert len(parts) <= len(text) + 1
