"""Answers on botchat: the message they answer, buttons, and replacing a message (docs/facts/botchat.md)."""

from typing import Any

import pytest

from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.contract import COMMONMARK, PLAIN, Outgoing, Receipt
from tocsin.core.http.direct import DirectTransport
from tocsin.core.http.transport import Transport
from tocsin.testing import FakeClock, ScriptedTransport, build_adapter
from tocsin_standins.botchat.server import TOKEN, BotChat
from tocsin_standins.botchat.world import FORUM_CHAT

BUTTONS = [[["Yes", "confirm:1"], ["No", "cancel:1"]], [["Später", "später"]]]
KEYBOARD = {
    "inline_keyboard": [
        [{"text": "Yes", "callback_data": "confirm:1"}, {"text": "No", "callback_data": "cancel:1"}],
        [{"text": "Später", "callback_data": "später"}],
    ]
}
LONG = "word " * 1_500  # two parts


class Wire(ScriptedTransport):
    """A scripted Bot API."""

    def sends(self, message_id: int = 42) -> "Wire":
        self.will_answer({"ok": True, "result": {"message_id": message_id}})
        return self

    def refuses(self, description: str) -> "Wire":
        self.will_answer({"ok": False, "error_code": 400, "description": f"Bad Request: {description}"}, 400)
        return self

    def knows_no_such_method(self) -> "Wire":
        self.will_answer({"ok": False, "error_code": 404, "description": "Not Found"}, 404)
        return self

    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """List method and parameters of every call."""
        return [(request.url.rpartition("/")[2], request.json()) for request in self.sent]


async def transmit(http: Transport, outgoing: Outgoing, **env: str) -> Receipt:
    adapter = build_adapter(BotchatAdapter, {"BOTCHAT_BOT_TOKEN": TOKEN, **env}, http=http, clock=FakeClock())
    return await adapter.transmit(outgoing)


async def send(http: Transport, text: str = "**hi**", target: str = "7", **extra: object) -> Receipt:
    return await transmit(http, Outgoing(target, text, parse_mode=COMMONMARK, extra=extra))


async def test_an_answer_names_the_message_and_is_sent_even_if_that_is_gone():
    http = Wire().sends()
    assert (await send(http, reply_to="15")).result.ok
    ((method, body),) = http.calls()
    assert method == "sendMessage"
    assert body["reply_parameters"] == {"message_id": 15, "allow_sending_without_reply": True}


async def test_the_first_part_answers_and_the_last_one_has_the_buttons():
    http = Wire().sends(1).sends(2)
    assert (await send(http, LONG, reply_to=15, buttons=BUTTONS)).parts_sent == 2
    (_, first), (_, last) = http.calls()
    assert ("reply_parameters" in first, "reply_markup" in first) == (True, False)
    assert ("reply_parameters" in last, last["reply_markup"]) == (False, KEYBOARD)


async def test_an_attempt_that_goes_on_with_the_second_part_answers_nothing():
    http = Wire().sends(2)
    extra = {"reply_to": 15, "edit_message_id": 16, "buttons": BUTTONS}
    outgoing = Outgoing("7", LONG, parse_mode=COMMONMARK, parts_sent=1, parts_total=2, extra=extra)
    assert (await transmit(http, outgoing)).result.ok
    ((method, body),) = http.calls()
    assert (method, "reply_parameters" in body, body["reply_markup"]) == ("sendMessage", False, KEYBOARD)


async def test_a_text_that_takes_the_place_of_a_message_is_an_edit():
    http = Wire().sends(16).sends(17)
    receipt = await send(http, LONG, "-1001/5", edit_message_id=16, reply_to=15, buttons=BUTTONS)
    assert receipt.provider_id == "id=16"
    (method, first), (second_method, second) = http.calls()
    assert (method, first["message_id"], first["chat_id"]) == ("editMessageText", 16, -1001)
    assert not {"message_thread_id", "reply_parameters", "reply_markup"} & first.keys()
    assert (second_method, second["message_thread_id"]) == ("sendMessage", 5)


async def test_an_edit_that_changes_nothing_is_done():
    http = Wire().refuses("message is not modified: specified new message content is the same")
    assert (await send(http, edit_message_id=16)).result.message == "id=16"


@pytest.mark.parametrize(
    "reason", ["message can't be edited", "message to edit not found", "MESSAGE_ID_INVALID", "in words of tomorrow"]
)
async def test_a_message_that_cannot_be_edited_any_more_is_followed_by_a_new_one(reason: str):
    http = Wire().refuses(reason).sends(43)
    assert (await send(http, edit_message_id=16, buttons=BUTTONS, reply_to=15)).result.message == "id=43"
    (_, edit), (method, body) = http.calls()
    assert (method, body["text"], body["entities"]) == ("sendMessage", "hi", edit["entities"])
    assert (body["reply_markup"], body["reply_parameters"]["message_id"]) == (KEYBOARD, 15)


async def test_a_server_that_knows_no_edits_gets_a_new_message():
    http = Wire().knows_no_such_method().sends(43)
    assert (await send(http, edit_message_id=16)).result.message == "id=43"
    assert [method for method, _ in http.calls()] == ["editMessageText", "sendMessage"]


