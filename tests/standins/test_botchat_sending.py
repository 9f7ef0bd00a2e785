import pytest

from tocsin_standins import Fault
from tocsin_standins.botchat.server import BotChat
from tocsin_standins.botchat.world import FORUM_CHAT, GROUP_CHAT, MIGRATED_CHAT, NEW_CHAT
from tocsin_standins.pacing import BURST


@pytest.fixture
async def botchat(clock):
    async with BotChat(clock=clock.now) as botchat:
        yield botchat


@pytest.fixture
def call(botchat, http):
    async def call(method="sendMessage", *, token=botchat.token, **args):
        async with http.post(f"{botchat.api_url}/bot{token}/{method}", json=args) as answer:
            body = await answer.json()
            assert answer.status == (200 if body["ok"] else body["error_code"])
            return body

    return call


@pytest.fixture
def refusal(call):
    async def refusal(method="sendMessage", **args):
        body = await call(method, **args)
        assert body["ok"] is False
        return body["error_code"], body["description"]

    return refusal


async def test_get_me_names_the_bot(call):
    me = (await call("getMe"))["result"]
    assert (me["is_bot"], me["username"], me["can_read_all_group_messages"]) == (
        True,
        "tocsin_standin_bot",
        False,
    )


async def test_a_message_is_answered_as_it_was_kept(botchat, call):
    sent = (await call(chat_id=1001, text=" hello \n"))["result"]
    assert (sent["text"], sent["chat"]["id"], sent["from"]["is_bot"]) == ("hello", 1001, True)
    [received] = botchat.recorder.of("botchat")
    assert (received.target, received.text, received.id) == ("1001", "hello", str(sent["message_id"]))
    assert received.body["text"] == " hello \n"


async def test_methods_take_forms_queries_and_any_letter_case(botchat, http):
    url = f"{botchat.api_url}/bot{botchat.token}"
    async with http.post(f"{url}/sendmessage", data={"chat_id": "1001", "text": "form"}) as answer:
        assert (await answer.json())["ok"] is True
    async with http.get(f"{url}/sendMessage", params={"chat_id": "@alice", "text": "query"}) as answer:
        assert (await answer.json())["result"]["chat"]["id"] == 1001


async def test_a_wrong_token_is_unauthorised(refusal):
    assert await refusal("getMe", token="1:x") == (401, "Unauthorized")


async def test_an_unknown_method_is_not_found(refusal):
    assert await refusal("sendPigeon") == (404, "Not Found")


@pytest.mark.parametrize(
    ("chat", "expected"),
    [
        (4030, (403, "Forbidden: bot was blocked by the user")),
        (4031, (403, "Forbidden: user is deactivated")),
        (4032, (403, "Forbidden: bot can't initiate conversation with a user")),
        (-4033, (403, "Forbidden: bot was kicked from the group chat")),
        (4040, (400, "Bad Request: chat not found")),
        ("@nobody", (400, "Bad Request: chat not found")),
        ("", (400, "Bad Request: chat_id is empty")),
    ],
)
async def test_a_chat_out_of_reach_is_refused_for_good(refusal, chat, expected):
    assert await refusal(chat_id=chat, text="x") == expected


async def test_an_unknown_number_is_a_chat_only_in_the_open_world(botchat, call, refusal):
    assert (await call(chat_id=987654, text="x"))["ok"] is True
    botchat.world.open_world = False
    assert await refusal(chat_id=987655, text="x") == (400, "Bad Request: chat not found")


async def test_a_migrated_group_names_its_new_id(call):
    body = await call(chat_id=MIGRATED_CHAT, text="x")
    assert (body["error_code"], body["parameters"]) == (400, {"migrate_to_chat_id": NEW_CHAT})
    assert (await call(chat_id=NEW_CHAT, text="x"))["ok"] is True


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"text": ""}, "message text is empty"),
        ({"text": " \n "}, "message text is empty"),
        ({"text": "x" * 4097}, "message is too long"),
        ({"text": "<b></b>", "parse_mode": "HTML"}, "message text is empty"),
        ({"text": "x", "parse_mode": "BBCode"}, "unsupported parse_mode"),
        (
            {"text": "snake_case", "parse_mode": "Markdown"},
            "can't parse entities: Can't find end of the entity starting at byte offset 5",
        ),
    ],
)
async def test_text_that_does_not_fit_is_refused(refusal, args, expected):
    assert await refusal(chat_id=1001, **args) == (400, f"Bad Request: {expected}")


async def test_length_is_measured_after_parsing(call):
    text = f"<b>{'x' * 4096}</b>"
    assert (await call(chat_id=1001, text=text, parse_mode="HTML"))["ok"] is True


