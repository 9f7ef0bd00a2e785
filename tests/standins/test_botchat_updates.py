import asyncio
from types import SimpleNamespace

import pytest
from aiohttp import web
from tests.web_server import web_server

from tocsin_standins.botchat.server import BotChat
from tocsin_standins.botchat.world import FORUM_CHAT


@pytest.fixture
async def botchat():
    async with BotChat(webhook_retry_s=0.01) as botchat:
        yield botchat


@pytest.fixture
def call(botchat, http):
    async def call(method="getUpdates", **args):
        async with http.post(f"{botchat.api_url}/bot{botchat.token}/{method}", json=args) as answer:
            return await answer.json()

    return call


@pytest.fixture
def texts(call):
    async def texts(**args):
        return [update["message"]["text"] for update in (await call(**args))["result"]]

    return texts


@pytest.fixture
async def hook():
    """A web server that takes updates; `hook.answers` are the statuses it gives, then 200."""

    hook = SimpleNamespace(url="", answers=[], seen=[])

    async def take(request):
        secret = request.headers.get("X-Telegram-Bot-Api-Secret-Token", "")
        hook.seen.append((await request.json(), secret))
        return web.json_response({}, status=hook.answers.pop(0) if hook.answers else 200)

    async with web_server(web.post("/hook", take)) as url:
        hook.url = f"{url}/hook"
        yield hook


async def test_an_update_stays_until_an_offset_confirms_it(botchat, texts):
    first = botchat.say(1001, "one")["update_id"]
    botchat.say(1001, "two")
    assert await texts() == ["one", "two"]
    assert await texts(limit=1) == ["one"]
    assert await texts(offset=first + 1) == ["two"]
    assert await texts(offset=first) == ["two"]
    assert await texts(offset=first + 2) == []


async def test_a_negative_offset_gives_the_last_and_forgets_the_rest(botchat, texts):
    for text in ("one", "two", "three"):
        botchat.say(1001, text)
    assert await texts(offset=-1) == ["three"]
    assert await texts() == ["three"]


async def test_update_ids_may_jump(botchat, call):
    first = botchat.say(1001, "one")["update_id"]
    botchat.updates.skip_ids(100)
    assert botchat.say(1001, "two")["update_id"] == first + 101


async def test_an_offset_far_ahead_counts_as_none(botchat, texts):
    botchat.say(1001, "one")
    assert await texts(offset=1_000) == ["one"]
    assert await texts(offset=12) == []


async def test_a_long_poll_ends_with_the_first_update(botchat, texts, until):
    waiting = asyncio.ensure_future(texts(timeout=30))
    await until(lambda: botchat.updates.polls)
    botchat.say(1001, "hello")
    assert await waiting == ["hello"]


async def test_only_allowed_updates_come_and_the_choice_lasts(botchat, call):
    await call(allowed_updates=["message"])
    botchat.press(1001, 1, "go")
    botchat.say(1001, "one")
    assert [set(update) - {"update_id"} for update in (await call())["result"]] == [{"message"}]


async def test_a_second_poller_ends_the_first_with_a_conflict(botchat, call, until):
    first = asyncio.ensure_future(call(timeout=30))
    await until(lambda: botchat.updates.polls == 1)
    second = asyncio.ensure_future(call(timeout=30))
    body = await first
    assert body["error_code"] == 409
    assert body["description"].startswith("Conflict: terminated by other getUpdates request")
    botchat.say(1001, "hello")
    assert len((await second)["result"]) == 1


async def test_polling_conflicts_with_a_webhook_until_it_is_deleted(botchat, call, hook):
    await call("setWebhook", url=hook.url)
    body = await call()
    assert body["error_code"] == 409
    assert "while webhook is active" in body["description"]
    await call("deleteWebhook")
    assert (await call())["ok"] is True


async def test_setting_a_webhook_ends_a_waiting_poll(botchat, call, hook, until):
    waiting = asyncio.ensure_future(call(timeout=30))
    await until(lambda: botchat.updates.polls)
    await call("setWebhook", url=hook.url)
    assert (await waiting)["description"] == "Conflict: terminated by setWebhook request"


