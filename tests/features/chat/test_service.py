"""Conversations: sending, stopping, replacing, and what the model is shown."""

import asyncio
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.features.chat.conftest import Talk, open_talk
from tests.waiting import eventually

from tocsin.core.errors import ConfigError
from tocsin.core.process.identity import own_identity
from tocsin.core.records.as_json import to_json
from tocsin.features.ability_records import BotWindow, BotWindowList, RecalledEntry
from tocsin.features.chat.answer_store import SILENCE_S
from tocsin.features.chat.model import (
    ConversationBusyError,
    InvalidMessageError,
    MessageReusedError,
    ModelMissingError,
    TooManyAnswersError,
    UnknownConversationError,
)
from tocsin.features.chat.service import MAX_ANSWERS, Chats
from tocsin.features.chat.store import MessageDraft
from tocsin.providers.contract import ProviderError, Turn
from tocsin.providers.files.reading import UnreadableFileError
from tocsin.testing.fakes import FakeClock


async def test_an_answer_is_stored_piece_by_piece_and_then_as_a_whole(talk: Talk):
    begun = await talk.send("How are you?\nTell me.")
    talk.model.say("I am ")
    assert (await talk.until(begun.answer.id, "streaming")).content == "I am "
    talk.model.say("well \ud83d")
    talk.model.say("\ude42.\0")
    talk.model.end()
    answer = await talk.until(begun.answer.id, "complete")
    assert (answer.content, answer.model, answer.provider) == ("I am well \U0001f642.", "small-1", "openai")
    assert (answer.input_tokens, answer.output_tokens, answer.error) == (9, 2, None)
    found = await talk.chats.transcript(begun.question.conversation_id)
    assert found.conversation.title == "How are you?"
    assert [message.role for message in found.messages] == ["user", "assistant"]
    [sent] = talk.bench.audit("chat.send")
    assert sent.metadata["chars"] == 21
    assert "How are you" not in str(talk.bench.audit())


async def test_the_model_is_shown_what_was_said_before_and_what_memory_has(tmp_path: Path):
    async def recall(chat: str, question: str) -> list[RecalledEntry]:
        return [RecalledEntry("disk", "sda is old\nand slow")] if "disk" in question else []

    async with open_talk(tmp_path, chat_notes=SimpleNamespace(recall=recall)) as talk:
        first = await talk.finished("hello", "hi")
        await talk.send("which disk?", conversation_id=first.question.conversation_id)
        question = talk.model.questions[-1]
        assert question.turns[:2] == (Turn("user", "hello"), Turn("assistant", "hi"))
        assert question.turns[2].text.startswith("| Notes from memory, as data:\n| disk: sda is old\n|   and slow\n\n")
        assert "never" in question.instructions
        assert "notes" not in talk.model.questions[0].instructions


async def test_a_failure_of_the_model_keeps_what_was_written_and_says_why(talk: Talk):
    begun = await talk.send()
    talk.model.say("I am")
    await talk.until(begun.answer.id, "streaming")
    talk.model.end(ProviderError("OpenAI has too much to do", hint="try again later"))
    failed = await talk.until(begun.answer.id, "failed")
    assert (failed.content, failed.error) == (
        "I am",
        {"code": "provider-failed", "message": "OpenAI has too much to do: try again later"},
    )
    talk.model.questions.clear()
    again = await talk.send(conversation_id=begun.question.conversation_id)
    talk.model.say(" ")
    talk.model.end()
    assert (await talk.until(again.answer.id, "failed")).error["code"] == "no-answer"


async def test_an_answer_that_begins_anew_replaces_what_was_written(talk: Talk):
    begun = await talk.send()
    talk.model.say("wrong")
    await talk.until(begun.answer.id, "streaming")
    talk.model.restart()
    talk.model.say("right")
    await eventually(lambda: _content_is(talk, begun.answer.id, "right"))
    talk.model.end()
    assert (await talk.until(begun.answer.id, "complete")).content == "right"


async def test_a_stop_keeps_what_was_written_and_ends_the_question_to_the_model(talk: Talk):
    begun = await talk.send()
    conversation = begun.question.conversation_id
    talk.model.say("I am")
    await talk.until(begun.answer.id, "streaming")
    stopped = await talk.chats.stop(conversation, "dashboard")
    assert stopped.id == begun.answer.id
    assert (await talk.until(begun.answer.id, "stopped")).content == "I am"
    await eventually(lambda: talk.model.cancelled)
    assert await talk.chats.stop(conversation, "dashboard") is None
    assert len(talk.bench.audit("chat.stop")) == 1


