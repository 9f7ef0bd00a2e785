"""ntfy: what goes over the wire, and what each answer of the server means."""
# ruff: noqa: RUF012  # the attributes of a suite are read, never changed

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.channels.test_files import PNG, Contents
from tests.facts import mentions

from tocsin.channels.contract import COMMONMARK, KeyedMessage, MessageOperation, Outgoing, Receipt
from tocsin.channels.ntfy import NtfyAdapter
from tocsin.channels.ntfy.standin import TOKEN, NtfyServer
from tocsin.core.errors import FailureKind
from tocsin.core.http.direct import DirectTransport
from tocsin.core.time.ratelimit import Rate
from tocsin.testing import FakeClock, ScriptedTransport, build_adapter
from tocsin.testing.http_channel_contract import HttpChannelContract
from tocsin_standins.faults import Fault

ENV = {"NTFY_URL": "https://ntfy.example", "NTFY_TOKEN": "tk_exampleexampleexampleexample0"}
PUBLISHED = {"id": "xE73Iyuabi", "time": 1673542291, "event": "message", "topic": "ops", "message": "hello"}
RUN_BOOK = {"label": "Run book", "url": "https://wiki.example/run"}


class TestNtfy(HttpChannelContract):
    adapter = NtfyAdapter
    env = ENV
    target = "ops"
    bad_targets = ("two words", "a/b", "ü", "x" * 65, "https://ntfy.sh/ops", "ops?x=1", "a%2Fb")
    sent = PUBLISHED
    probed = {"username": "phil", "role": "user"}


@asynccontextmanager
async def opened(
    told: FakeClock | None = None, /, *, token: str = TOKEN, **made: Any
) -> AsyncIterator[tuple[NtfyServer, NtfyAdapter]]:
    """Open a server and the channel that publishes to it."""
    http = DirectTransport()
    async with NtfyServer(**made) as server:
        try:
            env = {**server.environment(), "NTFY_TOKEN": token}
            yield server, build_adapter(NtfyAdapter, env, http=http, clock=told)
        finally:
            await http.aclose()


async def shown(text: str, mode: str = "", **content: Any) -> dict[str, Any]:
    """Send one message; return it as the server understood it."""
    async with opened() as (server, adapter):
        receipt = await adapter.transmit(Outgoing("ops", text, parse_mode=mode, content=content))
        assert receipt.result.ok, receipt.result.error
        [message] = server.shown.values()
        return message


async def good(adapter: NtfyAdapter, outgoing: Outgoing) -> Receipt:
    receipt = await adapter.transmit(outgoing)
    assert receipt.result.ok, receipt.result.error
    return receipt


def keyed(text: str, **content: Any) -> Outgoing:
    return Outgoing("ops", text, content={"key": "disk", **content}, keyed=KeyedMessage("disk"))


def change(outgoing: Outgoing, operation: MessageOperation, receipt: Receipt) -> Outgoing:
    return replace(outgoing, keyed=KeyedMessage("disk", operation, receipt.ref))


# --- what is published


async def test_a_message_is_published_by_its_topic_and_body():
    http = ScriptedTransport().will_answer(PUBLISHED)
    result = await build_adapter(NtfyAdapter, ENV, http=http).send("ops", "Grüße <91 %>")
    assert result.message == "id=xE73Iyuabi"
    [sent] = http.sent
    assert (sent.method, sent.url, sent.body.decode()) == ("PUT", "https://ntfy.example/ops", "Grüße <91 %>")
    assert sent.headers["Authorization"] == f"Bearer {ENV['NTFY_TOKEN']}"
    assert sent.headers["X-Sequence-ID"]


async def test_title_urgency_type_link_and_buttons_are_the_products_own():
    message = await shown(
        "91 %", title="Disk, groß = voll", priority="urgent", type="failure", click="https://x.example/ü?a=1,2",
        actions=[{"label": "Größe, alle", "url": "https://x.example/=?UTF-8?B?eA==?="}],
    )  # fmt: skip
    assert (message["title"], message["message"], message["priority"]) == ("Disk, groß = voll", "91 %", 5)
    assert (message["tags"], message["click"]) == (["x"], "https://x.example/ü?a=1,2")
    [button] = message["actions"]
    assert (button["label"], button["url"]) == ("Größe, alle", "https://x.example/=?UTF-8?B?eA==?=")


