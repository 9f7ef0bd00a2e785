"""The history of each chat: in memory, in a real Redis, and on the way between the two."""

import asyncio
import logging
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.delivery.conftest import RedisServer
from tests.redis_clients import patient_redis
from tests.waiting import PATIENCE_S

from tocsin.bot.talk.redis_sessions import RedisSessions
from tocsin.bot.talk.sessions import AWAY_S, MAX_IDS, MemorySessions, SessionEntry, Sessions, SessionStore
from tocsin.core.storage.redis_client import RedisClient, open_redis
from tocsin.testing import FakeClock

TTL_S, WINDOW = 3600, 4


@pytest.fixture
async def redis(unsaved_redis: RedisServer) -> AsyncIterator[RedisClient]:
    client = open_redis(unsaved_redis.url, answer_timeout_s=PATIENCE_S)
    yield client
    await client.aclose()


@pytest.fixture
def chat() -> str:
    """A chat that no other test writes to; topics have a slash."""
    return f"-100{uuid4().int % 10**9}/7"


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest, clock: FakeClock) -> SessionStore:
    if request.param == "memory":
        return MemorySessions(clock, ttl_s=TTL_S, window=WINDOW)
    return RedisSessions(request.getfixturevalue("redis"), ttl_s=TTL_S, window=WINDOW)


@pytest.fixture
def sessions(store: SessionStore, clock: FakeClock) -> Sessions:
    """What the bot uses, on either store."""
    return on(store if isinstance(store, RedisSessions) else None, clock)


def on(store: SessionStore | None, clock: FakeClock, **limits: int) -> Sessions:
    return Sessions(clock, store, ttl_s=TTL_S, window=WINDOW, **limits)


def user(chat: str, content: str, message_id: str = "") -> SessionEntry:
    return SessionEntry(chat, "user", content, message_id)


async def contents(sessions: Sessions | SessionStore, chat: str) -> list[str]:
    return [entry.content for entry in await sessions.get(chat)]


# The operations, on either store


async def test_the_chats_that_have_a_window_are_listed(sessions: Sessions, chat: str):
    other = f"{chat}1"
    await sessions.add_exchange(chat, "Hello", "Hi", "e1")
    await sessions.add(other, "user", "Hello")
    assert {chat, other} <= set(await sessions.chats())
    await sessions.clear(other)
    assert other not in await sessions.chats()
    assert not [name for name in await sessions.chats() if name.endswith(":ids")]


async def test_what_is_added_is_got_in_order_with_chat_and_role(sessions, chat):
    await sessions.add(chat, "user", "Hello")
    await sessions.add(chat, "assistant", "Hi")
    assert await sessions.get(chat) == (SessionEntry(chat, "user", "Hello"), SessionEntry(chat, "assistant", "Hi"))


async def test_a_chat_does_not_see_another_ones_history(sessions, chat):
    await sessions.add(chat, "user", "Hello")
    assert await sessions.get(f"{chat}1") == ()


async def test_the_window_slides(sessions, chat):
    for number in range(WINDOW + 3):
        await sessions.add(chat, "user", str(number))
    assert await contents(sessions, chat) == ["3", "4", "5", "6"]


async def test_clearing_forgets_everything(sessions, chat):
    await sessions.add(chat, "user", "Hello")
    await sessions.clear(chat)
    await sessions.clear(f"{chat}never")
    assert await sessions.get(chat) == ()
    assert await sessions.format_context(chat) == ""


async def test_the_context_alternates_between_human_and_assistant(sessions, chat):
    await sessions.add(chat, "user", "Hello")
    await sessions.add(chat, "user", "there")
    await sessions.add(chat, "assistant", "Hi")
    await sessions.add(chat, "user", "Bye")
    assert await sessions.format_context(chat) == "Human: Hello\nthere\nAssistant: Hi\nHuman: Bye"


