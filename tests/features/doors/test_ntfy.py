"""Doors that speak as ntfy's server: publishing."""

import base64
import json
from datetime import datetime
from typing import Any

import pytest
from tests.features.doors.conftest import FrontBench, names_of

from tocsin.delivery.model import DeliveryStatus
from tocsin.features.doors.model import DoorAddress, DoorRequest
from tocsin.features.doors.protocols.ntfy_fields import actions_of, read_fields, time_of
from tocsin.features.doors.protocols.protocol import BadRequestError

Header = tuple[str, str]
NOON = datetime(2026, 11, 25, 12).astimezone().timestamp()  # a Wednesday


@pytest.fixture
async def address(front: FrontBench) -> DoorAddress:
    return await front.add(protocol="ntfy")


def topic_of(address: DoorAddress) -> str:
    return address.url.removeprefix(address.base_url)


def bearer(address: DoorAddress) -> Header:
    return "Authorization", f"Bearer {address.token}"


async def test_a_text_is_published_to_the_topic_that_is_a_secret(front: FrontBench, address: DoorAddress):
    for method in ("PUT", "POST"):
        assert (await front.post(topic_of(address), b"It works", method=method)).status == 200
    by_query = await front.client.get(f"{topic_of(address)}/publish?message=by+query&p=5&title=T")

    sent = await front.work()
    assert by_query.status == 200
    assert [each.message for each in sent] == ["It works", "It works", "by query"]
    assert sent[2].content == {"title": "T", "type": "failure", "priority": 5}


async def test_the_topic_of_the_name_needs_the_token(front: FrontBench, address: DoorAddress):
    basic = "Basic " + base64.b64encode(f":{address.token}".encode()).decode()
    query = base64.urlsafe_b64encode(f"Bearer {address.token}".encode()).decode().rstrip("=")
    good = [
        await front.post("/alerts", b"x", bearer(address)),
        await front.post("/alerts", b"x", ("Authorization", basic)),
        await front.post(f"/alerts?auth={query}", b"x", ("Authorization", "Bearer wrong")),
    ]
    bad = [
        await front.post("/alerts", b"x"),
        await front.post("/alerts", b"x", ("Authorization", "Bearer tk_wrong")),
        await front.post("/alerts", b"x", ("Authorization", "Basic %%%")),
        await front.post("/other", b"x", bearer(address)),
        await front.post("/alerts-0123456789abcdef", b"x"),
        await front.post("/" + "x" * 65, b"x", bearer(address)),
    ]

    assert [each.status for each in good] == [200, 200, 200]
    codes = [(each.status, each.json()["code"], each.json()["http"]) for each in bad]
    assert codes == [
        (403, 40301, 403),
        (401, 40101, 401),
        (401, 40101, 401),
        (403, 40301, 403),
        (403, 40301, 403),  # no login, but a topic that is unknown
        (400, 40009, 400),
    ]


async def test_json_is_published_to_the_root_and_headers_count_too(front: FrontBench, address: DoorAddress):
    document = {"topic": topic_of(address)[1:], "title": "Disk full", "message": "91 %", "tags": ["warning", "db1"]}
    headers = (("X-Priority", "high"), ("X-Click", "https://example.org/x"), ("X-Tags", "no"))

    answer = await front.post("/", document, *headers)

    assert answer.status == 200
    [sent] = await front.work()
    assert sent.message == "91 %\nTags: warning, db1"
    assert sent.content == {"title": "Disk full", "type": "warning", "priority": 4, "click": "https://example.org/x"}
    said = answer.json()
    assert (said["event"], said["topic"], said["message"], said["tags"]) == (
        "message",
        document["topic"],
        "91 %",
        ["warning", "db1"],
    )
    assert (len(said["id"]), said["priority"], answer.header("access-control-allow-origin")) == (12, 4, "*")