async def test_length_counts_code_points_unless_told_otherwise(botchat, call, refusal):
    assert (await call(chat_id=1001, text="😀" * 4096))["ok"] is True
    botchat.utf16_limit = True
    assert await refusal(chat_id=1001, text="😀" * 2049) == (400, "Bad Request: message is too long")


@pytest.mark.parametrize(
    ("offset", "length", "expected"),
    [
        (0, 5, "entity beginning at UTF-16 offset 0 ends after the end of the text at UTF-16 offset 5"),
        (2, 1, "entity begins in a middle of a UTF-16 symbol at byte offset 5"),
        (0, 2, "entity beginning at UTF-16 offset 0 ends in a middle of a UTF-16 symbol at byte offset 5"),
    ],
)
async def test_entities_are_checked_in_utf16_units(refusal, offset, length, expected):
    entity = {"type": "bold", "offset": offset, "length": length}
    assert await refusal(chat_id=1001, text="a😀b", entities=[entity]) == (400, f"Bad Request: {expected}")


async def test_entities_move_with_the_trimmed_text(call):
    entities = [{"type": "bold", "offset": 2, "length": 3}]
    sent = (await call(chat_id=1001, text="  ab ", entities=entities))["result"]
    assert (sent["text"], sent["entities"]) == ("ab", [{"type": "bold", "offset": 0, "length": 2}])


async def test_a_known_topic_is_kept_and_others_are_refused(botchat, call, refusal):
    sent = (await call(chat_id=FORUM_CHAT, text="x", message_thread_id=5))["result"]
    assert (sent["message_thread_id"], sent["is_topic_message"]) == (5, True)
    assert botchat.recorder.of()[0].thread == "5"
    for thread in (1, 6):
        assert await refusal(chat_id=FORUM_CHAT, text="x", message_thread_id=thread) == (
            400,
            "Bad Request: message thread not found",
        )
    assert (await refusal(chat_id=1001, text="x", message_thread_id=5))[0] == 400


async def test_a_reply_needs_its_message_unless_it_may_go_without(botchat, call, refusal):
    asked = botchat.say(1001, "question")["message"]
    sent = (await call(chat_id=1001, text="x", reply_parameters={"message_id": asked["message_id"]}))["result"]
    assert sent["reply_to_message"]["text"] == "question"
    gone = {"message_id": 999}
    assert await refusal(chat_id=1001, text="x", reply_parameters=gone) == (
        400,
        "Bad Request: message to be replied not found",
    )
    gone["allow_sending_without_reply"] = True
    assert (await call(chat_id=1001, text="x", reply_parameters=gone))["ok"] is True


async def test_a_button_carries_at_most_64_bytes(call, refusal):
    def keyboard(data):
        return {"inline_keyboard": [[{"text": "Go", "callback_data": data}]]}

    assert (await call(chat_id=1001, text="x", reply_markup=keyboard("é" * 32)))["ok"] is True
    expected = (400, "Bad Request: BUTTON_DATA_INVALID")
    assert await refusal(chat_id=1001, text="x", reply_markup=keyboard("é" * 33)) == expected


async def test_an_edit_changes_the_message_and_must_change_something(botchat, call, refusal):
    sent = (await call(chat_id=1001, text="one"))["result"]
    place = {"chat_id": 1001, "message_id": sent["message_id"]}
    assert (await call("editMessageText", **place, text="two"))["result"]["text"] == "two"
    assert "message is not modified" in (await refusal("editMessageText", **place, text="two"))[1]
    missing = {**place, "message_id": 999}
    assert await refusal("editMessageText", **missing, text="x") == (
        400,
        "Bad Request: message to edit not found",
    )
    assert [(e.kind, e.text) for e in botchat.recorder.items] == [("message", "one"), ("edit", "two")]


async def test_a_keyboard_is_removed_without_changing_the_text(botchat, call, refusal):
    keyboard = {"inline_keyboard": [[{"text": "Yes", "callback_data": "yes"}]]}
    entities = [{"type": "bold", "offset": 0, "length": 3}]
    sent = await call("sendMessage", chat_id=1001, text="one", entities=entities, reply_markup=keyboard)
    place = {"chat_id": 1001, "message_id": sent["result"]["message_id"]}
    (edited,) = [(await call("editMessageReplyMarkup", **place))["result"]]
    assert (edited["text"], edited["entities"], "reply_markup" in edited) == ("one", entities, False)
    assert "message is not modified" in (await refusal("editMessageReplyMarkup", **place))[1]


async def test_only_own_messages_can_be_edited(botchat, refusal):
    asked = botchat.say(1001, "question")["message"]
    args = {"chat_id": 1001, "message_id": asked["message_id"], "text": "x"}
    assert await refusal("editMessageText", **args) == (400, "Bad Request: message can't be edited")


