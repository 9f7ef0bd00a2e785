"""How operations are described in the OpenAPI document: their problems by status, and the headers that they honour."""

from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.rest.problems import PROBLEMS

PROBLEM_JSON = "application/problem+json"
CODES = "x-problems"  # the codes that the problems of a status may have
Answers = dict[int | str, dict[str, Any]]

_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A repeated request with the same key gets the first answer, and changes nothing again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
_PREFER = {
    "name": "Prefer",
    "in": "header",
    "required": False,
    "description": "`wait=N` waits up to N seconds, at most 30, for the end of what is started (RFC 7240).",
    "schema": {"type": "string"},
    "example": "wait=10",
}
_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The `ETag` of the record that was read; 412 where it has changed since.",
    "schema": {"type": "string"},
}


def headers_of(*, once: bool, waits: bool, is_conditional: bool) -> list[dict[str, Any]]:
    """Return the parameters for the headers that an operation honours."""
    honoured = {"key": (once, _KEY), "prefer": (waits, _PREFER), "match": (is_conditional, _IF_MATCH)}
    return [dict(parameter) for wanted, parameter in honoured.values() if wanted]


def answers_of(codes: Sequence[str], further: Mapping[int | str, Mapping[str, Any]]) -> Answers:
    """Return the answers by status: the problems with these codes, and what an operation describes itself."""
    found: Answers = {}
    for code in sorted(set(codes), key=lambda code: (PROBLEMS[code].status, code)):
        status, title, _ = PROBLEMS[code]
        told = f"{title} (`{code}`)"
        before = found.get(status)
        found[status] = {
            "description": f"{before['description']}; {told}" if before else told,
            "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            CODES: [*(before[CODES] if before else ()), code],
        }
    for given, answer in further.items():
        found[given] = _joined(found.get(given, {}), answer)
    return found


def _joined(problems: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return an answer that may also be a problem."""
    if not problems:
        return dict(answer)
    told = [each["description"] for each in (answer, problems) if each.get("description")]
    content = {**problems["content"], **answer.get("content", {})}
    return {**answer, "description": "; ".join(told), "content": content, CODES: problems[CODES]}
