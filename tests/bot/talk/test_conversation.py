"""Chat mode: history, gate, provider, answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from tests.bot.bench import Bench, ScriptedProvider, silent, text_of
from tests.bot.conftest import MakeBench

from tocsin.bot import executor
from tocsin.bot.commands import IDLE
from tocsin.bot.contract import Prepared
from tocsin.bot.executor import TOO_MANY, UNREADABLE
from tocsin.bot.files.attachments import ACCEPTED
from tocsin.bot.settings import BotSettings
from tocsin.bot.talk import conversation
from tocsin.bot.talk.conversation import OPERATOR_NEEDED
from tocsin.bot.talk.conversation_buffer import IN_WORK, UNANSWERED
from tocsin.channels.contract import COMMONMARK
from tocsin.channels.inbound import Attachment, InboundMessage, MessageKind, Quote
from tocsin.core.errors import ConfigError, FailureKind, TocsinError
from tocsin.messaging.inbound.handling import HandlerResult, HandlingStatus, MessageContext
from tocsin.providers.contract import Image, ProviderError

Running = asyncio.Task[HandlerResult]


@pytest.fixture
def provider(bench: Bench) -> ScriptedProvider:
    """A provider that answers when the test says so."""
    assert bench.provider is not None
    bench.provider.reply = None
    return bench.provider


def start(bench: Bench, text: str, **fields: object) -> Running:
    return asyncio.create_task(bench.send(text, **fields))


async def test_a_message_is_answered_with_the_providers_text(bench: Bench):
    verdict = await bench.send("hello")
    (reply,) = verdict.replies
    assert (verdict.ending, reply.text, reply.parse_mode) == (HandlingStatus.ANSWERED, "You said: hello", COMMONMARK)


async def test_question_and_answer_become_history_and_the_next_question_sees_them(
    bench: Bench, provider: ScriptedProvider
):
    provider.reply = lambda text: f"You said: {text}"
    await bench.send("one")
    await bench.send("two")
    assert provider.calls[1].turns == ["user: one", "assistant: You said: one", "user: two"]
    assert provider.calls[1].question.instructions
    assert len(await bench.history()) == 4


async def test_the_history_changes_only_when_the_answer_is_durably_queued(bench: Bench):
    verdict = await bench.bot.handler(bench.received("hello"))
    assert verdict is not None
    assert verdict.done is not None
    assert await bench.history() == []
    await verdict.done()
    assert await bench.history() == ["user: hello", "assistant: You said: hello"]


async def test_a_second_attempt_adds_nothing_twice(bench: Bench):
    received = bench.received("hello")
    await bench.handle(received)
    await bench.handle(received)
    assert len(await bench.history()) == 2


async def test_a_question_sees_the_earlier_ones_that_are_still_being_answered(bench: Bench, provider: ScriptedProvider):
    first = start(bench, "my name is Anna")
    await bench.settle()
    second = start(bench, "what is my name?")
    await bench.settle()
    assert provider.calls[1].turns == [
        "user: my name is Anna",
        f"assistant: {IN_WORK}",
        "user: what is my name?",
    ]
    for call in provider.calls:
        call.answer("Anna")
    await asyncio.gather(first, second)
    assert len(await bench.history()) == 4


async def test_a_question_does_not_see_later_ones(make_bench: MakeBench):
    bench = make_bench(BotSettings(allowed=frozenset({"7"}), per_chat=1))
    assert bench.provider is not None
    bench.provider.reply = None
    running = []
    for text in ("one", "two", "three"):
        running.append(start(bench, text))
        await bench.settle()
    bench.provider.calls[0].answer("1")
    await bench.settle()
    assert bench.provider.calls[1].turns == ["user: one", "assistant: 1", "user: two"]
    bench.provider.calls[1].answer("2")
    await bench.settle()
    bench.provider.calls[2].answer("3")
    await asyncio.gather(*running)


async def test_an_answer_that_is_not_queued_yet_is_seen_as_well(bench: Bench):
    verdict = await bench.bot.handler(bench.received("one"))
    await bench.send("two")
    assert bench.provider is not None
    assert bench.provider.calls[1].turns == ["user: one", "assistant: You said: one", "user: two"]
    assert verdict is not None
    assert verdict.done is not None
    await verdict.done()


async def test_a_window_that_begins_with_an_answer_is_shown_from_its_first_question(bench: Bench):
    await bench.sessions.add("7", "assistant", "lost its question")
    await bench.send("hello")
    assert bench.provider is not None
    assert bench.provider.calls[0].turns == ["user: hello"]


async def test_a_question_that_got_no_answer_is_not_answered_with_the_next_one(
    bench: Bench, provider: ScriptedProvider
):
    await bench.sessions.add("7", "user", "one")
    asking = start(bench, "two")
    await bench.settle()
    assert provider.calls[0].turns == ["user: one", f"assistant: {UNANSWERED}", "user: two"]
    provider.calls[0].answer("2")
    await asking


async def test_the_model_is_shown_no_more_messages_than_the_window_holds(make_bench: MakeBench):
    bench = make_bench(BotSettings(allowed=frozenset({"7"}), max_history=4))
    assert bench.provider is not None
    for number in range(4):
        await bench.send(f"{number}")
    assert bench.provider.calls[-1].turns == ["user: 2", "assistant: You said: 2", "user: 3"]
    assert len(await bench.history()) == 4


async def test_two_of_a_chat_are_answered_at_a_time_ten_wait_and_the_next_gets_the_sentence(
    bench: Bench, provider: ScriptedProvider
):
    running = [start(bench, f"m{number}") for number in range(12)]
    await bench.settle()
    assert len(provider.calls) == 2
    verdict = await bench.send("one too many")
    assert text_of(verdict) == TOO_MANY == "Too many requests -- please wait for current jobs to finish."
    assert verdict.ending is HandlingStatus.FAILED
    assert await bench.history() == ["user: one too many"]
    for done in range(12):
        provider.calls[done].answer("ok")
        await bench.settle()
    assert {verdict.ending for verdict in await asyncio.gather(*running)} == {HandlingStatus.ANSWERED}


async def test_an_attempt_counts_only_when_its_slot_is_there(bench: Bench, provider: ScriptedProvider):
    begun: list[str] = []

    def counted(text: str) -> Running:
        async def begin() -> None:
            begun.append(text)

        return asyncio.create_task(bench.handle(replace(bench.received(text), begin=begin)))

    running = [counted(text) for text in ("one", "two", "three")]
    await bench.settle()
    assert begun == ["one", "two"]
    provider.calls[0].answer("1")
    await bench.settle()
    assert begun == ["one", "two", "three"]
    for call in provider.calls[1:]:
        call.answer("ok")
    await asyncio.gather(*running)


async def test_backlog_is_answered_however_much_it_is(make_bench: MakeBench):
    bench = make_bench(BotSettings(allowed=frozenset({"7"}), per_chat=1, overflow=1))
    verdicts = await asyncio.gather(*(bench.send(f"m{number}", backlog=True) for number in range(20)))
    assert {verdict.ending for verdict in verdicts} == {HandlingStatus.ANSWERED}


async def test_a_message_whose_process_died_is_not_turned_away_at_the_second_attempt(make_bench: MakeBench):
    bench = make_bench(BotSettings(allowed=frozenset({"7"}), per_chat=1, overflow=0))
    verdicts = await asyncio.gather(*(bench.send(f"m{number}", attempt=2) for number in range(3)))
    assert {verdict.ending for verdict in verdicts} == {HandlingStatus.ANSWERED}


async def test_the_chat_is_shown_that_somebody_works_while_the_answer_is_made(make_bench: MakeBench):
    shown: list[str] = []

    @asynccontextmanager
    async def indicating(message: InboundMessage) -> AsyncIterator[None]:
        shown.append(f"begin {message.chat_id}")
        yield
        shown.append("end")

    bench = make_bench(indicating=indicating)
    assert bench.provider is not None
    bench.provider.reply = None
    running = start(bench, "hello")
    await bench.settle()
    assert shown == ["begin 7"]
    bench.provider.calls[0].answer("hi")
    await running
    assert shown == ["begin 7", "end"]


async def test_cancel_ends_the_providers_call_and_the_message_without_an_answer(
    bench: Bench, provider: ScriptedProvider
):
    running = start(bench, "hello")
    await bench.settle()
    assert text_of(await bench.send("/cancel")) == "Cancelled."
    verdict = await running
    assert provider.calls[0].cancelled
    assert (verdict.ending, verdict.replies) == (HandlingStatus.ANSWERED, ())


async def test_a_question_that_was_cancelled_is_no_part_of_the_conversation(bench: Bench, provider: ScriptedProvider):
    cancelled = start(bench, "write a novel")
    await bench.settle()
    await bench.send("/cancel")
    await cancelled
    assert await bench.history() == []
    asked = start(bench, "say hello")
    await bench.settle()
    assert provider.calls[1].turns == ["user: say hello"]
    provider.calls[1].answer("hello")
    await asked
    assert text_of(await bench.send("/cancel")) == IDLE
    assert bench.bot.state() == {"running": 0, "waiting": 0}


async def test_cancel_concerns_the_jobs_of_its_own_chat_those_that_wait_included(
    bench: Bench, provider: ScriptedProvider
):
    mine = [start(bench, f"m{number}") for number in range(4)]
    other = start(bench, "hello", chat="8")
    await bench.settle()
    assert text_of(await bench.send("/cancel")) == "Cancelled 4 jobs."
    assert {verdict.replies for verdict in await asyncio.gather(*mine)} == {()}
    (left,) = [call for call in provider.calls if not call.cancelled]
    left.answer("hi")
    assert text_of(await other) == "hi"


async def test_the_button_cancels_its_own_job_alone(bench: Bench, provider: ScriptedProvider):
    first = start(bench, "one", id="job-1")
    await bench.settle()
    second = start(bench, "two", id="job-2")
    await bench.settle()
    assert silent(await bench.press("cancel:job-1", chat="8"))
    pressed = await bench.press("cancel:job-1")
    assert (pressed.ending, pressed.replies) == (HandlingStatus.ANSWERED, ())
    assert (await first).replies == ()
    provider.calls[1].answer("two")
    assert text_of(await second) == "two"


async def test_the_end_of_the_program_is_no_cancellation_by_a_person(bench: Bench, provider: ScriptedProvider):
    running = start(bench, "hello")
    await bench.settle()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert provider.calls[0].cancelled
    assert bench.bot.state() == {"running": 0, "waiting": 0}
    provider.reply = lambda text: "again"
    assert text_of(await bench.send("hello", attempt=2)) == "again"
    assert provider.calls[1].turns == ["user: hello"]


async def test_a_provider_that_fails_is_one_plain_sentence_without_internals(bench: Bench, provider: ScriptedProvider):
    running = start(bench, "hello")
    await bench.settle()
    provider.calls[0].fail(ProviderError("500 from http://10.0.0.1/v1", kind=FailureKind.TRANSIENT))
    verdict = await running
    assert (verdict.ending, text_of(verdict)) == (HandlingStatus.FAILED, conversation.NO_ANSWER)
    assert await bench.history() == ["user: hello"]


async def test_a_provider_that_is_busy_says_when_to_try_again(bench: Bench, provider: ScriptedProvider):
    running = start(bench, "hello")
    await bench.settle()
    provider.calls[0].fail(ProviderError("429", kind=FailureKind.RATE_LIMITED))
    assert text_of(await running) == conversation.BUSY


async def test_without_a_provider_the_person_learns_what_to_set(bench: Bench):
    bench.provider = None
    verdict = await bench.send("hello")
    assert verdict.ending is HandlingStatus.FAILED
    for name in ("CHAT_PROVIDER", "CHAT_MODEL", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        assert name in text_of(verdict)


async def test_a_provider_that_cannot_be_made_is_told_without_internals(make_bench: MakeBench):
    async def broken() -> None:
        raise ConfigError("CHAT_MODEL is missing")

    assert text_of(await make_bench(provider=broken).send("hello")) == conversation.OPERATOR_NEEDED


async def test_a_failure_that_only_the_operator_can_mend_says_so(bench: Bench, provider: ScriptedProvider):
    running = start(bench, "hello")
    await bench.settle()
    provider.calls[0].fail(ProviderError("Example rejects the key (401)", provider_code="401", needs_operator=True))
    verdict = await running
    assert verdict.reason == "Example rejects the key (401)"
    assert OPERATOR_NEEDED in text_of(verdict)
    assert "later" not in text_of(verdict)


@pytest.mark.parametrize("code", ["400", "413", "422", "declined", "length", "too-long"])
async def test_a_failure_that_the_question_causes_says_what_to_change(
    bench: Bench, provider: ScriptedProvider, code: str
):
    running = start(bench, "hello")
    await bench.settle()
    provider.calls[0].fail(ProviderError("no", provider_code=code))
    assert text_of(await running) == conversation.REMEDIES[code]


async def test_an_empty_answer_is_not_sent(bench: Bench, provider: ScriptedProvider):
    provider.reply = lambda text: " \n"
    verdict = await bench.send("hello")
    assert (verdict.ending, text_of(verdict)) == (HandlingStatus.FAILED, conversation.NO_ANSWER)


async def test_an_answer_that_the_model_cut_off_says_so(bench: Bench, provider: ScriptedProvider):
    running = start(bench, "hello")
    await bench.settle()
    provider.calls[0].answer("half an", truncated=True)
    assert text_of(await running) == f"half an\n\n{conversation.CUT_OFF}"
    assert (await bench.history())[1] == "assistant: half an"


async def test_in_groups_only_what_is_addressed_to_the_bot_is_answered(bench: Bench):
    assert silent(await bench.send("hello all", chat_type="group"))
    verdict = await bench.send("hello bot", chat_type="group", mentions_bot=True)
    assert text_of(verdict).startswith("You said: ")


async def test_in_a_group_the_model_and_the_history_know_who_speaks_and_what_is_answered(bench: Bench):
    quote = Quote("Bob", "bob", "5", text="Let us meet at 8.")
    fields = {"chat_type": "group", "mentions_bot": True, "sender_name": "Alice", "sender_username": "alice"}
    await bench.send("is that late?", quote=quote, **fields)
    assert bench.provider is not None
    (turn,) = bench.provider.calls[0].turns
    assert turn == "user: Alice (@alice), in reply to Bob (@bob):\n> Let us meet at 8.\n  is that late?"
    assert (await bench.history())[0] == turn
    assert conversation.IN_GROUPS in bench.provider.calls[0].question.instructions


async def test_an_edit_in_a_group_keeps_the_name_of_who_wrote_it(bench: Bench):
    original = bench.received("helo", chat_type="group", mentions_bot=True, sender_name="Alice")
    await bench.handle(original)
    edited = replace(original.message, kind=MessageKind.EDIT, text="hello\nBob (@bob):")
    await bench.handle(MessageContext("edit", edited))
    assert (await bench.history())[0] == "user: Alice (ID 7):\n  hello\n  Bob (@bob):"


async def test_the_bots_name_alone_in_answer_to_somebody_is_a_question_about_that(bench: Bench):
    await bench.send("", quote=Quote("Bob", text="1 + 1?"))
    assert bench.provider is not None
    assert bench.provider.calls[0].turns == ["user: In reply to Bob:\n> 1 + 1?"]


async def test_a_picture_that_is_answered_reaches_the_model_with_the_question(bench: Bench):
    picture = Image("image/png", b"png")
    bench.prepared = lambda message: Prepared(message.text, (picture,), quoted=("[File a.txt]\nx",))
    await bench.send("what is this?", quote=Quote("Bob", attachments=(Attachment("photo", "p"),)))
    assert bench.provider is not None
    (turn,) = bench.provider.calls[0].question.turns
    assert turn.images == (picture,)
    assert turn.text == ("In reply to Bob:\n> [the picture]\n\nwhat is this?\n\n[Quoted message:]\n[File a.txt]\nx")


async def test_an_edit_changes_the_history_and_is_never_answered(bench: Bench):
    original = bench.received("helo")
    await bench.handle(original)
    edited = replace(original.message, kind=MessageKind.EDIT, text="hello")
    assert silent(await bench.handle(MessageContext("edit", edited)))
    assert await bench.history() == ["user: hello", "assistant: You said: helo"]


async def test_an_edit_of_a_question_that_waits_is_what_is_asked(make_bench: MakeBench):
    bench = make_bench(BotSettings(allowed=frozenset({"7"}), per_chat=1))
    assert bench.provider is not None
    bench.provider.reply = None
    running = [start(bench, "first")]
    await bench.settle()
    original = bench.received("two and two?")
    running.append(asyncio.create_task(bench.handle(original)))
    await bench.settle()
    edited = replace(original.message, kind=MessageKind.EDIT, text="three and three?")
    await bench.handle(MessageContext("edit", edited))
    bench.provider.calls[0].answer("ok")
    await bench.settle()
    assert bench.provider.calls[1].turns[-1] == "user: three and three?"
    bench.provider.calls[1].answer("six")
    await asyncio.gather(*running)
    assert (await bench.history())[2:] == ["user: three and three?", "assistant: six"]


async def test_pictures_and_texts_of_files_reach_the_provider_and_remarks_reach_the_person(bench: Bench):
    picture = Image("image/png", b"png")
    bench.prepared = lambda message: Prepared(f"{message.text} [file]", (picture,), ("I have read the file",))
    verdict = await bench.send("look")
    assert [reply.text for _, reply in bench.told] == ["I have read the file"]
    assert [reply.text for reply in verdict.replies] == ["You said: look [file]"]
    assert bench.provider is not None
    assert bench.provider.calls[0].question.turns[-1].images == (picture,)
    assert (await bench.history())[0] == "user: look [file]\n\n[A picture]"


async def test_a_picture_without_words_is_described_and_the_history_says_that_there_was_one(bench: Bench):
    bench.prepared = lambda message: Prepared("", (Image("image/png", b"png"),))
    await bench.send("", sender_language="de")
    assert bench.provider is not None
    (turn,) = bench.provider.calls[0].question.turns
    assert "Describe what is to be seen" in turn.text
    assert "“de”" in turn.text
    assert (await bench.history())[0] == "user: [A picture]"


async def test_several_pictures_without_words_are_counted(bench: Bench):
    bench.prepared = lambda message: Prepared("", (Image("image/png", b"png"),) * 3)
    await bench.send("")
    assert bench.provider is not None
    assert "these 3 pictures" in bench.provider.calls[0].turns[0]
    assert (await bench.history())[0] == "user: [3 pictures]"


async def test_a_caption_goes_to_the_model_with_the_file_that_could_not_be_read(bench: Bench):
    unread = "[With this came a.docx. It could not be read: it is password-protected.]"
    bench.prepared = lambda message: Prepared(message.text, notes=("I could not read a.docx",), unread=(unread,))
    await bench.send("sum it up")
    assert bench.provider is not None
    assert bench.provider.calls[0].turns == [f"user: sum it up\n\n{unread}"]
    assert (await bench.history())[0] == f"user: sum it up\n\n{unread}"
    assert ["a.docx" in reply.text for _, reply in bench.told] == [True]


async def test_a_file_alone_that_could_not_be_read_is_known_to_the_next_question(bench: Bench):
    bench.prepared = lambda message: Prepared(
        message.text, notes=() if message.text else ("I could not read it.",), unread=("[unread]",)
    )
    assert text_of(await bench.send("")) == "I could not read it."
    bench.prepared = lambda message: Prepared(message.text)
    await bench.send("why not?")
    assert bench.provider is not None
    assert bench.provider.calls[0].turns == ["user: [unread]", "assistant: I could not read it.", "user: why not?"]


async def test_a_message_with_nothing_to_read_is_answered_with_what_can_be_read(bench: Bench):
    verdict = await bench.send(" ")
    assert text_of(verdict) == executor.NOTHING_TO_READ
    assert ACCEPTED in text_of(verdict)
    assert await bench.history() == []
    bench.prepared = lambda message: Prepared("", notes=("I could not hear any words.",))
    assert text_of(await bench.send("")) == "I could not hear any words."
    assert await bench.history() == []


async def test_a_message_that_cannot_be_read_is_told_in_one_sentence(make_bench: MakeBench):
    async def prepare(message: InboundMessage) -> Prepared:
        raise TocsinError("the download failed")

    verdict = await make_bench(prepare=prepare).send("look")
    assert (verdict.ending, text_of(verdict)) == (HandlingStatus.FAILED, UNREADABLE)


async def test_what_is_being_answered_during_a_reset_does_not_come_back(bench: Bench, provider: ScriptedProvider):
    running = start(bench, "hello")
    await bench.settle()
    await bench.send("/reset")
    provider.calls[0].answer("hi")
    assert text_of(await running) == "hi"
    assert await bench.history() == []


async def test_a_bug_reaches_the_inbox_and_frees_the_slot(bench: Bench, provider: ScriptedProvider):
    running = start(bench, "hello")
    await bench.settle()
    provider.calls[0].outcome.set_exception(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await running
    assert bench.bot.state() == {"running": 0, "waiting": 0}


async def test_an_album_is_one_question(bench: Bench):
    bench.prepared = lambda message: Prepared(message.text, (Image("image/png", b"png"),))
    items = [start(bench, text, album_id="a") for text in ("look at these", "")]
    await bench.settle()
    await bench.pass_time(1)
    await bench.pass_time(1)
    replies = [reply.text for verdict in await asyncio.gather(*items) for reply in verdict.replies]
    assert replies == ["You said: look at these"]
