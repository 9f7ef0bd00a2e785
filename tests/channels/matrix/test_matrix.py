"""matrix: what goes over the wire, and what each answer of the homeserver means."""
# ruff: noqa: RUF012  # the attributes of a suite are read, never changed

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.channels.test_files import MIB, PNG, Contents
from tests.facts import mentions

from tocsin.channels.contract import (
    COMMONMARK,
    KeyedMessage,
    MessageOperation,
    OutboundAdapter,
    Outgoing,
    Receipt,
)
from tocsin.channels.matrix import MatrixAdapter
from tocsin.channels.matrix.media import picture_size
from tocsin.channels.matrix.standin import ALIAS, ENCRYPTED, LEFT, OPAQUE, OPS, TOKEN, USER, MatrixServer
from tocsin.channels.model import MessageThread
from tocsin.core.errors import FailureKind
from tocsin.core.http.direct import DirectTransport
from tocsin.core.http.transport import HttpResponse, Transport
from tocsin.core.time.clock import Clock
from tocsin.testing import FakeClock, ScriptedTransport, build_adapter
from tocsin.testing.http_channel_contract import HttpChannelContract
from tocsin_standins.faults import Fault

ENV = {"MATRIX_URL": "https://matrix.example", "MATRIX_TOKEN": "syt_exampleexampleexample"}
CONTENTS = Contents()
RUN_BOOK = {"label": "Run book", "url": "https://wiki.example/run"}


class Prepared:
    """A homeserver whose rooms are clear, and whose token has a device; everything else is scripted."""

    def __init__(self, rest: Transport) -> None:
        self._rest = rest
        self._sends = 0  # whose token was not looked up yet

    async def request(self, method: str, url: str, **given: Any) -> HttpResponse:
        if "/state/" in url:
            self._sends += 1
            return HttpResponse(404, {}, b'{"errcode": "M_NOT_FOUND", "error": ""}')
        if self._sends and url.endswith("/whoami"):
            self._sends -= 1
            return HttpResponse(200, {}, json.dumps({"user_id": USER, "device_id": "D"}).encode())
        return await self._rest.request(method, url, **given)

    async def aclose(self) -> None:
        await self._rest.aclose()


class TestMatrix(HttpChannelContract):
    adapter = MatrixAdapter
    env = ENV
    target = OPS
    bad_targets = ("ops", "#ops", "@anna:x.example", "! x:y", "!a/b:x", "#a:b c", "!a%2Fb:x", "#ops:x.example/$e")
    sent = {"event_id": "$event"}
    probed = {"user_id": USER, "device_id": "TOCSIN"}
    resends_safely = True  # by its transaction ID

    def build(self, http: Transport | None = None, clock: Clock | None = None, **env: str) -> OutboundAdapter:
        return super().build(Prepared(http or ScriptedTransport()), clock, **env)


@asynccontextmanager
async def opened(
    told: FakeClock | None = None, /, *, token: str = TOKEN, **made: Any
) -> AsyncIterator[tuple[MatrixServer, MatrixAdapter]]:
    """Open a homeserver and the channel that sends to it."""
    http = DirectTransport()
    async with MatrixServer(**made) as server:
        try:
            env = {**server.environment(), "MATRIX_TOKEN": token}
            yield server, build_adapter(MatrixAdapter, env, http=http, clock=told, read_file=CONTENTS.read)
        finally:
            await http.aclose()


async def shown(text: str, mode: str = "", **content: Any) -> dict[str, Any]:
    """Send one message; return the content of its event."""
    async with opened() as (server, adapter):
        await good(adapter, Outgoing(OPS, text, parse_mode=mode, content=content))
        [event] = server.rooms[OPS].events.values()
        found: dict[str, Any] = event["content"]
        return found


async def good(adapter: MatrixAdapter, outgoing: Outgoing) -> Receipt:
    receipt = await adapter.transmit(outgoing)
    assert receipt.result.ok, receipt.result.error
    return receipt


def keyed(text: str, **content: Any) -> Outgoing:
    return Outgoing(OPS, text, content={"key": "disk", **content}, keyed=KeyedMessage("disk"))


def change(outgoing: Outgoing, operation: MessageOperation, receipt: Receipt, key: str = "") -> Outgoing:
    return replace(outgoing, key=key, keyed=KeyedMessage("disk", operation, receipt.ref))


# --- rooms


async def test_a_message_reaches_a_room_by_id_or_alias():
    async with opened() as (server, adapter):
        for target in (OPS, ALIAS, OPAQUE, ALIAS):
            await good(adapter, Outgoing(target, "hello"))
        assert [item.target for item in server.recorder.of("matrix")] == [OPS, OPS, OPAQUE, OPS]


