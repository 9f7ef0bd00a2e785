"""Memory in conversations: the bot's commands, what is recalled, and that no chat sees another's."""

from typing import Any

import pytest
from tests.features.memory.conftest import CLI, MemoryBench

from tocsin.channels.inbound import InboundMessage, MessageKind, Quote
from tocsin.core.errors import TocsinError
from tocsin.features.memory.chats import ChatEntries, may_be_secret


async def say(kept: MemoryBench, text: str, chat: str = "7", **fields: Any) -> str:
    """Return the answer to a command."""
    command, _, args = text.removeprefix("/").partition(" ")
    message = InboundMessage(
        "town", MessageKind.COMMAND, "1", ("1",), chat, text, sender_id=chat, command=command, args=args, **fields
    )
    _, answer = kept.bench.features.bot_commands()[command]
    return await answer(message)


async def recalled(kept: MemoryBench, question: str, chat: str = "7") -> list[str]:
    return [entry.key for entry in await kept.bench.features.abilities.chat_notes.recall(chat, question)]


async def test_remember_answers_with_the_key_and_counts_for_each_chat(kept: MemoryBench):
    assert "chat:7:1." in await say(kept, "/remember My dog is called Rex")
    assert "chat:7:2." in await say(kept, "/remember I like tea")
    assert "chat:-100:1." in await say(kept, "/remember ours", chat="-100")
    entry = await kept.memory.get("chat:7:1")
    assert (entry.value, entry.scope, entry.source) == ("My dog is called Rex", "chat:7", "bot")
    first = kept.audited()[0]
    assert first == ("memory.set", "bot", {"key": "chat:7:1", "scope": "chat:7", "created": True, "actor": "chat:7"})


async def test_a_number_is_not_given_twice_even_after_forgetting(kept: MemoryBench):
    await say(kept, "/remember one")
    await say(kept, "/forget chat:7:1")
    assert "chat:7:2." in await say(kept, "/remember two")


async def test_remember_as_a_reply_stores_the_message_that_is_answered(kept: MemoryBench):
    await say(kept, "/remember", quote=Quote(text="the code of the gate is on the board"))
    assert (await kept.memory.get("chat:7:1")).value == "the code of the gate is on the board"
    assert "remember" in await say(kept, "/remember")


async def test_forget_takes_the_key_or_the_number_and_can_be_undone(kept: MemoryBench):
    await say(kept, "/remember one")
    await say(kept, "/remember two")
    assert await say(kept, "/forget 1") == "Forgotten: chat:7:1."
    assert await say(kept, "/forget chat:7:2") == "Forgotten: chat:7:2."
    assert "no note chat:7:2" in await say(kept, "/forget 2")
    assert "Which note?" in await say(kept, "/forget")
    await kept.memory.restore("chat:7:1", CLI)
    assert "chat:7:1: one" in await say(kept, "/memory")


async def test_memory_shows_what_the_chat_and_all_chats_have(kept: MemoryBench):
    assert "no notes" in await say(kept, "/memory")
    await kept.store("office", "Main street 1")
    await say(kept, "/remember mine")
    await say(kept, "/remember theirs", chat="8")
    assert await say(kept, "/memory") == "chat:7:1: mine\noffice (for all chats): Main street 1"


async def test_one_chat_never_sees_another_ones_entries(kept: MemoryBench):
    await say(kept, "/remember The treasure 宝物 is under the oak", chat="8")
    await kept.store("hint", "treasure hunters wear boots")
    for question in ("where is the treasure", "宝物はどこ", "chat:8:1", "8", "oak"):
        assert "chat:8:1" not in await recalled(kept, question), question
    assert "chat:8:1" not in await say(kept, "/memory")
    for key in ("chat:8:1", "1", "hint"):
        assert "no note" in await say(kept, f"/forget {key}")
    assert {"chat:8:1", "hint"} <= set(await kept.keys())
    assert await recalled(kept, "where is the treasure", chat="8") == ["chat:8:1", "hint"]


async def test_up_to_five_entries_that_fit_are_recalled_and_count_as_used(kept: MemoryBench):
    for number in range(9):
        await say(kept, f"/remember fact {number} about the garden")
    await say(kept, "/remember something else")
    found = await recalled(kept, "What about the garden?")
    assert len(found) == 5
    assert "chat:7:10" not in found
    assert (await kept.memory.get(found[0])).access_count == 1
    assert await recalled(kept, "unrelated question") == []


