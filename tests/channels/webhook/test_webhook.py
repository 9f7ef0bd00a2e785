"""webhook: what goes over the wire, and what each answer of a receiver means."""
# ruff: noqa: RUF012  # the attributes of a suite are read, never changed

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.channels.test_files import Contents
from tests.facts import mentions

from tocsin.channels.contract import COMMONMARK, KeyedMessage, MessageOperation, OutboundAdapter, Outgoing, Receipt
from tocsin.channels.model import PRESS, MessageThread
from tocsin.channels.webhook import WebhookAdapter
from tocsin.channels.webhook.standin import SECRET, WebhookReceiver
from tocsin.core.errors import ConfigError, FailureKind, StoreUnavailableError
from tocsin.core.http.direct import DirectTransport
from tocsin.testing import FakeClock, ScriptedTransport, build_adapter
from tocsin.testing.channel_contract import ChannelContract
from tocsin.testing.fakes import MemoryDocument
from tocsin_standins.faults import Fault

OLD = f"whsec_{base64.b64encode(b'the former secret, of 32 bytes..').decode()}"
URL = "https://ci.example.org/hook?token=example-of-a-token"
CI = {"url": URL, "secret": SECRET}
NOW = 1_700_000_000.0


@asynccontextmanager
async def opened(
    entry: Mapping[str, Any] | None = None, **made: Any
) -> AsyncIterator[tuple[WebhookReceiver, WebhookAdapter]]:
    """Open a receiver and the channel that calls it; `entry` adds to its entry in targets.yaml."""
    http = DirectTransport()
    async with WebhookReceiver(clock=lambda: NOW, **made) as server:
        try:
            targets = {"ci": {**server.targets()["ci"], **(entry or {})}}
            yield server, build_adapter(WebhookAdapter, {}, http=http, clock=FakeClock(NOW), targets=targets)
        finally:
            await http.aclose()


class DeadDocument(MemoryDocument):
    """A document whose store is down."""

    async def read(self) -> str:
        raise StoreUnavailableError("the store does not answer")

    async def change(self, edit: Callable[[str], str]) -> str:
        raise StoreUnavailableError("the store does not answer")


class CountedDocument(MemoryDocument):
    """A document that counts how often it is read."""

    reads = 0

    async def read(self) -> str:
        self.reads += 1
        return await super().read()


class TestWebhook(ChannelContract):
    adapter = WebhookAdapter
    env: dict[str, str] = {}
    targets = {"ci": CI}
    target = "ci"
    bad_targets = ("cd", "CI", "https://ci.example.org/hook", "ci/../x", "")

    @asynccontextmanager
    async def opened(self, *, probing: bool = False) -> AsyncIterator[OutboundAdapter]:
        async with opened() as (_, adapter):
            yield adapter


async def sent(adapter: WebhookAdapter, outgoing: Outgoing | None = None) -> Receipt:
    return await adapter.transmit(outgoing or Outgoing("ci", "hello", key="01900000-0000-7000-8000-000000000000"))


async def event(outgoing: Outgoing) -> dict[str, Any]:
    """Send one message; return the data of its event as the receiver understood it."""
    async with opened() as (server, adapter):
        adapter.public_url = "https://gate.example"
        receipt = await adapter.transmit(outgoing)
        assert receipt.result.ok, receipt.result.error
        [raw] = server.seen.values()
        data: dict[str, Any] = json.loads(raw)["data"]
        return data


# --- what is sent


