"""Buttons that call back, as each product is sent them; and their tokens."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.facts import mentions

from tocsin.channels.action_tokens import OWN_KEY, SECRET, ActionToken, comparable, make_token, read_token, with_secret
from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.content import read_content
from tocsin.channels.contract import OutboundAdapter, Outgoing
from tocsin.channels.guildchat import GuildchatAdapter
from tocsin.channels.inbound import MessageKind
from tocsin.channels.presses import press_event
from tocsin.channels.teamchat import TeamchatAdapter
from tocsin.core.errors import ChannelError
from tocsin.core.ids import new_id
from tocsin.testing import ScriptedTransport, build_adapter

BOT_TOKENS = {
    TeamchatAdapter: {"TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example"},
    BotchatAdapter: {"BOTCHAT_BOT_TOKEN": "123456789:AAexampleEXAMPLE_example-example"},
    GuildchatAdapter: {"GUILDCHAT_BOT_TOKEN": "MTAwMDAwexampleMDAw.Gexamp.exampleexampleexample"},
}
PROOFS = {"TEAMCHAT_SIGNING_SECRET": "8f742231b10e8888abcd99eee0ff85a5", "GUILDCHAT_PUBLIC_KEY": "ab" * 32}
ANSWERS: dict[type[OutboundAdapter], dict[str, Any]] = {
    TeamchatAdapter: {"ok": True, "channel": "C0GENERAL", "ts": "1503435956.000247"},
    BotchatAdapter: {"ok": True, "result": {"message_id": 5, "chat": {"id": 7}}},
    GuildchatAdapter: {"id": "1400000000000000001", "channel_id": "100000000000000001"},
}
TARGETS = {TeamchatAdapter: "#ops", BotchatAdapter: "1001", GuildchatAdapter: "100000000000000001"}
APPROVE = {"action": "call", "label": "Approve", "name": "approve", "value": "top secret", "style": "success"}
REJECT = {"action": "call", "label": "Reject", "name": "reject", "style": "danger", "confirm": "Really?"}


def message(kind: type[OutboundAdapter], *actions: dict[str, Any]) -> Outgoing:
    """Return a message with these buttons, with the ID of a delivery."""
    return with_secret(Outgoing(TARGETS[kind], "Deploy web?", new_id(), content={"actions": list(actions)}))


async def wire(kind: type[OutboundAdapter], outgoing: Outgoing) -> Any:
    """Send a message and return the JSON that the provider was sent."""
    http = ScriptedTransport()
    http.will_answer(ANSWERS[kind])
    receipt = await build_adapter(kind, BOT_TOKENS[kind] | PROOFS, http=http).transmit(outgoing)
    assert receipt.result.ok, receipt.result.error
    [sent] = http.sent
    assert b"top secret" not in sent.body
    return json.loads(sent.body)


# --- what a product is sent


async def test_slack_shows_buttons_with_a_token_as_value_a_style_and_a_question():
    outgoing = message(TeamchatAdapter, APPROVE, REJECT)
    approve, reject = (await wire(TeamchatAdapter, outgoing))["blocks"][-1]["elements"]
    assert (approve["value"], approve["style"]) == (make_token(outgoing, 0), "primary")
    assert (reject["value"], reject["style"]) == (make_token(outgoing, 1), "danger")
    assert reject["confirm"]["text"] == {"type": "plain_text", "text": "Really?"}
    assert "url" not in approve


async def test_telegram_shows_buttons_with_a_token_as_callback_data():
    outgoing = message(BotchatAdapter, APPROVE)
    rows = (await wire(BotchatAdapter, outgoing))["reply_markup"]["inline_keyboard"]
    assert rows == [[{"text": "Approve", "callback_data": make_token(outgoing, 0), "style": "success"}]]


async def test_discord_shows_buttons_with_a_token_as_custom_id():
    outgoing = message(GuildchatAdapter, APPROVE, REJECT)
    approve, reject = (await wire(GuildchatAdapter, outgoing))["components"][0]["components"]
    assert (approve["custom_id"], approve["style"]) == (make_token(outgoing, 0), 3)
    assert (reject["custom_id"], reject["style"]) == (make_token(outgoing, 1), 4)


@pytest.mark.parametrize(
    ("kind", "setting"), [(TeamchatAdapter, "TEAMCHAT_SIGNING_SECRET"), (GuildchatAdapter, "GUILDCHAT_PUBLIC_KEY")]
)
async def test_a_button_whose_press_could_not_arrive_is_refused_before_sending(
    kind: type[OutboundAdapter], setting: str
):
    http = ScriptedTransport()
    receipt = await build_adapter(kind, BOT_TOKENS[kind], http=http).transmit(message(kind, APPROVE))
    assert not receipt.result.ok
    assert setting in receipt.result.error
    assert http.sent == []


# --- reading


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"action": "call", "name": "x"}, ("label",)),
        ({"action": "call", "label": "Go"}, ("name",)),
        ({"action": "call", "label": "Go", "name": ""}, ("name",)),
        ({"action": "call", "label": "Go", "name": "Not A Name"}, ("name", "lower-case")),
        ({"action": "call", "label": "Go", "name": "x" * 65}, ("name", "64")),
        ({"action": "call", "label": "Go", "name": "x", "value": "é" * 513}, ("value", "1,024")),
        ({"action": "call", "label": "Go", "name": "x", "style": "loud"}, ("style",)),
        ({"action": "call", "label": "Go", "name": "x", "url": "javascript:alert(1)"}, ("url", "https://")),
        ({"action": "view", "label": "Go"}, ("url",)),
        ({"action": "view", "label": "Go", "url": ""}, ("url",)),
        ({"action": "view", "label": "Go", "url": "javascript:alert(1)"}, ("url",)),
        ({"action": "view", "label": "Go", "url": "https://x.example", "name": "x"}, ("name", "call")),
        ({"action": "run", "label": "Go"}, ("action", "view", "call")),
    ],
)
def test_a_wrong_button_is_refused_with_what_is_wrong(wrong: dict[str, Any], words: tuple[str, ...]):
    with pytest.raises(ChannelError) as refusal:
        read_content({"actions": [wrong]})
    assert mentions(str(refusal.value), *words)


def test_a_stored_button_is_read_back_as_it_was():
    content = read_content({"actions": [APPROVE, {**REJECT, "once": False}]})
    assert content is not None
    assert read_content(json.loads(json.dumps(content.as_stored()))) == content


# --- tokens


@given(st.uuids(), st.integers(0, 4))
def test_a_token_fits_every_product_and_is_read_back(delivery: Any, number: int):
    outgoing = with_secret(Outgoing("t", "x", str(delivery), content={"actions": [APPROVE]}))
    token = make_token(outgoing, number)
    assert len(token.encode()) <= 64
    found = read_token(token)
    assert found is not None
    assert (found.delivery, found.number) == (str(delivery), number)
    assert found.is_of(outgoing.extra)


@given(st.text(max_size=100))
def test_the_data_of_another_button_is_no_token(data: str):
    assert read_token(data) is None


def test_a_token_with_another_secret_is_not_of_the_message():
    outgoing = message(BotchatAdapter, APPROVE)
    guess = ActionToken(outgoing.key, 0, "0" * 22)
    assert not guess.is_of(outgoing.extra)
    assert not guess.is_of({})
    assert not ActionToken(outgoing.key, 0, "").is_of({SECRET: ""})


def test_a_message_with_a_button_that_calls_back_has_a_key_of_its_own_or_that_of_its_caller():
    own, given_one = message(BotchatAdapter, APPROVE), Outgoing("t", "x", content={"actions": [APPROVE], "key": "disk"})
    assert own.content["key"]
    assert comparable(own.content) == {"actions": [APPROVE]}
    assert with_secret(given_one).content["key"] == "disk"
    assert with_secret(Outgoing("t", "x", content={"actions": "nonsense"})).extra == {}


def test_a_press_is_one_event_whatever_the_product():
    event = press_event("ntfy", "a:token", event_id="e1", chat_id="alerts", sender_id="7", sender_name="Ada", now=5.0)
    assert (event.kind, event.callback_data, event.dedupe_keys) == (MessageKind.CALLBACK, "a:token", ("press:e1",))


def test_the_key_that_readers_of_deliveries_see_says_nothing_about_the_secret():
    made = with_secret(Outgoing("t", "x", content={"actions": [{"action": "call", "label": "Go", "name": "go"}]}))
    assert made.content["key"].startswith(OWN_KEY)
    assert made.extra[SECRET] not in made.content["key"]