async def test_json_with_the_token_in_a_header(front: FrontBench, address: DoorAddress):
    assert (await front.post("/", {"topic": "alerts", "message": "x"}, bearer(address))).status == 200
    assert (await front.post("/", {"topic": "other", "message": "x"}, bearer(address))).status == 403
    assert (await front.post("/", {"message": "x"}, bearer(address))).json()["code"] == 40009
    for body in (b"", b"text", b"[1]", b"{", b"[" * 60 + b"]" * 60):
        assert (await front.post("/", body, bearer(address))).json()["code"] == 40017
        assert (await front.post("/", body)).json()["code"] == 40017
    assert (await front.post("/", {"topic": "a b"})).json()["code"] == 40009
    assert (await front.post("/", {"topic": "alerts", "message": "x" * 200_000})).json()["code"] == 41303


async def test_headers_may_be_encoded(front: FrontBench, address: DoorAddress):
    await front.post(topic_of(address), b"x", ("Title", "=?UTF-8?B?R3LDvMOfZQ==?="))
    await front.post(topic_of(address), b"x", ("X-Title", "Grüße".encode().decode("latin-1")))
    await front.post(topic_of(address), b"x", ("Title", "=?nonsense?B?R3LDvMOfZQ==?="))

    assert [each.content["title"] for each in await front.work()] == ["Grüße", "Grüße", "=?nonsense?B?R3LDvMOfZQ==?="]


async def test_a_header_of_browsers_is_no_priority(front: FrontBench, address: DoorAddress):
    assert (await front.post(topic_of(address), b"x", ("Priority", "u=3, i"))).status == 200
    assert [each.content["type"] for each in await front.work()] == ["info"]


@pytest.mark.parametrize("priority", ["0", "6", "-1", "1.5", "loud"])
async def test_a_priority_other_than_1_to_5_is_code_40007(front: FrontBench, address: DoorAddress, priority: str):
    assert (await front.post(topic_of(address), b"x", ("Priority", priority))).json()["code"] == 40007
    body = json.dumps({"topic": topic_of(address)[1:], "message": "x", "priority": 0}).encode()
    assert (await front.post("/", body)).status == 200


@pytest.mark.parametrize(
    ("priority", "type_", "number"),
    [("1", "info", 1), ("low", "info", 2), ("3", "info", 3), ("high", "warning", 4), ("urgent", "failure", 5)],
)
async def test_priorities(front: FrontBench, address: DoorAddress, priority: str, type_: str, number: int):
    await front.post(topic_of(address), b"x", ("P", priority))

    [sent] = await front.work()
    assert (sent.content["type"], sent.content.get("priority", 3)) == (type_, number)


@pytest.mark.parametrize(
    ("body", "query", "text", "files"),
    [
        (b"", "", "triggered", []),
        (b"hello\n", "?filename=note.txt&message=see+file", "see file", ["note.txt"]),
        (b"hello", "?f=note.txt", "You received a file: note.txt", ["note.txt"]),
        (b"\x89PNG\x00\xff", "", "You received a file: attachment", ["attachment"]),
        (b"text", "?attach=https://e.org/p.png", "text\nhttps://e.org/p.png", []),
        (b"", "?m=one%5Cntwo", "one\ntwo", []),
        (b"wins", "?m=loses", "wins", []),
        (b"x" * 70_000, "", "You received a file: attachment", ["attachment"]),
        (b"\xff" * 2_000_000, "", "You received a file: attachment", ["attachment"]),
        (b"mail", "?click=mailto:a@e.org", "mail\nmailto:a@e.org", []),
    ],
)
async def test_what_is_text_and_what_is_a_file(
    front: FrontBench, address: DoorAddress, body: bytes, query: str, text: str, files: list[str]
):
    assert (await front.post(topic_of(address) + query, body)).status == 200

    [sent] = await front.work()
    assert (sent.message, names_of(sent)) == (text, files)


