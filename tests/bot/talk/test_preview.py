"""An answer while it is being written."""

import asyncio

import pytest
from tests.bot.bench import Bench, Call, ScriptedProvider, text_of
from tests.bot.conftest import MakeBench

from tocsin.bot.settings import BotSettings
from tocsin.bot.talk.preview import FIRST_AFTER_S
from tocsin.channels.botchat.api import BotApiError
from tocsin.channels.botchat.conversation import BotchatConversation
from tocsin.channels.contract import COMMONMARK
from tocsin.core.errors import FailureKind, RemoteError
from tocsin.core.text.measures import utf16_units
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus

EVERY_S = BotchatConversation.edit_every_s
FLOOD = BotApiError(429, "Too Many Requests", {"retry_after": 7})


class Streaming:
    """One answer that is being written."""

    def __init__(self, bench: Bench, text: str = "hello", **fields: object) -> None:
        self.bench = bench
        assert bench.provider is not None
        self.provider: ScriptedProvider = bench.provider
        self.provider.reply = None
        self.before = len(self.provider.calls)
        self.task = asyncio.create_task(bench.send(text, **fields))

    @property
    def call(self) -> Call:
        return self.provider.calls[self.before]

    async def write(self, *pieces: str, after_s: float = 0) -> None:
        await self.bench.settle()
        for piece in pieces:
            self.call.write(piece)
        await self.bench.pass_time(after_s)

    async def begin(self, *pieces: str) -> None:
        """Write so early that there is a preview."""
        await self.write(*pieces)
        await self.bench.pass_time(FIRST_AFTER_S)

    async def end(self, text: str) -> HandlerResult:
        self.call.answer(text)
        return await self.verdict()

    async def verdict(self) -> HandlerResult:
        """Return what it came to, a second after its end."""
        await self.bench.settle()
        await self.bench.pass_time(EVERY_S)
        return await self.task


async def test_an_answer_that_is_whole_within_a_second_has_no_preview(bench: Bench):
    stream = Streaming(bench)
    await stream.write("Once ", after_s=0.9)
    stream.call.answer("Once upon a time.")
    verdict = await stream.task
    assert (text_of(verdict), verdict.replies[0].extra, bench.api.calls) == ("Once upon a time.", {}, [])
    await bench.pass_time(10)
    assert bench.api.calls == []


async def test_the_answer_follows_the_last_edit_after_a_second_and_holds_up_no_slot_meanwhile(bench: Bench):
    stream = Streaming(bench)
    await stream.begin("Once ")
    stream.call.answer("Once upon a time.")
    await bench.settle()
    assert not stream.task.done()
    assert bench.bot.state() == {"running": 0, "waiting": 0}
    await bench.pass_time(EVERY_S)
    assert (await stream.task).replies[0].extra == {"edit_message_id": "500"}


async def test_the_first_piece_is_a_message_and_the_next_ones_edit_it(bench: Bench):
    stream = Streaming(bench)
    await stream.begin("Once ")
    await stream.write("upon ", after_s=1)
    await stream.write("a time", after_s=1)
    assert bench.api.texts("sendMessage") == ["Once"]
    assert bench.api.texts("editMessageText") == ["Once upon", "Once upon a time"]
    assert {params.get("message_id") for method, params in bench.api.calls if method == "editMessageText"} == {500}
    await stream.end("Once upon a time.")


async def test_the_answer_takes_the_previews_place_once_and_no_call_comes_after_it(bench: Bench):
    stream = Streaming(bench)
    await stream.begin("Once ")
    await stream.write("upon ")
    verdict = await stream.end("Once upon a time.")
    (reply,) = verdict.replies
    assert (reply.text, reply.parse_mode, reply.extra) == ("Once upon a time.", COMMONMARK, {"edit_message_id": "500"})
    await bench.pass_time(10)
    assert len(bench.api.calls) == 1


async def test_a_chat_sees_at_most_one_call_a_second(bench: Bench):
    stream = Streaming(bench)
    for _ in range(24):
        await stream.write("x", after_s=0.25)
    assert len(bench.api.calls) == 5  # the first one came after a second
    await stream.end("x")


async def test_two_answers_in_one_chat_share_its_second_and_other_chats_have_their_own(bench: Bench):
    streams = [Streaming(bench)]
    await bench.settle()
    streams.append(Streaming(bench))
    await bench.settle()
    streams.append(Streaming(bench, chat="8"))
    for stream in streams:
        await stream.write("x")
    await bench.pass_time(FIRST_AFTER_S)
    assert [params["chat_id"] for _, params in bench.api.calls] == [7, 8]
    await bench.pass_time(1)
    assert [params["chat_id"] for _, params in bench.api.calls] == [7, 8, 7]
    for stream in streams:
        await stream.end("x")


