"""Schedules: the instants at which a job is due, in the time zone of its author.

A cron expression, `@daily` and the like, `every 15m`, `at 2026-12-01T09:00`, or `at start`. At a clock change, a job
whose minute or hour begins with `*` follows elapsed time; any other job runs once in the repeated hour, and right after
the skipped hour, as in Debian's cron. Instants are Unix seconds.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

from tocsin.core.reading.fields import seconds_in
from tocsin.core.reading.value import shorten
from tocsin.core.time.timestamps import DAY_S
from tocsin.scheduling.expression import CronExpression, ScheduleError
from tocsin.scheduling.time_words import every
from tocsin.scheduling.zones import load_zone

_ONE_DAY = timedelta(days=1)
_HORIZON_YEARS = 50  # the 29th of February is a given weekday every 28 years, 40 across a century
_LATEST_YEAR = 9_900
LONGEST_EVERY_S = 366 * DAY_S
AT_START = frozenset({"at start", "at: start", "@reboot"})


class Instants(NamedTuple):
    """The newest instants of a period, the oldest first; `more` is true if older ones are left out."""

    found: list[float]
    more: bool


class Schedule(Protocol):
    """A schedule."""

    def after(self, moment: float) -> float | None:
        """Return the first instant after `moment`, or `None`."""

    def newest(self, after: float, until: float, limit: int) -> Instants:
        """Return the newest instants after `after`, up to and including `until`."""

    def words(self) -> str:
        """Return the schedule in words, with the time zone where it matters."""

    def note(self, instant: float) -> str:
        """Return the effect of a clock change on an instant, or `""`."""


def read_schedule(text: str, zone: str, anchor: float) -> Schedule:
    """Parse a schedule; `anchor` is the start of the intervals of `every`. Raises ScheduleError."""
    if " ".join(text.lower().split()) in AT_START:
        load_zone(zone)
        return StartSchedule()
    word, _, rest = text.strip().partition(" ")
    if word.lower() == "every":
        load_zone(zone)
        return EverySchedule(_period(rest), anchor)
    if word.lower() == "at":
        return _once(rest, load_zone(zone))
    return _cron(" ".join(text.split()), zone)


@lru_cache(maxsize=4096)
def _cron(text: str, zone: str) -> "CronSchedule":
    return CronSchedule(CronExpression(text), load_zone(zone))


def stable_offset(key: str, most_s: int) -> int:
    """Return a delay of up to `most_s` seconds, always the same for `key`."""
    if not most_s:
        return 0
    return int.from_bytes(sha256(key.encode()).digest()[:8], "big") % (most_s + 1)


@dataclass(frozen=True, slots=True)
class EverySchedule:
    """Due repeatedly after a fixed interval."""

    period_s: float
    anchor: float

    def after(self, moment: float) -> float | None:
        passed = max(0, int((moment - self.anchor) // self.period_s))
        found = self.anchor + (passed + 1) * self.period_s
        return found if found > moment else found + self.period_s

    def newest(self, after: float, until: float, limit: int) -> Instants:
        count = int((until - self.anchor) // self.period_s)
        backwards = (self.anchor + n * self.period_s for n in range(count, 0, -1))
        return _newest(backwards, after, until, limit)

    def words(self) -> str:
        return every(self.period_s)

    def note(self, instant: float) -> str:
        return ""


@dataclass(frozen=True, slots=True)
class OnceSchedule:
    """Due once; `moved` is true if the clock skips the given time."""

    moment: float
    zone: ZoneInfo
    moved: bool = False

    def after(self, moment: float) -> float | None:
        return self.moment if self.moment > moment else None

    def newest(self, after: float, until: float, limit: int) -> Instants:
        return _newest(iter((self.moment,)), after, until, limit)

    def words(self) -> str:
        return f"Once at {datetime.fromtimestamp(self.moment, self.zone):%Y-%m-%d %H:%M}, {self.zone.key}"

    def note(self, instant: float) -> str:
        return f"clock change: runs at {datetime.fromtimestamp(instant, self.zone):%H:%M}" if self.moved else ""


class StartSchedule:
    """Due once after each start of the machine, which the scheduler detects by the boot ID."""

    def after(self, moment: float) -> float | None:
        """Return `None`: the instant is unknown."""
        return None

    def newest(self, after: float, until: float, limit: int) -> Instants:
        return Instants([], more=False)

    def words(self) -> str:
        return "Once after each start of the machine"

    def note(self, instant: float) -> str:
        """Return `""`: clock changes have no effect."""
        return ""


class CronSchedule:
    """Due at the minutes that a cron expression selects."""

    def __init__(self, expression: CronExpression, zone: ZoneInfo) -> None:
        """Raise ScheduleError if the expression is not due within 50 years."""
        self.expression = expression
        self.zone = zone
        if self.after(datetime(2024, 1, 1, tzinfo=zone).timestamp()) is None:
            raise ScheduleError(f"{shorten(expression.text)!r} never occurs", field="day of month")

    def after(self, moment: float) -> float | None:
        day = self._day_of(moment)
        last = min(day.year + _HORIZON_YEARS, _LATEST_YEAR)
        while day.year <= last:
            if day.month not in self.expression.months:
                day = (day.replace(day=28) + 4 * _ONE_DAY).replace(day=1)
                continue
            if self.expression.matches(day) and (found := self._first(day, moment)) is not None:
                return found
            day += _ONE_DAY
        return None

    def newest(self, after: float, until: float, limit: int) -> Instants:
        return _newest(self._backwards(after, until), after, until, limit)

    def words(self) -> str:
        return f"{self.expression.words()}, {self.zone.key}"

    def note(self, instant: float) -> str:
        local = datetime.fromtimestamp(instant, self.zone)
        if self._bounds(local.date())[1] == DAY_S and self._bounds(local.date() - _ONE_DAY)[1] == DAY_S:
            return ""
        if local.hour not in self.expression.hours or local.minute not in self.expression.minutes:
            return f"clock change: runs at {local:%H:%M}"
        if local.replace(fold=0).utcoffset() == local.replace(fold=1).utcoffset():
            return ""
        if self.expression.is_rolling:
            return f"clock change: {local:%H:%M} occurs twice"
        return f"clock change: {local:%H:%M} occurs twice, runs once"

    def _day_of(self, moment: float) -> date:
        return datetime.fromtimestamp(moment, self.zone).date()

    def _bounds(self, day: date) -> tuple[float, float]:
        """Return the start of a day and its length in seconds."""
        start = datetime.combine(day, time(), self.zone).timestamp()
        return start, datetime.combine(day + _ONE_DAY, time(), self.zone).timestamp() - start

    def _first(self, day: date, moment: float) -> float | None:
        """Return the first instant of a day after `moment`."""
        start, length = self._bounds(day)
        if length != DAY_S:
            return next((instant for instant in self._of_changed_day(day) if instant > moment), None)
        hours, minutes = self.expression.hours, self.expression.minutes
        hour, minute = divmod(max(0, int((moment - start) // 60) + 1), 60)
        at = bisect_left(hours, hour)
        if at < len(hours) and hours[at] == hour:
            here = bisect_left(minutes, minute)
            if here < len(minutes):
                return start + 3600 * hour + 60 * minutes[here]
            at += 1
        return start + 3600 * hours[at] + 60 * minutes[0] if at < len(hours) else None

    def _of_day(self, day: date) -> list[float]:
        start, length = self._bounds(day)
        if length != DAY_S:
            return self._of_changed_day(day)
        return [
            start + 3600 * hour + 60 * minute for hour in self.expression.hours for minute in self.expression.minutes
        ]

    def _of_changed_day(self, day: date) -> list[float]:
        """Return all instants of a day with a clock change."""
        start, length = self._bounds(day)
        hours, minutes = self.expression.hours, self.expression.minutes
        if not self.expression.is_rolling:
            wall = (datetime.combine(day, time(hour, minute), self.zone) for hour in hours for minute in minutes)
            return sorted({_on_the_clock(moment) for moment in wall})
        passing = (start + 60 * minute for minute in range(int(length // 60)))
        shown = ((instant, datetime.fromtimestamp(instant, self.zone)) for instant in passing)
        return [instant for instant, local in shown if local.hour in hours and local.minute in minutes]

    def _backwards(self, after: float, until: float) -> Iterator[float]:
        day, first = self._day_of(until), self._day_of(after) - _ONE_DAY
        while day >= first:
            if self.expression.matches(day):
                yield from reversed(self._of_day(day))
            day -= _ONE_DAY


def _on_the_clock(moment: datetime) -> float:
    """Return the first instant at which the clock shows a time; for a skipped time, the end of the gap."""
    instant = moment.timestamp()
    shown = datetime.fromtimestamp(instant, moment.tzinfo)
    if shown.replace(tzinfo=None, fold=0) == moment.replace(tzinfo=None):
        return instant
    # With the offset before the change, a skipped time is after the change: go back to the change.
    while datetime.fromtimestamp(instant - 60, moment.tzinfo).utcoffset() == shown.utcoffset():
        instant -= 60
    return instant


def _newest(backwards: Iterator[float], after: float, until: float, limit: int) -> Instants:
    """Return the first `limit` instants within the period; duplicates must be adjacent."""

    def wanted() -> Iterator[float]:
        last = None
        for instant in backwards:
            if instant <= after:
                return
            if instant <= until and instant != last:
                last = instant
                yield instant

    found = list(islice(wanted(), limit + 1))
    return Instants(found[limit - 1 :: -1] if limit else [], len(found) > limit)


def _period(text: str) -> float:
    seconds = seconds_in(text)
    if seconds is None or not 1 <= seconds <= LONGEST_EVERY_S:
        raise ScheduleError(
            f"{shorten(text)!r} is not an interval from 1 s to 366 days", hint="for example `every 15m`"
        )
    return seconds


def _once(text: str, zone: ZoneInfo) -> OnceSchedule:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        moment = None
    if moment is None or not 1970 < moment.year <= _LATEST_YEAR:
        raise ScheduleError(f"{shorten(text)!r} is not a valid time", hint="for example `at 2026-12-01T09:00`")
    if moment.tzinfo:
        return OnceSchedule(moment.timestamp(), zone)
    due = _on_the_clock(moment.replace(tzinfo=zone))
    return OnceSchedule(due, zone, moved=datetime.fromtimestamp(due, zone).replace(tzinfo=None, fold=0) != moment)