async def test_an_exchange_is_added_whole_and_once_for_each_id(sessions, chat):
    assert await sessions.add_exchange(chat, "Why?", "Because.", "update-1")
    assert not await sessions.add_exchange(chat, "Why?", "Because, again.", "update-1")
    assert await sessions.add_exchange(chat, "How?", "So.", "update-2")
    assert await contents(sessions, chat) == ["Why?", "Because.", "How?", "So."]


async def test_a_late_repeat_does_not_bring_a_cleared_exchange_back(sessions, chat):
    await sessions.add_exchange(chat, "Why?", "Because.", "update-1")
    await sessions.clear(chat)
    assert not await sessions.add_exchange(chat, "Why?", "Because.", "update-1")
    assert await sessions.get(chat) == ()


async def test_an_edited_message_changes_in_its_place(sessions, chat):
    await sessions.add_exchange(chat, "Wyh?", "Pardon?", "update-1", "41")
    await sessions.add(chat, "user", "next", "42")
    assert await sessions.edit(chat, "41", "Why?")
    assert await sessions.get(chat) == (
        SessionEntry(chat, "user", "Why?", "41"),
        SessionEntry(chat, "assistant", "Pardon?"),
        SessionEntry(chat, "user", "next", "42"),
    )


@pytest.mark.parametrize("message_id", ["", "40"])
async def test_an_edit_of_a_message_that_is_not_there_changes_nothing(sessions, chat, message_id):
    await sessions.add(chat, "user", "Hello", "41")
    await sessions.add(chat, "assistant", "Hi")
    assert not await sessions.edit(chat, message_id, "changed")
    assert not await sessions.edit(f"{chat}never", "41", "changed")
    assert await contents(sessions, chat) == ["Hello", "Hi"]


@given(text=st.text(max_size=50))
@settings(max_examples=25, deadline=None)
def test_any_text_comes_back_as_it_was(unsaved_redis, text):
    async def there_and_back() -> list[str]:
        client = patient_redis(unsaved_redis.url)
        sessions = on(RedisSessions(client, ttl_s=TTL_S, window=WINDOW), FakeClock())
        chat = uuid4().hex
        await sessions.add(chat, "user", "x", "1")
        await sessions.edit(chat, "1", text)
        await sessions.add(chat, "assistant", text)
        found = await contents(sessions, chat)
        await client.aclose()
        return found

    assert asyncio.run(there_and_back()) == [text, text]


async def test_half_a_character_does_no_harm(sessions, chat):
    await sessions.add(chat, "user", "\ud83d", "1")
    await sessions.edit(chat, "1", "whole")
    assert len(await sessions.get(chat)) == 1


def test_a_role_that_there_is_not_is_a_mistake_of_the_program():
    with pytest.raises(ValueError, match="user and assistant"):
        SessionEntry("1", "system", "x")


async def test_messages_at_the_same_time_are_all_kept(sessions, chat):
    await asyncio.gather(*(sessions.add(chat, "user", str(n)) for n in range(WINDOW)))
    assert sorted(await contents(sessions, chat)) == ["0", "1", "2", "3"]


# Memory


async def test_a_history_ends_after_its_time_and_every_message_renews_it(clock):
    sessions = on(None, clock)
    await sessions.add("1", "user", "Hello", "41")
    for change in (
        sessions.add("1", "assistant", "Hi"),
        sessions.edit("1", "41", "Hello!"),
        sessions.add_exchange("1", "?", "!", "u1"),
    ):
        clock.advance(TTL_S - 1)
        await change
    clock.advance(TTL_S - 1)
    assert len(await sessions.get("1")) == WINDOW
    clock.advance(1)
    assert await sessions.get("1") == ()


async def test_only_so_many_chats_are_kept_in_memory_the_silent_ones_go_first(clock):
    memory = MemorySessions(clock, ttl_s=TTL_S, window=WINDOW, max_chats=3)
    for chat in ("1", "2", "3"):
        await memory.append(chat, [user(chat, "x")], "u")
    await memory.append("1", [user("1", "y")], "v")
    await memory.append("4", [user("4", "x")], "u")
    assert [len(await memory.get(chat)) for chat in ("1", "2", "3", "4")] == [2, 0, 1, 1]


