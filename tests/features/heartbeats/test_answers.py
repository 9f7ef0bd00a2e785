"""The answers to pings, held against a table recorded from healthchecks, and where they differ on purpose."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.features.heartbeats.conftest import TEST, Door, open_door

from tocsin.features.heartbeats.store import PING_KEY
from tocsin.messaging.inbound.model import Backlog

RECORDED = json.loads((Path(__file__).parent / "healthchecks.json").read_text("utf-8"))
RECORDED_PING = Path(__file__).parents[4] / "shared" / "front-door" / "payloads" / "healthchecks-ping_fail.json"
GONE = "11111111-2222-4333-8444-555555555555"


def filled(path: str, code: str, key: str) -> str:
    return path.replace("CODE", code).replace("KEY", key).replace("GONE", GONE)


async def answers(door: Door, rows: list[list[Any]]) -> list[tuple[int, str]]:
    found = await door.add("backup", period="1d")
    key = await door.heartbeats.store.key(PING_KEY, create=True)
    given = []
    for method, path, size, *_ in rows:
        door.clock.advance(2)  # at most 60 pings a minute
        real = filled(path, found.code, key)
        answer = await door.client.request(method, real, body=[b"x" * size])
        given.append((answer.status, "" if method == "HEAD" else answer.body.decode()))
    return given


async def test_every_ping_is_answered_as_healthchecks_answers_it(door: Door):
    recorded = RECORDED["answers"]
    wanted = [(status, "not found" if body == "<page>" else body) for *_, status, body in recorded]
    given = await answers(door, recorded)
    assert [pair for pair in zip(recorded, given, wanted, strict=True) if pair[1] != pair[2]] == []


async def test_answers_differ_from_healthchecks_only_where_the_table_says_why(door: Door):
    rows = RECORDED["differences"]
    assert [status for status, _ in await answers(door, rows)] == [row[5] for row in rows]
    assert all(row[6] for row in rows)


async def test_a_ping_says_how_much_of_its_body_is_kept_and_may_be_sent_from_pages(door: Door):
    await door.add("backup", period="1d")
    answer = await door.ping("backup")
    assert (answer.header("ping-body-limit"), answer.header("access-control-allow-origin")) == ("100000", "*")
    assert answer.header("cache-control") == "no-store"


@pytest.mark.skipif(not RECORDED_PING.exists(), reason="the published payloads are not here")
async def test_a_recorded_ping_of_a_client_marks_its_heartbeat_as_down_and_keeps_its_body(door: Door):
    found = await door.add("backup", period="1d")
    ping = json.loads(RECORDED_PING.read_text())
    path = re.sub(r"/ping/[0-9a-f-]{36}", f"/ping/{found.code}", ping["path"])
    answer = await door.client.request(ping["method"], path, *ping["headers"].items(), body=[ping["body"].encode()])

    assert (answer.status, answer.body) == (200, b"OK")
    assert (await door.state("backup"), await door.heartbeats.body("backup", 1)) == ("down", "out of space")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
async def test_other_methods_than_head_get_and_post_report_nothing(door: Door, method: str):
    await door.add("backup", period="1d")
    answer = await door.ping("backup", "", method)
    assert answer.status == 405
    assert (await door.heartbeats.get("backup")).pings == 0


async def test_unknown_addresses_by_the_thousand_are_limited_and_cost_one_notice(tmp_path: Path):
    async with open_door(tmp_path, {"RATE_LIMIT_PER_IP": "60"}) as door:
        await door.add("backup", period="1d")
        statuses = [(await door.client.get(f"/ping/{GONE[:-4]}{n:04}")).status for n in range(1000)]
        assert (statuses.count(404), statuses.count(429)) == (60, 940)
        assert (await door.ping("backup")).status == 200  # who has an address is not kept out by those who have not
        assert [notice.dedupe_key for notice in door.bench.notices] == ["heartbeats-unknown"] * 100


async def test_more_than_sixty_pings_a_minute_of_one_heartbeat_are_refused_with_a_wait(door: Door):
    await door.add("backup", period="1d")
    answers = [await door.ping("backup") for _ in range(61)]
    assert [answer.status for answer in answers] == [200] * 60 + [429]
    assert answers[-1].header("retry-after") == "60"


async def test_no_metric_names_an_address(door: Door):
    found = await door.add("backup", period="1d")
    await door.ping("backup")
    await door.client.get(f"/ping/{GONE}")
    exposed = door.metrics.text({}, Backlog(), door.clock.now()).decode()
    assert ('route="/ping/{address:path}"' in exposed, found.code in exposed, GONE in exposed) == (True, False, False)


async def test_a_push_of_uptime_kuma_is_up_down_and_has_its_duration(door: Door):
    found = await door.add("web", period="1m")
    token = found.code.replace("-", "")
    answer = await door.client.get(f"/api/push/{token}?status=up&msg=OK&ping=250")
    assert (answer.status, answer.body) == (200, b'{"ok":true}')
    assert (await door.heartbeats.get("web")).watched.last_duration_s == 0.25
    await door.client.request("POST", f"/api/push/{token}?status=down&msg=timeout")
    assert (await door.state("web"), await door.heartbeats.body("web", 2)) == ("down", "timeout")


async def test_a_push_takes_durations_of_0_to_1e11_ms_and_answers_others_as_every_error(door: Door):
    found = await door.add("web", period="1m")
    pushed = f"/api/push/{found.code.replace('-', '')}?ping="
    taken = [(await door.client.get(pushed + text)).status for text in ("0", "100000000000", "", "soon", "nan")]
    refused = [await door.client.get(pushed + text) for text in ("-1", "100000000001")]
    assert taken == [200] * 5
    assert [(each.status, each.json()["msg"]) for each in refused] == [(404, "Monitor not found or not active.")] * 2


@pytest.mark.parametrize("token", ["x", "0" * 32, "z" * 32, GONE])
async def test_an_unknown_push_is_answered_as_uptime_kuma_answers_it(door: Door, token: str):
    answer = await door.client.get(f"/api/push/{token}")
    assert (answer.status, answer.json()) == (404, {"ok": False, "msg": "Monitor not found or not active."})


async def test_cronitor_reports_run_complete_and_fail_joined_by_series(door: Door):
    await door.add("etl", period="1d", max_run="1h")
    key = await door.heartbeats.store.key(PING_KEY, create=True)
    await door.client.get(f"/p/{key}/etl?state=run&series=7")
    await door.step(after_s=5)
    await door.client.get(f"/p/{key}/etl?state=complete&series=7&message=done")
    found = await door.heartbeats.get("etl")
    assert (found.watched.last_duration_s, found.watched.runs, await door.state("etl")) == (5, (), "up")
    await door.client.get(f"/p/{key}/etl?state=fail&status_code=2")
    assert await door.state("etl") == "down"


@pytest.mark.parametrize(("setting", "status", "body"), [("true", 201, b"Created"), ("false", 404, b"not found")])
async def test_an_unknown_name_is_created_only_with_the_setting(tmp_path: Path, setting: str, status: int, body: bytes):
    async with open_door(tmp_path, {"HEARTBEATS_CREATE": setting}) as door:
        key = await door.heartbeats.store.key(PING_KEY, create=True)
        answer = await door.client.get(f"/ping/{key}/new-job?create=1")
        assert (answer.status, answer.body) == (status, body)
        assert [each.source for each in await door.heartbeats.all()] == (["ping"] if status == 201 else [])


async def test_pings_create_at_most_a_hundred_heartbeats(tmp_path: Path):
    async with open_door(tmp_path, {"HEARTBEATS_CREATE": "true"}) as door:
        key = await door.heartbeats.store.key(PING_KEY, create=True)
        statuses = [(await door.client.get(f"/p/{key}/job-{n}")).status for n in range(102)]
        assert (statuses.count(200), statuses.count(404)) == (100, 2)


async def test_a_removed_heartbeat_is_unknown_and_has_its_address_back_when_it_returns(door: Door):
    found = await door.add("backup", period="1d")
    await door.ping("backup", "/fail")
    await door.heartbeats.remove("backup", TEST)
    assert (await door.client.get(f"/ping/{found.code}")).status == 404
    await door.add("backup", period="2d")
    assert (await door.client.get(f"/ping/{found.code}")).status == 200


async def test_removing_a_heartbeat_that_is_down_ends_its_alarm_with_a_message(door: Door):
    await door.add("backup", period="1d")
    await door.settle()
    await door.ping("backup", "/fail")
    await door.step()
    await door.heartbeats.remove("backup", TEST)
    await door.step(after_s=300)
    assert door.told() == ["backup is down", "backup is no longer watched"]


async def test_a_renamed_heartbeat_keeps_its_uuid_but_not_its_former_name(door: Door):
    found = await door.add("backup", period="1d")
    key = await door.heartbeats.store.key(PING_KEY, create=True)
    await door.heartbeats.edit("backup", {"name": "nightly"}, TEST)
    paths = (f"/ping/{found.code}", f"/ping/{key}/backup", f"/ping/{key}/nightly")
    assert [(await door.client.get(path)).status for path in paths] == [200, 404, 200]


async def test_a_badge_needs_a_key_of_its_own_and_shows_the_worst_of_a_tag(door: Door):
    await door.add("web", period="1d", tags=["site"])
    await door.add("db", period="1d", tags=["site"])
    await door.ping("db", "/fail")
    assert (await door.client.get("/badge//site.svg")).status == 404
    key = await door.heartbeats.new_key("badge", TEST)
    answers = [await door.client.get(f"/badge/{key}/{name}") for name in ("site.json", "web.json", "site.svg", "x.svg")]
    assert [answer.status for answer in answers] == [200, 200, 200, 404]
    assert [answer.json()["status"] for answer in answers[:2]] == ["down", "up"]
    assert answers[2].header("cache-control") == "no-cache"
