"""Messages that are neither text nor file: none of a person in a private chat may vanish without an answer."""

from typing import Any

import pytest

from tocsin.channels.botchat.messages.addressing import BotIdentity
from tocsin.channels.botchat.messages.updates import read_update
from tocsin.channels.inbound import InboundMessage

BOT = BotIdentity(7, "Tocsin_bot")
PRIVATE = {"id": 1001, "type": "private"}
GROUP = {"id": -3001, "type": "group"}
PLACE = {"latitude": 52.520008, "longitude": 13.404954}


def said(chat: dict[str, Any] = PRIVATE, **fields: Any) -> InboundMessage | None:
    sender = {"id": 1001, "is_bot": False, "first_name": "Alice"}
    message = {"message_id": 42, "from": sender, "chat": chat, "date": 1_700_000_000, **fields}
    return read_update({"update_id": 9, "message": message}, BOT, 1_700_000_100.0)


@pytest.mark.parametrize(
    ("fields", "thing"),
    [
        ({"location": PLACE}, "location 52.520008, 13.404954"),
        ({"location": {"latitude": -1, "longitude": 0, "live_period": 60}}, "location -1, 0"),
        (
            {"location": PLACE, "venue": {"location": PLACE, "title": "Café\nOst", "address": "Hof 5"}},
            "venue Café Ost, Hof 5, location 52.520008, 13.404954",
        ),
        (
            {"contact": {"phone_number": "+4930123", "first_name": "Bob", "last_name": "Smith"}},
            "contact Bob Smith, phone +4930123",
        ),
        (
            {"poll": {"id": "1", "question": "Lunch?", "options": [{"text": "Soup"}, {"text": "Pizza"}]}},
            "poll “Lunch?”: Soup / Pizza",
        ),
        ({"dice": {"emoji": "🎯", "value": 6}}, "dice 🎯, value 6"),
        ({"sticker": {"file_id": "f", "emoji": "👍"}}, "sticker 👍"),
        ({"sticker": {"file_id": "f"}}, "sticker"),
        (
            {"checklist": {"title": "Trip", "tasks": [{"id": 1, "text": "Pack"}, {"id": 2, "text": "Go"}]}},
            "checklist “Trip”: Pack / Go",
        ),
    ],
)
def test_what_can_be_put_into_words_is_in_the_message(fields: dict[str, Any], thing: str):
    found = said(**fields)
    assert found is not None
    assert (found.things, found.text, found.attachments) == ((thing,), "", ())
    assert InboundMessage.restore(found.stored()) == found


@pytest.mark.parametrize("kind", ["story", "paid_media", "invoice", "game", "giveaway", "giveaway_winners"])
def test_what_bots_cannot_open_is_an_attachment_without_a_file(kind: str):
    found = said(**{kind: {"id": 3, "title": "x"}})
    assert found is not None
    (attachment,) = found.attachments
    assert (attachment.kind, attachment.file_id, attachment.name) == ("other", "", kind.replace("_", " "))


@pytest.mark.parametrize("fields", [{}, {"of_next_year": {"id": 3}}])
def test_a_private_message_of_an_unknown_kind_is_there_although_it_says_nothing(fields: dict[str, Any]):
    found = said(**fields)
    assert found is not None
    assert (found.text, found.things, found.attachments) == ("", (), ())


def test_in_a_group_a_message_of_an_unknown_kind_says_nothing():
    assert said(GROUP, of_next_year={"id": 3}) is None


@pytest.mark.parametrize(
    "field",
    [
        "new_chat_members", "left_chat_member", "new_chat_title", "new_chat_photo", "pinned_message",
        "message_auto_delete_timer_changed", "write_access_allowed", "chat_background_set", "boost_added",
        "forum_topic_created", "general_forum_topic_hidden", "video_chat_started", "giveaway_created", "gift",
        "successful_payment", "users_shared", "web_app_data", "proximity_alert_triggered", "migrate_to_chat_id",
        "suggested_post_paid", "checklist_tasks_done", "group_chat_created",
    ],
)  # fmt: skip
@pytest.mark.parametrize("chat", [PRIVATE, GROUP])
def test_what_the_product_itself_says_is_not_a_message(field: str, chat: dict[str, Any]):
    assert said(chat, **{field: [{"id": 5}]}) is None


def test_a_live_location_that_moves_is_no_edit_of_words():
    message = {"message_id": 42, "chat": PRIVATE, "location": PLACE, "from": {"id": 1001}, "edit_date": 1_700_000_050}
    assert read_update({"update_id": 9, "edited_message": message}, BOT, 1_700_000_100.0) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"location": {"latitude": "x", "longitude": [1]}},
        {"location": {"latitude": 1e400, "longitude": True}},
        {"contact": {"phone_number": {"a": 1}}},
        {"poll": {"question": 3, "options": [1, {"text": None}]}},
        {"dice": []},
    ],
)
def test_broken_things_are_read_as_well_as_possible(fields: dict[str, Any]):
    found = said(**fields)
    assert found is not None
    assert all("None" not in thing and "inf" not in thing for thing in found.things)
