"""What is wrong with a definition, as a problem document."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tocsin.core.reading.json_value import JsonIssue
from tocsin.core.reading.value import MISSING, UNKNOWN, WRONG_VALUE
from tocsin.features.cron.model import InvalidJobError
from tocsin.rest.problems import HttpProblemError
from tocsin.rest.refusals import MAX_ERRORS
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.schedule import read_schedule

_SENTENCES = {UNKNOWN: "Unknown field", MISSING: "Required"}


@contextmanager
def pointing_out(body: Mapping[str, Any]) -> Iterator[None]:
    """Turn the errors of a body into a problem, in the order of the body, missing keys last."""
    try:
        yield
    except InvalidJobError as error:
        if not error.issues:  # not the body is wrong, but the job it is about
            raise HttpProblemError("conflict", f"{error.sentence()}.") from None
        places = {name: place for place, name in enumerate(body)}
        issues = sorted(error.issues, key=lambda issue: places.get(str(next(iter(issue.steps), "")), len(places)))
        count = "1 field needs" if error.count == 1 else f"{error.count} fields need"
        more = f"; the first {MAX_ERRORS} are listed" if error.count > len(issues) else ""
        raise HttpProblemError(
            "validation-failed", f"{count} attention{more}", [_entry(issue, body) for issue in issues]
        ) from None


def _entry(issue: JsonIssue, body: Mapping[str, Any]) -> dict[str, object]:
    entry: dict[str, object] = {
        "pointer": issue.pointer,
        "code": "bad-value" if issue.code == WRONG_VALUE else issue.code,
        "detail": _SENTENCES.get(issue.code, issue.detail),
    }
    if issue.code == "bad-cron" and (part := _part_of(str(body.get("schedule", "")))):
        entry["field"] = part
    return {**entry, **({"suggestion": issue.near} if issue.near else {})}


def _part_of(schedule: str) -> str:
    """Return the part of a cron expression that is wrong, such as `minute`."""
    try:
        read_schedule(schedule, "UTC", 0.0)
    except ScheduleError as error:
        return error.field
    return ""
