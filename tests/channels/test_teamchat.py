"""teamchat: what goes over the wire, and what each answer of the provider means (docs/facts/teamchat.md)."""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.facts import mentions

from tocsin.channels.contract import Outgoing, Part, Receipt, SendResult
from tocsin.channels.model import UnknownAttempt
from tocsin.channels.teamchat.adapter import TeamchatAdapter
from tocsin.channels.teamchat.api import ADVICE, THROTTLED, TRANSIENT
from tocsin.channels.teamchat.wording import escape
from tocsin.core.errors import ChannelError, ConfigError, FailureKind
from tocsin.core.http.direct import DirectTransport
from tocsin.core.http.transport import HttpResponse, Transport, connect_failed, outcome_unknown
from tocsin.core.text.measures import escaped_code_points
from tocsin.testing import FakeClock, ScriptedTransport, build_adapter
from tocsin_standins.faults import Fault
from tocsin_standins.teamchat.server import TOKEN, TeamChat

URL = "https://slack.com/api/chat.postMessage"
POSTED = {"ok": True, "channel": "C0GENERAL", "ts": "1503435956.000247", "message": {"text": "hello"}}
IDENTITY = {
    "ok": True,
    "url": "https://x.slack.com/",
    "team": "Acme",
    "user": "bell",
    "team_id": "T0EXAMPLE",
    "user_id": "U0EXAMPLE",
    "bot_id": "B0EXAMPLE",
}


def adapter(http: Transport, clock: FakeClock | None = None, **env: str) -> TeamchatAdapter:
    return build_adapter(TeamchatAdapter, {"TEAMCHAT_BOT_TOKEN": TOKEN, **env}, http=http, clock=clock)


def answers(*documents: Any, status: int = 200, **headers: str) -> ScriptedTransport:
    http = ScriptedTransport()
    for document in documents:
        http.will_answer(document, status, {name.replace("_", "-"): value for name, value in headers.items()})
    return http


def refusal(code: str, **extra: str) -> dict[str, object]:
    return {"ok": False, "error": code, **extra}


async def sent_with(http: ScriptedTransport, clock: FakeClock | None = None, **env: str) -> Receipt:
    return await adapter(http, clock, **env).transmit(Outgoing("#ops", "hello"))


def kind_of(receipt: Receipt) -> FailureKind | None:
    return receipt.failure and receipt.failure.kind


# --- what is sent


async def test_a_message_is_posted_exactly_as_the_provider_wants_it():
    http = answers(POSTED)
    result = await adapter(http).send("#ops", "Disk <91 %> & rising 😀")
    assert result == SendResult(True, "teamchat", "#ops", message="ts=1503435956.000247")
    (sent,) = http.sent
    assert (sent.method, sent.url) == ("POST", URL)
    assert sent.headers == {
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json; charset=utf-8",
    }
    assert sent.json() == {
        "channel": "#ops",
        "text": "Disk &lt;91 %&gt; &amp; rising 😀",
        "unfurl_links": False,
        "unfurl_media": False,
        "link_names": False,
    }


async def test_the_base_address_is_a_setting_and_loses_its_trailing_slash():
    http = answers(POSTED)
    await adapter(http, TEAMCHAT_API_URL="http://127.0.0.1:9/api/").send("#ops", "hello")
    assert http.sent[0].url == "http://127.0.0.1:9/api/chat.postMessage"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a & b", "a &amp; b"),
        ("1 < 2 > 0", "1 &lt; 2 &gt; 0"),
        ("&lt;", "&amp;lt;"),
        ("<!channel> <@U0EXAMPLE>", "&lt;!channel&gt; &lt;@U0EXAMPLE&gt;"),
        ("*bold* _it_ `code` ~no~ \"q\" 'q'", "*bold* _it_ `code` ~no~ \"q\" 'q'"),
    ],
)
async def test_three_characters_are_escaped_and_nothing_else(text: str, escaped: str):
    http = answers(POSTED)
    await adapter(http).send("#ops", text)
    assert http.sent[0].json()["text"] == escaped


@given(st.text())
def test_an_escaped_text_holds_no_markup_of_the_provider_and_is_measured_before(text: str):
    escaped = escape(text)
    assert not {"<", ">"} & set(escaped)
    assert len(escaped) == escaped_code_points(text)
    assert escaped.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == text