async def test_typing_is_shown_and_nonsense_is_not(botchat, call, refusal):
    assert (await call("sendChatAction", chat_id=1001, action="typing"))["result"] is True
    assert (await refusal("sendChatAction", chat_id=1001, action="dancing"))[0] == 400
    assert [a.text for a in botchat.recorder.of(kind="action")] == ["typing"]


async def test_only_listed_emoji_are_reactions(botchat, call, refusal):
    asked = botchat.say(1001, "question")["message"]
    place = {"chat_id": 1001, "message_id": asked["message_id"]}
    for emoji in ("👍", "👀", "✍", "👨‍💻"):
        reaction = [{"type": "emoji", "emoji": emoji}]
        assert (await call("setMessageReaction", **place, reaction=reaction))["result"] is True
    for emoji in ("✅", "❤️"):
        reaction = [{"type": "emoji", "emoji": emoji}]
        expected = (400, "Bad Request: REACTION_INVALID")
        assert await refusal("setMessageReaction", **place, reaction=reaction) == expected


async def test_a_press_is_answered_once(botchat, call, refusal):
    sent = (await call(chat_id=1001, text="x"))["result"]
    query = botchat.press(1001, sent["message_id"], "go")["callback_query"]
    assert query["message"]["text"] == "x"
    answer = {"callback_query_id": query["id"], "text": "on it"}
    assert (await call("answerCallbackQuery", **answer))["result"] is True
    assert "query is too old" in (await refusal("answerCallbackQuery", **answer))[1]


async def test_commands_are_checked_and_kept(call, refusal):
    commands = [{"command": "status", "description": "Show what runs"}]
    assert (await call("setMyCommands", commands=commands))["result"] is True
    assert (await call("getMyCommands"))["result"] == commands
    for bad in ("Status", "a-b", "x" * 33):
        args = {"commands": [{"command": bad, "description": "d"}]}
        assert await refusal("setMyCommands", **args) == (400, "Bad Request: BOT_COMMAND_INVALID")
    assert (await refusal("setMyCommands", commands=commands * 101))[0] == 400


async def test_a_file_is_found_and_downloaded(botchat, call, http):
    file_id = botchat.add_file(b"sound", path="voice/file_7.oga")
    found = (await call("getFile", file_id=file_id))["result"]
    assert (found["file_path"], found["file_size"]) == ("voice/file_7.oga", 5)
    url = f"{botchat.api_url}/file/bot{botchat.token}/{found['file_path']}"
    async with http.get(url) as answer:
        assert await answer.read() == b"sound"
    async with http.get(url + "x") as answer:
        assert answer.status == 404
    async with http.get(url.replace(botchat.token, "1:x")) as answer:
        assert answer.status == 401


async def test_a_file_over_twenty_mebibytes_is_refused(botchat, refusal):
    file_id = botchat.add_file(b"", size=20_971_521)
    assert await refusal("getFile", file_id=file_id) == (400, "Bad Request: file is too big")


async def test_flood_control_when_paced(botchat, call, clock):
    botchat.paced = True
    for _ in range(BURST):
        assert (await call(chat_id=1001, text="1"))["ok"] is True
    body = await call(chat_id=1001, text="2")
    assert (body["error_code"], body["parameters"]) == (429, {"retry_after": 1})
    for _ in range(20):
        clock.advance(2)
        assert (await call(chat_id=GROUP_CHAT, text="x"))["ok"] is True
    clock.advance(2)
    assert (await call(chat_id=GROUP_CHAT, text="x"))["parameters"]["retry_after"] == 20


async def test_faults_speak_the_products_language(botchat, call, http):
    botchat.faults.push(Fault.rate_limited(7), Fault.error("Bad Request: message is too long"))
    url = f"{botchat.api_url}/bot{botchat.token}/sendMessage"
    async with http.post(url, json={"chat_id": 1001, "text": "x"}) as answer:
        assert answer.headers["Retry-After"] == "7"
        assert (await answer.json())["description"] == "Too Many Requests: retry after 7"
    assert (await call(chat_id=1001, text="x"))["error_code"] == 400
    botchat.faults.push(Fault.error(500, "Internal Server Error: restart"))
    body = await call(chat_id=1001, text="x")
    assert (body["error_code"], body["description"]) == (500, "Internal Server Error: restart")


async def test_a_fault_can_wait_for_its_method(botchat, call):
    botchat.faults.push(Fault.error(500).only("sendMessage"))
    assert (await call("getMe"))["ok"] is True
    assert (await call(chat_id=1001, text="x"))["error_code"] == 500
