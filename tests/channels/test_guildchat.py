"""guildchat: what goes over the wire, and what each answer of the provider means."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.facts import mentions

from tocsin import __version__
from tocsin.channels.contract import Outgoing, Part, Receipt, SendResult
from tocsin.channels.guildchat.adapter import GuildchatAdapter, nonce
from tocsin.channels.guildchat.api import ADVICE
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.http.direct import DirectTransport
from tocsin.core.http.transport import Transport, connect_failed, outcome_unknown
from tocsin.testing.fakes import FakeClock, ScriptedTransport, build_adapter
from tocsin_standins.faults import Fault
from tocsin_standins.guildchat.server import GENERAL, HIDDEN, OPS, TOKEN, GuildChat

CHANNEL, OTHER = "100000000000000001", "100000000000000002"
URL = f"https://discord.com/api/v10/channels/{CHANNEL}/messages"
POSTED = {"id": "1400000000000000001", "channel_id": CHANNEL, "content": "hello"}
UNANSWERED = outcome_unknown(URL, "did not respond in time")
INTERFACE = Path(__file__).parents[3] / "shared" / "peers-data" / "discord-openapi.json"


def adapter(http: Transport, clock: FakeClock | None = None, **env: str) -> GuildchatAdapter:
    return build_adapter(GuildchatAdapter, {"GUILDCHAT_BOT_TOKEN": TOKEN, **env}, http=http, clock=clock)


def answers(*replies: tuple[int, Any] | tuple[int, Any, dict[str, str]]) -> ScriptedTransport:
    """Script replies given as status, document and headers."""
    http = ScriptedTransport()
    for status, document, *headers in replies:
        http.will_answer(document, status, headers[0] if headers else None)
    return http


def refusal(code: int, message: str = "the provider's words") -> dict[str, Any]:
    return {"code": code, "message": message}


# --- what is sent


async def test_a_message_is_posted_exactly_as_the_provider_wants_it():
    http = answers((200, POSTED))
    receipt = await adapter(http).transmit(Outgoing(CHANNEL, "hello @everyone 😀", key="delivery-7"))
    assert receipt.result == SendResult(True, "guildchat", CHANNEL, message="id=1400000000000000001")
    (sent,) = http.sent
    assert (sent.method, sent.url) == ("POST", URL)
    assert sent.headers == {
        "Authorization": f"Bot {TOKEN}",
        "User-Agent": f"DiscordBot (https://github.com/tocsin-project/tocsin, {__version__})",
        "Content-Type": "application/json",
    }
    assert sent.json() == {
        "content": "hello @everyone 😀",
        "allowed_mentions": {"parse": []},
        "nonce": nonce(Part(CHANNEL, "", "delivery-7:0")),
        "enforce_nonce": True,
        "flags": 4,
    }


async def test_the_body_fits_the_published_interface():
    if not INTERFACE.exists():
        pytest.skip(f"the provider's interface document is not at {INTERFACE}")
    document = json.loads(INTERFACE.read_text(encoding="utf-8"))
    schemas = document["components"]["schemas"]
    http = answers((200, POSTED))
    await adapter(http).send(CHANNEL, "x" * 2000)
    body, request = http.sent[0].json(), schemas["MessageCreateRequest"]["properties"]
    assert body.keys() <= request.keys()
    assert len(body["content"]) <= request["content"]["maxLength"]
    (text_nonce,) = (form for form in request["nonce"]["oneOf"] if form["type"] == "string")
    assert len(body["nonce"]) <= text_nonce["maxLength"]
    assert body["allowed_mentions"].keys() <= schemas["MessageAllowedMentionsRequest"]["properties"].keys()
    assert "boolean" in request["enforce_nonce"]["type"]
    assert "integer" in request["flags"]["type"]
    assert document["paths"]["/channels/{channel_id}/messages"]["post"]["operationId"] == "create_message"
    assert "get" in document["paths"]["/users/@me"]


async def test_the_base_address_is_a_setting_and_loses_its_trailing_slash():
    http = answers((200, POSTED))
    await adapter(http, GUILDCHAT_API_URL="http://127.0.0.1:9/api/v10/").send(CHANNEL, "hello")
    assert http.sent[0].url == f"http://127.0.0.1:9/api/v10/channels/{CHANNEL}/messages"


@given(key=st.text(), target=st.from_regex(r"[0-9]{17,20}", fullmatch=True))
def test_the_nonce_has_at_most_25_characters_and_depends_on_the_part_alone(key: str, target: str):
    first, again = nonce(Part(target, "one", key)), nonce(Part(target, "one", key))
    assert first == again
    assert first.isalnum()
    assert len(first) <= 25


def test_two_parts_of_a_message_and_two_targets_have_different_nonces():
    parts = [Part(CHANNEL, "x", "k:0"), Part(CHANNEL, "x", "k:1"), Part(OTHER, "x", "k:0")]
    assert len({nonce(part) for part in parts}) == 3


# --- what is refused before any call


@pytest.mark.parametrize("length", [2_001, 2_431, 100_000])
async def test_over_2000_code_points_are_refused_before_any_call(length: int):
    http = answers((200, POSTED))
    result = await adapter(http).send(CHANNEL, "😀" * length)
    assert not result.ok
    assert f"{length:,} characters, limit 2,000" in result.error
    assert http.sent == []


async def test_exactly_2000_emoji_are_one_message():
    http = answers((200, POSTED))
    assert (await adapter(http).send(CHANNEL, "😀" * 2000)).ok
    assert http.sent[0].json()["content"] == "😀" * 2000


async def test_with_splitting_switched_on_long_texts_go_out_in_parts_with_a_nonce_each():
    http = answers((200, POSTED))
    text = "word " * 900
    receipt = await adapter(http, GUILDCHAT_SPLIT="true").transmit(Outgoing(CHANNEL, text, key="d"))
    assert receipt.result.ok
    contents = [sent.json()["content"] for sent in http.sent]
    assert len(contents) == receipt.parts_sent == 3
    assert max(map(len, contents)) <= 2000
    assert " ".join(contents).split() == text.split()
    assert len({sent.json()["nonce"] for sent in http.sent}) == 3


async def test_a_part_that_fails_says_how_many_were_sent():
    http = answers((200, POSTED), (403, refusal(50013, "Missing Permissions")))
    result = await adapter(http, GUILDCHAT_SPLIT="true").send(CHANNEL, "word " * 900)
    assert result.error.startswith("sent 1 of 3 parts: 50013 Missing Permissions")


@pytest.mark.parametrize(
    "target",
    [
        "1234567890123456",
        "123456789012345678901",
        "#general",
        "\N{ARABIC-INDIC DIGIT ONE}" * 18,
        f"{CHANNEL}/../1",
        "-1",
    ],
)
async def test_a_target_that_is_no_channel_id_is_refused_before_any_call(target: str):
    http = answers((200, POSTED))
    result = await adapter(http).send(target, "hello")
    assert not result.ok
    assert "Copy Channel ID" in result.error
    assert http.sent == []


async def test_blanks_around_a_target_do_not_matter():
    http = answers((200, POSTED))
    assert (await adapter(http).send(f" {CHANNEL}\n", "hello")).ok
    assert http.sent[0].url == URL


async def test_an_empty_message_is_refused_before_any_call():
    http = answers((200, POSTED))
    assert "empty" in (await adapter(http).send(CHANNEL, " \n")).error
    assert http.sent == []


def test_without_a_token_there_is_no_adapter():
    with pytest.raises(ChannelError, match="Discord needs GUILDCHAT_BOT_TOKEN"):
        build_adapter(GuildchatAdapter, {})


# --- what answers mean


@pytest.mark.parametrize(
    ("code", "status", "remedy"),
    [
        (10003, 404, "wrong channel ID"),
        (10008, 404, "deleted there"),
        (50005, 403, "another bot"),
        (40005, 413, "smaller"),
        (50045, 413, "smaller"),
        (50046, 400, "could not read the file"),
        (40058, 400, "choose a text channel or a thread"),
        (40333, 403, "User-Agent"),
        (50001, 403, "not a member of the server,"),
        (50006, 400, "no visible text"),
        (50007, 403, "not accept direct messages"),
        (50008, 400, "not a text channel"),
        (50013, 403, "grant the bot Send Messages"),
        (50035, 400, "rejected a field"),
        (50083, 400, "archived"),
        (160005, 403, "locked"),
        (200000, 400, "AutoMod"),
    ],
)
async def test_every_code_of_the_provider_comes_with_its_remedy(code: int, status: int, remedy: str):
    http = answers((status, refusal(code)))
    receipt = await adapter(http).transmit(Outgoing(CHANNEL, "hello"))
    assert receipt.result.error.startswith(f"{code} the provider's words: ")
    assert remedy in receipt.result.error
    assert (receipt.failure and receipt.failure.kind) is FailureKind.PERMANENT
    assert (receipt.failure and receipt.failure.provider_code) == str(code)
    assert len(http.sent) == 1


def test_every_remedy_is_tested():
    (marks,) = test_every_code_of_the_provider_comes_with_its_remedy.pytestmark  # type: ignore[attr-defined]
    assert {case[0] for case in marks.args[1]} == set(ADVICE)


async def test_an_unknown_code_is_shown_as_it_is():
    http = answers((400, refusal(99999, "Something new")))
    assert (await adapter(http).send(CHANNEL, "hello")).error == "99999 Something new"


async def test_an_invalid_form_shows_what_is_wrong_with_the_content():
    detail = {"content": {"_errors": [{"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer."}]}}
    http = answers((400, {**refusal(50035, "Invalid Form Body"), "errors": detail}))
    assert (await adapter(http).send(CHANNEL, "hello")).error.startswith("50035 Must be 2000 or fewer: ")


@pytest.mark.parametrize("errors", [None, [], "x", {"content": {"_errors": []}}, {"content": {"_errors": [1]}}])
async def test_an_invalid_form_without_details_shows_the_message(errors: object):
    http = answers((400, {**refusal(50035, "Invalid Form Body"), "errors": errors}))
    assert (await adapter(http).send(CHANNEL, "hello")).error.startswith("50035 Invalid Form Body: ")


@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize("body", [b"<html>", {"code": 0, "message": "Internal"}], ids=["page", "json"])
async def test_trouble_of_the_provider_is_not_retried(status: int, body: object):
    http, clock = answers((status, body)), FakeClock()
    receipt = await adapter(http, clock).transmit(Outgoing(CHANNEL, "hello"))
    assert receipt.result.error
    assert (receipt.failure and receipt.failure.kind) is FailureKind.TRANSIENT
    assert (len(http.sent), clock.slept) == (1, [])


@pytest.mark.parametrize("body", [b"", b"moved", POSTED], ids=["empty", "page", "json"])
async def test_a_redirect_is_an_error_that_names_the_setting(body: object):
    http = answers((302, body))
    assert "correct GUILDCHAT_API_URL" in (await adapter(http).send(CHANNEL, "hello")).error
    assert len(http.sent) == 1


@pytest.mark.parametrize(
    "document", [{"code": []}, {"code": {}}, {"code": "x"}, {"code": None, "message": 5}, {"code": True}]
)
async def test_strange_error_documents_become_an_error_with_the_status(document: object):
    receipt = await adapter(answers((400, document))).transmit(Outgoing(CHANNEL, "hello"))
    assert receipt.failure
    assert "unexpected" not in receipt.result.error


async def test_a_token_in_an_answer_does_not_reach_the_result():
    http = answers((400, refusal(1, f"you sent Bot {TOKEN}")))
    assert TOKEN not in (await adapter(http).send(CHANNEL, "hello")).error


# --- answers that do not come


async def test_an_unanswered_post_is_repeated_once_with_the_same_nonce():
    http = ScriptedTransport().will_raise(UNANSWERED).will_answer(POSTED)
    result = await adapter(http).send(CHANNEL, "hello")
    assert (result.ok, result.message) == (True, "id=1400000000000000001")
    first, second = http.sent
    assert first == second


async def test_twice_without_an_answer_the_outcome_is_unknown():
    http, clock = ScriptedTransport().will_raise(UNANSWERED), FakeClock()
    receipt = await adapter(http, clock).transmit(Outgoing(CHANNEL, "hello"))
    assert receipt.result.error.startswith("outcome unknown: ")
    assert (receipt.failure and receipt.failure.kind) is FailureKind.AMBIGUOUS
    assert (len(http.sent), clock.slept) == (2, [])


@pytest.mark.parametrize("second", ["connect", "throttled", "trouble"])
async def test_a_repeat_that_cannot_be_made_does_not_make_the_outcome_known(second: str):
    http = ScriptedTransport().will_raise(UNANSWERED)
    if second == "connect":
        http.will_raise(connect_failed(URL, "Connection refused"))
    else:
        http.will_answer({"retry_after": 1.0, "global": False}, 429 if second == "throttled" else 503)
    receipt = await adapter(http).transmit(Outgoing(CHANNEL, "hello"))
    assert (receipt.failure and receipt.failure.kind) is FailureKind.AMBIGUOUS
    assert len(http.sent) == 2


async def test_a_repeat_that_is_refused_shows_the_refusal():
    http = ScriptedTransport().will_raise(UNANSWERED).will_answer(refusal(50001), 403)
    assert (await adapter(http).send(CHANNEL, "hello")).error.startswith("50001")


@pytest.mark.parametrize("body", [b"<html>login</html>", {}, {"id": 5}, []], ids=["page", "{}", "no text", "[]"])
async def test_a_success_without_the_message_counts_as_unanswered(body: object):
    http = answers((200, body), (200, POSTED))
    assert (await adapter(http).send(CHANNEL, "hello")).message == "id=1400000000000000001"
    assert http.sent[0].json()["nonce"] == http.sent[1].json()["nonce"]


async def test_a_failed_connection_is_reported_and_not_repeated():
    http = ScriptedTransport().will_raise(connect_failed(URL, "Connection refused"))
    receipt = await adapter(http).transmit(Outgoing(CHANNEL, "hello"))
    assert (receipt.failure and receipt.failure.kind) is FailureKind.TRANSIENT
    assert len(http.sent) == 1


# --- rate limits


async def test_429_is_waited_for_once_as_long_as_the_body_says():
    http, clock = answers((429, {"retry_after": 1.57, "global": False}), (200, POSTED)), FakeClock()
    assert (await adapter(http, clock).send(CHANNEL, "hello")).ok
    assert clock.slept == [1.57]
    assert http.sent[0] == http.sent[1]


@pytest.mark.parametrize(("body", "header", "waited"), [(1.5, "2", 2.0), (3.25, "3", 3.25), (None, "4", 4.0)])
async def test_429_is_waited_for_as_long_as_the_larger_of_body_and_header(
    body: float | None, header: str, waited: float
):
    limit = {"retry_after": body, "global": False}
    http, clock = answers((429, limit, {"retry-after": header}), (200, POSTED)), FakeClock()
    assert (await adapter(http, clock).send(CHANNEL, "hello")).ok
    assert clock.slept == [waited]


async def test_a_second_429_is_the_result():
    http, clock = answers((429, {"retry_after": 0.5, "global": False})), FakeClock()
    receipt = await adapter(http, clock).transmit(Outgoing(CHANNEL, "hello"))
    assert (receipt.failure and receipt.failure.kind) is FailureKind.RATE_LIMITED
    assert "0.5 s" in receipt.result.error
    assert len(http.sent) == 2


async def test_longer_than_30_seconds_is_not_waited_for():
    http, clock = answers((429, {"retry_after": 64.57, "global": False})), FakeClock()
    receipt = await adapter(http, clock).transmit(Outgoing(CHANNEL, "hello"))
    assert "64.57 s" in receipt.result.error
    assert (receipt.failure and receipt.failure.retry_after_s) == 64.57
    assert (len(http.sent), clock.slept) == (1, [])


async def test_while_the_provider_wants_to_be_left_alone_longer_than_that_no_call_is_made():
    http, clock = answers((429, {"retry_after": 64.5, "global": False}), (200, POSTED)), FakeClock()
    channel = adapter(http, clock)
    await channel.send(CHANNEL, "hello")
    clock.advance(20)
    receipt = await channel.transmit(Outgoing(CHANNEL, "hello"))
    assert (receipt.failure and receipt.failure.kind) is FailureKind.RATE_LIMITED
    assert (receipt.failure and receipt.failure.retry_after_s) == 44.5
    assert len(http.sent) == 1
    clock.advance(20)
    assert (await channel.send(CHANNEL, "hello")).ok
    assert clock.slept == [24.5]


@pytest.mark.parametrize("absurd", [400_000_000_000, 1e300])
async def test_an_absurd_waiting_time_is_an_hour(absurd: float):
    http, clock = answers((429, {"retry_after": absurd, "global": False}), (200, POSTED)), FakeClock()
    channel = adapter(http, clock)
    receipt = await channel.transmit(Outgoing(CHANNEL, "hello"))
    assert (receipt.failure and receipt.failure.retry_after_s) == 3600.0
    assert mentions(receipt.result.error, "429: ", " 3600 s")
    clock.advance(3600)
    assert (await channel.send(CHANNEL, "hello")).ok


async def test_a_throttle_that_is_kept_without_a_call_says_so_and_what_it_concerns():
    http, clock = answers((429, {"retry_after": 64.5, "global": True})), FakeClock()
    channel = adapter(http, clock)
    await channel.send(CHANNEL, "hello")
    clock.advance(20)
    kept = await channel.transmit(Outgoing(OTHER, "hello"))
    assert mentions(kept.result.error, "429: ", "account", " 44.5 s")
    assert kept.failure is not None
    assert kept.failure.whole_account
    assert len(http.sent) == 1


async def test_a_throttle_of_one_channel_that_is_kept_without_a_call_does_not_concern_the_account():
    http, clock = answers((429, {"retry_after": 64.5, "global": False})), FakeClock()
    channel = adapter(http, clock)
    await channel.send(CHANNEL, "hello")
    clock.advance(20)
    kept = await channel.transmit(Outgoing(CHANNEL, "hello"))
    assert mentions(kept.result.error, "429: ", "channel", " 44.5 s")
    assert kept.failure is not None
    assert not kept.failure.whole_account


@pytest.mark.parametrize("code", [20016, 20028])
@pytest.mark.parametrize("status", [400, 429])
async def test_slow_mode_and_the_write_limit_are_rate_limits(code: int, status: int):
    http, clock = answers((status, {**refusal(code), "retry_after": 2.5}), (200, POSTED)), FakeClock()
    assert (await adapter(http, clock).send(CHANNEL, "hello")).ok
    assert clock.slept == [2.5]


@pytest.mark.parametrize("value", [True, "soon", -1, "nan", "inf", [], {}])
async def test_a_waiting_time_that_is_none_is_not_believed(value: object):
    http, clock = answers((429, {"retry_after": value, "global": False}), (200, POSTED)), FakeClock()
    assert (await adapter(http, clock).send(CHANNEL, "hello")).ok
    assert len(clock.slept) == 1
    assert 1.0 <= clock.slept[0] <= 1.25


async def test_an_exhausted_bucket_is_waited_for_before_the_next_call():
    exhausted = {"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "3.200"}
    http, clock = answers((200, POSTED, exhausted), (200, POSTED)), FakeClock()
    channel = adapter(http, clock)
    assert (await channel.send(CHANNEL, "one")).ok
    assert clock.slept == []
    clock.advance(1)
    assert (await channel.send(CHANNEL, "two")).ok
    assert clock.slept == [2.2]
    assert (await channel.send(CHANNEL, "three")).ok
    assert clock.slept == [2.2]


async def test_a_bucket_with_room_is_not_waited_for():
    room = {"x-ratelimit-remaining": "1", "x-ratelimit-reset-after": "3.200"}
    http, clock = answers((200, POSTED, room)), FakeClock()
    channel = adapter(http, clock)
    assert all([(await channel.send(CHANNEL, text)).ok for text in ("one", "two", "three")])
    assert clock.slept == []


async def test_an_exhausted_bucket_does_not_hold_up_other_channels():
    exhausted = {"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "3.2"}
    http, clock = answers((200, POSTED, exhausted), (200, POSTED)), FakeClock()
    channel = adapter(http, clock)
    assert (await channel.send(CHANNEL, "one")).ok
    assert (await channel.send(OTHER, "two")).ok
    assert clock.slept == []


@pytest.mark.parametrize(
    "everywhere",
    [
        (429, {"retry_after": 40.0, "global": True}),
        (429, {"retry_after": 40.0}, {"x-ratelimit-global": "true"}),
        (429, b"error code: 1015", {"retry-after": "40"}),
    ],
    ids=["flag", "header", "proxy"],
)
async def test_a_global_limit_applies_to_every_channel(everywhere: Any):
    http, clock = answers(everywhere, (200, POSTED)), FakeClock()
    channel = adapter(http, clock)
    receipt = await channel.transmit(Outgoing(CHANNEL, "one"))
    assert receipt.failure is not None
    assert receipt.failure.whole_account
    clock.advance(25)
    assert (await channel.send(OTHER, "two")).ok
    assert clock.slept == [15.0]


async def test_a_limit_of_the_connection_test_does_not_hold_up_messages():
    exhausted = {"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "25"}
    http, clock = answers((200, {"id": "2", "username": "tocsin"}, exhausted), (200, POSTED)), FakeClock()
    channel = adapter(http, clock)
    assert (await channel.test_connection()).ok
    assert (await channel.send(CHANNEL, "hello")).ok
    assert clock.slept == []


# --- the token


async def test_a_refused_token_is_never_sent_again():
    http = answers((401, refusal(0, "401: Unauthorized")))
    channel = adapter(http)
    first = await channel.send(CHANNEL, "one")
    second = await channel.send(OTHER, "two")
    assert "invalid token" in first.error
    assert "GUILDCHAT_BOT_TOKEN" in first.error
    assert "invalid token" in second.error
    assert "not sent" in second.error
    assert len(http.sent) == 1


async def test_a_refused_token_ends_the_rest_of_a_long_message():
    http = answers((401, b""))
    result = await adapter(http, GUILDCHAT_SPLIT="true").send(CHANNEL, "word " * 900)
    assert result.error.startswith("sent 0 of 3 parts: 401: invalid token")
    assert len(http.sent) == 1


async def test_the_connection_test_may_try_a_refused_token_again():
    http = answers((401, refusal(0)), (401, refusal(0)), (200, {"id": "2", "username": "tocsin"}), (200, POSTED))
    channel = adapter(http)
    await channel.send(CHANNEL, "hello")
    assert "invalid token" in (await channel.test_connection()).error
    assert not (await channel.send(CHANNEL, "hello")).ok
    assert (await channel.test_connection()).ok
    assert (await channel.send(CHANNEL, "hello")).ok
    assert [sent.method for sent in http.sent] == ["POST", "GET", "GET", "POST"]


async def test_the_connection_test_looks_up_the_own_user():
    http = answers((200, {"id": "200000000000000001", "username": "tocsin"}))
    result = await adapter(http).test_connection()
    assert result == SendResult(True, "guildchat", "", message="connected as tocsin")
    (sent,) = http.sent
    assert (sent.method, sent.url, sent.body) == ("GET", "https://discord.com/api/v10/users/@me", b"")
    assert sent.headers.keys() == {"Authorization", "User-Agent"}


# --- end to end, with the stand-in


Scenario = Callable[[GuildChat, GuildchatAdapter, FakeClock], Awaitable[None]]


async def end_to_end(scenario: Scenario, **env: str) -> None:
    """Play `scenario` with a paced stand-in that shares the adapter's clock."""
    clock, http = FakeClock(), DirectTransport()
    try:
        async with GuildChat(clock=clock.now, paced=True) as provider:
            channel = adapter(http, clock, GUILDCHAT_API_URL=provider.api_url, **env)
            await scenario(provider, channel, clock)
    finally:
        await http.aclose()


