"""What becomes of the instants since the last look: run now, caught up, or recorded as missed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

from tocsin.scheduling.schedule import Schedule, duration_words

LATE_S = 60.0  # an instant that a scheduler at work sees later was missed
MAX_INSTANTS = 1_000  # of one job: more are neither caught up nor recorded one by one
SUPERSEDED = "and a later run replaces it"
NOT_RUNNING = "no scheduler was running"
JUMPED = "the clock jumped forward, or the machine slept"


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


@dataclass(frozen=True, slots=True)
class CatchUpRules:
    """What a job says about missed instants; `zone` tells where its days begin."""

    policy: CatchUp
    window_s: float
    zone: ZoneInfo


def plan_instants(
    schedule: Schedule,
    after: float,
    until: float,
    rules: CatchUpRules,
    late_s: float = LATE_S,
    cause: str = NOT_RUNNING,
) -> list[PlannedInstant]:
    """Return what to do about the instants after `after`, up to and including `until`, the oldest first.

    One that is seen within `late_s` is run as if it were not late. Of the others, `latest` runs the newest one within
    the window unless a later one runs, `all` every one within it, `none` none.
    """
    found, more = schedule.newest(after, until, MAX_INSTANTS)
    late = [instant for instant in found if until - instant > late_s]
    planned = [*_late(schedule, late, len(late) < len(found), until, rules, cause)]
    if more and planned:
        oldest = planned[0]
        said = f"more than {MAX_INSTANTS:,} runs were missed: earlier ones are not recorded"
        planned[0] = PlannedInstant(oldest.instant, missed=said)
    return [*planned, *(PlannedInstant(instant) for instant in found[len(late) :])]


def _late(
    schedule: Schedule,
    late: Sequence[float],
    newer_runs: bool,
    until: float,
    rules: CatchUpRules,
    cause: str,
) -> Iterator[PlannedInstant]:
    for number, instant in enumerate(late, 1):
        if rules.policy is CatchUp.NONE:
            yield PlannedInstant(instant, missed=f"{cause}, and the job does not catch up on missed runs")
        elif until - instant > rules.window_s:
            window = duration_words(rules.window_s)
            yield PlannedInstant(instant, missed=f"{cause}, and it is more than {window} ago")
        elif rules.policy is CatchUp.ALL:
            yield PlannedInstant(instant, caught_up=True)
        elif newer_runs or number < len(late):
            yield PlannedInstant(instant, missed=f"{cause}, {SUPERSEDED}")
        elif ahead := _still_ahead(schedule, instant, until, rules.zone):
            yield PlannedInstant(instant, missed=f"{cause}, and today's regular run is still ahead, at {ahead}")
        else:
            yield PlannedInstant(instant, caught_up=True)


def _still_ahead(schedule: Schedule, instant: float, until: float, zone: ZoneInfo) -> str:
    """Return the time of today's next instant if `instant` is of an earlier day, or `""`."""
    following = schedule.after(until)
    if following is None:
        return ""
    then, today, ahead = (datetime.fromtimestamp(moment, zone) for moment in (instant, until, following))
    return f"{ahead:%H:%M}" if then.date() < today.date() == ahead.date() else ""
