"""guildchat and Discord's stand-in: calls come in signed, answers go out by the interaction's token."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.channels.endpoint import Endpoint
from tests.channels.guildchat.calls import ANNA, APPLICATION_ID, ASK, CHANNEL_ID, event, interaction

from tocsin.channels.contract import COMMONMARK
from tocsin.channels.guildchat.adapter import GuildchatAdapter
from tocsin.channels.guildchat.answering import escape_plain as as_shown
from tocsin.channels.guildchat.answering import escaped_at_most
from tocsin.channels.guildchat.api import MAX_CHARS
from tocsin.channels.inbound import InboundAdapter, InboundMessage, PartlyAnsweredError, WebhookRequest
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.http.direct import DirectTransport
from tocsin.core.http.transport import connect_failed, outcome_unknown
from tocsin.core.text.markup import PlainText, literal
from tocsin.testing import FakeClock, ScriptedTransport
from tocsin.testing.inbound_bench import build_receiver
from tocsin_standins.faults import Fault
from tocsin_standins.guildchat.calls import PUBLIC_KEY, GuildchatCaller
from tocsin_standins.guildchat.server import GENERAL, GuildChat

URL = "https://discord.com/api/v10"
TOKEN = "aW50ZXJhY3Rpb246bWFkZXVw"
ORIGINAL = f"{URL}/webhooks/{APPLICATION_ID}/{TOKEN}/messages/@original"


@pytest.fixture
async def discord(clock: FakeClock) -> AsyncIterator[GuildChat]:
    async with GuildChat(clock=clock.now) as discord:
        yield discord


@pytest.fixture
async def receiver(clock: FakeClock, discord: GuildChat) -> AsyncIterator[InboundAdapter]:
    http = DirectTransport()
    env = {"GUILDCHAT_PUBLIC_KEY": PUBLIC_KEY, "GUILDCHAT_API_URL": discord.api_url}
    yield build_receiver(GuildchatAdapter, env, http=http, clock=clock)
    await http.aclose()


@pytest.fixture
def caller(discord: GuildChat, endpoint: Endpoint, clock: FakeClock) -> GuildchatCaller:
    return GuildchatCaller(discord, endpoint.url, sleep=clock.sleep)


def shown(discord: GuildChat) -> list[tuple[str, str, str]]:
    return [(item.kind, item.target, item.text) for item in discord.recorder.items]


# --- coming in


async def test_the_product_accepts_the_address_for_interactions_and_for_events(caller):
    assert await caller.check_address()
    assert await caller.check_event_address()


async def test_an_event_that_was_not_taken_comes_again_and_one_message_has_one_key(caller, endpoint):
    endpoint.troubles += [500, 503]
    data = {"id": "8", "content": "hello", "channel_id": GENERAL, "author": ANNA}
    calls = await caller.event("LOBBY_MESSAGE_CREATE", data)
    assert [call.status for call in calls] == [500, 503, 204]
    await caller.event("LOBBY_MESSAGE_CREATE", data)
    first, second = endpoint.messages
    assert set(first.dedupe_keys) & set(second.dedupe_keys) == {"message:8"}


# --- answering


async def test_a_command_is_answered_in_its_place_without_the_bots_token(caller, endpoint, receiver, discord):
    _, call = await caller.slash("ask", question="what now?")
    assert json.loads(call.body) == {"type": 5}
    [message] = endpoint.messages
    assert message.text == "/ask what now?"
    await receiver.send_response(message, "@everyone look: *.txt")
    assert shown(discord) == [("message", GENERAL, r"@everyone look: \*.txt")]
    assert discord.recorder.items[0].body["allowed_mentions"] == {"parse": []}


async def test_a_long_answer_goes_on_in_follow_ups_and_so_does_a_second_one(caller, endpoint, receiver, discord):
    await caller.slash("ask")
    await receiver.send_response(endpoint.messages[0], "a" * 1_990 + "\n\n" + "b" * 1_990 + "\n\n" + "c" * 50)
    await receiver.send_response(endpoint.messages[0], "second")
    assert [text[:3] for _, _, text in shown(discord)] == ["aaa", "bbb", "ccc", "sec"]
    assert {kind for kind, _, _ in shown(discord)} == {"message"}


async def test_a_button_is_answered_by_a_message_of_its_own(caller, endpoint, receiver, discord):
    choice = discord.put(GENERAL, "Deploy?")
    _, call = await caller.press("deploy:yes", choice)
    assert json.loads(call.body) == {"type": 6}
    await receiver.send_response(endpoint.messages[0], "deploying")
    assert shown(discord) == [("message", GENERAL, "deploying")]
    assert choice["content"] == "Deploy?"


async def test_an_answer_that_is_faster_than_the_products_own_book_keeping_waits(receiver, discord, clock):
    body = interaction(1, 2, ASK)
    message = await receiver.receive(WebhookRequest((), body))

    class Opening(FakeClock):
        async def sleep(self, seconds: float) -> None:
            await super().sleep(seconds)
            discord.open_interaction(token=TOKEN)

    late = Opening()
    env = {"GUILDCHAT_API_URL": discord.api_url}
    http = DirectTransport()
    await build_receiver(GuildchatAdapter, env, http=http, clock=late).send_response(message, "quick")
    await http.aclose()
    assert (late.slept, shown(discord)) == ([0.25], [("message", GENERAL, "quick")])


async def test_a_token_that_nobody_knows_is_given_up_after_some_seconds(receiver, discord, clock):
    message = await receiver.receive(WebhookRequest((), interaction(1, 2, ASK)))
    with pytest.raises(ChannelError) as failure:
        await receiver.send_response(message, "hello")
    assert (failure.value.provider_code, sum(clock.slept)) == ("10015", 3.75)


async def test_after_a_quarter_of_an_hour_the_answer_goes_another_way(caller, endpoint, receiver, discord, clock):
    await caller.slash("ask")
    clock.advance(890)
    requests = discord.requests
    with pytest.raises(ChannelError) as failure:
        await receiver.send_response(endpoint.messages[0], "late")
    assert (failure.value.provider_code, discord.requests) == ("10062", requests)


async def test_an_app_that_may_post_five_follow_ups_hands_the_rest_over(discord, endpoint, receiver):
    await GuildchatCaller(discord, endpoint.url, follow_ups=5).slash("ask")
    parts = [letter * 1_990 for letter in "abcdefgh"]
    with pytest.raises(PartlyAnsweredError, match="sent 6 of 8 parts: 40094") as failure:
        await receiver.send_response(endpoint.messages[0], "\n\n".join(parts))
    assert failure.value.unsent.split() == parts[6:]


@pytest.mark.parametrize("code", [10062, 40060, 50027, 200000])
async def test_a_refusal_is_a_channel_error_with_its_code(caller, endpoint, receiver, discord, code: int):
    await caller.slash("ask")
    discord.faults.push(Fault.error(code))
    with pytest.raises(ChannelError) as failure:
        await receiver.send_response(endpoint.messages[0], "hello")
    assert failure.value.provider_code == str(code)
    assert not isinstance(failure.value, PartlyAnsweredError)


async def test_a_short_wait_that_the_provider_asks_for_is_kept_to_and_a_long_one_is_not(
    caller, endpoint, receiver, discord, clock
):
    await caller.slash("ask")
    discord.faults.push(Fault.rate_limited(0.75))
    await receiver.send_response(endpoint.messages[0], "hello")
    # The header says it in whole seconds: the longer of the two is waited for, as with every call of the product.
    assert (clock.slept, len(discord.recorder.items)) == ([1.0], 1)
    discord.faults.push(Fault.rate_limited(5.5))
    with pytest.raises(ChannelError) as failure:
        await receiver.send_response(endpoint.messages[0], "more")
    assert failure.value.retry_after_s == 6.0


async def test_an_empty_answer_is_refused(caller, endpoint, receiver):
    await caller.slash("ask")
    with pytest.raises(ChannelError, match="empty"):
        await receiver.send_response(endpoint.messages[0], "\n")


async def scripted(http: ScriptedTransport, body: bytes = b"", **env: str) -> tuple[InboundAdapter, InboundMessage]:
    receiver = build_receiver(GuildchatAdapter, env, http=http)
    message = await receiver.receive(WebhookRequest((), body or interaction(1, 2, ASK)))
    assert isinstance(message, InboundMessage)
    return receiver, message


async def test_what_is_sent_is_exactly_what_the_product_wants():
    http = ScriptedTransport().will_answer({"id": "1"})
    receiver, message = await scripted(http, GUILDCHAT_BOT_TOKEN="made.up")
    await receiver.send_response(message, "hello")
    [sent] = http.sent
    assert (sent.method, sent.url) == ("PATCH", ORIGINAL)
    assert sent.json() == {"content": "hello", "allowed_mentions": {"parse": []}, "flags": 4}
    assert sent.headers["User-Agent"].startswith("DiscordBot (")
    assert "Authorization" not in sent.headers


async def test_what_a_model_wrote_is_answered_in_place_with_its_formatting():
    http = ScriptedTransport().will_answer({"id": "1"})
    receiver, message = await scripted(http)
    await receiver.send_response(message, "**bold** and a_b\n\n| a | b |\n|---|---|\n| 1 | 2 |", COMMONMARK)
    [sent] = http.sent
    assert (sent.method, sent.url) == ("PATCH", ORIGINAL)
    assert sent.json()["content"].startswith("**bold** and a_b\n\n```\n")


async def test_of_formatted_text_the_rest_follows_and_what_broke_off_is_known():
    http = ScriptedTransport().will_answer({"id": "1"}).will_raise(connect_failed(URL, "made-up"))
    receiver, message = await scripted(http)
    with pytest.raises(PartlyAnsweredError) as failure:
        await receiver.send_response(message, "a" * 1_990 + "\n\n" + "*b*" * 100, COMMONMARK)
    assert [sent.method for sent in http.sent] == ["PATCH", "POST"]
    assert failure.value.unsent.startswith("*b*")


async def test_without_an_answer_the_first_part_is_sent_again_into_the_same_place():
    http = ScriptedTransport().will_raise(outcome_unknown(URL, "was silent")).will_answer({"id": "1"})
    receiver, message = await scripted(http)
    await receiver.send_response(message, "hello")
    assert [(sent.method, sent.url) for sent in http.sent] == [("PATCH", ORIGINAL)] * 2


@pytest.mark.parametrize("second", [outcome_unknown(URL, "was silent"), connect_failed(URL, "made-up")])
async def test_a_first_part_that_may_have_arrived_is_not_sent_another_way(second: Any):
    http = ScriptedTransport().will_raise(outcome_unknown(URL, "was silent")).will_raise(second)
    receiver, message = await scripted(http)
    with pytest.raises(PartlyAnsweredError) as failure:
        await receiver.send_response(message, "hello")
    assert (failure.value.unsent, failure.value.kind) == ("", FailureKind.AMBIGUOUS)


async def test_a_follow_up_that_may_have_arrived_is_not_repeated():
    http = ScriptedTransport().will_answer({"id": "1"}).will_raise(outcome_unknown(URL, "was silent"))
    receiver, message = await scripted(http)
    with pytest.raises(PartlyAnsweredError) as failure:
        await receiver.send_response(message, "a" * 1_990 + "\n\n" + "b" * 1_990 + "\n\n" + "c" * 50)
    assert (len(http.sent), failure.value.unsent) == (2, "c" * 50)


# --- taking back, typing


async def test_the_sign_that_an_answer_comes_can_be_taken_back(caller, endpoint, receiver, discord):
    token, _ = await caller.slash("ask")
    await receiver.withdraw(endpoint.messages[0])
    assert [item.kind for item in discord.recorder.items] == ["deletion"]
    await receiver.withdraw(endpoint.messages[0])
    assert len(discord.recorder.items) == 1
    assert token not in repr(endpoint.messages[0])


async def test_what_is_private_is_a_follow_up_that_only_the_person_sees(caller, endpoint, receiver, discord):
    await caller.slash("ask")
    await receiver.answer_privately(endpoint.messages[0], "no *rule*")
    assert [item.kind for item in discord.recorder.items] == ["deletion", "message"]
    assert discord.recorder.items[-1].body["flags"] & 64
    await receiver.withdraw(endpoint.messages[0])
    assert len(discord.recorder.items) == 2


async def test_an_answer_that_all_see_stays_away_when_it_cannot_be_taken_back():
    http = ScriptedTransport().will_raise(connect_failed(URL, "made-up"))
    receiver, message = await scripted(http)
    with pytest.raises(ChannelError):
        await receiver.answer_privately(message, "no rule")
    assert [sent.method for sent in http.sent] == ["DELETE"]


async def test_an_answer_that_was_given_is_not_taken_back(caller, endpoint, receiver, discord):
    await caller.slash("ask")
    await receiver.send_response(endpoint.messages[0], "hello")
    await receiver.withdraw(endpoint.messages[0])
    assert shown(discord) == [("message", GENERAL, "hello")]


async def test_that_it_cannot_be_taken_back_is_a_channel_error():
    receiver, message = await scripted(ScriptedTransport().will_raise(connect_failed(URL, "made-up")))
    with pytest.raises(ChannelError):
        await receiver.withdraw(message)


async def test_the_bot_types_only_where_no_deferred_answer_shows_it():
    said = event("LOBBY_MESSAGE_CREATE", content="hello", channel_id=CHANNEL_ID, author=ANNA)
    http = ScriptedTransport().will_answer(b"", 204)
    receiver, message = await scripted(http, said, GUILDCHAT_BOT_TOKEN="made.up")
    await receiver.start_processing_indicator(message)
    [sent] = http.sent
    assert (sent.method, sent.url) == ("POST", f"{URL}/channels/{CHANNEL_ID}/typing")
    assert sent.headers["Authorization"] == "Bot made.up"
    for body, env in ((interaction(1, 2, ASK), {"GUILDCHAT_BOT_TOKEN": "made.up"}), (said, {})):
        http = ScriptedTransport()
        receiver, message = await scripted(http, body, **env)
        await receiver.start_processing_indicator(message)
        assert http.sent == []


@given(st.text("\\*`|~[]_<>#-+.:/@1 a\nhtps", max_size=300), st.integers(1, 40))
def test_no_text_is_longer_than_a_message_once_it_is_escaped(text: str, times: int):
    for part in literal(f"x{text * times}", PlainText(MAX_CHARS, escaped_at_most)):
        assert len(as_shown(part.text)) <= MAX_CHARS


async def test_of_an_escaped_answer_that_breaks_off_the_rest_is_not_escaped_twice():
    http = ScriptedTransport().will_answer({"id": "1"}).will_raise(connect_failed(URL, "made-up"))
    receiver, message = await scripted(http)
    with pytest.raises(PartlyAnsweredError) as failure:
        await receiver.send_response(message, "a" * 1_990 + "\n\n" + "*b* " * 20)
    assert failure.value.unsent == ("*b* " * 20).strip()
