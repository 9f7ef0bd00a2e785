"""Alertmanager's webhook, and its API v2 as Prometheus calls it."""

from typing import Any

import pytest
from tests.features.doors.conftest import FrontBench

from tocsin.core.time.timestamps import timestamp

LABELS = {"alertname": "DiskFull", "instance": "db1", "severity": "warning"}


def alert(front: FrontBench, ends_in_s: float | None = 240.0, **labels: str) -> dict[str, Any]:
    ends = {} if ends_in_s is None else {"endsAt": timestamp(front.clock.now() + ends_in_s)}
    return {"labels": {**LABELS, **labels}, "annotations": {"summary": "91 % full"}, **ends}


async def post(front: FrontBench, token: str, *alerts: object) -> int:
    answer = await front.post("/api/v2/alerts", list(alerts), ("Authorization", f"Bearer {token}"))
    return answer.status


async def test_the_webhook_becomes_one_message_per_group(front: FrontBench):
    address = await front.add(protocol="alertmanager")
    alerts = [{**alert(front), "status": "firing"}] * 3
    group = {"status": "firing", "groupKey": "g", "receiver": "r", "groupLabels": {"job": "db"}, "alerts": alerts}

    answer = await front.post(address.url.removeprefix(address.base_url), group)

    assert (answer.status, answer.body) == (200, b"")
    [sent] = await front.work()
    assert (sent.content["title"], sent.message.count("91 % full")) == ("[FIRING:3] db", 3)


async def test_a_firing_alert_is_one_message_however_often_it_is_repeated(front: FrontBench):
    address = await front.add(protocol="alertmanager")
    for _ in range(4):
        assert await post(front, address.token, alert(front)) == 200
        await front.work()
        front.clock.advance(60)
    [sent] = await front.deliveries()

    assert (sent.content["title"], sent.content["type"]) == ("DiskFull: db1", "warning")
    assert "the problem is open already" in (await front.last()).note

    await post(front, address.token, alert(front, -1))
    ended = (await front.work())[-1]
    assert (ended.content["title"], ended.key == sent.key, ended.content["type"]) == (
        "Resolved: DiskFull: db1",
        True,
        "success",
    )


async def test_an_alert_that_is_not_repeated_is_resolved_at_its_end(front: FrontBench):
    address = await front.add(protocol="alertmanager")
    await post(front, address.token, alert(front), alert(front, None, instance="db2"))
    await front.work()
    front.clock.advance(241)
    await front.work()
    front.clock.advance(60)

    titles = [each.content["title"] for each in await front.work()]

    assert titles == ["DiskFull: db1", "DiskFull: db2", "Resolved: DiskFull: db1", "Resolved: DiskFull: db2"]


async def test_the_end_of_an_alert_that_never_fired_is_silent(front: FrontBench):
    address = await front.add(protocol="alertmanager")
    await post(front, address.token, alert(front, -1))

    assert await front.work() == []


async def test_labels_identify_an_alert_and_empty_ones_do_not_count(front: FrontBench):
    address = await front.add(protocol="alertmanager")
    await post(front, address.token, alert(front), alert(front, zone=""), alert(front, zone="a"), {"labels": {}})

    assert len(await front.work()) == 2


@pytest.mark.parametrize("body", [b"{", b"{}", b"[1]", b'{"alerts": 1}', b"\xff", b"[" * 70 + b"]" * 70])
async def test_what_is_not_a_list_of_alerts_is_refused_with_a_json_text(front: FrontBench, body: bytes):
    address = await front.add(protocol="alertmanager")

    answer = await front.post("/api/v2/alerts", body, ("Authorization", f"Bearer {address.token}"))

    assert (answer.status, isinstance(answer.json(), str)) == (400, True)


async def test_more_alerts_than_prometheus_sends_at_once_are_stored_in_parts(front: FrontBench):
    address = await front.add(protocol="alertmanager")
    alerts = [alert(front, instance=str(n)) for n in range(300)]
    again = ("Idempotency-Key", "one")

    for _ in range(2):
        sent = await front.post("/api/v2/alerts", alerts, ("Authorization", f"Bearer {address.token}"), again)
        assert sent.status == 200

    assert len(await front.work()) == 300
    assert [each.note for each in await front.doors.requests("alerts")] == ["44 messages", "256 messages"]


async def test_ten_thousand_alerts_in_one_call_are_stored_and_more_are_refused(front: FrontBench):
    address = await front.add(protocol="alertmanager")
    alerts = [{"labels": {"n": str(n)}} for n in range(10_001)]

    assert await post(front, address.token, *alerts) == 413
    assert await front.doors.store.count_waiting() == 0
    assert await post(front, address.token, *alerts[:10_000]) == 200
    assert await front.doors.store.count_waiting() == 40


async def test_without_a_good_token_nothing_is_taken(front: FrontBench):
    address = await front.add()  # a webhook: its token opens no other protocol

    assert (await front.post("/api/v2/alerts", [])).status == 401
    assert await post(front, "nonsense") == 401
    assert await post(front, address.token) == 401


async def test_over_its_limit_alertmanager_is_asked_to_retry(front: FrontBench):
    address = await front.add(protocol="alertmanager", rate=1)

    assert [await post(front, address.token, alert(front)) for _ in range(2)] == [200, 503]


async def test_the_valid_part_of_alerts_is_stored_and_the_rest_is_named_with_400(front: FrontBench):
    address = await front.add(protocol="alertmanager")
    late = {**alert(front), "startsAt": "2026-01-02T00:00:00Z", "endsAt": "2026-01-01T00:00:00Z"}
    wrong = [late, {"labels": {"instance": ""}}, {**alert(front), "endsAt": "soon"}]
    bearer = ("Authorization", f"Bearer {address.token}")

    part = await front.post("/api/v2/alerts", [alert(front), *wrong], bearer)
    alone = await front.post("/api/v2/alerts", wrong, bearer)

    assert (part.status, alone.status) == (400, 400)
    assert part.json() == (
        "3 of 4 alerts are refused: start time must be before end time; at least one label pair required; "
        "endsAt is not a time of RFC 3339"
    )
    assert [each.content["title"] for each in await front.work()] == ["DiskFull: db1"]
    assert [each.status for each in await front.doors.requests("alerts")] == [400, 400]


async def test_probes_of_alertmanager_are_answered_without_a_token(front: FrontBench):
    assert [(await front.client.get(f"/-/{name}")).status for name in ("healthy", "ready")] == [200, 200]
