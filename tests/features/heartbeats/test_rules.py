"""The rules of `docs/heartbeats.md`, one by one, through the front door and the watch."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from tests.features.heartbeats.conftest import TEST, Door, open_door

from tocsin.features.heartbeats.ledger.rules import pass_time, take_ping
from tocsin.features.heartbeats.model import HeartbeatDefinition, PingKind, ReceivedPing, Watched

BERLIN = ZoneInfo("Europe/Berlin")
MARCH, OCTOBER = (datetime(2026, *day, tzinfo=BERLIN).timestamp() for day in ((3, 29), (10, 25)))  # it changes then
RID = "123e4567-e89b-12d3-a456-42661417400{}"
# 2026-11-27 12:00 UTC, as `SteppedClock` starts.
TEN_MINUTES = {"schedule": "*/10 * * * *", "timezone": "UTC", "grace": "2m"}


async def test_a_heartbeat_is_new_until_its_first_ping_and_then_up(door: Door):
    await door.add("sensor", period="5m")
    await door.settle()
    await door.step(after_s=600)
    assert (await door.state("sensor"), door.told()) == ("new", [])
    await door.ping("sensor")
    assert await door.state("sensor") == "up"


async def test_within_its_grace_it_is_late_which_is_never_sent(door: Door):
    await door.add("sensor", period="5m", grace="2m")
    await door.settle()
    await door.ping("sensor")
    await door.step(after_s=360)
    assert (await door.state("sensor"), door.told()) == ("late", [])


async def test_silence_becomes_one_message_which_later_turns_green(door: Door):
    await door.add("sensor", period="5m", grace="2m")
    await door.settle()
    await door.ping("sensor")
    await door.step(after_s=600)
    await door.ping("sensor")
    await door.step()
    assert door.told() == ["sensor is down", "sensor is up again"]
    assert [entry.action for entry in door.bench.audit()][-2:] == ["heartbeat.down", "heartbeat.up"]


async def test_a_missed_ping_is_noticed_within_a_second_of_its_grace(door: Door):
    await door.add("sensor", period="5m", grace="2m")
    await door.settle()
    await door.ping("sensor")
    await door.step(after_s=419)
    assert await door.state("sensor") == "late"
    await door.step(after_s=1)
    assert await door.state("sensor") == "down"


async def test_a_period_expects_one_instant_at_a_time_so_an_abandoned_job_makes_one_row(door: Door):
    await door.add("sensor", period="5m")
    await door.settle()
    await door.ping("sensor")
    await door.step(after_s=900)
    assert await door.ledger("sensor") == ["missed"]


async def test_every_instant_of_a_schedule_is_a_row_also_while_down_with_one_message(door: Door):
    await door.add("job", **TEN_MINUTES)
    await door.settle()
    await door.ping("job")
    await door.step(after_s=35 * 60)
    assert await door.ledger("job") == ["missed"] * 3
    assert door.told() == ["job is down"]


async def test_an_early_ping_counts_for_the_next_instant_if_that_is_at_most_the_grace_away(door: Door):
    await door.add("job", **TEN_MINUTES)
    await door.settle()
    await door.ping("job")
    await door.step(after_s=480)  # 12:09:01
    await door.ping("job")
    await door.step(after_s=300)
    assert (await door.ledger("job"), await door.state("job")) == (["met"], "up")


async def test_a_ping_long_before_an_instant_does_not_count_for_it(door: Door):
    await door.add("job", **TEN_MINUTES)
    await door.settle()
    await door.ping("job")
    await door.step(after_s=300)  # 12:06:01
    await door.ping("job")
    await door.step(after_s=420)
    assert (await door.ledger("job"), await door.state("job")) == (["missed"], "down")


async def test_overlapping_runs_are_told_apart_by_their_rid_and_have_their_own_deadlines(door: Door):
    await door.add("jobs", period="1d", max_run="3m")
    await door.settle()
    await door.ping("jobs", f"/start?rid={RID.format(1)}")
    await door.step(after_s=60)
    await door.ping("jobs", f"/start?rid={RID.format(2)}")
    await door.ping("jobs", f"?rid={RID.format(2)}")
    found = await door.heartbeats.get("jobs")
    assert ([run.rid for run in found.watched.runs], found.watched.state) == ([RID.format(1)], "up")
    await door.step(after_s=121)
    assert await door.state("jobs") == "down"


async def test_a_start_without_an_end_is_down_after_max_run(door: Door):
    await door.add("backup", period="1d", max_run="5m")
    await door.settle()
    await door.ping("backup", "/start")
    await door.step(after_s=298)
    assert await door.state("backup") == "new"
    await door.step(after_s=2)
    assert (await door.state("backup"), door.told()) == ("down", ["backup is down"])


async def test_a_run_that_has_started_may_take_its_time_though_its_instant_is_over(door: Door):
    await door.add("nightly", **TEN_MINUTES, max_run="8m")
    await door.settle()
    await door.ping("nightly")
    await door.step(after_s=540)
    await door.ping("nightly", "/start")
    await door.step(after_s=400)
    assert await door.state("nightly") == "late"
    await door.ping("nightly")
    assert (await door.state("nightly"), await door.ledger("nightly")) == ("up", ["late"])


async def test_the_duration_is_from_start_to_end(door: Door):
    await door.add("backup", period="1d", max_run="2h")
    await door.settle()
    await door.ping("backup", "/start")
    await door.step(after_s=90)
    await door.ping("backup")
    assert (await door.heartbeats.get("backup")).watched.last_duration_s == 90


async def test_an_end_without_a_start_counts_and_has_no_duration(door: Door):
    await door.add("backup", period="1d")
    await door.settle()
    await door.ping("backup", f"?rid={RID.format(1)}")
    found = (await door.heartbeats.get("backup")).watched
    assert (found.state, found.last_duration_s) == ("up", None)


async def test_the_same_rid_twice_begins_the_run_anew_and_ends_it_once(door: Door):
    await door.add("backup", period="1d", max_run="2h")
    await door.settle()
    await door.ping("backup", f"/start?rid={RID.format(1)}")
    await door.step(after_s=60)
    await door.ping("backup", f"/start?rid={RID.format(1)}")
    await door.step(after_s=30)
    await door.ping("backup", f"?rid={RID.format(1)}")
    await door.ping("backup", f"?rid={RID.format(1)}")
    pings = await door.heartbeats.pings("backup", 10)
    assert [ping.duration_s for ping in pings] == [None, 30.0, None, None]


async def test_misses_before_an_alert_are_counted(door: Door):
    await door.add("sensor", period="5m", grace="1m", misses=2)
    await door.settle()
    await door.ping("sensor")
    await door.step(after_s=420)
    assert (await door.ledger("sensor"), door.told()) == (["missed"], [])
    await door.step(after_s=300)
    assert (await door.ledger("sensor"), door.told()) == (["missed"] * 2, ["sensor is down"])


async def test_a_failure_is_down_at_once_and_names_the_exit_status(door: Door):
    await door.add("backup", period="1d")
    await door.settle()
    await door.ping("backup", "/3")
    await door.step()
    found = (await door.heartbeats.get("backup")).watched
    assert (found.state, "3" in found.reason, door.told()) == ("down", True, ["backup is down"])


async def test_a_log_changes_nothing_but_is_kept(door: Door):
    await door.add("backup", period="1d")
    await door.settle()
    await door.ping("backup", "/log", "POST", body=[b"half of it is done"])
    assert await door.state("backup") == "new"
    assert await door.heartbeats.body("backup", 1) == "half of it is done"


async def test_a_jump_of_the_clock_moves_deadlines_and_is_never_down(door: Door):
    await door.add("sensor", period="5m")
    await door.add("job", schedule="0 * * * *", timezone="UTC", grace="10m")
    await door.settle()
    for name in ("sensor", "job"):
        await door.ping(name)
    for jump in (7200, -7200, 86_400):
        door.clock.jump(jump)
        await door.step()
        await door.step(after_s=240)
        await door.ping("sensor")
        assert "down" not in {await door.state("sensor"), await door.state("job")}


async def test_a_silent_job_is_noticed_after_the_clock_was_set_back(door: Door):
    await door.add("sensor", period="5m")
    await door.settle()
    await door.ping("sensor")
    door.clock.jump(-7200)
    await door.step(after_s=500)
    assert await door.state("sensor") == "down"


async def test_own_downtime_makes_an_instant_unknown_with_one_notice_that_names_it(door: Door):
    await door.add("sensor", period="5m")
    await door.add("job", **TEN_MINUTES)
    await door.settle()
    for name in ("sensor", "job"):
        await door.ping(name)
    await door.restart(away_s=3600)
    assert (await door.state("sensor"), await door.state("job")) == ("unknown", "unknown")
    (notice,) = door.bench.notices
    assert (notice.level, "sensor" in notice.body, "job" in notice.body) == ("info", True, True)


async def test_nothing_is_down_sooner_than_a_minute_after_the_start(door: Door):
    await door.add("sensor", period="5m", grace="10s")
    await door.settle()
    await door.ping("sensor")
    await door.step(after_s=285)
    await door.restart(away_s=1)
    await door.step(after_s=55)
    assert await door.state("sensor") != "down"


async def test_a_job_silent_before_and_after_a_stop_is_down_after_period_and_grace(door: Door):
    await door.add("sensor", period="5m", grace="1m")
    await door.settle()
    await door.ping("sensor")
    await door.restart(away_s=3600)
    await door.step(after_s=355)
    assert await door.state("sensor") == "late"
    await door.step(after_s=6)
    assert (await door.state("sensor"), await door.ledger("sensor")) == ("down", ["unknown", "missed"])


async def test_who_prefers_the_alarm_gets_it_after_downtime(door: Door):
    await door.add("sensor", period="5m", after_downtime="down")
    await door.settle()
    await door.ping("sensor")
    await door.restart(away_s=3600)
    assert await door.state("sensor") == "late"
    await door.step(after_s=61)
    assert (await door.state("sensor"), await door.ledger("sensor")) == ("down", ["missed"])


async def test_a_flapping_heartbeat_is_loud_four_times_and_once_more_when_it_is_quiet(door: Door):
    await door.add("job", period="1d")
    await door.settle()
    await door.ping("job")
    for _ in range(4):
        for action in ("/fail", ""):
            await door.ping("job", action)
            await door.step(after_s=30)
    assert door.told() == ["job is down", "job is up again", "job is down", "job is up again"]
    assert "4" in door.bench.notices[-1].body
    await door.ping("job", "/fail")
    await door.step(after_s=901)
    assert door.told()[4:] == ["job is down"]


async def test_of_a_long_log_the_beginning_and_the_end_are_kept(door: Door):
    await door.add("backup", period="1d")
    await door.settle()
    await door.ping("backup", "", "POST", body=[b"begin\n", b"x" * 5 * 1024 * 1024, b"\nthe disk is full"])
    body = await door.heartbeats.body("backup", 1)
    assert (body[:5], body[-16:], len(body) < 100_100) == ("begin", "the disk is full", True)


async def test_the_newest_ten_bodies_of_successes_and_of_failures_are_kept(door: Door):
    await door.add("backup", period="1d")
    await door.settle()
    for n in range(30):
        await door.ping("backup", "/fail" if n % 2 else "", "POST", body=[b"%d" % n])
    kept = [ping.n for ping in await door.heartbeats.pings("backup", 100) if ping.has_body]
    assert kept == list(range(30, 10, -1))


async def test_secrets_in_a_log_are_masked_before_they_are_stored(tmp_path: Path):
    secret = "hunter2-is-long-enough"
    async with open_door(tmp_path, {"GATEWAY_TOKEN": secret}) as door:
        await door.add("backup", period="1d")
        await door.ping("backup", "", "POST", body=[f"password: {secret}".encode()])
        assert secret not in await door.heartbeats.body("backup", 1)


async def test_a_paused_heartbeat_ignores_silence_and_pings_until_it_is_resumed(door: Door):
    await door.add("sensor", period="5m")
    await door.add("job", **TEN_MINUTES)
    await door.settle()
    for name in ("sensor", "job"):
        await door.ping(name)
        await door.heartbeats.pause(name, TEST)
    await door.step(after_s=1200)
    assert (await door.state("sensor"), await door.ledger("job"), door.told()) == ("paused", ["paused"] * 2, [])
    await door.ping("sensor")
    assert await door.state("sensor") == "paused"
    await door.heartbeats.resume("sensor", TEST)
    await door.step(after_s=420)
    assert await door.state("sensor") == "down"


@pytest.mark.parametrize(("start", "expected"), [(MARCH, ["03:00"]), (OCTOBER, ["02:30"])])
def test_each_instant_of_a_day_with_a_clock_change_has_one_row(start: float, expected: list[str]):
    definition = HeartbeatDefinition(schedule="30 2 * * *", timezone="Europe/Berlin", grace=300)
    watched = take_ping(definition, Watched(), ReceivedPing(kind=PingKind.SUCCESS), 1, start).watched
    found = []
    for minute in range(8 * 60):
        decided = pass_time(definition, watched, start + 60 * minute)
        watched = decided.watched
        found += [f"{datetime.fromtimestamp(each.due_at, BERLIN):%H:%M}" for each in decided.instants]
    assert found == expected
