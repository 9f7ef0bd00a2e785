"""The operations on conversations, and streams of answers that are cut at any time."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.features.chat.conftest import Talk, open_talk
from tests.rest.streams import StreamClient, connected
from tests.waiting import eventually

from tocsin.assembly.full.live import event_hub
from tocsin.features.chat.feed import ConversationFeed
from tocsin.testing.dashboard import DashboardClient, open_dashboard
from tocsin.web.dashboard.live.hub import EventHub

ANSWER = "".join(chr(33 + number * 7 % 90) for number in range(3_000))


@dataclass
class OpenChat:
    """Conversations, their model, a hub that runs, and the interface."""

    talk: Talk
    hub: EventHub
    client: DashboardClient

    @asynccontextmanager
    async def tab(self, conversation: str, after: str = "") -> AsyncIterator[StreamClient]:
        self.talk.chats.on_events(self.hub.wake)
        async with connected(await self.hub.follow(ConversationFeed(self.talk.chats, conversation), after)) as client:
            yield client


@asynccontextmanager
async def open_chat(folder: Path, **abilities: Any) -> AsyncIterator[OpenChat]:
    async with open_talk(folder, **abilities) as talk:
        app = talk.bench.app
        hub = event_hub(app)
        serving = asyncio.create_task(hub.run())
        async with open_dashboard(app, hub) as client:
            yield OpenChat(talk, hub, client)
        hub.stop()
        await serving


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[OpenChat]:
    async with open_chat(tmp_path) as chat:
        yield chat


class Page:
    """What a page of the conversation shows: it reads it once, and then goes by the events."""

    def __init__(self) -> None:
        self.messages: dict[str, str] = {}
        self.seen = 0
        self.fetches = 0

    def read(self, transcript: Any) -> None:
        self.messages = {message["id"]: message["content"] for message in transcript["messages"]}
        self.seen = int(transcript["last_event_id"].rpartition(":")[2])
        self.fetches += 1

    def take(self, client: StreamClient, name: str, data: Any) -> None:
        if name == "message.delta":
            if data["seq"] > self.seen:
                self.messages[data["message_id"]] += data["text"]
                self.seen = data["seq"]
        elif name == "message.created":
            message = data["message"]
            if message["seq"] > self.seen:
                self.messages[message["id"]] = message["content"]


async def test_200_cuts_while_an_answer_is_written_neither_lose_nor_double_a_character(
    chat: OpenChat, chance: random.Random
):
    begun = await chat.talk.send()
    conversation, answer = begun.question.conversation_id, begun.answer.id
    page, last, rest = Page(), "", ANSWER
    page.read((await chat.client.get(f"/api/chat/conversations/{conversation}")).json())
    last = f"{conversation}:{page.seen}"
    for _ in range(200):
        async with chat.tab(conversation, last) as tab:
            size = chance.randrange(1, 30)
            chat.talk.model.say(rest[:size])
            rest = rest[size:]
            for _ in range(chance.randrange(6)):
                await asyncio.sleep(chance.choice((0, 0.001, 0.02)))
        for name, data in tab.events:
            page.take(tab, name, data)
        assert "resync" not in [name for name, _ in tab.events]
        last = tab.id or last
    chat.talk.model.say(rest)
    chat.talk.model.end()
    async with chat.tab(conversation, last) as tab:
        await eventually(lambda: [data for name, data in tab.events if name == "message.completed"])
    for name, data in tab.events:
        page.take(tab, name, data)
    completed = next(data for name, data in tab.events if name == "message.completed")
    assert page.messages[answer] == ANSWER == completed["message"]["content"]
    assert page.fetches == 1


async def test_a_second_tab_that_comes_in_the_middle_shows_the_same(chat: OpenChat):
    begun = await chat.talk.send()
    conversation, answer = begun.question.conversation_id, begun.answer.id
    async with chat.tab(conversation) as first:
        chat.talk.model.say("one ")
        await eventually(lambda: first.events)
        async with chat.tab(conversation) as second:
            page = Page()
            page.read((await chat.client.get(f"/api/chat/conversations/{conversation}")).json())
            chat.talk.model.say("two")
            chat.talk.model.end()
            for tab in (first, second):
                await eventually(lambda tab=tab: [1 for name, _ in tab.events if name == "conversation.updated"])
        for name, data in second.events:
            page.take(second, name, data)
    assert page.messages[answer] == "one two"
    names = [name for name, _ in first.events]
    assert names[-2:] == ["message.completed", "conversation.updated"]
    assert "".join(data["text"] for name, data in first.events if name == "message.delta") == "one two"


async def test_another_process_shows_an_answer_while_it_is_written_and_stops_it(tmp_path: Path):
    async with open_chat(tmp_path) as writing, open_chat(tmp_path, owner="elsewhere") as other:
        begun = await writing.talk.send()
        conversation = begun.question.conversation_id
        async with other.tab(conversation) as tab:
            writing.talk.model.say("over there")
            await eventually(lambda: [1 for name, data in tab.events if data.get("text") == "over there"])
            answer = await other.client.post("/api/chat/send", {"conversation_id": conversation, "stop": True})
            assert (answer.status, answer.json()["assistant_message"]["id"]) == (200, begun.answer.id)
            await eventually(lambda: [1 for name, _ in tab.events if name == "message.completed"])
        stopped = next(data["message"] for name, data in tab.events if name == "message.completed")
        assert (stopped["status"], stopped["content"]) == ("stopped", "over there")


async def test_a_stream_tells_what_is_missing_and_ends_with_its_conversation(chat: OpenChat):
    begun = await chat.talk.finished()
    conversation = begun.question.conversation_id
    for last in (f"{conversation}:999", "other:1", "nonsense"):
        async with chat.tab(conversation, last) as tab:
            assert (await tab.got(1))[0] == ("resync", {})
            assert tab.id == f"{conversation}:{(await chat.talk.chats.transcript(conversation)).conversation.seq}"
    async with chat.tab(conversation) as tab:
        replaced = await chat.talk.send("anew", conversation_id=conversation, replaces=begun.question.id)
        assert (await tab.got(1))[0] == ("resync", {})
        await chat.client.call("DELETE", f"/api/chat/conversations/{conversation}")
        await eventually(lambda: tab.has_ended)
    assert replaced.replaced == 2
    gone = await chat.client.get(f"/api/chat/stream?conversation_id={conversation}")
    assert (gone.status, gone.json()["code"]) == (404, "not-found")


async def test_a_conversation_is_held_over_the_interface(chat: OpenChat):
    client, model = chat.client, chat.talk.model
    made = await client.post("/api/chat/conversations", {"title": "Disks", "system_prompt": "Be brief."})
    assert made.status == 201
    conversation = made.json()["id"]
    assert made.headers["location"] == f"/api/chat/conversations/{conversation}"
    body = {"conversation_id": conversation, "content": "hello", "client_message_id": "c1", "model": "large-1"}
    sent = await client.post("/api/chat/send", body)
    assert sent.status == 202
    assert sent.json()["stream"] == f"/api/chat/stream?conversation_id={conversation}"
    await eventually(lambda: model.questions)
    assert (model.questions[0].instructions, model.asked_of[-1]) == ("Be brief.", "large-1")
    busy = await client.post("/api/chat/send", {**body, "client_message_id": "c2"})
    assert (busy.status, busy.json()["code"]) == (409, "conflict")
    again = await client.post("/api/chat/send", body)
    assert (again.status, again.json()["assistant_message"]["id"]) == (202, sent.json()["assistant_message"]["id"])
    reused = await client.post("/api/chat/send", {**body, "content": "other"})
    assert (reused.status, reused.json()["code"]) == (422, "idempotency-key-reused")
    model.say("hi")
    model.end()
    await chat.talk.until(sent.json()["assistant_message"]["id"], "complete")
    read = (await client.get(f"/api/chat/conversations/{conversation}?limit=1")).json()
    assert ([message["content"] for message in read["messages"]], read["has_earlier"]) == (["hi"], True)
    before = read["messages"][0]["id"]
    earlier = (await client.get(f"/api/chat/conversations/{conversation}?before={before}")).json()
    assert [message["content"] for message in earlier["messages"]] == ["hello"]
    listed = (await client.get("/api/chat/conversations?q=disks")).json()
    assert ([item["status"] for item in listed["items"]], listed["notice"]) == (["idle"], None)
    stopped = await client.post("/api/chat/send", {"conversation_id": conversation, "stop": True})
    assert (stopped.status, stopped.json()["assistant_message"]) == (200, None)
    wrong = await client.post("/api/chat/send", {"stop": True})
    assert (wrong.status, wrong.json()["code"]) == (422, "validation-failed")
    empty = await client.post("/api/chat/send", {"content": " "})
    assert (empty.status, empty.json()["errors"][0]["pointer"]) == (422, "#/content")
    actions = [entry.action for entry in chat.talk.bench.audit()]
    assert actions == ["chat.create", "chat.send"]


async def test_models_files_and_what_is_missing_over_the_interface(chat: OpenChat, tmp_path: Path, picture: bytes):
    models = (await chat.client.get("/api/chat/models")).json()["items"]
    assert models == [{"model": "small-1", "provider": "openai", "setting": "CHAT_MODEL", "default": True}]
    given = await chat.client.call(
        "POST", "/api/chat/attachments?name=a.png", picture, headers={"content-type": "image/png"}
    )
    assert (given.status, given.json()["kind"]) == (201, "picture")
    refused = await chat.client.call(
        "POST", "/api/chat/attachments?name=a.pdf", b"no", headers={"content-type": "application/pdf"}
    )
    assert (refused.status, refused.json()["code"]) == (422, "validation-failed")
    unknown = await chat.client.call(
        "POST", "/api/chat/attachments", b"x", headers={"content-type": "application/x-thing"}
    )
    assert unknown.status == 415
    (tmp_path / "bare").mkdir()
    async with open_talk(tmp_path / "bare", {}) as bare, open_dashboard(bare.bench.app) as client:
        answer = await client.post("/api/chat/send", {"content": "hello"})
        assert (answer.status, answer.json()["code"]) == (503, "not-ready")
        assert "CHAT_PROVIDER" in answer.json()["detail"]


async def test_events_carry_their_numbers_as_the_page_of_chat_says(chat: OpenChat):
    begun = await chat.talk.finished("hello", "hi")
    conversation = begun.question.conversation_id
    chat.client.leaves = True
    answer = await chat.client.get(f"/api/chat/stream?conversation_id={conversation}&after={conversation}:0")
    blocks = answer.body.decode().split("\n\n")
    assert blocks[0] == "retry: 2000"
    heads = [tuple(line.partition(": ")[2] for line in block.split("\n")[:2]) for block in blocks[1:-1]]
    assert heads[0] == (f"{conversation}:1", "message.created")
    assert [int(id_.rpartition(":")[2]) for id_, _ in heads] == list(range(1, len(heads) + 1))
    delta = next(block for block in blocks if "message.delta" in block)
    data = json.loads(delta.partition("data: ")[2])
    assert data == {"message_id": begun.answer.id, "seq": data["seq"], "text": "hi"}


async def test_who_opens_the_stream_after_sending_misses_nothing_of_the_answer(chat: OpenChat):
    await chat.talk.finished("first", "one")
    begun = await chat.talk.send("second", conversation_id=(await _newest(chat)))
    chat.talk.model.say("two")
    chat.talk.model.end()
    await chat.talk.until(begun.answer.id, "complete")
    conversation = begun.question.conversation_id
    chat.client.leaves = True
    answer = await chat.client.get(f"/api/chat/stream?conversation_id={conversation}")
    reader = StreamClient()
    reader.feed(answer.body)
    assert [name for name, _ in reader.events] == [
        *("message.created", "message.created", "conversation.updated"),
        *("message.delta", "message.completed", "conversation.updated"),
    ]
    assert [data["text"] for name, data in reader.events if name == "message.delta"] == ["two"]
    assert reader.events[0][1]["message"]["content"] == "second"


async def test_a_stream_begins_with_what_is_to_come_where_the_last_events_are_gone(chat: OpenChat):
    begun = await chat.talk.finished()
    conversation = begun.question.conversation_id
    await chat.talk.chats.store.prune(begun.question.created_at + 3600)
    chat.client.leaves = True
    answer = await chat.client.get(f"/api/chat/stream?conversation_id={conversation}")
    end = (await chat.client.get(f"/api/chat/conversations/{conversation}")).json()["last_event_id"]
    assert answer.body.decode() == f"retry: 2000\nid: {end}\n\n"


async def _newest(chat: OpenChat) -> str:
    return str((await chat.client.get("/api/chat/conversations")).json()["items"][0]["id"])
