"""Providers that refuse, rate-limit, cut, stall and lie."""

import asyncio
import gzip
import json
import logging
import ssl
import traceback
from contextlib import suppress

import pytest
import trustme
from aiohttp import web
from pydantic import BaseModel
from tests.facts import mentions
from tests.providers.conftest import answering, question
from tests.waiting import eventually

from tocsin.core.errors import FailureKind
from tocsin.providers.contract import ProviderError
from tocsin.providers.endpoint import CallTimeouts
from tocsin_standins import Fault
from tocsin_standins.chatmodel.server import KEY

IMPATIENT = CallTimeouts(first_piece_s=10, between_pieces_s=1.0, whole_s=60)
MIDDLE = ("cut", "unfinished", "hang", "broken_event", "error_event")


class Anything(BaseModel):
    text: str


async def failure_of(call) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await call
    return caught.value


def setting(provider: str) -> str:
    return f"{provider.upper()}_API_KEY"


# Refusals


async def test_a_key_that_is_refused_is_named_and_never_tried_twice(desk, provider, model):
    chat = desk.open(provider, **{setting(provider): "some-key-nobody-knows"})
    failure = await failure_of(chat.ask(question()))
    assert mentions(str(failure), model.url[7:], "401")
    assert mentions(failure.hint, setting(provider))
    assert (failure.kind, failure.provider_code) == (FailureKind.PERMANENT, "401")
    assert model.requests == 1
    assert desk.clock.slept == []


async def test_a_refused_key_is_not_shown_again_for_five_minutes(chat, desk, model):
    model.key = "another"
    await failure_of(chat.ask(question()))
    model.key = KEY
    assert "401" in str(await failure_of(chat.ask(question())))
    assert model.requests == 1
    desk.clock.advance(300)
    assert (await chat.ask(question())).text


async def test_a_service_that_asks_for_a_key_nobody_set_says_so(desk, model):
    chat = desk.open(OPENAI_API_KEY="")
    failure = await failure_of(chat.ask(question()))
    assert "401" in str(failure)


@pytest.mark.parametrize(
    ("fault", "said", "hint"),
    [
        (Fault.error("x", "no such thing", http_status=400), "rejects the question (400): no such thing", "change it"),
        (Fault.error("x", http_status=402), "has no credit left", "add credit,"),
        (
            Fault.error("x", "region", http_status=403),
            "denies access (403): region",
            "check the permissions of the key in ",
        ),
        (Fault.error("x", http_status=404), "does not know the model standin-chat-1 (404)", "correct CHAT_MODEL or "),
        (Fault.error("x", http_status=413), "rejects the question as too large (413)", "send fewer"),
        (Fault.error("x", http_status=418), "refuses (418)", "correct "),
        (Fault.redirect("/elsewhere", 307), "responds with a redirect, which is not followed (307)", "correct "),
    ],
)
async def test_a_refusal_is_told_with_a_remedy_and_not_repeated(chat, desk, model, fault, said, hint):
    model.faults.push(fault)
    failure = await failure_of(chat.ask(question()))
    assert said in str(failure)
    assert failure.hint.startswith(hint)
    assert failure.kind is FailureKind.PERMANENT
    assert (model.requests, desk.clock.slept) == (1, [])


@pytest.mark.parametrize(
    ("provider", "fault", "said"),
    [
        ("openai", Fault.error("insufficient_quota", http_status=429), "has no credit left"),
        ("openai", Fault.error("context_length_exceeded", http_status=400), "the conversation is too long for"),
        ("anthropic", Fault.error("invalid_request_error", "prompt is too long: 9 > 8", http_status=400), "too long"),
        (
            "anthropic",
            Fault.error("invalid_request_error", "Your credit balance is too low", http_status=400),
            "credit",
        ),
    ],
)
async def test_error_explains_a_misleading_status(desk, model, provider, fault, said):
    model.faults.push(fault)
    failure = await failure_of(desk.open(provider).ask(question()))
    assert said in str(failure)
    assert (failure.kind, model.requests) == (FailureKind.PERMANENT, 1)


