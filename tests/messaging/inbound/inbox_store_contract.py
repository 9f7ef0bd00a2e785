"""The contract of every inbox: subclass `InboxStoreContract` and override the fixture `open_store`.

It returns a function: each call opens the same events once more, as another process does.
"""

import asyncio
import random
from dataclasses import replace
from typing import Any, Protocol, cast

import pytest
from tests.messaging.inbound.inbox_hall import SteppedClock, message, statuses, texts

from tocsin.channels.inbound import Attachment, MessageKind
from tocsin.messaging.inbound.handling import HandlingStatus, Reply
from tocsin.messaging.inbound.model import Backlog, InboxStatus
from tocsin.messaging.inbound.store import BODIES_KEPT_S, KEYS_KEPT_S, SET_ASIDE, Claim, InboxStore


class OpenInbox(Protocol):
    """Opens the events once more."""

    def __call__(self, clock: SteppedClock, **bounds: int) -> InboxStore: ...


async def accepted(store: InboxStore, *messages: Any, owner: str = "me") -> list[bool]:
    return [ticket is not None for ticket in await store.accept(messages, owner)]


async def begun(store: InboxStore, text: str = "hello", owner: str = "me") -> int:
    """Store one event and begin the work on it; return its number."""
    [ticket] = await store.accept([message(text)], owner)
    assert ticket
    await store.claim([ticket.seq], owner)
    return ticket.seq