async def test_a_fourth_button_is_a_line_of_the_text():
    buttons = [{**RUN_BOOK, "label": f"B{n}"} for n in range(4)]
    message = await shown("91 %", actions=buttons)
    assert [each["label"] for each in message["actions"]] == ["B0", "B1", "B2"]
    assert message["message"] == "91 %\n\nB3: https://wiki.example/run"


@pytest.mark.parametrize(
    ("content", "priority"),
    [({"priority": 3}, None), ({"priority": 4}, 4), ({"silent": True}, 2), ({"priority": 1, "silent": True}, 1)],
)
async def test_a_silent_message_has_the_second_priority_at_most(content: dict[str, Any], priority: int | None):
    assert (await shown("hello", **content)).get("priority") == priority


async def test_a_title_alone_is_the_message():
    message = await shown("", title="Backup done")
    assert ("title" in message, message["message"]) == (False, "Backup done")


async def test_markdown_becomes_plain_text():
    assert (await shown("**bold** [a](https://x.example)", COMMONMARK))["message"] == "bold a (https://x.example)"


async def test_a_text_longer_than_the_limit_in_bytes_is_sent_in_parts():
    async with opened() as (server, adapter):
        receipt = await good(adapter, Outgoing("ops", "ü" * 4_500, key="d1", content={"title": "T", "type": "info"}))
        messages = [item.body for item in server.recorder.of("ntfy")]
    assert (receipt.parts_sent, len(messages)) == (3, 3)
    assert ["title" in message for message in messages] == [True, False, False]  # type: ignore[operator]
    assert not any("attachment" in message for message in messages)


async def test_a_long_text_is_shortened_with_a_link_to_its_delivery_and_the_note_says_so():
    async with opened() as (server, adapter):
        adapter.public_url = "https://gate.example"
        receipt = await good(adapter, Outgoing("ops", "ü " * 4_500, key="d1", content={"title": "T"}))
        [message] = server.shown.values()
        assert receipt.result.message.endswith("(shortened: 4,000 of 13,500 bytes)"), receipt.result.message
        assert message["message"].endswith(" …\nhttps://gate.example/#/deliveries/d1")
        assert 3_900 < len(message["message"].encode()) <= 4_000
        assert "attachment" not in message


async def test_a_long_text_with_a_key_is_shortened_if_a_page_has_the_whole_and_else_a_file():
    async with opened() as (server, adapter):
        await good(adapter, keyed("x" * 5_000))
        [message] = server.shown.values()
        assert message["message"].endswith("(the whole text is in message.txt)")
        assert server.files[message["attachment"]["url"]] == b"x" * 5_000
        adapter.public_url = "https://gate.example"
        first = await good(adapter, keyed("x" * 5_000))
        second = await good(adapter, change(keyed("y" * 6_000), MessageOperation.EDIT, first))
        [message] = server.shown.values()
    assert "shortened: 4,000 of 6,000" in second.result.message
    assert message["message"].startswith("yyy")


async def test_a_call_button_is_a_post_to_its_page_and_has_neither_name_nor_value():
    call = {"action": "call", "label": "Clean up", "name": "cleanup", "value": "web1"}
    async with opened() as (server, adapter):
        outgoing = keyed("91 %", actions=[call, {**call, "once": False}, {**call, "url": "https://x.example/own"}])
        assert "PUBLIC_URL" in (await adapter.transmit(outgoing)).result.error
        adapter.public_url = "https://gate.example"
        await good(adapter, outgoing)
        [message] = server.shown.values()
    first, second, own = message["actions"]
    assert (first["action"], first["method"], first["clear"]) == ("http", "POST", True)
    assert first["url"].startswith("https://gate.example/a/")
    assert second["clear"] is False
    assert (own["action"], own["url"]) == ("view", "https://x.example/own")
    assert "cleanup" not in json.dumps(message)
    assert "web1" not in json.dumps(message)


