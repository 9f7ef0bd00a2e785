"""Where heartbeats are seen besides commands and the API; and a restored backup."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.clocks import SteppedClock
from tests.features.heartbeats.conftest import TEST, Door, open_door
from tests.waiting import eventually

from tocsin.features.cron.feature import FEATURE as CRON
from tocsin.features.heartbeats.metrics import METRICS
from tocsin.testing.dashboard import open_dashboard


async def with_three(door: Door) -> None:
    """Have one heartbeat that is up, one that is down, and a new one."""
    for name in ("up", "down", "new"):
        await door.add(name, period="1d")
    await door.settle()
    await door.ping("up")
    await door.ping("down", "/7")
    await door.step()


async def test_the_bot_answers_which_heartbeats_are_not_up_and_why(door: Door):
    _, answer = door.bench.features.bot_commands()["heartbeats"]
    assert await answer(None) == "No heartbeats exist."
    await with_three(door)
    assert await answer(None) == "down: down (exit status 7)\nnew: new\n1 of 3 heartbeats up"


async def test_the_status_names_what_is_down_with_a_link(door: Door):
    await with_three(door)
    (status,) = (await door.bench.subsystems())["heartbeats"]
    assert (status.status, status.summary) == ("degraded", "3 heartbeats, 1 down")
    (item,) = status.attention
    assert ("down" in item.message, item.link) == (True, "#/heartbeats/down")


async def test_metrics_count_states_and_name_heartbeats_but_no_addresses(door: Door):
    await with_three(door)
    samples = [(each.metric.name, each.labels, each.value) for each in await METRICS.read(door.heartbeats)]
    assert ("tocsin_heartbeats", ("down",), 1) in samples
    assert ("tocsin_heartbeat_down", ("down",), True) in samples
    assert ("tocsin_heartbeat_down", ("up",), False) in samples
    assert (await door.heartbeats.get("up")).code not in str(samples)


async def test_doctor_names_what_is_down_and_that_only_this_machine_can_ping(door: Door):
    await with_three(door)
    found = [each.detail for each in await door.bench.findings() if each.subject == "heartbeats"]
    assert "down: down" in found
    assert "only this machine can send pings" in found


async def test_changes_and_alarms_are_in_the_audit_log_without_addresses(door: Door):
    await with_three(door)
    await door.heartbeats.new_address("up", TEST)
    entries = [entry for entry in door.bench.audit() if entry.action.startswith("heartbeat.")]
    assert [entry.action for entry in entries] == [*["heartbeat.create"] * 3, "heartbeat.down", "heartbeat.address"]
    assert entries[3].metadata["reason"] == "exit status 7"
    codes = [each.code for each in await door.heartbeats.all()]
    assert not any(code in str(entry) for code in codes for entry in entries)


async def test_our_own_cron_jobs_are_listed_beside_the_heartbeats(tmp_path: Path):
    async with open_door(tmp_path, others=(CRON,)) as door, open_dashboard(door.bench.app) as client:
        job = {"name": "rotate", "schedule": "0 4 * * *", "command": "false"}
        made = await client.post("/api/cron/jobs", job)
        assert made.status == 201
        jobs = (await client.get("/api/heartbeats/jobs")).json()
        assert [(each["name"], each["state"]) for each in jobs] == [("rotate", "scheduled")]
        await client.post(f"/api/cron/jobs/{made.json()['id']}/run")

        async def seen() -> bool:
            jobs = (await client.get("/api/heartbeats/jobs")).json()
            return [(each["state"], each["last_status"]) for each in jobs] == [("failing", "failed")]

        await eventually(seen, "the failed run")


async def test_a_restored_backup_is_a_gap_since_the_backup_and_makes_nothing_down(tmp_path: Path):
    clock = SteppedClock()
    async with open_door(tmp_path, clock=clock) as door:
        await door.add("sensor", period="5m")
        await door.settle()
        await door.ping("sensor")
        await door.step()
        with (
            closing(sqlite3.connect(tmp_path / "tocsin.db")) as here,
            closing(sqlite3.connect(tmp_path / "b")) as backup,
        ):
            here.backup(backup)
        await door.step(after_s=280)
        await door.ping("sensor")
    for left in tmp_path.glob("tocsin.db*"):
        left.unlink()
    (tmp_path / "b").rename(tmp_path / "tocsin.db")
    clock.advance(3600)
    async with open_door(tmp_path, clock=clock) as door:
        await door.step()
        await door.step(after_s=200)
        assert (await door.state("sensor"), await door.ledger("sensor")) == ("unknown", ["unknown"])
        assert [notice.level for notice in door.bench.notices] == ["info"]