async def test_a_body_of_unknown_length_that_is_too_large_is_refused_as_a_file(front: FrontBench, address: DoorAddress):
    answer = await front.post(topic_of(address), b"\xff" * (16 * 1024 * 1024 + 1))

    assert (answer.status, answer.json()["code"]) == (413, 41_301)


async def test_markdown_is_read_as_such(front: FrontBench, address: DoorAddress):
    await front.post(topic_of(address), b"**x**", ("Markdown", "yes"))
    await front.post(topic_of(address), b"**x**", ("Content-Type", "text/markdown"))
    await front.post(topic_of(address), b"**x**", ("Markdown", "false"))

    assert [each.parse_mode for each in await front.work()] == ["commonmark", "commonmark", "plain"]


async def test_a_delayed_message_waits_in_the_queue(front: FrontBench, address: DoorAddress):
    answer = await front.post(topic_of(address), b"later", ("In", "5m"))

    [sent] = await front.work()
    assert sent.not_before == pytest.approx(front.clock.now() + 300)
    assert answer.json()["time"] == int(front.clock.now() + 300)


async def test_a_message_with_a_sequence_id_replaces_the_one_before(front: FrontBench, address: DoorAddress):
    await front.post(f"{topic_of(address)}/backup", b"10 %")
    await front.post(topic_of(address), b"20 %", ("X-Sequence-ID", "backup"))
    await front.post("/", {"topic": topic_of(address)[1:], "message": "30 %", "sequence_id": "backup"})

    keys = {each.key for each in await front.work()}
    assert (len(keys), "" in keys) == (1, False)
    assert (await front.post(topic_of(address), b"x", ("SID", "a b"))).json()["code"] == 40049


async def test_a_switch_that_is_set_again_is_sent_once_and_later(front: FrontBench, address: DoorAddress):
    for _ in range(3):
        await front.post(f"{topic_of(address)}/alive", b"silent for 5 minutes", ("In", "5m"))
        await front.work()
        front.clock.advance(60)

    [sent] = [each for each in await front.deliveries() if each.status is DeliveryStatus.QUEUED]
    assert sent.not_before == pytest.approx(front.clock.now() - 60 + 300)


async def test_deleting_withdraws_the_message_of_a_sequence_also_while_it_waits(
    front: FrontBench, address: DoorAddress
):
    topic = topic_of(address)
    await front.post(f"{topic}/backup", b"running", ("Delay", "5m"))
    [waiting] = await front.work()
    deleted = await front.client.request("DELETE", f"{topic}/backup")
    found = await front.work()
    await front.post(f"{topic}/backup", b"anew")
    anew = (await front.work())[-1]

    assert deleted.status == 200
    assert [(each.operation, each.status) for each in found] == [("send", "cancelled"), ("withdraw", "queued")]
    assert found[1].key == waiting.key != anew.key


async def test_deleting_names_channels_that_cannot_withdraw(front: FrontBench):
    topic = topic_of(await front.add("texts", protocol="ntfy", profile="plain"))
    await front.post(f"{topic}/backup", b"running")
    await front.work()
    await front.client.get(f"{topic}/backup/delete")
    await front.work()

    assert "Texts cannot withdraw a message" in (await front.last("texts")).note


async def test_clearing_edits_the_message_and_sends_no_other(front: FrontBench, address: DoorAddress):
    topic = topic_of(address)
    unknown = await front.client.request("PUT", f"{topic}/backup/clear")
    nothing = await front.work()
    await front.post(f"{topic}/backup", b"running", ("Title", "Backup"))
    [first] = await front.work()
    await front.client.request("PUT", f"{topic}/backup/clear")
    cleared = (await front.work())[-1]

    assert (unknown.status, nothing) == (200, [])
    assert (cleared.key, cleared.content["title"], cleared.message) == (first.key, "Cleared: Backup", "running")
    assert (cleared.content["unable"], cleared.content["if_gone"]) == ("skip", "drop")