async def test_clear_text_is_never_sent_into_an_encrypted_room():
    clock = FakeClock()
    async with opened(clock) as (server, adapter):
        assert mentions((await adapter.send(ENCRYPTED, "hello")).error, "encrypted", "use a room without")
        first = await good(adapter, keyed("clear"))
        server.rooms[OPS].encrypted = True
        clock.advance(60)
        assert "encrypted" in (await adapter.send(ALIAS, "hello")).error
        assert "encrypted" in (await adapter.transmit(change(keyed("x"), MessageOperation.EDIT, first))).result.error
        assert len(server.recorder.of("matrix", kind="")) == 1


@pytest.mark.parametrize("target", [LEFT, "!unknown:standin.example"])
async def test_a_room_that_the_bot_left_or_was_removed_from_is_refused_with_the_remedy(target: str):
    async with opened() as (_, adapter):
        assert mentions((await adapter.send(target, "hello")).error, "M_FORBIDDEN", "invite it")


async def test_a_bot_that_is_removed_later_is_refused_too():
    async with opened() as (server, adapter):
        await good(adapter, Outgoing(OPS, "hello"))
        server.rooms[OPS].joined = False
        assert mentions((await adapter.send(OPS, "hello")).error, "M_FORBIDDEN", "invite it")


async def test_an_unknown_alias_names_itself():
    async with opened() as (_, adapter):
        assert mentions((await adapter.send("#no:standin.example", "x")).error, "M_NOT_FOUND", "#no:standin.example")


async def test_an_alias_that_moved_is_looked_up_again_after_a_refusal():
    async with opened() as (server, adapter):
        await good(adapter, Outgoing(ALIAS, "one"))
        server.aliases[ALIAS] = OPAQUE
        server.rooms[OPS].joined = False
        assert not (await adapter.send(ALIAS, "two")).ok
        await good(adapter, Outgoing(ALIAS, "three"))
        assert server.recorder.of("matrix")[-1].target == OPAQUE


async def test_a_token_without_a_device_is_refused_because_repeats_would_not_be_recognised():
    async with opened(device=False) as (server, adapter):
        for result in (await adapter.send(OPS, "hello"), await adapter.test_connection()):
            assert mentions(result.error, "no device", "device_id", "MATRIX_TOKEN")
        assert server.recorder.of("matrix") == []


# --- what is sent


async def test_an_event_has_a_transaction_id_and_mentions_nobody():
    http = ScriptedTransport().will_answer({"event_id": "$event"})
    adapter = build_adapter(MatrixAdapter, ENV, http=Prepared(http))
    assert (await adapter.transmit(Outgoing(OPS, "Grüße @room", key="d1"))).result.message == "id=$event"
    [sent] = http.sent
    prefix = "https://matrix.example/_matrix/client/v3/rooms/%21ops%3Astandin.example/send/m.room.message/"
    assert (sent.method, sent.url.removeprefix(prefix).isalnum()) == ("PUT", True)
    assert sent.json() == {"msgtype": "m.text", "body": "Grüße @room", "m.mentions": {}}


async def test_markdown_is_sent_as_text_and_as_html():
    content = await shown("**bold** <b> [a](https://x.example)\n\n```\ncode\n```", COMMONMARK)
    assert content["body"] == "bold <b> a (https://x.example)\n\ncode"
    assert content["formatted_body"] == (
        '<p><strong>bold</strong> &lt;b&gt; <a href="https://x.example">a</a></p>\n<pre><code>code\n</code></pre>'
    )


async def test_title_type_and_links_are_lines_and_the_first_is_bold():
    content = await shown("91 % <full>\nnow", title="Disk <1>", type="failure", actions=[RUN_BOOK])
    assert content["body"] == "❌ Disk <1>\n91 % <full>\nnow\n\nRun book: https://wiki.example/run"
    assert content["formatted_body"].startswith("<strong>❌ Disk &lt;1&gt;</strong><br>91 % &lt;full&gt;<br>now<br>")


async def test_a_markdown_message_with_a_title_is_html_as_a_whole():
    content = await shown("*91* %", COMMONMARK, title="Disk_1", priority="urgent")
    assert content["formatted_body"] == "<p>🚨 <strong>Disk_1</strong></p>\n<p><em>91</em> %</p>"


async def test_exactly_those_who_are_named_are_mentioned():
    content = await shown("@bob:x.example hello", mention=["@here", "@anna:x.example", "@carol", "U0ADA"])
    assert content["m.mentions"] == {"room": True, "user_ids": ["@anna:x.example"]}
    assert content["body"] == "@room @anna:x.example\n@bob:x.example hello"
    assert '<a href="https://matrix.to/#/@anna:x.example">' in content["formatted_body"]