async def test_only_so_many_ids_are_remembered(store, chat):
    for number in range(MAX_IDS + 1):
        await store.append(chat, [user(chat, "x")], str(number))
    assert not await store.append(chat, [user(chat, "x")], "1")
    assert await store.append(chat, [user(chat, "x")], "0")


# Redis


async def test_a_redis_that_is_found_later_gets_what_memory_has_and_keeps_it_from_then_on(redis, clock, chat):
    sessions, shared = Sessions(clock, ttl_s=TTL_S, window=WINDOW), RedisSessions(redis, ttl_s=TTL_S, window=WINDOW)
    await sessions.add(chat, "user", "before")
    assert not sessions.uses_redis
    sessions.use(shared)
    await sessions.add(chat, "user", "after")
    assert await contents(shared, chat) == ["before", "after"]
    await sessions.add(chat, "user", "later")
    assert await contents(on(shared, clock), chat) == ["before", "after", "later"]


async def test_a_history_survives_a_restart_of_the_bot_and_is_shared(redis, clock, chat):
    await on(RedisSessions(redis, ttl_s=TTL_S, window=WINDOW), clock).add(chat, "user", "Hello")
    another = on(RedisSessions(redis, ttl_s=TTL_S, window=WINDOW), clock)
    assert await contents(another, chat) == ["Hello"]
    assert not await another.edit(chat, "1", "x")


async def test_redis_ends_a_history_after_its_time_and_every_message_renews_it(redis, clock, chat):
    sessions = on(RedisSessions(redis, ttl_s=TTL_S, window=WINDOW), clock)
    key = f"{{tocsin:session:{chat}}}"
    await sessions.add(chat, "user", "Hello", "41")
    for change in (sessions.add(chat, "user", "x"), sessions.edit(chat, "41", "y")):
        await redis.command("EXPIRE", key, 5)
        await change
        assert TTL_S - 5 < await redis.command("TTL", key) <= TTL_S
    assert await redis.command("TTL", f"{key}:ids") > 0
    await redis.command("PEXPIRE", key, 0)
    assert await sessions.get(chat) == ()


async def test_a_smaller_window_holds_at_once(redis, clock, chat):
    await RedisSessions(redis, ttl_s=TTL_S, window=9).append(chat, [user(chat, str(n)) for n in range(9)], "u")
    assert await contents(RedisSessions(redis, ttl_s=TTL_S, window=2), chat) == ["7", "8"]


@pytest.mark.parametrize(
    "rubbish", ["", "{", "[]", "7", "null", '{"role": "user"}', '{"role": ["x"], "content": 1}', b"\xff"]
)
async def test_what_is_no_entry_is_left_out(redis, clock, chat, rubbish):
    await redis.command("RPUSH", f"{{tocsin:session:{chat}}}", rubbish)
    sessions = on(RedisSessions(redis, ttl_s=TTL_S, window=WINDOW), clock)
    await sessions.add(chat, "user", "Hello", "41")
    assert await sessions.edit(chat, "41", "Hello!")
    assert await contents(sessions, chat) == ["Hello!"]


# Between the two


@pytest.fixture(params=[PATIENCE_S], ids=["patient"])
async def shared(
    request: pytest.FixtureRequest, private_redis: RedisServer, clock: FakeClock
) -> AsyncIterator[Sessions]:
    client = open_redis(private_redis.url, answer_timeout_s=request.param)
    yield on(RedisSessions(client, ttl_s=TTL_S, window=WINDOW), clock)
    private_redis.resume()
    await client.aclose()


@pytest.fixture
async def other(private_redis: RedisServer) -> AsyncIterator[RedisSessions]:
    """The histories as another process sees them."""
    client = patient_redis(private_redis.url)
    yield RedisSessions(client, ttl_s=TTL_S, window=WINDOW)
    await client.aclose()