@pytest.mark.parametrize(
    ("stored", "question"),
    [
        ("My dog is called Rex", "What's my dog's name?"),
        ("我的狗叫小白", "你知道我的狗叫什么名字吗"),
        ("私は東京に住んでいます", "東京の天気は?"),
        ("회의는 금요일입니다", "다음 회의 언제야?"),
        ("Ich mag Käse", "was für käse magst du"),
    ],
)
async def test_a_question_recalls_what_has_words_in_common_with_it(kept: MemoryBench, stored: str, question: str):
    await say(kept, f"/remember {stored}")
    await say(kept, "/remember xyz")
    assert await recalled(kept, question) == ["chat:7:1"]


@pytest.mark.parametrize("question", ['"', "NEAR(", "*", "", "a" * 50_000, "😀 OR", '"" AND ""', "東" * 5000])
async def test_no_question_breaks_recalling(kept: MemoryBench, question: str):
    await say(kept, "/remember something")
    await recalled(kept, question)


async def test_a_model_stores_for_its_chat_alone_and_the_entry_says_so(kept: MemoryBench):
    key = await kept.bench.features.abilities.chat_notes.remember("7", "likes tea")
    entry = await kept.memory.get(key)
    assert (key, entry.source, entry.scope) == ("chat:7:1", "chat", "chat:7")
    assert kept.audited()[-1][:2] == ("memory.set", "chat")


SECRETS = [
    "my password is hunter2", "The PIN: 1234", "token = abc", "das Kennwort ist geheim", "API key is 12",
    "sk-abcdefghijklmnop1234", "ghp_0123456789abcdefABCDEF", "-----BEGIN OPENSSH PRIVATE KEY-----",
    "eyJhbGciOiJI.eyJzdWIiOiIx.abc", "4111 1111 1111 1111", "d41d8cd98f00b204e9800998ecf8427e",
    "correct-horse-battery-staple", "AKIAIOSFODNN7EXAMPLE", "AGE-SECRET-KEY-1QQQ", "Zx9kLm2Pq8Rt5Vw1Yb7Nc3Df",
]  # fmt: skip


@pytest.mark.parametrize("text", SECRETS)
async def test_a_model_never_stores_what_looks_like_a_secret(kept: MemoryBench, text: str):
    with pytest.raises(TocsinError):
        await kept.bench.features.abilities.chat_notes.remember("7", text)
    assert await kept.keys() == []


@pytest.mark.parametrize(
    "text", ["likes tea", "the office is in Main street 12", "born on 1984-05-17", "Flight LH 454"]
)
def test_ordinary_facts_are_no_secrets(text: str):
    assert not may_be_secret(text)


async def test_a_chat_has_a_limited_number_of_entries(kept: MemoryBench):
    remember = ChatEntries(kept.limited(max_per_chat=2)).remember
    await remember("7", "one")
    await remember("7", "two")
    with pytest.raises(TocsinError, match="2 entries"):
        await remember("7", "three")
    await say(kept, "/forget 1")
    assert await remember("7", "three") == "chat:7:3"


async def test_the_entries_of_a_group_follow_it_to_its_new_id_and_are_found_there(kept: MemoryBench):
    for text in ("/remember The dog is called Rex", "/remember Tea is at five", "/remember gone"):
        await say(kept, text, chat="-5")
    await say(kept, "/forget 3", chat="-5")
    await say(kept, "/remember The cat is called Mia", chat="-1005")
    for _ in range(2):  # both the old and the new chat tell of it
        await kept.bench.features.abilities.chat_notes.follow("-5", "-1005")
    assert await recalled(kept, "dog", chat="-5") == []
    assert await recalled(kept, "tea", chat="-1005") == ["chat:-1005:3"]
    assert await recalled(kept, "dog", chat="-1005") == ["chat:-1005:2"]
    assert await say(kept, "/forget 2", chat="-1005") == "Forgotten: chat:-1005:2."
    assert await recalled(kept, "dog", chat="-1005") == []
    moved = [facts for action, _, facts in kept.audited() if action == "memory.move"]
    assert moved == [{"scope": "chat:-1005", "previous_scope": "chat:-5", "entries": 3}]
