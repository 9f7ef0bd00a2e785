"""Events are stored once, with the place to go on from, and are worked on by one owner."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.messaging.inbound.inbox_hall import SCHEMAS, SteppedClock, message, statuses, texts

from tocsin.channels.inbound import Attachment, MessageKind
from tocsin.core.storage.database import Database, DatabaseError
from tocsin.messaging.inbound.handling import HandlingStatus, Reply
from tocsin.messaging.inbound.model import Backlog, InboxStatus
from tocsin.messaging.inbound.schema import MIGRATIONS
from tocsin.messaging.inbound.store import BODIES_KEPT_S, KEYS_KEPT_S, InboxStore


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    made = Database(tmp_path / "tocsin.db", SCHEMAS)
    yield made
    await made.aclose()


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


@pytest.fixture
def store(database: Database, clock: SteppedClock) -> InboxStore:
    return InboxStore(database, clock)


async def accepted(store: InboxStore, *messages: Any, owner: str = "me") -> list[bool]:
    return [ticket is not None for ticket in await store.accept(messages, owner)]


async def begun(store: InboxStore, text: str = "hello", owner: str = "me") -> int:
    """Store one event and begin the work on it; return its number."""
    [ticket] = await store.accept([message(text)], owner)
    assert ticket
    await store.claim([ticket.seq], owner)
    return ticket.seq


# --- accepting


async def test_an_event_is_kept_as_it_came_but_for_what_answers_it_directly(store: InboxStore):
    original = message(
        "caf\ud800é",
        "tower",
        "k1",
        "k2",
        kind=MessageKind.COMMAND,
        command="ask",
        args="why",
        sender_id="7",
        attachments=(Attachment("photo", "f1", width=3),),
        sent_at=5.0,
        reply_context={"token": "very secret"},
    )
    assert await accepted(store, original) == [True]
    [entry] = await store.search()
    assert entry.message == original
    assert entry.message.reply_context == {}
    assert (entry.channel, entry.chat, entry.kind, entry.status) == ("bell", "tower", "command", InboxStatus.NEW)


async def test_what_answers_an_event_directly_is_nowhere_on_the_disk(store: InboxStore, tmp_path: Path):
    await accepted(store, message(reply_context={"token": "very secret"}))
    assert all(b"very secret" not in path.read_bytes() for path in tmp_path.iterdir())


async def test_an_event_that_shares_any_key_with_a_stored_one_is_a_duplicate(store: InboxStore):
    assert await accepted(store, message("one", "c", "a", "b")) == [True]
    assert await accepted(store, message("two", "c", "b", "c")) == [False]
    assert texts(await store.search()) == ["one"]


async def test_the_further_keys_of_a_duplicate_are_known_from_then_on(store: InboxStore):
    await accepted(store, message("one", "c", "a"), message("two", "c", "a", "b"))
    assert await accepted(store, message("three", "c", "b")) == [False]


async def test_duplicates_in_one_call_are_found(store: InboxStore):
    assert await accepted(store, *(message(str(n), "c", "same", f"own{n}") for n in range(3))) == [True, False, False]


async def test_channels_do_not_share_keys(store: InboxStore):
    one = message("one", "c", "a")
    assert await accepted(store, one, replace(one, channel="siren")) == [True, True]


async def test_of_many_at_once_with_the_same_key_one_is_new(store: InboxStore):
    results = await asyncio.gather(*(accepted(store, message(str(n), "c", "a")) for n in range(50)))
    assert sum(result == [True] for result in results) == 1


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3), max_size=12))
async def test_an_event_is_new_exactly_when_none_of_its_keys_was_ever_seen(
    tmp_path_factory: pytest.TempPathFactory, events: list[list[str]]
):
    database = Database(tmp_path_factory.mktemp("keys") / "tocsin.db", SCHEMAS)
    store = InboxStore(database, SteppedClock())
    seen: set[str] = set()
    for keys in events:
        assert await accepted(store, message("x", "c", *keys)) == [not seen & set(keys)]
        seen |= set(keys)
    await database.aclose()


async def test_a_key_is_known_for_24_hours(store: InboxStore, clock: SteppedClock):
    await accepted(store, message("one", "c", "a"))
    clock.advance(KEYS_KEPT_S - 1)
    assert await accepted(store, message("two", "c", "a")) == [False]
    clock.advance(1)
    assert await accepted(store, message("three", "c", "a")) == [True]


async def test_only_the_latest_keys_of_each_channel_are_kept(database: Database, clock: SteppedClock):
    store = InboxStore(database, clock, max_keys=10)
    await accepted(store, replace(message("other", "c", "x"), channel="siren"))
    await accepted(store, *(message(str(n), "c", f"k{n}", f"l{n}") for n in range(8)))
    rows = await database.read(
        lambda c: c.execute("SELECT channel, count(*) AS n FROM inbox_keys GROUP BY 1").fetchall()
    )
    assert {row["channel"]: row["n"] for row in rows} == {"bell": 10, "siren": 1}
    assert await accepted(store, message("again", "c", "k7"), message("forgotten", "c", "k2")) == [False, True]


# --- the place to go on from


async def test_events_and_the_place_to_go_on_from_are_stored_together(store: InboxStore):
    assert await store.cursor("poller") is None
    await store.accept([message("one", "c", "a")], "me", ("poller", 41))
    await store.accept([], "me", ("poller", 42))
    assert await store.cursor("poller") == 42
    assert await store.cursor("another") is None


async def test_neither_events_nor_the_place_are_stored_when_one_of_them_cannot_be(
    store: InboxStore, database: Database
):
    await store.accept([], "me", ("poller", 1))
    with pytest.raises(OverflowError):
        await store.accept([message("one", "c", "a")], "me", ("poller", 2**70))
    assert (await store.cursor("poller"), await store.search()) == (1, [])
    assert await accepted(store, message("one", "c", "a")) == [True]


async def test_what_cannot_be_stored_is_an_error(store: InboxStore, database: Database):
    await database.aclose()
    with pytest.raises(DatabaseError):
        await accepted(store, message())


# --- working


async def test_only_its_owner_takes_an_event_and_it_counts_as_tried_when_the_work_begins(store: InboxStore):
    [ticket] = await store.accept([message()], "me")
    assert ticket
    assert await store.claim([ticket.seq], "you") == []
    [entry] = await store.claim([ticket.seq], "me")
    assert (entry.status, entry.attempts, entry.id) == (InboxStatus.WORKING, 0, ticket.id)
    assert not await store.begin(ticket.seq, "you")
    assert await store.begin(ticket.seq, "me")
    [entry] = await store.search()
    assert entry.attempts == 1


async def test_an_outcome_is_kept_with_its_replies_until_the_event_ends(store: InboxStore):
    seq = await begun(store)
    replies = (Reply("one"), Reply("two", "commonmark", {"buttons": [["a", "b"]]}))
    assert await store.outcome(seq, "me", HandlingStatus.ANSWERED, replies, "because")
    [entry] = await store.search()
    assert (entry.status, entry.ending, entry.reason) == (InboxStatus.REPLYING, "answered", "because")
    assert entry.replies == replies
    assert await store.finish(seq, "me", HandlingStatus.ANSWERED, "because")
    [entry] = await store.search()
    assert (entry.status, entry.replies, entry.finished_at is not None) == (InboxStatus.ANSWERED, (), True)


async def test_who_has_lost_an_event_can_neither_keep_an_outcome_nor_end_it(store: InboxStore):
    seq = await begun(store)
    await store.adopt("me", "you")
    assert not await store.outcome(seq, "me", HandlingStatus.ANSWERED, [Reply("late")])
    assert not await store.finish(seq, "me", HandlingStatus.ANSWERED)
    [entry] = await store.search()
    assert (entry.status, entry.replies) == (InboxStatus.NEW, ())


async def test_an_ended_event_does_not_change_any_more(store: InboxStore):
    seq = await begun(store)
    await store.finish(seq, "me", HandlingStatus.IGNORED)
    assert not await store.outcome(seq, "me", HandlingStatus.ANSWERED, [Reply("late")])
    assert not await store.finish(seq, "me", HandlingStatus.FAILED)
    assert await store.claim([seq], "me") == []
    assert await store.adopt("me", "you") == []


# --- taking over


async def test_what_was_worked_on_begins_anew_and_what_was_being_answered_goes_on(store: InboxStore):
    await begun(store, "working")
    answering = await begun(store, "answering")
    await store.outcome(answering, "me", HandlingStatus.ANSWERED, [Reply("yes")])
    await accepted(store, message("new"))
    tickets = await store.adopt("me", "you")
    assert statuses((await store.search())[::-1]) == ["new", "replying", "new"]
    entries = await store.claim([ticket.seq for ticket in tickets], "you")
    assert [entry.status for entry in entries] == ["working", "replying", "working"]
    assert entries[1].replies == (Reply("yes"),)


async def test_what_is_known_already_is_not_taken_over_again(store: InboxStore):
    first, second = [await begun(store, text) for text in ("one", "two")]
    assert [ticket.seq for ticket in await store.adopt("me", "me", known={first})] == [second]
    assert statuses((await store.search())[::-1]) == ["working", "new"]


async def test_a_backlog_is_taken_over_piece_by_piece_the_oldest_first(store: InboxStore):
    await accepted(store, *(message(str(n)) for n in range(5)))
    pieces = [await store.adopt("me", "you", limit=2) for _ in range(4)]
    assert [len(piece) for piece in pieces] == [2, 2, 1, 0]
    seqs = [ticket.seq for piece in pieces for ticket in piece]
    assert seqs == sorted(seqs)


async def test_released_events_belong_to_nobody(store: InboxStore):
    await begun(store)
    await store.release("me")
    assert await store.owners() == {"": 1}
    assert statuses(await store.search()) == ["new"]


async def test_open_events_outlive_the_upgrade_that_moves_signs_of_life(tmp_path: Path, clock: SteppedClock):
    path = tmp_path / "older.db"
    older = Database(path, {"inbox": MIGRATIONS[:1]})
    await InboxStore(older, clock).accept([message()], "me")
    await older.write(lambda c: c.execute("INSERT INTO inbox_owners VALUES ('me', 3)").fetchall())
    await older.aclose()
    newer = Database(path, SCHEMAS)
    assert await InboxStore(newer, clock).owners() == {"me": 1}
    await newer.aclose()


# --- looking


async def test_open_events_are_counted_with_the_age_of_the_oldest(store: InboxStore, clock: SteppedClock):
    assert await store.backlog() == Backlog()
    await store.finish(await begun(store), "me", HandlingStatus.IGNORED)
    clock.advance(10)
    began_at = clock.now()
    await begun(store)
    clock.advance(10)
    await accepted(store, message(), message())
    backlog = await store.backlog()
    assert (backlog.counts, backlog.open, backlog.oldest_at) == ({"new": 2, "working": 1}, 3, began_at)
    assert await store.counts() == {"new": 2, "working": 1, "ignored": 1}


async def test_the_latest_events_are_found_a_page_at_a_time_and_by_state(store: InboxStore):
    await accepted(store, *(message(str(n)) for n in range(4)))
    page = await store.search(2)
    assert texts(page) == ["3", "2"]
    assert texts(await store.search(2, before=page[-1].seq)) == ["1", "0"]
    await store.claim([page[0].seq], "me")
    assert texts(await store.search(status=InboxStatus.WORKING)) == ["3"]


# --- forgetting


async def test_the_text_of_an_event_is_removed_30_days_after_it_ended_and_its_row_stays(
    store: InboxStore, clock: SteppedClock
):
    await store.finish(await begun(store, "ended"), "me", HandlingStatus.ANSWERED)
    await accepted(store, message("open"))
    clock.advance(BODIES_KEPT_S)
    assert await store.prune() == 0
    clock.advance(1)
    assert await store.prune() == 1
    [open_, ended] = await store.search()
    assert (texts([open_]), ended.message, ended.status) == (["open"], None, InboxStatus.ANSWERED)


async def test_only_the_latest_rows_are_kept_and_none_that_is_open_is_lost(database: Database, clock: SteppedClock):
    store = InboxStore(database, clock, max_rows=3)
    await accepted(store, message("open"))
    for number in range(6):
        await store.finish(await begun(store, str(number)), "me", HandlingStatus.IGNORED)
    assert await store.prune() == 3
    assert texts((await store.search())[::-1]) == ["open", "3", "4", "5"]
