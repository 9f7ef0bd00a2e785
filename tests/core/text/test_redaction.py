"""Secrets do not appear in logs, errors, results and audit lines, whatever form they travel in."""

import json
import re
import string
from base64 import b64encode, urlsafe_b64encode
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tocsin.core.text.redaction import MANY_FORMS, MASK, SHORTEST_SECRET, Redactor

printable = st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"])
secrets = st.one_of(
    st.text(printable, min_size=SHORTEST_SECRET, max_size=40),
    st.text(string.ascii_letters + string.digits + "-_", min_size=SHORTEST_SECRET, max_size=60),
    st.text("aA\\\"'/+%& <é", min_size=SHORTEST_SECRET, max_size=8),  # much overlapping and escaping
)
surroundings = st.one_of(st.text(max_size=30), st.text("aA\\\"'/+%& <é[]", max_size=8))

MANY = [f"one-of-many-{number:03}" for number in range(MANY_FORMS)]


def standard_forms(secret: str) -> dict[str, str]:
    return {
        "raw": secret,
        "url": quote(secret, safe=""),
        "url path": quote(secret),
        "url query": quote_plus(secret),
        "lower-case url": re.sub("%..", lambda match: match[0].lower(), quote(secret, safe="")),
        "json": json.dumps(secret)[1:-1],
        "json in unicode": json.dumps(secret, ensure_ascii=False)[1:-1],
        "json for pages": json.dumps(secret)[1:-1].replace("&", "\\u0026").replace("<", "\\u003C"),
        "json with slashes": json.dumps(secret)[1:-1].replace("/", "\\/"),
        "html": escape(secret, quote=False),
        "html attribute": escape(secret),
        "html by numbers": escape(secret).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),
        "xml": escape(secret).replace("&#x27;", "&apos;"),
        "html by padded numbers": escape(secret).replace("&#x27;", "&#039;").replace("&amp;", "&#38;"),
        "html all in numbers": "".join(f"&#x{ord(char):X};" if not char.isalnum() else char for char in secret),
        "repr": repr(secret)[1:-1],
        "hex": secret.encode().hex(),
        "upper-case hex": secret.encode().hex().upper(),
    }


def can_arise_beside_the_mask(form: str) -> bool:
    """Whether the mask itself can complete the form: that tells nobody anything."""
    ends = range(1, len(MASK) + 1)
    return form in MASK or MASK in form or any(form.startswith(MASK[-n:]) or form.endswith(MASK[:n]) for n in ends)


@pytest.mark.parametrize("others", [[], MANY], ids=["alone", "among many"])
@given(secrets, surroundings, surroundings)
def test_no_form_of_a_secret_survives_in_any_surroundings(others: list[str], secret: str, before: str, after: str):
    redact = Redactor([secret, *others])
    for name, form in standard_forms(secret).items():
        assume(not can_arise_beside_the_mask(form))
        text = redact(before + form + after + form)
        assert form not in text, name
        assert MASK in text, name


@given(secrets, st.binary(max_size=7), st.binary(max_size=7), st.sampled_from([b64encode, urlsafe_b64encode]))
def test_no_base64_text_shows_the_secret_at_any_offset(secret: str, before: bytes, after: bytes, encode):
    raw = secret.encode()
    text = Redactor([secret])(f"Basic {encode(before + raw + after).decode()} end")
    # What is left of the base64 text has at most the bits in front of the value's first whole character.
    left = text.removeprefix("Basic ").removesuffix(" end")
    assert re.fullmatch(rf"[A-Za-z0-9+/_-]{{0,{len(before) * 8 // 6 + 1}}}\[secret\]", left), left


@given(st.lists(secrets, max_size=5), st.text(st.characters()))
def test_any_text_is_taken_and_comes_back_unchanged_without_a_secret(values: list[str], text: str):
    result = Redactor(values)(text)
    if MASK not in result:
        assert result == text


@given(st.lists(st.text(st.characters(), max_size=10), max_size=5), st.text(st.characters()))
def test_any_value_is_taken_as_a_secret(values: list[str], text: str):
    Redactor(values)(text)


