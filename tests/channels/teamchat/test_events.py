"""What teamchat makes of events: whom it hears, what they said, where the answer goes (docs/facts/teamchat.md)."""

from typing import Any

import pytest
from tests.channels.teamchat.calls import FILES, event

from tocsin.channels.inbound import Attachment, InboundAdapter, InboundMessage, MessageKind, Quote, WebhookRequest
from tocsin.channels.teamchat.adapter import TeamchatAdapter
from tocsin.channels.teamchat.events import Threads
from tocsin.testing import ScriptedTransport
from tocsin.testing.inbound_bench import build_receiver

THREAD = "1700000000.000001"


@pytest.fixture
def receiver() -> InboundAdapter:
    return build_receiver(TeamchatAdapter, {})


async def heard(receiver: InboundAdapter, **fields: Any) -> InboundMessage | None:
    received = await receiver.receive(WebhookRequest((), event(fields.pop("number", 1), **fields)))
    assert received is None or isinstance(received, InboundMessage)
    return received


async def said(receiver: InboundAdapter, **fields: Any) -> InboundMessage:
    message = await heard(receiver, **fields)
    assert message is not None
    return message


async def test_a_message_is_read_with_everything_that_is_known_of_it(receiver):
    message = await said(receiver, client_msg_id="c-1", user_profile={"display_name": "Anna B", "name": "anna"})
    assert message == InboundMessage(
        channel="teamchat",
        kind=MessageKind.MESSAGE,
        id="1700000000.000001",
        dedupe_keys=("event:Ev0001", "message:T0ACME:C0OPS:1700000000.000001", "client:c-1"),
        chat_id="C0OPS",
        text="hello",
        chat_type="channel",
        sender_id="U0ANNA",
        sender_name="Anna B",
        sender_username="anna",
        sent_at=1700000000.000001,
        received_at=1_700_000_000.0,
    )


@pytest.mark.parametrize(
    ("channel", "told", "chat_type"),
    [
        ("D0ANNA", "im", "private"),
        ("G0SEVEN", "mpim", "group"),
        ("C0SECRET", "group", "group"),
        ("C0OPS", "channel", "channel"),
        ("D0ANNA", None, "private"),
        ("G0SEVEN", None, "group"),
        ("C0OPS", "of a kind to come", "channel"),
    ],
)
async def test_the_type_of_a_chat_is_what_the_product_says_or_the_first_letter_of_its_id(
    receiver, channel: str, told: str | None, chat_type: str
):
    assert (await said(receiver, channel=channel, channel_type=told)).chat_type == chat_type


@pytest.mark.parametrize("subtype", [None, "file_share", "thread_broadcast", "me_message"])
async def test_a_new_message_is_heard(receiver, subtype: str | None):
    assert (await said(receiver, subtype=subtype)).text == "hello"


@pytest.mark.parametrize("subtype", ["message_changed", "message_deleted", "bot_message", "channel_join", "to come"])
async def test_what_only_happened_to_a_message_is_ignored(receiver, subtype: str):
    assert await heard(receiver, subtype=subtype) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "U0BOT"},
        {"bot_id": "B0OTHER"},
        {"user": "U0OTHER", "bot_profile": {"id": "B0OTHER", "app_id": "A0OTHER"}},
        {"bot_id": "B0BOT", "app_id": "A0TOCSIN"},
        {"user": "USLACKBOT"},
    ],
)
async def test_bots_are_not_heard_ourselves_least_of_all(receiver, fields: dict[str, Any]):
    assert await heard(receiver, **fields) is None


async def test_other_bots_are_heard_where_the_operator_wants_it_but_never_ourselves():
    receiver = build_receiver(TeamchatAdapter, {"TEAMCHAT_HEAR_BOTS": "true"})
    message = await said(receiver, user=None, subtype="bot_message", bot_id="B0CI", username="ci", text="red")
    assert (message.sender_is_bot, message.sender_id, message.sender_name) == (True, "B0CI", "ci")
    for own in ({"user": "U0BOT"}, {"app_id": "A0TOCSIN"}, {"bot_profile": {"app_id": "A0TOCSIN"}}):
        assert await heard(receiver, bot_id="B0BOT", **own) is None


TOKEN = {"TEAMCHAT_BOT_TOKEN": "xoxb-100000000001-example-example-example"}
ME = {"ok": True, "url": "https://acme.slack.com/", "user": "bot", "user_id": "U0BOT", "bot_id": "B0BOT"}
ANNAS = (b'"user_id": "U0BOT", "is_bot": true', b'"user_id": "U0ANNA", "is_bot": false')


