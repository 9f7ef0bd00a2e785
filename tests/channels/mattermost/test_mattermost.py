"""mattermost: what goes over the wire, and what each answer of the server means."""
# ruff: noqa: RUF012  # the attributes of a suite are read, never changed

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.channels.test_files import Contents
from tests.facts import mentions

from tocsin.channels.action_tokens import make_token, with_secret
from tocsin.channels.contract import COMMONMARK, PLAIN, KeyedMessage, MessageOperation, Outgoing, Receipt, Tools
from tocsin.channels.inbound import InboundMessage, RejectedError, WebhookRequest
from tocsin.channels.mattermost import MattermostAdapter
from tocsin.channels.mattermost.api import TOKEN
from tocsin.channels.mattermost.context import signed_context
from tocsin.channels.mattermost.inbound import MattermostInbound
from tocsin.channels.mattermost.standin import ANNA_ID, CHANNEL_ID, MattermostServer, mentioned
from tocsin.channels.mattermost.standin import TOKEN as TOKEN_THERE
from tocsin.channels.model import MessageThread
from tocsin.core.config.settings import Values
from tocsin.core.errors import ChannelError, FailureKind
from tocsin.core.http.direct import DirectTransport
from tocsin.testing import FakeClock, ScriptedTransport, build_adapter
from tocsin.testing.http_channel_contract import HttpChannelContract
from tocsin.testing.inbound_bench import build_receiver
from tocsin.testing.inbound_contract import InboundContract
from tocsin_standins.faults import Fault

ENV = {"MATTERMOST_URL": "https://chat.example", "MATTERMOST_TOKEN": "exampleexampleexampleexamp"}
CONTENTS = Contents()
ALERTS = "ops-team/alerts"
POSTED = {"id": "postpostpostpostpostpostpo", "channel_id": CHANNEL_ID, "message": "hello"}
RUN_BOOK = {"label": "Run book", "url": "https://wiki.example/run"}


class TestMattermost(HttpChannelContract):
    adapter = MattermostAdapter
    env = ENV
    target = CHANNEL_ID
    bad_targets = ("#ops", "ops", "a/b/c", "@", "team/", "Team/Ops", "x" * 27, "team/a?b", "@../users", "../x")
    sent = POSTED
    probed = {"id": "bot", "username": "tocsin"}


@asynccontextmanager
async def opened(*, token: str = TOKEN_THERE, **made: Any) -> AsyncIterator[tuple[MattermostServer, MattermostAdapter]]:
    """Open a server and the channel that posts to it."""
    http = DirectTransport()
    async with MattermostServer(**made) as server:
        try:
            env = {**server.environment(), "MATTERMOST_TOKEN": token}
            yield server, build_adapter(MattermostAdapter, env, http=http, read_file=CONTENTS.read)
        finally:
            await http.aclose()


async def shown(text: str, mode: str = "", **content: Any) -> dict[str, Any]:
    """Send one message; return the body of its post."""
    async with opened() as (server, adapter):
        await good(adapter, Outgoing(ALERTS, text, parse_mode=mode, content=content))
        [item] = server.recorder.of("mattermost")
        assert isinstance(item.body, dict)
        return item.body


async def good(adapter: MattermostAdapter, outgoing: Outgoing) -> Receipt:
    receipt = await adapter.transmit(outgoing)
    assert receipt.result.ok, receipt.result.error
    return receipt


def keyed(text: str, **content: Any) -> Outgoing:
    return Outgoing(ALERTS, text, content={"key": "disk", **content}, keyed=KeyedMessage("disk"))


def change(outgoing: Outgoing, operation: MessageOperation, receipt: Receipt) -> Outgoing:
    return replace(outgoing, keyed=KeyedMessage("disk", operation, receipt.ref))


# --- targets


