"""Reading what somebody else wrote never fails and gives nothing that cannot be stored."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.core.reading.untrusted import (
    clean_text,
    form_fields,
    identifier,
    json_object,
    named,
    objects,
    whole,
    within,
)

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=10,
)


def test_a_json_object_is_read_from_utf8_alone():
    assert json_object('{"a": "é"}'.encode()) == {"a": "é"}
    assert json_object('{"a": 1}') == {"a": 1}
    for raw in (
        '{"a": 1}'.encode("utf-16"),
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a": "\xff"}',
        b"",
        b"[]",
        b"null",
        b"1",
        b"{",
    ):
        assert json_object(raw) is None


@pytest.mark.parametrize("raw", [b"[" * 100_000, b'{"a":' * 100_000, b'{"a":' + b"9" * 5_000 + b"}"])
def test_what_is_nested_too_deeply_or_too_long_a_number_is_no_object(raw: bytes):
    assert json_object(raw) is None


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_what_json_does_not_know_is_no_number(word: str):
    assert json_object(f'{{"a": {word}}}') is None


def test_a_path_of_objects_ends_in_an_object():
    document = {"a": {"b": {"c": 1}}, "x": []}
    assert within(document, "a", "b") == {"c": 1}
    for path in (("a", "c"), ("x",), ("x", "y"), ("a", "b", "c")):
        assert within(document, *path) == {}


def test_of_a_list_only_the_objects_count_and_only_so_many():
    assert objects([{}, 1, {"a": 1}, {"b": 1}], 3) == [{}, {"a": 1}]
    assert objects({"a": 1}, 3) == []


def test_a_text_is_cut_and_cleaned():
    assert clean_text("a\r\nb\rc\0d\ud800") == "a\nb\ncd\ufffd"
    assert clean_text("x" * 50_000) == "x" * 40_000
    assert clean_text(7) == ""


def test_a_name_is_the_first_that_shows_on_one_line():
    assert named(None, " ", "Anna\n B\t") == "Anna B"
    assert named("\u202eevil\x1b[2J") == "evil[2J"
    assert len(named("x" * 500)) == 200


@pytest.mark.parametrize("value", ["", "a b", "é", "a\n", "x" * 129, 7, None, "\0"])
def test_what_cannot_be_an_id_is_none(value: object):
    assert identifier(value) == ""


def test_an_id_is_printable_ascii_without_blanks():
    assert identifier("8a2b9f30-1111_2222.3333:4") == "8a2b9f30-1111_2222.3333:4"


def test_a_whole_number_can_be_stored():
    assert (whole(7), whole(-(2**53))) == (7, -(2**53))
    assert [whole(value) for value in (True, 1.0, "1", None, 2**53 + 1)] == [None] * 5


def test_of_a_form_the_first_of_each_name_counts():
    assert form_fields(b"a=1&a=2&b=&c=%C3%A9+x") == {"a": "1", "b": "", "c": "é x"}
    for raw in (b"a=%FF", b"a=\xff", b"a=1&" * 200):
        assert form_fields(raw) == {}


@given(ANYTHING)
def test_whatever_it_is_it_can_be_stored(value: Any):
    shown = [clean_text(value), named(value), identifier(value), whole(value)]
    assert len(json.dumps(shown, ensure_ascii=False).encode()) < 200_000
    assert isinstance(within(value, "a"), dict)
    assert all(isinstance(item, dict) for item in objects(value, 3))


@given(st.binary())
def test_no_bytes_make_reading_fail(raw: bytes):
    assert isinstance(json_object(raw), dict | None)
    assert isinstance(form_fields(raw), dict)
