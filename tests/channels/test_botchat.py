"""botchat sends texts through the Bot API (docs/facts/botchat.md)."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.facts import mentions

from tocsin.channels.botchat import BotchatAdapter
from tocsin.channels.botchat.draft import without_tags
from tocsin.channels.contract import Outgoing, Receipt, SendResult
from tocsin.core.errors import ChannelError, ConfigError, FailureKind, RemoteError, StoreUnavailableError
from tocsin.core.http.direct import DirectTransport
from tocsin.core.http.transport import Transport, connect_failed, outcome_unknown
from tocsin.core.text.measures import utf16_units
from tocsin.testing import FakeClock, ScriptedTransport, build_adapter
from tocsin_standins.botchat.server import TOKEN as STANDIN_TOKEN
from tocsin_standins.botchat.server import BotChat
from tocsin_standins.botchat.world import (
    BLOCKED_CHAT,
    BOT_USERNAME,
    DEACTIVATED_CHAT,
    FORUM_CHAT,
    KICKED_CHAT,
    MIGRATED_CHAT,
    MISSING_CHAT,
    NEW_CHAT,
    NOT_STARTED_CHAT,
)
from tocsin_standins.faults import Fault

TOKEN = "123456789:AAexampleEXAMPLE_example-example"
ENV = {"BOTCHAT_BOT_TOKEN": TOKEN}
DOCUMENT = Path(__file__).parents[3] / "shared" / "peers-data" / "telegram-bot-api.min.json"
PARSE_MODES = ("Markdown", "MarkdownV2", "HTML", "plain")
BAD_MARKUP = "Bad Request: can't parse entities: Can't find end of the entity starting at byte offset 5"
THREAD_GONE = "Bad Request: message thread not found"
UPGRADED = "Bad Request: group chat was upgraded to a supergroup chat"


class Wire(ScriptedTransport):
    """A scripted Bot API."""

    def sends(self, message_id: int = 42) -> "Wire":
        self.will_answer({"ok": True, "result": {"message_id": message_id, "chat": {"id": 7}}})
        return self

    def refuses(self, code: int, description: str, **parameters: object) -> "Wire":
        answer: dict[str, object] = {"ok": False, "error_code": code, "description": description}
        self.will_answer(answer | ({"parameters": parameters} if parameters else {}), code)
        return self

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [request.json() for request in self.sent]


def adapter(http: Transport, clock: FakeClock | None = None, **env: str) -> BotchatAdapter:
    return build_adapter(BotchatAdapter, ENV | env, http=http, clock=clock)


async def send(http: Transport, target: str = "7", text: str = "hi", mode: str = "", **env: str) -> SendResult:
    return (await transmit(http, target, text, mode, **env)).result


async def transmit(http: Transport, target: str = "7", text: str = "hi", mode: str = "", **env: str) -> Receipt:
    return await adapter(http, **env).transmit(Outgoing(target, text, parse_mode=mode))


# The call itself


async def test_a_send_posts_the_text_and_the_note_is_the_messages_id():
    http = Wire().sends(42)
    result = await adapter(http).send("7", "Backup done 😀")

    (sent,) = http.sent
    assert result == SendResult(True, "botchat", "7", message="id=42")
    assert (sent.method, sent.url) == ("POST", f"https://api.telegram.org/bot{TOKEN}/sendMessage")
    assert sent.headers == {"Content-Type": "application/json"}
    assert sent.json() == {
        "chat_id": 7,
        "text": "Backup done 😀",
        "parse_mode": "Markdown",
        "link_preview_options": {"is_disabled": True},
    }


async def test_the_base_address_is_a_setting():
    http = Wire().sends()
    await send(http, BOTCHAT_API_URL="http://127.0.0.1:8081/tg/")
    assert http.sent[0].url == f"http://127.0.0.1:8081/tg/bot{TOKEN}/sendMessage"


@pytest.mark.skipif(not DOCUMENT.is_file(), reason="the published description of the Bot API is not at hand")
async def test_the_parameters_are_those_of_the_published_interface():
    http = Wire().sends()
    await send(http, "-1001/5", "x")
    types = {"Integer": int, "String": str, "LinkPreviewOptions": dict}
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    fields = {field["name"]: field for field in document["methods"]["sendMessage"]["fields"]}
    options = {field["name"] for field in document["types"]["LinkPreviewOptions"]["fields"]}

    (body,) = http.bodies
    assert body.keys() >= {name for name, field in fields.items() if field["required"]}
    for name, value in body.items():
        assert isinstance(value, tuple(types[kind] for kind in fields[name]["types"]))
    assert body["link_preview_options"].keys() <= options


@pytest.mark.parametrize("answer", [{"ok": True}, {"ok": True, "result": True}, {"ok": True, "result": {}}])
async def test_an_ok_without_a_message_still_counts_as_sent(answer: object):
    result = await send(Wire().will_answer(answer))
    assert (result.ok, result.message) == (True, "id=?")


async def test_the_connection_test_names_the_bot():
    http = Wire().will_answer({"ok": True, "result": {"id": 1, "is_bot": True, "username": "tocsin_bot"}})
    assert await adapter(http).test_connection() == SendResult(True, "botchat", "", message="connected as tocsin_bot")
    (sent,) = http.sent
    assert (sent.method, sent.url, sent.body) == ("POST", f"https://api.telegram.org/bot{TOKEN}/getMe", b"{}")


async def test_the_connection_test_explains_a_bad_token():
    result = await adapter(Wire().refuses(401, "Unauthorized")).test_connection()
    assert (result.ok, result.target) == (False, "")
    assert result.error.startswith("401 Unauthorized")
    assert mentions(result.error, "@BotFather", "BOTCHAT_BOT_TOKEN")


# Construction and settings


def test_without_a_token_there_is_no_adapter():
    with pytest.raises(ChannelError, match="BOTCHAT_BOT_TOKEN"):
        build_adapter(BotchatAdapter, {})


def test_a_malformed_token_is_refused_without_showing_it():
    with pytest.raises(ConfigError) as caught:
        build_adapter(BotchatAdapter, {"BOTCHAT_BOT_TOKEN": "123:se/cret"})
    assert "BOTCHAT_BOT_TOKEN" in caught.value.sentence()
    assert "se/cret" not in caught.value.sentence()


def test_a_short_token_is_good_enough():
    assert build_adapter(BotchatAdapter, {"BOTCHAT_BOT_TOKEN": "123:abc"}).spec.kind == "botchat"


def test_an_unknown_default_parse_mode_is_refused_with_the_known_ones():
    with pytest.raises(ConfigError, match="BOTCHAT_PARSE_MODE") as caught:
        adapter(Wire(), BOTCHAT_PARSE_MODE="rst")
    assert mentions(caught.value.sentence(), *PARSE_MODES)


@pytest.mark.parametrize(
    ("setting", "asked", "sent"),
    [
        ("", "", "Markdown"),
        ("", "MarkdownV2", "MarkdownV2"),
        ("", "HTML", "HTML"),
        ("", "plain", None),
        ("html", "", "HTML"),
        ("markdownv2", "Markdown", "Markdown"),
        ("Plain", "", None),
    ],
)
async def test_the_parse_mode_is_the_senders_else_the_setting_else_markdown(setting: str, asked: str, sent: str | None):
    http = Wire().sends()
    await send(http, mode=asked, BOTCHAT_PARSE_MODE=setting)
    assert http.bodies[0].get("parse_mode") == sent


async def test_a_parse_mode_of_another_channel_is_refused_before_any_call():
    http = Wire().sends()
    assert mentions((await send(http, mode="mrkdwn")).error, "mrkdwn", *PARSE_MODES)
    assert http.sent == []


# Targets


@pytest.mark.parametrize(
    ("target", "chat_id", "thread_id"),
    [
        ("7", 7, None),
        ("-3001", -3001, None),
        ("-1001234567890", -1001234567890, None),
        ("4503599627370495", 2**52 - 1, None),
        ("@tocsin_news", "@tocsin_news", None),
        ("-1001234567890/5", -1001234567890, 5),
        ("@tocsin_forum/5", "@tocsin_forum", 5),
        ("-1001234567890/1", -1001234567890, None),  # the General topic
        ("  7 ", 7, None),
    ],
)
async def test_a_target_is_a_chat_id_or_a_channel_name_and_may_name_a_topic(
    target: str, chat_id: int | str, thread_id: int | None
):
    http = Wire().sends()
    assert (await send(http, target)).ok
    (body,) = http.bodies
    assert (body["chat_id"], type(body["chat_id"])) == (chat_id, type(chat_id))
    assert body.get("message_thread_id") == thread_id


@pytest.mark.parametrize(
    "target",
    [
        "0", "-0", "007", "+7", "7.0", "4503599627370496", "-4503599627370496", "99999999999999999",
        "tocsin_news", "@abc", "@tocsin-news", "@" + "a" * 33, "7/", "7/0", "7/-1", "7/x", "7/5/6", "/5",
        "7/2147483648", "--7", "\u0667", "+49 170 1234567", "https://t.me/tocsin_news", "7,8", "@tocsin news",
    ],
)  # fmt: skip
async def test_anything_else_is_refused_with_a_hint_before_any_call(target: str):
    http = Wire().sends()
    result = await send(http, target)
    assert not result.ok
    assert "@channelusername" in result.error
    assert http.sent == []


@given(st.integers(-(2**52) + 1, 2**52 - 1).filter(bool), st.integers(1, 2**31 - 1))
def test_every_id_of_the_product_is_a_target(chat_id: int, thread_id: int):
    target = f"{chat_id}/{thread_id}"
    assert adapter(Wire()).check_target(target) == target


# Splitting


async def test_a_long_text_goes_out_in_parts_in_order_and_the_note_is_the_first_ones():
    words = [f"word{number}" for number in range(2_000)]
    http = Wire().sends(1).sends(2).sends(3).sends(4)
    receipt = await transmit(http, text=" ".join(words))

    texts = [body["text"] for body in http.bodies]
    assert (receipt.provider_id, receipt.parts_sent, receipt.parts_total) == (
        "id=1",
        len(texts),
        len(texts),
    )
    assert len(texts) > 1
    assert all(utf16_units(text) <= 4_000 for text in texts)
    assert " ".join(texts).split() == words


async def test_length_is_counted_in_utf16_units():
    http = Wire().sends()
    receipt = await transmit(http, text="😀" * 2_001)
    assert [utf16_units(body["text"]) for body in http.bodies] == [4_000, 2]
    assert receipt.parts_total == 2


async def test_every_part_goes_to_the_same_topic():
    http = Wire().sends()
    await send(http, "-1001/5", "x" * 9_000)
    assert [(body["chat_id"], body["message_thread_id"]) for body in http.bodies] == [(-1001, 5)] * 3


async def test_a_failing_part_stops_the_rest_and_says_how_many_were_sent():
    http = Wire().sends().refuses(403, "Forbidden: bot was blocked by the user")
    receipt = await transmit(http, text="x" * 9_000)
    assert receipt.result.error.startswith("sent 1 of 3 parts: 403 Forbidden: bot was blocked by the user")
    assert (receipt.parts_sent, len(http.sent)) == (1, 2)


@pytest.mark.parametrize("text", ["", " \n\t ", "\r\n"])
async def test_a_blank_text_is_refused_before_any_call(text: str):
    http = Wire().sends()
    assert (await send(http, text=text)).error
    assert http.sent == []


# Markup the server refuses


@pytest.mark.parametrize("words", [BAD_MARKUP, BAD_MARKUP.upper(), BAD_MARKUP.replace("can't", "Can't")])
async def test_refused_markup_is_sent_once_more_as_the_same_text_without_parse_mode(words: str):
    http = Wire().refuses(400, words).sends(43)
    clock = FakeClock()
    receipt = await adapter(http, clock).transmit(Outgoing("-1001/5", "disk_full on *db1"))

    first, second = http.bodies
    assert second == {name: value for name, value in first.items() if name != "parse_mode"}
    assert second["message_thread_id"] == 5
    assert receipt.result.message == "id=43"
    assert (receipt.attempts, clock.slept) == (1, [])  # not counted as a retry


@pytest.mark.parametrize("mode", ["Markdown", "MarkdownV2"])
async def test_markdown_that_is_refused_keeps_every_character(mode: str):
    http = Wire().refuses(400, BAD_MARKUP).sends()
    source = "*bold* \\. <b>&amp;"
    await send(http, text=source, mode=mode)
    assert [body["text"] for body in http.bodies] == [source, source]


async def test_html_that_is_refused_loses_its_tags_and_escapes():
    http = Wire().refuses(400, BAD_MARKUP).sends()
    await send(
        http,
        text='<p>Deploy <b>done</b></p>1 &lt; 2, <a href="https://ci.example/1?a&amp;b">log</a>',
        mode="HTML",
    )
    assert http.bodies[1]["text"] == "Deploy done\n1 < 2, log (https://ci.example/1?a&b)"
    assert "parse_mode" not in http.bodies[1]


async def test_plain_text_is_sent_without_parse_mode_and_never_twice():
    http = Wire().refuses(400, BAD_MARKUP)
    result = await send(http, mode="plain")
    assert len(http.sent) == 1
    assert result.error.startswith(f"400 {BAD_MARKUP}")
    assert "markup" in result.error


async def test_the_fallback_is_tried_once():
    http = Wire().refuses(400, BAD_MARKUP)
    assert not (await send(http)).ok
    assert len(http.sent) == 2


async def test_each_part_falls_back_by_itself():
    http = Wire().refuses(400, BAD_MARKUP).sends(1).sends(2)
    await send(http, text="x" * 5_000)
    assert [body.get("parse_mode") for body in http.bodies] == ["Markdown", None, "Markdown"]


@pytest.mark.parametrize(
    ("source", "readable"),
    [
        ("a < b and c > d", "a < b and c > d"),
        ("one<br>two<br/>\nthree", "one\ntwo\nthree"),
        ("&lt;b&gt; &amp;amp;", "<b> &amp;"),
        ('<a href="https://x.example">https://x.example</a>', "https://x.example"),
        ("<a href=u>t", "t"),
        ("<span class='tg-spoiler'>x</span>", "x"),
        ("<br>", "<br>"),  # never nothing
    ],
)
def test_html_is_made_readable(source: str, readable: str):
    assert without_tags(source) == readable


MARKUP = st.lists(
    st.sampled_from(
        ["<a href=", "href", '"', "u", ">", "</a>", "<b", "<br>", "&lt;", "&#1;", " ", "=", "x", "\n", "😀"]
    )
)


@given(MARKUP.map("".join))
def test_readable_html_is_never_longer_than_its_source_and_never_blank(source: str):
    readable = without_tags(source)
    assert utf16_units(readable) <= utf16_units(source)
    assert bool(readable.strip()) == bool(source.strip())


# Topics and groups that went away or moved


@pytest.mark.parametrize("words", [THREAD_GONE, "Bad Request: TOPIC_DELETED"])
async def test_a_topic_that_is_gone_is_left_out_once_and_the_note_says_so(words: str):
    http = Wire().refuses(400, words).sends(44)
    result = await send(http, "-1001/5")
    first, second = http.bodies
    assert second == {name: value for name, value in first.items() if name != "message_thread_id"}
    assert mentions(result.message, "id=44 ", "topic 5")


async def test_without_a_topic_there_is_nothing_to_leave_out():
    http = Wire().refuses(400, THREAD_GONE)
    assert (await send(http, "-1001")).error.startswith("400 Bad Request: message thread not found")
    assert len(http.sent) == 1


async def test_a_group_with_a_new_id_gets_the_message_there_and_later_ones_directly():
    http = Wire().refuses(400, UPGRADED, migrate_to_chat_id=-1002000000001).sends(45).sends(46)
    bot = adapter(http)
    first, second = await bot.send("-2001", "one"), await bot.send("-2001", "two")

    assert [body["chat_id"] for body in http.bodies] == [-2001, -1002000000001, -1002000000001]
    assert (first.ok, mentions(first.message, "id=45 ", "-1002000000001")) == (True, True)
    assert (second.ok, second.target) == (True, "-2001")


async def test_who_wants_to_know_is_told_once_of_a_groups_new_id_and_cannot_stop_the_message():
    http = Wire().refuses(400, UPGRADED, migrate_to_chat_id=-1002).sends(45).sends(46)
    bot, moves = adapter(http), []

    async def note(old_id: str, new_id: str) -> None:
        moves.append((old_id, new_id))
        raise StoreUnavailableError("the disk is full")

    bot.on_moved(note)
    assert (await bot.send("-2001", "one")).ok
    assert (await bot.send("-2001", "two")).ok
    assert moves == [("-2001", "-1002")]


async def test_a_group_that_keeps_moving_is_followed_once():
    http = Wire().refuses(400, UPGRADED, migrate_to_chat_id=-1002).refuses(400, UPGRADED, migrate_to_chat_id=-1003)
    assert (await send(http, "-2001")).error
    assert [body["chat_id"] for body in http.bodies] == [-2001, -1002]


async def test_all_three_remedies_combine_each_once():
    http = Wire().refuses(400, UPGRADED, migrate_to_chat_id=-1002)
    http.refuses(400, BAD_MARKUP).refuses(400, THREAD_GONE).sends(47)
    receipt = await transmit(http, "-2001/5")
    assert [(b["chat_id"], b.get("message_thread_id"), b.get("parse_mode")) for b in http.bodies] == [
        (-2001, 5, "Markdown"),
        (-1002, 5, "Markdown"),
        (-1002, 5, None),
        (-1002, None, None),
    ]
    assert (receipt.result.ok, receipt.attempts) == (True, 1)


@given(
    st.lists(
        st.sampled_from([(BAD_MARKUP, {}), (THREAD_GONE, {}), (UPGRADED, {"migrate_to_chat_id": -1002})]),
        max_size=6,
    )
)
async def test_whatever_is_refused_there_are_at_most_four_calls_and_none_is_repeated(
    refusals: list[tuple[str, dict[str, int]]],
):
    http = Wire()
    for description, parameters in refusals:
        http.refuses(400, description, **parameters)
    await send(http.sends(), "-2001/5")
    assert len(http.sent) <= 4
    assert all(earlier.body != later.body for earlier, later in pairwise(http.sent))


# What refusals mean


@pytest.mark.parametrize(
    ("code", "description", "advice"),
    [
        (400, "Bad Request: chat not found", "a user must press Start first"),
        (403, "Forbidden: bot was blocked by the user", "must open the chat with the bot and press Start"),
        (403, "Forbidden: user is deactivated", "remove the target"),
        (403, "Forbidden: bot was kicked from the supergroup chat", "add the bot to the chat again"),
        (403, "Forbidden: bot is not a member of the channel chat", "add the bot to the chat"),
        (403, "Forbidden: bot can't initiate conversation with a user", "press Start first"),
        (403, "Forbidden: bot can't send messages to bots", "this one is a bot"),
        (403, "Forbidden: something new", "check its membership and permissions"),
        (400, "Bad Request: not enough rights to send text messages to the chat", "allow the bot to send"),
        (400, "Bad Request: need administrator rights in the channel chat", "make the bot an administrator"),
        (400, "Bad Request: TOPIC_CLOSED", "reopen the topic"),
        (400, "Bad Request: BUTTON_DATA_INVALID", "which is a bug; report it"),
        (400, "Bad Request: inline keyboard button URL is invalid: BUTTON_URL_INVALID", "must begin with https://"),
        (400, "Bad Request: file must be non-empty", "attach a file with content"),
        (413, "Request Entity Too Large", "at most 50 MB"),
        (400, "Bad Request: message is too long", "send it in shorter parts"),
        (400, "Bad Request: message text is empty", "write at least one visible character"),
        (401, "Unauthorized", "invalid token"),
        (404, "Not Found", "invalid token or address; check BOTCHAT_BOT_TOKEN and BOTCHAT_API_URL"),
        (409, "Conflict: can't use getUpdates method while webhook is active", "delete the webhook"),
        (
            409,
            "Conflict: terminated by other getUpdates request",
            "another program polls with the same token",
        ),
        (409, "Conflict: something new", "another program uses the same token"),
        (400, "Logged out", "correct BOTCHAT_API_URL"),
    ],
)
async def test_a_permanent_refusal_is_not_tried_again_and_names_code_and_remedy(
    code: int, description: str, advice: str
):
    http = Wire().refuses(code, description)
    receipt = await transmit(http, mode="plain")
    assert receipt.result.error.startswith(f"{code} {description}")
    assert advice in receipt.result.error
    assert receipt.failure is not None
    assert receipt.failure.kind is FailureKind.PERMANENT
    assert len(http.sent) == 1


async def test_an_unknown_refusal_is_shown_as_it_is():
    assert (await send(Wire().refuses(400, "Bad Request: NEW_RULE"))).error == "400 Bad Request: NEW_RULE"


# Retries: 3, exponential, on 429/500/502/503/504, honouring Retry-After


async def test_a_429_is_waited_out_exactly_as_told():
    clock = FakeClock()
    http = Wire().refuses(429, "Too Many Requests: retry after 35", retry_after=35).sends(48)
    receipt = await adapter(http, clock).transmit(Outgoing("7", "hi"))
    assert (receipt.result.message, receipt.attempts) == ("id=48", 2)
    assert clock.slept == [35.0]


async def test_after_three_retries_a_429_is_a_failure_with_the_seconds():
    clock = FakeClock()
    http = Wire().refuses(429, "Too Many Requests: retry after 5", retry_after=5)
    receipt = await adapter(http, clock).transmit(Outgoing("7", "hi"))
    assert clock.slept == [5.0, 5.0, 5.0]
    assert len(http.sent) == 4
    assert receipt.result.error.startswith("429 Too Many Requests: retry after 5")
    assert " 5 s" in receipt.result.error
    assert receipt.failure is not None
    assert (receipt.failure.kind, receipt.failure.retry_after_s) == (FailureKind.RATE_LIMITED, 5.0)


async def test_a_wait_of_more_than_a_minute_is_not_begun():
    clock = FakeClock()
    http = Wire().refuses(429, "Too Many Requests: retry after 61", retry_after=61)
    assert "wait 61 s" in (await adapter(http, clock).send("7", "hi")).error
    assert (clock.slept, len(http.sent)) == ([], 1)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize("page", [b"<html>Bad Gateway</html>", b'{"ok":false,"error_code":%d,"description":"No"}'])
async def test_a_5xx_is_retried_three_times_with_doubling_waits(status: int, page: bytes):
    clock = FakeClock()
    http = Wire().will_answer(page % status if b"%d" in page else page, status)
    result = await adapter(http, clock).send("7", "hi")
    assert len(http.sent) == 4
    assert [1 <= clock.slept[0] <= 1.25, 2 <= clock.slept[1] <= 2.5, 4 <= clock.slept[2] <= 5] == [True] * 3
    assert not result.ok


async def test_a_503_page_with_retry_after_is_waited_out_as_told():
    clock = FakeClock()
    http = Wire()
    http.will_answer(b"<html>", 503, {"retry-after": "9"})
    assert (await adapter(http.sends(), clock).send("7", "hi")).ok
    assert clock.slept == [9.0]


async def test_a_connection_that_was_not_made_is_tried_again():
    clock = FakeClock()
    http = Wire()
    http.will_raise(connect_failed("https://api.telegram.org/bot", "refused"))
    assert (await adapter(http.sends(), clock).send("7", "hi")).ok
    assert len(clock.slept) == 1


@pytest.mark.parametrize("failure", ["silence", "unreadable"])
async def test_an_unknown_outcome_is_never_tried_again(failure: str):
    http: ScriptedTransport = Wire()
    if failure == "silence":
        http.will_raise(outcome_unknown("https://api.telegram.org/bot", "did not respond in time"))
    else:
        http.will_answer(b"<html>Welcome to the hotel</html>")
    receipt = await transmit(http)
    assert receipt.result.error.startswith("outcome unknown: ")
    assert receipt.failure is not None
    assert receipt.failure.kind is FailureKind.AMBIGUOUS
    assert len(http.sent) == 1


async def test_the_fallback_survives_a_429_on_the_way():
    clock = FakeClock()
    http = Wire().refuses(400, BAD_MARKUP).refuses(429, "Too Many Requests", retry_after=2)
    http.refuses(400, BAD_MARKUP).sends(49)
    receipt = await adapter(http, clock).transmit(Outgoing("7", "_"))
    assert (receipt.result.message, clock.slept) == ("id=49", [2.0])
    assert "parse_mode" not in http.bodies[-1]


# The token


@pytest.mark.parametrize("token", [TOKEN, "123:abc"])
@pytest.mark.parametrize("status", [200, 302, 400, 401, 403, 404, 409, 429, 500])
async def test_no_result_names_the_token_even_if_the_server_repeats_it(token: str, status: int):
    http = Wire().refuses(status, f"No such path /bot{token}/sendMessage")
    receipt = await transmit(http, BOTCHAT_BOT_TOKEN=token)
    assert token not in repr(receipt)
    assert token not in str(receipt.failure)


async def test_no_log_line_names_the_token(caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    http = Wire().refuses(400, f"{BAD_MARKUP} {TOKEN}").refuses(400, UPGRADED, migrate_to_chat_id=-1002)
    await send(http.will_raise(RemoteError(f"{TOKEN}")))
    assert len({record.message for record in caplog.records}) == 2
    assert TOKEN not in repr([vars(record) for record in caplog.records])


# Against the stand-in, over both transports


@pytest.fixture
async def provider() -> AsyncIterator[BotChat]:
    async with BotChat() as standin:
        yield standin


@pytest.fixture
async def live(provider: BotChat) -> AsyncIterator[BotchatAdapter]:
    async with AsyncExitStack() as stack:
        transport = DirectTransport()
        stack.push_async_callback(transport.aclose)
        env = {"BOTCHAT_BOT_TOKEN": STANDIN_TOKEN, "BOTCHAT_API_URL": provider.api_url}
        yield build_adapter(BotchatAdapter, env, http=transport)


def texts(provider: BotChat) -> list[str]:
    return [received.text for received in provider.recorder.of("botchat")]


async def test_live_the_connection_test_names_the_bot(live: BotchatAdapter):
    assert (await live.test_connection()).message == f"connected as {BOT_USERNAME}"


async def test_live_markup_reaches_the_reader_as_formatting(live: BotchatAdapter, provider: BotChat):
    result = await live.send("1001", "*Backup* done 😀")
    (received,) = provider.recorder.of("botchat")
    assert (received.target, received.text) == ("1001", "Backup done 😀")
    assert result.message == f"id={received.id}"


async def test_live_bad_markup_arrives_as_plain_text(live: BotchatAdapter, provider: BotChat):
    assert (await live.send("1001", "disk_full on db1")).ok
    assert texts(provider) == ["disk_full on db1"]


async def test_live_a_topic_gets_its_message_and_a_missing_one_is_left_out(live: BotchatAdapter, provider: BotChat):
    assert (await live.send(f"{FORUM_CHAT}/5", "one")).ok
    assert (await live.send(f"{FORUM_CHAT}/1", "two")).ok
    assert "topic 99 no longer exists" in (await live.send(f"{FORUM_CHAT}/99", "three_")).message
    assert [received.thread for received in provider.recorder.of("botchat")] == ["5", "", ""]


async def test_live_a_moved_group_is_found(live: BotchatAdapter, provider: BotChat):
    assert (await live.send(str(MIGRATED_CHAT), "one")).ok
    assert (await live.send(str(MIGRATED_CHAT), "two")).ok
    assert [received.target for received in provider.recorder.of("botchat")] == [str(NEW_CHAT)] * 2


@pytest.mark.parametrize("chat", [BLOCKED_CHAT, DEACTIVATED_CHAT, KICKED_CHAT, NOT_STARTED_CHAT, MISSING_CHAT])
async def test_live_a_chat_that_cannot_be_written_to_fails_at_once_with_a_remedy(
    live: BotchatAdapter, provider: BotChat, chat: int
):
    receipt = await live.transmit(Outgoing(str(chat), "hi"))
    assert (receipt.result.ok, receipt.attempts, provider.requests) == (False, 1, 1)
    assert receipt.failure is not None
    assert receipt.failure.hint


async def test_live_a_long_text_arrives_in_order(live: BotchatAdapter, provider: BotChat):
    words = [f"word{number}" for number in range(2_000)]
    assert (await live.send("1001", " ".join(words))).ok
    assert " ".join(texts(provider)).split() == words


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        (Fault.rate_limited(2), 2),
        (Fault.status(502), 2),
        (Fault.error("Internal Server Error: restart"), 2),
    ],
)
async def test_live_a_passing_fault_is_survived(live: BotchatAdapter, provider: BotChat, fault: Fault, calls: int):
    provider.faults.push(fault)
    assert (await live.send("1001", "hi")).ok
    assert (provider.requests, texts(provider)) == (calls, ["hi"])


@pytest.mark.parametrize(
    "fault", [Fault.reset_after_accept(), Fault.broken_json(), Fault.html_200()], ids=lambda fault: fault.kind
)
async def test_live_an_unknown_outcome_is_reported_and_nothing_is_sent_twice(
    live: BotchatAdapter, provider: BotChat, fault: Fault
):
    provider.faults.push(fault)
    result = await live.send("1001", "hi")
    assert result.error.startswith("outcome unknown")
    assert provider.requests == 1
    assert STANDIN_TOKEN not in repr(result)


async def test_live_a_wrong_token_is_named_as_the_cause(provider: BotChat):
    env = {"BOTCHAT_BOT_TOKEN": "123:abc", "BOTCHAT_API_URL": provider.api_url}
    result = await build_adapter(BotchatAdapter, env, http=DirectTransport()).send("1001", "hi")
    assert result.error.startswith("401 Unauthorized")
    assert "invalid token" in result.error
