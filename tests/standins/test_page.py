"""The page on which somebody talks to the bot: what it shows, and what its clicks do."""

import hmac
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

import pytest
from aiohttp import web
from nacl.signing import VerifyKey

from tocsin.standins.guildchat_calls import PUBLIC_KEY
from tocsin.standins.page_source import page_source

GROUP = -3001


@dataclass
class Gateway:
    """Takes the products' calls, or refuses them."""

    status: int = 200
    url: str = ""
    calls: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        self.calls.append((request.path, dict(request.headers), await request.read()))
        return web.json_response({"type": 5}, status=self.status)


@pytest.fixture
async def gateway(town) -> AsyncIterator[Gateway]:
    gateway = Gateway()
    app = web.Application()
    app.add_routes([web.post("/webhook/{channel}", gateway.take)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    gateway.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    town.connect(gateway.url)
    yield gateway
    await runner.cleanup()


async def ask_bot_api(town, http, method, **arguments):
    url = f"{town.botchat.api_url}/bot{town.botchat.token}/{method}"
    async with http.post(url, json=arguments) as answer:
        document = await answer.json()
    assert document["ok"], document
    return document["result"]


async def conversation(town, http, chat=1001):
    async with http.get(f"{town.page.url}/conversation.json?chat={chat}") as answer:
        assert answer.headers["Cache-Control"] == "no-store"
        return (await answer.json())["messages"]


async def call(town, http, **body):
    async with http.post(f"{town.page.url}/_standin/call", json=body) as answer:
        return answer.status, (await answer.json()).get("error", "")


async def test_it_lists_an_allowed_chat_a_stranger_and_a_group_with_texts_to_try(town, http):
    town.connect("http://127.0.0.1:9", ["uptime"])
    async with http.get(f"{town.page.url}/chats.json") as answer:
        chats = (await answer.json())["chats"]
    assert [(chat["id"], chat["title"], chat["sender"]) for chat in chats] == [
        (1001, "Alice", "Alice"),
        (1002, "Bob", "Bob"),
        (GROUP, "Kitchen", "Alice"),
    ]
    assert "uptime" in chats[0]["tries"]
    assert "/start" in chats[1]["tries"]


def test_the_settings_of_the_town_admit_alice_and_the_group_but_not_the_stranger(town):
    access = town.access()
    assert access["ALLOWED_CHAT_IDS"].split(",") == ["1001", str(GROUP)]
    assert access["BOTCHAT_ADMIN_CHAT_ID"] == "1001"


async def test_a_conversation_has_both_sides_in_order_and_of_one_chat_only(town, http):
    town.botchat.say(1001, "Hi")
    town.botchat.say(1002, "Me too", sender_name="Bob")
    await ask_bot_api(town, http, "sendMessage", chat_id=1001, text="Hello")
    shown = [(m["own"], m["name"], m["text"]) for m in await conversation(town, http)]
    assert shown == [(True, "Alice", "Hi"), (False, "Tocsin", "Hello")]
    assert [m["name"] for m in await conversation(town, http, 1002)] == ["Bob"]


async def test_an_edited_message_is_shown_as_it_is_now(town, http):
    sent = await ask_bot_api(town, http, "sendMessage", chat_id=1001, text="Thinking")
    await ask_bot_api(town, http, "editMessageText", chat_id=1001, message_id=sent["message_id"], text="Thought")
    (message,) = await conversation(town, http)
    assert (message["text"], message["edited"]) == ("Thought", True)


async def test_formatting_comes_as_entities_and_commands_are_marked_as_the_product_marks_them(town, http):
    entities = [{"type": "code", "offset": 0, "length": 5}]
    await ask_bot_api(town, http, "sendMessage", chat_id=1001, text="/code /help </b> /etc/hosts", entities=entities)
    (message,) = await conversation(town, http)
    assert message["entities"] == [*entities, {"type": "bot_command", "offset": 6, "length": 5}]


async def test_a_message_shows_its_buttons_its_reaction_and_what_it_replies_to(town, http):
    said = town.botchat.say(GROUP, "first line\nsecond line")["message"]["message_id"]
    keyboard = {"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}, {"text": "No", "callback_data": "n"}]]}
    reply = {"message_id": said}
    await ask_bot_api(town, http, "sendMessage", chat_id=GROUP, text="?", reply_markup=keyboard, reply_parameters=reply)
    reaction = [{"type": "emoji", "emoji": "👍"}]
    await ask_bot_api(town, http, "setMessageReaction", chat_id=GROUP, message_id=said, reaction=reaction)
    own, answer = await conversation(town, http, GROUP)
    assert own["reaction"] == "👍"
    assert answer["reply"] == "first line"
    assert answer["buttons"] == [[{"text": "Yes", "data": "y"}, {"text": "No", "data": "n"}]]


async def test_a_reaction_that_is_taken_back_is_gone(town, http):
    said = town.botchat.say(1001, "Hi")["message"]["message_id"]
    for reaction in ([{"type": "emoji", "emoji": "👍"}], []):
        await ask_bot_api(town, http, "setMessageReaction", chat_id=1001, message_id=said, reaction=reaction)
    assert [m["reaction"] for m in await conversation(town, http)] == [""]


@pytest.mark.parametrize("chat", ["", "alice", "1.5"])
async def test_a_conversation_of_no_chat_is_refused(town, http, chat):
    async with http.get(f"{town.page.url}/conversation.json?chat={chat}") as answer:
        assert answer.status == 400


async def test_pressing_a_button_sends_the_bot_what_the_button_carries(town, http):
    sent = await ask_bot_api(town, http, "sendMessage", chat_id=1001, text="?")
    body = {"chat_id": 1001, "message_id": sent["message_id"], "data": "mode:skill", "sender_name": "Alice"}
    async with http.post(f"{town.page.url}/_standin/press", json=body) as answer:
        assert answer.status == 201
    (update,) = await ask_bot_api(town, http, "getUpdates")
    query = update["callback_query"]
    assert (query["data"], query["from"]["first_name"]) == ("mode:skill", "Alice")
    assert query["message"]["message_id"] == sent["message_id"]


async def test_what_is_written_on_teamchat_reaches_the_gateway_signed(town, http, gateway):
    assert await call(town, http, channel="teamchat", text="uptime & <more>") == (201, "")
    ((path, headers, body),) = gateway.calls
    assert path == "/webhook/teamchat"
    assert json.loads(body)["event"]["text"] == "uptime &amp; &lt;more&gt;"
    signed = f"v0:{headers['X-Slack-Request-Timestamp']}:".encode() + body
    digest = hmac.new(town.teamchat.signing_secret.encode(), signed, "sha256").hexdigest()
    assert headers["X-Slack-Signature"] == f"v0={digest}"


async def test_a_text_with_a_slash_is_a_slash_command_on_teamchat(town, http, gateway):
    await call(town, http, channel="teamchat", text="/deploy web now")
    form = dict(parse_qsl(gateway.calls[0][2].decode()))
    assert (form["command"], form["text"]) == ("/deploy", "web now")


async def test_a_slash_command_on_guildchat_reaches_the_gateway_signed(town, http, gateway):
    assert await call(town, http, channel="guildchat", text="/deploy web now") == (201, "")
    ((path, headers, body),) = gateway.calls
    assert path == "/webhook/guildchat"
    signature = bytes.fromhex(headers["X-Signature-Ed25519"])
    VerifyKey(bytes.fromhex(PUBLIC_KEY)).verify(headers["X-Signature-Timestamp"].encode() + body, signature)
    data = json.loads(body)["data"]
    assert (data["name"], data["options"][0]["value"]) == ("deploy", "web now")


@pytest.mark.parametrize(("channel", "text"), [("teamchat", "hello"), ("guildchat", "/hello")])
async def test_what_was_written_there_stands_in_the_list_beside_the_answers(town, http, gateway, channel, text):
    await call(town, http, channel=channel, text=text)
    (item,) = town.recorder.of(channel, kind="inbound")
    assert (item.account, item.text) == ("Alice", text)


@pytest.mark.parametrize(("channel", "text"), [("teamchat", "hello"), ("teamchat", "/hello"), ("guildchat", "/hello")])
async def test_a_gateway_that_refuses_is_told_at_once(town, http, gateway, channel, text):
    gateway.status = 401
    status, error = await call(town, http, channel=channel, text=text)
    assert status == 400
    assert error.startswith("the gateway does not take it")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"channel": "guildchat", "text": "hello"}, "this product hands over slash commands only: begin with /"),
        ({"channel": "email", "text": "hello"}, "email calls nobody; it may be: teamchat, guildchat"),
        ({"channel": "teamchat", "text": "  "}, "there is no text"),
    ],
)
async def test_what_cannot_be_said_is_refused_with_the_reason(town, http, gateway, body, error):
    assert await call(town, http, **body) == (400, error)
    assert gateway.calls == []


async def test_without_a_gateway_the_page_says_so(town, http):
    assert await call(town, http, channel="teamchat", text="hi") == (400, "nobody has said where the gateway is")


async def test_a_call_with_fields_that_nobody_knows_is_refused(town, http, gateway):
    status, _ = await call(town, http, channel="teamchat", text="hi", times=5)
    assert status == 400


def test_received_text_can_reach_the_document_as_text_only():
    source = page_source()
    assert not [word for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write") if word in source]
    assert "eval(" not in source


def test_every_field_of_the_page_has_a_label():
    source = page_source()
    assert '<label class="unseen" for="text">' in source
    assert source.count("<input") == source.count("<label")