async def test_where_an_event_does_not_say_who_the_bot_is_the_token_does_and_once():
    http = ScriptedTransport().will_answer(ME)
    receiver = build_receiver(TeamchatAdapter, {**TOKEN, "TEAMCHAT_HEAR_BOTS": "true"}, http=http)
    said = ({"text": "<@U0BOT> ping"}, {"user": "U0BOT"}, {"bot_id": "B0BOT"})
    calls = [WebhookRequest((), event(number, **fields).replace(*ANNAS)) for number, fields in enumerate(said)]
    mention, own, posted = [await receiver.receive(call) for call in calls]
    assert isinstance(mention, InboundMessage)
    assert (mention.text, mention.mentions_bot, own, posted) == ("ping", True, None, None)
    assert [request.url.rpartition("/")[2] for request in http.sent] == ["auth.test"]


async def test_an_event_is_taken_in_also_while_nobody_says_who_the_bot_is():
    http = ScriptedTransport().will_answer({"ok": False, "error": "invalid_auth"})
    receiver = build_receiver(TeamchatAdapter, TOKEN, http=http)
    for number in (1, 2):
        assert await receiver.receive(WebhookRequest((), event(number).replace(*ANNAS))) is not None
    assert len(http.sent) == 1


async def test_an_event_that_names_the_bot_asks_nobody():
    http = ScriptedTransport()
    await build_receiver(TeamchatAdapter, TOKEN, http=http).receive(WebhookRequest((), event(1)))
    assert http.sent == []


async def test_a_person_who_installed_the_app_is_not_taken_for_the_bot(receiver):
    body = event(1).replace(b'"user_id": "U0BOT", "is_bot": true', b'"user_id": "U0ANNA", "is_bot": false')
    assert await receiver.receive(WebhookRequest((), body)) is not None


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("see <https://a.example/x?a=1&amp;b=2>", "see https://a.example/x?a=1&b=2"),
        ("see <https://a.example/|the docs>", "see the docs (https://a.example/)"),
        ("see <http://a.example|a.example>", "see a.example"),
        ("to <mailto:a@b.example|a@b.example>", "to a@b.example"),
        ("in <#C0OPS|ops> and <#C0NEW>", "in #ops and #C0NEW"),
        ("<!here> <!channel|channel> <!subteam^S0ABC|@oncall> <!subteam^S0ABC>", "@here @channel @oncall @S0ABC"),
        ("at <!date^1392734382^{date}|18 Feb 2014>", "at 18 Feb 2014"),
        ("<@U0BEN> and <@U0BEN|ben>", "@U0BEN and @ben"),
        ("1 < 2 <3 <> <", "1 < 2 <3 <> <"),
        ("a\r\nb\0c \ud83d\ude00", "a\nbc 😀"),
        ("*bold* _it_ `x` ~no~", "*bold* _it_ `x` ~no~"),
    ],
)
async def test_a_text_is_what_its_author_saw(receiver, raw: str, text: str):
    message = await said(receiver, text=raw)
    assert (message.text, message.mentions_bot) == (text, False)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("<@U0BOT> do it", "do it"),
        ("<@U0BOT>: do it", "do it"),
        ("please <@U0BOT|tocsin>, do it", "please do it"),
        ("do it <@U0BOT>", "do it"),
        ("<@U0BOT>", ""),
    ],
)
async def test_a_mention_of_the_bot_is_noted_and_taken_out(receiver, raw: str, text: str):
    message = await said(receiver, text=raw)
    assert (message.text, message.mentions_bot) == (text, True)


async def test_a_mention_comes_as_two_events_that_share_a_key(receiver):
    as_message = await said(receiver, text="<@U0BOT> hi", number=1)
    as_mention = await said(
        receiver, text="<@U0BOT> hi", type="app_mention", ts=as_message.id, number=2, channel_type=None
    )
    assert as_mention.dedupe_keys[0] != as_message.dedupe_keys[0]
    assert as_mention.dedupe_keys[1] == as_message.dedupe_keys[1]
    assert as_mention.mentions_bot
    assert (as_mention.text, as_mention.chat_type) == (as_message.text, as_message.chat_type)


async def test_what_a_client_sends_again_has_another_time_stamp_and_the_same_key(receiver):
    first = await said(receiver, client_msg_id="c-1", number=1)
    again = await said(receiver, client_msg_id="c-1", number=2)
    assert set(first.dedupe_keys) & set(again.dedupe_keys) == {"client:c-1"}


async def test_an_empty_message_is_ignored(receiver):
    assert await heard(receiver, text=" ") is None


