"""teamchat and Slack's stand-in: calls come in signed, answers go out by response_url, 👀 shows that work goes on."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from tests.channels.endpoint import Endpoint
from tests.channels.teamchat.calls import interactive, slash

from tocsin.channels.contract import COMMONMARK
from tocsin.channels.inbound import InboundAdapter, InboundMessage, PartlyAnsweredError, WebhookRequest
from tocsin.channels.teamchat.adapter import TeamchatAdapter
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.http.direct import DirectTransport
from tocsin.core.http.transport import Transport, connect_failed, outcome_unknown
from tocsin.testing import FakeClock, ScriptedTransport
from tocsin.testing.inbound_bench import build_receiver
from tocsin_standins.faults import Fault
from tocsin_standins.teamchat.calls import TeamchatCaller
from tocsin_standins.teamchat.server import APP_ID, BOT_USER_ID, SIGNING_SECRET, TeamChat

HOOK = "https://hooks.slack.com/commands/T0ACME/1/abc"


@pytest.fixture
async def slack(clock: FakeClock) -> AsyncIterator[TeamChat]:
    async with TeamChat(clock=clock.now) as slack:
        yield slack


@pytest.fixture
async def receiver(clock: FakeClock, slack: TeamChat) -> AsyncIterator[InboundAdapter]:
    env = {
        "TEAMCHAT_SIGNING_SECRET": SIGNING_SECRET,
        "TEAMCHAT_BOT_TOKEN": slack.token,
        "TEAMCHAT_API_URL": slack.api_url,
    }
    http = DirectTransport()
    yield build_receiver(TeamchatAdapter, env, http=http, clock=clock)
    await http.aclose()


@pytest.fixture
def caller(slack: TeamChat, endpoint: Endpoint, clock: FakeClock) -> TeamchatCaller:
    return TeamchatCaller(slack, endpoint.url, sleep=clock.sleep)


# --- coming in


async def test_the_product_accepts_the_address(caller):
    assert await caller.check_address()


async def test_a_mention_comes_in_twice_and_is_known_to_be_one(caller, endpoint):
    ts, calls = await caller.message("@tocsin say <hi> & go")
    assert [call.status for call in calls] == [200, 200]
    assert [call.body for call in calls] == [b"", b""]
    first, second = endpoint.messages
    assert (first.text, first.mentions_bot, first.id) == ("say <hi> & go", True, ts)
    assert set(first.dedupe_keys) & set(second.dedupe_keys) >= {f"message:T0STANDIN:C0GENERAL:{ts}"}


async def test_the_neutral_header_names_are_accepted_too(slack, endpoint):
    _, calls = await TeamchatCaller(slack, endpoint.url, family="Teamchat").message("hello")
    assert (calls[-1].status, endpoint.messages[0].text) == (200, "hello")


async def test_what_was_not_taken_comes_again_signed_anew_and_with_the_same_key(caller, endpoint, clock):
    endpoint.troubles += [500, 503, 404]
    _, calls = await caller.message("hello")
    assert [call.status for call in calls] == [500, 503, 404, 200]
    assert clock.slept == [0.0, 60.0, 300.0]
    assert endpoint.retries[-1] == {"X-Slack-Retry-Num": "3", "X-Slack-Retry-Reason": "http_error"}
    assert endpoint.messages[0].text == "hello"


async def test_own_posts_come_back_and_are_ignored(caller, endpoint):
    _, calls = await caller.message("I said", user=BOT_USER_ID, bot_id="B0STANDIN", app_id=APP_ID)
    assert (calls[-1].status, endpoint.messages) == (200, [])


async def test_a_call_with_another_secret_is_turned_away(slack, endpoint):
    slack.signing_secret = "another"
    _, calls = await TeamchatCaller(slack, endpoint.url).slash("/status")
    assert ([call.status for call in calls], endpoint.messages) == ([401], [])


# --- answering by response_url


async def test_a_command_is_answered_where_it_was_typed_as_plain_text(caller, endpoint, receiver, slack):
    _, calls = await caller.slash("/status", "now")
    assert (calls[0].status, calls[0].body) == (200, b"")
    [message] = endpoint.messages
    assert message.text == "/status now"
    await receiver.send_response(message, "Disk <91 %> & *rising*")
    [response] = slack.recorder.of("teamchat", kind="response")
    assert response.text == "Disk <91 %> & *rising*"
    assert response.body == {
        "response_type": "in_channel",
        "replace_original": False,
        "mrkdwn": False,
        "text": "Disk &lt;91 %&gt; &amp; *rising*",
    }
    assert "Authorization" not in response.headers


async def test_what_a_model_wrote_is_answered_with_its_formatting(caller, endpoint, receiver, slack):
    await caller.slash("/ask", "why")
    await receiver.send_response(endpoint.messages[0], "**Because** <of> it", COMMONMARK)
    [response] = slack.recorder.of("teamchat", kind="response")
    assert response.body == {
        "response_type": "in_channel",
        "replace_original": False,
        "text": "*Because* &lt;of&gt; it",
    }


async def test_formatted_text_of_several_parts_goes_another_way(caller, endpoint, receiver, slack):
    await caller.slash("/ask", "why")
    with pytest.raises(ChannelError):
        await receiver.send_response(endpoint.messages[0], "*a*\n\n" * 2_000, COMMONMARK)
    assert slack.recorder.of("teamchat", kind="response") == []


async def test_a_button_is_answered_in_its_thread(caller, endpoint, receiver, slack):
    thread = "1700000000.000001"
    message = {"ts": "1700000000.000002", "thread_ts": thread}
    await caller.press("go", message["ts"], message=message)
    await receiver.send_response(endpoint.messages[0], "done")
    [response] = slack.recorder.of("teamchat", kind="response")
    assert response.body["thread_ts"] == thread


async def test_five_messages_at_most_answer_a_command(caller, endpoint, receiver, slack):
    await caller.slash("/log")
    [message] = endpoint.messages
    await receiver.send_response(message, "x" * 3_999 + "\n" + "y" * 100)
    for _ in range(3):
        await receiver.send_response(message, "more")
    assert len(slack.recorder.of("teamchat", kind="response")) == 5
    with pytest.raises(ChannelError, match="used_url"):
        await receiver.send_response(message, "one too many")
    assert slack.recorder.of("teamchat", kind="response")[-1].text == "more"


async def test_an_answer_of_too_many_parts_is_not_begun(caller, endpoint, receiver, slack):
    await caller.slash("/log")
    with pytest.raises(ChannelError, match="used_url"):
        await receiver.send_response(endpoint.messages[0], "word " * 5_000)
    assert slack.recorder.of("teamchat", kind="response") == []


async def test_after_half_an_hour_the_answer_goes_another_way(caller, endpoint, receiver, slack, clock):
    await caller.slash("/status")
    assert endpoint.messages[0].reply_context["expires_at"] == clock.monotonic() + 1_790
    clock.advance(1_790)
    requests = slack.requests
    with pytest.raises(ChannelError, match="expired_url"):
        await receiver.send_response(endpoint.messages[0], "late")
    assert slack.requests == requests


async def test_an_address_that_the_product_has_closed_gives_its_code(caller, endpoint, receiver, slack):
    await caller.slash("/status")
    slack.faults.push(Fault.status(404, "expired_url"))
    with pytest.raises(ChannelError) as failure:
        await receiver.send_response(endpoint.messages[0], "hello")
    assert failure.value.provider_code == "expired_url"
    assert "commands" not in failure.value.sentence()


async def read(http: Transport, body: bytes, **env: str) -> tuple[InboundAdapter, InboundMessage]:
    receiver = build_receiver(TeamchatAdapter, env, http=http)
    message = await receiver.receive(WebhookRequest((), body))
    assert isinstance(message, InboundMessage)
    return receiver, message


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.slack.com/commands/x",
        "https://hooks.slack.com.evil.example/x",
        "https://evil.example/hooks.slack.com/",
        "https://hooks.slack.com@evil.example/x",
        "https://hooks.slack.com:444/x",
        "https://hooks.slack.com\\@evil.example/x",
        "https://hooks.slack.com/x?to=1",
        "https://hooks.slack.com/é",
        "https://hooks.slack.com",
        "https://slack.com.evil.example/api/x",
        "http://127.0.0.1:1/x",
        "file:///etc/passwd",
        "",
    ],
)
async def test_an_answer_goes_to_the_products_own_host_only(url: str):
    http = ScriptedTransport()
    receiver, message = await read(http, slash(response_url=url))
    assert not message.reply_context
    with pytest.raises(ChannelError):
        await receiver.send_response(message, "hello")
    assert http.sent == []


async def test_the_configured_host_is_the_products_too():
    http = ScriptedTransport().will_answer(b"ok")
    url = "http://slack.internal:8443/commands/1"
    receiver, message = await read(http, slash(response_url=url), TEAMCHAT_API_URL="http://slack.internal:8443/api")
    await receiver.send_response(message, "hello")
    assert [sent.url for sent in http.sent] == [url]
    assert not any("authorization" in name.lower() for name in http.sent[0].headers)


async def test_an_answer_that_may_have_arrived_is_not_sent_another_way():
    http = ScriptedTransport().will_raise(outcome_unknown(HOOK, "did not respond in time"))
    receiver, message = await read(http, interactive())
    with pytest.raises(PartlyAnsweredError) as failure:
        await receiver.send_response(message, "hello")
    assert (failure.value.unsent, failure.value.kind) == ("", FailureKind.AMBIGUOUS)


async def test_of_an_answer_that_breaks_off_the_rest_is_known():
    http = ScriptedTransport().will_answer(b"ok").will_raise(connect_failed(HOOK, "made-up"))
    receiver, message = await read(http, slash())
    with pytest.raises(PartlyAnsweredError, match="sent 1 of 2 parts") as failure:
        await receiver.send_response(message, "a" * 3_999 + "\n\n" + "b" * 50)
    assert failure.value.unsent == "b" * 50


async def test_nothing_arrived_where_there_was_no_connection():
    http = ScriptedTransport().will_raise(connect_failed(HOOK, "made-up"))
    receiver, message = await read(http, slash())
    with pytest.raises(ChannelError) as failure:
        await receiver.send_response(message, "hello")
    assert not isinstance(failure.value, PartlyAnsweredError)


async def test_the_provider_asks_to_wait():
    http = ScriptedTransport().will_answer({"ok": False, "error": "ratelimited"}, 429, {"retry-after": "30"})
    receiver, message = await read(http, slash())
    with pytest.raises(ChannelError) as failure:
        await receiver.send_response(message, "hello")
    assert (failure.value.kind, failure.value.retry_after_s) == (FailureKind.RATE_LIMITED, 30.0)


async def test_an_empty_answer_is_refused():
    receiver, message = await read(ScriptedTransport(), slash())
    with pytest.raises(ChannelError, match="empty"):
        await receiver.send_response(message, " \n")


async def test_the_address_is_not_shown():
    _, message = await read(ScriptedTransport(), slash())
    assert "hooks.slack.com" not in repr(message) + repr(message.reply_context) + str(message.stored())


async def test_what_is_private_is_shown_to_the_person_alone():
    http = ScriptedTransport().will_answer({"ok": True})
    receiver, message = await read(http, slash())
    await receiver.answer_privately(message, "no <rule>")
    [sent] = http.sent
    assert (sent.json()["response_type"], sent.json()["text"]) == ("ephemeral", "no &lt;rule&gt;")


async def test_without_an_address_nothing_private_can_be_told():
    http = ScriptedTransport()
    receiver, message = await read(http, slash())
    with pytest.raises(ChannelError):
        await receiver.answer_privately(replace(message, reply_context={}), "no rule")
    assert http.sent == []


# --- showing that work goes on


async def test_a_message_gets_eyes_and_a_second_time_is_no_error(caller, endpoint, receiver, slack):
    ts, _ = await caller.message("@tocsin hello")
    await receiver.acknowledge(endpoint.messages[0])
    await receiver.start_processing_indicator(endpoint.messages[0])
    assert [(r.target, r.id, r.text) for r in slack.recorder.of("teamchat", kind="reaction")] == [
        ("C0GENERAL", ts, "eyes")
    ]


async def test_the_eyes_of_a_message_are_asked_for_once(caller, endpoint, receiver, slack):
    await caller.message("@tocsin hello")
    requests = slack.requests
    message = endpoint.messages[0]
    await asyncio.gather(receiver.acknowledge(message), receiver.start_processing_indicator(message))
    await receiver.start_processing_indicator(message)
    assert slack.requests == requests + 1


async def test_there_is_nothing_to_react_to_in_a_command_and_no_way_without_a_token(endpoint, caller, receiver, slack):
    await caller.slash("/status")
    requests = slack.requests
    await receiver.acknowledge(endpoint.messages[0])
    assert slack.requests == requests
    _, message = await read(ScriptedTransport(), slash())
    http = ScriptedTransport()
    await build_receiver(TeamchatAdapter, {}, http=http).acknowledge(replace(message, id="1700000000.000001"))
    assert http.sent == []


async def test_a_bot_that_may_not_react_does_not_try_again(caller, endpoint, receiver, slack, caplog):
    slack.scopes.discard("reactions:write")
    await caller.message("@tocsin hello")
    await receiver.acknowledge(endpoint.messages[0])
    requests = slack.requests
    await receiver.acknowledge(endpoint.messages[0])
    assert slack.requests == requests
    assert len(caplog.records) == 1


async def test_a_reaction_that_fails_is_a_channel_error_and_tried_again_for_the_next(caller, endpoint, receiver, slack):
    await caller.message("@tocsin hello")
    slack.faults.push(Fault.error("is_archived"), Fault.rate_limited(7))
    with pytest.raises(ChannelError, match="is_archived"):
        await receiver.acknowledge(endpoint.messages[0])
    with pytest.raises(ChannelError) as failure:
        await receiver.acknowledge(endpoint.messages[0])
    assert failure.value.retry_after_s == 7.0
    await receiver.acknowledge(endpoint.messages[0])
    assert len(slack.recorder.of("teamchat", kind="reaction")) == 1