async def test_an_event_is_signed_over_its_id_time_and_raw_body():
    http = ScriptedTransport().will_answer(b"ok")
    adapter = build_adapter(WebhookAdapter, {}, http=http, clock=FakeClock(NOW), targets={"ci": CI})
    receipt = await sent(adapter)
    [call] = http.sent
    assert (call.method, call.url, call.headers["webhook-timestamp"]) == ("POST", URL, "1700000000")
    signed = f"{call.headers['webhook-id']}.1700000000.".encode() + call.body
    digest = hmac.new(base64.b64decode(SECRET.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    assert call.headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    assert receipt.result.message == f"id={call.headers['webhook-id']} (HTTP 200)"


async def test_the_id_is_the_same_at_every_attempt_and_has_no_full_stop():
    async with opened() as (server, adapter):
        server.faults.push(Fault.reset_after_accept())
        first, second = await sent(adapter), await sent(adapter)
        assert first.failure
        assert first.failure.kind is FailureKind.AMBIGUOUS
        assert second.result.ok
        assert len(server.seen) == len(server.recorder.of("webhook")) == 1


async def test_a_message_is_data_with_all_its_fields():
    data = await event(
        Outgoing(
            "ci", "**91 %**", parse_mode=COMMONMARK, keyed=KeyedMessage("disk"), thread=MessageThread("web1"),
            content={
                "title": "Disk full", "priority": "high", "type": "failure", "click": "https://x.example/d",
                "mention": ["@here"], "silent": True, "key": "disk", "thread": "web1",
                "actions": [{"label": "Run book", "url": "https://wiki.example/run"}],
            },
        )
    )  # fmt: skip
    assert data.pop("id").startswith("msg_")
    assert data == {
        "target": "ci",
        "message": "**91 %**",
        "format": "markdown",
        "key": "disk",
        "thread": "web1",
        "title": "Disk full",
        "priority": 4,
        "type": "failure",
        "click": "https://x.example/d",
        "silent": True,
        "mention": ["@here"],
        "actions": [
            {
                "action": "view",
                "label": "Run book",
                "url": "https://wiki.example/run",
                "style": None,
                "confirm": None,
                "once": None,
            }
        ],
    }


async def test_a_button_that_calls_back_has_an_address_and_neither_name_nor_value():
    call = {"action": "call", "label": "Clean up", "name": "cleanup", "value": "web1", "confirm": "Sure?"}
    data = await event(Outgoing("ci", "91 %", content={"actions": [call]}, keyed=KeyedMessage("call:x")))
    [action] = data["actions"]
    assert action["url"].startswith("https://gate.example/a/")
    assert (action["label"], action["confirm"], action["once"]) == ("Clean up", "Sure?", True)
    assert "cleanup" not in json.dumps(data)
    assert "web1" not in json.dumps(data)


async def test_a_long_text_is_several_events_that_say_which_one_is_the_last():
    async with opened() as (server, adapter):
        receipt = await adapter.transmit(Outgoing("ci", "ü" * 20_000))
        assert receipt.result.ok, receipt.result.error
        parts = [json.loads(raw)["data"] for raw in server.seen.values()]
    assert [(part["is_first"], part["is_last"]) for part in parts] == [(True, False), (False, False), (False, True)]
    assert "".join(part["message"] for part in parts) == "ü" * 20_000


async def test_an_edit_and_a_withdrawal_are_events_about_the_same_message():
    async with opened() as (server, adapter):
        first = await sent(adapter, Outgoing("ci", "down", key="a", keyed=KeyedMessage("disk")))
        for operation in (MessageOperation.EDIT, MessageOperation.WITHDRAW):
            outgoing = Outgoing("ci", "up", key="b", keyed=KeyedMessage("disk", operation, first.ref))
            assert (await sent(adapter, outgoing)).result.ok
        events = [json.loads(raw) for raw in server.seen.values()]
    assert [each["type"] for each in events] == ["message.created", "message.updated", "message.withdrawn"]
    assert {each["data"]["id"] for each in events} == {"msg_a_0"}
    assert {each["data"]["key"] for each in events} == {"disk"}


async def test_while_secrets_change_an_event_is_signed_by_both():
    for accepted in (SECRET, OLD):
        async with opened({"secret": [SECRET, OLD]}, secrets=[accepted]) as (_, adapter):
            assert (await sent(adapter)).result.ok


async def test_the_reference_library_verifies_every_event_with_either_secret():
    library = pytest.importorskip("standardwebhooks", reason="the group `dev` has it")
    contents, http = Contents(), ScriptedTransport().will_answer(b"ok")
    adapter = build_adapter(
        WebhookAdapter, {}, http=http, clock=FakeClock(time.time()), targets={"ci": {**CI, "secret": [SECRET, OLD]}},
        read_file=contents.read,
    )  # fmt: skip
    first = Outgoing(
        "ci", "ü 91 %", "d1", keyed=KeyedMessage("disk"), content={"attach": [contents.file("a", b"x" * 100_000)]}
    )
    receipt = await sent(adapter, first)
    for operation in (MessageOperation.EDIT, MessageOperation.WITHDRAW):
        keyed = KeyedMessage("disk", operation, receipt.ref)
        assert (await sent(adapter, Outgoing("ci", "ok", f"d-{operation}", keyed=keyed))).result.ok
    for secret in (SECRET, OLD):
        types = [library.Webhook(secret).verify(call.body, call.headers)["type"] for call in http.sent]
        assert types == ["message.created", "message.file", "message.updated", "message.withdrawn"]
    with pytest.raises(library.WebhookVerificationError):
        library.Webhook(SECRET).verify(http.sent[0].body + b" ", http.sent[0].headers)


async def test_headers_of_the_entry_are_sent():
    http = ScriptedTransport().will_answer(b"ok")
    entry = {**CI, "headers": {"Authorization": "Bearer example-of-a-bearer"}}
    await sent(build_adapter(WebhookAdapter, {}, http=http, targets={"ci": entry}))
    assert http.sent[0].headers["Authorization"] == "Bearer example-of-a-bearer"


# --- what an answer means


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (301, FailureKind.PERMANENT, "redirects are not followed"),
        (401, FailureKind.PERMANENT, "compare `secret` and `headers`"),
        (404, FailureKind.PERMANENT, "no such path"),
        (408, FailureKind.TRANSIENT, "HTTP 408"),
        (410, FailureKind.PERMANENT, "remove the target"),
        (418, FailureKind.PERMANENT, "its log says why"),
        (502, FailureKind.TRANSIENT, "HTTP 502"),
    ],
)
async def test_an_answer_says_whether_to_repeat(status: int, kind: FailureKind, words: str):
    async with opened() as (server, adapter):
        server.faults.push(Fault.status(status))
        receipt = await sent(adapter)
        assert receipt.failure
        assert (receipt.failure.kind, words in receipt.result.error) == (kind, True), receipt.result.error
        assert server.seen == {}


