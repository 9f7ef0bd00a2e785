"""The fields of a job as options, made from their declaration."""

import argparse
from typing import Any

from tocsin.core.reading.fields import ChoiceType, Field, IntegerType, ListType, MappingType, NumberType
from tocsin.features.cron.model import JOB, RETRY
from tocsin.terminal.text import readable

# Options that are not called like their field, without its unit.
_FLAGS = {
    "timezone": ("--timezone", "--zone"),
    "params": ("--param",),
    "tags": ("--tag",),
    "max_attempts": ("--max-attempts",),
    "on_exit_codes": ("--retry-on",),
}
_METAVARS = {
    "description": "TEXT",
    "timezone": "ZONE",
    "output": "DESTINATION",
    "output_on": "WHEN",
    "working_dir": "DIR",
    "start_at": "TIME",
    "end_at": "TIME",
    "tags": "TAG",
    "backoff": "FACTOR",
}
# `--disabled` and the options of the retry stand for the first two; a job is paused by a command of its own.
_FIELDS = {each.name: each for each in JOB.fields if each.name not in {"enabled", "retry", "paused_until"}}


def add_fields(parser: argparse.ArgumentParser) -> None:
    """Add an option for every field of a job."""
    group = parser.add_argument_group("fields")
    for field in _FIELDS.values():
        _add(group, f"field_{field.name}", "--", field)
    for field in RETRY.fields:
        _add(group, f"retry_{field.name}", "--retry-", field)
    group.add_argument("--disabled", action="store_true", help="store the job with its schedule disabled")


def _add(group: Any, dest: str, prefix: str, field: Field) -> None:
    flags = _FLAGS.get(field.name, (_flag(prefix, field),))
    group.add_argument(*flags, dest=dest, default=None, help=field.doc.replace("%", "%%"), **_values(field))


def _flag(prefix: str, field: Field) -> str:
    return prefix + field.name.removesuffix("_seconds").replace("_", "-")


def _values(field: Field) -> dict[str, Any]:
    """Return the arguments of an option for argparse."""
    metavar = {"metavar": _METAVARS.get(field.name, field.name.upper())}
    match field.type:
        case ChoiceType(words):
            return {"choices": tuple(map(str, words))}
        case IntegerType():
            return {"type": _number, "metavar": "SECONDS" if field.name.endswith("_seconds") else "N"}
        case NumberType():
            return {"type": _decimal, **metavar}
        case MappingType():
            return {"action": "append", "metavar": "K=V"}
        case ListType(IntegerType()):
            return {"type": _codes, "metavar": "N[,N...]"}
        case ListType():
            return {"action": "append", **metavar}
    return metavar


def fields_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields that were given; an empty text means the default."""
    given = {name: getattr(arguments, f"field_{name}") for name in _FIELDS}
    found = {name: _value(arguments, name, value) for name, value in given.items() if value is not None}
    retry = {each.name: getattr(arguments, f"retry_{each.name}") for each in RETRY.fields}
    retry = {name: value for name, value in retry.items() if value is not None}
    if retry:
        found["retry"] = retry
    if arguments.disabled:
        found["enabled"] = False
    return found


def _value(arguments: argparse.Namespace, name: str, value: Any) -> Any:
    field = _FIELDS[name]
    if isinstance(value, str):
        text = readable(value)
        return text if text or isinstance(field.type, ChoiceType) else None
    if not isinstance(field.type, MappingType):
        return value
    pairs = [readable(each).partition("=") for each in value]
    for key, equals, _ in pairs:
        if not (key and equals):
            flag, *_ = _FLAGS.get(name, (_flag("--", field),))
            arguments.parser.error(f"{flag} {key}: write NAME=VALUE")
    return {key: text for key, _, text in pairs}


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise argparse.ArgumentTypeError("must be a whole number")
    return int(text)


def _decimal(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a number") from None


def _codes(text: str) -> list[int]:
    return [_number(each.strip()) for each in text.split(",")]
