"""Timestamps as text: RFC 3339 in UTC with milliseconds, in the HTTP interface, with `--json`, and in logs of runs."""

from datetime import UTC, datetime
from math import isnan

LATEST = 253_402_300_799.0  # the end of the year 9999, the last that a date can represent


def timestamp(seconds: float | None) -> str | None:
    """Return Unix seconds as RFC 3339, limited to the range of dates."""
    if seconds is None or isnan(seconds):
        return None
    moment = datetime.fromtimestamp(min(max(seconds, 0.0), LATEST), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_timestamp(text: str) -> float:
    """Parse RFC 3339 or Unix seconds; return Unix seconds, or raise ValueError with the accepted formats."""
    seconds = _plain_seconds(text)
    if seconds is None or not 0 <= seconds <= LATEST:
        raise ValueError("a time such as 2026-11-20T08:00:00Z, or Unix seconds")
    return seconds


def _plain_seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