async def test_a_quiet_message_is_a_notice_that_mentions_nobody():
    content = await shown("hello", mention=["@here"], priority="low")
    assert (content["msgtype"], content["m.mentions"]) == ("m.notice", {})


@pytest.mark.parametrize("text", ["&" * 12_000, '"\n' * 6_000, "ü" * 20_000], ids=["entities", "escapes", "parts"])
@pytest.mark.parametrize("mode", ["", COMMONMARK])
async def test_no_text_makes_an_event_that_is_too_large(text: str, mode: str):
    async with opened() as (_, adapter):
        await good(adapter, Outgoing(OPS, text, parse_mode=mode, content={"title": "T", "mention": ["@here"]}))


async def test_the_largest_message_with_a_key_can_be_edited():
    async with opened() as (server, adapter):
        first = await good(adapter, keyed("&" * 11_900))
        await good(adapter, change(keyed("&" * 11_900, title="T"), MessageOperation.EDIT, first, "e1"))
        assert server.recorder.of("matrix", kind="edit")


# --- keys, threads, repeats


async def test_an_event_is_replaced_and_then_redacted():
    async with opened() as (server, adapter):
        first = await good(adapter, keyed("firing", mention=["@here"]))
        edit = change(keyed("resolved", mention=["@here"], type="success"), MessageOperation.EDIT, first, "e1")
        second = await good(adapter, edit)
        body: Any = server.recorder.of("matrix", kind="edit")[0].body
        for _ in range(2):
            await good(adapter, change(keyed("x"), MessageOperation.WITHDRAW, second))
        records = server.recorder.of("matrix", kind="")
        assert server.rooms[OPS].events[first.ref["event"]]["content"] == {}
    assert [record.kind for record in records] == ["message", "edit", "deletion"]
    assert len({record.id for record in records}) == 1
    assert (body["m.mentions"], body["m.relates_to"]["rel_type"]) == ({}, "m.replace")
    assert "resolved" in body["m.new_content"]["body"]


@pytest.mark.parametrize("redacted", [True, False])
async def test_an_edit_of_a_redacted_or_missing_event_is_sent_anew(redacted: bool):
    async with opened() as (server, adapter):
        first = await good(adapter, keyed("firing"))
        if redacted:
            await good(adapter, change(keyed("x"), MessageOperation.WITHDRAW, first))
        else:
            server.rooms[OPS].events.clear()
        second = await good(adapter, change(keyed("resolved"), MessageOperation.EDIT, first, "e1"))
        assert second.ref["event"] != first.ref["event"]
        assert server.recorder.of("matrix", kind="ignored") == []


async def test_a_later_message_of_a_thread_is_below_the_first():
    async with opened() as (server, adapter):
        first = await good(adapter, Outgoing(OPS, "one", thread=MessageThread("alerts")))
        await good(adapter, Outgoing(OPS, "two", thread=MessageThread("alerts", first.ref)))
        assert server.recorder.of("matrix")[-1].thread == first.ref["event"]


@pytest.mark.parametrize("fault", [Fault.reset_after_accept(), Fault.broken_json()], ids=lambda fault: fault.kind)
async def test_a_message_whose_answer_was_lost_is_there_once(fault: Fault):
    async with opened() as (server, adapter):
        server.faults.push(fault.only("send"))
        await good(adapter, Outgoing(OPS, "hello", key="d1"))
        await good(adapter, Outgoing(OPS, "hello", key="d1"))
        assert len(server.recorder.of("matrix")) == 1
        assert len(server.recorder.of("matrix", kind="duplicate")) == 2


# --- answers


async def test_the_connection_test_names_the_account():
    async with opened() as (_, adapter):
        assert (await adapter.test_connection()).message == f"connected as {USER}"


async def test_a_revoked_token_is_refused_with_its_setting():
    async with opened(token="syt_revoked") as (_, adapter):
        for result in (await adapter.send(OPS, "hello"), await adapter.test_connection()):
            assert mentions(result.error, "M_UNKNOWN_TOKEN", "revoked", "MATRIX_TOKEN")


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault.error("M_UNKNOWN", http_status=500), FailureKind.TRANSIENT, "M_UNKNOWN"),
        (Fault.error("M_RESOURCE_LIMIT_EXCEEDED"), FailureKind.PERMANENT, "administrator"),
        (Fault.error("M_USER_LOCKED", http_status=401), FailureKind.PERMANENT, "locked"),
        (Fault.rate_limited(45), FailureKind.RATE_LIMITED, "wait 45 s"),
        (Fault.status(502), FailureKind.TRANSIENT, "HTTP 502"),
        (Fault.redirect("https://elsewhere.example/"), FailureKind.PERMANENT, "MATRIX_URL"),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