async def test_what_a_provider_says_is_shortened_to_one_line_without_control_characters(chat, model):
    model.faults.push(Fault.error("x", "bad\r\n\x1b[31m" + "words " * 100, http_status=400))
    text = str(await failure_of(chat.ask(question())))
    assert text.isprintable()
    assert text.endswith("…")
    assert len(text) < 300


async def test_error_does_not_quote_an_html_page(chat, model):
    model.faults.push(Fault.status(400, "<html>a long page</html>"))
    assert "page" not in str(await failure_of(chat.ask(question())))


# A second try


async def test_too_many_requests_are_waited_out_once_when_the_provider_says_how_long(chat, desk, model):
    model.faults.push(Fault.rate_limited(7))
    assert (await chat.ask(question())).text
    assert desk.clock.slept == [7.0]
    model.faults.push(Fault.rate_limited(7), times=2)
    failure = await failure_of(chat.ask(question()))
    assert (failure.kind, failure.retry_after_s) == (FailureKind.RATE_LIMITED, 7.0)
    assert model.requests == 4


async def test_a_wait_over_thirty_seconds_is_left_to_the_caller(chat, desk, model):
    model.faults.push(Fault.rate_limited(31))
    failure = await failure_of(chat.ask(question()))
    assert (failure.retry_after_s, desk.clock.slept, model.requests) == (31.0, [], 1)


@pytest.mark.parametrize(
    "fault",
    [
        Fault.status(500),
        Fault.status(502),
        Fault.error("overloaded_error", "Overloaded", http_status=529),
        Fault.reset(),
        Fault.reset_after_accept(),
    ],
)
async def test_a_passing_failure_is_tried_once_more_after_a_second(chat, desk, model, fault):
    model.faults.push(fault)
    assert (await chat.ask(question())).text
    assert desk.clock.slept == [1.0]
    model.faults.push(fault, times=2)
    assert (await failure_of(chat.ask(question()))).kind is FailureKind.TRANSIENT
    assert model.requests == 4


async def test_a_provider_that_does_not_listen_is_tried_twice_and_named(chat, desk, model):
    await model.stop()
    failure = await failure_of(chat.ask(question()))
    assert mentions(str(failure), model.url[7:], "Connection refused")
    assert "network" in failure.hint
    assert (failure.provider_code, desk.clock.slept) == ("connect", [1.0])


async def test_error_names_a_host_that_cannot_be_resolved(desk):
    chat = desk.open(OPENAI_BASE_URL="https://nowhere.invalid/v1")
    failure = await failure_of(chat.ask(question()))
    assert "nowhere.invalid" in str(failure)
    assert "OPENAI_BASE_URL" in failure.hint


async def test_a_certificate_that_does_not_verify_is_told(desk, provider):
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    async with lying(piece("hi", "stop"), tls=context) as env:
        failure = await failure_of(desk.open(provider, **env).ask(question()))
    assert "certificate" in str(failure)


async def test_structure_is_asked_for_again_as_an_answer_is(chat, desk, model):
    model.will_answer({"text": "fine"})
    model.faults.push(Fault.status(503))
    assert (await chat.extract(question(), Anything)).text == "fine"
    model.faults.push(Fault.error("x", http_status=403))
    assert "denies access" in str(await failure_of(chat.extract(question(), Anything)))
    assert (model.requests, desk.clock.slept) == (3, [1.0])


# Answers that break off


@pytest.mark.parametrize("kind", MIDDLE)
async def test_an_answer_that_breaks_off_in_the_middle_is_an_error_and_not_an_answer(desk, provider, model, kind):
    chat = desk.open(provider, limits=IMPATIENT)
    model.will_answer("one two three four five six")
    model.faults.push(Fault.answer(kind, 60))
    pieces = []
    failure = await failure_of(chat.ask(question(), pieces.append))
    assert failure.kind is FailureKind.TRANSIENT
    assert pieces[:2] == ["one", " two"]
    assert "six" not in "".join(pieces)
    assert model.requests == 1  # something was shown


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("cut", "closed the connection before the answer was complete"),
        ("unfinished", "stopped before the answer was complete"),
        ("hang", "stopped sending"),
        ("broken_event", "sent an unreadable response"),
    ],
)
async def test_how_it_broke_off_is_told(desk, provider, model, kind, said):
    model.will_answer("one two three four five six")
    model.faults.hold(Fault.answer(kind, 60))
    failure = await failure_of(desk.open(provider, limits=IMPATIENT).ask(question()))
    assert said in str(failure)


