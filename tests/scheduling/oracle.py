"""The instants of cron expressions by brute force over the minutes of a period, without the code that is tested.

What a minute shows on a clock comes from asking for each minute of UTC; nothing here looks for clock changes.
"""

import calendar
import random
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

# Changes of an hour and of half an hour, at midnight, south and north, none, offsets of 30 and 45 minutes.
ZONES = (
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo",
    "Asia/Beirut", "America/Havana", "Africa/Casablanca", "Asia/Kathmandu", "Pacific/Chatham", "Europe/Lisbon",
)  # fmt: skip
_DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
_MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]


@dataclass
class Period:
    """What the clocks of a zone show at each minute of a period."""

    zone: str
    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        zone = ZoneInfo(self.zone)
        self.passing: dict[date, list[tuple[float, int, int]]] = defaultdict(list)
        first: dict[datetime, float] = {}
        for minute in range(int((self.end - self.start).total_seconds() // 60)):
            moment = self.start + timedelta(minutes=minute)
            shown = moment.astimezone(zone).replace(tzinfo=None)
            self.passing[shown.date()].append((moment.timestamp(), shown.hour, shown.minute))
            first.setdefault(shown, moment.timestamp())
        # A minute that no clock shows stands for the next one that is shown.
        self.wall: dict[date, list[tuple[float, int, int]]] = defaultdict(list)
        shown, last, following = max(first), min(first), 0.0
        while shown >= last:
            following = first.get(shown, following)
            self.wall[shown.date()].append((following, shown.hour, shown.minute))
            shown -= timedelta(minutes=1)

    def instants(self, expression: str) -> list[float]:
        """Return all instants of an expression."""
        minute, hour, days, month, weekdays = expression.upper().split()
        minutes, hours = _numbers(minute, 0, 59), _numbers(hour, 0, 23)
        months = _numbers(month, 1, 12, _MONTHS, 1)
        table = self.passing if minute.startswith("*") or hour.startswith("*") else self.wall
        both = days.startswith("*") or weekdays.startswith("*")
        found = set()
        for day, shown in table.items():
            by_day, by_weekday = _is_day(days, day), _is_weekday(weekdays, day)
            if day.month in months and ((by_day and by_weekday) if both else (by_day or by_weekday)):
                found |= {instant for instant, h, m in shown if h in hours and m in minutes}
        return sorted(found)


def _numbers(field: str, low: int, high: int, words: list[str] = [], first: int = 0) -> set[int]:  # noqa: B006
    def number(word: str) -> int:
        return words.index(word) + first if word in words else int(word)

    found: set[int] = set()
    for item in field.split(","):
        base, _, step = item.partition("/")
        if base == "*":
            begin, end = low, high
        elif "-" in base:
            begin, end = (number(word) for word in base.split("-"))
        else:
            begin = number(base)
            end = high if step else begin
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


def _is_day(field: str, day: date) -> bool:
    last = calendar.monthrange(day.year, day.month)[1]
    if field == "L":
        return day.day == last
    if field == "LW":
        weekdays = [n for n in range(1, last + 1) if date(day.year, day.month, n).weekday() < 5]
        return day.day == weekdays[-1]
    return day.day in _numbers(field, 1, 31)


def _is_weekday(field: str, day: date) -> bool:
    number = (day.weekday() + 1) % 7
    last = calendar.monthrange(day.year, day.month)[1]
    for item in field.split(","):
        if "#" in item:
            wanted, nth = item.split("#")
            if int(wanted) % 7 == number and (day.day - 1) // 7 + 1 == int(nth):
                return True
        elif item.endswith("L") and item != "L":
            if int(item[:-1]) % 7 == number and day.day + 7 > last:
                return True
        elif number in {n % 7 for n in _numbers(item, 0, 7, _DAYS)}:
            return True
    return False


def expressions(chance: random.Random, count: int) -> list[str]:
    """Return expressions of every kind."""
    return [" ".join(_fields(chance)) for _ in range(count)]


def _fields(chance: random.Random) -> list[str]:
    minute = _field(chance, 0, 59, ["*", "*/5", "*/7", "0", "30", "59", "*/15"])
    hour = _field(chance, 0, 23, ["*", "*/2", "0", "1", "2", "3", "23", "1-3", "0-2", "*/5"])
    day = _field(chance, 1, 28, ["*"] * 8 + ["L", "LW", "29", "31", "*/10"])
    month = _field(chance, 1, 12, ["*"] * 8 + ["MAR", "OCT", "3,4,9-11", "*/2"])
    weekday = _field(chance, 0, 7, ["*"] * 8 + ["SUN", "1-5", "MON-FRI", "0", "7", "5#2", "5L", "0#1", "*/2"])
    if month != "*" and day in {"29", "31"}:
        day = "28"
    return [minute, hour, day, month, weekday]


def _field(chance: random.Random, low: int, high: int, usual: list[str]) -> str:
    if chance.random() < 0.6:
        return chance.choice(usual)
    a, b = sorted((chance.randint(low, high), chance.randint(low, high)))
    kinds = [
        str(a),
        f"{a},{b}",
        f"{a}-{b}",
        f"{a}-{b}/{chance.randint(1, 5)}",
        f"{a}/{chance.randint(1, min(20, high))}",
    ]
    return chance.choice(kinds)


def around(year: int, month: int, day: int, days: int) -> tuple[datetime, datetime]:
    """Return a period around a day."""
    middle = datetime(year, month, day, tzinfo=UTC)
    return middle - timedelta(days=days), middle + timedelta(days=days)


def clock_changes(zone: str, first_year: int, years: int) -> list[tuple[int, int, int]]:
    """Return the days on which the clocks of a zone are changed."""
    day, found = datetime(first_year, 1, 1, 12, tzinfo=UTC), []
    while day.year < first_year + years:
        before, day = day, day + timedelta(days=1)
        if before.astimezone(ZoneInfo(zone)).utcoffset() != day.astimezone(ZoneInfo(zone)).utcoffset():
            found.append((day.year, day.month, day.day))
    return found
