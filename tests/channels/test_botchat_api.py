"""The Bot API client: what goes over the wire and what an answer means (docs/facts/botchat.md)."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.facts import mentions

from tocsin.channels.botchat.api import BotApi, BotApiError, bot_token
from tocsin.core.errors import ChannelError, FailureKind, RemoteError
from tocsin.core.http.transport import CALL_TIMEOUT_S, READ_TIMEOUT_S, HttpResponse
from tocsin.testing import ScriptedTransport

TOKEN = "123456789:AAexampleEXAMPLE_example-example"
BASE = "https://bot.example"
DOCUMENT = Path(__file__).parents[3] / "shared" / "peers-data" / "telegram-bot-api.min.json"


def refusal(code: int, description: str, **parameters: object) -> dict[str, object]:
    answer: dict[str, object] = {"ok": False, "error_code": code, "description": description}
    return answer | ({"parameters": parameters} if parameters else {})


async def error_of(
    answer: object, status: int, headers: dict[str, str] | None = None, token: str = TOKEN
) -> RemoteError:
    http = ScriptedTransport().will_answer(answer, status, headers)
    with pytest.raises(RemoteError) as caught:
        await BotApi(http, BASE, token).call("sendMessage", chat_id=7, text="hi")
    return caught.value


async def api_error_of(answer: object, status: int, headers: dict[str, str] | None = None) -> BotApiError:
    error = await error_of(answer, status, headers)
    assert isinstance(error, BotApiError)
    return error


async def test_a_call_posts_json_to_the_method_below_the_bots_token():
    http = ScriptedTransport().will_answer({"ok": True, "result": {"message_id": 5}})

    result = await BotApi(http, BASE, TOKEN).call("sendMessage", chat_id=-1001, text="café 😀", parse_mode=None)

    (sent,) = http.sent
    assert result == {"message_id": 5}
    assert (sent.method, sent.url) == ("POST", f"{BASE}/bot{TOKEN}/sendMessage")
    assert sent.headers == {"Content-Type": "application/json"}
    assert sent.json() == {"chat_id": -1001, "text": "café 😀"}


async def test_a_call_without_parameters_sends_an_empty_object():
    http = ScriptedTransport().will_answer({"ok": True, "result": {"username": "tocsin_bot"}})
    assert await BotApi(http, BASE, TOKEN).call("getMe") == {"username": "tocsin_bot"}
    assert http.sent[0].body == b"{}"


class TimedTransport(ScriptedTransport):
    """Notes the time limits of each call."""

    def __init__(self) -> None:
        super().__init__()
        self.limits: list[tuple[float, float]] = []

    async def request(self, *args: Any, **kwargs: Any) -> HttpResponse:
        self.limits.append((kwargs["timeout_s"], kwargs["read_timeout_s"]))
        return HttpResponse(200, {}, b'{"ok": true, "result": []}')


async def test_a_long_poll_waits_as_long_as_its_caller_says_and_others_the_usual_time():
    http = TimedTransport()
    api = BotApi(http, BASE, TOKEN)
    await api.call("getMe")
    await api.call("getUpdates", timeout=30, read_timeout_s=40.0)
    assert http.limits == [(CALL_TIMEOUT_S, READ_TIMEOUT_S), (50.0, 40.0)]


async def test_a_refusal_carries_the_facts_as_fields():
    error = await api_error_of(refusal(400, "Bad Request: chat not found", x=1), 400)
    assert (error.error_code, error.description) == (400, "Bad Request: chat not found")
    assert (error.parameters, error.provider_code) == ({"x": 1}, "400")
    assert error.mentions("CHAT NOT FOUND")
    assert not error.mentions("can't parse entities")


async def test_a_group_that_became_a_supergroup_is_told_by_its_new_id():
    told = refusal(400, "Bad Request: group chat was upgraded", migrate_to_chat_id=-1001234567890)
    assert (await api_error_of(told, 400)).migrate_to == -1001234567890
    assert (await api_error_of(refusal(400, "Bad Request: chat not found"), 400)).migrate_to is None


@pytest.mark.parametrize("odd", ["-1001", True, None, [1]])
async def test_a_new_id_that_is_no_number_is_no_new_id(odd: object):
    assert (await api_error_of(refusal(400, "moved", migrate_to_chat_id=odd), 400)).migrate_to is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, FailureKind.PERMANENT),
        (401, FailureKind.PERMANENT),
        (403, FailureKind.PERMANENT),
        (404, FailureKind.PERMANENT),
        (409, FailureKind.PERMANENT),
        (429, FailureKind.RATE_LIMITED),
        (500, FailureKind.TRANSIENT),
        (502, FailureKind.TRANSIENT),
        (503, FailureKind.TRANSIENT),
        (504, FailureKind.TRANSIENT),
    ],
)
async def test_the_error_code_decides_whether_a_second_try_may_help(code: int, kind: FailureKind):
    assert (await api_error_of(refusal(code, "No"), code)).kind is kind


@pytest.mark.parametrize(
    ("in_body", "in_header", "expected"),
    [(35, None, 35.0), (None, "12", 12.0), (35, "12", 35.0), (12, "35", 35.0), (None, None, None)],
)
async def test_of_two_waiting_times_the_larger_one_counts(
    in_body: int | None, in_header: str | None, expected: float | None
):
    parameters = {} if in_body is None else {"retry_after": in_body}
    headers = {} if in_header is None else {"retry-after": in_header}
    error = await api_error_of(refusal(429, "Too Many Requests", **parameters), 429, headers)
    assert error.retry_after_s == expected


@pytest.mark.parametrize("absurd", [400_000_000_000, 10**400, 1e300])
async def test_an_absurd_waiting_time_is_an_hour(absurd: float):
    assert (await api_error_of(refusal(429, "Too Many Requests", retry_after=absurd), 429)).retry_after_s == 3600.0


@pytest.mark.parametrize("odd", ["5", True, -1, None, [], float("inf"), float("nan")])
async def test_a_waiting_time_that_makes_no_sense_is_none(odd: object):
    assert (await api_error_of(refusal(429, "Too Many Requests", retry_after=odd), 429)).retry_after_s is None


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_a_proxys_error_page_is_transient_and_its_waiting_time_is_honoured(status: int):
    error = await api_error_of(b"<html>502 Bad Gateway</html>", status, {"retry-after": "7"})
    assert error.kind is (FailureKind.RATE_LIMITED if status == 429 else FailureKind.TRANSIENT)
    assert error.retry_after_s == 7.0
    assert error.sentence().startswith(f"HTTP {status}")
    assert "later" in error.hint


@pytest.mark.parametrize("body", [b"<html>Welcome</html>", b'{"ok": tr', b"", b"[]", b'{"ok": "yes"}', b'"ok"'])
async def test_a_success_that_cannot_be_read_leaves_the_outcome_unknown(body: bytes):
    error = await error_of(body, 200)
    assert error.kind is FailureKind.AMBIGUOUS
    assert error.sentence().startswith("outcome unknown: ")


async def test_a_redirect_is_an_error_that_names_the_setting():
    error = await error_of(b"", 302, {"location": "https://elsewhere.example"})
    assert error.kind is FailureKind.PERMANENT
    assert "BOTCHAT_API_URL" in error.sentence()


async def test_a_refusal_without_a_code_takes_the_status():
    assert (await api_error_of({"ok": False}, 403)).error_code == 403


async def test_a_refusal_without_any_details_says_so_and_names_the_setting():
    error = await api_error_of({"ok": False}, 200)
    assert error.kind is FailureKind.PERMANENT
    assert mentions(error.sentence(), "HTTP 200, but", "refused without a reason", "BOTCHAT_API_URL")


async def test_a_long_description_becomes_one_short_line():
    error = await api_error_of(refusal(400, "Bad\nRequest: " + "x" * 1000), 400)
    assert "\n" not in str(error)
    assert len(error.description) == 300


async def test_a_description_that_repeats_the_path_does_not_carry_the_token_on():
    error = await error_of(refusal(404, f"Not Found: /bot{TOKEN}/sendMessage"), 404)
    assert TOKEN not in repr(error) + error.sentence() + repr(vars(error))


@pytest.mark.parametrize("status", [200, 302, 400, 401, 404, 429, 500, 502])
@pytest.mark.parametrize("token", [TOKEN, "123:abc"])
async def test_no_error_names_the_token(status: int, token: str):
    error = await error_of(b"<html>", status, token=token)
    assert token not in repr(error) + error.sentence()


async def test_a_failed_connection_comes_through_as_it_is():
    failure = RemoteError("could not connect", kind=FailureKind.TRANSIENT)
    with pytest.raises(RemoteError) as caught:
        await BotApi(ScriptedTransport().will_raise(failure), BASE, TOKEN).call("getMe")
    assert caught.value is failure


@pytest.mark.parametrize("good", ["123:abc", TOKEN, f"  {TOKEN}\n"])
def test_a_token_is_an_id_and_characters_that_mean_nothing_in_a_url(good: str):
    assert bot_token(good) == good.strip()


@pytest.mark.parametrize(
    "bad",
    [
        "abc",
        "123:",
        ":abc",
        "123:a/b",
        "123:a?b",
        "123:a#b",
        "123:a%2f",
        "123:a b",
        "bot123:abc",
        "١٢:abc",
        "1:é",
    ],
)
def test_a_token_that_would_break_the_url_is_refused(bad: str):
    with pytest.raises(ValueError, match="@BotFather"):
        bot_token(bad)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
ANSWERS = st.dictionaries(st.sampled_from(["ok", "error_code", "description", "parameters", "result"]), JSON)


@given(answer=ANSWERS | JSON, status=st.integers(200, 599))
async def test_whatever_is_answered_there_is_a_result_or_an_error_with_a_sentence(answer: object, status: int):
    http = ScriptedTransport().will_answer(json.dumps(answer).encode(), status)
    outcome = await asyncio.gather(BotApi(http, BASE, TOKEN).call("sendMessage"), return_exceptions=True)
    if isinstance(answer, dict) and answer.get("ok") is True and not 300 <= status < 400:
        assert not isinstance(outcome[0], Exception)
        return
    (error,) = outcome
    assert isinstance(error, ChannelError)
    assert error.sentence()
    assert error.retry_after_s is None or 0 <= error.retry_after_s < float("inf")


@pytest.mark.skipif(not DOCUMENT.is_file(), reason="the published description of the Bot API is not at hand")
def test_the_methods_that_sending_needs_are_published():
    methods = json.loads(DOCUMENT.read_text(encoding="utf-8"))["methods"]
    assert {"sendMessage", "getMe"} <= methods.keys()
    assert "fields" not in methods["getMe"]
