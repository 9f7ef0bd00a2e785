"""teams: what a workflow gets, and what its answers mean."""
# ruff: noqa: RUF012  # the attributes of a suite are read, never changed

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tocsin.channels.contract import COMMONMARK, OutboundAdapter, Outgoing, Receipt
from tocsin.channels.teams import TeamsAdapter
from tocsin.channels.teams.standin import WorkflowServer
from tocsin.core.errors import ConfigError, FailureKind
from tocsin.core.http.direct import DirectTransport
from tocsin.testing import ScriptedTransport, build_adapter
from tocsin.testing.channel_contract import ChannelContract
from tocsin_standins.faults import Fault

URL = "https://prod-12.westeurope.logic.azure.com/workflows/abc/triggers/manual/paths/invoke?sig=example-of-a-signature"
RUN_BOOK = {"label": "Run book", "url": "https://wiki.example/run"}


@asynccontextmanager
async def opened(**made: Any) -> AsyncIterator[tuple[WorkflowServer, TeamsAdapter]]:
    """Open a workflow and the channel that starts it."""
    http = DirectTransport()
    async with WorkflowServer(**made) as server:
        try:
            yield server, build_adapter(TeamsAdapter, {}, http=http, targets=server.targets())
        finally:
            await http.aclose()


class TestTeams(ChannelContract):
    adapter = TeamsAdapter
    env: dict[str, str] = {}
    targets = {"ops": {"url": URL}}
    target = "ops"
    bad_targets = ("dev", "OPS", URL, "")

    @asynccontextmanager
    async def opened(self, *, probing: bool = False) -> AsyncIterator[OutboundAdapter]:
        async with opened() as (_, adapter):
            yield adapter


async def card_of(text: str, mode: str = "", **content: Any) -> dict[str, Any]:
    """Send one message; return its card as the workflow got it."""
    async with opened() as (server, adapter):
        adapter.public_url = "https://gate.example"
        receipt = await adapter.transmit(Outgoing("ops", text, parse_mode=mode, content=content))
        assert receipt.result.ok, receipt.result.error
        [item] = server.recorder.of("teams")
        assert isinstance(item.body, dict)
        card: dict[str, Any] = item.body["attachments"][0]["content"]
        return card


async def failed(adapter: TeamsAdapter) -> Receipt:
    receipt = await adapter.transmit(Outgoing("ops", "hello"), patient=False)
    assert receipt.failure, receipt.result.message
    return receipt


# --- what is posted


async def test_a_message_starts_the_workflow_and_the_note_promises_no_more():
    http = ScriptedTransport().will_answer(b"", 202)
    adapter = build_adapter(TeamsAdapter, {}, http=http, targets={"ops": {"url": URL}})
    assert (await adapter.send("ops", "hello")).message == "accepted by the workflow"
    [call] = http.sent
    assert (call.method, call.url) == ("POST", URL)
    [attachment] = call.json()["attachments"]
    assert (attachment["contentType"], attachment["contentUrl"]) == ("application/vnd.microsoft.card.adaptive", None)


async def test_each_line_is_shown_as_it_is():
    card = await card_of("*91 %*\n\n[a](b)")
    assert [block["inlines"] for block in card["body"]] == [["*91 %*"], [" "], ["[a](b)"]]


async def test_markdown_becomes_plain_text():
    assert (await card_of("**bold** text", COMMONMARK))["body"][0]["inlines"] == ["bold text"]


async def test_title_type_link_and_buttons_are_parts_of_the_card():
    card = await card_of("91 %", title="Disk *full*", type="failure", click="https://x.example/d", actions=[RUN_BOOK])
    [box] = card["body"]
    assert (box["type"], box["style"]) == ("Container", "attention")
    title, text, link = (item["inlines"][0] for item in box["items"])
    assert (title["text"], title["weight"], text) == ("Disk *full*", "Bolder", "91 %")
    assert link["selectAction"] == {"type": "Action.OpenUrl", "url": "https://x.example/d"}
    assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Run book", "url": "https://wiki.example/run"}]


@pytest.mark.parametrize(("content", "style"), [({"priority": 5}, "attention"), ({"priority": 4}, "warning")])
async def test_urgency_is_a_colour(content: dict[str, Any], style: str):
    assert (await card_of("x", **content))["body"][0]["style"] == style


async def test_a_call_button_opens_its_page():
    card = await card_of("x", actions=[{"action": "call", "label": "Go", "name": "go"}])
    [button] = card["actions"]
    assert (button["type"], button["url"].startswith("https://gate.example/a/")) == ("Action.OpenUrl", True)


@pytest.mark.parametrize("line", ["x" * 50, '"', "ü", "\U0001f600 \\"])
async def test_the_cards_of_a_long_text_are_below_the_limit(line: str):
    async with opened() as (server, adapter):
        content = {"title": "ü" * 250, "actions": [{**RUN_BOOK, "label": "ü" * 40}] * 5}
        receipt = await adapter.transmit(Outgoing("ops", f"{line}\n" * 900, content=content))
        assert receipt.result.ok, receipt.result.error
        assert receipt.parts_sent == len(server.recorder.of("teams")) > 1