async def test_what_changed_within_a_second_is_one_edit(bench: Bench):
    stream = Streaming(bench)
    await stream.begin("a", "b")
    await stream.write("c")
    await stream.write("d", after_s=1)
    assert bench.api.texts("sendMessage") + bench.api.texts("editMessageText") == ["ab", "abcd"]
    await stream.end("abcd")


async def test_blank_pieces_show_nothing(bench: Bench):
    stream = Streaming(bench)
    await stream.begin(" \n")
    assert bench.api.calls == []
    await stream.end("x")


async def test_a_preview_stands_in_the_topic_of_the_question_with_a_button_to_cancel(bench: Bench):
    stream = Streaming(bench, chat_type="group", mentions_bot=True, thread_id="3", id="event")
    await stream.begin("**x**")
    ((_, params),) = bench.api.calls
    assert params["message_thread_id"] == 3
    assert params["reply_parameters"]["allow_sending_without_reply"] is True
    assert params["reply_markup"] == {"inline_keyboard": [[{"text": "Cancel", "callback_data": "cancel:event"}]]}
    assert (params["text"], params["entities"]) == ("x", [{"type": "bold", "offset": 0, "length": 1}])
    await stream.end("x")


async def test_a_preview_is_shown_as_the_answer_will_be_though_it_is_not_finished(bench: Bench):
    stream = Streaming(bench)
    await stream.begin("A **bold")
    await stream.write("** word and `co", after_s=1)
    shown = [(params["text"], params["entities"]) for _, params in bench.api.calls]
    assert shown == [
        ("A bold", [{"type": "bold", "offset": 2, "length": 4}]),
        (
            "A bold word and co",
            [{"type": "bold", "offset": 2, "length": 4}, {"type": "code", "offset": 16, "length": 2}],
        ),
    ]
    await stream.end("x")


async def test_of_an_answer_longer_than_one_message_the_preview_shows_the_newest_part(bench: Bench):
    stream = Streaming(bench)
    await stream.begin("😀 first.\n\n")
    for number in range(160):
        await stream.write(f"Line **{number}** of a long answer.\n\n")
    await stream.write("", after_s=1)
    while len(bench.api.calls) == 1:  # rendered in a thread
        await bench.settle()
    method, params = bench.api.calls[-1]
    assert method == "editMessageText"
    assert params["text"].startswith("…\n")
    assert params["text"].endswith("Line 159 of a long answer.")
    assert 2_000 <= utf16_units(params["text"]) <= 4_000
    for entity in params["entities"]:
        inside = params["text"][entity["offset"] : entity["offset"] + entity["length"]]
        assert inside.isdigit()
    verdict = await stream.end("x")
    assert verdict.replies[0].extra == {"edit_message_id": "500"}


async def test_too_many_requests_stop_the_edits_for_as_long_as_told(bench: Bench):
    stream = Streaming(bench)
    await stream.begin("a")
    bench.api.failures = [FLOOD]
    await stream.write("b", after_s=1)
    await stream.write("c", after_s=6.9)
    assert len(bench.api.calls) == 2
    await bench.pass_time(0.2)
    assert bench.api.texts("editMessageText") == ["ab", "abc"]
    await stream.end("abc")


async def test_too_many_requests_that_the_preview_meets_hold_the_queue_and_not_the_work(make_bench: MakeBench):
    held: list[tuple[str, str, float, str]] = []

    async def hold(channel: str, target: str, seconds: float, reason: str) -> None:
        held.append((channel, target, seconds, reason))

    bench = make_bench(hold=hold)
    stream = Streaming(bench, thread_id="3")
    await stream.begin("a")
    bench.api.failures = [FLOOD]
    await stream.write("b", after_s=1)
    stream.call.answer("ab")
    await bench.settle()
    assert stream.task.done()
    assert held == [("botchat", "7/3", 7, FLOOD.sentence())]


async def test_what_too_many_requests_held_back_is_shown_without_another_piece(bench: Bench):
    stream = Streaming(bench)
    await stream.begin("a")
    bench.api.failures = [FLOOD]
    await stream.write("b", after_s=1)
    await bench.pass_time(7)
    assert bench.api.texts("editMessageText") == ["ab", "ab"]
    await stream.end("ab")


