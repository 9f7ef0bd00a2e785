"""Doors that speak as Gotify's server."""

import re
from urllib.parse import urlencode

import pytest
from tests.features.doors.conftest import FrontBench

from tocsin.features.doors.model import DoorAddress

FORM = ("Content-Type", "application/x-www-form-urlencoded")


@pytest.fixture
async def address(front: FrontBench) -> DoorAddress:
    return await front.add(protocol="gotify")


def key(address: DoorAddress) -> tuple[str, str]:
    return "X-Gotify-Key", address.token


def test_the_token_is_one_that_clients_take(address: DoorAddress):
    assert re.fullmatch(r"A[A-Za-z0-9]{14}", address.token)
    assert address.url == address.base_url


async def test_a_message_is_answered_as_the_original_does(front: FrontBench, address: DoorAddress):
    extras = {
        "client::display": {"contentType": "text/markdown"},
        "client::notification": {"click": {"url": "https://e.org"}, "bigImageUrl": "https://e.org/p.png"},
    }
    document = {"message": "**91** %", "title": "Disk full", "priority": 8, "extras": extras}

    answer = await front.post("/message", document, key(address))
    second = await front.post("/message", {"message": "x"}, key(address))

    said = answer.json()
    assert (answer.status, said["title"], said["priority"], said["extras"]) == (200, "Disk full", 8, extras)
    assert (type(said["id"]), second.json()["id"] > said["id"], second.json()["title"]) == (int, True, "alerts")
    first, _ = await front.work()
    assert (first.message, first.parse_mode) == ("**91** %\nhttps://e.org/p.png", "commonmark")
    assert first.content == {"title": "Disk full", "type": "failure", "priority": 5, "click": "https://e.org"}


@pytest.mark.parametrize(
    ("priority", "type_"), [(0, "info"), (3, "info"), (4, "warning"), (7, "warning"), (10, "failure")]
)
async def test_priorities(front: FrontBench, address: DoorAddress, priority: int, type_: str):
    await front.post("/message", {"message": "x", "priority": priority}, key(address))

    assert [each.content["type"] for each in await front.work()] == [type_]


async def test_the_token_is_in_the_query_in_a_header_or_a_bearer(front: FrontBench, address: DoorAddress):
    answers = [
        await front.post(f"/message?token={address.token}", b"message=form&priority=5", FORM),
        await front.post(f"/message?{urlencode({'token': address.token, 'message': 'query'})}"),
        await front.post("/message", {"message": "bearer"}, ("Authorization", f"Bearer {address.token}")),
    ]

    assert [each.status for each in answers] == [200, 200, 200]
    assert [each.message for each in await front.work()] == ["form", "query", "bearer"]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"title": "only"}', "Field 'message' is required"),
        (b'{"message": "x", "priority": "high"}', "Field 'priority' must be an integer"),
        (b"{", "not"),
        (b"[1]", "not"),
        (b"", "Field 'message' is required"),
    ],
)
async def test_what_the_original_refuses_is_a_400(front: FrontBench, address: DoorAddress, body: bytes, said: str):
    answer = await front.post("/message", body, key(address), ("Content-Type", "application/json"))

    document = answer.json()
    assert (answer.status, document["error"], document["errorCode"]) == (400, "Bad Request", 400)
    assert said in document["errorDescription"]


async def test_wrong_and_missing_tokens_are_one_error(front: FrontBench, address: DoorAddress):
    answers = [
        await front.post("/message", {"message": "x"}),
        await front.post("/message?token=Awrong", {"message": "x"}),
    ]

    assert [(each.status, each.json()["error"], each.json()["errorCode"]) for each in answers] == [
        (401, "Unauthorized", 401),
        (401, "Unauthorized", 401),
    ]


async def test_reading_messages_is_forbidden_and_the_version_is_public(front: FrontBench, address: DoorAddress):
    assert (await front.client.get("/version")).json()["version"] == "3.0.0"
    assert (await front.client.get("/health")).json()["health"] == "green"
    for path in ("/message", "/stream"):
        assert (await front.client.get(path, key(address))).json()["errorCode"] == 403


async def test_the_query_completes_a_form_and_never_json(front: FrontBench, address: DoorAddress):
    form = ("Content-Type", "application/x-www-form-urlencoded")
    of_form = await front.post(f"/message?token={address.token}&title=T&priority=8", b"message=x", form)
    of_json = await front.post(f"/message?token={address.token}&title=T", {"message": "x"})

    assert (of_form.json()["title"], of_form.json()["priority"], of_json.json()["title"]) == ("T", 8, "alerts")