async def test_a_wait_that_the_receiver_asks_for_is_kept():
    async with opened() as (server, adapter):
        server.faults.push(Fault.rate_limited(3600))
        receipt = await sent(adapter)
        assert receipt.failure
        assert (receipt.failure.kind, receipt.failure.retry_after_s) == (FailureKind.RATE_LIMITED, 3600.0)


async def test_a_receiver_that_wants_no_more_events_is_not_called_for_a_day():
    async with opened() as (server, adapter):
        server.faults.push(Fault.status(410))
        for result in ((await sent(adapter)).result, (await sent(adapter)).result, await adapter.test_connection()):
            assert not result.ok
            assert "wants no more events" in result.error
        assert server.requests == 1
        cast("FakeClock", adapter.clock).advance(86_400.0)
        server.clock = adapter.clock.now
        assert (await sent(adapter)).result.ok


async def test_a_receiver_that_wanted_no_more_events_is_called_at_a_new_address():
    kept = MemoryDocument()
    for url, ok in ((URL, False), (URL, False), (f"{URL}2", True)):
        http = ScriptedTransport().will_answer(b"", status=200 if ok else 410)
        adapter = build_adapter(WebhookAdapter, {}, http=http, targets={"ci": {**CI, "url": url}}, document=kept)
        assert (await sent(adapter)).result.ok is ok
    assert "example" not in await kept.read()


async def test_the_record_of_receivers_is_read_once_a_minute_and_shared_by_all_processes():
    kept, clock, http = CountedDocument(), FakeClock(NOW), ScriptedTransport().will_answer(b"ok")
    adapter = build_adapter(WebhookAdapter, {}, http=http, clock=clock, targets={"ci": CI}, document=kept)
    assert [(await sent(adapter)).result.ok for _ in range(3)] == [True] * 3
    assert kept.reads == 1
    refusing = ScriptedTransport().will_answer(b"", status=410)
    other = build_adapter(WebhookAdapter, {}, http=refusing, clock=clock, targets={"ci": CI}, document=kept)
    assert not (await sent(other)).result.ok
    clock.advance(60.0)
    assert not (await sent(adapter)).result.ok
    assert len(http.sent) == 3