async def test_a_message_reaches_a_channel_by_name_or_id_and_a_person_by_name():
    async with opened() as (server, adapter):
        for target in (ALERTS, CHANNEL_ID, "@anna", ALERTS):
            await good(adapter, Outgoing(target, "hello"))
        found = [item.target for item in server.recorder.of("mattermost")]
        assert found == [CHANNEL_ID, CHANNEL_ID, found[2], CHANNEL_ID]
        assert ANNA_ID in server.places[found[2]].name
        assert server.requests == 4 + 1 + 3, "each name is looked up once"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("other-team/alerts", "the team's name as in its address"),
        ("ops-team/nothing", "add the bot to a private channel"),
        ("@nobody", "no active account"),
        ("ops-team/archived", "unarchive it"),
        ("ops-team/strange", "add the bot to the team and to the channel"),
        ("z" * 26, "add the bot to the team and to the channel"),
    ],
)
async def test_a_place_where_the_bot_cannot_write_is_refused_with_the_remedy(target: str, words: str):
    async with opened() as (server, adapter):
        receipt = await adapter.transmit(Outgoing(target, "hello"))
        assert server.recorder.of("mattermost") == []
    assert receipt.failure
    assert (receipt.failure.kind, words in receipt.result.error) == (FailureKind.PERMANENT, True), receipt.result.error


async def test_a_look_up_without_an_answer_is_repeated_safely():
    async with opened() as (server, adapter):
        server.faults.push(Fault.reset_after_accept().only("GET alerts"))
        receipt = await adapter.transmit(Outgoing(ALERTS, "hello"))
        assert receipt.failure
        assert receipt.failure.kind is FailureKind.TRANSIENT
        await good(adapter, Outgoing(ALERTS, "hello"))
        assert len(server.recorder.of("mattermost")) == 1


async def test_a_renamed_channel_is_looked_up_again():
    async with opened() as (server, adapter):
        await good(adapter, Outgoing(ALERTS, "one"))
        old = server.places.pop(CHANNEL_ID)
        server.places["n" * 26] = replace(old, id="n" * 26)
        assert not (await adapter.send(ALERTS, "two")).ok
        await good(adapter, Outgoing(ALERTS, "three"))
        assert server.recorder.of("mattermost")[-1].target == "n" * 26


# --- what is posted


async def test_a_post_carries_the_text_and_what_the_server_recognises_a_repeat_by():
    http = ScriptedTransport().will_answer(POSTED, 201)
    result = await build_adapter(MattermostAdapter, ENV, http=http).send(CHANNEL_ID, "Grüße *91 %*")
    assert result.message == f"id={POSTED['id']}"
    [sent] = http.sent
    assert (sent.method, sent.url) == ("POST", "https://chat.example/api/v4/posts")
    assert sent.headers["Authorization"] == f"Bearer {ENV['MATTERMOST_TOKEN']}"
    assert sent.json().keys() == {"channel_id", "message", "pending_post_id"}
    assert sent.json()["message"] == "Grüße *91 %*"


async def test_title_type_and_links_are_markdown_and_urgency_is_a_label():
    body = await shown(
        "91 %", title="Disk_full *web1*", type="failure", priority="urgent", click="https://x.example/d",
        actions=[RUN_BOOK], mention=["@here", "@Anna", "U0ADA"],
    )  # fmt: skip
    assert body["message"] == (
        "@here @anna\n❌ **Disk_full \\*web1\\***\n91 %\n\n"
        "<https://x.example/d>  \n[Run book](<https://wiki.example/run>)  "
    )
    assert body["metadata"] == {"priority": {"priority": "urgent"}}


async def test_a_title_alone_is_the_message():
    assert (await shown("", title="Backup done", type="success"))["message"] == "✅ **Backup done**"


async def test_a_quiet_message_names_people_without_a_mention_and_has_no_label():
    body = await shown("hello", mention=["@here"], priority=5, silent=True)
    assert (mentioned(body["message"]), "metadata" in body) == ([], False)


@pytest.mark.parametrize("mode", ["", PLAIN, COMMONMARK])
@pytest.mark.parametrize(
    "text",
    [
        "@channel",
        "hello @here!",
        "(@all)",
        "a\n@anna x",
        "*@channel*",
        "`x` @here",
        "\\@here",
        "https://@here",
        "@@here",
    ],
)
async def test_a_text_mentions_nobody(text: str, mode: str):
    assert mentioned((await shown(text, mode))["message"]) == []
    assert mentioned((await shown("x", mode, title=text.replace("\n", " ")))["message"]) == []


