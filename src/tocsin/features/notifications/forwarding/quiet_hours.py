"""Quiet hours: a period of the day in local time, which follows clock changes."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

_FORM = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)(?:\s+(\S+))?")
_ACCEPTED = "a time range such as 22:00-07:00, optionally with a time zone as in 22:00-07:00 Europe/Berlin"


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From `start` to before `end`, in minutes since midnight; past midnight if `end` is smaller."""

    start: int
    end: int
    zone: str = ""  # an IANA name; empty until the default zone is known

    def cover(self, now: float) -> bool:
        """Return True if a time in Unix seconds is within quiet hours."""
        local = datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(self.zone) if self.zone else None)
        minute = local.hour * 60 + local.minute
        if self.start < self.end:
            return self.start <= minute < self.end
        return minute >= self.start or minute < self.end

    def __str__(self) -> str:
        times = "-".join(f"{minutes // 60:02}:{minutes % 60:02}" for minutes in (self.start, self.end))
        return f"{times} {self.zone}".strip()


def parse_quiet_hours(text: str) -> QuietHours:
    """Parse quiet hours; raises ValueError with the accepted format."""
    found = _FORM.fullmatch(text.strip())
    if not found:
        raise ValueError(_ACCEPTED)
    hour, minute, to_hour, to_minute, zone = found.groups()
    quiet = QuietHours(int(hour) * 60 + int(minute), int(to_hour) * 60 + int(to_minute), zone or "")
    if quiet.start == quiet.end:
        raise ValueError("quiet hours with different start and end, for example 22:00-07:00")
    if zone:
        _check_zone(zone)
    return quiet


def _check_zone(zone: str) -> None:
    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):  # unknown, not a name of a zone, or a folder of zones such as Europe
        raise ValueError(_ACCEPTED) from None
