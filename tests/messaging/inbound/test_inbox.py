"""What was accepted is worked off, also across a kill, and nobody waits for somebody else."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.messaging.inbound.inbox_hall import (
    Hall,
    echo,
    facts,
    failing,
    killed,
    message,
    partly,
    running,
    statuses,
    texts,
)
from tests.waiting import PATIENCE_S
from tests.waiting import eventually as until

from tocsin.channels.contract import COMMONMARK
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.core.errors import ChannelError, StoreUnavailableError
from tocsin.core.process.presence import SILENCE_S
from tocsin.core.storage.database import DatabaseError
from tocsin.messaging.inbound.handling import Handler, HandlerResult, HandlingStatus, MessageContext, Reply
from tocsin.messaging.inbound.inbox import DRAIN_S, SWEEP_S
from tocsin.messaging.inbound.lanes import OF_ONE_CHAT
from tocsin.messaging.inbound.store import SET_ASIDE
from tocsin.messaging.inbound.work import BROKEN, GIVEN_UP, MAX_ATTEMPTS

CONTEXT = {"token": "length limit"}


@pytest.fixture
async def hall(tmp_path: Path) -> AsyncIterator[Hall]:
    hall = Hall.build(tmp_path)
    yield hall
    await hall.database.aclose()


def saying(*replies: Reply, ending: HandlingStatus = HandlingStatus.ANSWERED) -> Handler:
    async def handler(received: MessageContext) -> HandlerResult:
        return HandlerResult(ending, replies, "as the test says")

    return handler


class Gate:
    """A handler that waits for its opening, and notes what came in."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.came: list[MessageContext] = []

    async def __call__(self, received: MessageContext) -> HandlerResult:
        await received.begin()
        self.came.append(received)
        await self.open.wait()
        return await echo(received)

    def texts(self) -> list[str]:
        return [received.message.text for received in self.came]


# --- the way of an event


async def test_an_accepted_event_is_handled_and_its_replies_are_queued_in_order(hall: Hall):
    inbox = hall.inbox(saying(Reply("one"), Reply("*two*", COMMONMARK)))
    async with running(inbox):
        assert await inbox.accept([message("hello", "tower", "k")]) == [True]
        [entry] = await hall.ended()
    assert (entry.status, entry.reason) == ("answered", "as the test says")
    queued = await hall.queued()
    assert [(d.target, d.message, d.parse_mode) for d in queued] == [
        ("tower", "one", "plain"),
        ("tower", "*two*", "commonmark"),
    ]
    assert [d.idempotency_key for d in queued] == [f"inbox:{entry.id}:0", f"inbox:{entry.id}:1"]


async def test_a_reply_carries_what_the_channel_and_what_the_handler_have_for_it(hall: Hall):
    inbox = hall.inbox(saying(Reply("yes", extra={"buttons": [["a", "b"]], "thread": "mine"})))
    async with running(inbox):
        await inbox.accept([message(thread_id="t")])
        await hall.ended()
    [delivery] = await hall.queued()
    assert delivery.extra == {"reply_to": "1", "thread": "mine", "buttons": [["a", "b"]]}


async def test_the_first_handler_that_feels_concerned_answers(hall: Hall):
    asked: list[str] = []

    async def deaf(received: MessageContext) -> None:
        asked.append(received.message.text)

    inbox = hall.inbox(deaf, saying(Reply("first")), saying(Reply("second")))
    async with running(inbox):
        await inbox.accept([message()])
        await hall.ended()
    assert (asked, await hall.replies()) == (["hello"], [("tower", "first")])


@pytest.mark.parametrize("handlers", [[], [saying(ending=HandlingStatus.IGNORED)]])
async def test_what_concerns_nobody_is_ignored(hall: Hall, handlers: list[Handler]):
    inbox = hall.inbox(*handlers)
    async with running(inbox):
        await inbox.accept([message()])
        assert statuses(await hall.ended()) == ["ignored"]
    assert await hall.replies() == []


async def test_a_duplicate_is_worked_on_once(hall: Hall):
    inbox = hall.inbox(echo)
    async with running(inbox):
        assert await inbox.accept([message("a", "c", "k"), message("a", "c", "k")]) == [True, False]
        assert await inbox.accept([message("a", "c", "k")]) == [False]
        await hall.ended()
    assert await hall.replies() == [("c", "a")]