async def test_the_text_of_a_copy_action_is_shown_and_nothing_is_called(front: FrontBench, address: DoorAddress):
    actions = [
        {"action": "copy", "label": "Code", "value": "4711"},
        {"action": "http", "label": "Close", "url": "http://169.254.169.254/"},
        {"action": "broadcast", "label": "Photo"},
    ]
    await front.post("/", {"topic": "alerts", "message": "Code", "actions": actions}, bearer(address))
    [sent] = await front.work()

    assert (sent.message, "actions" in sent.content) == ("Code\nCode: 4711", False)
    assert "not sent: Close (http), Photo (broadcast)" in (await front.last()).note


async def test_a_named_template_is_a_preset_and_others_are_refused(front: FrontBench, address: DoorAddress):
    ping = {"zen": "Keep it simple.", "hook_id": 1, "repository": {"full_name": "o/r"}}
    answer = await front.post(topic_of(address) + "?template=github", ping, ("X-GitHub-Event", "ping"))
    unknown = await front.post(topic_of(address) + "?tpl=yes&m={{.x}}", ping)
    broken = await front.post(topic_of(address) + "?tpl=github", b"{")

    assert answer.status == 200
    assert [each.content["title"] for each in await front.work()] == ["o/r: the webhook works"]
    assert [unknown.json()["code"], broken.json()["code"]] == [40043, 40042]


async def test_buttons_that_open_an_address_are_sent(front: FrontBench, address: DoorAddress):
    actions = (
        "view, Open portal, https://e.org/a?b=1, clear=true; http, Turn down, https://api.e.org/, body='{\"x\": 1; }'"
    )
    await front.post(topic_of(address), b"x", ("Actions", actions))

    [sent] = await front.work()
    assert sent.content["actions"] == [{"action": "view", "label": "Open portal", "url": "https://e.org/a?b=1"}]
    assert "act elsewhere are not sent: Turn down (http)" in (await front.last()).note


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        ('[{"action": "view", "label": "A", "url": "https://a"}]', ["A"]),
        ([{"action": "copy", "label": "A", "value": "x"}], ["A"]),
        ("action=view, label='A, B; C', url=https://a", ["A, B; C"]),
        ('view, "say \\"hi\\"", https://a; broadcast, Take', ['say "hi"', "Take"]),
    ],
)
def test_actions_are_a_list_or_a_short_text(given: Any, labels: list[str]):
    assert [each.label for each in actions_of(given)] == labels


@pytest.mark.parametrize(
    "given", ["[", "[1]", "dance, A", "view, A", "view, , https://a", ";".join(["view, A, https://a"] * 4), {"a": 1}]
)
def test_wrong_actions_have_their_code(given: Any):
    with pytest.raises(BadRequestError) as error:
        actions_of(given)
    assert error.value.detail == 40018


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30),
        ("10 min", 600),
        ("1h30m", 5_400),
        ("2 days", 172_800),
        (str(int(NOON) + 60), 60),
        ("10pm", 36_000),
        ("11:30", 84_600),
        ("tomorrow, 10am", 79_200),
        ("friday 12:00", 172_800),
    ],
)
def test_a_delay_is_a_duration_or_a_time(text: str, seconds: int):
    assert time_of(text, NOON) == NOON + seconds


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("soon", 40004),
        ("10", 40005),
        ("5s", 40005),
        ("4 days", 40006),
        ("25:00", 40004),
        ("tuesday", 40006),
    ],
)
def test_a_wrong_delay_has_its_code(text: str, code: int):
    with pytest.raises(BadRequestError) as error:
        time_of(text, NOON)
    assert error.value.detail == code


def test_a_header_comes_before_the_query_and_json_before_both():
    request = DoorRequest(headers={"x-title": "header"}, query={"title": "query", "m": "text"})
    assert read_fields(request, None) == {"title": "header", "message": "text"}
    assert read_fields(request, {"title": "json"}) == {"title": "json", "message": "text"}


