"""The page on which somebody talks to the bot: what it shows, and what its clicks do."""

import hmac
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from io import BytesIO
from urllib.parse import parse_qsl

import pytest
from aiohttp import web
from nacl.signing import VerifyKey
from tests.web_server import web_server

from tocsin_standins.guildchat.calls import PUBLIC_KEY
from tocsin_standins.page.source import page_source

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
    async with web_server(web.post("/webhook/{channel}", gateway.take)) as gateway.url:
        town.connect(gateway.url)
        yield gateway


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


async def post_file(town, http, **body):
    data = BytesIO(json.dumps(body).encode())
    headers = {"Content-Type": "application/json"}
    async with http.post(f"{town.page.url}/_standin/file", data=data, headers=headers) as answer:
        return answer.status, (await answer.json()).get("error", "")


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


@pytest.mark.parametrize(
    ("name", "mime", "kind", "label"),
    [
        ("notes.md", "", "document", "notes.md"),
        ("data.xyz", "application/octet-stream", "document", "data.xyz"),
        ("bell.jpg", "image/jpeg", "photo", "photo"),
        ("bell.png", "", "photo", "photo"),
        ("bell.gif", "image/gif", "document", "bell.gif"),
        ("voice.ogg", "audio/ogg", "voice", "voice"),
        ("ring.mp3", "audio/mpeg", "audio", "ring.mp3"),
    ],
)
async def test_a_file_reaches_the_bot_as_an_app_sends_it_and_can_be_fetched(town, http, name, mime, kind, label):
    data, caption = b"\x00bell", "@tocsin_standin_bot look"
    body = {"chat_id": GROUP, "name": name, "mime": mime, "data": b64encode(data).decode(), "caption": caption}
    assert await post_file(town, http, **body) == (201, "")
    (update,) = await ask_bot_api(town, http, "getUpdates")
    message = update["message"]
    assert (message["caption"], message["caption_entities"][0]["type"]) == (caption, "mention")
    file = message[kind][0] if kind == "photo" else message[kind]
    found = await ask_bot_api(town, http, "getFile", file_id=file["file_id"])
    assert found["file_size"] == len(data)
    async with http.get(f"{town.botchat.api_url}/file/bot{town.botchat.token}/{found['file_path']}") as answer:
        assert await answer.read() == data
    (shown,) = await conversation(town, http, GROUP)
    assert (shown["file"], shown["text"], shown["entities"][0]["type"]) == (label, caption, "mention")
    assert town.recorder.of("botchat", kind="inbound")[0].text == f"[{label}] {caption}"


async def test_two_files_of_one_name_stay_apart(town, http):
    for data in (b"first", b"second"):
        await post_file(town, http, chat_id=1001, name="a.txt", data=b64encode(data).decode())
    paths = {path for path, _, _ in town.botchat.world.files.values()}
    assert len(paths) == 2


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"chat_id": 1001, "data": ""}, "the file is empty"),
        ({"chat_id": 1001, "data": "no base64"}, "Only base64 data is allowed"),
        ({"chat_id": 1001, "data": "A" * 9 * 2**20}, "the request is larger than 8 MiB: a file may have 6"),
    ],
)
async def test_a_file_that_cannot_be_sent_is_refused_with_the_reason(town, http, body, error):
    assert await post_file(town, http, **body) == (400, error)


async def test_a_note_stands_behind_the_message_that_it_is_about(town, http):
    town.botchat.say(1001, "weather Oslo")
    town.page.users.note("botchat", "1001", "rule 2")
    town.botchat.say(1001, "weather Rome")
    assert [m.get("note") or m["text"] for m in await conversation(town, http)] == [
        "weather Oslo", "rule 2", "weather Rome",
    ]  # fmt: skip
    assert await conversation(town, http, 1002) == []
    assert [item.text for item in town.recorder.of("botchat", kind="note")] == ["rule 2"]


async def test_a_note_on_another_channel_stands_in_its_list(town):
    town.page.users.note("teamchat", "C0GENERAL", "rule 1")
    assert [item.target for item in town.recorder.of("teamchat", kind="note")] == ["C0GENERAL"]


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
    assert error.startswith("the gateway refused it")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"channel": "guildchat", "text": "hello"}, "this product hands over slash commands only: begin with /"),
        ({"channel": "email", "text": "hello"}, "email does not call the gateway; choose: teamchat, guildchat"),
        ({"channel": "teamchat", "text": "  "}, "there is no text"),
    ],
)
async def test_what_cannot_be_said_is_refused_with_the_reason(town, http, gateway, body, error):
    assert await call(town, http, **body) == (400, error)
    assert gateway.calls == []


async def test_without_a_gateway_the_page_says_so(town, http):
    assert await call(town, http, channel="teamchat", text="hi") == (400, "the gateway's address is not set")


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
