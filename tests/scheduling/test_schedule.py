"""Schedules against an oracle, and what is said about wrong ones."""

import random
from datetime import UTC, datetime

import pytest
from tests.scheduling.oracle import ZONES, Period, around, clock_changes, expressions

from tocsin.scheduling.expression import ALIASES, ScheduleError
from tocsin.scheduling.schedule import OnceSchedule, read_schedule, stable_offset

DAY_S = 86_400
# Days around which clocks are changed somewhere: two at midnight, one of half an hour.
CHANGES = (
    ("Europe/Berlin", (2026, 3, 29)),
    ("Europe/Berlin", (2026, 10, 25)),
    ("America/Santiago", (2026, 9, 6)),
    ("Africa/Cairo", (2026, 4, 24)),
    ("America/Havana", (2026, 11, 1)),
    ("Australia/Lord_Howe", (2026, 10, 4)),
    ("Australia/Lord_Howe", (2026, 4, 5)),
    ("Asia/Kathmandu", (2026, 1, 1)),
)


@pytest.mark.parametrize(("zone", "day"), CHANGES)
def test_the_instants_are_those_of_the_oracle(zone: str, day: tuple[int, int, int], chance: random.Random):
    compare(zone, day, 10, expressions(chance, 10))


def test_the_instants_around_changes_of_the_next_ten_years_are_those_of_the_oracle(chance: random.Random):
    for zone in chance.sample(ZONES, 2):
        for day in chance.sample(clock_changes(zone, 2026, 10) or [(2026, 1, 1)], 1):
            compare(zone, day, 4, expressions(chance, 8))


def compare(zone: str, day: tuple[int, int, int], days: int, chosen: list[str]) -> None:
    period = Period(zone, *around(*day, days))
    start, end = (moment.timestamp() for moment in around(*day, days - 2))
    for expression in chosen:
        wanted = [instant for instant in period.instants(expression) if start < instant <= end]
        if not wanted and never_due(expression, zone):  # such as the last Friday of a month on its 11th
            continue
        schedule = read_schedule(expression, zone, 0.0)
        found, moment = [], start
        while (moment := schedule.after(moment)) is not None and moment <= end:
            found.append(moment)
        assert found == wanted, expression
        assert schedule.newest(start, end, 10**6).found == wanted, expression


def never_due(expression: str, zone: str) -> bool:
    try:
        read_schedule(expression, zone, 0.0)
    except ScheduleError as error:
        return "never" in str(error)
    return False


def at(text: str, zone: str = "UTC") -> float:
    schedule = read_schedule(f"at {text}", zone, 0.0)
    assert isinstance(schedule, OnceSchedule)
    return schedule.moment


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "expected", "note"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", "2026-03-29T01:00Z", "clock change: runs at 03:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", "2026-10-25T00:30Z", "02:30 occurs twice, runs once"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30Z", "2026-10-26T01:30Z", ""),
        ("30 * * * *", "Europe/Berlin", "2026-10-25T00:30Z", "2026-10-25T01:30Z", "02:30 occurs twice"),
        ("0 9 * * 1-5", "UTC", "2026-11-20T10:00Z", "2026-11-23T09:00Z", ""),
        ("0 0 1 * 1", "UTC", "2026-11-02T00:00Z", "2026-11-09T00:00Z", ""),
        ("0 0 29 2 *", "UTC", "2026-01-01T00:00Z", "2028-02-29T00:00Z", ""),
        ("@daily", "Asia/Kathmandu", "2026-01-01T00:00Z", "2026-01-01T18:15Z", ""),
    ],
)
def test_the_rules_of_days_and_clock_changes(schedule: str, zone: str, after: str, expected: str, note: str):
    read = read_schedule(schedule, zone, 0.0)
    instant = read.after(at(after))
    assert instant is not None
    assert datetime.fromtimestamp(instant, UTC) == datetime.fromtimestamp(at(expected), UTC)
    assert read.note(instant).removeprefix("clock change: ") == note.removeprefix("clock change: ")


def test_every_counts_from_its_anchor_and_at_is_due_once():
    every = read_schedule("every 15m", "UTC", 1000.0)
    assert [every.after(t) for t in (0.0, 1000.0, 1899.9, 1900.0)] == [1900.0, 1900.0, 1900.0, 2800.0]
    assert every.newest(1000.0, 4600.0, 2).found == [3700.0, 4600.0]
    assert every.newest(1000.0, 4600.0, 2).more
    once = read_schedule("at 2026-12-01T09:00", "Europe/Berlin", 0.0)
    assert once.after(0.0) == at("2026-12-01T08:00Z")
    assert once.after(at("2026-12-01T08:00Z")) is None
    assert once.note(at("2026-12-01T08:00Z")) == ""


def test_a_job_for_a_time_that_the_clock_skips_says_when_it_runs_instead():
    once = read_schedule("at 2026-03-29T02:30", "Europe/Berlin", 0.0)
    assert once.after(0.0) == at("2026-03-29T01:00Z")
    assert "03:00" in once.note(at("2026-03-29T01:00Z"))


def test_no_instant_of_a_start_of_the_machine_is_known():
    schedule = read_schedule("at start", "UTC", 0.0)
    assert schedule.after(0.0) is None
    assert schedule.newest(0.0, 1e9, 10).found == []
    with pytest.raises(ScheduleError, match="time"):
        read_schedule("at start", "Nowhere/Land", 0.0)


def test_a_time_that_the_clock_skips_is_the_end_of_the_gap():
    assert at("2026-03-29T02:30", "Europe/Berlin") == at("2026-03-29T01:00Z")


