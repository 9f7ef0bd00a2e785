"""A model calls tools until it has an answer, within limits, by either interface."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import BaseModel
from tests.providers.conftest import Desk

from tocsin.providers.contract import ModelTool, ProviderError, Question, Turn, WorkLimits
from tocsin_standins.chatmodel.server import FAST
from tocsin_standins.chatmodel.wire import ToolCall

BOTH = pytest.mark.parametrize("provider", ["openai", "anthropic"])
QUESTION = Question((Turn("user", "Look at a.py."),), "You look at files.")
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


class Result(BaseModel):
    """What the model has to fill in."""

    words: list[str]


class Reader:
    """A tool that remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[Mapping[str, Any]] = []

    async def read(self, arguments: Mapping[str, Any]) -> str:
        self.asked.append(arguments)
        return f"the text of {arguments.get('path')}"

    @property
    def tool(self) -> ModelTool:
        return ModelTool("Read", "Return the text of a file.", SCHEMA, self.read)


@BOTH
async def test_a_model_gets_what_its_calls_return_and_ends_with_a_result(desk: Desk, provider: str):
    reader = Reader()
    desk.model.will_answer(ToolCall("Read", {"path": "a.py"}), ToolCall("Read", {"path": "b.py"}), {"words": ["one"]})
    report = await desk.open(provider).work(QUESTION, [reader.tool], Result, WorkLimits())
    assert (report.result, report.questions) == (Result(words=["one"]), 3)
    assert [each["path"] for each in reader.asked] == ["a.py", "b.py"]
    assert report.input_tokens > 0
    assert "the text of b.py" in str(desk.asked()[2]["turns"])


@BOTH
async def test_a_model_that_calls_for_ever_is_ended_at_the_limit(desk: Desk, provider: str):
    reader = Reader()
    desk.model.will_answer(*[ToolCall("Read", {"path": f"{n}"}) for n in range(9)])
    with pytest.raises(ProviderError, match="limit") as ended:
        await desk.open(provider).work(QUESTION, [reader.tool], Result, WorkLimits(questions=4))
    assert (ended.value.provider_code, len(reader.asked)) == ("limit", 4)


@BOTH
async def test_a_model_that_uses_up_its_tokens_is_ended(desk: Desk, provider: str):
    desk.model.will_answer(*[ToolCall("Read", {"path": "a.py"})] * 9)
    with pytest.raises(ProviderError, match="limit"):
        await desk.open(provider).work(QUESTION, [Reader().tool], Result, WorkLimits(tokens=20))


@BOTH
async def test_a_tool_that_it_does_not_have_is_refused_and_never_called(desk: Desk, provider: str):
    reader = Reader()
    desk.model.will_answer(ToolCall("Bash", {"command": "id"}), {"words": []})
    report = await desk.open(provider).work(QUESTION, [reader.tool], Result, WorkLimits())
    assert (report.result.words, reader.asked) == ([], [])
    desk.model.will_answer(*[ToolCall("Bash", {"command": "id"})] * 9)
    with pytest.raises(ProviderError):
        await desk.open(provider).work(QUESTION, [reader.tool], Result, WorkLimits())


@BOTH
async def test_nonsense_instead_of_a_result_is_an_error_after_two_corrections(desk: Desk, provider: str):
    desk.model.will_answer(*[{"wrong": "shape"}] * 9)
    with pytest.raises(ProviderError):
        await desk.open(provider).work(QUESTION, [], Result, WorkLimits())
    assert len(desk.asked()) == 3


async def test_the_fallback_does_the_work_unless_the_first_has_called_a_tool(desk: Desk):
    fallback = {"CHAT_FALLBACK_PROVIDER": "openai", "CHAT_FALLBACK_MODEL": FAST}
    chat = desk.open("openai", model="gone", **fallback)
    desk.model.will_answer({"words": ["second"]})
    assert (await chat.work(QUESTION, [Reader().tool], Result, WorkLimits())).result.words == ["second"]
    chat, reader = desk.open("openai", **fallback), Reader()
    desk.model.will_answer(*[ToolCall("Read", {"path": "a.py"})] * 9)
    with pytest.raises(ProviderError):
        await chat.work(QUESTION, [reader.tool], Result, WorkLimits(questions=2))
    assert len(reader.asked) == 2
