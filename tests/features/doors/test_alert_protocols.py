"""Doors that speak as PagerDuty's Events API and as Opsgenie: problems with a key, and their end."""

import re
from typing import Any

import pytest
from tests.features.doors.conftest import FrontBench

from tocsin.core.text.redaction import MASK
from tocsin.features.doors.model import DoorAddress

PAYLOAD = {"summary": "Disk full", "source": "db1", "severity": "error", "custom_details": {"used": "91 %", "n": 2}}


@pytest.fixture
async def pagerduty(front: FrontBench) -> DoorAddress:
    return await front.add(protocol="pagerduty")


@pytest.fixture
async def opsgenie(front: FrontBench) -> DoorAddress:
    return await front.add(protocol="opsgenie")


def event(address: DoorAddress, action: str = "trigger", **fields: Any) -> dict[str, Any]:
    return {"routing_key": address.token, "event_action": action, "payload": PAYLOAD, **fields}


def genie(address: DoorAddress) -> tuple[str, str]:
    return "Authorization", f"GenieKey {address.token}"


async def test_a_triggered_event_is_a_message_and_its_resolution_edits_it(front: FrontBench, pagerduty: DoorAddress):
    links = [{"href": "https://e.org/run", "text": "Runbook"}]
    first = event(pagerduty, dedup_key="disk", client_url="https://am.e.org", links=links)
    answer = await front.post("/v2/enqueue", first)
    end = await front.post("/v2/enqueue", event(pagerduty, "resolve", dedup_key="disk", payload=None))

    assert [answer.status, end.status] == [202, 202]
    assert answer.json() == {"status": "success", "message": "Event processed", "dedup_key": "disk"}
    sent, ended = await front.work()
    assert (sent.message, sent.parse_mode) == ("source: db1\nused: 91 %\nn: 2", "plain")
    assert sent.content == {
        "title": "Disk full",
        "type": "failure",
        "priority": 5,
        "click": "https://am.e.org",
        "key": sent.key,
        "actions": [{"action": "view", "label": "Runbook", "url": "https://e.org/run"}],
    }
    assert (ended.key, ended.content["title"], ended.content["type"]) == (sent.key, "Resolved: Disk full", "success")


async def test_an_event_without_a_key_is_resolved_with_that_of_the_answer(front: FrontBench, pagerduty: DoorAddress):
    key = (await front.post("/v2/enqueue", event(pagerduty))).json()["dedup_key"]
    await front.post("/v2/enqueue", event(pagerduty, "resolve", dedup_key=key))

    sent, ended = await front.work()
    assert (bool(key), sent.key == ended.key) == (True, True)


async def test_an_end_of_no_problem_and_an_acknowledgement_send_nothing(front: FrontBench, pagerduty: DoorAddress):
    for action in ("resolve", "acknowledge"):
        assert (await front.post("/v2/enqueue", event(pagerduty, action, dedup_key="x"))).status == 202

    assert await front.work() == []
    assert (await front.last()).note == "an acknowledgement sends nothing"


async def test_a_change_is_a_message_without_a_key(front: FrontBench, pagerduty: DoorAddress):
    change = {"routing_key": pagerduty.token, "payload": {"summary": "Deployed"}, "links": [{"href": "https://e.org"}]}
    answer = await front.post("/v2/change/enqueue", change)

    assert (answer.status, answer.json()["status"]) == (202, "success")
    [sent] = await front.work()
    assert sent.content == {"title": "Deployed", "type": "info", "click": "https://e.org"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"event_action": "shout"}, "event_action"),
        ({"payload": {"source": "x", "severity": "info"}}, "payload.summary"),
        ({"payload": {"summary": "x", "severity": "info"}}, "payload.source"),
        ({"payload": {"summary": "x", "source": "x", "severity": "bad"}}, "payload.severity"),
        ({"event_action": "resolve"}, "dedup_key"),
        ({"dedup_key": "x" * 256}, "dedup_key"),
    ],
)
async def test_an_invalid_event_lists_its_errors(
    front: FrontBench, pagerduty: DoorAddress, fields: dict[str, Any], said: str
):
    answer = await front.post("/v2/enqueue", {**event(pagerduty), **fields})

    document = answer.json()
    assert (answer.status, document["status"], document["message"]) == (400, "invalid event", "Event object is invalid")
    assert said in document["errors"][0]


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b'{"routing_key": "wrong"}', b'{"routing_key": 5}'])
async def test_a_wrong_routing_key_is_an_invalid_event(front: FrontBench, pagerduty: DoorAddress, body: bytes):
    answer = await front.post("/v2/enqueue", body)

    assert (answer.status, answer.json()["errors"]) == (400, ["Invalid routing key"])


