"""Doors that speak as incoming webhooks of Slack and Mattermost."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.features.doors.conftest import FrontBench

from tocsin.delivery.model import Delivery
from tocsin.features.doors.model import DoorAddress
from tocsin.features.doors.protocols.mrkdwn import to_markdown, to_plain

FORM = ("Content-Type", "application/x-www-form-urlencoded")
MULTIPART = ("Content-Type", "multipart/form-data; boundary=x")


@pytest.fixture
async def address(front: FrontBench) -> DoorAddress:
    return await front.add(protocol="slack")


async def sent(front: FrontBench, address: DoorAddress, document: object) -> Delivery:
    answer = await front.post(path_of(address), document)
    assert (answer.status, answer.body) == (200, b"ok")
    [delivery] = await front.work()
    return delivery


def path_of(address: DoorAddress) -> str:
    return address.services_url.removeprefix(address.base_url)


async def test_both_forms_of_the_address_take_messages(front: FrontBench, address: DoorAddress):
    for url in (address.url, address.services_url):
        assert (await front.post(url.removeprefix(address.base_url), {"text": "x"})).status == 200

    assert address.url.startswith(f"{address.base_url}/hooks/T")
    assert address.services_url.removeprefix(f"{address.base_url}/services/").count("/") == 2
    assert len(await front.work()) == 2


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b'{"text": "hello"}', ()),
        (b'{"text": "hello"}', (("Content-Type", "text/plain"),)),
        (b'{"text": "hello"}', (FORM,)),
        (urlencode({"payload": '{"text": "hello"}'}).encode(), (FORM,)),
        (b"text=hello", (FORM,)),
        (b'--x\r\nContent-Disposition: form-data; name="text"\r\n\r\nhello\r\n--x--\r\n', (MULTIPART,)),
    ],
    ids=["no type", "text", "not a form", "form", "plain form", "multipart"],
)
async def test_a_document_comes_as_json_or_in_a_form(
    front: FrontBench, address: DoorAddress, body: bytes, headers: tuple[tuple[str, str], ...]
):
    answer = await front.post(path_of(address), body, *headers)

    assert (answer.status, answer.body, answer.header("content-type")) == (200, b"ok", "text/plain; charset=utf-8")
    assert [each.message for each in await front.work()] == ["hello"]


async def test_an_attachment_without_a_text_is_its_title(front: FrontBench, address: DoorAddress):
    link = "http://alertmanager.example.org/#/alerts"
    attachment = {"title": "[FIRING:1] DiskFull", "title_link": link, "text": "", "color": "danger", "fallback": "x"}

    found = await sent(front, address, {"attachments": [attachment]})

    assert found.content == {"title": "[FIRING:1] DiskFull", "click": link, "type": "failure", "priority": 5}


async def test_attachments_are_title_text_and_fields_and_links_become_buttons(front: FrontBench, address: DoorAddress):
    attachment = {
        "pretext": "Look:",
        "title": "CPU &gt; 90",
        "text": "see <https://g.example/d|the *graph*>",
        "fields": [{"title": "Host", "value": "db1"}, {"title": "Load", "value": 9}],
        "color": "#36a64f",
        "actions": [{"type": "button", "text": "Open", "url": "https://g.example/d"}, {"type": "button", "text": "No"}],
    }

    found = await sent(front, address, {"text": "", "attachments": [attachment, {"title": "Two", "fallback": "2"}]})

    assert found.message == (
        "Look:\n\nsee [the *graph*](<https://g.example/d>)\n\n**Host**: db1\n**Load**: 9\n\n**Two**"
    )
    assert (found.content["title"], found.content["type"]) == ("CPU > 90", "success")
    assert found.content["actions"] == [{"action": "view", "label": "Open", "url": "https://g.example/d"}]


async def test_blocks_replace_the_text(front: FrontBench, address: DoorAddress):
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": {"type": "plain_text", "text": "Deploy"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "*done* by <@U1|ann>"}},
        {"type": "divider"},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "`v1.2`"}]},
        {"type": "actions", "elements": [{"type": "button", "text": {"text": "Log"}, "url": "https://ci.example/1"}]},
        {
            "type": "rich_text",
            "elements": [
                {
                    "type": "rich_text_section",
                    "elements": [{"type": "text", "text": "a "}, {"type": "emoji", "name": "x"}],
                },
                {
                    "type": "rich_text_list",
                    "elements": [{"type": "rich_text_section", "elements": [{"type": "text", "text": "b"}]}],
                },
            ],
        },
    ]

    found = await sent(front, address, {"text": "only for notifications", "blocks": blocks})

    assert found.message == "**done** by @ann\n\n`v1.2`\n\na :x:\n- b"
    assert (found.content["title"], found.content["actions"][0]["label"]) == ("Deploy", "Log")


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"text": "cut o', 400, b"invalid_payload"),
        (b"[1]", 400, b"invalid_payload"),
        (b"", 400, b"invalid_payload"),
        (b"[" * 60 + b"]" * 60, 400, b"invalid_payload"),
        (b"{}", 400, b"no_text"),
        (b'{"channel": "#ops"}', 400, b"no_text"),
    ],
)
async def test_what_the_original_refuses_is_refused_with_its_word(
    front: FrontBench, address: DoorAddress, body: bytes, status: int, said: bytes
):
    answer = await front.post(path_of(address), body)

    assert (answer.status, answer.body) == (status, said)
    assert (await front.last()).status == status


async def test_wrong_tokens_and_too_many_requests_are_answered_in_its_words(front: FrontBench):
    address = await front.add(protocol="slack", rate=1)
    paths = ["/services/T1/B1/x", "/hooks/nonsense", "/services/", path_of(address), path_of(address)]

    answers = [await front.post(path, {"text": "x"}) for path in paths]

    assert [(each.status, each.body) for each in answers] == [
        (403, b"invalid_token"),
        (403, b"invalid_token"),
        (404, b"no_service"),
        (200, b"ok"),
        (503, b"rate_limited"),
    ]


async def test_no_form_of_the_token_is_stored(front: FrontBench, address: DoorAddress):
    for url in (address.url, address.services_url):
        path = url.removeprefix(address.base_url)
        await front.post(f"{path}?x={path}", json.dumps({"text": f"see {path}"}).encode())
    await front.work()

    last = path_of(address).rpartition("/")[2]
    for request in await front.doors.requests("alerts"):
        kept = await front.doors.store.request((await front.doors.get("alerts")).id, request.id)
        assert last not in request.payload + request.text + str(kept)


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("*bold* and _it_ and ~no~", "**bold** and _it_ and ~~no~~"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("a &amp; &lt;b&gt;", "a & <b>"),
        ("<https://e.org/a_b*c*|x [y]>", "[x \\[y\\]](<https://e.org/a_b*c*>)"),
        ("<https://e.org/?a=1&amp;b=2>", "https://e.org/?a=1&b=2"),
        ("<!here> <!channel> <@U12> <#C1|ops> <!subteam^S1|@team>", "@here @channel @U12 #ops @team"),
        ("<mailto:a@e.org|write>", "[write](<mailto:a@e.org>)"),
        ("`*x* &lt;`", "`*x* <`"),
        ("```a\n*b*```", "\n```\na\n*b*\n```\n"),
        ("<javascript:alert(1)|x>", "x"),
    ],
)
def test_its_markup_becomes_markdown(text: str, markdown: str):
    assert to_markdown(text) == markdown


def test_a_title_has_no_markup():
    assert to_plain("<https://e.org|Disk> &amp; <@U1> <!date^1^{date}|today>") == "Disk & @U1 today"