async def test_a_webhook_gets_updates_in_order_with_its_secret(botchat, call, hook, until):
    botchat.say(1001, "before")
    await call("setWebhook", url=hook.url, secret_token="s3cret")
    botchat.say(1001, "after")
    await until(lambda: len(hook.seen) == 2)
    assert [(u["message"]["text"], secret) for u, secret in hook.seen] == [
        ("before", "s3cret"),
        ("after", "s3cret"),
    ]


async def test_an_update_the_webhook_does_not_take_comes_again_and_blocks_the_next(botchat, call, hook, until):
    hook.answers = [500, 503]
    await call("setWebhook", url=hook.url)
    botchat.say(1001, "one")
    botchat.say(1001, "two")
    await until(lambda: len(hook.seen) == 4)
    await until(lambda: not botchat.updates.queue)  # the last answer has arrived, too
    assert [u["message"]["text"] for u, _ in hook.seen] == ["one", "one", "one", "two"]
    info = (await call("getWebhookInfo"))["result"]
    assert (info["url"], info["pending_update_count"]) == (hook.url, 0)
    assert info["last_error_message"].startswith("Wrong response from the webhook: 503")
    assert "secret" not in info


async def test_a_webhook_is_checked_when_it_is_set(botchat, call):
    assert (await call("setWebhook", url="ftp://x.example"))["error_code"] == 400
    refused = await call("setWebhook", url="https://x.example", secret_token="no spaces")
    assert "secret token contains unallowed characters" in refused["description"]
    botchat.insecure_webhooks = False
    refused = await call("setWebhook", url="http://x.example")
    assert "An HTTPS URL must be provided" in refused["description"]


async def test_pending_updates_can_be_dropped(botchat, call, texts):
    botchat.say(1001, "old")
    await call("deleteWebhook", drop_pending_updates=True)
    assert await texts() == []


async def test_what_somebody_writes_arrives_as_the_product_shows_it(botchat, call):
    botchat.say(FORUM_CHAT, "/status@tocsin_standin_bot now", sender_id=1002, sender_name="Bob", thread_id=5)
    [update] = (await call())["result"]
    message = update["message"]
    assert message["chat"]["type"] == "supergroup"
    assert (message["from"]["id"], message["from"]["is_bot"]) == (1002, False)
    assert (message["message_thread_id"], message["is_topic_message"]) == (5, True)
    assert {"type": "bot_command", "offset": 0, "length": 26} in message["entities"]


async def test_attachments_edits_and_replies_can_be_said(botchat):
    sent = botchat.say(1001, "", voice={"file_id": "f", "duration": 2}, caption="hear")["message"]
    assert (sent["voice"]["file_id"], "text" in sent) == ("f", False)
    edited = botchat.say(1001, "new", edit_of=sent["message_id"])["edited_message"]
    assert (edited["message_id"], edited["text"]) == (sent["message_id"], "new")
    assert "edit_date" in edited
    reply = botchat.say(1001, "re", reply_to=sent["message_id"])["message"]
    assert reply["reply_to_message"]["message_id"] == sent["message_id"]


async def test_another_process_can_write_and_press(botchat, http, call):
    async with http.post(f"{botchat.url}/_standin/say", json={"chat_id": 1001, "text": "hi"}) as answer:
        assert answer.status == 201
        message = (await answer.json())["message"]
    press = {"chat_id": 1001, "message_id": message["message_id"], "data": "go"}
    async with http.post(f"{botchat.url}/_standin/press", json=press) as answer:
        assert answer.status == 201
    updates = (await call())["result"]
    assert [update.get("callback_query", {}).get("data") for update in updates] == [None, "go"]
    async with http.post(f"{botchat.url}/_standin/say", json={"text": "nowhere"}) as answer:
        assert answer.status == 400


async def test_stopping_ends_a_long_poll(http, until):
    async with BotChat() as botchat:
        url = f"{botchat.api_url}/bot{botchat.token}/getUpdates"
        waiting = asyncio.ensure_future(http.post(url, json={"timeout": 50}))
        await until(lambda: botchat.updates.polls)
    async with await waiting as answer:
        assert (await answer.json())["result"] == []