async def test_a_message_arrives_once_and_as_it_was_written():
    async def scenario(provider: GuildChat, channel: GuildchatAdapter, clock: FakeClock) -> None:
        text = 'Grüße 😀 @everyone\n`x` <b> \\ "q"'
        result = await channel.send(GENERAL, text)
        (received,) = provider.recorder.of("guildchat")
        assert (received.target, received.text) == (GENERAL, text)
        assert (result.ok, result.message) == (True, f"id={received.id}")
        assert (await channel.test_connection()).message == "connected as tocsin"

    await end_to_end(scenario)


@pytest.mark.parametrize("fault", [Fault.reset_after_accept(), Fault.broken_json()], ids=lambda f: f.kind)
async def test_a_message_whose_answer_was_lost_is_not_posted_twice(fault: Fault):
    async def scenario(provider: GuildChat, channel: GuildchatAdapter, clock: FakeClock) -> None:
        provider.faults.push(fault)
        result = await channel.send(GENERAL, "hello")
        assert result.ok
        assert [item.id for item in provider.recorder.of("guildchat")] == [result.message.removeprefix("id=")]
        assert len(provider.recorder.of("guildchat", kind="duplicate")) == 1

    await end_to_end(scenario)


async def test_a_later_attempt_at_the_same_delivery_is_not_posted_twice():
    async def scenario(provider: GuildChat, channel: GuildchatAdapter, clock: FakeClock) -> None:
        attempts: list[Receipt] = [await channel.transmit(Outgoing(OPS, "hello", key="d1")) for _ in range(3)]
        assert len({receipt.result.message for receipt in attempts}) == 1
        assert len(provider.recorder.of("guildchat")) == 1

    await end_to_end(scenario)