async def test_what_follows_an_answer_happens_once_it_is_queued_and_the_event_has_ended(hall: Hall):
    seen: list[tuple[list[str], int]] = []

    async def done() -> None:
        seen.append((statuses(await hall.store.search()), len(await hall.queued())))

    async def handler(_: MessageContext) -> HandlerResult:
        return HandlerResult(HandlingStatus.ANSWERED, (Reply("yes"),), done=done)

    inbox = hall.inbox(handler)
    async with running(inbox):
        await inbox.accept([message()])
        await until(lambda: seen)
    assert seen == [(["answered"], 1)]


async def test_what_follows_an_answer_may_fail(hall: Hall, caplog: pytest.LogCaptureFixture):
    async def done() -> None:
        raise ZeroDivisionError

    async def handler(_: MessageContext) -> HandlerResult:
        return HandlerResult(HandlingStatus.ANSWERED, (Reply("yes"),), done=done)

    inbox = hall.inbox(handler)
    async with running(inbox):
        await inbox.accept([message()])
        assert statuses(await hall.ended()) == ["answered"]
        await until(lambda: "follow-up of a reply failed" in caplog.text)


async def test_the_place_to_go_on_from_is_stored_with_the_events(hall: Hall):
    inbox = hall.inbox()
    assert await inbox.cursor("poller") is None
    await inbox.accept([message()], cursor=("poller", 7))
    assert await inbox.cursor("poller") == 7


async def test_what_cannot_be_stored_is_an_error_of_whoever_wants_to_acknowledge_it(hall: Hall):
    inbox = hall.inbox(echo)
    await hall.database.aclose()
    with pytest.raises(DatabaseError):
        await inbox.accept([message()])
    assert hall.audit("msg.receive") == []


# --- audit and numbers


async def test_every_new_event_is_one_entry_without_its_text(hall: Hall):
    inbox = hall.inbox(echo)
    async with running(inbox):
        await inbox.accept([message("very private", "tower", "k", sender_id="7")])
        await inbox.accept([message("very private", "tower", "k", sender_id="7")])
        [entry] = await hall.ended()
    [received] = hall.audit("msg.receive")
    assert facts(received) == {
        "event": entry.id,
        "channel": "bell",
        "chat": "tower",
        "sender": "7",
        "kind": "message",
        "keys": ["k"],
    }
    assert "very private" not in (hall.place / "audit.log").read_text()
    assert hall.audit("msg.handle") == []


async def test_events_are_counted_as_they_come_and_as_they_end(hall: Hall):
    received: list[tuple[str, ...]] = []
    ended: list[tuple[str, HandlingStatus]] = []
    inbox = hall.inbox(echo, on_received=lambda *what: received.append(what), on_ended=lambda *what: ended.append(what))
    async with running(inbox):
        await inbox.accept([message("a", "c", "k"), message("a", "c", "k")])
        await until(lambda: ended)
    assert received == [("bell", "message", "new"), ("bell", "message", "duplicate")]
    assert ended == [("bell", HandlingStatus.ANSWERED)]


# --- acknowledging


async def test_who_speaks_to_us_sees_that_it_was_read_and_others_in_the_room_do_not(hall: Hall):
    inbox = hall.inbox(echo)
    async with running(inbox):
        await inbox.accept(
            [
                message("private"),
                message("mention", chat_type="group", mentions_bot=True),
                message("command", chat_type="group", kind=MessageKind.COMMAND),
                message("button", chat_type="group", kind=MessageKind.CALLBACK),
                message("others", chat_type="group"),
            ]
        )
        await hall.ended(5)
    assert sorted(hall.ear.acknowledged) == ["button", "command", "mention", "private"]


async def test_the_program_decides_who_learns_that_it_is_there(hall: Hall):
    async def may_acknowledge(received: InboundMessage) -> bool:
        if received.chat_id == "broken":
            raise ZeroDivisionError
        return received.chat_id == "tower"

    inbox = hall.inbox(echo, may_acknowledge=may_acknowledge)
    async with running(inbox):
        await inbox.accept([message("a", "tower"), message("b", "stranger"), message("c", "broken")])
        assert statuses(await hall.ended(3)) == ["answered"] * 3
    assert hall.ear.acknowledged == ["a"]