@pytest.mark.parametrize(
    "failure",
    [
        BotApiError(400, "Bad Request: message to edit not found"),
        RemoteError("no answer", kind=FailureKind.AMBIGUOUS),
    ],
)
async def test_any_other_failure_ends_the_preview_silently(bench: Bench, failure: RemoteError):
    stream = Streaming(bench)
    await stream.begin("a")
    bench.api.failures = [failure]
    await stream.write("b", after_s=1)
    await stream.write("c", after_s=10)
    assert len(bench.api.calls) == 2
    verdict = await stream.end("abc")
    assert (text_of(verdict), verdict.ending) == ("abc", HandlingStatus.ANSWERED)
    assert verdict.replies[0].extra == {"edit_message_id": "500"}


async def test_a_preview_that_could_not_be_sent_leaves_an_ordinary_answer(bench: Bench):
    bench.api.failures = [BotApiError(403, "Forbidden: bot was blocked by the user")]
    stream = Streaming(bench)
    await stream.begin("a")
    assert (await stream.end("abc")).replies[0].extra == {}


async def test_the_answer_waits_for_a_call_that_is_on_its_way(bench: Bench):
    bench.api.hold = asyncio.Event()
    stream = Streaming(bench)
    await stream.begin("a")
    stream.call.answer("abc")
    await bench.settle()
    assert not stream.task.done()
    bench.api.hold.set()
    assert (await stream.verdict()).replies[0].extra == {"edit_message_id": "500"}


async def test_a_second_attempt_after_a_crash_goes_on_with_the_same_message(bench: Bench):
    first = Streaming(bench, id="event")
    await first.begin("half an ans")
    first.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first.task
    await bench.restart()
    second = Streaming(bench, id="event", attempt=2)
    await second.write("a whole answer", after_s=2)
    assert bench.api.texts("sendMessage") == ["half an ans"]
    verdict = await second.end("a whole answer")
    assert verdict.replies[0].extra == {"edit_message_id": "500"}


async def test_the_second_attempt_takes_the_place_of_the_preview_also_without_streaming(bench: Bench):
    first = Streaming(bench, id="event")
    await first.begin("half an ans")
    first.task.cancel()
    await asyncio.wait([first.task])
    await bench.restart(BotSettings(allowed=frozenset({"7"}), streaming=False))
    bench.provider = None
    verdict = await bench.send("hello", id="event", attempt=2)
    assert (verdict.ending, verdict.replies[0].extra) == (HandlingStatus.FAILED, {"edit_message_id": "500"})


async def test_once_answered_the_preview_is_forgotten(bench: Bench):
    stream = Streaming(bench, id="event")
    await stream.begin("a")
    await stream.end("abc")
    verdict = await bench.send("/help", id="event", attempt=2)
    assert verdict.replies[0].extra == {}
    assert await bench.database.read(lambda c: c.execute("SELECT count(*) FROM bot_previews").fetchone()[0]) == 0


async def test_a_cancelled_answer_is_sealed_as_far_as_it_was_written(bench: Bench):
    stream = Streaming(bench)
    await stream.begin("half **an** ans")
    await bench.send("/cancel")
    verdict = await stream.verdict()
    (reply,) = verdict.replies
    assert verdict.ending is HandlingStatus.ANSWERED
    assert (reply.text, reply.extra) == ("half **an** ans\n\n(cancelled)", {"edit_message_id": "500"})
    assert reply.parse_mode == COMMONMARK
    assert await bench.history() == []


async def test_code_that_was_cancelled_on_its_way_ends_before_the_word_that_says_so(bench: Bench):
    stream = Streaming(bench)
    await stream.begin("```sh\nls -l")
    await bench.send("/cancel")
    assert text_of(await stream.verdict()) == "```sh\nls -l\n```\n\n(cancelled)"


async def test_a_bug_leaves_no_half_answer(bench: Bench):
    stream = Streaming(bench)
    await stream.begin("half an ans")
    stream.call.outcome.set_exception(ZeroDivisionError())
    verdict = await stream.verdict()
    assert verdict.ending is HandlingStatus.FAILED
    assert verdict.replies[0].extra == {"edit_message_id": "500"}
    assert "half" not in text_of(verdict)


async def test_an_answer_that_begins_anew_is_shown_from_its_beginning(bench: Bench):
    stream = Streaming(bench)
    await stream.begin("the first mod")
    assert stream.call.on_restart is not None
    stream.call.on_restart()
    await stream.write("the fallback", after_s=1)
    assert bench.api.texts("editMessageText") == ["the fallback"]
    await stream.end("the fallback answers")


async def test_streaming_can_be_switched_off(make_bench: MakeBench):
    bench = make_bench(BotSettings(allowed=frozenset({"7"}), streaming=False))
    stream = Streaming(bench)
    await bench.settle()
    assert stream.call.on_text is None
    assert (await stream.end("abc")).replies[0].extra == {}
    assert bench.api.calls == []