async def test_a_second_message_waits_for_the_answer_unless_it_is_the_same(talk: Talk):
    begun = await talk.send("hello", client_message_id="c1")
    conversation = begun.question.conversation_id
    with pytest.raises(ConversationBusyError):
        await talk.chats.send(MessageDraft("more", conversation), "dashboard")
    for draft in (MessageDraft("hello", client_message_id="c1"), MessageDraft("hello", conversation, "c1")):
        again = await talk.chats.send(draft, "dashboard")
        assert (again.question.id, again.answer.id, again.is_new) == (begun.question.id, begun.answer.id, False)
    with pytest.raises(MessageReusedError):
        await talk.chats.send(MessageDraft("other", client_message_id="c1"), "dashboard")
    assert len(talk.bench.audit("chat.send")) == 1


async def test_a_message_that_replaces_one_removes_it_and_all_after_it(talk: Talk):
    first = await talk.finished("one", "1")
    conversation = first.question.conversation_id
    second = await talk.finished("two", "2", conversation_id=conversation)
    with pytest.raises(UnknownConversationError):
        await talk.chats.send(MessageDraft("x", conversation, replaces=second.answer.id), "dashboard")
    begun = await talk.send("three", conversation_id=conversation, replaces=second.question.id)
    assert begun.replaced == 2
    assert [turn.text for turn in talk.model.questions[-1].turns] == ["one", "1", "three"]


@pytest.mark.parametrize(
    ("draft", "error"),
    [
        (MessageDraft("  "), InvalidMessageError),
        (MessageDraft("x", attachments=["a"] * 11), InvalidMessageError),
        (MessageDraft("x", "0199c2a4-7a31-7a51-9c5e-0d6c6a1f1b7e"), UnknownConversationError),
        (MessageDraft("x", "bot:7"), ConversationBusyError),
        (MessageDraft("x", attachments=["nothing"]), UnknownConversationError),
        (MessageDraft("x", replaces="nothing"), UnknownConversationError),
    ],
)
async def test_a_message_that_cannot_be_sent_is_refused_and_leaves_nothing(talk: Talk, draft: Any, error: Any):
    with pytest.raises(error):
        await talk.chats.send(draft, "dashboard")
    assert (await talk.chats.search()).total == 0
    assert talk.bench.audit() == []


async def test_without_a_model_the_missing_setting_is_named(tmp_path: Path):
    async with open_talk(tmp_path, {}) as talk:
        with pytest.raises(ModelMissingError, match="configured") as caught:
            await talk.chats.send(MessageDraft("hello"), "dashboard")
        assert "CHAT_PROVIDER" in caught.value.hint
        assert talk.chats.models() == []

    def unusable(model: str = "", /) -> Any:
        raise ConfigError("CHAT_PROVIDER=openai needs OPENAI_API_KEY", hint="set it")

    async with open_talk(tmp_path, models=SimpleNamespace(open=unusable)) as talk:
        with pytest.raises(ModelMissingError, match="OPENAI_API_KEY"):
            await talk.chats.send(MessageDraft("hello"), "dashboard")


async def test_one_process_writes_only_so_many_answers_at_once(talk: Talk):
    for _ in range(MAX_ANSWERS):
        await talk.send()
    with pytest.raises(TooManyAnswersError):
        await talk.chats.send(MessageDraft("one more"), "dashboard")