async def test_what_a_muted_chat_says_is_not_acknowledged(hall: Hall):
    inbox = hall.inbox(echo, limit=1)
    async with running(inbox):
        for number in range(4):
            await inbox.accept([message(str(number))])
            await hall.ended(number + 1)
    assert hall.ear.acknowledged == ["0", "1"]


async def test_the_spinner_of_a_button_ends_for_everybody(hall: Hall):
    async def nobody(_: InboundMessage) -> bool:
        return False

    async def ignore(_: MessageContext) -> HandlerResult:
        return HandlerResult(HandlingStatus.IGNORED)

    inbox = hall.inbox(ignore, may_acknowledge=nobody)
    async with running(inbox):
        await inbox.accept([message("button", kind=MessageKind.CALLBACK, callback_id="9"), message("text")])
        await hall.ended(2)
    assert hall.ear.acknowledged == ["button"]
    assert await hall.replies() == []


async def test_an_acknowledgement_is_under_way_before_the_work_begins(hall: Hall):
    order: list[str] = []

    async def acknowledge(_: InboundMessage) -> None:
        order.append("acknowledged")

    async def handler(_: MessageContext) -> None:
        order.append("handled")

    hall.ear.on_acknowledge = acknowledge
    inbox = hall.inbox(handler)
    async with running(inbox):
        await inbox.accept([message()])
        await hall.ended()
    assert order == ["acknowledged", "handled"]


async def test_an_acknowledgement_that_fails_or_hangs_costs_no_answer(hall: Hall):
    hall.ear.on_acknowledge = failing(ChannelError("no rights"))
    inbox = hall.inbox(echo)
    async with running(inbox):
        await inbox.accept([message("fails")])
        await hall.ended()
        hanging = asyncio.Event()

        async def hang(_: InboundMessage) -> None:
            await hanging.wait()

        hall.ear.on_acknowledge = hang
        await inbox.accept([message("hangs")])
        assert statuses(await hall.ended(2)) == ["answered", "answered"]
        hanging.set()


# --- failures


async def test_a_handler_that_fails_is_logged_and_the_person_is_told_without_internals(
    hall: Hall, caplog: pytest.LogCaptureFixture
):
    async def broken(_: MessageContext) -> HandlerResult:
        raise ZeroDivisionError("very internal")

    inbox = hall.inbox(broken)
    async with running(inbox):
        await inbox.accept([message()])
        [entry] = await hall.ended()
    assert (entry.status, entry.reason) == ("failed", "unexpected ZeroDivisionError")
    assert await hall.replies() == [("tower", BROKEN)]
    assert "very internal" not in BROKEN
    assert "ZeroDivisionError: very internal" in caplog.text
    [failure] = hall.audit("msg.handle")
    assert (facts(failure)["ok"], facts(failure)["event"]) == (False, entry.id)
    assert "very internal" not in failure.detail


async def test_who_shall_not_know_that_we_are_there_is_not_told_of_a_failure_either(hall: Hall):
    async def broken(_: MessageContext) -> HandlerResult:
        raise ZeroDivisionError

    async def nobody(_: InboundMessage) -> bool:
        return False

    inbox = hall.inbox(broken, may_acknowledge=nobody)
    async with running(inbox):
        await inbox.accept([message()])
        assert statuses(await hall.ended()) == ["failed"]
    assert await hall.replies() == []


async def test_a_store_that_is_away_for_a_moment_costs_no_message(hall: Hall, caplog: pytest.LogCaptureFixture):
    asked: list[str] = []

    async def unlucky(received: MessageContext) -> HandlerResult:
        asked.append(received.message.text)
        if len(asked) < 3:
            raise StoreUnavailableError("the disk is full")
        return await echo(received)

    inbox = hall.inbox(unlucky)
    async with running(inbox):
        await inbox.accept([message()])
        for number in (1, 2):
            await until(lambda number=number: len(asked) == number)
            await until(lambda number=number: caplog.text.count("waits until the store") == number)
            await asyncio.sleep(0)
            hall.clock.advance(1)
        assert statuses(await hall.ended()) == ["answered"]
    assert await hall.replies() == [("tower", "hello")]


async def test_who_did_not_speak_to_us_is_not_told_of_a_failure(hall: Hall):
    async def broken(_: MessageContext) -> HandlerResult:
        raise ZeroDivisionError

    inbox = hall.inbox(broken)
    async with running(inbox):
        await inbox.accept([message(chat_type="group"), message("you!", chat_type="group", mentions_bot=True)])
        assert statuses(await hall.ended(2)) == ["failed", "failed"]
    assert await hall.replies() == [("tower", BROKEN)]


