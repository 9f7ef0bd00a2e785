"""A person may cancel what another process does for the chat; two bots over one store stand for two processes."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.bot.bench import Bench, text_of

from tocsin.bot.commands import HISTORY_CLEARED, IDLE
from tocsin.bot.executor import BY_PERSON
from tocsin.bot.shared_work import LOOK_S
from tocsin.core.storage.database import DatabaseError
from tocsin.messaging.inbound.handling import HandlerResult


@pytest.fixture
async def other(bench: Bench) -> AsyncIterator[Bench]:
    """Another process of the same data directory."""
    made = Bench(bench.directory, bench.settings)
    yield made
    await made.aclose()


async def asked(bench: Bench, text: str, seq: int, **fields: object) -> "asyncio.Task[HandlerResult]":
    """Ask what the chat model does not answer yet."""
    assert bench.provider is not None
    bench.provider.reply = None
    task = asyncio.create_task(bench.send(text, seq=seq, **fields))
    await bench.settle()
    return task


async def test_cancel_ends_the_answer_that_another_process_is_making(bench: Bench, other: Bench):
    answering = await asked(bench, "why?", 1, id="asked")
    assert text_of(await other.send("/cancel", seq=2)) == "Cancelled."
    await bench.pass_time(LOOK_S)
    assert (await answering).reason == "cancelled"
    assert bench.provider is not None
    assert [call.cancelled for call in bench.provider.calls] == [True]
    assert await bench.history() == [], "a cancelled question is not part of the conversation"
    assert text_of(await other.send("/cancel", seq=3)) == IDLE


async def test_cancel_counts_what_all_processes_do_and_leaves_other_chats_alone(bench: Bench, other: Bench):
    tasks = [await asked(bench, "why?", 1, id="a"), await asked(other, "and how?", 2, id="b")]
    elsewhere = await asked(bench, "when?", 3, id="c", chat="8")
    assert text_of(await other.send("/cancel", seq=4)) == "Cancelled 2 jobs."
    await bench.pass_time(LOOK_S)
    assert [(await task).reason for task in tasks] == ["cancelled", "cancelled"]
    assert bench.provider is not None
    bench.provider.calls[-1].answer("now")
    assert text_of(await elsewhere) == "now"


async def test_the_button_under_an_answer_works_wherever_its_press_arrives(bench: Bench, other: Bench):
    answering = await asked(bench, "why?", 1, id="asked")
    assert (await other.press("cancel:asked", seq=2)).reason.startswith(BY_PERSON)
    await bench.pass_time(LOOK_S)
    assert (await answering).reason == "cancelled"


async def test_a_message_that_waited_behind_cancelled_work_is_not_answered(bench: Bench, other: Bench):
    answering = await asked(bench, "why?", 1, id="asked")
    await other.send("/cancel", seq=3)
    waited = await other.send("and how?", seq=2, id="waited")
    assert (waited.reason, waited.replies) == ("cancelled", ())
    assert text_of(await other.send("hello", seq=4, id="later")) == "You said: hello"
    await bench.pass_time(LOOK_S)
    assert (await answering).reason == "cancelled"


async def test_reset_keeps_the_answer_of_another_process_out_of_the_history(bench: Bench, other: Bench):
    answering = await asked(bench, "why?", 1, id="asked")
    assert text_of(await other.send("/reset", seq=2)) == HISTORY_CLEARED
    assert bench.provider is not None
    bench.provider.calls[0].answer("because")
    assert text_of(await answering) == "because"
    assert await bench.history() == []
    bench.provider.reply = lambda text: "now"
    await bench.send("when?", seq=3)
    assert await bench.history() == ["user: when?", "assistant: now"]


async def test_a_store_that_is_away_keeps_nobody_from_cancelling_what_is_done_here(bench: Bench):
    answering = await asked(bench, "why?", 1)
    await bench.database.aclose()
    assert await bench.bot.executor.cancel(bench.received("/cancel", seq=2)) == 1
    with pytest.raises(DatabaseError):
        await bench.bot.executor.cancel(bench.received("/cancel", seq=3))
    assert (await answering).reason == "cancelled"
