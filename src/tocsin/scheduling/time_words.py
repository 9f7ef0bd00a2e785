"""The times of day of a cron expression, and intervals, in words: `Every 5 minutes`, `At minute 0 and 30`."""

import re
from collections.abc import Sequence
from itertools import pairwise

from tocsin.core.time.timestamps import DAY_S, duration_words

MOST_TIMES = 4  # more are described by their hours and minutes
MOST_LISTED = 4  # more values at equal distances are described as a range
_STEP = re.compile(r"\*(?:/(\d+))?")
_UNITS = ((DAY_S, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def times_of_day(minute: str, minutes: Sequence[int], hour: str, hours: Sequence[int]) -> tuple[str, bool]:
    """Return the times that two cron fields with these values select, and whether they are clock times.

    Clock times, such as `At 09:00`, need a day; `Every 5 minutes` does not.
    """
    every_minutes, every_hours = _even_step(minute, 60), _even_step(hour, 24)
    if every_minutes and every_hours == 1:
        return every(60 * every_minutes), False
    if every_hours:
        at = f"at minute {_listed(minutes)}"
        if list(minutes) == [0]:
            return every(3600 * every_hours), False
        if not every_minutes:
            return (at.capitalize() if every_hours == 1 else f"{every(3600 * every_hours)} {at}"), False
    if "*" not in minute + hour and len(minutes) * len(hours) <= MOST_TIMES:
        return f"At {_joined([f'{h:02}:{m:02}' for h in hours for m in minutes])}", True
    first, last = f"{hours[0]:02}:{minutes[0]:02}", f"{hours[-1]:02}:{minutes[-1]:02}"
    if every_minutes and _is_run(hours):
        return f"{every(60 * every_minutes)} from {first} through {hours[-1]:02}:59", False
    if len(minutes) == 1 and _is_run(hours):
        return f"Every hour from {first} through {last}", False
    if len(hours) == 1 and _is_run(minutes):
        return f"Every minute from {first} through {last}", False
    past = f"past hour {_listed(hours)}"
    return (f"{every(60 * every_minutes)} {past}" if every_minutes else f"At minute {_listed(minutes)} {past}"), False


def every(seconds: float) -> str:
    """Return an interval in words: `Every day`, `Every 5 minutes`, `Every 1 h 30 min`."""
    size, unit = next(each for each in _UNITS if seconds >= each[0] or each[0] == 1)
    if seconds % size:
        return f"Every {duration_words(seconds)}"
    return f"Every {unit}" if seconds == size else f"Every {round(seconds / size)} {unit}s"


def _even_step(field: str, length: int) -> int:
    """Return the step of `*` or `*/5`; 0 for other fields, and if the last interval of an hour or day is shorter."""
    found = _STEP.fullmatch(field)
    step = int(found[1] or 1) if found else 0
    return step if step and length % step == 0 else 0


def _is_run(values: Sequence[int]) -> bool:
    return len(values) > 1 and values[-1] - values[0] == len(values) - 1


def _listed(values: Sequence[int]) -> str:
    steps = {after - before for before, after in pairwise(values)}
    if len(values) <= MOST_LISTED or len(steps) > 1:
        return _joined([str(value) for value in values])
    step = steps.pop()
    through = f"{values[0]} through {values[-1]}"
    return through if step == 1 else f"{through} in steps of {step}"


def _joined(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
