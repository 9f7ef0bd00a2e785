"""What an entry of the bus may say, and what is refused with a reason."""

import json
from collections.abc import Mapping

import pytest

from tocsin.delivery.bus.entry import MAX_BYTES, BusEntry, EntryError, parse_entry


def words(fields: Mapping[str, str]) -> list[bytes]:
    return [word.encode() for pair in fields.items() for word in pair]


def data(text: str | bytes) -> list[bytes]:
    return [b"data", text if isinstance(text, bytes) else text.encode()]


FULL = {
    "target": "a@b.c",
    "message": "hi",
    "id": "alert-7",
    "policy": "at_most_once",
    "not_before": "2026-11-20T08:00:00Z",
    "expires_at": "1795161600.5",
}


@pytest.mark.parametrize("entry", [words(FULL), data(json.dumps(FULL))], ids=["fields", "json"])
def test_an_entry_says_the_same_as_fields_and_as_json(entry: list[bytes]):
    assert parse_entry(entry) == BusEntry("a@b.c", "hi", "alert-7", "at_most_once", 1795161600.0, 1795161600.5)


def test_an_entry_may_have_the_fields_of_a_message():
    entry = data('{"target": "a", "message": "b", "title": "T", "priority": "high", "format": "markdown"}')
    assert parse_entry(entry) == BusEntry("a", "b", format="markdown", content={"title": "T", "priority": 4})
    with pytest.raises(EntryError, match="priority"):
        parse_entry(data('{"target": "a", "message": "b", "priority": 9}'))


def test_what_is_optional_may_be_left_out():
    assert parse_entry(data('{"target": "a", "message": "b"}')) == BusEntry("a", "b")


def test_unix_seconds_may_be_a_number_in_json():
    entry = data('{"target": "a", "message": "b", "not_before": 1795161600, "expires_at": 1795161600.5}')
    assert parse_entry(entry) == BusEntry("a", "b", not_before=1795161600.0, expires_at=1795161600.5)


def test_a_byte_order_mark_before_the_json_is_ignored():
    assert parse_entry(data(b'\xef\xbb\xbf{"target": "a", "message": "b"}')) == BusEntry("a", "b")


def test_a_published_message_brings_the_key_that_the_bridge_gave_it():
    entry = [b"published", b'{"target": "a", "message": "b"}', b"key", b"k1"]
    assert parse_entry(entry) == BusEntry("a", "b", published_key="k1")


def test_text_outside_ascii_arrives_as_it_was_written():
    assert parse_entry(words({"target": "ü", "message": "🔔 läuft"})) == BusEntry("ü", "🔔 läuft")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (data(""), "not valid JSON"),
        (data("hello"), "not valid JSON"),
        (data('{"target": "a", "message": "b"'), "not valid JSON"),
        (data("[" * 100_000), "not valid JSON"),
        (data('{"target": ' + "9" * 5000 + "}"), "not valid JSON"),
        (data(b'{"target": "a", "message": "\xff"}'), "not UTF-8"),
        ([b"target", b"\xff", b"message", b"b"], "not UTF-8"),
        ([b"\xff", b"a"], "not UTF-8"),
        (data('["a", "b"]'), "not a JSON object"),
        (data("null"), "not a JSON object"),
        (data('"text"'), "not a JSON object"),
        (data("{}"), "key 'target' is missing; key 'message' is missing"),
        (data('{"target": "a"}'), "key 'message' is missing"),
        ([], "key 'target' is missing; key 'message' is missing"),
        (words({"message": "b"}), "key 'target' is missing"),
        (data('{"target": "a", "message": "b", "mesage": "c"}'), "unknown key 'mesage'"),
        (words({"target": "a", "message": "b", "channel": "c"}), "unknown key 'channel'"),
        (data('{"target": "a", "message": "b", "\\ud800": "c"}'), r"unknown key '\ud800'"),
        (data('{"target": "a", "target": "b", "message": "c"}'), "duplicate key 'target'"),
        ([*words({"target": "a", "message": "b"}), b"target", b"c"], "duplicate key 'target'"),
        (data('{"target": 7, "message": "b"}'), "target: expected text, found a number"),
        (data('{"target": "a", "message": null}'), "message: expected text, found null"),
        (data('{"target": "a", "message": ["b"]}'), "message: expected text, found an array"),
        (data('{"target": "a", "message": {"text": "b"}}'), "message: expected text, found an object"),
        (data('{"target": "a", "message": "b", "not_before": true}'), "not_before: expected text, found"),
        (data('{"target": "a", "message": "b", "not_before": 1e999}'), "not_before: expected a time such as"),
        (words({**FULL, "id": ""}), "id: expected 1 to 255 printable"),
        (words({**FULL, "id": "x" * 256}), "id: expected 1 to 255 printable"),
        (words({**FULL, "id": "a\nb"}), "id: expected 1 to 255 printable"),
        (data('{"target": "a", "message": "b", "id": "\\ud800"}'), "id: expected 1 to 255 printable"),
        (words({**FULL, "policy": "twice"}), "policy: this text is not one of: at_least_once, at_most_once"),
        (words({**FULL, "not_before": "soon"}), "not_before: expected a time such as"),
        (words({**FULL, "not_before": "nan"}), "not_before: expected a time such as"),
        (words({**FULL, "not_before": "1e400"}), "not_before: expected a time such as"),
        (words({**FULL, "expires_at": "-1"}), "expires_at: expected a time such as"),
        (words({**FULL, "expires_at": "253402300800"}), "expires_at: expected a time such as"),
        ([*data('{"target": "a", "message": "b"}'), b"id", b"7"], "other fields besides data"),
        (data('{"target": "a", "message": "' + "x" * MAX_BYTES + '"}'), "larger than 1 MiB"),
        (words({"target": "a", "message": "x" * MAX_BYTES}), "larger than 1 MiB"),
    ],
)
def test_an_entry_that_is_not_one_is_refused_with_the_reason(entry: list[bytes], reason: str):
    with pytest.raises(EntryError) as refused:
        parse_entry(entry)
    assert reason in refused.value.sentence()
    refused.value.sentence().encode()


def test_the_limit_counts_bytes_and_is_one_mebibyte():
    frame = len('{"target": "a", "message": ""}')
    fits = '{"target": "a", "message": "' + "x" * (MAX_BYTES - frame) + '"}'
    assert parse_entry(data(fits)).target == "a"
    with pytest.raises(EntryError, match="larger than 1 MiB"):
        parse_entry(data(fits + " "))
    with pytest.raises(EntryError, match="larger than 1 MiB"):
        parse_entry(data(json.dumps({"target": "a", "message": "ü" * (MAX_BYTES // 2)}, ensure_ascii=False)))