@pytest.mark.parametrize("error", [SystemExit, asyncio.CancelledError, GeneratorExit, MemoryError])
async def test_whatever_a_handler_raises_the_others_go_on(hall: Hall, error: type[BaseException]):
    async def broken(received: MessageContext) -> HandlerResult | None:
        if received.message.text == "bad":
            raise error
        return await echo(received)

    inbox = hall.inbox(broken)
    async with running(inbox):
        await inbox.accept([message("bad"), message("good", "gate")])
        await hall.ended(2)
        await inbox.accept([message("later", "gate")])
        assert statuses(await hall.ended(3)) == ["failed", "answered", "answered"]


async def test_a_reply_that_cannot_be_kept_is_a_failure_of_its_handler(hall: Hall):
    inbox = hall.inbox(saying(Reply("x", extra={"what": object()})))
    async with running(inbox):
        await inbox.accept([message()])
        assert statuses(await hall.ended()) == ["failed"]
    assert await hall.replies() == [("tower", BROKEN)]


async def test_a_reply_that_can_never_be_sent_ends_as_failed_with_the_reason(hall: Hall):
    inbox = hall.inbox(echo)
    async with running(inbox):
        await inbox.accept([message("hello", "nowhere")])
        [entry] = await hall.ended()
    assert (entry.status, "reply" in entry.reason) == ("failed", True)
    assert facts(hall.audit("msg.handle")[0])["chat"] == "nowhere"


async def test_an_event_of_a_channel_that_is_gone_ends_as_failed(hall: Hall):
    inbox = hall.inbox(echo)
    async with running(inbox):
        await inbox.accept([replace(message(), channel="siren")])
        [entry] = await hall.ended()
    assert entry.status == "failed"
    assert "Unknown channel: siren" in entry.reason


# --- a store that is away


class Moody:
    """Lends the store; while `away`, it fails."""

    def __init__(self, hall: Hall) -> None:
        self._store = hall.store
        self.away = False
        self.failed: list[str] = []

    def __getattr__(self, name: str):
        method = getattr(self._store, name)

        async def call(*args: object, **keywords: object) -> object:
            if self.away:
                self.failed.append(name)
                raise DatabaseError("the disk is full")
            return await method(*args, **keywords)

        return call


async def test_an_outcome_waits_for_the_store_to_come_back(hall: Hall):
    store, gate = Moody(hall), Gate()
    inbox = hall.inbox(gate, store=store)
    async with running(inbox):
        await inbox.accept([message()])
        await until(lambda: gate.came)
        store.away = True
        gate.open.set()
        await until(lambda: "outcome" in store.failed)
        store.away = False
        for _ in range(5):
            hall.clock.advance(1)
            await asyncio.sleep(0)
        assert statuses(await hall.ended()) == ["answered"]
    assert [received.attempt for received in gate.came] == [1]


async def test_the_inbox_says_when_it_cannot_work_and_goes_on_by_itself(hall: Hall, caplog: pytest.LogCaptureFixture):
    store = Moody(hall)
    inbox = hall.inbox(echo, store=store)

    def problem_after(seconds: float) -> str:
        hall.clock.advance(seconds)
        return inbox.problem

    async with running(inbox):
        await inbox.accept([message("one")])
        await hall.ended()
        store.away = True
        await until(lambda: problem_after(SWEEP_S))
        assert "disk" in inbox.problem
        store.away = False
        await until(lambda: not problem_after(1))
        await inbox.accept([message("two")])
        await hall.ended(2)
    assert caplog.text.count("the inbox cannot be processed") == 1


# --- side by side


async def test_a_backlog_of_one_chat_delays_no_other_and_no_command(hall: Hall):
    gate = Gate()

    async def handler(received: MessageContext) -> HandlerResult:
        busy = received.message.chat_id == "busy" and received.message.kind is MessageKind.MESSAGE
        return await (gate if busy else echo)(received)

    inbox = hall.inbox(handler)
    async with running(inbox):
        await inbox.accept([message(str(n), "busy") for n in range(200)])
        await until(lambda: len(gate.came) == OF_ONE_CHAT)
        await inbox.accept([message("quiet", "other"), message("/cancel", "busy", kind=MessageKind.COMMAND)])
        ended = [entry for entry in await hall.ended(2) if entry.finished_at]
        assert sorted(texts(ended)) == ["/cancel", "quiet"]
        assert len(gate.came) == OF_ONE_CHAT
        gate.open.set()
        await hall.ended(202)
    assert gate.texts()[:OF_ONE_CHAT] == [str(n) for n in range(OF_ONE_CHAT)]


