"""Who may call as teamchat (docs/facts/teamchat.md)."""

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.channels.teamchat.calls import SECRET, signed

from tocsin.channels.inbound import Handshake, RejectedError, WebhookRequest, WebhookResponse
from tocsin.channels.teamchat.adapter import TeamchatAdapter
from tocsin.testing.inbound_bench import build_receiver

SLASH = urlencode(
    {
        "token": "xyzz0WbapA4vBCDEFasx0q6G",
        "team_id": "T1DC2JH3J",
        "team_domain": "testteamnow",
        "channel_id": "G8PSS9T3V",
        "channel_name": "foobar",
        "user_id": "U2CERLKJA",
        "user_name": "roadrunner",
        "command": "/webhook-collect",
        "text": "",
        "response_url": "https://hooks.slack.com/commands/T1DC2JH3J/397700885554/96rGlfmibIGlgcZRskXaIFfN",
        "trigger_id": "398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
    }
).encode()
EVENT = (
    '{"type":"event_callback","event_id":"Ev0001","event":{"type":"message","channel":"C1","user":"U1",'
    '"text":"café ☃ 😀","ts":"1700000000.000100","channel_type":"channel"}}'
).encode()
VECTORS = {
    "a slash command": (
        "8f742231b10e8888abcd99yyyzzz85a5",
        1531420618,
        SLASH,
        "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
    ),
    "an event beyond ASCII": (
        "test-signing-secret",
        1700000000,
        EVENT,
        "v0=e3f94715056e85b905973f0769e4f42590c6c0e46638ed195e2c53a64bab316b",
    ),
}
NOW = 1_700_000_000.0


def verify(call: WebhookRequest, now: float = NOW, secret: str = SECRET) -> None:
    env = {"TEAMCHAT_SIGNING_SECRET": secret} if secret else {}
    build_receiver(TeamchatAdapter, env).verify(call, now)


def rejected(call: WebhookRequest, now: float = NOW, secret: str = SECRET) -> str:
    with pytest.raises(RejectedError) as failure:
        verify(call, now, secret)
    return failure.value.sentence()


@pytest.mark.parametrize("name", VECTORS)
def test_the_published_vectors_are_accepted(name: str):
    secret, timestamp, body, signature = VECTORS[name]
    headers = (("x-slack-signature", signature), ("x-slack-request-timestamp", str(timestamp)))
    call = WebhookRequest(headers, body)
    verify(call, timestamp, secret)
    assert "match" in rejected(WebhookRequest(headers, body + b" "), timestamp, secret)
    assert "match" in rejected(call, timestamp, "another-secret")


@pytest.mark.parametrize(
    "timestamp", ["x-teamchat-request-timestamp", "x-teamchat-timestamp", "x-slack-request-timestamp"]
)
@pytest.mark.parametrize("signature", ["x-teamchat-signature", "x-slack-signature"])
def test_every_pairing_of_the_two_families_of_header_names_is_accepted(signature: str, timestamp: str):
    (_, proof), (_, at) = signed(b"{}", NOW).headers
    verify(WebhookRequest(((signature, proof), (timestamp, at)), b"{}"))


def test_both_families_at_once_must_agree():
    slack, neutral = signed(b"{}", NOW), signed(b"{}", NOW, family="teamchat")
    verify(WebhookRequest(slack.headers + neutral.headers, b"{}"))
    later = signed(b"{}", NOW + 1, family="teamchat")
    assert "different values" in rejected(WebhookRequest(slack.headers + later.headers, b"{}"))
    empty = (("x-teamchat-signature", ""),)
    assert "different values" in rejected(WebhookRequest(slack.headers + empty, b"{}"))


def test_bare_hexadecimal_digits_and_capitals_are_tolerated():
    (name, proof), at = signed(b"{}", NOW).headers
    verify(WebhookRequest(((name, proof.removeprefix("v0=")), at), b"{}"))
    verify(WebhookRequest(((name, proof.upper().replace("V0", "v0")), at), b"{}"))
    for other in ("v1=" + proof[3:], "v0=v0=" + proof[3:], proof + "\n", "v0=" + "g" * 64, "v0=" + "\u0660" * 64):
        rejected(WebhookRequest(((name, other), at), b"{}"))


@pytest.mark.parametrize(("off", "accepted"), [(-301, False), (-300, True), (0, True), (300, True), (301, False)])
def test_a_call_is_good_for_five_minutes_in_both_directions(off: int, accepted: bool):
    call = signed(b"{}", NOW + off)
    if accepted:
        verify(call)
    else:
        assert "5 minutes" in rejected(call)


@pytest.mark.parametrize(("off", "accepted"), [(-301, False), (-300, True), (300, True), (301, False)])
def test_a_call_is_good_for_five_minutes_at_every_fraction_of_a_second(off: int, accepted: bool):
    call, late = signed(b"{}", NOW + off), NOW + 0.999
    if accepted:
        verify(call, late)
    else:
        assert "5 minutes" in rejected(call, late)


@pytest.mark.parametrize(
    "timestamp", ["-1700000000", "1700000000.0", "1_700", "0x10", "9" * 13, "\u0661700", "+1", "1e9"]
)
def test_a_time_stamp_is_one_to_twelve_digits(timestamp: str):
    (signature, _) = signed(b"{}", NOW).headers
    assert rejected(WebhookRequest((signature, ("x-slack-request-timestamp", timestamp)), b"{}"))


def test_without_a_secret_the_reason_says_what_to_set():
    assert "TEAMCHAT_SIGNING_SECRET" in rejected(signed(b"{}", NOW, ""), secret="")


@given(st.binary(max_size=300), st.integers(0, 63))
def test_one_changed_digit_is_rejected(body: bytes, place: int):
    (name, proof), at = signed(body, NOW).headers
    place += 3
    changed = proof[:place] + ("0" if proof[place] != "0" else "1") + proof[place + 1 :]
    verify(WebhookRequest(((name, proof), at), body))
    assert "match" in rejected(WebhookRequest(((name, changed), at), body))


def test_a_repeated_call_is_known_however_its_proof_is_written():
    receiver = build_receiver(TeamchatAdapter, {})
    (name, proof), at = signed(b"{}", NOW).headers
    written = [((name, proof), at), (("x-teamchat-signature", proof[3:].upper()), ("x-teamchat-timestamp", at[1]))]
    first, second = (receiver.replay_key(WebhookRequest(headers, b"{}")) for headers in written)
    assert first == second != receiver.replay_key(signed(b"{}", NOW + 1)) != ""
    assert receiver.replay_key(WebhookRequest((), b"{}")) == ""


async def test_the_address_check_gives_the_challenge_back():
    receiver = build_receiver(TeamchatAdapter, {})
    body = b'{"token":"Jhj5dZrVaK7ZwHHjRyZWjbDl","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P",'
    answer = await receiver.receive(WebhookRequest((), body + b'"type":"url_verification"}'))
    challenge = b'{"challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}'
    assert answer == Handshake(WebhookResponse(200, challenge, "application/json"))
    assert await receiver.receive(WebhookRequest((), b"ssl_check=1&token=x")) == Handshake(WebhookResponse())