async def test_a_command_behind_a_mention_or_in_private_is_one(receiver):
    mentioned = await said(receiver, text="<@U0BOT> /Status all\nof it")
    assert (mentioned.kind, mentioned.command, mentioned.args) == (MessageKind.COMMAND, "status", "all\nof it")
    private = await said(receiver, text="/help", channel="D0ANNA", channel_type="im")
    assert (private.kind, private.command, private.args) == (MessageKind.COMMAND, "help", "")
    for text in ("/status", "<@U0BOT> /etc/hosts", "<@U0BOT> a /status"):
        assert (await said(receiver, text=text)).command is None


async def test_files_come_with_what_is_known_of_them(receiver):
    voice = {"id": "F0TWO", "mimetype": "audio/webm", "subtype": "slack_audio", "duration_ms": 1500, "title": "memo"}
    message = await said(receiver, subtype="file_share", text="", files=[*FILES, voice, {"id": "F0THREE"}])
    assert message.attachments == (
        Attachment("photo", "F0ONE", "image/png", "a.png", 7, width=3, height=4),
        Attachment("voice", "F0TWO", "audio/webm", "memo", duration=1.5),
        Attachment("document", "F0THREE"),
    )


# --- threads


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ({}, "C0OPS/1700000000.000002"),
        ({"thread_ts": THREAD}, f"C0OPS/{THREAD}"),
        ({"channel": "D0ANNA", "channel_type": "im"}, "D0ANNA"),
        ({"channel": "D0ANNA", "channel_type": "im", "thread_ts": THREAD}, f"D0ANNA/{THREAD}"),
    ],
)
async def test_an_answer_goes_below_the_message_in_a_channel_and_plain_in_private(receiver, fields, target: str):
    assert receiver.reply_target(await said(receiver, number=2, **fields)) == target


async def test_a_reply_in_a_thread_that_the_bot_began_is_meant_for_it(receiver):
    assert (await said(receiver, thread_ts=THREAD, parent_user_id="U0BOT")).mentions_bot
    assert not (await said(receiver, thread_ts=THREAD, parent_user_id="U0BEN")).mentions_bot


async def test_a_thread_that_the_bot_was_called_into_goes_on_without_its_name(receiver):
    called = await said(receiver, text="<@U0BOT> hi", number=1)
    assert (await said(receiver, thread_ts=called.id, number=2)).mentions_bot
    assert not (await said(receiver, thread_ts=called.id, channel="C0OTHER", number=3)).mentions_bot
    assert not (await said(receiver, number=4)).mentions_bot


async def test_a_thread_that_the_bot_wrote_in_goes_on_without_its_name(receiver):
    assert not (await said(receiver, thread_ts=THREAD, number=1)).mentions_bot
    assert await heard(receiver, thread_ts=THREAD, user="U0BOT", bot_id="B0BOT", number=2) is None
    assert (await said(receiver, thread_ts=THREAD, number=3)).mentions_bot


def test_only_so_many_threads_are_remembered():
    threads = Threads()
    for number in range(10_001):
        threads.join("C0OPS", str(number))
    assert ("C0OPS", "0") not in threads
    assert ("C0OPS", "1") in threads
    assert ("C0OPS", "10000") in threads


async def test_the_beginning_of_a_thread_is_quoted_where_the_product_delivers_it(receiver):
    root = {"user": "U5", "text": "Lunch at &lt;8&gt;?", "ts": THREAD, "user_profile": {"display_name": "Bob"}}
    message = await said(receiver, text="yes", subtype="thread_broadcast", thread_ts=THREAD, root=root)
    assert message.quote == Quote("Bob", sender_id="U5", text="Lunch at <8>?")
    assert (await said(receiver, text="yes", thread_ts=THREAD)).quote is None


async def test_a_message_that_is_shared_is_quoted_and_a_preview_of_a_link_is_not(receiver):
    shared = {"is_share": True, "author_name": "Bob", "author_id": "U5", "text": "x" * 1_001}
    preview = {"is_msg_unfurl": False, "text": "a page"}
    message = await said(receiver, text="see", attachments=[preview, shared])
    assert message.quote == Quote("Bob", sender_id="U5", text="x" * 1_000, is_cut=True)
    assert (await said(receiver, text="see", attachments=[preview])).quote is None


@pytest.mark.parametrize("broken", [3, [], {"text": 3}, {"user": [], "text": "x"}])
async def test_broken_quotes_do_no_harm(receiver, broken: Any):
    message = await said(receiver, text="x", root=broken, attachments=[broken, {"is_share": True, "text": broken}])
    assert InboundMessage.restore(message.stored()) == message