# --- targets


@pytest.mark.parametrize(
    "target", ["#ops", "#öffentlich-1", "C0GENERAL", "G0PRIVATE", "D0DIRECT1", "U00ALICE1", "W00BOB", "C1"]
)
async def test_a_channel_by_name_or_id_and_a_person_by_id_are_targets(target: str):
    http = answers(POSTED)
    assert (await adapter(http).send(target, "hello")).ok
    assert http.sent[0].json()["channel"] == target
    assert "thread_ts" not in http.sent[0].json()


@pytest.mark.parametrize("channel", ["C0GENERAL", "#ops", "U00ALICE1"])
async def test_a_thread_is_named_by_the_time_stamp_of_its_first_message(channel: str):
    http = answers(POSTED)
    result = await adapter(http).send(f"{channel}/1503435956.000247", "hello")
    assert result.target == f"{channel}/1503435956.000247"
    body = http.sent[0].json()
    assert (body["channel"], body["thread_ts"]) == (channel, "1503435956.000247")


@pytest.mark.parametrize(
    "target",
    ["ops", "c0general", "#", "#two words", "#a,#b", "C0GENERAL/", "C0GENERAL/1", "C0GENERAL/1.2/3", "X0NOBODY"],
)
async def test_another_target_is_refused_before_any_call_with_the_forms_there_are(target: str):
    http = answers(POSTED)
    result = await adapter(http).send(target, "hello")
    assert not result.ok
    assert "#channel" in result.error
    assert http.sent == []


async def test_names_of_people_are_refused_with_a_hint_to_their_id():
    http = answers(POSTED)
    result = await adapter(http).send("@anna", "hello")
    assert "user ID" in result.error
    assert http.sent == []


async def test_blanks_around_a_target_do_not_matter():
    http = answers(POSTED)
    assert (await adapter(http).send(" #ops\n", "hello")).ok
    assert http.sent[0].json()["channel"] == "#ops"


# --- long texts


async def test_4000_characters_after_escaping_are_one_message():
    http = answers(POSTED)
    receipt = await adapter(http).transmit(Outgoing("#ops", "&" * 800))
    assert (receipt.result.ok, receipt.parts_total) == (True, 1)
    assert len(http.sent[0].json()["text"]) == 4_000


async def test_longer_texts_are_split_after_escaping_and_the_first_time_stamp_is_the_result():
    http = answers(*({**POSTED, "ts": f"150343595{n}.000247"} for n in range(9)))
    text = "a < b & c\n" * 600
    receipt = await adapter(http, TEAMCHAT_CHUNK_AT="4000").transmit(Outgoing("#ops", text))
    texts = [sent.json()["text"] for sent in http.sent]
    assert receipt.provider_id == "ts=1503435950.000247"
    assert receipt.result.message == f"ts=1503435950.000247 ({len(texts)} parts)"
    assert receipt.parts_sent == receipt.parts_total == len(texts) > 2
    assert max(map(len, texts)) <= 4_000
    assert "\n".join(texts).split() == escape(text).split()


@pytest.mark.parametrize(("length", "parts"), [(40_000, 1), (40_001, 2), (80_000, 2)])
async def test_texts_are_split_at_40_000_characters(length: int, parts: int):
    http = answers(POSTED)
    assert (await adapter(http).send("#ops", "x" * length)).ok
    assert len(http.sent) == parts


async def test_where_texts_are_split_is_a_setting():
    http = answers(POSTED)
    assert (await adapter(http, TEAMCHAT_CHUNK_AT="20000").send("#ops", "word " * 7_000)).ok
    assert len(http.sent) == 2
    with pytest.raises(ConfigError, match="TEAMCHAT_CHUNK_AT"):
        adapter(http, TEAMCHAT_CHUNK_AT="40001")


@settings(max_examples=30)
@given(st.text(alphabet="a&<> \n`", min_size=1, max_size=900))
def test_no_part_is_longer_than_the_setting_once_it_is_escaped(text: str):
    parts = adapter(ScriptedTransport(), TEAMCHAT_CHUNK_AT="100").split_text(f"x{text}")
    assert max(len(escape(part)) for part in parts) <= 100


