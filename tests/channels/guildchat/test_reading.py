"""What guildchat makes of interactions and events (docs/facts/guildchat.md)."""

import json
from hashlib import sha256
from typing import Any

import pytest
from tests.channels.guildchat.calls import ANNA, APPLICATION_ID, ASK, CHANNEL_ID, FORM, SAVE, UPLOAD, event, interaction

from tocsin.channels.guildchat.adapter import GuildchatAdapter
from tocsin.channels.inbound import (
    Attachment,
    Handshake,
    InboundMessage,
    MessageKind,
    Quote,
    WebhookRequest,
    WebhookResponse,
)
from tocsin.testing.inbound_bench import build_receiver

RECEIVER = build_receiver(GuildchatAdapter, {})
DEFERRED, DEFERRED_UPDATE = ({"type": 5}, {"type": 6})


async def received(body: bytes) -> InboundMessage | Handshake | None:
    return await RECEIVER.receive(WebhookRequest((), body))


async def read(body: bytes) -> InboundMessage:
    message = await received(body)
    assert isinstance(message, InboundMessage)
    return message


async def answered(body: bytes) -> Any:
    found = await received(body)
    answer = found.answer if isinstance(found, Handshake) else RECEIVER.answer_to(found)
    return json.loads(answer.body) if answer.body else answer.status


def command(*options: dict[str, Any], name: str = "remember") -> bytes:
    return interaction(1, 2, {"name": name, "type": 1, "options": list(options)})


async def test_a_command_is_read_with_everything_that_is_known_of_it():
    assert await read(interaction(0, 2, ASK, locale="de")) == InboundMessage(
        channel="guildchat",
        kind=MessageKind.COMMAND,
        id="1170000000000000000",
        dedupe_keys=("interaction:1170000000000000000",),
        chat_id=CHANNEL_ID,
        text="/ask what now?",
        chat_type="channel",
        sender_id=ANNA["id"],
        sender_name="Änn",
        sender_username="anna",
        sender_language="de",
        command="ask",
        args="what now?",
        mentions_bot=True,
        sent_at=1_699_020_137.548,
        received_at=1_700_000_000.0,
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "/remember"),
        (
            [{"name": "a", "value": "x y"}, {"name": "b", "value": 7}, {"name": "c", "value": True}],
            "/remember x y 7 true",
        ),
        ([{"name": "a", "value": 1.5}], "/remember 1.5"),
        ([{"name": "set", "type": 1, "options": [{"name": "k", "value": "v"}]}], "/remember set v"),
        (
            [{"name": "team", "type": 2, "options": [{"name": "add", "type": 1, "options": [{"value": "ben"}]}]}],
            "/remember team add ben",
        ),
    ],
)
async def test_the_text_of_a_command_is_its_name_and_what_was_typed(options: list[dict[str, Any]], text: str):
    message = await read(command(*options))
    assert (message.text, message.args) == (text, text.removeprefix("/remember").strip())


async def test_a_command_of_a_message_brings_its_text_and_one_of_a_person_their_id():
    assert (await read(interaction(1, 2, SAVE))).text == "/save this worth it"
    message = await read(interaction(1, 2, {"name": "Who", "type": 2, "target_id": "300000000000000002"}))
    assert (message.command, message.args) == ("who", "300000000000000002")


async def test_a_file_comes_with_what_is_known_of_it():
    message = await read(interaction(1, 2, UPLOAD))
    assert message.attachments == (Attachment("audio", "7", "audio/ogg", "a.ogg", duration=1.5),)


@pytest.mark.parametrize(
    ("fields", "chat_type"),
    [
        ({}, "channel"),
        ({"guild_id": None, "member": None, "user": ANNA}, "private"),
        ({"guild_id": None, "user": ANNA, "channel": {"id": CHANNEL_ID, "type": 3}}, "group"),
    ],
)
async def test_the_type_of_a_chat_follows_from_the_server(fields: dict[str, Any], chat_type: str):
    message = await read(interaction(1, 2, ASK, **fields))
    assert (message.chat_type, message.sender_id) == (chat_type, ANNA["id"])
    assert RECEIVER.reply_target(message) == CHANNEL_ID


async def test_a_button_gives_its_id_and_a_menu_what_was_chosen_too():
    button = await read(interaction(1, 3, {"custom_id": "deploy:yes"}, message={"id": "9"}))
    assert (button.kind, button.callback_data, button.args) == (MessageKind.CALLBACK, "deploy:yes", "")
    assert (button.callback_id, button.reply_to_id) == (button.id, "9")
    menu = await read(interaction(1, 3, {"custom_id": "pick", "values": ["a", "b"]}, message={"id": "9"}))
    assert (menu.callback_data, menu.args) == ("pick", "a b")