@pytest.mark.parametrize("alias", ALIASES)
def test_names_mean_their_expressions(alias: str):
    start = at("2026-01-15T12:34Z")
    assert read_schedule(alias, "UTC", 0.0).after(start) == read_schedule(ALIASES[alias], "UTC", 0.0).after(start)


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("0 9 * * 1-5", "At 09:00 on Monday through Friday, UTC"),
        ("0 0 1 * 1", "At 00:00 on the first day of the month or on Monday, UTC"),
        ("0 0 31 * *", "At 00:00 on the 31st day of every month, UTC"),
        ("0 0 11,12,13,21 * *", "At 00:00 on the 11th, the 12th, the 13th, and the 21st day of the month, UTC"),
        ("* * * * *", "Every minute, UTC"),
        ("*/15 * * * *", "Every 15 minutes, UTC"),
        ("0,30 * * * *", "At minute 0 and 30, UTC"),
        ("0 * * * *", "Every hour, UTC"),
        ("0 */2 * * *", "Every 2 hours, UTC"),
        ("30 */2 * * *", "Every 2 hours at minute 30, UTC"),
        ("0 8,12,18 * * *", "At 08:00, 12:00 and 18:00 every day, UTC"),
        ("0 9-17 * * *", "Every hour from 09:00 through 17:00, UTC"),
        ("0-10 3 * * *", "Every minute from 03:00 through 03:10, UTC"),
        ("*/15 9-17 * * 1-5", "Every 15 minutes from 09:00 through 17:59 on Monday through Friday, UTC"),
        ("*/15 3,7,9 * 4 *", "Every 15 minutes past hour 3, 7 and 9 in April, UTC"),
        ("*/22 */23 * * *", "At minute 0, 22 and 44 past hour 0 and 23, UTC"),
        ("2-59/5 * * * *", "At minute 2 through 57 in steps of 5, UTC"),
        ("0-4 * * * *", "At minute 0 through 4, UTC"),
        ("every 15m", "Every 15 minutes"),
        ("every 2h", "Every 2 hours"),
        ("every 1d", "Every day"),
        ("every 90m", "Every 1 h 30 min"),
        ("at 2026-12-01T09:00", "Once at 2026-12-01 09:00, UTC"),
        ("at start", "Once after each start of the machine"),
        ("at: start", "Once after each start of the machine"),
        ("@Reboot", "Once after each start of the machine"),
        ("0 0 1-31 * 1", "At 00:00 every day, UTC"),
        ("0 0 1 4 0-7", "At 00:00 every day in April, UTC"),
    ],
)
def test_schedules_are_said_in_words(schedule: str, words: str):
    assert read_schedule(schedule, "UTC", 0.0).words() == words


@pytest.mark.parametrize(
    ("schedule", "said", "field"),
    [
        ("61 * * * *", "minute 61 is outside 0-59", "minute"),
        ("* 24 * * *", "hour 24 is outside 0-23", "hour"),
        ("* * 0 * *", "day of month 0 is outside 1-31", "day of month"),
        ("* * * 13 *", "month 13 is outside 1-12", "month"),
        ("* * * * 8", "day of week 8 is outside 0-7", "day of week"),
        ("* * * * MOM", "'MOM' is not a number from 0 to 7 (did you mean 'MON'?)", "day of week"),
        ("0 22-6 * * *", "22-6 has its start after its end: write 22-23,0-6", "hour"),
        ("*/0 * * * *", "step '0' is not a number from 1 to 59", "minute"),
        ("0 0 ? * 1", "'?' is not a number from 1 to 31: write *", "day of month"),
        ("0 0 31 2 *", "never occurs: month 2 has no day 31", "day of month"),
        ("0 0 * * 1#6", "1#6 does not select a week of the month", "day of week"),
        ("1,, * * * *", "'' is not a number from 0 to 59", "minute"),
        ("0 0 * FOO *", "'FOO' is not a number from 1 to 12 or a name such as FEB", "month"),
        ("* * * *", "this has 4", ""),
        ("0 0 0 * * *", "this has 6: seconds and years are not supported", ""),
        ("@dayly", "(did you mean '@daily'?)", ""),
        ("@rebot", "(did you mean '@reboot'?)", ""),
        ("@every 5m", "write `every 5m`", ""),
        ("CRON_TZ=UTC 0 9 * * *", "set `timezone`", ""),
        ("at starts", "'starts' is not a valid time", ""),
        ("every 0s", "'0s' is not an interval from 1 s to 366 days", ""),
        ("every", "'' is not an interval from 1 s to 366 days: for example `every 15m`", ""),
        ("at tomorrow", "'tomorrow' is not a valid time: for example `at 2026-12-01T09:00`", ""),
        ("٣ * * * *", "is not a number", "minute"),
        ("9" * 5000 + " * * * *", "is outside 0-59", "minute"),
    ],
)
def test_a_wrong_schedule_is_told_with_its_field(schedule: str, said: str, field: str):
    with pytest.raises(ScheduleError) as refused:
        read_schedule(schedule, "UTC", 0.0)
    assert said in refused.value.sentence()
    assert refused.value.field == field


@pytest.mark.parametrize("zone", ["Europe/Berln", "", "../../etc/passwd", "x" * 5000, "\0"])
def test_an_unknown_zone_is_refused(zone: str):
    with pytest.raises(ScheduleError, match="time"):
        read_schedule("@daily", zone, 0.0)


def test_jitter_is_the_same_for_a_job_and_at_most_what_was_asked():
    offsets = {key: stable_offset(key, 300) for key in map(str, range(200))}
    assert offsets == {key: stable_offset(key, 300) for key in offsets}
    assert 0 <= min(offsets.values()) < 60
    assert 240 < max(offsets.values()) <= 300
    assert stable_offset("any", 0) == 0