async def test_all_parts_go_into_the_same_thread_one_after_the_other():
    http = answers(POSTED)
    await adapter(http).send("C0GENERAL/1503435956.000247", "word " * 20_000)
    assert [sent.json()["thread_ts"] for sent in http.sent] == ["1503435956.000247"] * 3


async def test_a_part_that_fails_ends_the_send_and_says_how_many_went_out():
    http = answers(POSTED, refusal("is_archived"))
    result = await adapter(http).send("#ops", "word " * 20_000)
    assert result.error.startswith("sent 1 of 3 parts: is_archived: ")
    assert len(http.sent) == 2


# --- refusals come with HTTP 200


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        ("not_in_channel", "invite the bot or add chat:write.public"),
        ("channel_not_found", "wrong ID or name, or a private channel without the bot as a member"),
        ("is_archived", "the channel is archived"),
        ("msg_too_long", "lower TEAMCHAT_CHUNK_AT; an edit takes at most 4,000 characters"),
        ("no_text", "no visible text"),
        ("restricted_action", "ask an admin"),
        ("invalid_auth", "invalid token"),
        ("not_authed", "invalid token"),
        ("account_inactive", "invalid token"),
        ("token_revoked", "invalid token"),
        ("token_expired", "invalid token"),
        ("user_not_found", "unknown user"),
        ("cannot_dm_bot", "bots cannot receive direct messages"),
        ("message_not_found", "deleted there"),
        ("cant_update_message", "another app"),
        ("cant_delete_message", "another app"),
        ("edit_window_closed", "no longer allows"),
        ("is_inactive", "archived"),
        ("msg_blocks_too_long", "shorten"),
        ("invalid_blocks", "report it"),
        ("invalid_blocks_format", "report it"),
        ("file_uploads_disabled", "allows no files"),
        ("file_uploads_except_images_disabled", "only pictures"),
        ("file_type_not_allowed", "of this type"),
        ("file_upload_size_restricted", "smaller"),
        ("storage_limit_reached", "full"),
        ("posting_to_channel_denied", "share files"),
    ],
)
async def test_every_code_of_the_provider_comes_with_its_remedy(code: str, remedy: str):
    http = answers(refusal(code))
    receipt = await sent_with(http)
    assert receipt.result.error.startswith(f"{code}: ")
    assert remedy in receipt.result.error
    assert kind_of(receipt) is FailureKind.PERMANENT
    assert (receipt.failure and receipt.failure.provider_code) == code
    assert len(http.sent) == 1


def test_every_remedy_is_tested():
    (marks,) = test_every_code_of_the_provider_comes_with_its_remedy.pytestmark  # type: ignore[attr-defined]
    assert {case[0] for case in marks.args[1]} == set(ADVICE)


@pytest.mark.parametrize("code", ["restricted_action_read_only_channel", "restricted_action_thread_only_channel"])
async def test_every_restricted_action_names_the_admin(code: str):
    assert "admin" in (await sent_with(answers(refusal(code)))).result.error


async def test_a_missing_scope_names_the_one_that_is_needed():
    http = answers(refusal("missing_scope", needed="chat:write", provided="im:history,users:read"))
    error = (await sent_with(http)).result.error
    assert mentions(error, "missing_scope: ", "chat:write", "im:history,users:read")


async def test_an_unknown_code_is_shown_as_it_is():
    assert (await sent_with(answers(refusal("something_new")))).result.error == "something_new"


async def test_a_fatal_error_of_a_new_message_leaves_its_outcome_unknown():
    http = answers(refusal("fatal_error"))
    receipt = await sent_with(http)
    assert mentions(receipt.result.error, "fatal_error")
    assert kind_of(receipt) is FailureKind.AMBIGUOUS
    assert len(http.sent) == 1


async def test_a_fatal_error_of_an_edit_is_transient():
    with pytest.raises(ChannelError, match="fatal_error") as error:
        await adapter(answers(refusal("fatal_error"))).edit(
            Part("C00000OPS", "green", "1:0"), {"channel": "C00000OPS", "ts": "1.2"}
        )
    assert error.value.kind is FailureKind.TRANSIENT


