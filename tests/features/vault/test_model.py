"""What the vault can hold, and its clear text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.features.vault.model import (
    MAX_VALUE_BYTES,
    Recipient,
    Secret,
    UnknownSecretError,
    VaultContent,
    VaultError,
    decode,
    encode,
    validate_name,
    validate_value,
)

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,127}", fullmatch=True)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
MOMENTS = st.integers(0, 4_000_000_000_000).map(lambda ms: ms / 1000)
SECRETS = st.builds(Secret, VALUES, MOMENTS, MOMENTS)
RECIPIENTS = st.lists(st.builds(Recipient, st.text(max_size=5), st.text(max_size=5)), max_size=3).map(tuple)


@given(secrets=st.dictionaries(NAMES, SECRETS, max_size=5), recipients=RECIPIENTS)
def test_the_clear_text_is_read_as_it_was_written(secrets: dict[str, Secret], recipients: tuple[Recipient, ...]):
    assert decode(encode(VaultContent(secrets, recipients))) == VaultContent(secrets, recipients)


def test_the_clear_text_is_the_documented_object():
    written = json.loads(encode(VaultContent({"A": Secret("x", 0.0, 1.5)}, (Recipient("age1…", "recovery"),), 7)))
    assert written == {
        "version": 1,
        "secrets": {
            "A": {"value": "x", "created_at": "1970-01-01T00:00:00.000Z", "rotated_at": "1970-01-01T00:00:01.500Z"}
        },
        "writes": 7,
        "recipients": [{"key": "age1…", "note": "recovery"}],
    }


@pytest.mark.parametrize("entry", [{}, {"rotated_at": None}])
def test_a_secret_of_another_writer_that_was_never_rotated_is_as_old_as_it_is_there(entry: dict[str, None]):
    document = {"version": 1, "secrets": {"A": {"value": "x", "created_at": "1970-01-01T00:00:05Z", **entry}}}
    assert decode(json.dumps(document).encode()).secrets["A"] == Secret("x", 5.0, 5.0)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "1A",
        "A=B",
        "A\0",
        "A\n",
        "A\nB",
        "A-B",
        "Ä",
        "A B",
        "a" * 129,
        "x" * 10_240,
        "../identity",
        "$(id)",
        "\ud800",
    ],
    ids=lambda name: repr(name)[:20],
)
def test_a_bad_name_is_refused_and_quoted_in_a_few_characters(name: str):
    with pytest.raises(VaultError, match="secret") as told:
        validate_name(name)
    assert len(str(told.value)) < 200
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("name", ["A", "_", "a1_B", "x" * 128])
def test_a_good_name_is_taken(name: str):
    assert validate_name(name) == name


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("", "the value is empty"),
        ("secret\0", "NUL character"),
        ("secret\udcff", "not UTF-8 text"),
        ("s" * (MAX_VALUE_BYTES + 1), "1,048,577 bytes, limit 1,048,576"),
    ],
    ids=["empty", "NUL", "half a character", "too long"],
)
def test_a_bad_value_is_refused_and_never_quoted(value: str, sentence: str):
    with pytest.raises(VaultError, match=sentence) as told:
        validate_value(value)
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("value", ["x", " ", "a\nb\n", "s" * MAX_VALUE_BYTES, "ü" * 1000, '"\\{}'], ids=len)
def test_a_good_value_is_taken(value: str):
    assert validate_value(value) == value


@pytest.mark.parametrize(
    "clear",
    [
        b"", b"canary", b"[]", b"null", b"{}", b'{"version":1}', b'{"version":1,"secrets":[]}', b"\xff",
        b'{"version":1,"secrets":{"A":"canary"}}', b'{"version":1,"secrets":{"A":{"value":7}}}',
        b'{"version":1,"secrets":{"A-B":{"value":"canary","created_at":"2026-01-01","rotated_at":"2026-01-01"}}}',
        b'{"version":1,"secrets":{"A":{"value":"canary","created_at":"x","rotated_at":"x"}}}',
        b'{"version":1,"secrets":{"A":{"value":"canary","created_at":1,"rotated_at":1}}}',
        b'{"version":1,"secrets":{},"recipients":7}', b"[" * 100_000,
    ],
    ids=range(15),
)  # fmt: skip
def test_a_clear_text_of_another_program_is_told_without_quoting_it(clear: bytes):
    with pytest.raises(VaultError, match="written") as told:
        decode(clear)
    assert "canary" not in str(told.value)


def test_a_newer_version_is_told():
    with pytest.raises(VaultError, match="version"):
        decode(b'{"version":2}')


def test_a_new_value_keeps_when_the_name_was_made():
    content = VaultContent().with_secret("A", "x", 1.0).with_secret("A", "y", 5.0)
    assert content.secrets["A"] == Secret("y", 1.0, 5.0)


def test_a_value_is_not_in_what_debuggers_show():
    assert "canary" not in repr(VaultContent().with_secret("A", "canary", 1.0))


def test_an_unknown_name_is_told():
    with pytest.raises(UnknownSecretError, match="'B'"):
        VaultContent().without("B")
