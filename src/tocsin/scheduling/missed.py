"""Handling of the instants since the last check: run now, catch up, or record as missed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

from tocsin.core.time.timestamps import duration_words
from tocsin.scheduling.schedule import Schedule

LATE_S = 60.0  # an instant that a running scheduler handles later than this is missed
MAX_INSTANTS = 1_000  # per job: no more are caught up or recorded individually
SUPERSEDED = "and a later run replaces it"
NOT_RUNNING = "no scheduler was running"
JUMPED = "the clock jumped forward, or the machine slept"


class CatchUp(StrEnum):
    """The rule that selects the missed instants to run later."""

    NONE = "none"
    LATEST = "latest"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class PlannedInstant:
    """An instant and what happens with it; a missed one has its reason."""

    instant: float
    caught_up: bool = False
    missed: str = ""


@dataclass(frozen=True, slots=True)
class CatchUpRules:
    """The catch-up policy of a job; its days begin in the time zone `zone`."""

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
    """Decide about the instants after `after`, up to and including `until`; return the oldest first.

    An instant is on time if it is handled within `late_s`. Of the late ones, `latest` runs the newest one within the
    window unless a later one runs, `all` runs every one within the window, and `none` runs none.
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