async def test_there_is_nothing_to_read(front: FrontBench, address: DoorAddress):
    assert (await front.client.get("/v1/health")).json() == {"healthy": True}
    for path in (topic_of(address), f"{topic_of(address)}/json", "/alerts/sse"):
        answer = await front.client.get(path)
        assert (answer.status, answer.json()["code"]) == (404, 40401)


async def test_no_form_of_the_secret_is_stored(front: FrontBench, address: DoorAddress):
    secret = address.token[3:19]
    query = base64.urlsafe_b64encode(f"Bearer {address.token}".encode()).decode()
    await front.post(f"{topic_of(address)}?auth={query}", address.url.encode())
    await front.post("/", {"topic": topic_of(address)[1:], "message": address.token})
    await front.work()

    door = await front.doors.get("alerts")
    for request in await front.doors.requests("alerts"):
        kept = str(await front.doors.store.request(door.id, request.id)) + json.dumps(request.text)
        assert not any(each in kept for each in (secret, query, address.token))


async def test_beyond_the_limit_publishers_are_asked_to_retry(front: FrontBench):
    address = await front.add(protocol="ntfy", rate=1)
    answers = [await front.post(topic_of(address), b"x") for _ in range(2)]

    assert (answers[1].status, answers[1].json()["http"], answers[1].header("retry-after")) == (503, 503, "30")


async def test_the_answer_has_buttons_files_and_markdown_as_readers_get_them(front: FrontBench, address: DoorAddress):
    buttons = "view, Open, https://e.org, clear=true; http, Off, https://e.org/off, headers.Authorization=secret"
    headers = (("Actions", buttons), ("Attach", "https://e.org/f/a.jpg"), ("Markdown", "yes"))
    said = (await front.post(topic_of(address), b"**x**", *headers)).json()
    file = (await front.post(topic_of(address), b"\x00\x01", ("Filename", "a.bin"))).json()

    view, http = said["actions"]
    assert (view["action"], view["label"], view["url"], view["clear"]) == ("view", "Open", "https://e.org", True)
    assert (http["action"], "secret" in json.dumps(http)) == ("http", False)
    assert said["attachment"] == {"name": "a.jpg", "url": "https://e.org/f/a.jpg"}
    assert (said["content_type"], said["topic"]) == ("text/markdown", topic_of(address)[1:])
    assert (file["attachment"]["name"], file["attachment"]["size"]) == ("a.bin", 2)


async def test_a_change_of_a_message_is_answered_with_its_event(front: FrontBench, address: DoorAddress):
    sequence = f"{topic_of(address)}/backup"
    answers = [
        await front.post(f"{sequence}/clear", method="PUT"),
        await front.post(sequence, method="DELETE"),
        await front.client.get(f"{sequence}/delete"),
    ]

    said = [each.json() for each in answers]
    assert [each["event"] for each in said] == ["message_clear", "message_delete", "message_delete"]
    assert {each["sequence_id"] for each in said} == {"backup"}


@pytest.mark.parametrize(
    ("body", "header", "code"),
    [
        (b"x", ("Attach", "f.jpg"), 40013),
        (b"x", ("Icon", "f.jpg"), 40021),
        (b"\xff\x00", ("Attach", "https://e.org/f.jpg"), 40011),
    ],
)
async def test_wrong_addresses_and_charsets_have_their_code(
    front: FrontBench, address: DoorAddress, body: bytes, header: Header, code: int
):
    answer = await front.post(topic_of(address), body, header)

    assert (answer.status, answer.json()["code"]) == (400, code)


async def test_browsers_may_publish_from_any_page(front: FrontBench, address: DoorAddress):
    for path in ("/", topic_of(address)):
        answer = await front.post(path, method="OPTIONS")
        assert (answer.status, answer.header("access-control-allow-origin")) == (200, "*")
        assert answer.header("access-control-allow-headers") == "*"
