"""What becomes of the instants since the last look: run now, caught up, or recorded as missed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

from tocsin.scheduling.schedule import Schedule, duration_words

LATE_S = 60.0  # an instant that is seen later was missed
MAX_INSTANTS = 1_000  # of one job: more are neither caught up nor recorded one by one


class CatchUp(StrEnum):
    """Which missed instants are run afterwards."""

    NONE = "none"
    LATEST = "latest"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class PlannedInstant:
    """One instant and what is done about it; a missed one has its reason."""

    instant: float
    caught_up: bool = False
    missed: str = ""


def plan_instants(
    schedule: Schedule, after: float, until: float, catchup: CatchUp, window_s: float, zone: ZoneInfo
) -> list[PlannedInstant]:
    """Return what to do about the instants after `after`, up to and including `until`, the oldest first.

    One that is up to a minute late is run as if it were not. Of the others, `latest` runs the newest one within the
    window unless a later one runs, `all` every one within it, `none` none.
    """
    found, more = schedule.newest(after, until, MAX_INSTANTS)
    late = [instant for instant in found if until - instant > LATE_S]
    planned = [*_late(schedule, late, len(late) < len(found), until, catchup, window_s, zone)]
    if more and planned:
        oldest = planned[0]
        said = f"more than {MAX_INSTANTS:,} instants were missed: those before this one are not recorded"
        planned[0] = PlannedInstant(oldest.instant, missed=said)
    return [*planned, *(PlannedInstant(instant) for instant in found[len(late) :])]


def _late(
    schedule: Schedule,
    late: Sequence[float],
    newer_runs: bool,
    until: float,
    catchup: CatchUp,
    window_s: float,
    zone: ZoneInfo,
) -> Iterator[PlannedInstant]:
    away = "no scheduler was running"
    for number, instant in enumerate(late, 1):
        if catchup is CatchUp.NONE:
            yield PlannedInstant(instant, missed=f"{away}, and the job catches up none")
        elif until - instant > window_s:
            window = duration_words(window_s)
            yield PlannedInstant(instant, missed=f"{away}, and it is more than {window} ago")
        elif catchup is CatchUp.ALL:
            yield PlannedInstant(instant, caught_up=True)
        elif newer_runs or number < len(late):
            yield PlannedInstant(instant, missed=f"{away}, and a later one is run instead")
        elif ahead := _still_ahead(schedule, instant, until, zone):
            yield PlannedInstant(instant, missed=f"{away}, and today's own run is still ahead, at {ahead}")
        else:
            yield PlannedInstant(instant, caught_up=True)


def _still_ahead(schedule: Schedule, instant: float, until: float, zone: ZoneInfo) -> str:
    """Return the time of today's next instant if `instant` is of an earlier day, or `""`."""
    following = schedule.after(until)
    if following is None:
        return ""
    then, today, ahead = (datetime.fromtimestamp(moment, zone) for moment in (instant, until, following))
    return f"{ahead:%H:%M}" if then.date() < today.date() == ahead.date() else ""
