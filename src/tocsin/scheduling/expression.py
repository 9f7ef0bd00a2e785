"""Cron expressions: validation with clear error messages, and the minutes and days that an expression selects."""

import re
from datetime import UTC, date, datetime
from typing import ClassVar, NamedTuple

from tocsin.core.errors import ConfigError
from tocsin.core.reading.value import shorten, suggestion
from tocsin.scheduling.time_words import times_of_day

ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
# CronSim reads a single value with a step as a range from that value to the highest one.
_LONE = re.compile(r"\b(\w+)-\1/\d+", re.IGNORECASE)
# CronSim writes `21th`.
_ORDINAL = re.compile(r"\b([2-5])([123])th\b")
_ENDINGS = {"1": "st", "2": "nd", "3": "rd"}
_ALL_DAYS, _ALL_WEEKDAYS = frozenset(range(1, 32)), frozenset(range(7))
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class ScheduleError(ConfigError):
    """An invalid schedule or time zone; `field` is the invalid field of a cron expression."""

    code: ClassVar[str] = "bad-schedule"

    def __init__(self, message: str, *, hint: str = "", field: str = "") -> None:
        super().__init__(message, hint=hint)
        self.field = field


class _FieldRule(NamedTuple):
    name: str
    lowest: int
    highest: int
    words: tuple[str, ...] = ()
    first_word: int = 0  # the number of the first word


_RULES = (
    _FieldRule("minute", 0, 59),
    _FieldRule("hour", 0, 23),
    _FieldRule("day of month", 1, 31),
    _FieldRule("month", 1, 12, _MONTHS, 1),
    _FieldRule("day of week", 0, 7, _DAYS),
)


class CronExpression:
    """A valid cron expression of five fields."""

    def __init__(self, text: str) -> None:
        """Parse the expression; raise ScheduleError if it is invalid or never due."""
        # Costs 12 ms to import; commands that read no jobs do not import it.
        from cronsim import CronSim, CronSimError

        self.text = ALIASES.get(text.lower(), text)
        _check(self.text)
        try:
            self._fields = CronSim(_LONE.sub(r"\1", self.text), datetime(2024, 1, 1, tzinfo=UTC))
        except CronSimError as error:
            detail = _impossible(self.text) or str(error)
            raise ScheduleError(f"{shorten(text)!r} never occurs: {detail}", field="day of month") from None
        self.minutes = sorted(self._fields.minutes)
        self.hours = sorted(self._fields.hours)
        self.months = frozenset(self._fields.months)
        minute, hour, *_ = self.text.split()
        # As in Debian's cron: such a job follows elapsed time, all others follow the wall clock.
        self.is_rolling = minute.startswith("*") or hour.startswith("*")

    def matches(self, day: date) -> bool:
        return day.month in self.months and bool(self._fields.match_day(day))

    def words(self) -> str:
        """Return the expression in words, such as `At 09:00 on Monday through Friday` or `Every 5 minutes`."""
        minute, hour, *_ = self.text.split()
        times, are_clock_times = times_of_day(minute, self.minutes, hour, self.hours)
        days = self._days()
        if not are_clock_times:
            days = days.removeprefix("every day").strip()
        return f"{times} {days}".strip()

    def _days(self) -> str:
        """Return the days and months in the words of CronSim, corrected."""
        from cronsim import CronSim

        day, month, weekday = self.text.split()[2:]
        if not self._fields.day_and and (self._fields.days >= _ALL_DAYS or self._fields.weekdays >= _ALL_WEEKDAYS):
            day = weekday = "*"
        fields = CronSim(_LONE.sub(r"\1", f"0 0 {day} {month} {weekday}"), datetime(2024, 1, 1, tzinfo=UTC))
        said = str(fields.explain()).removeprefix("At 00:00 ").replace(" day of month", " day of the month")
        said = _ORDINAL.sub(lambda found: found[1] + found[2] + _ENDINGS[found[2]], said)
        if self._fields.day_and:
            return said
        return said.replace(" and on ", " or on ", 1)  # either day field is sufficient if neither begins with a star


def _check(text: str) -> None:
    if text.startswith("@"):
        names = [*ALIASES, "@reboot"]
        if text.lower().startswith("@every "):
            raise ScheduleError(f"unknown schedule {shorten(text)!r}", hint=f"write `{shorten(text[1:])}`")
        raise ScheduleError(
            f"unknown schedule {shorten(text)!r}{suggestion(text.lower(), names)}", hint=f"use {', '.join(names)}"
        )
    fields = text.split()
    if fields and fields[0].upper().startswith(("TZ=", "CRON_TZ=")):
        raise ScheduleError("a schedule does not name its time zone", hint="set `timezone` instead")
    if len(fields) != len(_RULES):
        raise ScheduleError(
            "a cron expression needs 5 fields (minute, hour, day of month, month, day of week), but this has "
            f"{len(fields)}",
            hint="seconds and years are not supported" if len(fields) in {6, 7} else "for example `0 9 * * 1-5`",
        )
    for rule, field in zip(_RULES, fields, strict=True):
        for item in field.upper().split(","):
            _check_item(rule, item)


def _check_item(rule: _FieldRule, item: str) -> None:
    base, slash, step = item.partition("/")
    if slash and not (step.isascii() and step.isdigit() and 0 < int(step[:9]) <= rule.highest):
        raise _wrong(rule, f"step {shorten(step)!r} is not a number from 1 to {rule.highest}")
    if base == "*" or _is_special(rule, base, slash):
        return
    first, dash, last = base.partition("-")
    lowest = _value(rule, first)
    if not dash:
        return
    highest = _value(rule, last)
    if highest < lowest:
        both = f"{first}-{rule.highest},{rule.lowest}-{last}"
        raise _wrong(rule, f"{base} has its start after its end", hint=f"write {both}")


def _is_special(rule: _FieldRule, base: str, slash: str) -> bool:
    """Whether the item is the last day or weekday of a month, or an n-th weekday; these take no step."""
    if slash:
        return False
    if rule.name == "day of month":
        return base in {"L", "LW"}
    if rule.name != "day of week":
        return False
    day, mark, nth = base.partition("#")
    if mark and nth not in {"1", "2", "3", "4", "5"}:
        raise _wrong(rule, f"{base} does not select a week of the month", hint="use 5#1 to 5#5")
    if base.endswith("L") and base[:-1].isdigit():
        _value(rule, base[:-1])
        return True
    if mark:
        _value(rule, day)
    return bool(mark)


def _value(rule: _FieldRule, word: str) -> int:
    if word in rule.words:
        return rule.words.index(word) + rule.first_word
    if not (word.isascii() and word.isdigit()):
        hint = "write *" if word == "?" else ""
        names = (suggestion(word, rule.words) or f" or a name such as {rule.words[1]}") if rule.words else ""
        numbers = f"a number from {rule.lowest} to {rule.highest}"
        raise _wrong(rule, f"{shorten(word)!r} is not {numbers}{names}", hint=hint)
    if len(word) > 4 or not rule.lowest <= int(word) <= rule.highest:
        raise _wrong(rule, f"{shorten(word)} is outside {rule.lowest}-{rule.highest}")
    return int(word)


def _wrong(rule: _FieldRule, detail: str, hint: str = "") -> ScheduleError:
    return ScheduleError(f"{rule.name} {detail}", hint=hint, field=rule.name)


def _impossible(text: str) -> str:
    _, _, day, month, _ = text.split()
    return f"month {month} has no day {day}"