class InboxStoreContract:
    """What every inbox does."""

    @pytest.fixture
    def open_store(self) -> OpenInbox:
        raise NotImplementedError

    @pytest.fixture
    def clock(self) -> SteppedClock:
        return SteppedClock()

    @pytest.fixture
    def store(self, open_store: OpenInbox, clock: SteppedClock) -> InboxStore:
        return open_store(clock)

    # --- accepting

    async def test_an_event_is_kept_as_it_came_but_for_what_answers_it_directly(self, store: InboxStore):
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

    async def test_an_event_that_shares_any_key_with_a_stored_one_is_a_duplicate(self, store: InboxStore):
        assert await accepted(store, message("one", "c", "a", "b")) == [True]
        assert await accepted(store, message("two", "c", "b", "c")) == [False]
        assert texts(await store.search()) == ["one"]

    async def test_the_further_keys_of_a_duplicate_are_known_from_then_on(self, store: InboxStore):
        await accepted(store, message("one", "c", "a"), message("two", "c", "a", "b"))
        assert await accepted(store, message("three", "c", "b")) == [False]

    async def test_duplicates_in_one_call_are_found(self, store: InboxStore):
        assert await accepted(store, *(message(str(n), "c", "same", f"own{n}") for n in range(3))) == [
            True,
            False,
            False,
        ]

    async def test_channels_do_not_share_keys(self, store: InboxStore):
        one = message("one", "c", "a")
        assert await accepted(store, one, replace(one, channel="siren")) == [True, True]

    async def test_of_many_at_once_with_the_same_key_one_is_new(self, store: InboxStore):
        results = await asyncio.gather(*(accepted(store, message(str(n), "c", "a")) for n in range(50)))
        assert sum(result == [True] for result in results) == 1

    async def test_a_key_is_known_for_24_hours(self, store: InboxStore, clock: SteppedClock):
        await accepted(store, message("one", "c", "a"))
        clock.advance(KEYS_KEPT_S - 1)
        assert await accepted(store, message("two", "c", "a")) == [False]
        clock.advance(1)
        assert await accepted(store, message("three", "c", "a")) == [True]

    # --- the place to go on from

    async def test_events_and_the_place_to_go_on_from_are_stored_together(self, store: InboxStore):
        assert await store.cursor("poller") is None
        await store.accept([message("one", "c", "a")], "me", ("poller", 41))
        await store.accept([], "me", ("poller", 42))
        assert await store.cursor("poller") == 42
        assert await store.cursor("another") is None

    # --- working

    async def test_only_its_owner_takes_an_event_and_it_counts_as_tried_when_the_work_begins(self, store: InboxStore):
        [ticket] = await store.accept([message()], "me")
        assert ticket
        assert (await store.claim([ticket.seq], "you")).events == []
        [entry] = (await store.claim([ticket.seq], "me")).events
        assert (entry.status, entry.attempts, entry.id) == (InboxStatus.WORKING, 0, ticket.id)
        assert not await store.begin(ticket.seq, "you")
        assert await store.begin(ticket.seq, "me")
        [entry] = await store.search()
        assert entry.attempts == 1

    async def test_an_outcome_is_kept_with_its_replies_until_the_event_ends(self, store: InboxStore):
        seq = await begun(store)
        replies = (Reply("one"), Reply("two", "commonmark", {"buttons": [["a", "b"]]}))
        assert await store.outcome(seq, "me", HandlingStatus.ANSWERED, replies, "because")
        [entry] = await store.search()
        assert (entry.status, entry.ending, entry.reason) == (InboxStatus.REPLYING, "answered", "because")
        assert entry.replies == replies
        assert await store.finish(seq, "me", HandlingStatus.ANSWERED, "because")
        [entry] = await store.search()
        assert (entry.status, entry.replies, entry.finished_at is not None) == (InboxStatus.ANSWERED, (), True)

    async def test_who_has_lost_an_event_can_neither_keep_an_outcome_nor_end_it(self, store: InboxStore):
        seq = await begun(store)
        await store.adopt("me", "you")
        assert not await store.outcome(seq, "me", HandlingStatus.ANSWERED, [Reply("late")])
        assert not await store.finish(seq, "me", HandlingStatus.ANSWERED)
        [entry] = await store.search()
        assert (entry.status, entry.replies) == (InboxStatus.NEW, ())

    async def test_an_ended_event_does_not_change_any_more(self, store: InboxStore):
        seq = await begun(store)
        await store.finish(seq, "me", HandlingStatus.IGNORED)
        assert not await store.outcome(seq, "me", HandlingStatus.ANSWERED, [Reply("late")])
        assert not await store.finish(seq, "me", HandlingStatus.FAILED)
        assert (await store.claim([seq], "me")).events == []
        assert await store.adopt("me", "you") == []

    # --- taking over

    async def test_what_was_worked_on_begins_anew_and_what_was_being_answered_goes_on(self, store: InboxStore):
        await begun(store, "working")
        answering = await begun(store, "answering")
        await store.outcome(answering, "me", HandlingStatus.ANSWERED, [Reply("yes")])
        await accepted(store, message("new"))
        tickets = await store.adopt("me", "you")
        assert statuses((await store.search())[::-1]) == ["new", "replying", "new"]
        entries = (await store.claim([ticket.seq for ticket in tickets], "you")).events
        assert [entry.status for entry in entries] == ["working", "replying", "working"]
        assert entries[1].replies == (Reply("yes"),)

    async def test_what_is_known_already_is_not_taken_over_again(self, store: InboxStore):
        first, second = [await begun(store, text) for text in ("one", "two")]
        assert [ticket.seq for ticket in await store.adopt("me", "me", known={first})] == [second]
        assert statuses((await store.search())[::-1]) == ["working", "new"]

    async def test_a_backlog_is_taken_over_piece_by_piece_the_oldest_first(self, store: InboxStore):
        await accepted(store, *(message(str(n)) for n in range(5)))
        pieces = [await store.adopt("me", "you", limit=2) for _ in range(4)]
        assert [len(piece) for piece in pieces] == [2, 2, 1, 0]
        seqs = [ticket.seq for piece in pieces for ticket in piece]
        assert seqs == sorted(seqs)

    async def test_released_events_belong_to_nobody(self, store: InboxStore):
        await begun(store)
        await store.release("me")
        assert await store.owners() == {"": 1}
        assert statuses(await store.search()) == ["new"]

    # --- looking

    async def test_open_events_are_counted_with_the_age_of_the_oldest(self, store: InboxStore, clock: SteppedClock):
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

    async def test_the_latest_events_are_found_a_page_at_a_time_and_by_state(self, store: InboxStore):
        await accepted(store, *(message(str(n)) for n in range(4)))
        page = await store.search(2)
        assert texts(page) == ["3", "2"]
        assert texts(await store.search(2, before=page[-1].seq)) == ["1", "0"]
        await store.claim([page[0].seq], "me")
        assert texts(await store.search(status=InboxStatus.WORKING)) == ["3"]

    async def test_only_the_latest_keys_of_each_channel_are_kept(self, open_store: OpenInbox, clock: SteppedClock):
        store = open_store(clock, max_keys=10)
        await accepted(store, replace(message("other", "c", "x"), channel="siren"))
        await accepted(store, *(message(str(n), "c", f"k{n}", f"l{n}") for n in range(8)))
        assert await accepted(store, message("again", "c", "k3"), message("forgotten", "c", "k2")) == [False, True]
        assert await accepted(store, replace(message("other", "c", "x"), channel="siren")) == [False]

    async def test_only_the_latest_rows_are_kept_and_none_that_is_open_is_lost(
        self, open_store: OpenInbox, clock: SteppedClock
    ):
        store = open_store(clock, max_rows=3)
        await accepted(store, message("open", "another"))
        for number in range(6):
            await store.finish(await begun(store, str(number)), "me", HandlingStatus.IGNORED)
        assert await store.prune() == 3
        assert texts((await store.search())[::-1]) == ["open", "3", "4", "5"]
        assert await store.counts() == {"new": 1, "ignored": 3}

    async def test_an_event_is_new_exactly_when_none_of_its_keys_was_ever_seen(
        self, store: InboxStore, chance: random.Random
    ):
        seen: set[str] = set()
        for _ in range(60):
            keys = [str(chance.randrange(90)) for _ in range(chance.randint(1, 3))]
            assert await accepted(store, message("x", "c", *keys)) == [not seen & set(keys)]
            seen |= set(keys)

    # --- several processes

    async def test_an_event_waits_for_an_earlier_one_of_its_chat_that_another_process_has(self, store: InboxStore):
        first = await begun(store, "first", "me")
        [second, third] = await store.accept([message("second"), message("third")], "you")
        assert second
        assert third
        both = [second.seq, third.seq]
        assert await store.claim(both, "you") == Claim([], set(both))
        assert statuses((await store.search())[::-1]) == ["working", "new", "new"]
        await store.finish(first, "me", HandlingStatus.ANSWERED)
        assert texts((await store.claim(both, "you")).events) == ["second", "third"], "as many as one process may do"

    async def test_neither_other_chats_nor_urgent_events_wait_and_nothing_waits_for_urgent_ones(
        self, store: InboxStore
    ):
        await begun(store, "first", "me")
        await store.accept([message("button", "square", kind=MessageKind.CALLBACK)], "me")
        tickets = await store.accept([message("/stop", kind=MessageKind.COMMAND), message("other", "square")], "you")
        claim = await store.claim([ticket.seq for ticket in tickets if ticket], "you")
        assert (texts(claim.events), claim.waiting) == (["/stop", "other"], set())

    async def test_who_takes_over_the_earlier_events_of_a_chat_goes_on_with_its_own(self, store: InboxStore):
        first = await begun(store, "first", "me")
        [second] = await store.accept([message("second")], "you")
        assert second
        assert (await store.claim([second.seq], "you")).waiting == {second.seq}
        await store.release("me")
        assert (await store.claim([second.seq], "you")).waiting == {second.seq}, "the first one is still the first"
        await store.adopt("", "you")
        assert texts((await store.claim([first, second.seq], "you")).events) == ["first", "second"]

    async def test_events_are_taken_over_by_one_of_many(
        self, store: InboxStore, open_store: OpenInbox, clock: SteppedClock
    ):
        await accepted(store, *(message(str(n)) for n in range(40)))
        heirs = [open_store(clock) for _ in range(4)]
        pieces = await asyncio.gather(*(heir.adopt("me", f"heir{n}", limit=25) for n, heir in enumerate(heirs)))
        seqs = [ticket.seq for piece in pieces for ticket in piece]
        assert (len(seqs), len(set(seqs))) == (40, 40)
        assert sum((await store.owners()).values()) == 40

    async def test_a_repeat_at_another_process_is_a_duplicate(self, store: InboxStore, open_store: OpenInbox):
        both = {"me": store, "you": open_store(SteppedClock())}
        calls = [accepted(both[name], message(str(n), "c", f"k{n}"), owner=name) for n in range(20) for name in both]
        results = await asyncio.gather(*calls)
        assert results.count([True]) == 20
        assert sum((await store.owners()).values()) == 20

    # --- versions beside each other

    async def test_an_event_of_a_kind_that_only_another_version_knows_stops_no_other(self, store: InboxStore):
        of_newer = message("a kind of tomorrow", "square", kind=cast(MessageKind, "wave"))
        tickets = await store.accept([of_newer, message("hello")], "me")
        first, second = (ticket.seq for ticket in tickets if ticket)
        claim = await store.claim([first, second], "me")
        assert (texts(claim.events), claim.waiting, claim.unknown) == (["hello"], set(), {first})
        assert texts(await store.search()) == ["hello"]
        assert (await store.backlog()).open == 2

    async def test_an_event_that_was_set_aside_is_open_for_any_process_and_its_chat_goes_on(self, store: InboxStore):
        of_newer = message("a kind of tomorrow", kind=cast(MessageKind, "wave"))
        [[first], [second]] = [await store.accept([of_newer], "me"), await store.accept([message("hello")], "you")]
        assert first
        assert second
        await store.claim([first.seq], "me")
        assert (await store.claim([second.seq], "you")).waiting == {second.seq}
        await store.set_aside([first.seq], "you")
        assert await store.owners() == {"me": 1, "you": 1}, "only its owner sets an event aside"
        await store.set_aside([first.seq], "me")
        assert await store.owners() == {SET_ASIDE: 1, "you": 1}
        assert texts((await store.claim([second.seq], "you")).events) == ["hello"]
        assert await store.adopt(SET_ASIDE, "them", known=[first.seq]) == []
        assert [ticket.seq for ticket in await store.adopt(SET_ASIDE, "them")] == [first.seq]
        assert (await store.claim([first.seq], "them")).unknown == {first.seq}

    # --- forgetting

    async def test_the_text_of_an_event_is_removed_30_days_after_it_ended_and_its_row_stays(
        self, store: InboxStore, clock: SteppedClock
    ):
        await store.finish(await begun(store, "ended"), "me", HandlingStatus.ANSWERED)
        await accepted(store, message("open"))
        clock.advance(BODIES_KEPT_S)
        assert await store.prune() == 0
        clock.advance(1)
        assert await store.prune() == 1
        [open_, ended] = await store.search()
        assert (texts([open_]), ended.message, ended.status) == (["open"], None, InboxStatus.ANSWERED)
