"""The stand-ins against the providers' published interface documents."""

import json
from pathlib import Path

import pytest

from tocsin_standins.botchat.methods import ACTIONS, REACTIONS
from tocsin_standins.botchat.server import METHODS, BotChat
from tocsin_standins.guildchat.server import ALICE, APPLICATION_ID, GENERAL, GuildChat

DOCUMENTS = Path(__file__).parents[3] / "shared" / "peers-data"


def document(name):
    path = DOCUMENTS / name
    if not path.exists():
        pytest.skip(f"the interface document {name} is not on this machine")
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def bot_api():
    return document("telegram-bot-api.min.json")


@pytest.fixture(scope="module")
def openapi():
    return document("discord-openapi.json")


def required(fields):
    return {field["name"] for field in fields if field["required"]}


def names(fields):
    return {field["name"] for field in fields}


def test_every_method_of_the_bot_stand_in_is_published(bot_api):
    published = {name.casefold() for name in bot_api["methods"]}
    assert METHODS.keys() <= published


def test_the_parameters_the_bot_stand_in_reads_are_published(bot_api):
    read = {
        "sendMessage": "chat_id text parse_mode entities message_thread_id reply_parameters reply_markup",
        "editMessageText": "chat_id message_id text parse_mode entities reply_markup",
        "editMessageReplyMarkup": "chat_id message_id reply_markup",
        "sendChatAction": "chat_id message_thread_id action",
        "setMessageReaction": "chat_id message_id reaction",
        "answerCallbackQuery": "callback_query_id text",
        "setMyCommands": "commands",
        "getUpdates": "offset limit timeout allowed_updates",
        "setWebhook": "url secret_token allowed_updates max_connections drop_pending_updates",
        "deleteWebhook": "drop_pending_updates",
        "getFile": "file_id",
    }
    for method, parameters in read.items():
        assert set(parameters.split()) <= names(bot_api["methods"][method]["fields"]), method


def test_the_reactions_and_actions_are_the_published_ones(bot_api):
    listed = bot_api["types"]["ReactionTypeEmoji"]["fields"][1]["description"]
    assert listed.count('"') // 2 == len(REACTIONS)
    assert [emoji for emoji in REACTIONS if f'"{emoji}"' not in listed] == []
    described = bot_api["methods"]["sendChatAction"]["fields"][-1]["description"]
    assert [action for action in ACTIONS if action not in described] == []


async def test_what_the_bot_stand_in_answers_has_the_published_fields(bot_api, http):
    types = bot_api["types"]
    async with BotChat() as botchat:
        asked = botchat.say(1001, "/start")["message"]
        url = f"{botchat.api_url}/bot{botchat.token}"
        body = {"chat_id": 1001, "text": "*x*", "parse_mode": "Markdown"}
        body["reply_parameters"] = {"message_id": asked["message_id"]}
        results = {}
        for method, args in {
            "sendMessage": body,
            "getMe": {},
            "getWebhookInfo": {},
            "getUpdates": {},
        }.items():
            async with http.post(f"{url}/{method}", json=args) as answer:
                results[method] = (await answer.json())["result"]
        query = botchat.press(1001, asked["message_id"], "go")["callback_query"]
    message = results["sendMessage"]
    for kind, value in {
        "Message": message,
        "User": results["getMe"],
        "Chat": message["chat"],
        "MessageEntity": message["entities"][0],
        "WebhookInfo": results["getWebhookInfo"],
        "Update": results["getUpdates"][0],
        "CallbackQuery": query,
    }.items():
        assert required(types[kind]["fields"]) <= value.keys() <= names(types[kind]["fields"]), kind


async def test_what_the_guild_stand_in_answers_has_the_published_fields(openapi, http):
    schemas = openapi["components"]["schemas"]
    async with GuildChat() as guildchat:
        headers = {"Authorization": f"Bot {guildchat.token}", "User-Agent": "DiscordBot (x, 1)"}

        async def ask(method, path, body=None):
            async with http.request(method, guildchat.api_url + path, json=body, headers=headers) as answer:
                assert answer.ok
                return await answer.json()

        message = {"content": "x", "nonce": "1", "message_reference": {"message_id": "1"}}
        token = guildchat.open_interaction()
        answers = {
            "MessageResponse": await ask("POST", f"/channels/{GENERAL}/messages", message),
            "UserPIIResponse": await ask("GET", "/users/@me"),
            "PrivateChannelResponse": await ask("POST", "/users/@me/channels", {"recipient_id": ALICE}),
        }
        follow_up = await ask("POST", f"/webhooks/{APPLICATION_ID}/{token}", {"content": "x"})
    answers["UserResponse"] = answers["MessageResponse"]["author"]
    for kind, value in [*answers.items(), ("MessageResponse", follow_up)]:
        schema = schemas[kind]
        assert set(schema["required"]) <= value.keys() <= schema["properties"].keys(), kind


def test_every_path_of_the_guild_stand_in_is_published(openapi):
    published = {
        (method.upper(), path.count("/"), path.split("/")[1])
        for path, operations in openapi["paths"].items()
        for method in operations
        if method != "parameters"
    }
    for route in GuildChat().routes():
        path = route.path.removeprefix("/api/v10")
        assert (route.method, path.count("/"), path.split("/")[1]) in published, path
