"""Who may call as guildchat (docs/facts/guildchat.md)."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.channels.guildchat.calls import PUBLIC_KEY, signed

from tocsin.channels.guildchat.adapter import GuildchatAdapter
from tocsin.channels.inbound import Handshake, RejectedError, WebhookRequest, WebhookResponse
from tocsin.core.errors import ConfigError
from tocsin.testing.inbound_bench import build_receiver

PING = b'{"type":1}'
ASK = '{"id":"1","token":"t","type":2,"data":{"name":"ask","value":"café 😀"}}'.encode()
VECTORS = {
    PING: "c1098e97d711377f30225d53d94b89d43537f92e5b3afaddc590781b1f9f9d4b"
    "2eeab335d370be3b9a090bc61a85b86448bc140dcd195f1569c2bff181257607",
    ASK: "484ee22aa94c0728782494de5a357a0d58575933b587007c0152f83aaff88b0a"
    "a7e5b3a14c3c3ab7ab02b14852f5518da16d0204b59109da4263b39cfb8a1703",
}
AT = "1700000000"


def verify(call: WebhookRequest, key: str = PUBLIC_KEY) -> None:
    build_receiver(GuildchatAdapter, {"GUILDCHAT_PUBLIC_KEY": key} if key else {}).verify(call, 0.0)


def rejected(signature: str | None, timestamp: str | None = AT, body: bytes = PING, key: str = PUBLIC_KEY) -> str:
    values = {"x-signature-ed25519": signature, "x-signature-timestamp": timestamp}
    headers = tuple((name, value) for name, value in values.items() if value is not None)
    with pytest.raises(RejectedError) as failure:
        verify(WebhookRequest(headers, body), key)
    return failure.value.sentence()


@pytest.mark.parametrize("body", VECTORS)
def test_the_published_vectors_are_accepted_however_old_they_are(body: bytes):
    verify(WebhookRequest((("x-signature-ed25519", VECTORS[body]), ("x-signature-timestamp", AT)), body))


def test_everything_else_is_rejected():
    good = VECTORS[PING]
    assert "match" in rejected(good, body=b'{"type": 1}')
    assert "match" in rejected(good, "1700000001")
    assert "match" in rejected("d" + good[1:])
    assert "128" in rejected(good[:-1])
    assert "128" in rejected("zz" * 64)
    assert "empty" in rejected("")
    assert "missing" in rejected(None)
    assert "missing" in rejected(good, None)
    assert "match" in rejected(good, key="00" * 32)
    assert "match" in rejected(good, key="ff" * 32)
    assert "GUILDCHAT_PUBLIC_KEY" in rejected(good, key="")


def test_no_part_of_the_body_passes_for_a_part_of_the_time_stamp():
    """The signature covers both in one row: a boundary moved to the right would be another call with one proof."""
    assert "number" in rejected(VECTORS[PING], AT + "{", b'"type":1}')


def test_capitals_are_tolerated_and_no_other_call():
    call = signed(PING, 1_700_000_000)
    (name, proof), at = call.headers
    again = WebhookRequest(((name, proof.upper()), at), PING)
    verify(again)
    receiver = build_receiver(GuildchatAdapter, {})
    assert receiver.replay_key(again) == receiver.replay_key(call) != ""
    assert receiver.replay_key(signed(PING, 1_700_000_001)) != receiver.replay_key(call)
    assert receiver.replay_key(WebhookRequest((), PING)) == ""


@given(st.binary(max_size=200), st.integers(0, 127))
def test_one_changed_digit_is_rejected(body: bytes, place: int):
    (_, proof), _ = signed(body, 1_700_000_000).headers
    changed = proof[:place] + ("0" if proof[place] != "0" else "1") + proof[place + 1 :]
    assert "match" in rejected(changed, AT, body)


def test_without_the_library_every_call_is_rejected(monkeypatch: pytest.MonkeyPatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "nacl"]:
        monkeypatch.setitem(sys.modules, module, None)
    assert "pip install pynacl" in rejected(VECTORS[PING])


@pytest.mark.parametrize("key", ["03a1", "zz" * 32, PUBLIC_KEY + "00", PUBLIC_KEY[:-1] + "\u0661"])
def test_a_malformed_key_stops_the_start_and_says_where_to_find_it(key: str):
    with pytest.raises(ConfigError) as failure:
        build_receiver(GuildchatAdapter, {"GUILDCHAT_PUBLIC_KEY": key})
    assert "GUILDCHAT_PUBLIC_KEY" in str(failure.value)
    assert "64 hexadecimal digits" in failure.value.hint


def test_a_key_may_be_written_in_capitals_with_blanks_around_it():
    call = WebhookRequest((("x-signature-ed25519", VECTORS[PING]), ("x-signature-timestamp", AT)), PING)
    verify(call, f" {PUBLIC_KEY.upper()} ")


async def test_a_ping_is_answered():
    receiver = build_receiver(GuildchatAdapter, {})
    pong = Handshake(WebhookResponse(200, b'{"type": 1}', "application/json"))
    assert await receiver.receive(WebhookRequest((), PING)) == pong
    assert await receiver.receive(WebhookRequest((), PING)) == pong
    event_ping = b'{"version":1,"application_id":"1234560123453231555","type":0}'
    assert await receiver.receive(WebhookRequest((), event_ping)) == Handshake(WebhookResponse(204))


def test_the_time_at_which_a_call_was_signed_is_its_time_stamp():
    receiver = build_receiver(GuildchatAdapter, {"GUILDCHAT_PUBLIC_KEY": PUBLIC_KEY})
    call = WebhookRequest((("x-signature-ed25519", VECTORS[ASK]), ("x-signature-timestamp", AT)), ASK)
    assert receiver.signed_at(call) == 1_700_000_000