@pytest.mark.parametrize("code", sorted(TRANSIENT - {"fatal_error"}))
async def test_trouble_of_the_provider_is_transient_and_not_tried_again_at_once(code: str):
    http, clock = answers(refusal(code)), FakeClock()
    receipt = await sent_with(http, clock)
    assert receipt.result.error.startswith(f"{code}: ")
    assert kind_of(receipt) is FailureKind.TRANSIENT
    assert (len(http.sent), clock.slept) == (1, [])


@pytest.mark.parametrize(
    "document",
    [refusal(""), {"ok": False}, {"ok": False, "error": None}, {"ok": False, "error": ["x"]}, refusal("a\nb" * 5_000)],
)
async def test_a_strange_refusal_is_still_one_short_line(document: object):
    error = (await sent_with(answers(document))).result.error
    assert error
    assert len(error) < 500
    assert "\n" not in error


# --- rate limits


@pytest.mark.parametrize("code", sorted(THROTTLED))
async def test_429_is_waited_for_once_as_long_as_the_header_says(code: str):
    http = answers(refusal(code), status=429, retry_after="7").will_answer(POSTED)
    clock = FakeClock()
    assert (await sent_with(http, clock)).result.ok
    assert clock.slept == [7.0]
    assert http.sent[0] == http.sent[1]


async def test_429_without_retry_after_is_waited_for_about_a_second():
    http, clock = answers(refusal("ratelimited"), status=429).will_answer(POSTED), FakeClock()
    assert (await sent_with(http, clock)).result.ok
    assert 1.0 <= sum(clock.slept) <= 1.25


async def test_429_from_a_proxy_is_a_rate_limit_too():
    http = answers(b"<h1>slow down</h1>", status=429, retry_after="3").will_answer(POSTED)
    clock = FakeClock()
    assert (await sent_with(http, clock)).result.ok
    assert clock.slept == [3.0]


async def test_30_seconds_are_waited_for():
    http, clock = answers(refusal("ratelimited"), status=429, retry_after="30").will_answer(POSTED), FakeClock()
    assert (await sent_with(http, clock)).result.ok
    assert clock.slept == [30.0]


async def test_longer_than_30_seconds_fails_at_once_with_the_seconds():
    http, clock = answers(refusal("ratelimited"), status=429, retry_after="31").will_answer(POSTED), FakeClock()
    receipt = await sent_with(http, clock)
    assert mentions(receipt.result.error, "ratelimited: ", " 31 s")
    assert (kind_of(receipt), receipt.failure and receipt.failure.retry_after_s) == (FailureKind.RATE_LIMITED, 31.0)
    assert (len(http.sent), clock.slept) == (1, [])


async def test_a_second_429_is_the_result():
    http, clock = answers(refusal("ratelimited"), status=429, retry_after="2"), FakeClock()
    receipt = await sent_with(http, clock)
    assert kind_of(receipt) is FailureKind.RATE_LIMITED
    assert (len(http.sent), clock.slept) == (2, [2.0])


async def test_each_part_may_be_throttled_once():
    throttled = HttpResponse(429, {"retry-after": "1"}, b'{"ok":false,"error":"ratelimited"}')
    http = answers(POSTED, POSTED)
    http.script[1:1] = [throttled]
    http.script.insert(0, throttled)
    clock = FakeClock()
    assert (await adapter(http, clock).send("#ops", "word " * 12_000)).ok
    assert clock.slept == [1.0, 1.0]


# --- answers that are not the provider's, or do not come


@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize(
    "body", [b"<h1>Bad Gateway</h1>", refusal("internal_error"), b""], ids=["page", "json", "empty"]
)
async def test_a_server_error_is_transient_and_not_tried_again_at_once(status: int, body: object):
    http, clock = answers(body, status=status), FakeClock()
    receipt = await sent_with(http, clock)
    assert receipt.result.error
    assert kind_of(receipt) is FailureKind.TRANSIENT
    assert (len(http.sent), clock.slept) == (1, [])


@pytest.mark.parametrize(
    "body",
    [b"<h1>Welcome</h1>", b"", {}, [], {"ok": "true", "ts": "1.1"}, {"ok": True}, {"ok": True, "ts": 5}],
    ids=["page", "empty", "{}", "[]", "ok is text", "no ts", "ts is a number"],
)
async def test_a_200_that_is_no_answer_of_the_provider_leaves_the_outcome_unknown(body: object):
    http = answers(body)
    receipt = await sent_with(http)
    assert receipt.result.error.startswith("outcome unknown: HTTP 200")
    assert "TEAMCHAT_API_URL" in receipt.result.error
    assert kind_of(receipt) is FailureKind.AMBIGUOUS
    assert len(http.sent) == 1