def long_buttons(characters: str) -> list[dict[str, str]]:
    return [{"label": str(n), "url": f"https://x.example/{characters * 1_900}"} for n in range(5)]


@pytest.mark.parametrize("mode", ["", COMMONMARK])
async def test_a_text_beside_long_buttons_is_split_so_that_each_card_fits(mode: str):
    async with opened() as (server, adapter):
        content = {"title": "ü" * 250, "click": f"https://x.example/{'a' * 1_900}", "actions": long_buttons("a")}
        receipt = await adapter.transmit(Outgoing("ops", "x " * 9_500, parse_mode=mode, content=content))
        assert receipt.result.ok, receipt.result.error
        assert receipt.parts_sent == len(server.recorder.of("teams")) > 1


async def test_a_card_whose_buttons_alone_are_too_large_is_refused_before_the_call():
    async with opened() as (server, adapter):
        receipt = await adapter.transmit(Outgoing("ops", "hello", content={"actions": long_buttons("\U0001f600")}))
        assert "limit 28,000" in receipt.result.error
        assert server.requests == 0


# --- what an answer means


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault.error("InvalidCard", http_status=400), FailureKind.PERMANENT, "template for webhook alerts"),
        (Fault.error("x", http_status=401), FailureKind.PERMANENT, "copy it again"),
        (Fault.error("x", http_status=404), FailureKind.PERMANENT, "create it again"),
        (Fault.error("x", http_status=413), FailureKind.PERMANENT, "send less text"),
        (Fault.error("x", http_status=500), FailureKind.TRANSIENT, "HTTP 500"),
        (Fault.status(504), FailureKind.TRANSIENT, "HTTP 504"),
        (Fault.html_200(), FailureKind.AMBIGUOUS, "outcome unknown"),
        (Fault.redirect("https://elsewhere.example"), FailureKind.PERMANENT, "targets.yaml"),
        (Fault.rate_limited(9), FailureKind.RATE_LIMITED, "wait 9 s"),
        (Fault.reset_after_accept(), FailureKind.AMBIGUOUS, "outcome unknown"),
    ],
    ids=lambda value: f"{value.kind} {value.http_status}" if isinstance(value, Fault) else "",
)
async def test_each_answer_says_whether_a_repeat_is_safe(fault: Fault, kind: FailureKind, words: str):
    async with opened() as (server, adapter):
        server.faults.push(fault)
        receipt = await failed(adapter)
        assert receipt.failure
        assert (receipt.failure.kind, words in receipt.result.error) == (kind, True), receipt.result.error


async def test_a_renewed_address_is_named_without_it():
    async with opened() as (server, adapter):
        server.signature = "another"
        error = (await failed(adapter)).result.error
    assert "copy it again" in error
    assert "example-of-a-signature" not in error


async def test_a_workflow_that_fails_later_is_not_noticed_and_the_page_says_so():
    async with opened(posts=False) as (server, adapter):
        assert (await adapter.send("ops", "hello")).message == "accepted by the workflow"
        assert server.recorder.of("teams") == []


async def test_a_test_names_the_workflows_and_starts_none():
    async with opened() as (server, adapter):
        assert ((await adapter.test_connection()).message, server.requests) == ("connected as ops", 0)


# --- the entry


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://contoso.webhook.office.com/webhookb2/a", "Microsoft has ended"),
        ("https://outlook.office.com/webhook/a", "Microsoft has ended"),
        ("http://prod.westeurope.logic.azure.com/workflows/a", "not encrypted"),
        ("prod.westeurope.logic.azure.com", "not the address of a workflow"),
        ("https://x.example/a b", "not the address of a workflow"),
    ],
)
def test_a_wrong_address_is_refused_and_not_repeated(url: str, words: str):
    with pytest.raises(ConfigError) as refused:
        build_adapter(TeamsAdapter, {}, targets={"ops": {"url": url}})
    assert words in str(refused.value)
    assert url not in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [
        {"version": None, "colour": 1},
        {"type": "Card"},
        {"body": []},
        {"body": [{"type": "TextBlock", "text": "x"}]},
        {"body": [{"type": "RichTextBlock", "inlines": [""]}]},
        {"actions": [{"type": "Action.Submit", "title": "x"}]},
    ],
)
async def test_the_stand_in_refuses_what_is_not_a_card(change: dict[str, Any]):
    card = {"type": "AdaptiveCard", "version": "1.4", "body": [{"type": "RichTextBlock", "inlines": ["x"]}], **change}
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    body = json.dumps({"type": "message", "attachments": [attachment]}).encode()
    http = DirectTransport()
    try:
        async with WorkflowServer() as server:
            url = server.targets()["ops"]["url"]
            reply = await http.request("POST", url, headers={"Content-Type": "application/json"}, body=body)
            assert (reply.status, server.recorder.of("teams")) == (400, [])
    finally:
        await http.aclose()