async def test_a_chat_goes_on_where_it_was_when_redis_is_lost_and_moves_back_when_it_returns(
    shared, private_redis, other, clock, caplog
):
    caplog.set_level(logging.INFO, "tocsin.bot.talk.sessions")
    await shared.add("1", "user", "before", "41")
    private_redis.kill()
    await shared.add_exchange("1", "during", "meanwhile", "u1")
    assert await shared.edit("1", "41", "before!")
    assert await contents(shared, "1") == ["before!", "during", "meanwhile"]
    private_redis.start()
    clock.advance(AWAY_S)
    await shared.add("1", "user", "after")
    assert await contents(shared, "1") == await contents(other, "1") == ["before!", "during", "meanwhile", "after"]
    assert len(caplog.records) == 2


async def test_a_chat_that_was_reset_meanwhile_stays_reset(shared, private_redis, other, clock):
    await shared.add("1", "user", "old")
    private_redis.kill()
    await shared.clear("1")
    await shared.add("1", "user", "new")
    private_redis.start()
    clock.advance(AWAY_S)
    assert await contents(shared, "1") == await contents(other, "1") == ["new"]


async def test_what_ended_while_redis_was_away_does_not_come_back(shared, private_redis, other, clock):
    private_redis.kill()
    await shared.add("1", "user", "long ago")
    private_redis.start()
    clock.advance(TTL_S)
    assert await shared.get("1") == ()
    assert await other.get("1") == ()


async def test_redis_that_was_away_is_asked_at_most_every_few_seconds(shared, private_redis, clock):
    await shared.get("1")
    private_redis.kill()
    await shared.get("1")
    private_redis.start()
    await shared.add("1", "user", "x")
    clock.advance(AWAY_S - 0.1)
    await shared.get("1")
    clients = private_redis.ask("CLIENT LIST").count("id=")
    assert clients <= 1  # whoever asks
    clock.advance(0.1)
    assert await contents(shared, "1") == ["x"]
    assert private_redis.ask("EXISTS {tocsin:session:1}") == ":1"


@pytest.mark.parametrize("shared", [1.0], indirect=True, ids=["hasty"])
async def test_a_call_that_redis_took_in_but_did_not_answer_is_not_done_twice(shared, private_redis, other, clock):
    await shared.get("1")
    private_redis.pause()
    assert await shared.add_exchange("1", "Why?", "Because.", "u1")
    private_redis.resume()
    clock.advance(AWAY_S)
    await shared.add("1", "user", "And?")
    assert await contents(other, "1") == ["Why?", "Because.", "And?"]


@pytest.mark.parametrize("shared", [1.0], indirect=True, ids=["hasty"])
async def test_while_redis_is_away_nobody_waits_for_it_twice(shared, private_redis, clock):
    """The first call finds out; the others, and those of other chats, are answered from memory at once."""
    await shared.get("1")
    private_redis.pause()
    await shared.add("1", "user", "x")

    async def talk() -> None:
        for chat in ("1", "2", "3"):
            await shared.add(chat, "user", "y")
            await shared.get(chat)

    talking = asyncio.create_task(talk())
    for _ in range(100):
        await asyncio.sleep(0)  # a turn of the loop, no time
    assert talking.done()


async def test_without_redis_nothing_is_owed_to_anybody(clock, caplog):
    sessions = on(None, clock, max_chats=2)
    for number in range(5):
        await sessions.add(str(number), "user", "x")
    assert [len(await sessions.get(str(n))) for n in range(5)] == [0, 0, 0, 1, 1]
    assert caplog.records == []


async def test_only_so_many_chats_are_owed_to_redis(private_redis, other, clock):
    client = patient_redis(private_redis.url)
    sessions = on(RedisSessions(client, ttl_s=TTL_S, window=WINDOW), clock, max_chats=2)
    private_redis.kill()
    for number in range(4):
        await sessions.add(str(number), "user", "x")
    private_redis.start()
    clock.advance(AWAY_S)
    for number in range(4):
        await sessions.get(str(number))
    assert [len(await other.get(str(n))) for n in range(4)] == [0, 0, 1, 1]
    await client.aclose()