# --- backlog


async def test_what_came_before_the_start_or_was_sent_before_it_is_known_as_backlog(hall: Hall):
    await hall.store.accept([message("stored before")], "")
    hall.clock.advance(10)
    gate = Gate()
    gate.open.set()
    inbox = hall.inbox(gate)
    async with running(inbox):
        now = hall.clock.now()
        await inbox.accept(
            [
                message("sent before", sent_at=now - 1),
                message("sent now", sent_at=now),
                message("sent in the second of the start, by a clock of whole seconds", sent_at=now - 0.999),
                message("undated"),
                message("sent long before, so it did not wait for us", sent_at=now - 3 * 86400),
                message("fetched late", sent_at=now, waited=True),
                message("fetched at once", sent_at=now - 1, waited=False),
            ]
        )
        await hall.ended(8)
    assert {received.message.text: received.backlog for received in gate.came} == {
        "stored before": True,
        "sent before": True,
        "sent now": False,
        "sent in the second of the start, by a clock of whole seconds": False,
        "undated": False,
        "sent long before, so it did not wait for us": False,
        "fetched late": True,
        "fetched at once": False,
    }


# --- the brake


async def test_a_loop_is_muted_logged_once_noted_and_notified(hall: Hall, caplog: pytest.LogCaptureFixture):
    asked: list[str] = []

    async def handler(received: MessageContext) -> HandlerResult:
        asked.append(received.message.text)
        return await echo(received)

    inbox = hall.inbox(handler, limit=3)
    async with running(inbox):
        for number in range(6):
            await inbox.accept([message(str(number))])
            await hall.ended(number + 1)
        await inbox.accept([message("elsewhere", "gate")])
        entries = await hall.ended(7)
    assert statuses(entries) == ["answered"] * 3 + ["ignored"] * 3 + ["answered"]
    assert asked == ["0", "1", "2", "3", "elsewhere"]
    assert caplog.text.count("a chat was muted") == 1
    [entry] = hall.audit("msg.brake")
    assert facts(entry) == {"channel": "bell", "chat": "tower"}
    [told] = hall.notified
    assert told.startswith("more than 3 replies in 60 s on Bell in chat tower: muted for 5 minutes")


async def test_a_backlog_is_answered_however_much_it_is(hall: Hall):
    await hall.store.accept([message(str(n)) for n in range(10)], "")
    hall.clock.advance(1)
    inbox = hall.inbox(echo, limit=3)
    async with running(inbox):
        assert statuses(await hall.ended(10)) == ["answered"] * 10
    assert hall.notified == []


async def test_a_notification_that_fails_is_logged_and_changes_nothing(hall: Hall, caplog: pytest.LogCaptureFixture):
    async def broken(_: str) -> None:
        raise ZeroDivisionError

    inbox = hall.inbox(echo, limit=1, notify=broken)
    async with running(inbox):
        await inbox.accept([message("1"), message("2")])
        assert sorted(statuses(await hall.ended(2))) == ["answered", "ignored"]
    assert "notification" in caplog.text


# --- direct answers


async def hinting(_: MessageContext) -> HandlerResult:
    return HandlerResult(HandlingStatus.IGNORED, reason="no rule", hint="there are no rules")


async def test_a_hint_is_told_to_the_person_alone_and_never_queued(hall: Hall):
    inbox = hall.inbox(hinting)
    async with running(inbox):
        await inbox.accept([message(reply_context=CONTEXT)])
        assert statuses(await hall.ended()) == ["ignored"]
    assert (hall.ear.whispered, hall.ear.answered) == ([("hello", "there are no rules")], [])
    assert await hall.replies() == []


@pytest.mark.parametrize("error", [ChannelError("too late"), ZeroDivisionError()])
async def test_a_hint_that_cannot_be_told_is_no_failure(hall: Hall, error: Exception):
    hall.ear.on_whisper = failing(error)
    inbox = hall.inbox(hinting)
    async with running(inbox):
        await inbox.accept([message()])
        assert statuses(await hall.ended()) == ["ignored"]
    assert await hall.replies() == []