async def test_a_file_is_the_body_and_the_text_a_header():
    contents = Contents()
    http = ScriptedTransport().will_answer(PUBLISHED)
    adapter = build_adapter(NtfyAdapter, ENV, http=http, read_file=contents.read)
    file = contents.file("gr\u00e4ph.png", PNG, "image/png")
    await good(adapter, Outgoing("ops", "one\ntwo", content={"attach": [file], "title": "T"}))
    [sent] = http.sent
    assert (sent.method, sent.headers["Content-Type"], sent.headers["X-Title"]) == ("PUT", "image/png", "T")
    assert sent.body == PNG
    assert sent.headers["X-Filename"].startswith("=?UTF-8?B?")
    assert "\n" not in "".join(sent.headers.values())


async def test_a_file_above_the_limit_of_the_server_is_refused_with_its_remedy():
    contents = Contents()
    http = DirectTransport()
    async with NtfyServer(file_bytes=3) as server:
        adapter = build_adapter(NtfyAdapter, server.environment(), http=http, read_file=contents.read)
        content = {"attach": [contents.file("a.log", b"line")]}
        receipt = await adapter.transmit(Outgoing("ops", "hello", content=content))
        assert server.shown == {}
        await http.aclose()
    assert mentions(receipt.result.error, "41301", "larger than the server accepts")


# --- keys


async def test_a_message_with_a_key_is_replaced_and_then_removed():
    async with opened() as (server, adapter):
        first = await good(adapter, keyed("firing", type="failure", actions=[RUN_BOOK]))
        second = await good(adapter, change(keyed("resolved"), MessageOperation.EDIT, first))
        assert [message["message"] for message in server.shown.values()] == ["resolved"]
        assert not [message for message in server.shown.values() if "actions" in message]
        for _ in range(2):
            await good(adapter, change(keyed("x"), MessageOperation.WITHDRAW, second))
        assert server.shown == {}
    assert [item.kind for item in server.recorder.of("ntfy", kind="")] == ["message", "edit", "deletion", "deletion"]


async def test_a_key_with_other_characters_has_a_sequence_that_the_server_accepts():
    async with opened() as (server, adapter):
        outgoing = Outgoing("ops", "x", content={"key": "disk:web1.a"}, keyed=KeyedMessage("disk:web1.a"))
        assert (await good(adapter, outgoing)).ref["sequence"]
        assert (await good(adapter, keyed("x"))).ref["sequence"] == "disk"
        assert len(server.shown) == 2


async def test_a_server_without_sequences_leaves_nothing_to_edit():
    async with opened(sequences=False) as (_, adapter):
        assert (await good(adapter, keyed("firing"))).ref == {}


async def test_a_repeated_message_is_shown_once():
    async with opened() as (server, adapter):
        server.faults.push(Fault.reset_after_accept())
        first = await adapter.transmit(Outgoing("ops", "hello", key="d1"))
        assert first.failure
        assert first.failure.kind is FailureKind.AMBIGUOUS
        await good(adapter, Outgoing("ops", "hello", key="d1"))
        assert len(server.shown) == 1


# --- answers


async def test_the_account_is_named_and_so_is_that_there_is_none():
    async with opened() as (_, adapter):
        assert (await adapter.test_connection()).message == "connected as tocsin"
    async with opened(token="") as (_, adapter):
        assert (await adapter.test_connection()).message == "connected as everyone, without an account"


async def test_without_a_token_topics_of_everyone_take_messages_and_others_name_the_right_to_grant():
    async with opened(token="") as (_, adapter):
        assert (await adapter.send("everyone", "hello")).ok
        error = (await adapter.send("ops", "hello")).error
    assert mentions(error, "40301 forbidden", "ntfy access", "NTFY_TOKEN")


async def test_a_revoked_token_is_refused_with_its_setting():
    async with opened(token="tk_revokedrevokedrevokedrevoked0") as (_, adapter):
        for result in (await adapter.send("ops", "hello"), await adapter.test_connection()):
            assert mentions(result.error, "40101 unauthorized", "revoked", "NTFY_TOKEN")


