"""A chat model that fails until the operator acts: told once, and again only after it worked."""

import pytest
from tests.providers.conftest import Desk, question

from tocsin.core.errors import ConfigError, FailureKind, UnknownChannelError
from tocsin.core.text.redaction import Redactor
from tocsin.providers.chat import open_chat
from tocsin.providers.contract import ChatProvider, ProviderError
from tocsin.providers.watch import ModelWatch
from tocsin_standins.chatmodel.server import MODEL
from tocsin_standins.faults import Fault

REFUSED = ProviderError("Example rejects the key (401)", hint="set EXAMPLE_KEY", needs_operator=True)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def watch(told: list[str]) -> ModelWatch:
    async def tell(text: str) -> None:
        told.append(text)

    return ModelWatch(tell)


def watched(desk: Desk, watch: ModelWatch, **env: str) -> ChatProvider:
    settings = desk.settings(CHAT_PROVIDER="openai", **env)
    chat = open_chat(settings, desk.clock, Redactor(settings.secrets()), watch=watch)
    assert chat is not None
    desk.opened.append(chat)
    return chat


async def test_the_operator_is_told_once_and_again_after_it_worked_in_between(watch, told):
    for _ in range(3):
        await watch.failed("m (example)", REFUSED)
    assert told == ["The chat model m (example) cannot be used: Example rejects the key (401): set EXAMPLE_KEY."]
    assert list(watch.problems) == ["m (example)"]
    watch.worked("m (example)")
    assert watch.problems == {}
    await watch.failed("m (example)", REFUSED)
    assert len(told) == 2


async def test_temporary_failure_neither_records_nor_clears_a_problem(watch, told):
    passing = ProviderError("no answer", kind=FailureKind.TRANSIENT)
    await watch.failed("m (example)", passing)
    assert (watch.problems, told) == ({}, [])
    await watch.failed("m (example)", REFUSED)
    await watch.failed("m (example)", passing)
    await watch.failed("m (example)", REFUSED)
    assert len(told) == 1


async def test_a_setting_that_is_wrong_is_a_problem(watch, told):
    await watch.failed("m (example)", ConfigError("CHAT_PROVIDER=example needs EXAMPLE_KEY"))
    assert len(told) == 1


async def test_an_operator_who_could_not_be_told_is_told_at_the_next_failure():
    tries: list[str] = []

    async def tell(text: str) -> None:
        tries.append(text)
        if len(tries) == 1:
            raise UnknownChannelError("the queue is away")

    watch = ModelWatch(tell)
    for _ in range(3):
        await watch.failed("m (example)", REFUSED)
    assert len(tries) == 2


@pytest.mark.parametrize(
    "fault",
    [
        Fault.error("invalid_api_key", http_status=401),
        Fault.error("x", http_status=402),
        Fault.error("x", http_status=403),
        Fault.error("x", http_status=404),
        Fault.error("insufficient_quota", http_status=429),
        Fault.redirect("/elsewhere", 307),
    ],
)
async def test_what_only_the_operator_can_mend_is_told_and_ends_with_the_next_answer(desk, model, watch, told, fault):
    chat = watched(desk, watch)
    model.faults.push(fault)
    with pytest.raises(ProviderError) as failure:
        await chat.ask(question())
    assert failure.value.needs_operator
    assert len(told) == 1
    desk.clock.advance(300)
    await chat.ask(question())
    assert watch.problems == {}


@pytest.mark.parametrize("status", [400, 413, 422, 503])
async def test_operator_is_not_told_of_refused_questions_and_temporary_failures(desk, model, watch, told, status):
    model.faults.push(*[Fault.error("x", http_status=status)] * 2)
    with pytest.raises(ProviderError) as failure:
        await watched(desk, watch).ask(question())
    assert (failure.value.needs_operator, told) == (False, [])


async def test_operator_is_told_even_if_the_fallback_answers(desk, model, watch, told):
    fallback = {"CHAT_FALLBACK_PROVIDER": "anthropic", "CHAT_FALLBACK_MODEL": MODEL}
    model.faults.push(Fault.error("x", http_status=404))
    assert (await watched(desk, watch, **fallback).ask(question())).text
    assert len(told) == 1
    assert list(watch.problems) == [f"{MODEL} (openai)"]


async def test_an_account_of_anthropic_without_credit_is_told_as_one(desk, model):
    model.faults.push(Fault.error("invalid_request_error", "Your credit balance is too low", http_status=400))
    with pytest.raises(ProviderError, match="credit") as failure:
        await desk.open("anthropic").ask(question())
    assert failure.value.needs_operator