async def test_addresses_and_mail_addresses_stay_whole():
    text = "see https://x.example/@anna and a@b.example"
    assert (await shown(text))["message"] == text


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("# a\n- b\n1. c\n> d", "\\# a\n\\- b\n1\\. c\n\\> d"),
        ("*a* _b_ `c` [d](e) ~f a_b 2 > 1", "\\*a\\* \\_b\\_ \\`c\\` \\[d\\](e) \\~f a_b 2 > 1"),
    ],
)
async def test_plain_text_has_no_markup(text: str, escaped: str):
    assert (await shown(text, PLAIN))["message"] == escaped


async def test_markdown_is_posted_as_it_was_written():
    text = "# a\n\n- **b**\n\n| c | d |\n|---|---|\n| 1 | 2 |"
    assert (await shown(text, COMMONMARK))["message"] == text


async def test_long_texts_are_posts_that_the_server_accepts():
    async with opened() as (server, adapter):
        content = {"title": "T", "mention": ["@" + "a" * 90] * 3}
        await good(adapter, Outgoing(ALERTS, "word " * 9_000, content=content))
        await good(adapter, Outgoing(ALERTS, "```\n" + "line of code\n" * 3_000 + "```", parse_mode=COMMONMARK))
        assert len(server.posts) == 3 + 3


async def test_without_labels_on_the_server_a_message_is_posted_and_says_so():
    async with opened(labels=False) as (server, adapter):
        receipt = await good(adapter, Outgoing(ALERTS, "hello", content={"priority": 5}))
        assert len(server.posts) == 1
    assert "without priority" in receipt.result.message
    assert receipt.ref.keys() == {"id"}


# --- keys and threads


async def test_a_post_is_replaced_and_then_deleted():
    async with opened() as (server, adapter):
        first = await good(adapter, keyed("firing", title="web1", priority=5, actions=[RUN_BOOK]))
        second = await good(adapter, change(keyed("resolved"), MessageOperation.EDIT, first))
        assert [post["message"] for post in server.posts.values()] == ["resolved"]
        for _ in range(2):
            await good(adapter, change(keyed("x"), MessageOperation.WITHDRAW, second))
        assert server.posts == {}
    assert [item.kind for item in server.recorder.of("mattermost", kind="")] == ["message", "edit", "deletion"]


async def test_an_edit_of_a_deleted_post_or_one_too_old_is_posted_anew():
    async with opened() as (server, adapter):
        first = await good(adapter, keyed("firing"))
        code = "api.post.update_post.permissions_time_limit.app_error"
        server.faults.push(Fault.error(code, http_status=400).only("PUT patch"))
        second = await good(adapter, change(keyed("resolved"), MessageOperation.EDIT, first))
        await good(adapter, change(keyed("x"), MessageOperation.WITHDRAW, second))
        third = await good(adapter, change(keyed("again"), MessageOperation.EDIT, second))
        assert len({first.ref["id"], second.ref["id"], third.ref["id"]}) == 3


async def test_a_later_message_of_a_thread_is_below_the_first_and_has_no_label():
    async with opened() as (server, adapter):
        first = await good(adapter, Outgoing(ALERTS, "one", thread=MessageThread("alerts"), content={"priority": 5}))
        later = MessageThread("alerts", first.ref)
        await good(adapter, Outgoing(ALERTS, "two", thread=later, content={"priority": 5}))
        assert server.recorder.of("mattermost")[-1].thread == first.ref["id"]


async def test_a_repeat_within_half_a_minute_is_recognised():
    clock = FakeClock()
    async with opened(clock=clock.now) as (server, adapter):
        server.faults.push(Fault.reset_after_accept().only("POST posts"))
        receipt = await adapter.transmit(Outgoing(ALERTS, "hello", key="d1"))
        assert receipt.failure
        assert receipt.failure.kind is FailureKind.AMBIGUOUS
        clock.advance(20)
        await good(adapter, Outgoing(ALERTS, "hello", key="d1"))
        assert len(server.posts) == 1