@pytest.mark.parametrize(("code", "wait_s"), [(42901, 10.0), (42908, 3600.0), (42909, 60.0), (42999, None)])
async def test_too_many_requests_hold_the_whole_account(code: int, wait_s: float | None):
    http = ScriptedTransport().will_answer({"code": code, "http": 429, "error": "limit reached"}, 429)
    receipt = await build_adapter(NtfyAdapter, ENV, http=http).transmit(Outgoing("ops", "x"), patient=False)
    failure = receipt.failure
    assert failure is not None
    assert (failure.kind, failure.whole_account) == (FailureKind.RATE_LIMITED, True)
    assert failure.retry_after_s == wait_s


async def test_a_paced_server_takes_what_waits_and_only_that():
    clock = FakeClock()
    async with opened(clock, clock=clock.now, paced=True) as (server, adapter):
        assert all([(await adapter.send("ops", "hello")).ok for _ in range(60)])
        assert "wait 10 s" in (await adapter.send("ops", "hello")).error
        clock.advance(300)
        assert (await adapter.send("ops", "hello")).ok
        assert len(server.recorder.of("ntfy")) == 61


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault.error("50001", http_status=500), FailureKind.TRANSIENT, "50001"),
        (Fault.error("50701", http_status=507), FailureKind.PERMANENT, "subscribed"),
        (Fault.error("40010"), FailureKind.PERMANENT, "choose another topic"),
        (Fault.status(503), FailureKind.TRANSIENT, "HTTP 503"),
        (Fault.status(413), FailureKind.PERMANENT, "a proxy before it; send less"),
        (Fault.redirect("https://elsewhere.example/"), FailureKind.PERMANENT, "NTFY_URL"),
        (Fault.html_200(), FailureKind.AMBIGUOUS, "NTFY_URL"),
        (Fault.broken_json(), FailureKind.AMBIGUOUS, "outcome unknown"),
        (Fault.reset_after_accept(), FailureKind.AMBIGUOUS, "outcome unknown"),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
async def test_each_answer_says_whether_a_repeat_is_safe(fault: Fault, kind: FailureKind, words: str):
    async with opened() as (server, adapter):
        server.faults.push(fault)
        receipt = await adapter.transmit(Outgoing("ops", "hello"))
    assert receipt.failure is not None
    assert receipt.failure.kind is kind
    assert words in receipt.result.error


async def test_the_rate_of_the_queue_is_a_setting():
    assert build_adapter(NtfyAdapter, ENV).account_rate() == Rate(12, 60.0, 30)
    assert build_adapter(NtfyAdapter, {**ENV, "NTFY_PER_MINUTE": "600"}).account_rate() == Rate(600, 60.0, 30)


# --- the stand-in is as strict as the server


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"X-Priority": "9"}, 40007),
        ({"X-Actions": json.dumps([{"action": "view", "label": "a", "url": "https://x.example"}] * 4)}, 40018),
        ({"X-Actions": "[{"}, 40018),
        ({"X-Actions": '[{"action": "view", "label": "a"}]'}, 40018),
        ({"X-Sequence-ID": "a b"}, 40049),
        ({"X-Titel": "x"}, 40000),
    ],
)
async def test_the_stand_in_refuses_what_the_server_refuses(headers: dict[str, str], code: int):
    http = DirectTransport()
    try:
        async with NtfyServer() as server:
            sent = {"Authorization": f"Bearer {TOKEN}", **headers}
            reply = await http.request("PUT", f"{server.url}/ops", headers=sent, body=b"hello")
            assert (reply.json_object() or {})["code"] == code
            assert server.shown == {}
    finally:
        await http.aclose()


async def test_the_stand_in_makes_a_long_body_an_attachment():
    http = DirectTransport()
    try:
        async with NtfyServer() as server:
            await http.request("PUT", f"{server.url}/everyone", headers={}, body=b"x" * 4_096)
            [message] = server.shown.values()
    finally:
        await http.aclose()
    assert message["message"] == "You received a file: attachment.txt"