@pytest.mark.parametrize("operation", ["send", "state"])
async def test_each_answer_says_whether_a_repeat_is_safe(fault: Fault, kind: FailureKind, words: str, operation: str):
    async with opened() as (server, adapter):
        server.faults.push(fault.only(operation))
        receipt = await adapter.transmit(Outgoing(OPS, "hello"))
    assert receipt.failure is not None
    assert receipt.failure.kind is kind
    assert words in receipt.result.error


@pytest.mark.parametrize(
    "fault", [Fault.html_200(), Fault.broken_json(), Fault.reset_after_accept()], ids=lambda f: f.kind
)
async def test_a_look_up_without_an_answer_is_repeated_safely(fault: Fault):
    async with opened() as (server, adapter):
        server.faults.push(fault.only("state"))
        receipt = await adapter.transmit(Outgoing(OPS, "hello"))
        assert receipt.failure
        assert (receipt.failure.kind, len(server.recorder.of("matrix"))) == (FailureKind.TRANSIENT, 0)


# --- files


def with_files(*files: dict[str, Any], text: str = "hello") -> Outgoing:
    return Outgoing(ALIAS, text, "d1", content={"attach": list(files)})


async def test_a_picture_has_its_name_type_and_size_and_mentions_no_one():
    async with opened() as (server, adapter):
        receipt = await adapter.transmit(with_files(CONTENTS.file("graph.png", PNG, "image/png", alt="Load")))
        assert receipt.result.ok, receipt.result.error
        _, item = server.recorder.of("matrix")
        [address] = server.media
    assert item.body == {
        "msgtype": "m.image", "body": "Load", "filename": "graph.png", "url": address, "m.mentions": {},
        "info": {"mimetype": "image/png", "size": len(PNG), "w": 16, "h": 16},
    }  # fmt: skip


async def test_a_broken_picture_without_a_size_claims_none():
    broken = PNG[:16] + b"\0" * 16
    async with opened() as (server, adapter):
        assert (await adapter.transmit(with_files(CONTENTS.file("graph.png", broken, "image/png")))).result.ok
        assert server.recorder.of("matrix")[-1].body["info"] == {"mimetype": "image/png", "size": len(broken)}


async def test_a_file_above_the_limit_of_the_homeserver_is_refused_with_both_numbers():
    async with opened(media_bytes=MIB) as (server, adapter):
        receipt = await adapter.transmit(with_files(CONTENTS.large(2)))
        assert server.media == {}
    assert mentions(receipt.result.error, "the text was sent", "2.0 MiB", "the limit of the homeserver is 1 MiB")


async def test_an_upload_without_an_answer_is_repeated_and_the_text_is_not():
    outgoing = with_files(CONTENTS.file("a.log", b"one"), CONTENTS.file("b.log", b"two"))
    async with opened() as (server, adapter):
        server.faults.push(Fault.reset_after_accept().only("upload"))
        first = await adapter.transmit(outgoing)
        assert first.failure
        assert (first.failure.kind, first.parts_sent, first.parts_total) == (FailureKind.TRANSIENT, 1, 3)
        again = await adapter.transmit(replace(outgoing, parts_sent=1, parts_total=3, ref=first.ref))
        assert again.result.ok, again.result.error
        assert [item.text for item in server.recorder.of("matrix")] == ["hello", "a.log", "b.log"]


async def test_a_file_whose_event_was_not_answered_is_shown_once():
    async with opened() as (server, adapter):
        server.faults.push(Fault.reset_after_accept().only("send"), Fault.reset_after_accept().only("send"))
        outgoing = with_files(CONTENTS.file("a.log", b"one"), text="")
        assert not (await adapter.transmit(outgoing)).result.ok
        assert (await adapter.transmit(outgoing)).result.ok
        assert len(server.recorder.of("matrix")) == 1


@pytest.mark.parametrize(
    ("start", "size"),
    [
        (PNG, (16, 16)),
        (b"GIF89a" + (320).to_bytes(2, "little") + (200).to_bytes(2, "little"), (320, 200)),
        (b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\0\x40\0\x80\x03\0\0\0", (128, 64)),
        (b"\xff\xd8\xff\xe0\xff\xff", None),
        (b"RIFF", None),
        (b"", None),
    ],
)
def test_the_size_of_a_picture_is_in_its_first_bytes(start: bytes, size: tuple[int, int] | None):
    assert picture_size(start) == size


@given(st.binary(max_size=200))
def test_hostile_bytes_have_no_size_or_one_and_no_end_is_missed(start: bytes):
    found = picture_size(b"\xff\xd8" + start)
    assert found is None or all(0 <= side <= 0xFFFF for side in found)