async def test_shown_pieces_are_voided_before_the_answer_starts_over(chat, model):
    model.will_answer("one two three four", "all of it")
    model.faults.push(Fault.answer("error_event"))
    shown = []
    answer = await chat.ask(question(), shown.append, shown.clear)
    assert answer.text == "".join(shown) == "all of it"


async def test_on_restart_is_not_called_if_no_piece_was_shown(chat, model):
    model.faults.push(Fault.status(500))
    restarts = []
    await chat.ask(question(), lambda _: None, lambda: restarts.append(1))
    assert restarts == []


# Silence


async def test_a_provider_that_never_begins_is_given_up(desk, provider, model):
    model.faults.push(Fault.stall(60))
    failure = await failure_of(desk.open(provider, limits=CallTimeouts(first_piece_s=0.2)).ask(question()))
    assert "stopped sending" in str(failure)
    assert (failure.kind, failure.provider_code) == (FailureKind.TRANSIENT, "stalled")


async def test_an_answer_may_take_longer_than_one_pause_while_it_goes_on(desk, provider, model):
    answers = []
    for pause_s in (0.2, 2.0):
        model.will_answer("a b c d e f g h")
        model.faults.push(Fault.answer("slow", pause_s))
        limits = CallTimeouts(first_piece_s=60, between_pieces_s=5 * pause_s, whole_s=120)
        with suppress(ProviderError):  # a busy machine may pause for longer than the shorter limit
            answers.append(await desk.open(provider, limits=limits).ask(question()))
        if answers:
            break
    assert [answer.text for answer in answers] == ["a b c d e f g h"]


@pytest.mark.parametrize("fault", [Fault.answer("slow", 0.1), Fault.drip(0.01), Fault.endless_body()])
async def test_no_answer_takes_longer_than_the_deadline(desk, provider, model, fault):
    limits = CallTimeouts(first_piece_s=5, between_pieces_s=5, whole_s=0.3)
    model.faults.push(fault)
    failure = await failure_of(desk.open(provider, limits=limits).ask(question("a " * 200)))
    assert failure.provider_code in {"timeout", "lost"}


async def test_the_deadline_holds_for_structure_too(desk, provider, model):
    model.faults.push(Fault.stall(60))
    chat = desk.open(provider, limits=CallTimeouts(whole_s=0.3))
    failure = await failure_of(chat.extract(question(), Anything))
    assert failure.provider_code in {"timeout", "stalled"}


async def test_cancelling_ends_the_request_at_once(chat, model):
    model.will_answer("one two three four")
    model.faults.push(Fault.answer("hang", 60))
    begun = asyncio.Event()
    asking = asyncio.create_task(chat.ask(question(), lambda _: begun.set()))
    await begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await eventually(lambda: model.given_up)


# Lies


async def test_empty_answer_is_an_error(chat, model):
    model.faults.push(Fault.answer("empty"))
    failure = await failure_of(chat.ask(question()))
    assert (failure.provider_code, failure.kind) == ("empty", FailureKind.TRANSIENT)
    model.will_answer(" \n")
    assert (await failure_of(chat.ask(question()))).provider_code == "empty"


@pytest.mark.parametrize("fault", [Fault.html_200(), Fault.broken_json(), Fault.status(200, "[1, 2")])
async def test_response_that_is_not_a_models_is_reported_as_unreadable(chat, model, fault):
    model.faults.push(fault)
    failure = await failure_of(chat.ask(question()))
    assert failure.provider_code in {"unreadable", "cut"}
    assert "hotel" not in failure.sentence()


@pytest.mark.parametrize("fault", [Fault.html_200(), Fault.broken_json(), Fault.answer("empty")])
async def test_malformed_structured_answer_is_reported_as_unreadable(chat, model, fault):
    model.faults.push(fault, times=2)
    assert (await failure_of(chat.extract(question(), Anything))).provider_code == "unreadable"