async def test_a_single_plain_reply_goes_the_direct_way_that_came_with_the_message(hall: Hall):
    inbox = hall.inbox(echo)
    async with running(inbox):
        await inbox.accept([message(reply_context=CONTEXT)])
        assert statuses(await hall.ended()) == ["answered"]
    assert (hall.ear.answered, await hall.replies()) == ([("hello", "hello")], [])
    [entry] = hall.audit("msg.send")
    assert {name: value for name, value in facts(entry).items() if name != "event"} == {
        "channel": "bell",
        "target": "tower",
        "ok": True,
    }
    assert "hello" not in entry.detail


async def test_markdown_goes_the_direct_way_of_a_channel_that_can_show_it(hall: Hall):
    inbox = hall.inbox(saying(Reply("*x*", COMMONMARK)))
    hall.ear.answers_markdown = True  # type: ignore[misc]  # of this one
    async with running(inbox):
        await inbox.accept([message(reply_context=CONTEXT)])
        await hall.ended()
    assert (hall.ear.answered, hall.ear.answered_in, await hall.replies()) == ([("hello", "*x*")], [COMMONMARK], [])


@pytest.mark.parametrize(
    "replies",
    [(Reply("one"), Reply("two")), (Reply("*x*", COMMONMARK),)],
)
async def test_other_replies_go_through_the_queue(hall: Hall, replies: tuple[Reply, ...]):
    inbox = hall.inbox(saying(*replies))
    async with running(inbox):
        await inbox.accept([message(reply_context=CONTEXT)])
        await hall.ended()
    assert hall.ear.answered == []
    assert [text for _, text in await hall.replies()] == [reply.text for reply in replies]


@pytest.mark.parametrize("error", [ChannelError("expired"), ZeroDivisionError()])
async def test_a_direct_way_that_does_not_work_is_replaced_by_the_queue(hall: Hall, error: Exception):
    hall.ear.on_answer = failing(error)
    inbox = hall.inbox(echo)
    async with running(inbox):
        await inbox.accept([message(reply_context=CONTEXT)])
        assert statuses(await hall.ended()) == ["answered"]
    assert await hall.replies() == [("tower", "hello")]


@pytest.mark.parametrize(("unsent", "queued"), [("the rest", [("tower", "the rest")]), ("", [])])
async def test_of_a_direct_answer_that_broke_off_only_the_rest_is_queued(
    hall: Hall, unsent: str, queued: list[tuple[str, str]]
):
    hall.ear.on_answer = partly(unsent)
    inbox = hall.inbox(echo)
    async with running(inbox):
        await inbox.accept([message(reply_context=CONTEXT)])
        assert statuses(await hall.ended()) == ["answered"]
    assert await hall.replies() == queued


async def test_what_answers_directly_is_forgotten_after_half_an_hour(hall: Hall):
    inbox = hall.inbox(echo)
    await inbox.accept([message(reply_context=CONTEXT)])
    hall.clock.advance(1800)
    async with running(inbox):
        await hall.ended()
    assert (hall.ear.answered, await hall.replies()) == ([], [("tower", "hello")])


# --- across a kill


async def test_work_that_a_kill_cut_off_begins_anew(hall: Hall):
    gate, again = Gate(), Gate()
    first, second = hall.inbox(gate, owner="first"), hall.inbox(again, owner="second")
    async with killed(first):
        await first.accept([message("one"), message("two", "gate")])
        await until(lambda: len(gate.came) == 2)
    hall.dead.add("first")
    again.open.set()
    async with running(second):
        assert statuses(await hall.ended(2)) == ["answered", "answered"]
    assert [(received.attempt, received.id) for received in again.came] == [(2, r.id) for r in gate.came]
    assert sorted(await hall.replies()) == [("gate", "two"), ("tower", "one")]
    assert hall.buried == ["first"]


async def test_after_thirty_attempts_an_event_fails_and_the_person_is_told(hall: Hall):
    gate = Gate()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        inbox = hall.inbox(gate, owner=f"p{attempt}")
        async with killed(inbox):
            if attempt == 1:
                await inbox.accept([message()])
            await until(lambda attempt=attempt: len(gate.came) == attempt)
        hall.dead.add(f"p{attempt}")
    async with running(hall.inbox(gate, owner="last")):
        assert statuses(await hall.ended()) == ["failed"]
    assert [received.attempt for received in gate.came] == [*range(1, 31)]
    assert await hall.replies() == [("tower", GIVEN_UP)]