@pytest.mark.parametrize(("status", "words"), [(200, ""), (410, "HTTP 410")])
async def test_an_event_needs_no_record_of_receivers_while_the_store_fails(status: int, words: str):
    http = ScriptedTransport().will_answer(b"", status=status)
    adapter = build_adapter(WebhookAdapter, {}, http=http, targets={"ci": CI}, document=DeadDocument())
    receipt = await sent(adapter)
    assert (receipt.result.ok, words in receipt.result.error) == (status == 200, True)


async def test_nothing_of_an_answer_is_shown():
    async with opened() as (server, adapter):
        server.faults.push(Fault.status(500, "a stack trace with a secret"))
        assert "stack trace" not in (await sent(adapter)).result.error


async def test_a_redirect_is_not_followed():
    async with opened() as (server, adapter):
        server.faults.push(Fault.redirect(f"{server.url}/hook", 307))
        assert not (await sent(adapter)).result.ok
        assert server.requests == 1


# --- addresses


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "10.1.2.3", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "[::1]", "[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
        "2130706433", "0x7f.1", "localhost",
    ],
)  # fmt: skip
async def test_a_private_address_is_refused(host: str):
    http = DirectTransport()
    try:
        entry = {**CI, "url": f"https://{host}/hook"}
        adapter = build_adapter(WebhookAdapter, {}, http=http, targets={"ci": entry})
        for result in (await adapter.send("ci", "hello"), await adapter.test_connection()):
            assert not result.ok
            assert "allow_private" in result.error, result.error
    finally:
        await http.aclose()


async def test_an_address_without_encryption_takes_permission_and_a_private_network():
    http = DirectTransport()
    try:
        for entry, words in (
            ({**CI, "url": "http://127.0.0.1:9/hook"}, "allow_private: true"),
            ({**CI, "url": "http://192.0.9.1/hook", "allow_private": True}, "use https"),
        ):
            adapter = build_adapter(WebhookAdapter, {}, http=http, targets={"ci": entry})
            for result in (await adapter.send("ci", "hello"), await adapter.test_connection()):
                assert not result.ok
                assert words in result.error
    finally:
        await http.aclose()


async def test_a_test_names_the_receivers_without_calling_them():
    async with opened() as (server, adapter):
        result = await adapter.test_connection()
        assert (result.message, server.requests) == ("connected as ci", 0)


async def test_a_name_that_does_not_resolve_is_named_by_a_test():
    http = DirectTransport()
    try:
        entry = {**CI, "url": "https://no-such-host.invalid/hook"}
        result = await build_adapter(WebhookAdapter, {}, http=http, targets={"ci": entry}).test_connection()
        assert mentions(result.error, "ci: ", "no-such-host.invalid")
    finally:
        await http.aclose()


# --- the entry


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"url": "ftp://x.example/hook"}, "not the address of a receiver"),
        ({"url": "https://user:pass@x.example/"}, "not the address of a receiver"),
        ({"url": "https://x.example:99999/"}, "not the address of a receiver"),
        ({"url": "https://x.example/a b"}, "not the address of a receiver"),
        ({"secret": "whsec_c2hvcnQ="}, "not a signing secret"),
        ({"secret": "example-of-a-password"}, "not a signing secret"),
        ({"secret": []}, "must not be empty"),
        ({"headers": {"webhook-id": "1"}}, "not a header that you can set"),
        ({"headers": {"Host": "x"}}, "not a header that you can set"),
        ({"headers": {"X-A": "a\r\nb: c"}}, "not the value of a header"),
        ({"allow_private": "yes"}, "expected true or false"),
        ({"uri": "https://x.example"}, "unknown key 'uri'"),
    ],
)
def test_a_wrong_entry_is_refused_without_its_secrets(change: dict[str, Any], words: str):
    with pytest.raises(ConfigError) as refused:
        build_adapter(WebhookAdapter, {}, targets={"ci": {**CI, **change}})
    assert words in str(refused.value)
    assert not [
        text for text in change.values() if isinstance(text, str) and len(text) > 8 and text in str(refused.value)
    ]