async def test_the_routing_key_is_not_stored(front: FrontBench, pagerduty: DoorAddress):
    assert re.fullmatch("[0-9a-f]{32}", pagerduty.token)
    await front.post("/v2/enqueue", event(pagerduty))
    await front.work()

    last = await front.last()
    assert (pagerduty.token in last.payload, MASK in last.payload, last.status) == (False, True, 202)


async def test_a_large_event_is_refused_before_its_key_is_looked_for(front: FrontBench, pagerduty: DoorAddress):
    answer = await front.post("/v2/enqueue", event(pagerduty, more="x" * 600_000))

    assert (answer.status, answer.json()["status"]) == (413, "invalid event")


async def test_an_alert_is_created_and_closed_by_its_alias(front: FrontBench, opsgenie: DoorAddress):
    alert = {
        "message": "Disk full",
        "alias": "disk/db1",
        "description": "91 %",
        "priority": "P1",
        "tags": ["db"],
        "source": "https://am.e.org",
    }
    created = await front.post("/v2/alerts", alert, genie(opsgenie))
    noted = await front.post("/v2/alerts/disk/db1/acknowledge?identifierType=alias", b"", genie(opsgenie))
    closed = await front.post("/v2/alerts/disk/db1/close?identifierType=alias", {"source": "x"}, genie(opsgenie))

    assert [each.status for each in (created, noted, closed)] == [202, 202, 202]
    assert created.json()["result"] == "Request will be processed"
    sent, ended = await front.work()
    assert sent.message == "91 %\nTags: db"
    assert (sent.content["title"], sent.content["type"], sent.content["click"]) == (
        "Disk full",
        "failure",
        "https://am.e.org",
    )
    assert (ended.key, ended.content["title"], ended.content["type"]) == (sent.key, "Resolved: Disk full", "success")


@pytest.mark.parametrize(
    ("fields", "type_"),
    [
        ({"priority": "P3"}, "warning"),
        ({"priority": "P5"}, "info"),
        ({"details": {"severity": "critical"}}, "failure"),
        ({}, "warning"),
    ],
)
async def test_priorities(front: FrontBench, opsgenie: DoorAddress, fields: dict[str, Any], type_: str):
    await front.post("/v2/alerts", {"message": "x", **fields}, genie(opsgenie))

    assert [each.content["type"] for each in await front.work()] == [type_]


async def test_wrong_keys_and_alerts_are_answered_in_its_shape(front: FrontBench, opsgenie: DoorAddress):
    wrong = [
        await front.post("/v2/alerts", {"message": "x"}),
        await front.post("/v2/alerts", {"message": "x"}, ("Authorization", "GenieKey nonsense")),
        await front.post("/v2/alerts", {}, genie(opsgenie)),
        await front.post("/v2/alerts", b"{", genie(opsgenie)),
    ]

    assert [each.status for each in wrong] == [401, 401, 422, 400]
    assert wrong[2].json()["errors"] == {"message": "Message can not be empty."}
    assert all({"message", "took", "requestId"} <= each.json().keys() for each in wrong)