async def test_the_answer_of_a_dead_process_is_failed_and_what_it_wrote_stays(talk: Talk):
    begun = await talk.send()
    talk.model.say("I am")
    await talk.until(begun.answer.id, "streaming")
    dead = own_identity().split(":", 1)[1]

    def die(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE chat_messages SET owner = ? WHERE id = ?", [f"1:{dead}", begun.answer.id])

    await talk.bench.app.database.write(die)
    other = Chats(talk.chats._context)  # noqa: SLF001  # another process of the data directory
    [found] = (await other.search()).items
    assert not found.is_generating
    failed = await talk.message(begun.answer.id)
    assert (failed.status, failed.content, failed.error["code"]) == ("failed", "I am", "interrupted")


async def test_an_answer_that_takes_long_to_begin_is_left_to_its_process_elsewhere(tmp_path: Path):
    clock = FakeClock()
    async with open_talk(tmp_path, owner="elsewhere", clock=clock) as talk:
        begun, until = await talk.send(), clock.now() + 5 * SILENCE_S
        other = Chats(talk.chats._context)  # noqa: SLF001  # a process of another container
        while clock.now() < until:
            await other.settle()
            await asyncio.sleep(0)
        assert (await talk.message(begun.answer.id)).status == "pending"
        talk.model.say("after long thought")
        talk.model.end()
        assert (await talk.until(begun.answer.id, "complete")).content == "after long thought"


async def test_the_end_of_the_program_fails_the_answer_at_once(tmp_path: Path):
    async with open_talk(tmp_path) as talk:
        begun = await talk.send()
        await talk.chats.aclose()
        failed = await talk.message(begun.answer.id)
        assert (failed.status, failed.error["code"]) == ("failed", "interrupted")


async def test_a_deleted_conversation_is_gone_and_its_answer_ends(talk: Talk):
    begun = await talk.send()
    conversation = begun.question.conversation_id
    await talk.chats.delete(conversation, "dashboard")
    await eventually(lambda: talk.model.cancelled)
    with pytest.raises(UnknownConversationError):
        await talk.chats.transcript(conversation)
    tables = ("chat_messages", "chat_events", "chat_conversations")
    counts = await talk.bench.app.database.read(
        lambda c: [c.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables]
    )
    assert counts == [0, 0, 0]


async def test_conversations_are_found_by_what_was_said_page_by_page(talk: Talk):
    for word in ("alpha", "beta", "gamma"):
        await talk.finished(f"about {word}", "100 % sure")
    first = await talk.chats.search(limit=2)
    assert ([each.title for each in first.items], first.total) == (["about gamma", "about beta"], 3)
    rest = await talk.chats.search(limit=2, cursor=first.next_cursor)
    assert ([each.title for each in rest.items], rest.next_cursor) == (["about alpha"], None)
    assert [each.title for each in (await talk.chats.search("BETA")).items] == ["about beta"]
    assert (await talk.chats.search("0 %")).total == 3
    assert to_json(rest.items[0])["last_message"]["preview"] == "100 % sure"


async def test_files_are_shown_to_the_model_with_their_message(talk: Talk, picture: bytes):
    text = await talk.chats.attach("notes.txt", "text/plain; charset=utf-8", b"the disk is full", "dashboard")
    shot = await talk.chats.attach("shot.png", "image/png", picture, "dashboard")
    begun = await talk.send("", attachments=[text.id, shot.id])
    [turn] = talk.model.questions[-1].turns
    assert turn.text == "[File notes.txt]\nthe disk is full"
    assert [(image.media_type, image.data) for image in turn.images] == [("image/png", picture)]
    assert [each.name for each in begun.question.attachments] == ["notes.txt", "shot.png"]
    with pytest.raises(UnknownConversationError):
        await talk.chats.send(MessageDraft("again", attachments=[text.id]), "dashboard")


async def test_files_that_nobody_can_read_are_refused(talk: Talk):
    for name, media_type, data, error in (
        ("a.bin", "application/x-thing", b"x", InvalidMessageError),
        ("a.txt", "text/plain", b"", InvalidMessageError),
        ("a.pdf", "application/pdf", b"no pdf", UnreadableFileError),
        ("a.png", "image/png", b"no picture", UnreadableFileError),
    ):
        with pytest.raises(error):
            await talk.chats.attach(name, media_type, data, "dashboard")
    assert talk.bench.audit() == []


async def test_conversations_of_the_bot_can_be_read_and_not_changed(tmp_path: Path):
    async def bot_windows(chat_id: str = "", /) -> BotWindowList:
        if chat_id not in {"", "7"}:
            return BotWindowList()
        return BotWindowList(
            [BotWindow("7", "chatter", [("user", "ping"), ("assistant", "pong")])], "some are elsewhere"
        )

    async with open_talk(tmp_path, bot=SimpleNamespace(windows=bot_windows)) as talk:
        found = await talk.chats.list_bot_conversations()
        assert ([each.source for each in found.items], found.notice) == (
            ["chatter"],
            "some are elsewhere",
        )
        assert (await talk.chats.list_bot_conversations("nothing of it")).items == []
        await talk.finished()
        pages, cursor = [], ""
        while cursor is not None:
            page = await talk.chats.listing(limit=1, cursor=cursor)
            pages.append([each.source for each in page.items])
            cursor = page.next_cursor
        assert (pages, page.total) == ([["dashboard"], ["chatter"]], 2)
        transcript = await talk.chats.transcript("bot:7")
        assert [(message.role, message.content) for message in transcript.messages] == [
            ("user", "ping"),
            ("assistant", "pong"),
        ]
        with pytest.raises(ConversationBusyError):
            await talk.chats.delete("bot:7", "dashboard")
        with pytest.raises(UnknownConversationError):
            await talk.chats.transcript("bot:8")


async def test_what_nobody_needs_is_deleted(talk: Talk):
    await talk.finished()
    await talk.chats.attach("notes.txt", "text/plain", b"x", "dashboard")
    await talk.bench.app.database.write(lambda c: c.execute("UPDATE chat_events SET at = at - 3600").rowcount)
    await talk.bench.app.database.write(
        lambda c: c.execute("UPDATE chat_attachments SET created_at = created_at - 90000").rowcount
    )
    await talk.chats.prune()
    tables = ("chat_messages", "chat_events", "chat_attachments")
    counts = await talk.bench.app.database.read(
        lambda c: [c.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] for table in tables]
    )
    assert counts == [2, 0, 0]


async def _content_is(talk: Talk, message_id: str, content: str) -> bool:
    return (await talk.message(message_id)).content == content