def lying(*events: bytes, headers=None, tls=None):
    stream = {"Content-Type": "text/event-stream", **(headers or {})}
    return answering(web.Response(body=b"".join(events), headers=stream), tls=tls)


def chunk(**fields) -> bytes:
    usual = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
    return f"data: {json.dumps(usual | fields)}\n\n".encode()


def piece(content, finish=None) -> bytes:
    return chunk(choices=[{"index": 0, "delta": {"content": content}, "finish_reason": finish}])


LIES = [
    b"data: null\n\n",
    b"data: []\n\n",
    b"data: {}\n\n",
    chunk(choices=7),
    chunk(choices=[7]),
    chunk(choices=[{"index": 0, "delta": "text"}]),
    chunk(created="now"),
    chunk(usage={"prompt_tokens": "many"}),
    piece(7, "stop"),
    piece({"a": 1}, ["stop"]),
    b"\xff\xfe\x00" * 50,
    b"event: message_start\ndata: 7\n\n",
    b'event: message_start\ndata: {"type": "message_start", "message": {"usage": "many"}}\n\n',
    b'event: content_block_delta\ndata: {"type": "content_block_delta", "index": "x", "delta": {}}\n\n',
]


@pytest.mark.parametrize("lie", LIES)
async def test_malformed_stream_raises_provider_error_only(desk, provider, lie):
    async with lying(lie) as env:
        failure = await failure_of(desk.open(provider, **env).ask(question()))
    assert failure.provider_code in {"unreadable", "broken", "empty", "cut"}


async def test_model_name_and_token_counts_of_the_provider_are_validated(desk):
    usage = {"prompt_tokens": -7, "completion_tokens": -1, "total_tokens": 0}
    async with lying(chunk(model="m\x1b[31m"), piece("hi", "stop"), chunk(usage=usage)) as env:
        answer = await desk.open(**env).ask(question())
    assert (answer.input_tokens, answer.output_tokens) == (0, 0)
    assert answer.model.isprintable()


async def test_an_answer_that_unpacks_to_more_than_it_seems_is_refused(desk, provider):
    async with lying(gzip.compress(b" " * 10_000_000), headers={"Content-Encoding": "gzip"}) as env:
        failure = await failure_of(desk.open(provider, **env).ask(question()))
    assert failure.provider_code == "unreadable"


async def test_an_answer_without_end_is_given_up(desk):
    async with lying(piece("x" * 100_000) * 20) as env:
        failure = await failure_of(desk.open(**env).ask(question()))
    assert failure.provider_code == "endless"


async def test_filtered_answer_is_an_error_or_marked_truncated(desk):
    async with lying(piece("", "content_filter")) as env:
        assert "declined" in str(await failure_of(desk.open(**env).ask(question())))
    async with lying(piece("half of"), piece("", "content_filter")) as env:
        answer = await desk.open(**env).ask(question())
    assert (answer.text, answer.truncated) == ("half of", True)


# Secrets


@pytest.mark.parametrize(
    "fault",
    [
        *(Fault.error("x", f"your key {KEY} is bad", http_status=status) for status in (400, 401, 403, 404, 429, 500)),
        Fault.status(502, f"<p>{KEY}</p>"),
        Fault.redirect(f"/{KEY}"),
    ],
)
async def test_no_error_names_the_key(chat, model, fault, caplog):
    model.faults.push(fault, times=2)
    failure = await failure_of(chat.ask(question()))
    told = [failure.sentence(), repr(failure), caplog.text, *traceback.format_exception(failure)]
    assert KEY not in " ".join(told)


async def test_conversations_do_not_get_into_the_log(chat, model, caplog):
    caplog.set_level(logging.DEBUG)
    await chat.ask(question("something private"))
    names = {record.name.partition(".")[0] for record in caplog.records}
    assert names.isdisjoint({"openai", "anthropic", "httpx2", "httpcore2"})
    assert "private" not in caplog.text


def test_the_limits_are_those_of_the_manual():
    assert CallTimeouts() == CallTimeouts(5.0, 60.0, 30.0, 120.0, 30.0)
