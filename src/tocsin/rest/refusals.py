"""Problems for errors of services and for invalid requests."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fastapi.exceptions import RequestValidationError

from tocsin.core.errors import TocsinError
from tocsin.core.reading.invalid import InvalidRecordError
from tocsin.core.reading.json_value import MAX_KEY, JsonIssue
from tocsin.core.reading.value import MISSING, UNKNOWN, WRONG_VALUE, near_word
from tocsin.core.time.timestamps import parse_timestamp
from tocsin.rest.problems import PROBLEMS, HttpProblemError
from tocsin.scheduling.expression import ScheduleError
from tocsin.scheduling.schedule import read_schedule

log = logging.getLogger(__name__)

_SENTENCES = {UNKNOWN: "Unknown key", MISSING: "Required"}
MAX_ERRORS = 10  # reported at most; a document may have 100,000 errors

# Errors of services whose problem has another code.
_CODES = {
    "ability-missing": "not-ready",
    "access-failed": "conflict",
    "ambiguous-id": "not-found",
    "audit-failed": "not-ready",
    "bad-entry": "validation-failed",
    "bad-expression": "validation-failed",
    "bad-schedule": "validation-failed",
    "bad-value": "validation-failed",
    "channel-error": "delivery-failed",
    "database-failed": "not-ready",
    "invalid-config": "validation-failed",
    "lock-failed": "not-ready",
    "no-vault": "not-ready",
    "patch-does-not-fit": "conflict",
    "private-address": "validation-failed",
    "process-failed": "conflict",
    "process-timeout": "upstream-timeout",
    "provider-failed": "delivery-failed",
    "remote-error": "delivery-failed",
    "store-unavailable": "not-ready",
    "too-many-requests": "rate-limited",
    "unknown-channel": "not-found",
    "unknown-host": "not-found",
    "unknown-profile": "not-found",
    "unknown-secret": "not-found",
    "unreachable": "delivery-failed",
    "unreadable-file": "conflict",
    "vault": "not-ready",
    "write-failed": "not-ready",
    "wrong-usage": "validation-failed",
}
# Types of pydantic's errors, and their codes in problem documents.
_TYPES = {
    "extra_forbidden": "unknown-key",
    "missing": "missing-key",
    "literal_error": "bad-value",
    "enum": "bad-value",
    "string_pattern_mismatch": "bad-format",
    "string_too_long": "too-long",
    "string_too_short": "too-short",
    "too_long": "too-long",
    "too_short": "too-short",
    "greater_than_equal": "out-of-range",
    "less_than_equal": "out-of-range",
    "greater_than": "out-of-range",
    "less_than": "out-of-range",
}


def build_problem(
    error: TocsinError, codes: Mapping[type[TocsinError], str], *, brief: bool = False
) -> HttpProblemError:
    """Return the problem for an error of a service; `codes` has the problem codes of one feature's errors.

    A `brief` problem is for callers without read access: it omits the hint, which may name other records.
    """
    code = next((code for known, code in codes.items() if isinstance(error, known)), "")
    code = code or (error.code if error.code in PROBLEMS else _CODES.get(error.code, ""))
    if not code:
        log.warning("an error has no problem type", extra={"code": error.code, "type": type(error).__name__})
        code = "conflict"
    if brief and code in {"not-found", "run-already-active"}:
        return HttpProblemError(code, f"{PROBLEMS[code].title}. Use a token with the scope read to see the details.")
    detail = as_detail(str(error) if brief else error.sentence())
    if code == "validation-failed" and error.body_key:
        return HttpProblemError(code, detail, [field_error([error.body_key], "bad-value", detail)])
    return HttpProblemError(code, detail)


def as_detail(sentence: str) -> str:
    """Return the sentence of an error as the `detail` of a problem: with a capital letter and a full stop."""
    return f"{sentence[:1].upper()}{sentence[1:]}{'' if sentence.endswith(('.', '?', '!')) else '.'}"


def refuse(pointer: Sequence[str | int], code: str, detail: str) -> HttpProblemError:
    """Return the problem about one value of the body; `pointer` is its JSON Pointer."""
    return HttpProblemError("validation-failed", "1 field needs attention", [field_error(pointer, code, detail)])


def refuse_parameter(name: str, code: str, detail: str) -> HttpProblemError:
    """Return the problem about one query parameter."""
    errors = [{"parameter": name[:MAX_KEY], "code": code, "detail": detail}]
    return HttpProblemError("validation-failed", f"The query parameter {name[:MAX_KEY]} is invalid", errors)


def parse_time(name: str, text: str) -> float | None:
    """Parse the time in a query parameter, `None` if it is missing; raise a problem if it is invalid."""
    try:
        return parse_timestamp(text) if text else None
    except ValueError as error:
        raise refuse_parameter(name, "bad-value", f"Must be {error}") from None


def field_error(pointer: Sequence[str | int], code: str, detail: str, near: str | None = None) -> dict[str, object]:
    """Return the entry of a problem document about one value of the body."""
    issue = JsonIssue(tuple(pointer), code, detail)
    entry: dict[str, object] = {"pointer": issue.pointer, "code": code, "detail": detail}
    if issue.key:
        entry["field"] = issue.key
    return {**entry, **({"suggestion": near} if near else {})}


def problem_of_validation(error: RequestValidationError, names: Sequence[str]) -> HttpProblemError:
    """Return the problem about a request that failed validation; `names` are the permitted keys of its body."""
    found = error.errors()
    if any(each["type"] == "json_invalid" for each in found):
        return HttpProblemError("invalid-request", "The body is not valid JSON in UTF-8.")
    entries = [_entry(each, names) for each in found[:MAX_ERRORS]]
    count = "1 field needs" if len(found) == 1 else f"{len(found)} fields need"
    more = f"; the first {MAX_ERRORS} are listed" if len(found) > MAX_ERRORS else ""
    return HttpProblemError("validation-failed", f"{count} attention{more}", entries)


def _entry(found: Mapping[str, Any], names: Sequence[str]) -> dict[str, object]:
    where, *steps = found["loc"]
    code = _TYPES.get(found["type"], "wrong-type" if str(found["type"]).endswith("_type") else "bad-value")
    detail = _SENTENCES.get(code) or str(found["msg"]).removeprefix("Value error, ")
    if where in {"query", "path", "header"}:
        return {"parameter": str(steps[0])[:MAX_KEY] if steps else "", "code": code, "detail": detail}
    # pydantic adds the names of union members to the path; they are not part of the document.
    near = near_word(str(steps[-1]), names) if code == "unknown-key" and steps else None
    return field_error(steps, code, detail, near)


_OF_RECORDS = {UNKNOWN: "Unknown field", MISSING: "Required"}


@contextmanager
def pointing_out(body: Mapping[str, Any]) -> Iterator[None]:
    """Turn the errors of a body into a problem, in the order of the body, missing keys last."""
    try:
        yield
    except InvalidRecordError as error:
        if not error.issues:  # not the body is wrong, but the record it is about
            raise HttpProblemError("conflict", as_detail(error.sentence())) from None
        places = {name: place for place, name in enumerate(body)}
        issues = sorted(error.issues, key=lambda issue: places.get(str(next(iter(issue.steps), "")), len(places)))
        count = "1 field needs" if error.count == 1 else f"{error.count} fields need"
        more = f"; the first {MAX_ERRORS} are listed" if error.count > len(issues) else ""
        raise HttpProblemError(
            "validation-failed", f"{count} attention{more}", [_record_entry(issue, body) for issue in issues]
        ) from None


def _record_entry(issue: JsonIssue, body: Mapping[str, Any]) -> dict[str, object]:
    entry: dict[str, object] = {
        "pointer": issue.pointer,
        "code": "bad-value" if issue.code == WRONG_VALUE else issue.code,
        "detail": issue.detail if issue.others else _OF_RECORDS.get(issue.code, issue.detail),
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
