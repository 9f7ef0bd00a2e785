"""Services that speak one of the interfaces a little differently: all of them are answered by."""

import json
from typing import Any

import pytest
from aiohttp import web
from tests.providers.conftest import answering, question

from tocsin.providers.contract import ProviderError

OPENAI: dict[str, Any] = {
    "id": "x",
    "object": "chat.completion",
    "created": 1,
    "model": "m-2",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}],
}
ANTHROPIC: dict[str, Any] = {
    "id": "x",
    "type": "message",
    "role": "assistant",
    "model": "m-2",
    "content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo."}],
    "stop_reason": "end_turn",
}
WHOLE = {"openai": OPENAI, "anthropic": ANTHROPIC}


async def test_an_answer_that_comes_in_one_piece_although_a_stream_was_asked_for_is_taken(desk, provider):
    asked: list[Any] = []
    pieces: list[str] = []
    async with answering(web.json_response(WHOLE[provider]), asked) as env:
        answer = await desk.open(provider, **env).ask(question(), pieces.append)
    assert (answer.text, answer.model, answer.provider, answer.truncated) == ("Hello.", "m-2", provider, False)
    assert pieces == ["Hello."]
    assert [one["stream"] for one in asked] == [True]


@pytest.mark.parametrize(
    "change",
    [
        {"openai": {"choices": []}, "anthropic": {"content": []}},
        {"openai": {"choices": [{"message": {"content": 7}}]}, "anthropic": {"content": [{"text": 7}]}},
        {"openai": {"choices": "x"}, "anthropic": {"content": "x"}},
    ],
)
async def test_unstreamed_body_without_an_answer_is_unreadable(desk, provider, change):
    async with answering(web.json_response(WHOLE[provider] | change[provider])) as env:
        with pytest.raises(ProviderError) as failure:
            await desk.open(provider, **env).ask(question())
    assert failure.value.provider_code == "unreadable"


async def test_one_piece_at_the_length_limit_is_marked(desk):
    shortened = OPENAI | {"choices": [OPENAI["choices"][0] | {"finish_reason": "length"}]}
    async with answering(web.json_response(shortened)) as env:
        assert (await desk.open(**env).ask(question())).truncated


@pytest.mark.parametrize("over", [True, False])
async def test_a_stream_that_says_it_is_over_needs_no_reason(desk, over):
    delta = {"role": "assistant", "content": "data: [DONE] Hello."}
    chunk = OPENAI | {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}
    body = f"data: {json.dumps(chunk)}\n\n" + "data: [DONE]\n\n" * over
    async with answering(web.Response(body=body, content_type="text/event-stream")) as env:
        asking = desk.open(**env).ask(question())
        if over:
            assert (await asking).text == "data: [DONE] Hello."
            return
        with pytest.raises(ProviderError) as failure:
            await asking
    assert failure.value.provider_code == "cut"


async def test_words_are_sent_as_a_text_because_not_every_service_takes_lists(desk):
    asked: list[Any] = []
    async with answering(web.json_response(OPENAI), asked) as env:
        await desk.open(**env).ask(question("What is new?"))
    assert asked[0]["messages"][-1] == {"role": "user", "content": "What is new?"}
