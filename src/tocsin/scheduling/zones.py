"""Time zones by their IANA names."""

from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from tocsin.core.config.core_variables import TIME_ZONE
from tocsin.core.config.settings import Values
from tocsin.core.errors import TocsinError
from tocsin.core.reading.value import shorten, suggestion
from tocsin.scheduling.expression import ScheduleError

_LINK, _FILE = Path("/etc/localtime"), Path("/etc/timezone")


def load_zone(name: str) -> ZoneInfo:
    """Load a time zone; raise ScheduleError."""
    try:
        return _zone(name)
    except (ValueError, OSError, KeyError):  # the last one: ZoneInfoNotFoundError
        from zoneinfo import available_timezones

        near = suggestion(name, available_timezones())
        hint = "use an IANA name such as Europe/Berlin"
        raise ScheduleError(f"unknown time zone {shorten(name)!r}{near}", hint=hint) from None


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def default_zone(settings: Values) -> str:
    """Return the default time zone: the setting `TZ`, wherever it is set, or the system's time zone."""
    return settings[TIME_ZONE] or system_zone()


@cache
def system_zone() -> str:
    """Return the name of the system's time zone, UTC if it is unknown."""
    for find in (_linked, _written):
        try:
            name = find()
            load_zone(name)
        except (OSError, TocsinError):
            continue
        return name
    return "UTC"


def _linked() -> str:
    return str(_LINK.resolve(strict=True)).partition("zoneinfo/")[2]


def _written() -> str:
    return _FILE.read_text(encoding="utf-8").strip()
