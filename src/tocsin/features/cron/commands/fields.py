"""The fields of a job as options."""

import argparse
from typing import Any, NamedTuple

from tocsin.features.cron.definitions.job_fields import JOB
from tocsin.features.cron.model import JobType
from tocsin.scheduling.missed import CatchUp
from tocsin.scheduling.overlap import Overlap
from tocsin.terminal.text import readable


class _Option(NamedTuple):
    """How an option is written; by default it takes a text."""

    flags: tuple[str, ...]
    metavar: str = ""
    kind: str = "text"  # text, number, decimal, words, pairs, codes
    choices: tuple[str, ...] = ()


_OPTIONS = {
    "name": _Option(("--name",), "NAME"),
    "schedule": _Option(("--schedule",), "SCHEDULE"),
    "command": _Option(("--command",), "COMMAND"),
    "description": _Option(("--description",), "TEXT"),
    "type": _Option(("--type",), choices=tuple(map(str, JobType))),
    "timezone": _Option(("--timezone", "--zone"), "ZONE"),
    "output": _Option(("--output",), "DESTINATION"),
    "output_on": _Option(("--output-on",), "WHEN"),
    "params": _Option(("--param",), "K=V", "pairs"),
    "env": _Option(("--env",), "K=V", "pairs"),
    "working_dir": _Option(("--working-dir",), "DIR"),
    "timeout_seconds": _Option(("--timeout",), "SECONDS", "number"),
    "overlap": _Option(("--overlap",), choices=tuple(map(str, Overlap))),
    "max_queued": _Option(("--max-queued",), "N", "number"),
    "max_parallel": _Option(("--max-parallel",), "N", "number"),
    "catchup": _Option(("--catchup",), choices=tuple(map(str, CatchUp))),
    "catchup_window_seconds": _Option(("--catchup-window",), "SECONDS", "number"),
    "jitter_seconds": _Option(("--jitter",), "SECONDS", "number"),
    "success_exit_codes": _Option(("--success-exit-codes",), "N[,N...]", "codes"),
    "history_limit": _Option(("--history-limit",), "N", "number"),
    "history_days": _Option(("--history-days",), "N", "number"),
    "log_max_bytes": _Option(("--log-max-bytes",), "N", "number"),
    "start_at": _Option(("--start-at",), "TIME"),
    "end_at": _Option(("--end-at",), "TIME"),
    "auto_disable_after": _Option(("--auto-disable-after",), "N", "number"),
    "tags": _Option(("--tag",), "TAG", "words"),
}
_RETRY = {
    "max_attempts": _Option(("--max-attempts",), "N", "number"),
    "delay_seconds": _Option(("--retry-delay",), "SECONDS", "number"),
    "backoff": _Option(("--retry-backoff",), "FACTOR", "decimal"),
    "max_delay_seconds": _Option(("--retry-max-delay",), "SECONDS", "number"),
    "on_exit_codes": _Option(("--retry-on",), "N[,N...]", "codes"),
}


def add_fields(parser: argparse.ArgumentParser) -> None:
    """Add an option for every field of a job."""
    fields = {field.name: field for field in JOB.fields}
    group = parser.add_argument_group("fields")
    for name, option in _OPTIONS.items():
        _add(group, f"field_{name}", option, fields[name].doc)
    for field in fields["retry"].type.fields:  # type: ignore[union-attr]  # it is a record
        _add(group, f"retry_{field.name}", _RETRY[field.name], field.doc)
    group.add_argument("--disabled", action="store_true", help="store the job with its schedule disabled")


def _add(group: Any, dest: str, option: _Option, doc: str) -> None:
    more: dict[str, Any] = {"choices": option.choices} if option.choices else {"metavar": option.metavar}
    if option.kind in {"pairs", "words"}:
        more |= {"action": "append"}
    if option.kind in {"number", "decimal"}:
        more |= {"type": _number if option.kind == "number" else _decimal}
    if option.kind == "codes":
        more |= {"type": _codes}
    group.add_argument(*option.flags, dest=dest, default=None, help=doc.replace("%", "%%"), **more)


def fields_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields that were given; an empty text means the default."""
    given = {name: getattr(arguments, f"field_{name}") for name in _OPTIONS}
    found = {name: _value(arguments, name, value) for name, value in given.items() if value is not None}
    retry = {name: getattr(arguments, f"retry_{name}") for name in _RETRY}
    retry = {name: value for name, value in retry.items() if value is not None}
    if retry:
        found["retry"] = retry
    if arguments.disabled:
        found["enabled"] = False
    return found


def _value(arguments: argparse.Namespace, name: str, value: Any) -> Any:
    if isinstance(value, str):
        text = readable(value)
        return text if text or _OPTIONS[name].choices else None
    if _OPTIONS[name].kind != "pairs":
        return value
    pairs = [readable(each).partition("=") for each in value]
    for key, equals, _ in pairs:
        if not (key and equals):
            arguments.parser.error(f"{_OPTIONS[name].flags[0]} {key}: write NAME=VALUE")
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