async def test_a_dialogue_gives_what_was_typed():
    message = await read(interaction(1, 5, FORM))
    assert (message.callback_data, message.text, message.args) == ("feedback", "good\nx", "good\nx")


async def test_each_kind_of_call_has_its_own_answer():
    assert await answered(interaction(1, 2, ASK)) == DEFERRED
    assert await answered(interaction(1, 3, {"custom_id": "x"}, message={"id": "9"})) == DEFERRED_UPDATE
    assert await answered(interaction(1, 5, FORM)) == DEFERRED
    assert await answered(interaction(1, 4, ASK)) == {"type": 8, "data": {"choices": []}}
    assert await answered(event("LOBBY_MESSAGE_CREATE", content="x", channel_id="1", author=ANNA)) == 204
    assert await answered(event("ENTITLEMENT_CREATE", id="1")) == 204
    assert await answered(b"no json") == 204


async def test_an_event_of_nothing_is_no_ping():
    assert await answered(b'{"version":1,"application_id":"1","type":1,"event":{}}') == 204
    assert await answered(b'{"version":1,"application_id":"1","type":1}') == {"type": 1}


@pytest.mark.parametrize("sort", [2, 3, 5])
async def test_an_interaction_without_a_channel_is_answered_by_its_token(sort: int):
    body = interaction(1, sort, {**ASK, **FORM}, channel_id=None, channel=None, message={"id": "9"})
    assert await answered(body) == (DEFERRED_UPDATE if sort == 3 else DEFERRED)
    assert "interaction" in (await read(body)).reply_context


async def test_an_interaction_that_nobody_could_answer_says_so_at_once_and_to_one_person_only():
    answer = await answered(interaction(1, 2, {**ASK, "name": None}))
    assert (answer["type"], answer["data"]["flags"]) == (4, 64)
    assert answer["data"]["content"]


async def test_the_address_of_an_answer_is_kept_in_memory_with_its_end():
    message = await read(interaction(1, 2, ASK))
    assert message.reply_context["expires_at"] == 1_700_000_000.0 + 890
    assert "aW50ZXJhY3Rpb246bWFkZXVw" not in repr(message) + repr(message.reply_context) + str(message.stored())
    for token in ("../../users/@me", "a/b", "a b", "a?b", "", None, "x" * 501):
        assert not (await read(interaction(1, 2, ASK, token=token))).reply_context


# --- events


async def test_a_message_event_is_read_and_known_by_its_body():
    said = {"content": f"<@{APPLICATION_ID}> hello", "channel_id": CHANNEL_ID, "author": ANNA, "lobby_id": "4"}
    body = event("LOBBY_MESSAGE_CREATE", id="8", **said)
    message = await read(body)
    assert (message.kind, message.text, message.mentions_bot) == (MessageKind.MESSAGE, "hello", True)
    assert message.dedupe_keys == (f"body:{sha256(body).hexdigest()}", "message:8")
    assert (message.sent_at, message.sender_name) == (1_700_000_000.0, "Anna")
    assert RECEIVER.answer_to(message) == WebhookResponse(204)


@pytest.mark.parametrize(
    "fields",
    [
        {"author": {"id": APPLICATION_ID}},
        {"author": {"id": "5", "bot": True}},
        {"author": None},
        {"channel_id": None},
        {"content": " "},
    ],
)
async def test_own_messages_other_bots_and_what_cannot_be_answered_are_ignored(fields: dict[str, Any]):
    given = {"id": "8", "content": "hello", "channel_id": CHANNEL_ID, "author": ANNA}
    assert await received(event("LOBBY_MESSAGE_CREATE", **{**given, **fields})) is None


@pytest.mark.parametrize("sort", [True, None, "1", 1.0, 6, -1, [], {}])
async def test_an_unknown_type_is_ignored(sort: object):
    assert await received(json.dumps({"id": "1", "token": "t", "type": sort}).encode()) is None


async def test_the_message_that_an_event_answers_is_quoted():
    given = {"id": "8", "content": "yes", "channel_id": CHANNEL_ID, "author": ANNA}
    answered = {"content": "Lunch?", "author": {"id": "77", "username": "bob", "global_name": "Bob"}}
    message = await read(event("LOBBY_MESSAGE_CREATE", **given, referenced_message=answered))
    assert message.quote == Quote("Bob", "bob", "77", text="Lunch?")
    own = await read(
        event("LOBBY_MESSAGE_CREATE", **given, referenced_message={**answered, "author": {"id": APPLICATION_ID}})
    )
    assert own.quote is not None
    assert own.quote.by_bot
    for broken in (3, None, {"content": 3}, {"content": " "}, {"content": "", "author": 3}):
        assert (await read(event("LOBBY_MESSAGE_CREATE", **given, referenced_message=broken))).quote is None
