"""Timestamps as text: RFC 3339 in UTC with milliseconds, in the HTTP interface, with `--json`, and in logs of runs."""

from datetime import UTC, datetime
from math import isnan

DAY_S = 86_400
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


def read_timestamp(text: str) -> float:
    """Parse the text of a field by `parse_timestamp`; the error begins with "expected", as those of fields do."""
    try:
        return parse_timestamp(text)
    except ValueError as error:
        raise ValueError(f"expected {error}") from None


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


def duration_words(seconds: float) -> str:
    """Return a duration in words, such as `1 h 30 min`."""
    left, words = round(seconds), []
    for unit, size in (("d", DAY_S), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count:
            words.append(f"{count} {unit}")
    return " ".join(words[:2]) or "0 s"