async def test_twelve_messages_in_a_row_keep_to_the_providers_pace():
    async def scenario(provider: GuildChat, channel: GuildchatAdapter, clock: FakeClock) -> None:
        assert all([(await channel.send(GENERAL, f"message {n}")).ok for n in range(12)])
        assert len(provider.recorder.of("guildchat")) == 12
        assert len(clock.slept) == 2
        assert provider.requests == 12

    await end_to_end(scenario)


async def test_the_stand_ins_refusals_are_understood():
    async def scenario(provider: GuildChat, channel: GuildchatAdapter, clock: FakeClock) -> None:
        assert (await channel.send(HIDDEN, "hello")).error.startswith("50001 Missing Access: ")
        provider.faults.push(Fault.rate_limited(2.5, scope="global"))
        assert (await channel.send(GENERAL, "hello")).ok
        assert sum(clock.slept) >= 2.5
        provider.token = "another"
        assert "invalid token" in (await channel.send(GENERAL, "hello")).error

    await end_to_end(scenario)


async def test_sends_at_the_same_time_do_not_disturb_each_other():
    async def scenario(provider: GuildChat, channel: GuildchatAdapter, clock: FakeClock) -> None:
        targets = [GENERAL, OPS] * 5
        results = await asyncio.gather(*(channel.send(target, f"to {target}") for target in targets))
        assert all(result.ok for result in results)
        assert sorted(item.target for item in provider.recorder.of("guildchat")) == sorted(targets)

    await end_to_end(scenario)
