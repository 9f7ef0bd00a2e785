"""Lengths, normalising, shortening, and splitting as its callers see it: docs/facts/splitting.md."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.core.text.measures import code_points, escaped_code_points, utf16_units
from tocsin.core.text.strings import normalise, split, truncate

EMOJI = "\U0001f600"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
GERMANY, FRANCE, ITALY = "\U0001f1e9\U0001f1ea", "\U0001f1eb\U0001f1f7", "\U0001f1ee\U0001f1f9"
E_ACUTE = "e\u0301"

any_text = st.text(st.characters(codec=None), max_size=60)


def test_an_emoji_is_one_code_point_and_two_utf16_units():
    assert (code_points(EMOJI), utf16_units(EMOJI)) == (1, 2)
    assert (code_points(FAMILY), utf16_units(FAMILY)) == (7, 11)


def test_escaped_length_counts_the_entities_that_teamchat_receives():
    assert escaped_code_points("a & b < c > d") == len("a &amp; b &lt; c &gt; d")


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("a\r\nb\rc\n\r\nd", "a\nb\nc\n\nd"),
        ("a\0b", "ab"),
        ("a\r\0\nb", "a\nb"),
        ("\ud83d\ude00", EMOJI),
        ("\ud83d\0\ude00", EMOJI),
        ("a\ud83db", "a\ufffdb"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_normalising_leaves_line_feeds_and_whole_characters(text, normal):
    assert normalise(text) == normal


@given(any_text)
def test_normalised_text_can_be_encoded_and_does_not_change_again(text):
    normal = normalise(text)
    assert normal.encode().decode() == normal == normalise(normal)
    assert not {"\r", "\0"} & set(normal)


def test_text_that_fits_is_not_changed():
    assert split("  one \n\n two  \n", 100) == ["  one \n\n two  \n"]


@pytest.mark.parametrize("text", ["", " ", "\n\n \t\n", "\0", "\u3000\u00a0", " " * 500])
def test_blank_text_gives_no_parts(text):
    assert split(text, 5) == []


@pytest.mark.parametrize(
    ("text", "limit", "parts"),
    [
        ("aaaa bbbb\n\ncccc dddd\n\neeee", 12, ["aaaa bbbb", "cccc dddd", "eeee"]),
        ("line one\nline two\nline three", 18, ["line one\nline two", "line three"]),
        ("One two. Three four! Five six? Seven.", 22, ["One two. Three four!", "Five six? Seven."]),
        ("alpha beta gamma delta", 11, ["alpha beta", "gamma delta"]),
        (
            "see [the docs](https://example.org/a/b) now ok",
            37,
            ["see", "[the docs](https://example.org/a/b)", "now ok"],
        ),
        ("x" * 25, 10, ["x" * 10, "x" * 10, "x" * 5]),
        (E_ACUTE * 6, 5, [E_ACUTE * 2] * 3),
        (
            "Intro\n\n```python\na=1\nb=2\nc=3\nd=4\n```\n\nEnd",
            28,
            ["Intro\n\n```python\na=1\nb=2\n```", "```python\nc=3\nd=4\n```\n\nEnd"],
        ),
        (
            "~~~sh\necho 1\necho 2\necho 3\necho 4\n~~~",
            26,
            ["~~~sh\necho 1\necho 2\n~~~", "~~~sh\necho 3\necho 4\n~~~"],
        ),
        (
            "text before the block\n\n```\ncode line 1\ncode line 2\n```",
            40,
            ["text before the block", "```\ncode line 1\ncode line 2\n```"],
        ),
    ],
)
def test_the_vectors_of_the_fact_book_hold(text, limit, parts):
    assert split(text, limit) == parts


def test_a_nested_fence_opens_and_closes_every_part():
    parts = split("````md\n```py\nx\n```\nyyyyyyyy\nzzzzzzzz\n````", 28)
    assert len(parts) > 1
    assert all(part.startswith("````md\n") and part.endswith("\n````") for part in parts)


def test_the_vectors_in_utf16_units_hold():
    assert split(EMOJI * 7, 10, utf16_units) == [EMOJI * 5, EMOJI * 2]
    assert [utf16_units(part) for part in split(EMOJI * 5000, 4000, utf16_units)] == [4000, 4000, 2000]
    assert split(FAMILY * 3, 12, utf16_units) == [FAMILY] * 3
    assert split(GERMANY + FRANCE + ITALY, 8, utf16_units) == [GERMANY + FRANCE, ITALY]


def test_teamchat_parts_fit_after_escaping():
    assert split("&" * 10, 20, escaped_code_points) == ["&&&&", "&&&&", "&&"]


def test_a_limit_that_cannot_hold_one_character_is_refused():
    for limit, measure in ((0, code_points), (1, utf16_units), (4, escaped_code_points)):
        with pytest.raises(ValueError, match=f" {limit} "):
            split("text", limit, measure)


@pytest.mark.parametrize(
    ("text", "limit", "short"),
    [
        ("hello", 5, "hello"),
        ("hello world", 8, "hello w…"),
        (E_ACUTE * 4, 6, E_ACUTE * 2 + "…"),
        (FAMILY * 2, 8, FAMILY + "…"),
        (GERMANY * 3, 4, GERMANY + "…"),
        (E_ACUTE + "x" * 9, 2, "…"),
        ("e" + "\u0301" * 100, 50, "…"),
        ("hello", 0, ""),
        ("a\r\nb", 3, "a\nb"),
    ],
)
def test_shortening_keeps_whole_clusters_and_ends_in_an_ellipsis(text, limit, short):
    assert truncate(text, limit) == short


def test_shortening_counts_in_the_units_of_the_channel():
    assert truncate(EMOJI * 4, 6, utf16_units) == EMOJI * 2 + "…"
    assert truncate("a & b & c", 8, escaped_code_points, "...") == "a ..."


def test_an_ellipsis_that_does_not_fit_is_left_out():
    assert truncate("hello", 2, code_points, "...") == "he"


@given(any_text, st.integers(0, 40), st.sampled_from([code_points, utf16_units, escaped_code_points]))
def test_shortened_text_fits_and_begins_like_the_text(text, limit, measure):
    short = truncate(text, limit, measure)
    assert measure(short) <= limit
    assert normalise(text).startswith(short.removesuffix("…"))
    short.encode()


def test_a_short_text_is_handled_without_loading_the_splitter_or_regex():
    script = (
        "import sys; from tocsin.core.text.strings import split, truncate; "
        "split('a short text', 50); truncate('a' * 99, 50); "
        "print(sorted({'regex', 'tocsin.core.text.splitting', 'dataclasses', 'inspect'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
