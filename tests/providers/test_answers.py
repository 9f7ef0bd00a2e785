"""What a chat provider answers when all goes well."""

import base64

import pytest
from pydantic import BaseModel, Field
from tests.providers.conftest import question

from tocsin.providers.contract import Image, ProviderError, Question, Turn
from tocsin_standins import Fault
from tocsin_standins.chatmodel.server import CAPABLE, FAST, MODEL

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_an_answer_comes_whole_with_model_provider_and_what_it_cost(chat, provider, model):
    model.will_answer("Nothing *much*.")
    answer = await chat.ask(question("What is new?"))
    assert (answer.text, answer.model, answer.provider) == ("Nothing *much*.", MODEL, provider)
    assert (answer.input_tokens, answer.output_tokens, answer.truncated) == (3, 2, False)


async def test_the_pieces_make_the_answer_in_their_order(chat, model):
    model.will_answer("One two\n\n```\n three\n```\n")
    pieces = []
    answer = await chat.ask(question(), pieces.append)
    assert "".join(pieces) == answer.text == "One two\n\n```\n three\n```\n"
    assert len(pieces) > 3


async def test_a_piece_is_shown_before_the_next_one_is_written(chat, model):
    pieces = []
    model.will_answer("one two three")
    model.faults.push(Fault.answer("hang", 60))

    def leave(piece):
        pieces.append(piece)
        raise KeyError(piece)

    with pytest.raises(KeyError):
        await chat.ask(question(), leave)
    assert pieces == ["one"]


async def test_an_error_of_whoever_is_shown_the_pieces_reaches_the_caller_as_it_is(chat, model):
    def explode(piece):
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        await chat.ask(question(), explode)
    assert model.requests == 1


async def test_the_whole_conversation_and_the_instructions_are_sent(chat, desk):
    turns = (Turn("user", "I am Ann."), Turn("assistant", "Hello Ann."), Turn("user", "Who am I?"))
    await chat.ask(Question(turns, "Be brief."))
    [asked] = desk.asked()
    assert asked["turns"] == [["user", "I am Ann."], ["assistant", "Hello Ann."], ["user", "Who am I?"]]
    assert asked["system"] == "Be brief."


async def test_sides_alternate_and_the_user_begins_whatever_the_window_holds(chat, desk):
    turns = (
        Turn("assistant", "…the end of an older answer"),
        Turn("user", "One"),
        Turn("user", "Two"),
        Turn("assistant", " "),
        Turn("user", "Three"),
    )
    await chat.ask(Question(turns))
    assert desk.asked()[0]["turns"] == [["user", "One\n\nTwo\n\nThree"]]


@pytest.mark.parametrize("turns", [(), (Turn("user", " \n"),), (Turn("user", "a"), Turn("assistant", "b"))])
async def test_no_call_is_made_without_a_question(chat, model, turns):
    with pytest.raises(ProviderError, match="question is empty"):
        await chat.ask(Question(turns))
    assert model.requests == 0


async def test_pictures_are_sent_with_their_turn(chat, desk):
    images = (Image("image/png", PIXEL), Image("image/png", PIXEL))
    answer = await chat.ask(Question((Turn("user", "What is this?", images),)))
    assert desk.asked()[0]["images"] == 2
    assert "Images: 2" in answer.text


async def test_a_picture_needs_no_words(chat, desk):
    await chat.ask(Question((Turn("user", "", (Image("image/png", PIXEL),)),)))
    assert desk.asked()[0]["images"] == 1


async def test_an_answer_at_the_length_limit_is_returned_and_marked(chat, model):
    model.will_answer("a long story of many words")
    model.faults.push(Fault.answer("shortened"))
    answer = await chat.ask(question())
    assert answer.truncated
    assert answer.text == "a long story "


class Order(BaseModel):
    """What somebody wants to buy."""

    item: str
    count: int = Field(ge=1)


async def test_the_model_fills_in_a_shape(chat, model, desk):
    model.will_answer({"item": "bell", "count": 2})
    order = await chat.extract(question("Two bells, please", instructions="Take the order."), Order)
    assert order == Order(item="bell", count=2)
    assert desk.asked()[0]["system"] == "Take the order."


async def test_a_model_that_fills_in_nonsense_may_correct_itself_once(chat, model):
    model.will_answer({"item": "bell", "count": 0}, {"item": "bell", "count": 1})
    assert (await chat.extract(question(), Order)).count == 1
    model.will_answer(*[{"item": "bell", "count": 0}] * 3)
    with pytest.raises(ProviderError, match="unreadable response"):
        await chat.extract(question(), Order)
    assert model.requests == 4


async def test_a_shape_is_found_in_a_whole_conversation(chat, model, desk):
    model.will_answer({"item": "horn", "count": 1})
    turns = (Turn("user", "A bell!"), Turn("assistant", "Sure?"), Turn("user", "No, a horn."))
    await chat.extract(Question(turns), Order)
    assert [text for _, text in desk.asked()[0]["turns"]] == ["A bell!", "Sure?", "No, a horn."]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("", MODEL), ("vendor-fast-4", FAST), ("vendor-capable-4", CAPABLE), (CAPABLE, CAPABLE)],
)
async def test_a_model_may_be_named_or_meant_by_an_alias(desk, name, expected):
    chat = desk.open(model=name, CHAT_MODEL_FAST=FAST, CHAT_MODEL_CAPABLE=CAPABLE)
    assert (await chat.ask(question())).model == expected == chat.model


async def test_an_alias_without_a_setting_is_the_usual_model(desk):
    assert desk.open(model="vendor-fast-4").model == MODEL


async def test_calls_at_the_same_time_do_not_mix(chat, model):
    import asyncio

    answers = await asyncio.gather(*(chat.ask(question(f"number {n}")) for n in range(8)))
    assert [f"> number {n}" in answer.text for n, answer in enumerate(answers)] == [True] * 8


async def test_a_question_may_limit_the_answer_and_set_its_temperature(chat, desk):
    await chat.ask(Question((Turn("user", "What is new?"),), max_tokens=7, temperature=0.5))
    [asked] = desk.asked()
    assert (asked["max_tokens"], asked["temperature"]) == (7, 0.5)
