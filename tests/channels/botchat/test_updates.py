"""What an update says (docs/facts/botchat.md)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.channels.botchat.messages.addressing import BotIdentity
from tocsin.channels.botchat.messages.updates import moved_chat, needs_username, read_update
from tocsin.channels.inbound import InboundMessage, MessageKind

BOT = BotIdentity(7, "Tocsin_bot")
ALICE = {
    "id": 1001,
    "is_bot": False,
    "first_name": "Alice",
    "last_name": "Ames",
    "username": "alice",
    "language_code": "de",
}
PRIVATE = {"id": 1001, "type": "private", "first_name": "Alice"}
GROUP = {"id": -3001, "type": "group", "title": "Kitchen"}
FORUM = {"id": -1001, "type": "supergroup", "title": "Operations", "is_forum": True}
NOW = 1_700_000_100.0


def message(text: str | None = "hi", /, chat: dict[str, Any] = PRIVATE, **fields: Any) -> dict[str, Any]:
    said = {} if text is None else {"text": text}
    return {"message_id": 42, "from": ALICE, "chat": chat, "date": 1_700_000_000, **said, **fields}


def read(update: dict[str, Any], bot: BotIdentity = BOT) -> InboundMessage | None:
    return read_update({"update_id": 9, **update}, bot, NOW)


def said(*args: Any, **fields: Any) -> InboundMessage:
    found = read({"message": message(*args, **fields)})
    assert found is not None
    return found


def mark(kind: str, text: str, part: str, **more: Any) -> dict[str, Any]:
    """Mark `part` of `text` as the server does: in UTF-16 units."""
    offset = len(text[: text.index(part)].encode("utf-16-le")) // 2
    return {"type": kind, "offset": offset, "length": len(part.encode("utf-16-le")) // 2, **more}


# Messages


def test_a_private_message_is_read_with_sender_time_and_keys():
    found = said("Hello 😀")
    assert found == InboundMessage(
        "botchat",
        MessageKind.MESSAGE,
        "42",
        ("update:7:9", "message:7:1001:42:0"),
        "1001",
        text="Hello 😀",
        sender_id="1001",
        sender_name="Alice Ames",
        sender_username="alice",
        sender_language="de",
        sent_at=1_700_000_000.0,
        received_at=NOW,
    )


@pytest.mark.parametrize(
    ("chat", "chat_type"),
    [
        (PRIVATE, "private"),
        (GROUP, "group"),
        (FORUM, "group"),
        ({"id": -100, "type": "channel"}, "channel"),
        ({"id": 5}, "private"),
        ({"id": -5, "type": "of next year"}, "group"),
    ],
)
def test_groups_and_supergroups_are_groups(chat: dict[str, Any], chat_type: str):
    assert said("hi", chat).chat_type == chat_type


def test_the_keys_of_two_bots_differ_because_their_message_numbers_do_not():
    one, other = (read({"message": message()}, BotIdentity(number)) for number in (7, 8))
    assert one is not None
    assert other is not None
    assert not set(one.dedupe_keys) & set(other.dedupe_keys)


def test_an_edit_is_an_edit_with_its_own_time_and_key_and_never_a_command():
    found = read({"edited_message": message("/run", edit_date=1_700_000_050)})
    assert found is not None
    assert (found.kind, found.command, found.args, found.text) == (MessageKind.EDIT, None, "", "/run")
    assert found.dedupe_keys[1] == "message:7:1001:42:1700000050"
    assert found.sent_at == 1_700_000_050.0


@pytest.mark.parametrize("kind", ["channel_post", "edited_channel_post", "my_chat_member", "poll", "of_next_year"])
def test_other_kinds_of_updates_say_nothing(kind: str):
    assert read({kind: message()}) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"new_chat_members": [ALICE]},
        {"pinned_message": {"message_id": 3}},
        {"new_chat_photo": [{"file_id": "f", "width": 1, "height": 1}]},
        {"migrate_to_chat_id": -1002},
    ],
)
def test_a_message_of_the_product_itself_says_nothing(fields: dict[str, Any]):
    assert read({"message": message(None, GROUP, **fields)}) is None


def test_a_group_that_became_a_supergroup_is_told_with_both_numbers():
    old = {"message": message(None, GROUP, migrate_to_chat_id=-1009)}
    new = {"message": message(None, {"id": -1009, "type": "supergroup"}, migrate_from_chat_id=-3001)}
    assert moved_chat(old) == moved_chat(new) == ("-3001", "-1009")
    assert moved_chat({"message": message()}) is None
    assert moved_chat({"message": {"migrate_to_chat_id": -1009}}) is None


# Who wrote


def test_bots_are_not_heard():
    assert read({"message": message(**{"from": ALICE | {"is_bot": True}})}) is None


def test_what_was_written_through_the_bot_itself_is_not_heard():
    assert read({"message": message(via_bot={"id": 7, "is_bot": True})}) is None
    assert read({"message": message(via_bot={"id": 8, "is_bot": True})}) is not None


def test_anonymous_administrators_are_heard_although_the_product_shows_them_as_a_bot():
    found = said("hi", GROUP, sender_chat=GROUP, **{"from": {"id": 1087968824, "is_bot": True}})
    assert (found.sender_id, found.sender_name, found.sender_is_bot) == ("-3001", "Kitchen", False)


def test_posts_of_a_linked_channel_are_ignored_because_the_bot_may_have_written_them():
    channel = {"id": -1005, "type": "channel", "title": "News"}
    forwarded = message("hi", GROUP, sender_chat=channel, is_automatic_forward=True)
    assert read({"message": forwarded}) is None


@pytest.mark.parametrize(
    ("sender", "name"),
    [
        ({"id": 1, "first_name": "Ann"}, "Ann"),
        ({"id": 1, "first_name": " ", "username": "ann"}, "ann"),
        ({"id": 1}, ""),
    ],
)
def test_a_sender_is_shown_by_name_else_by_user_name(sender: dict[str, Any], name: str):
    assert said(**{"from": sender}).sender_name == name


# Commands


@pytest.mark.parametrize(
    ("text", "command", "args", "spoken"),
    [
        ("/start", "start", "", "/start"),
        ("/Run  my skill ", "run", "my skill", "/Run  my skill "),
        ("/run\nline two", "run", "line two", "/run\nline two"),
        ("/run@tocsin_BOT now", "run", "now", "/run now"),
        ("/run@Tocsin_bot", "run", "", "/run"),
    ],
)
def test_a_command_is_its_name_its_arguments_and_what_the_person_typed(text: str, command: str, args: str, spoken: str):
    found = said(text, GROUP)
    assert (found.kind, found.command, found.args, found.text) == (MessageKind.COMMAND, command, args, spoken)
    assert found.mentions_bot == ("@" in text)


@pytest.mark.parametrize("text", ["/usr/bin/env python", "// no", "a /start", "/", "/ x", "/naïve", "/" + "a" * 33])
def test_other_texts_with_a_slash_are_messages(text: str):
    found = said(text)
    assert (found.kind, found.command, found.text) == (MessageKind.MESSAGE, None, text)


def test_a_command_shown_as_code_is_a_message():
    assert said("/run x", entities=[mark("code", "/run x", "/run")]).kind is MessageKind.MESSAGE


@pytest.mark.parametrize("chat", [PRIVATE, GROUP])
def test_commands_for_other_bots_are_ignored(chat: dict[str, Any]):
    assert read({"message": message("/run@other_bot now", chat)}) is None


def test_a_command_for_a_named_bot_is_not_lost_while_the_own_name_is_not_known():
    found = read({"message": message("/run@tocsin_bot now")}, BotIdentity(7))
    assert found is not None
    assert (found.command, found.text) == ("run", "/run now")


def test_the_own_name_is_needed_only_where_somebody_is_named():
    assert not needs_username({"message": message("/run now")})
    assert needs_username({"message": message("/run@tocsin_bot now")})
    assert needs_username({"edited_message": message(None, caption="see @tocsin_bot")})
    assert not needs_username({"callback_query": {"data": "@"}})
    assert needs_username({"message": message("yes", reply_to_message={"from": {"id": 8, "is_bot": True}})})
    assert not needs_username({"message": message("yes", reply_to_message={"from": ALICE})})


# Mentions and replies


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("@Tocsin_bot what is up?", "what is up?"),
        ("@tocsin_BOT, what is up?", "what is up?"),
        ("😀😀 hey @tocsin_bot what is up?", "😀😀 hey what is up?"),
        ("what is up, @tocsin_bot", "what is up,"),
        ("up\n@tocsin_bot\nnow", "up\n\nnow"),
        ("@tocsin_bot", ""),
        ("@tocsin_bot /status", "/status"),
    ],
)
def test_the_bots_name_is_taken_out_of_the_text(text: str, rest: str):
    name = text[text.index("@") :].split(maxsplit=1)[0].rstrip(",")
    found = said(text, GROUP, entities=[mark("mention", text, name)])
    assert (found.text, found.mentions_bot) == (rest, True)


def test_every_mention_is_taken_out():
    text = "@tocsin_bot hello @tocsin_bot"
    entities = [{"type": "mention", "offset": 18, "length": 11}, {"type": "mention", "offset": 0, "length": 11}]
    assert said(text, entities=entities).text == "hello"


def test_a_mention_without_user_name_is_known_by_the_bots_number():
    text = "Tocsin: hello"
    assert said(text, entities=[mark("text_mention", text, "Tocsin", user={"id": 7})]).text == "hello"
    other = said(text, entities=[mark("text_mention", text, "Tocsin", user={"id": 8})])
    assert (other.text, other.mentions_bot) == (text, False)


def test_without_any_marks_the_bots_name_is_found_in_the_text():
    found = said("😀 hey @Tocsin_bot, what is up?", GROUP)
    assert (found.text, found.mentions_bot) == ("😀 hey , what is up?", True)
    for text in ("me@tocsin_bot", "@tocsin_bot_2 hello", "see t.me/@tocsin_bot"):
        assert (said(text, GROUP).text, said(text, GROUP).mentions_bot) == (text, False)
    assert not said("@tocsin_bot as code", GROUP, entities=[{"type": "code", "offset": 0, "length": 11}]).mentions_bot


def test_mentions_of_others_stay():
    text = "@alice and @tocsin_bot_2: hello"
    entities = [mark("mention", text, "@alice"), mark("mention", text, "@tocsin_bot_2")]
    found = said(text, GROUP, entities=entities)
    assert (found.text, found.mentions_bot) == (text, False)


@pytest.mark.parametrize(
    "entity",
    [
        {"type": "mention"},
        {"type": "mention", "offset": -1, "length": 3},
        {"type": "mention", "offset": 0, "length": 999},
        {"type": "mention", "offset": True, "length": 1},
        {"type": ["mention"], "offset": 0, "length": 1},
        None,
        "mention",
    ],
)
def test_a_broken_mark_is_passed_over(entity: object):
    assert said("@tocsin_bot hi", entities=[entity]).text == "@tocsin_bot hi"


def test_a_reply_to_the_bot_is_meant_for_it():
    found = said("yes", GROUP, reply_to_message=message("?", GROUP, **{"from": {"id": 7, "is_bot": True}}))
    assert (found.mentions_bot, found.reply_to_id) == (True, "42")
    found = said("yes", GROUP, reply_to_message=message("?", GROUP))
    assert (found.mentions_bot, found.reply_to_id) == (False, "42")


def test_a_message_in_a_topic_that_the_bot_opened_is_no_reply_to_it():
    opened = {"message_id": 5, "from": {"id": 7}, "chat": FORUM, "forum_topic_created": {"name": "x"}}
    found = said("hi", FORUM, is_topic_message=True, message_thread_id=5, reply_to_message=opened)
    assert (found.mentions_bot, found.reply_to_id, found.thread_id) == (False, None, "5")


# Topics


@pytest.mark.parametrize(
    ("fields", "thread"),
    [
        ({"is_topic_message": True, "message_thread_id": 5}, "5"),
        ({"message_thread_id": 5}, None),  # a thread of replies, which is no topic
        ({"is_topic_message": True, "message_thread_id": 1}, None),  # the General topic
        ({"is_topic_message": True}, None),
    ],
)
def test_only_a_topic_other_than_general_is_a_thread(fields: dict[str, Any], thread: str | None):
    assert said("hi", FORUM, **fields).thread_id == thread


# Attachments


def test_of_a_photo_the_largest_size_is_taken_whatever_the_order():
    sizes = [(90, 90), (1280, 960), (320, 240)]
    photo = [{"file_id": f"f{w}", "width": w, "height": h, "file_size": w * 10} for w, h in sizes]
    found = said(None, photo=photo, caption="a cat", media_group_id="77")
    (attachment,) = found.attachments
    assert (attachment.kind, attachment.file_id, attachment.size, attachment.width) == ("photo", "f1280", 12_800, 1280)
    assert (found.text, found.album_id, attachment.mime) == ("a cat", "77", "image/jpeg")


@pytest.mark.parametrize(
    ("fields", "kind", "mime"),
    [
        ({"voice": {"file_id": "f", "duration": 3}}, "voice", "audio/ogg"),
        ({"audio": {"file_id": "f", "mime_type": "audio/mpeg"}}, "audio", "audio/mpeg"),
        ({"document": {"file_id": "f", "mime_type": "application/pdf", "file_name": "a.pdf"}}, "document",
         "application/pdf"),
        ({"video": {"file_id": "f", "mime_type": "video/mp4"}}, "video", "video/mp4"),
        ({"video_note": {"file_id": "f", "length": 240}}, "video", "video/mp4"),
    ],
)  # fmt: skip
def test_every_kind_of_file_is_an_attachment(fields: dict[str, Any], kind: str, mime: str):
    (attachment,) = said(None, **fields).attachments
    assert (attachment.kind, attachment.file_id, attachment.mime) == (kind, "f", mime)
    assert attachment.name == fields.get("document", {}).get("file_name", "")
    assert attachment.duration == fields.get("voice", {}).get("duration")


def test_an_animation_is_one_document():
    found = said(None, animation={"file_id": "a"}, document={"file_id": "a", "mime_type": "video/mp4"})
    assert [item.kind for item in found.attachments] == ["document"]


def test_a_mention_in_a_caption_counts():
    text = "@tocsin_bot what is this"
    found = said(
        None, GROUP, photo=[{"file_id": "f"}], caption=text, caption_entities=[mark("mention", text, "@tocsin_bot")]
    )
    assert (found.text, found.mentions_bot) == ("what is this", True)


# Buttons


def press(**fields: Any) -> InboundMessage | None:
    return read({"callback_query": {"id": "q1", "from": ALICE, "data": "mode:chat", **fields}})


def test_a_button_is_a_callback_in_the_chat_and_topic_of_its_message():
    found = press(message=message("Mode?", FORUM, is_topic_message=True, message_thread_id=5))
    assert found is not None
    assert (found.kind, found.id, found.callback_id, found.callback_data) == (
        MessageKind.CALLBACK,
        "q1",
        "q1",
        "mode:chat",
    )
    assert (found.chat_id, found.thread_id, found.chat_type, found.reply_to_id) == ("-1001", "5", "group", "42")
    assert (found.sender_id, found.text, found.mentions_bot, found.sent_at) == ("1001", "", True, NOW)
    assert found.dedupe_keys == ("update:7:9", "callback:7:q1")


def test_a_button_under_a_message_that_is_no_longer_accessible_still_counts():
    found = press(message={"chat": GROUP, "message_id": 42, "date": 0})
    assert found is not None
    assert (found.chat_id, found.chat_type, found.reply_to_id) == ("-3001", "group", "42")


def test_a_button_without_any_message_belongs_to_the_chat_of_who_pressed_it():
    found = press()
    assert found is not None
    assert (found.chat_id, found.chat_type, found.thread_id, found.reply_to_id) == ("1001", "private", None, None)


def test_a_button_without_data_is_still_to_be_answered():
    found = press(data=None)
    assert found is not None
    assert (found.callback_id, found.callback_data) == ("q1", None)


# Everything else

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["private", "/a@b", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.dictionaries(
    st.sampled_from(
        ["message_id", "from", "chat", "date", "text", "caption", "entities", "photo", "voice", "reply_to_message",
         "sender_chat", "via_bot", "media_group_id", "edit_date", "id", "data", "message", "message_thread_id"]
    ),
    JSON,
)  # fmt: skip


@given(
    st.sampled_from(["message", "edited_message", "callback_query"]),
    FIELDS,
    st.sampled_from([{}, {"message_id": 1, "chat": {"id": 5}, "text": "x", "id": "q", "from": {"id": 5}}]),
)
def test_nothing_that_json_can_hold_makes_reading_fail(kind: str, fields: dict[str, Any], good: dict[str, Any]):
    update = {kind: good | fields}
    moved_chat(update)
    needs_username(update)
    if found := read(update):
        json.dumps(found.stored(), ensure_ascii=False).encode()


@pytest.mark.parametrize("number", [0, 2**52, -(2**60), "42", 4.2, True, None])
def test_a_chat_or_message_without_a_possible_number_says_nothing(number: object):
    assert read({"message": message("x", {"id": number, "type": "private"})}) is None
    assert read({"message": message(message_id=number)}) is None


def test_without_a_number_of_the_update_the_message_has_its_other_key():
    found = read_update({"message": message()}, BOT, NOW)
    assert found is not None
    assert found.dedupe_keys == ("message:7:1001:42:0",)
