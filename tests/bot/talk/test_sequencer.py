"""Messages of a chat come to the gate in the order in which they were received."""

import asyncio
import random

import pytest
from tests.bot.bench import Bench, text_of
from tests.bot.conftest import MakeBench
from tests.clocks import SteppedClock
from tests.waiting import PATIENCE_S, eventually

from tocsin.bot.executor import QUEUE_FULL
from tocsin.bot.settings import BotSettings
from tocsin.bot.talk.sequencer import LONGEST_S, MAX_CHATS, MessageSequencer
from tocsin.channels.inbound import InboundMessage, MessageKind
from tocsin.messaging.inbound.handling import MessageContext


def received(id: str, chat: str = "7") -> MessageContext:
    return MessageContext(id, InboundMessage("botchat", MessageKind.MESSAGE, id, (id,), chat))


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
def clock() -> SteppedClock:
    return SteppedClock()


async def test_whoever_comes_early_waits_for_those_before_and_only_in_one_chat(clock: SteppedClock):
    sequencer, came = MessageSequencer(clock), list[str]()

    async def come(id: str, chat: str = "7") -> None:
        await sequencer.turn(received(id, chat))
        came.append(id)

    for id_ in "abc":
        sequencer.begin(received(id_))
    sequencer.begin(received("d", "8"))
    async with asyncio.TaskGroup() as group:
        for id_, chat in (("c", "7"), ("b", "7"), ("d", "8")):
            group.create_task(come(id_, chat))
        await turns()
        assert came == ["d"]
        group.create_task(come("a"))
    assert came == ["d", "a", "b", "c"]
    assert len(sequencer) == 0


async def test_who_does_not_come_is_waited_for_half_a_second(clock: SteppedClock):
    sequencer = MessageSequencer(clock)
    for id_ in "ab":
        sequencer.begin(received(id_))
    waiting = asyncio.create_task(sequencer.turn(received("b")))
    await turns()
    clock.advance(LONGEST_S - 0.1)
    await turns()
    assert not waiting.done()
    clock.advance(0.1)
    await asyncio.wait_for(waiting, PATIENCE_S)


async def test_who_was_never_announced_need_not_wait(clock: SteppedClock):
    sequencer = MessageSequencer(clock)
    sequencer.begin(received("a"))
    await asyncio.wait_for(sequencer.turn(received("b")), PATIENCE_S)


async def test_what_never_comes_is_forgotten(clock: SteppedClock):
    sequencer = MessageSequencer(clock)
    for number in range(MAX_CHATS + 50):
        sequencer.begin(received(str(number), chat=str(number)))
    assert len(sequencer) == MAX_CHATS


async def test_what_a_trigger_answered_is_forgotten_with_the_next_message(clock: SteppedClock):
    sequencer = MessageSequencer(clock)
    sequencer.begin(received("a"))
    clock.advance(LONGEST_S)
    sequencer.begin(received("b"))
    sequencer.leave(received("b"))
    assert len(sequencer) == 0


def read_slowly(bench: Bench, dice: random.Random) -> None:
    """Let the store of chats be as slow as a disk, now and then."""

    async def late(chat_id: str) -> object:
        for _ in range(dice.randrange(10)):
            await asyncio.sleep(0)
        return await standing(chat_id)

    standing = bench.bot.access.read_state
    bench.bot.access.read_state = late  # type: ignore[method-assign,assignment]


async def test_commands_take_effect_in_their_order_and_before_the_messages_after_them(make_bench: MakeBench):
    bench: Bench = make_bench(BotSettings(allowed=frozenset({"7"})))
    read_slowly(bench, random.Random(3))
    for mode in ("skill", "chat") * 5:
        other = "chat" if mode == "skill" else "skill"
        sent = [asyncio.create_task(bench.send(text)) for text in (f"/mode {other}", f"/mode {mode}", "hello")]
        answer = text_of((await asyncio.gather(*sent))[-1])
        assert (answer == "You said: hello") is (mode == "chat")
        assert text_of(await bench.send("/mode")) == f"This chat is in {mode} mode."


async def test_a_flood_is_let_in_as_it_came_and_only_the_last_ones_are_turned_away(make_bench: MakeBench):
    bench: Bench = make_bench(BotSettings(allowed=frozenset({"7"}), per_chat=2, overflow=10))
    assert bench.provider is not None
    read_slowly(bench, random.Random(1))
    bench.provider.reply = None
    running = [asyncio.create_task(bench.send(f"m{number}")) for number in range(20)]
    # An answer makes room for one more, so that all must have come before the first.
    await eventually(lambda: sum(task.done() for task in running) == 8)
    for done in range(12):
        await eventually(lambda done=done: bench.provider.calls[done:])
        bench.provider.calls[done].answer("ok")
    verdicts = await asyncio.gather(*running)
    assert [call.turns[-1] for call in bench.provider.calls] == [f"user: m{number}" for number in range(12)]
    assert [verdict.reason for verdict in verdicts] == [""] * 12 + [QUEUE_FULL] * 8
