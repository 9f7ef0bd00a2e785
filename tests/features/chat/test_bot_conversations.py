"""Conversations of the bot, followed live."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.features.chat.test_streams import open_chat
from tests.rest.streams import StreamClient, connected
from tests.waiting import eventually

from tocsin.features.ability_records import BotWindow, BotWindowList
from tocsin.features.chat.bot_conversations import LOOK_EVERY_S, BotConversationEvents
from tocsin.features.chat.feed import BotConversationFeed, feed_for
from tocsin.features.chat.model import UnknownConversationError
from tocsin.rest.event_stream import OpenStream
from tocsin.testing.fakes import FakeClock
from tocsin.web.dashboard.live.feeds import FeedStreams

HELLO = [("user", "hello"), ("assistant", "hi")]
WEATHER = [("user", "and the weather?"), ("assistant", "rain")]


class Bot:
    """The windows of a bot, which may be out of sight, and who follows one of them."""

    def __init__(self, *turns: tuple[str, str]) -> None:
        self.windows = {"7": list(turns)}
        self.notice = ""
        self.asked: list[str] = []
        self.clock = FakeClock()
        self.events = BotConversationEvents(cast("Any", SimpleNamespace(windows=self.list_windows)), self.clock)
        self.streams = FeedStreams()
        self.client = StreamClient()

    async def list_windows(self, chat_id: str = "", /) -> BotWindowList:
        self.asked.append(chat_id)
        if self.notice:
            return BotWindowList(notice=self.notice)
        return BotWindowList(
            [BotWindow(id_, "chatter", turns) for id_, turns in self.windows.items() if chat_id in {"", id_} and turns]
        )

    async def open(self, after: str = "") -> OpenStream:
        feed = BotConversationFeed(self.events, "bot:7")
        return await self.streams.open(feed, after or await feed.beginning())

    async def look(self) -> None:
        self.clock.advance(LOOK_EVERY_S)
        await self.streams.look()

    async def heard(self, stream: OpenStream) -> list[str]:
        stream.end()
        self.client.feed(await stream.next())
        return [name for name, _ in self.client.events]

    async def last_event_id(self) -> str:
        return f"bot:7:{(await self.events.transcript('bot:7', 100, '')).conversation.seq}"


async def test_a_question_and_its_answer_are_told_and_the_stream_stays_open():
    bot = Bot(*HELLO)
    stream = await bot.open()
    bot.windows["7"] += WEATHER
    await bot.look()
    assert not stream.is_over
    assert await bot.heard(stream) == [
        "message.created",
        "message.created",
        "message.completed",
        "conversation.updated",
    ]
    (_, question), _, (_, answer), (_, conversation) = bot.client.events
    assert (question["message"]["role"], question["message"]["content"]) == WEATHER[0]
    assert (answer["message"]["content"], answer["message"]["status"]) == ("rain", "complete")
    assert conversation["conversation"]["message_count"] == 4
    assert set(bot.asked) == {"7"}  # no other window is read for it


async def test_the_window_that_moves_on_keeps_the_ids_of_its_messages():
    bot = Bot(*HELLO)
    stream = await bot.open()
    before = (await bot.events.transcript("bot:7", 100, "")).messages
    bot.windows["7"] = [HELLO[1], *WEATHER]
    await bot.look()
    after = (await bot.events.transcript("bot:7", 100, "")).messages
    assert [message.id for message in after][:1] == [before[1].id]
    assert "resync" not in await bot.heard(stream)


@pytest.mark.parametrize(
    "turns", [WEATHER, [("user", "hello!"), ("assistant", "hi")], [HELLO[0]]], ids=["begun anew", "edited", "cut"]
)
async def test_a_window_that_is_another_one_is_to_be_read_again(turns: list[tuple[str, str]]):
    bot = Bot(*HELLO)
    stream = await bot.open()
    bot.windows["7"] = list(turns)
    await bot.look()
    assert await bot.heard(stream) == ["resync"]


async def test_who_comes_back_gets_what_was_missed_and_who_comes_from_another_process_reads_again():
    bot = Bot(*HELLO)
    seen = await bot.last_event_id()
    bot.windows["7"] += WEATHER
    bot.clock.advance(LOOK_EVERY_S)
    assert "message.completed" in await bot.heard(await bot.open(seen))
    bot.client = StreamClient()
    assert await bot.heard(await bot.open("bot:7:41")) == ["resync"]


async def test_who_names_no_event_gets_the_last_question_that_was_seen_to_come():
    bot = Bot(*HELLO)
    first = await bot.open()
    bot.windows["7"] += WEATHER
    await bot.look()
    await bot.heard(first)
    bot.client = StreamClient()
    assert (await bot.heard(await bot.open()))[0] == "message.created"
    assert bot.client.events[0][1]["message"]["content"] == "and the weather?"


async def test_a_stream_ends_with_its_conversation_and_not_because_nobody_can_see_it_for_a_while():
    bot = Bot(*HELLO)
    stream = await bot.open()
    bot.notice = "Redis is away"
    await bot.look()
    assert not stream.is_over
    bot.notice = ""
    bot.windows["7"] = []
    await bot.look()
    assert stream.is_over
    with pytest.raises(UnknownConversationError):
        await bot.open()


async def test_a_page_of_messages_ends_before_the_one_that_is_named():
    bot = Bot(*HELLO, *WEATHER)
    page = await bot.events.transcript("bot:7", 2, "")
    assert ([message.content for message in page.messages], page.has_earlier) == (["and the weather?", "rain"], True)
    earlier = await bot.events.transcript("bot:7", 2, page.messages[0].id)
    assert ([message.content for message in earlier.messages], earlier.has_earlier) == (["hello", "hi"], False)
    with pytest.raises(UnknownConversationError):
        await bot.events.transcript("bot:7", 2, "bot:7:nothing")


async def test_the_interface_reads_and_follows_a_conversation_of_the_bot(tmp_path: Path):
    bot = Bot(*HELLO)
    async with open_chat(tmp_path, bot=SimpleNamespace(windows=bot.list_windows)) as chat:
        transcript = (await chat.client.get("/api/chat/conversations/bot:7")).json()
        assert [message["content"] for message in transcript["messages"]] == ["hello", "hi"]
        feed = feed_for(chat.talk.chats, "bot:7")
        async with connected(await chat.hub.follow(feed, transcript["last_event_id"])) as tab:
            bot.windows["7"] += WEATHER
            await eventually(lambda: [name for name, _ in tab.events if name == "message.completed"])
            assert not tab.has_ended
        unknown = await chat.client.get("/api/chat/stream?conversation_id=bot:8")
        assert (unknown.status, unknown.json()["code"]) == (404, "not-found")