def test_a_message_keeps_its_id_apart_from_other_parts():
    http = ScriptedTransport().will_answer(b"ok")
    adapter = build_adapter(WebhookAdapter, {}, http=http, targets={"ci": CI})
    outgoing = Outgoing("ci", "hello", key="k")
    for each in (outgoing, replace(outgoing, key="l")):
        asyncio.run(adapter.transmit(each))
    assert [call.headers["webhook-id"] for call in http.sent] == ["msg_k_0", "msg_l_0"]


# --- files and presses


async def test_a_file_is_an_event_of_its_own_whose_content_is_signed_too():
    contents = Contents()
    http = DirectTransport()
    async with WebhookReceiver(clock=lambda: NOW) as server:
        adapter = build_adapter(
            WebhookAdapter, {}, http=http, clock=FakeClock(NOW), targets=server.targets(), read_file=contents.read
        )
        files = [contents.file("a.log", b"x" * size, alt="Log") for size in (1, 2, 200_000)]
        receipt = await adapter.transmit(Outgoing("ci", "hello", key="d1", content={"attach": files}))
        assert receipt.result.ok, receipt.result.error
        await http.aclose()
    first, *events = [json.loads(raw) for raw in server.seen.values()]
    assert [event["type"] for event in events] == ["message.file"] * 3
    for event, file in zip(events, files, strict=True):
        content = event["data"].pop("content")
        assert base64.b64decode(content, validate=True) == b"x" * file["size"]
        assert event["data"] == {
            "id": first["data"]["id"], "target": "ci", "name": "a.log", "type": "text/plain",
            "size": file["size"], "alt": "Log",
        }  # fmt: skip


async def test_a_retry_posts_only_the_file_that_is_missing():
    contents = Contents()
    outgoing = Outgoing(
        "ci", "hello", "d1", content={"attach": [contents.file("a.log", b"one"), contents.file("b.log", b"two")]}
    )
    http = DirectTransport()
    async with WebhookReceiver(clock=lambda: NOW) as server:
        adapter = build_adapter(
            WebhookAdapter, {}, http=http, clock=FakeClock(NOW), targets=server.targets(), read_file=contents.read
        )
        gone = contents.made.pop(outgoing.content["attach"][1]["hash"])
        first = await adapter.transmit(outgoing)
        assert (first.parts_sent, first.parts_total, first.text_sent) == (2, 3, True)
        contents.made[outgoing.content["attach"][1]["hash"]] = gone
        again = await adapter.transmit(replace(outgoing, parts_sent=2, parts_total=3, ref=first.ref))
        assert again.result.ok, again.result.error
        await http.aclose()
    assert sorted(server.files.values()) == [b"one", b"two"]
    assert len(server.seen) == 3


async def test_an_edit_says_whether_the_files_stay():
    async with opened() as (server, adapter):
        keyed = KeyedMessage("disk")
        first = await sent(adapter, Outgoing("ci", "firing", "d1", content={"key": "disk"}, keyed=keyed))
        edit = replace(keyed, operation=MessageOperation.EDIT, ref=first.ref)
        for number, content in enumerate(({}, {"attach": []})):
            await sent(
                adapter, Outgoing("ci", "resolved", f"e{number}", content={"key": "disk", **content}, keyed=edit)
            )
        events = [json.loads(raw) for raw in server.seen.values()]
    assert [event["data"].get("keeps_files") for event in events] == [None, True, False]


async def test_a_press_that_is_forwarded_is_an_event_with_what_was_pressed_and_by_whom():
    facts = {
        "event": "e1", "name": "webhook:ci", "value": "web1", "label": "Clean up", "by": "Ada", "by_link": False,
        "channel": "teamchat", "chat": "#ops", "key": "disk", "message": "Disk is full",
    }  # fmt: skip
    async with opened() as (server, adapter):
        receipt = await sent(adapter, Outgoing("ci", "Clean up", "d1", extra={PRESS: facts}))
        assert receipt.result.ok, receipt.result.error
        [raw] = server.seen.values()
    assert json.loads(raw)["type"] == "message.action"
    assert json.loads(raw)["data"] == {"target": "ci", **facts}