async def test_an_answer_that_broke_off_leaves_the_outcome_unknown():
    http = ScriptedTransport([HttpResponse(200, {}, b'{"ok":true,"ts":"1.1"}', complete=False)])
    assert (await sent_with(http)).result.error.startswith("outcome unknown")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("body", [b"", POSTED], ids=["empty", "json"])
async def test_a_redirect_is_an_error_that_names_the_setting(status: int, body: object):
    http = answers(body, status=status, location="https://elsewhere.example/")
    receipt = await sent_with(http)
    assert mentions(receipt.result.error, f"HTTP {status}: ", "TEAMCHAT_API_URL")
    assert len(http.sent) == 1


@pytest.mark.parametrize("status", [400, 403, 404])
async def test_a_page_with_an_error_status_names_the_setting(status: int):
    error = (await sent_with(answers(b"<h1>no</h1>", status=status))).result.error
    assert mentions(error, f"HTTP {status}: ", "TEAMCHAT_API_URL")


async def test_without_an_answer_the_outcome_is_unknown_and_nothing_is_sent_again():
    http, clock = ScriptedTransport().will_raise(outcome_unknown(URL, "did not respond in time")), FakeClock()
    receipt = await sent_with(http, clock)
    assert receipt.result.error.startswith("outcome unknown: slack.com ")
    assert (len(http.sent), clock.slept) == (1, [])


async def test_a_failed_connection_is_transient():
    http = ScriptedTransport().will_raise(connect_failed(URL, "Connection refused"))
    receipt = await sent_with(http)
    assert mentions(receipt.result.error, "slack.com", "Connection refused")
    assert kind_of(receipt) is FailureKind.TRANSIENT


async def test_a_token_in_an_answer_does_not_reach_the_result():
    http = answers(refusal(f"you sent {TOKEN}"))
    assert "xoxb" not in (await sent_with(http)).result.error
    http = answers({**POSTED, "ts": TOKEN})
    assert "xoxb" not in (await sent_with(http)).result.message


# --- the credentials


async def test_a_test_names_bot_and_workspace():
    http = answers(IDENTITY)
    result = await adapter(http).test_connection()
    assert result == SendResult(True, "teamchat", "", message="connected as bell (Acme)")
    assert http.sent[0].url == "https://slack.com/api/auth.test"
    assert http.sent[0].headers["Authorization"] == f"Bearer {TOKEN}"


@pytest.mark.parametrize("code", ["invalid_auth", "account_inactive", "token_revoked"])
async def test_a_test_with_a_bad_token_says_so(code: str):
    result = await adapter(answers(refusal(code))).test_connection()
    assert (result.ok, result.target) == (False, "")
    assert result.error.startswith(f"{code}: invalid token")
    assert "TEAMCHAT_BOT_TOKEN" in result.error


def test_without_a_token_there_is_no_adapter():
    with pytest.raises(ChannelError, match="Slack needs TEAMCHAT_BOT_TOKEN"):
        build_adapter(TeamchatAdapter, {})


@pytest.mark.parametrize("value", ["xoxb-1 2", "xoxb-ä", "xoxb-\x01"])
def test_a_token_that_cannot_travel_in_a_header_is_refused_without_showing_it(value: str):
    with pytest.raises(ConfigError, match="TEAMCHAT_BOT_TOKEN") as failure:
        adapter(ScriptedTransport(), TEAMCHAT_BOT_TOKEN=value)
    assert value not in f"{failure.value} {failure.value.hint}"


# --- against the stand-in, by both transports


@pytest.fixture
async def workspace() -> AsyncIterator[TeamChat]:
    async with TeamChat() as standin:
        yield standin


@pytest.fixture
async def wire() -> AsyncIterator[Transport]:
    transport = DirectTransport()
    yield transport
    await transport.aclose()