async def test_what_only_waited_for_its_turn_when_the_process_died_is_not_given_up(hall: Hall):
    came: list[int] = []

    async def waiting(received: MessageContext) -> HandlerResult:
        came.append(received.attempt)
        await asyncio.Event().wait()
        return await echo(received)

    for number in range(MAX_ATTEMPTS + 1):
        inbox = hall.inbox(waiting, owner=f"p{number}")
        async with killed(inbox):
            if number == 0:
                await inbox.accept([message()])
            await until(lambda number=number: len(came) == number + 1)
        hall.dead.add(f"p{number}")
    async with running(hall.inbox(echo, owner="last")):
        assert statuses(await hall.ended()) == ["answered"]
    assert set(came) == {1}


class Dying:
    """Lends the store and stops answering at one call, as for a process that is killed there."""

    def __init__(self, hall: Hall, at: str, *, before: bool) -> None:
        self._store = hall.store
        self._at = at
        self._before = before
        self.reached = asyncio.Event()

    def __getattr__(self, name: str):
        method = getattr(self._store, name)

        async def call(*args: object, **keywords: object) -> object:
            if name == self._at and self._before:
                self.reached.set()
                await asyncio.Event().wait()
            result = await method(*args, **keywords)
            if name == self._at:
                self.reached.set()
                await asyncio.Event().wait()
            return result

        return call


@pytest.mark.parametrize("at", ["claim", "outcome", "finish"])
@pytest.mark.parametrize("before", [True, False])
async def test_a_message_is_answered_once_wherever_the_process_is_killed(hall: Hall, at: str, *, before: bool):
    calls: list[str] = []

    async def handler(received: MessageContext) -> HandlerResult:
        calls.append(received.message.text)
        return await echo(received)

    store = Dying(hall, at, before=before)
    first = hall.inbox(handler, owner="first", store=store)
    async with killed(first):
        await first.accept([message()])
        await store.reached.wait()
    hall.dead.add("first")
    async with running(hall.inbox(handler, owner="second")):
        assert statuses(await hall.ended()) == ["answered"]
    assert await hall.replies() == [("tower", "hello")]
    worked_twice = at == "outcome" and before
    assert len(calls) == 1 + worked_twice


async def test_what_was_accepted_for_a_caller_who_has_gone_is_found(hall: Hall):
    store = Dying(hall, "accept", before=False)
    inbox = hall.inbox(echo, store=store)
    async with running(inbox):
        await hall.store.accept([], "me")
        accepting = asyncio.create_task(inbox.accept([message()]))
        await store.reached.wait()
        accepting.cancel()
        ending = asyncio.create_task(hall.ended())
        while not ending.done():  # a sweep that had begun before may not have seen it
            hall.clock.advance(SWEEP_S)
            await asyncio.sleep(0.001)
        assert statuses(await ending) == ["answered"]


async def test_the_messages_of_a_process_that_lives_are_left_alone(hall: Hall):
    await hall.store.accept([message()], "living")
    hall.alive.add("living")
    inbox = hall.inbox(echo)
    async with running(inbox):
        for _ in range(100):
            hall.clock.advance(SWEEP_S)
            await asyncio.sleep(0.001)
    assert statuses(await hall.store.search()) == ["new"]


async def test_of_a_process_of_which_nothing_is_known_a_minute_of_silence_is_proof(hall: Hall):
    gate = Gate()
    gate.open.set()
    await hall.store.accept([message()], "elsewhere")
    inbox = hall.inbox(gate)

    async def pass_time(seconds: float) -> None:
        for _ in range(round(seconds / SWEEP_S)):
            hall.clock.advance(SWEEP_S)
            await hall.database.read(lambda c: c.execute("SELECT 1").fetchall())
            await asyncio.sleep(0.005)

    async with running(inbox):
        await pass_time(SILENCE_S - 4)
        await hall.process("elsewhere").beat()
        await pass_time(SILENCE_S - 4)
        assert gate.came == []
        async with asyncio.timeout(PATIENCE_S):
            while not gate.came:
                await pass_time(SWEEP_S)
        await hall.ended()
    assert gate.texts() == ["hello"]