# --- answers


async def test_the_connection_test_names_the_bot():
    async with opened() as (_, adapter):
        assert (await adapter.test_connection()).message == "connected as tocsin"


async def test_a_revoked_token_is_refused_with_its_setting():
    async with opened(token="revokedrevokedrevokedrevok") as (_, adapter):
        for result in (await adapter.send(ALERTS, "hello"), await adapter.test_connection()):
            assert mentions(result.error, "session_expired", "revoked", "MATTERMOST_TOKEN")


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault.error("api.post.deduplicate_create_post.pending", http_status=400), FailureKind.TRANSIENT, "again"),
        (Fault.error("app.post.save.app_error", http_status=500), FailureKind.TRANSIENT, "app.post.save"),
        (Fault.error("something.else", http_status=403), FailureKind.PERMANENT, "add the bot"),
        (Fault.rate_limited(45), FailureKind.RATE_LIMITED, "wait 45 s"),
        (Fault.status(503), FailureKind.TRANSIENT, "HTTP 503"),
        (Fault.redirect("https://elsewhere.example/"), FailureKind.PERMANENT, "MATTERMOST_URL"),
        (Fault.html_200(), FailureKind.AMBIGUOUS, "MATTERMOST_URL"),
        (Fault.broken_json(), FailureKind.AMBIGUOUS, "outcome unknown"),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
async def test_each_answer_says_whether_a_repeat_is_safe(fault: Fault, kind: FailureKind, words: str):
    async with opened() as (server, adapter):
        server.faults.push(fault.only("POST posts"))
        receipt = await adapter.transmit(Outgoing(ALERTS, "hello"))
    assert receipt.failure is not None
    assert receipt.failure.kind is kind
    assert words in receipt.result.error


async def test_sends_at_the_same_time_do_not_disturb_each_other():
    async with opened() as (server, adapter):
        results = await asyncio.gather(*(adapter.send([ALERTS, "@anna"][n % 2], f"m{n}") for n in range(10)))
        assert all(result.ok for result in results)
        assert len(server.posts) == 10


# --- files


def with_files(*names: str, **content: Any) -> dict[str, Any]:
    return {"attach": [CONTENTS.file(name, name.encode()) for name in names], **content}


async def test_files_are_in_the_post_of_their_text():
    async with opened() as (server, adapter):
        await good(adapter, Outgoing(ALERTS, "hello", content=with_files("a.log", "b.log")))
        [post] = server.posts.values()
        assert [server.files[each][1] for each in post["file_ids"]] == [b"a.log", b"b.log"]


async def test_an_upload_without_an_answer_is_repeated_and_posts_nothing():
    outgoing = Outgoing(ALERTS, "hello", "d1", content=with_files("a.log"))
    async with opened() as (server, adapter):
        server.faults.push(Fault.reset_after_accept().only("POST files"))
        receipt = await adapter.transmit(outgoing)
        assert receipt.failure
        assert receipt.failure.kind is FailureKind.TRANSIENT
        assert server.posts == {}
        await good(adapter, outgoing)
        assert len(server.posts) == 1


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"max_files": 5}, ("file_ids", "older servers take 5 files")),
        ({"max_file_bytes": 3}, ("too_large_detailed", "no files of this size")),
    ],
)
async def test_files_that_the_server_does_not_take_are_refused_with_the_remedy(made: Any, words: tuple[str, ...]):
    async with opened(**made) as (server, adapter):
        names = [f"{number}.log" for number in range(6)]
        receipt = await adapter.transmit(Outgoing(ALERTS, "hello", content=with_files(*names)))
        assert server.posts == {}
    assert mentions(receipt.result.error, *words)


