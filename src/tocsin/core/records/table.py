"""Public records in tables of the terminal."""

from collections.abc import Collection, Mapping
from typing import Any

from tocsin.core.records.as_json import to_json
from tocsin.core.time.timestamps import timestamp


def field_rows(record: Any, hidden: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return a record as rows of field and value, without fields that are `hidden` or empty."""
    shown = to_json(record)
    return [
        (name, cell(value)) for name, value in shown.items() if name not in hidden and value not in (None, "", [], {})
    ]


def cell(value: Any) -> str:
    """Return a JSON value as the text of a cell: `a, b` for a list, `name=value` for each entry of a mapping."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={cell(each)}" for name, each in value.items())
    return ", ".join(map(cell, value)) if isinstance(value, list | tuple) else str(value)


def short_time(seconds: float | None, end: int = 16) -> str:
    """Return Unix seconds as `2026-11-20 08:00` in UTC, or with seconds if `end` is 19; empty for `None`."""
    return (timestamp(seconds) or "")[:end].replace("T", " ")