@given(st.lists(secrets, min_size=2, max_size=4), st.data())
def test_several_secrets_do_not_protect_each_other(values: list[str], data):
    assume(not any(can_arise_beside_the_mask(value) for value in values))
    text = data.draw(st.lists(st.sampled_from([*values, " "]), max_size=8).map("".join))
    result = Redactor(values)(text)
    assert [value for value in values if value in result] == []


def test_overlapping_secrets_leave_nothing_of_each_other():
    assert Redactor(["abcdef", "defghi"])("x abcdefghi y") == f"x {MASK} y"
    assert Redactor(["password", "password-2"])("password-2") == MASK


def test_neighbouring_secrets_are_masked_once_each_or_together():
    assert Redactor(["abcd"])("abcd abcd") == f"{MASK} {MASK}"
    assert "abcd" not in Redactor(["abcd"])("abcdabcd")


def test_a_value_shorter_than_four_characters_masks_nothing():
    assert Redactor(["abc", "", "   a   "])("abc a b  c") == "abc a b  c"


def test_a_value_with_blanks_around_it_is_masked_without_them_too():
    assert Redactor([" token \n"])("the token.") == f"the {MASK}."


def test_the_credential_of_basic_authentication_is_masked_with_the_user_name():
    credential = b64encode(b"admin:correct horse").decode()
    text = Redactor(["correct horse"])(f"Authorization: Basic {credential}, more")
    assert text.endswith(f"{MASK}, more")
    assert "==" not in text


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (
            "POST https://api.example/bot123456:AAbbCCdd_ee-ff/getMe",
            f"POST https://api.example/bot{MASK}/getMe",
        ),
        ("token 123456789:" + "A" * 35, f"token {MASK}"),
        ("xoxb-sample-1234567890 and xoxe.xoxp-1-sample123", f"{MASK} and xoxe.{MASK}"),
        ("xapp-1-A0SAMPLE-123", MASK),
        ("Authorization: Bearer abcdefgh.ijklmnop", f"Authorization: Bearer {MASK}"),
        ("authorization: bearer abcdefgh.ijklmnop", f"authorization: bearer {MASK}"),
        ("Authorization: Bot abcdefgh.ijklmnop", f"Authorization: Bot {MASK}"),
        ("/webhooks/123/abcdefghijklmnop_-x?wait=1", f"/webhooks/123/{MASK}?wait=1"),
        ("/interactions/12/abcdefghijklmnopq/callback", f"/interactions/12/{MASK}/callback"),
        ("https://hooks.example.com/commands/T1/2/abcdef", f"https://hooks.example.com/{MASK}"),
        ("redis://user:pass@host:6379/0", f"redis://user:{MASK}@host:6379/0"),
        ("redis://:p:a:s@host", f"redis://:{MASK}@host"),
    ],
)
def test_what_has_the_shape_of_a_token_is_masked_without_being_known(text: str, masked: str):
    assert Redactor()(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "at 2026-01-31T12:30:00Z: robot 12:30 sent 100 of 123456: done",
        "Bot token is missing; Bearer of news; see https://example.com:8443/a@b",
        "mail to ops@example.com, profile night:watch, xoxo",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str):
    assert Redactor(["a-secret-value"])(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "aaaab",
        "1",
        "bot",
        "bot1234:",
        "://a:",
        "Bearer ",
        "https://hooks.",
        "/webhooks/1/",
        "YWFh",
        "\\",
        "%",
        "&",
        "&#0",
        "&amp;",
    ],
)
def test_a_long_text_of_repeated_pieces_is_redacted(piece: str):
    redact = Redactor(["aaaa", "\\\\\\\\", "a" * 30 + "b", "\\" * 40 + "b", "&" * 40 + "b", "&amp;" * 9 + "b"])
    redact(piece * 60_000)  # a cost that grew with the square would not come to an end


def test_a_value_that_is_learned_later_is_masked_in_every_form_from_then_on():
    redact = Redactor(["first-secret"])
    assert redact('a \\"quoted\\" one') == 'a \\"quoted\\" one'  # compiles what it knows so far
    redact.learn(['a "quoted" one', "abc"])
    redact.learn(['a "quoted" one'])
    assert redact('first-secret, a \\"quoted\\" one, a &quot;quoted&quot; one, abc') == (
        "[secret], [secret], [secret], abc"
    )
