"""What a message answers, and who wrote what is passed on."""

from typing import Any

import pytest

from tocsin.channels.botchat.messages.addressing import BotIdentity
from tocsin.channels.botchat.messages.updates import read_update
from tocsin.channels.inbound import MAX_QUOTE_CHARS, InboundMessage, Quote

BOT = BotIdentity(7, "Tocsin_bot")
BOB = {"id": 5, "is_bot": False, "first_name": "Bob", "username": "bob"}
GROUP = {"id": -3001, "type": "group", "title": "Kitchen"}


def said(**fields: Any) -> InboundMessage:
    sender = {"id": 1001, "is_bot": False, "first_name": "Alice"}
    message = {"message_id": 42, "from": sender, "chat": GROUP, "date": 1_700_000_000, "text": "8", **fields}
    found = read_update({"update_id": 9, "message": message}, BOT, 1_700_000_100.0)
    assert found is not None
    assert InboundMessage.restore(found.stored()) == found
    return found


def answered(**fields: Any) -> dict[str, Any]:
    return {"message_id": 41, "from": BOB, "chat": GROUP, "date": 1_699_999_999, **fields}


def test_the_message_that_is_answered_comes_with_its_author():
    found = said(reply_to_message=answered(text="Let us meet at 8."))
    assert found.quote == Quote("Bob", "bob", "5", text="Let us meet at 8.")
    assert found.reply_to_id == "41"


def test_of_a_long_message_the_beginning_is_quoted():
    found = said(reply_to_message=answered(text="é" * 4096))
    assert found.quote is not None
    assert (found.quote.text, found.quote.is_cut) == ("é" * MAX_QUOTE_CHARS, True)


def test_the_part_that_the_person_chose_is_quoted_instead():
    found = said(reply_to_message=answered(text="a" * 4096 + " this"), quote={"text": "this", "position": 4097})
    assert found.quote == Quote("Bob", "bob", "5", text="this")


def test_an_answer_to_the_bot_is_marked():
    found = said(reply_to_message=answered(text="It is 8.", **{"from": {"id": 7, "is_bot": True, "first_name": "T"}}))
    assert found.quote is not None
    assert found.quote.by_bot


def test_files_and_things_of_the_answered_message_come_along():
    photo = said(reply_to_message=answered(photo=[{"file_id": "p"}], caption="me")).quote
    place = said(reply_to_message=answered(location={"latitude": 1, "longitude": 2})).quote
    assert photo is not None
    assert place is not None
    assert (photo.text, [item.file_id for item in photo.attachments]) == ("me", ["p"])
    assert place.things == ("location 1, 2",)


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "user", "sender_user": BOB}, "Bob"),
        ({"type": "hidden_user", "sender_user_name": "Hidden Bob"}, "Hidden Bob"),
        ({"type": "chat", "sender_chat": GROUP}, "Kitchen"),
        ({"type": "channel", "chat": {"id": -9, "title": "News"}, "message_id": 3}, "News"),
        ({"type": "of_next_year"}, ""),
        ([], ""),
    ],
)
def test_an_answer_to_another_chat_and_a_forward_name_their_origin(origin: Any, name: str):
    elsewhere = said(external_reply={"origin": origin, "document": {"file_id": "d"}}, quote={"text": "part"})
    assert elsewhere.quote is not None
    assert (elsewhere.quote.sender_name, elsewhere.quote.text) == (name, "part")
    assert [item.file_id for item in elsewhere.quote.attachments] == ["d"]
    assert said(forward_origin=origin).forwarded_from == name


def test_an_answer_to_a_story_says_so():
    found = said(reply_to_story={"chat": {"id": 5, "type": "private", "first_name": "Bob"}, "id": 3})
    assert found.quote is not None
    assert (found.quote.sender_name, [item.name for item in found.quote.attachments]) == ("Bob", ["story"])


def test_the_beginning_of_a_topic_is_not_a_quote():
    assert said(reply_to_message=answered(forum_topic_created={"name": "x"})).quote is None
    assert said().quote is None


@pytest.mark.parametrize("broken", [3, [], {"text": 3}, {"from": [], "text": {}}])
def test_broken_quotes_do_no_harm(broken: Any):
    said(reply_to_message=broken, external_reply=broken, quote=broken, reply_to_story=broken)
