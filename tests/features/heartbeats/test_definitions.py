"""Definitions of heartbeats: in their file, and over the API."""

import pytest
from tests.facts import mentions
from tests.features.heartbeats.conftest import TEST, Door

from tocsin.core.storage.files import write_atomically
from tocsin.features.heartbeats.model import HeartbeatConflictError, InvalidHeartbeatError
from tocsin.testing.dashboard import DashboardClient, open_dashboard

TWO = """\
nightly: {schedule: "0 3 * * *", timezone: Europe/Berlin, grace: 30m, max_run: 2h, tags: [backup]}
sensor: {period: 5m}
"""


def write(door: Door, text: str) -> None:
    write_atomically(door.heartbeats.file.path, text)
    door.clock.advance(5)


async def test_the_file_defines_heartbeats_and_a_removed_one_keeps_its_address(door: Door):
    write(door, TWO)
    first = {each.name: each.code for each in await door.heartbeats.all()}
    assert first.keys() == {"nightly", "sensor"}
    door.open()
    write(door, "sensor: {period: 10m}\n")
    assert [(each.name, each.definition.period) for each in await reread(door)] == [("sensor", 600)]
    write(door, TWO)
    assert {each.name: each.code for each in await reread(door)} == first


async def reread(door: Door):
    """Return the heartbeats as a process that has just started sees them."""
    heartbeats = type(door.heartbeats)(door.heartbeats.context)
    return await heartbeats.all()


async def test_a_broken_file_changes_nothing_and_is_told_with_its_line(door: Door):
    write(door, TWO)
    await door.heartbeats.all()
    write(door, TWO + "Bad Name: {period: 5m}\n")
    heartbeats = type(door.heartbeats)(door.heartbeats.context)
    assert len(await heartbeats.all()) == 2
    assert "heartbeats.yaml:3" in str(heartbeats.problem)
    assert [finding.state for finding in await door.bench.findings()].count("error") == 1


async def test_a_heartbeat_of_the_file_is_changed_only_there(door: Door):
    write(door, TWO)
    for change in (door.heartbeats.remove("sensor", TEST), door.heartbeats.edit("sensor", {"grace": "1m"}, TEST)):
        with pytest.raises(HeartbeatConflictError) as refused:
            await change
        assert "heartbeats.yaml" in refused.value.sentence()


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({}, "period"),
        ({"period": "5m", "schedule": "@daily"}, "period"),
        ({"period": "1s"}, "period"),
        ({"schedule": "61 * * * *"}, "schedule"),
        ({"schedule": "every 5m"}, "schedule"),
        ({"schedule": "@daily", "timezone": "Mars/Base"}, "timezone"),
        ({"period": "5m", "timezone": "UTC"}, "timezone"),
        ({"period": "5m", "misses": 11}, "misses"),
        ({"period": "5m", "severity": "bad"}, "severity"),
        ({"period": "5m", "notify": "nobody-here"}, "notify"),
        ({"period": "5m", "colour": "red"}, "colour"),
    ],
)
async def test_each_mistake_is_refused_at_its_field(door: Door, fields: dict[str, object], key: str):
    with pytest.raises(InvalidHeartbeatError) as refused:
        await door.heartbeats.add("job", fields, TEST)
    assert key in {issue.key for issue in refused.value.issues}


async def test_over_the_api_a_heartbeat_is_created_changed_and_its_pings_are_read(door: Door):
    async with open_dashboard(door.bench.app) as client:
        created = await client.post("/api/heartbeats", {"name": "job", "period": "1d", "tags": ["night"]})
        assert created.status == 201
        await door.ping("job", "/1", "POST", body=[b"the disk is full"])
        found = (await client.get("/api/heartbeats?tag=night&state=down")).json()
        assert [(each["name"], each["last_kind"]) for each in found["items"]] == [("job", "fail")]
        pings = (await client.get("/api/heartbeats/job/pings")).json()["items"]
        assert [(ping["exit_status"], ping["has_body"]) for ping in pings] == [(1, True)]
        assert (await client.get("/api/heartbeats/job/pings/1/body")).json()["body"] == "the disk is full"


async def test_a_heartbeat_without_period_and_schedule_is_answered_with_both_keys(door: Door):
    async with open_dashboard(door.bench.app) as client:
        [error] = (await client.post("/api/heartbeats", {"name": "job"})).json()["errors"]
    assert (error["pointer"], error["code"]) == ("#/period", "missing-key")
    assert mentions(error["detail"], "'period'", "'schedule'")


async def test_the_addresses_are_for_administrators_alone(door: Door):
    await door.add("job", period="1d")
    async with open_dashboard(door.bench.app) as client:
        reader = DashboardClient(client.app, scopes=frozenset({"read", "run"}), login="token")
        shown = (await client.get("/api/heartbeats/job/address")).json()
        assert (await reader.get("/api/heartbeats/job/address")).status == 403
        assert shown["ping_url"] not in (await reader.get("/api/heartbeats/job")).body.decode()


async def test_doctor_recommends_that_a_monitor_elsewhere_watches(door: Door):
    found = [finding for finding in await door.bench.findings() if finding.subject == "watchdog"]
    assert [(each.state, "HEARTBEAT_OUT_URL" in each.fix) for each in found] == [("off", True)]
