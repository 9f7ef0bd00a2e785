"""Two chat providers that look like one."""

import pytest
from pydantic import BaseModel
from tests.facts import mentions
from tests.providers.conftest import question

from tocsin.providers.contract import ProviderError
from tocsin.providers.fallback import Fallback
from tocsin_standins import Fault
from tocsin_standins.chatmodel.server import CAPABLE, MODEL, ChatModel

SECOND = {"CHAT_FALLBACK_PROVIDER": "anthropic", "CHAT_FALLBACK_MODEL": CAPABLE}


class Anything(BaseModel):
    text: str


@pytest.fixture
async def second():
    async with ChatModel() as second:
        yield second


@pytest.fixture
def chat(desk, second):
    return desk.open("openai", ANTHROPIC_BASE_URL=second.anthropic_url, **SECOND)


async def test_fallback_is_not_called_while_the_primary_answers(chat, second):
    answer = await chat.ask(question())
    assert (answer.provider, answer.model) == ("openai", MODEL) == (chat.name, chat.model)
    assert second.requests == 0


@pytest.mark.parametrize(
    "fault",
    [
        Fault.error("x", http_status=401),
        Fault.error("x", http_status=404),
        Fault.status(503),
        Fault.rate_limited(60),
        Fault.answer("empty"),
        Fault.answer("unfinished"),
        Fault.html_200(),
    ],
)
async def test_fallback_answers_when_the_primary_fails(chat, model, fault, caplog):
    model.faults.hold(fault)
    answer = await chat.ask(question())
    assert (answer.provider, answer.model) == ("anthropic", CAPABLE)
    [told] = [r for r in caplog.records if "provider" in r.message]
    assert (told.provider, told.fallback) == ("openai", "anthropic")
    assert told.reason


async def test_fallback_is_asked_at_once_when_the_primary_cannot_be_connected_to(chat, desk, model):
    await model.stop()
    answer = await chat.ask(question())
    assert (answer.provider, desk.clock.slept) == ("anthropic", [])
    assert (await chat.extract(question(), Anything)).text
    assert desk.clock.slept == []


async def test_fallback_is_not_called_after_a_piece_was_shown(chat, model, second):
    model.faults.push(Fault.answer("unfinished"))
    pieces = []
    with pytest.raises(ProviderError):
        await chat.ask(question(), pieces.append)
    assert pieces
    assert second.requests == 0


async def test_fallback_starts_over_if_shown_pieces_can_be_voided(chat, model, second):
    model.faults.hold(Fault.answer("cut"))
    second.will_answer("the second one's answer")
    shown, voided = [], []

    def restart():
        voided.extend(shown)
        shown.clear()

    answer = await chat.ask(question(), shown.append, restart)
    assert answer.text == "".join(shown) == "the second one's answer"
    assert voided


async def test_error_names_both_failures_when_the_fallback_fails_too(chat, model, second):
    model.faults.hold(Fault.error("x", http_status=401))
    await second.stop()
    with pytest.raises(ProviderError) as caught:
        await chat.ask(question())
    assert mentions(str(caught.value), model.url[7:], "401", "OPENAI_API_KEY", second.url[7:], "Connection refused")
    assert caught.value.kind == "transient"


async def test_structured_answers_use_the_fallback_too(chat, model, second):
    model.faults.hold(Fault.status(500))
    second.will_answer({"text": "from the second"})
    assert (await chat.extract(question(), Anything)).text == "from the second"
    await second.stop()
    with pytest.raises(ProviderError, match="fallback"):
        await chat.extract(question(), Anything)


async def test_the_same_provider_may_be_its_own_fallback_with_another_model(desk, model):
    chat = desk.open("openai", CHAT_FALLBACK_PROVIDER="openai", CHAT_FALLBACK_MODEL=CAPABLE)
    model.faults.push(Fault.answer("empty"))
    assert (await chat.ask(question())).model == CAPABLE


async def test_closing_closes_both_even_if_the_first_fails(desk):
    class Stuck:
        name = model = "stuck"
        closed = 0

        async def aclose(self):
            Stuck.closed += 1
            raise OSError("no")

    with pytest.raises(OSError, match="no"):
        await Fallback(Stuck(), Stuck()).aclose()
    assert Stuck.closed == 2