@pytest.mark.parametrize(
    "reason",
    ["can't parse entities: x", "can't parse MessageEntity: x", "Wrong message entity: x", "ENTITY_BOUNDS_INVALID"],
)
async def test_entities_that_the_server_refuses_are_left_out_and_nothing_else(reason: str):
    http = Wire().refuses(reason).sends()
    receipt = await send(http, "**hi** there", "-1001/5", reply_to=15, buttons=BUTTONS)
    assert (receipt.result.ok, receipt.attempts) == (True, 1)
    (_, first), (_, second) = http.calls()
    assert first.pop("entities") == [{"type": "bold", "offset": 0, "length": 2}]
    assert first == second


async def test_an_answer_to_a_message_that_is_gone_is_sent_without_it():
    http = Wire().refuses("message to be replied not found").sends()
    assert (await send(http, reply_to=15, buttons=BUTTONS)).result.ok
    body = http.calls()[1][1]
    assert ("reply_parameters" in body, body["reply_markup"]) == (False, KEYBOARD)


async def test_a_topic_that_is_gone_takes_neither_answer_nor_buttons_with_it():
    http = Wire().refuses("message thread not found").sends()
    assert (await send(http, target="-1001/5", reply_to=15, buttons=BUTTONS)).result.ok
    body = http.calls()[1][1]
    assert ("message_thread_id" in body, "reply_parameters" in body, body["reply_markup"]) == (False, True, KEYBOARD)


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ({"buttons": [[["Yes", "ü" * 33]]]}, "must have 1 to 64 bytes: replace long values by an index"),
        ({"buttons": [[["Yes", ""]]]}, "must have 1 to 64 bytes"),
        ({"buttons": [[[" ", "x"]]]}, "no text"),
        ({"buttons": [["Yes", "x"]]}, "the buttons have an invalid format: use a list of rows"),
        ({"buttons": "Yes"}, "the buttons have an invalid format"),
        ({"buttons": [[["Yes", "x", "y"]]]}, "the buttons have an invalid format"),
        ({"buttons": [[["Yes", "x"]] * 101]}, "more than 100 buttons"),
        ({"reply_to": "x"}, "reply_to is not a valid message ID"),
        ({"reply_to": True}, "reply_to is not a valid message ID"),
        ({"edit_message_id": -1}, "edit_message_id is not a valid message ID"),
        ({"edit_message_id": [1]}, "edit_message_id is not a valid message ID"),
    ],
)
async def test_extras_that_cannot_be_sent_are_refused_before_any_call(extra: dict[str, object], reason: str):
    http = Wire().sends()
    receipt = await send(http, **extra)
    assert reason in receipt.result.error
    assert http.sent == []


async def test_extras_of_others_are_ignored():
    http = Wire().sends()
    assert (await send(http, thread_hint="x", reply_to=None, edit_message_id="", buttons=[])).result.ok
    ((_, body),) = http.calls()
    assert body.keys() == {"chat_id", "text", "entities", "link_preview_options"}


async def test_plain_text_is_sent_without_markup_and_split_but_never_as_fences():
    http = Wire().sends(1).sends(2)
    text = "```\n" + "_log line_ *\n" * 400
    assert (await transmit(http, Outgoing("7", text, parse_mode=PLAIN))).result.ok
    bodies = [body for _, body in http.calls()]
    assert all(not {"parse_mode", "entities"} & body.keys() for body in bodies)
    assert "\n".join(body["text"] for body in bodies) == text.strip()


async def test_the_default_parse_mode_is_unchanged_by_all_this():
    http = Wire().sends()
    assert (await transmit(http, Outgoing("7", "*hi*", extra={"buttons": BUTTONS}))).result.ok
    ((_, body),) = http.calls()
    assert (body["parse_mode"], body["text"], body["reply_markup"]) == ("Markdown", "*hi*", KEYBOARD)


async def test_a_stand_in_of_the_server_shows_what_was_meant():
    source = "# Done\n\n- **a** `b`\n\n```py\n    x = 1\n```\n\n> [c](https://d.e)"
    async with BotChat() as server:
        server.strict_entities = True
        env = {"BOTCHAT_API_URL": server.api_url}
        http = DirectTransport()
        first = await transmit(http, Outgoing(f"{FORUM_CHAT}/5", source, parse_mode=COMMONMARK), **env)
        message_id = int(first.result.message.removeprefix("id="))
        extra = {"edit_message_id": message_id, "buttons": BUTTONS}
        again = await transmit(http, Outgoing(str(FORUM_CHAT), "**b**", parse_mode=COMMONMARK, extra=extra), **env)
        await http.aclose()
        sent = server.recorder.of("botchat")[0].body["entities"]
        message = server.world.messages[FORUM_CHAT, message_id]
        kinds = [entity["type"] for entity in sent]
    assert (first.result.message, again.result.message) == (f"id={message_id}",) * 2
    assert kinds == ["bold", "bold", "code", "pre", "blockquote", "text_link"]
    assert (message["text"], message["reply_markup"]) == ("b", KEYBOARD)