async def test_on_a_server_that_changes_no_files_they_stay_and_new_ones_are_below():
    async with opened(changes_files=False) as (server, adapter):
        first = await good(adapter, keyed("firing", **with_files("a.log")))
        emptied = await good(adapter, change(keyed("resolved", attach=[]), MessageOperation.EDIT, first))
        assert "its files, so they stay" in emptied.result.message
        await good(adapter, change(keyed("resolved", **with_files("b.log")), MessageOperation.EDIT, first))
        post, answer = server.posts.values()
        assert (post["message"], answer["root_id"]) == ("resolved", post["id"])
        assert [server.files[each][1] for each in (*post["file_ids"], *answer["file_ids"])] == [b"a.log", b"b.log"]


# --- presses

CLEAN = {"action": "call", "label": "Clean up", "name": "cleanup", "value": "web1", "style": "danger"}
CONFIG = Values({TOKEN.name: ENV[TOKEN.name]}, (TOKEN,))
CONTEXT = signed_context(CONFIG, "a:token")


def pressed(**changed: Any) -> bytes:
    body = {
        "user_id": ANNA_ID, "user_name": "anna", "channel_id": CHANNEL_ID, "post_id": POSTED["id"],
        "trigger_id": "triggertriggertrigger1", "type": "button", "context": CONTEXT,
    }  # fmt: skip
    return json.dumps(body | changed).encode()


class TestMattermostReceives(InboundContract):
    adapter = MattermostAdapter
    env = ENV
    secret = "MATTERMOST_TOKEN"
    messages = {"a press": pressed()}
    ignored = {"no person": pressed(user_id=""), "no press": pressed(trigger_id=None)}
    proof_in_headers = False
    signs_body = False  # only the context is signed: the product signs nothing

    def press(self, token: str) -> bytes:
        return pressed(context=signed_context(CONFIG, token))

    def signed(self, body: bytes, now: float) -> WebhookRequest:
        return WebhookRequest((), body)


async def test_a_press_arrives_with_the_person_and_an_edit_removes_the_buttons():
    async with opened() as (server, adapter):
        adapter.public_url = "https://gate.example"
        outgoing = with_secret(keyed("91 %", actions=[CLEAN, RUN_BOOK]))
        first = await good(adapter, outgoing)
        address, body = server.press(first.ref["id"])
        assert address == "https://gate.example/webhook/mattermost"
        call = WebhookRequest((), json.dumps(body).encode())
        receiver = MattermostInbound(adapter.config, Tools(adapter.http, FakeClock()))
        receiver.verify(call, 0.0)
        found = await receiver.receive(call)
        assert found is not None
        assert (found.sender_id, found.sender_name, found.chat_id) == (ANNA_ID, "anna", CHANNEL_ID)
        assert found.callback_data == make_token(outgoing, 0)
        await receiver.answer_privately(found, "Already done by *Ben*.")
        server.answered((await receiver.answer_stored(found)).body)
        assert server.whispers == [(ANNA_ID, "Already done by \\*Ben\\*.")]
        await good(adapter, change(keyed("91 %"), MessageOperation.EDIT, first))
        [post] = server.posts.values()
        assert post["props"] == {"attachments": []}


@pytest.mark.parametrize(
    "context", [None, {}, {"token": "a:token"}, {**CONTEXT, "token": "a:other"}, {**CONTEXT, "signature": "\ud800"}, []]
)
def test_a_call_without_our_context_is_rejected(context: Any):
    receiver = build_receiver(MattermostAdapter, ENV)
    with pytest.raises(RejectedError):
        receiver.verify(WebhookRequest((), pressed(context=context)), 0.0)


async def test_without_a_public_address_a_button_that_calls_back_is_refused():
    async with opened() as (server, adapter):
        receipt = await adapter.transmit(with_secret(keyed("91 %", actions=[CLEAN])))
        assert server.posts == {}
    assert "PUBLIC_URL" in receipt.result.error


async def test_a_press_that_is_acknowledged_shows_nothing_to_the_person():
    receiver = build_receiver(MattermostAdapter, ENV)
    found = await receiver.receive(WebhookRequest((), pressed()))
    assert isinstance(found, InboundMessage)
    await receiver.acknowledge(found)
    assert (await receiver.answer_stored(found)).body == b"{}"
    with pytest.raises(ChannelError):  # the call has its answer
        await receiver.answer_privately(found, "Already done.")