async def test_the_reader_sees_what_was_written(workspace: TeamChat, wire: Transport):
    text = "<!channel> & *wörld* 😀\nsecond line"
    result = await adapter(wire, TEAMCHAT_API_URL=workspace.api_url).send("#ops", text)
    (received,) = workspace.recorder.of("teamchat")
    assert (received.text, f"ts={received.id}") == (text, result.message)
    assert "&lt;!channel&gt;" in received.body["text"]  # type: ignore[index]  # JSON calls have a mapping


@pytest.mark.parametrize(
    ("target", "error"),
    [("#nowhere", "channel_not_found"), ("#board", "channel_not_found"), ("#attic", "is_archived"), ("#lobby", "")],
)
async def test_the_stand_in_refuses_as_the_provider_does(workspace: TeamChat, wire: Transport, target: str, error: str):
    result = await adapter(wire, TEAMCHAT_API_URL=workspace.api_url).send(target, "hello")
    assert (result.ok, result.error.startswith(error)) == (not error, True)


async def test_without_the_public_scope_a_channel_must_be_joined(workspace: TeamChat, wire: Transport):
    workspace.scopes.discard("chat:write.public")
    result = await adapter(wire, TEAMCHAT_API_URL=workspace.api_url).send("#lobby", "hello")
    assert mentions(result.error, "not_in_channel: ", "chat:write.public")


@pytest.mark.parametrize(
    ("fault", "posted", "error"),
    [
        (Fault.reset(), 0, "outcome unknown"),
        (Fault.reset_after_accept(), 1, "outcome unknown"),
        (Fault.broken_json(), 1, "outcome unknown"),
        (Fault.html_200(), 0, "outcome unknown"),
        (Fault.redirect("https://elsewhere.example/"), 0, "HTTP 302"),
        (Fault.status(503), 0, "HTTP 503"),
        (Fault.rate_limited(99), 0, "ratelimited: the provider asks to wait 99 s"),
        (Fault.error("token_revoked"), 0, "token_revoked"),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else None,
)
async def test_whatever_goes_wrong_the_message_is_posted_at_most_once(
    workspace: TeamChat, wire: Transport, fault: Fault, posted: int, error: str
):
    workspace.faults.push(fault)
    result = await adapter(wire, TEAMCHAT_API_URL=workspace.api_url).send("#ops", "hello")
    assert result.error.startswith(error)
    assert len(workspace.recorder.of("teamchat")) == posted


async def test_only_with_the_setting_a_message_carries_its_mark_and_is_looked_for_on_every_page():
    plain = answers(POSTED)
    await adapter(plain).transmit(Outgoing("C0GENERAL", "hello", "d1"))
    assert "metadata" not in plain.sent[0].json()
    marked = {"metadata": {"event_type": "x", "event_payload": {"id": "d1:0"}}}
    pages = answers(
        {"ok": True, "bot_id": "B1"},
        {"ok": True, "messages": [{"ts": "9.1", "metadata": 7}], "response_metadata": {"next_cursor": "more"}},
        {"ok": True, "messages": [{"ts": "8.2", "bot_id": "B2", **marked}, {"ts": "8.1", "bot_id": "B1", **marked}]},
    )
    unknown = Outgoing("C0GENERAL", "hello", "d1", unknown=UnknownAttempt(1_000.0))
    receipt = await adapter(pages, TEAMCHAT_FIND_SENT="true").transmit(unknown)
    assert receipt.result.message == "ts=8.1 (found: an earlier attempt had sent it)"
    first, second = (dict(parse_qsl(each.body.decode())) for each in pages.sent[1:])
    assert (first["oldest"], first["include_all_metadata"], second["cursor"]) == ("700.000000", "true", "more")


@pytest.mark.parametrize("held", [False, True])
async def test_a_part_of_a_text_that_was_divided_differently_is_not_looked_for(held: bool):
    pages = answers(POSTED, POSTED)
    unknown = UnknownAttempt(1_000.0, held=held)
    outgoing = Outgoing("C0GENERAL", "one. " * 30, "d1", parts_sent=1, parts_total=3, unknown=unknown)
    receipt = await adapter(pages, TEAMCHAT_FIND_SENT="true", TEAMCHAT_CHUNK_AT="100").transmit(outgoing)
    assert len(pages.sent) == (0 if held else 2)
    assert "the text is now divided differently" in (receipt.result.error or receipt.result.message)
