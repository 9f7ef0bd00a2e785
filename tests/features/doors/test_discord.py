"""Doors that speak as webhooks of Discord."""

import pytest
from tests.features.doors.conftest import FrontBench, names_of

from tocsin.features.doors.model import DoorAddress

MULTIPART = ("Content-Type", "multipart/form-data; boundary=x")


@pytest.fixture
async def address(front: FrontBench) -> DoorAddress:
    return await front.add(protocol="discord")


def path_of(address: DoorAddress) -> str:
    return address.url.removeprefix(address.base_url)


async def test_a_content_is_answered_with_nothing(front: FrontBench, address: DoorAddress):
    answer = await front.post(path_of(address), {"content": "**It** works <@42> <:ok:1> <t:0:R>", "username": "x"})

    assert (answer.status, answer.body) == (204, b"")
    [sent] = await front.work()
    assert (sent.message, sent.parse_mode) == ("**It** works @42 :ok: 1970-01-01T00:00:00.000Z", "commonmark")
    assert (await front.last()).status == 204


@pytest.mark.parametrize("word", ["true", "True", "1"])
async def test_a_sender_that_waits_gets_the_message(front: FrontBench, address: DoorAddress, word: str):
    answer = await front.post(f"{path_of(address)}?wait={word}", {"content": "x", "wait": True})

    assert (answer.status, answer.json()["content"], answer.json()["id"].isdigit()) == (200, "x", True)


async def test_embeds_are_title_text_and_fields(front: FrontBench, address: DoorAddress):
    embeds = [
        {
            "title": "[FIRING:1] DiskFull",
            "url": "https://e.org/a",
            "description": "\n\n91 %\n\n",
            "color": 10038562,
            "fields": [{"name": "Host", "value": "db1", "inline": True}],
            "author": {"name": "ann"},
            "image": {"url": "https://e.org/p.png"},
            "footer": {"text": "am"},
        },
        {"title": "Two", "description": "more"},
    ]
    components = [{"type": 1, "components": [{"type": 2, "style": 5, "label": "Open", "url": "https://e.org/b"}]}]
    await front.post(path_of(address), {"content": "", "embeds": embeds, "components": components, "flags": 4096})

    [sent] = await front.work()
    assert sent.message == "ann\n\n91 %\n\n**Host**: db1\n\nhttps://e.org/p.png\n\nam\n\n**Two**\n\nmore"
    assert sent.content == {
        "title": "[FIRING:1] DiskFull",
        "type": "failure",
        "priority": 5,
        "click": "https://e.org/a",
        "actions": [{"action": "view", "label": "Open", "url": "https://e.org/b"}],
        "silent": True,
    }


@pytest.mark.parametrize(
    ("colour", "type_"),
    [(3066993, "success"), (0xFF0000, "failure"), (0xFFA500, "warning"), (0x5865F2, "info"), (0, "info")],
)
async def test_colours_are_severities(front: FrontBench, address: DoorAddress, colour: int, type_: str):
    await front.post(path_of(address), {"embeds": [{"title": "T", "color": colour}]})

    assert [each.content["type"] for each in await front.work()] == [type_]


async def test_files_come_beside_the_document(front: FrontBench, address: DoorAddress):
    body = (
        b'--x\r\nContent-Disposition: form-data; name="payload_json"\r\n\r\n{"content": "see file"}\r\n'
        b'--x\r\nContent-Disposition: form-data; name="files[0]"; filename="a.txt"\r\n\r\nhi\r\n--x--\r\n'
    )
    alone = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhi\r\n--x--\r\n'
    answers = [await front.post(path_of(address), each, MULTIPART) for each in (body, alone)]

    assert [each.status for each in answers] == [204, 204]
    assert [each.message for each in await front.work()] == ["see file", "You received a file: a.txt"]
    assert [names_of(each) for each in await front.deliveries()] == [["a.txt"], ["a.txt"]]


async def test_a_get_shows_the_webhook(front: FrontBench, address: DoorAddress):
    shown = (await front.client.get(path_of(address))).json()

    assert (shown["type"], shown["name"], shown["token"]) == (1, "alerts", address.token)
    assert shown["id"] in address.url


async def test_suffixes_take_the_bodies_of_other_products(front: FrontBench, address: DoorAddress):
    slack = await front.post(f"{path_of(address)}/slack", {"attachments": [{"title": "T", "color": "good"}]})
    ping = {"zen": "Keep it simple.", "hook_id": 1, "repository": {"full_name": "o/r"}}
    github = await front.post(f"{path_of(address)}/github", ping, ("X-GitHub-Event", "ping"))

    assert [(slack.status, slack.body), (github.status, github.body)] == [(200, b"ok"), (204, b"")]
    assert [each.content["title"] for each in await front.work()] == ["T", "o/r: the webhook works"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{}", 50006),
        (b'{"content": " "}', 50006),
        (b'{"content": "' + b"x" * 2001 + b'"}', 50035),
        (b"{", 50109),
        (b"[1]", 50109),
        (b'{"embeds": [' + b", ".join([b'{"title": "T"}'] * 11) + b"]}", 50035),
    ],
)
async def test_what_the_original_refuses_is_a_400(front: FrontBench, address: DoorAddress, body: bytes, code: int):
    answer = await front.post(path_of(address), body)

    assert (answer.status, answer.json()["code"], bool(answer.json()["message"])) == (400, code, True)


async def test_unknown_webhooks_and_messages_have_their_codes(front: FrontBench, address: DoorAddress):
    answers = [
        await front.post("/api/webhooks/1/nonsense", {"content": "x"}),
        await front.client.get("/api/webhooks/1/nonsense"),
        await front.post("/api/webhooks/", {"content": "x"}),
        await front.client.request("DELETE", f"{path_of(address)}/messages/1"),
    ]

    assert [(each.status, each.json()["code"]) for each in answers] == [
        (404, 10015),
        (404, 10015),
        (404, 10015),
        (404, 10008),
    ]
