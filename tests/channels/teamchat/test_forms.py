"""What teamchat makes of slash commands, buttons, menus and dialogues (docs/facts/teamchat.md)."""

from typing import Any

import pytest
from tests.channels.teamchat.calls import DIALOGUE, MENU, interactive, slash

from tocsin.channels.inbound import InboundMessage, MessageKind, WebhookRequest
from tocsin.channels.teamchat.adapter import TeamchatAdapter
from tocsin.testing.inbound_bench import build_receiver


async def read(body: bytes) -> InboundMessage:
    message = await build_receiver(TeamchatAdapter, {}).receive(WebhookRequest((), body))
    assert isinstance(message, InboundMessage)
    return message


def target_of(message: InboundMessage) -> str:
    return build_receiver(TeamchatAdapter, {}).reply_target(message)


async def test_the_text_of_a_slash_command_is_what_the_person_typed():
    message = await read(slash(text="a &amp;&amp; b &lt;c&gt; <#C0OPS|ops>"))
    assert (message.kind, message.text) == (MessageKind.COMMAND, "/status a && b <c> #ops")
    assert (message.command, message.args) == ("status", "a && b <c> #ops")
    assert (message.sender_id, message.sender_name, message.mentions_bot) == ("U0ANNA", "anna", True)
    assert message.dedupe_keys == (f"trigger:{message.id}",)
    assert message.id == "398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"


async def test_a_command_without_arguments_is_its_name_alone():
    message = await read(slash(command="/Deploy", text=""))
    assert (message.text, message.command, message.args) == ("/deploy", "deploy", "")


@pytest.mark.parametrize(
    ("fields", "chat_type"),
    [
        ({}, "channel"),
        ({"channel_name": "directmessage", "channel_id": "D0ANNA"}, "private"),
        ({"channel_name": "privategroup"}, "group"),
        ({"channel_name": "mpdm-anna--ben-1", "channel_id": "G0SEVEN"}, "group"),
    ],
)
async def test_a_command_knows_the_type_of_its_chat_and_is_answered_there(fields: dict[str, str], chat_type: str):
    message = await read(slash(**fields))
    assert message.chat_type == chat_type
    assert target_of(message) == fields.get("channel_id", "C0OPS")


async def test_a_trigger_that_looks_like_a_time_stamp_is_none():
    assert target_of(await read(slash(trigger_id="12466734323.1395"))) == "C0OPS"


async def test_without_a_trigger_the_body_names_the_command():
    first, second = await read(slash(trigger_id="")), await read(slash(trigger_id="", text="other"))
    assert first.dedupe_keys != second.dedupe_keys
    assert first.dedupe_keys == (await read(slash(trigger_id=""))).dedupe_keys


async def test_a_button_gives_its_value_and_is_answered_in_its_thread():
    message = await read(interactive())
    assert (message.kind, message.callback_data, message.args) == (MessageKind.CALLBACK, "deploy:yes", "")
    assert (message.callback_id, message.reply_to_id) == ("12466734323.1395872398", "1700000000.000100")
    assert message.dedupe_keys == ("trigger:12466734323.1395872398",)
    assert target_of(message) == "C0OPS/1700000000.000001"
    outside = await read(interactive(message={"ts": "1700000000.000100"}))
    assert target_of(outside) == "C0OPS/1700000000.000100"
    private = await read(interactive(message={"ts": "1700000000.000100"}, channel={"id": "D0ANNA"}))
    assert target_of(private) == "D0ANNA"


@pytest.mark.parametrize(
    ("action", "data", "args"),
    [
        ({"action_id": "go", "type": "button"}, "go", ""),
        (MENU[0], "pick", "two"),
        ({"action_id": "m", "selected_options": [{"value": "a"}, {"value": "b"}]}, "m", "a b"),
        ({"action_id": "who", "selected_user": "U0BEN"}, "who", "U0BEN"),
        ({"action_id": "day", "selected_date": "2026-08-01"}, "day", "2026-08-01"),
        ({"name": "old", "type": "select", "selected_options": [{"value": "x"}]}, "old", "x"),
    ],
)
async def test_a_menu_gives_its_name_and_what_was_chosen(action: dict[str, Any], data: str, args: str):
    message = await read(interactive(actions=[action]))
    assert (message.callback_data, message.args) == (data, args)


async def test_a_dialogue_gives_what_was_typed_and_is_answered_to_the_person():
    nowhere = {"actions": None, "channel": None, "container": None, "message": None}
    message = await read(interactive(type="view_submission", view=DIALOGUE, **nowhere))
    assert (message.callback_data, message.args, target_of(message)) == ("feedback", "ok", "U0ANNA")


async def test_a_shortcut_of_a_message_brings_its_text():
    message = await read(
        interactive(type="message_action", callback_id="keep", actions=None, message={"ts": "1.1", "text": "a &amp; b"})
    )
    assert (message.callback_data, message.text, message.reply_to_id) == ("keep", "a & b", "1.1")