async def test_a_process_with_open_messages_gives_signs_of_life(hall: Hall):
    gate = Gate()
    inbox = hall.inbox(gate)
    async with running(inbox):
        await inbox.accept([message()])
        await until(lambda: gate.came)
        beats = set()
        async with asyncio.timeout(PATIENCE_S):
            while len(beats) < 3:
                hall.clock.advance(SWEEP_S)
                await asyncio.sleep(0.001)
                beats.add((await hall.beats()).get("me"))
        gate.open.set()
        await hall.ended()


async def test_who_was_taken_for_dead_and_is_not_sends_nothing(hall: Hall, caplog: pytest.LogCaptureFixture):
    gate = Gate()
    slow, quick = hall.inbox(gate, owner="slow"), hall.inbox(saying(Reply("from quick")), owner="quick")
    async with running(slow):
        await slow.accept([message()])
        await until(lambda: gate.came)
        hall.dead.add("slow")
        async with running(quick):
            await hall.ended()
        gate.open.set()
        await until(lambda: "process" in caplog.text)
    assert await hall.replies() == [("tower", "from quick")]


# --- stopping


async def test_a_stop_lets_the_work_end_and_begins_nothing_more(hall: Hall):
    gate = Gate()
    inbox = hall.inbox(gate)
    async with running(inbox):
        await inbox.accept([message("begun")])
        await until(lambda: gate.came)
        inbox.stop()
        await inbox.accept([message("late")])
        gate.open.set()
    assert statuses((await hall.store.search())[::-1]) == ["answered", "new"]
    assert gate.texts() == ["begun"]


async def test_work_that_does_not_end_in_time_is_left_to_whoever_comes_first(hall: Hall):
    gate = Gate()
    inbox = hall.inbox(gate)
    async with running(inbox):
        await inbox.accept([message("slow")])
        await until(lambda: gate.came)
        inbox.stop()
        await hall.clock.until_asleep(DRAIN_S)
        hall.clock.advance(DRAIN_S)
    assert await hall.store.owners() == {"": 1}
    again = Gate()
    again.open.set()
    async with running(hall.inbox(again, owner="next")):
        await hall.ended()
    assert [received.attempt for received in again.came] == [2]


async def test_the_same_process_finds_what_an_earlier_inbox_of_it_left(hall: Hall):
    gate = Gate()
    inbox = hall.inbox(gate)
    async with killed(inbox):
        await inbox.accept([message()])
        await until(lambda: gate.came)
    async with running(hall.inbox(echo)):
        assert statuses(await hall.ended()) == ["answered"]


# --- beside another version


async def test_what_only_a_newer_version_knows_waits_for_it_and_everything_else_goes_on(
    hall: Hall, caplog: pytest.LogCaptureFixture
):
    await hall.store.accept([message("a kind of tomorrow", kind=cast(MessageKind, "wave"))], "newer")
    hall.dead.add("newer")

    def told() -> int:
        return sum("know" in record.message for record in caplog.records)

    for number, name in enumerate(["first", "second"], start=1):
        inbox = hall.inbox(echo, owner=name)
        async with running(inbox):
            await until(lambda number=number: told() == number)
            await inbox.accept([message(f"hello, {name}")])  # of the same chat
            await hall.ended(2 * number - 1)
            hall.clock.advance(SWEEP_S)
            await inbox.accept([message("of another chat", name)])
            await hall.ended(2 * number)
        assert await hall.store.owners() == {SET_ASIDE: 1}
    assert told() == 2, "whoever cannot read it takes it once"
    # The version that knows it comes back.
    known = "UPDATE inbox SET message = replace(message, 'wave', 'message')"
    await hall.database.write(lambda connection: connection.execute(known).rowcount)
    async with running(hall.inbox(echo, owner="newer again")):
        assert texts(await hall.ended(5))[0] == "a kind of tomorrow"


async def test_nothing_that_answers_directly_is_ever_logged(hall: Hall, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    hall.ear.on_answer = failing(ChannelError("expired"))
    hall.ear.on_acknowledge = failing(ChannelError("no"))
    inbox = hall.inbox(echo)
    async with running(inbox):
        await inbox.accept([message(reply_context=CONTEXT)])
        await hall.ended()
    assert "for one answer" not in caplog.text + repr([record.__dict__ for record in caplog.records])
