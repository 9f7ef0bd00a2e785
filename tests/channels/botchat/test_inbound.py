"""botchat receives: who may call, what is asked of the provider, what is answered (docs/facts/botchat.md)."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.waiting import PATIENCE_S

from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.botchat.api import BotApiError
from tocsin.channels.botchat.inbound import BotchatInbound
from tocsin.channels.contract import Tools
from tocsin.channels.inbound import InboundMessage, MessageKind, RejectedError, WebhookRequest, WebhookResponse
from tocsin.core.config.settings import Settings
from tocsin.core.errors import ChannelError, RemoteError
from tocsin.core.http.direct import DirectTransport
from tocsin.core.http.transport import Transport, connect_failed
from tocsin.testing import FakeClock, ScriptedTransport
from tocsin.testing.inbound_contract import InboundContract
from tocsin_standins.botchat.server import TOKEN, BotChat
from tocsin_standins.botchat.world import BOT_USERNAME, FORUM_CHAT, GROUP_CHAT
from tocsin_standins.faults import Fault

SECRET = "a-Secret_0123456789"
HEADER = "x-telegram-bot-api-secret-token"
ENV = {"BOTCHAT_BOT_TOKEN": TOKEN, "BOTCHAT_WEBHOOK_SECRET": SECRET}
NOW = 1_700_000_000.0


def receiver(http: Transport | None = None, clock: FakeClock | None = None, **env: str) -> BotchatInbound:
    settings = Settings.load(BotchatAdapter.spec.variables, environ={"TOCSIN_DATA_DIR": "/nonexistent", **env})
    tools = Tools(http or ScriptedTransport(), clock or FakeClock(NOW))
    return BotchatInbound(settings.only(BotchatAdapter.spec.variables), tools)


def call(body: object, *headers: tuple[str, str]) -> WebhookRequest:
    return WebhookRequest(
        headers or ((HEADER, SECRET),), body if isinstance(body, bytes) else json.dumps(body).encode()
    )


def update(text: str = "hi", **fields: Any) -> dict[str, Any]:
    person = {"id": 1001, "is_bot": False, "first_name": "Alice"}
    chat = {"id": 1001, "type": "private"}
    return {
        "update_id": 5,
        "message": {"message_id": 1, "from": person, "chat": chat, "date": int(NOW), "text": text, **fields},
    }


@pytest.fixture
async def botchat() -> AsyncIterator[BotChat]:
    async with BotChat() as botchat:
        yield botchat


@pytest.fixture
async def inbound(botchat: BotChat) -> AsyncIterator[BotchatInbound]:
    http = DirectTransport()
    yield receiver(http, **ENV, BOTCHAT_API_URL=botchat.api_url)
    await http.aclose()


MESSAGES: dict[str, dict[str, Any]] = {
    "a text": update(),
    "a command in a topic": update(
        "/run x", message_id=2, is_topic_message=True, message_thread_id=9, chat={"id": -100, "type": "group"}
    )
    | {"update_id": 6},
    "a photo": update("", message_id=3, photo=[{"file_id": "f", "width": 1, "height": 1}], caption="see")
    | {"update_id": 7},
    "a button": {"update_id": 8, "callback_query": {"id": "q", "from": {"id": 5}, "data": "mode:chat"}},
}
IGNORED: dict[str, dict[str, Any]] = {
    "a post in a channel": {"update_id": 1, "channel_post": update()["message"]},
    "the bot was blocked": {"update_id": 2, "my_chat_member": {"chat": {"id": 1}}},
    "somebody joined": {"update_id": 3, "message": update("", new_chat_members=[{"id": 5}])["message"]},
}


class TestBotchatReceives(InboundContract):
    adapter = BotchatAdapter
    env = ENV
    secret = "BOTCHAT_WEBHOOK_SECRET"
    signs_body = False
    messages = {name: json.dumps(document).encode() for name, document in MESSAGES.items()}  # noqa: RUF012
    ignored = {name: json.dumps(document).encode() for name, document in IGNORED.items()}  # noqa: RUF012

    def press(self, token: str) -> bytes:
        message = {"message_id": 9, "date": 1_700_000_000, "chat": {"id": 5, "type": "private"}}
        pressed = {"id": "q", "from": {"id": 5, "first_name": "Anna"}, "data": token, "message": message}
        return json.dumps({"update_id": 9, "callback_query": pressed}).encode()

    def signed(self, body: bytes, now: float) -> WebhookRequest:
        return call(body)


# Verification


@pytest.mark.parametrize("header", ["x-telegram-bot-api-secret-token", "x-botchat-bot-api-secret-token"])
def test_either_header_may_carry_the_secret(header: str):
    receiver(**ENV).verify(call({}, (header, SECRET)), NOW)


def test_both_headers_may_carry_it_but_not_two_values():
    inbound = receiver(**ENV)
    mine, other = "x-botchat-bot-api-secret-token", HEADER
    inbound.verify(call({}, (mine, SECRET), (other, SECRET)), NOW)
    for headers in (((mine, SECRET), (other, "x")), ((other, SECRET), (other, "x")), ((mine, ""), (other, SECRET))):
        with pytest.raises(RejectedError, match="different values"):
            inbound.verify(call({}, *headers), NOW)


@pytest.mark.parametrize("value", ["", "x", SECRET + " ", SECRET.lower(), "é", "\udcff"])
def test_anything_else_is_rejected_without_being_shown(value: str):
    with pytest.raises(RejectedError) as caught:
        receiver(**ENV).verify(call({}, (HEADER, value)), NOW)
    assert SECRET not in caught.value.sentence()
    assert "secret" in str(caught.value)


def test_without_a_configured_secret_an_empty_one_is_rejected_too():
    for given in ("", SECRET):
        with pytest.raises(RejectedError, match="BOTCHAT_WEBHOOK_SECRET"):
            receiver(BOTCHAT_BOT_TOKEN=TOKEN).verify(call({}, (HEADER, given)), NOW)


# Reading


async def test_a_webhook_call_is_read_without_asking_the_provider():
    http = ScriptedTransport()
    message = await receiver(http, **ENV).receive(call(update("hello")))
    assert message is not None
    assert (message.text, message.received_at, http.sent) == ("hello", NOW, [])


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"[1]", b"null", b"[" * 100_000, b'{"message": [1]}', b"{"])
async def test_a_body_that_is_no_update_says_nothing(body: bytes):
    assert await receiver(**ENV).receive(call(body)) is None


async def test_the_bots_user_name_is_asked_for_once_and_only_when_it_matters(botchat: BotChat, inbound: BotchatInbound):
    command = update(f"/run@{BOT_USERNAME} now")
    await inbound.receive(call(update()))
    assert botchat.requests == 0
    found = await asyncio.gather(*(inbound.receive(call(command)) for _ in range(5)))
    assert {(message and message.text) for message in found} == {"/run now"}
    assert botchat.requests == 1


async def test_a_webhook_call_is_read_at_once_also_while_the_user_name_cannot_be_asked_for(
    caplog: pytest.LogCaptureFixture,
):
    http = ScriptedTransport().will_raise(connect_failed("https://x", "unreachable"))
    inbound, command = receiver(http, **ENV), call(update("/run@tocsin_bot"))
    messages = [await inbound.receive(command) for _ in range(3)]
    assert [message and message.command for message in messages] == ["run"] * 3
    assert len(http.sent) == 1
    assert caplog.text.count("the identity of the bot could not be fetched") == 1


async def test_the_user_name_is_asked_for_again_half_a_minute_later():
    http, clock = ScriptedTransport().will_raise(connect_failed("https://x", "unreachable")), FakeClock(NOW)
    http.will_answer({"ok": True, "result": {"id": 7000000001, "username": "tocsin_bot"}})
    inbound = receiver(http, clock=clock, **ENV)
    assert await inbound.receive(call(update("/run@other_bot"))) is not None
    clock.advance(30)
    assert await inbound.receive(call(update("/run@other_bot"))) is None


async def test_a_webhook_call_does_not_wait_for_a_product_that_does_not_say_who_the_bot_is():
    class Silent(ScriptedTransport):
        async def request(self, *args: Any, **more: Any) -> Any:
            await asyncio.Event().wait()

    async with asyncio.timeout(PATIENCE_S):
        message = await receiver(Silent(), **ENV).receive(call(update("mail me@example.org")))
    assert message is not None


async def test_while_the_user_name_cannot_be_asked_for_a_fetched_update_is_fetched_again():
    http = ScriptedTransport().will_raise(connect_failed("https://x", "unreachable"))
    http.will_answer({"ok": True, "result": {"id": 7000000001, "username": "tocsin_bot"}})
    inbound, command = receiver(http, **ENV), update("/run@tocsin_bot")
    with pytest.raises(RemoteError):
        await inbound.read(command)
    message = await inbound.read(command)
    assert message is not None
    assert message.command == "run"


async def test_a_server_that_never_says_who_the_bot_is_holds_up_no_fetched_update():
    http = ScriptedTransport().will_answer({"ok": False, "error_code": 404, "description": "Not Found"}, 404)
    message = await receiver(http, **ENV).read(update("mail me@example.org"))
    assert message is not None
    assert message.text == "mail me@example.org"


async def test_without_a_token_updates_are_still_read():
    inbound = receiver(BOTCHAT_WEBHOOK_SECRET=SECRET)
    message = await inbound.receive(call(update("mail me@example.org")))
    assert message is not None
    assert message.dedupe_keys[0] == "update:0:5"
    with pytest.raises(ChannelError, match="BOTCHAT_BOT_TOKEN"):
        await inbound.acknowledge(message)


async def test_a_group_with_a_new_number_is_told_to_who_wants_to_know(caplog: pytest.LogCaptureFixture):
    inbound, moves = receiver(**ENV), []

    async def note(old: str, new: str) -> None:
        moves.append((old, new))

    inbound.on_moved(note)
    moved = update("", chat={"id": -3001, "type": "group"}, migrate_to_chat_id=-1009)
    assert await inbound.receive(call(moved)) is None
    assert moves == [("-3001", "-1009")]
    assert caplog.text


# Answering


def test_the_answer_is_an_empty_object_which_the_provider_does_not_carry_out():
    assert receiver(**ENV).answer_to(None) == WebhookResponse(200, b"{}", "application/json")


def inbound_message(**fields: Any) -> InboundMessage:
    values: dict[str, Any] = {"channel": "botchat", "kind": MessageKind.MESSAGE, "id": "9", "dedupe_keys": ("k",)}
    return InboundMessage(**(values | {"chat_id": "1001"} | fields))


@pytest.mark.parametrize(
    ("fields", "target", "extra"),
    [
        ({}, "1001", {}),
        ({"chat_id": "-3001", "chat_type": "group"}, "-3001", {"reply_to": "9"}),
        ({"chat_id": "-100", "thread_id": "5", "chat_type": "group"}, "-100/5", {"reply_to": "9"}),
        ({"chat_id": "-3001", "chat_type": "group", "kind": MessageKind.CALLBACK, "id": "q"}, "-3001", {}),
    ],
)
def test_a_reply_goes_to_the_same_topic_and_in_groups_to_the_very_message(
    fields: dict[str, Any], target: str, extra: dict[str, Any]
):
    inbound, message = receiver(**ENV), inbound_message(**fields)
    assert (inbound.reply_target(message), inbound.reply_extra(message)) == (target, extra)


# Signs


async def read(inbound: BotchatInbound, made: dict[str, Any]) -> InboundMessage:
    message = await inbound.read(made)
    assert message is not None
    return message


async def test_a_message_is_acknowledged_by_a_thumb(botchat: BotChat, inbound: BotchatInbound):
    await inbound.acknowledge(await read(inbound, botchat.say(1001, "hi")))
    (reaction,) = botchat.recorder.of("botchat", kind="reaction")
    assert (reaction.target, reaction.text) == ("1001", "👍")


async def test_a_button_is_acknowledged_by_ending_its_spinner_however_late(botchat: BotChat, inbound: BotchatInbound):
    pressed = await read(inbound, botchat.press(1001, 99, "mode:chat"))
    await inbound.acknowledge(pressed)
    await inbound.acknowledge(pressed)  # "query is too old …" by then
    (answered,) = botchat.recorder.of("botchat", kind="callback")
    assert answered.id == pressed.callback_id


async def test_an_edit_gets_no_thumb(botchat: BotChat, inbound: BotchatInbound):
    first = botchat.say(1001, "one")["message"]["message_id"]
    await inbound.acknowledge(await read(inbound, botchat.say(1001, "two", edit_of=first)))
    assert botchat.recorder.of("botchat", kind="reaction") == []


async def test_typing_is_shown_in_the_topic_of_the_message(botchat: BotChat, inbound: BotchatInbound):
    await inbound.start_processing_indicator(await read(inbound, botchat.say(FORUM_CHAT, "hi", thread_id=5)))
    await inbound.start_processing_indicator(await read(inbound, botchat.say(GROUP_CHAT, "hi")))
    actions = botchat.recorder.of("botchat", kind="action")
    assert [(a.target, a.text, a.thread) for a in actions] == [
        (str(FORUM_CHAT), "typing", "5"),
        (str(GROUP_CHAT), "typing", ""),
    ]
    assert (inbound.indicator_every_s, inbound.supports_streaming) == (4.0, True)


async def test_a_server_without_reactions_is_not_asked_again(botchat: BotChat, inbound: BotchatInbound):
    botchat.faults.push(Fault.error(404, "Not Found").only("setMessageReaction"))
    message = await read(inbound, botchat.say(1001, "hi"))
    with pytest.raises(BotApiError, match="404"):
        await inbound.acknowledge(message)
    asked = botchat.requests
    await inbound.acknowledge(message)
    assert botchat.requests == asked


async def test_a_refused_reaction_is_a_channel_error_and_tried_again_next_time(
    botchat: BotChat, inbound: BotchatInbound
):
    botchat.faults.push(Fault.error("Bad Request: REACTION_INVALID").only("setMessageReaction"))
    message = await read(inbound, botchat.say(1001, "hi"))
    with pytest.raises(ChannelError, match="REACTION_INVALID"):
        await inbound.acknowledge(message)
    await inbound.acknowledge(message)
    assert len(botchat.recorder.of("botchat", kind="reaction")) == 1
