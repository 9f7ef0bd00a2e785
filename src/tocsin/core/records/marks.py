"""Marks for the fields of public records.

A record is a frozen dataclass or a named tuple, and each of its fields is public: it appears in `--json`, in responses
of the REST API, on the live topics and in the OpenAPI document, unless its type is `Private`. A text in `Annotated`
describes the field: `seq: Annotated[int, "The number of the last event that changed it."]`. Properties are public if
`@after` gives them a position. `schema_name` is the name in the OpenAPI document if it differs from the class's.

This module imports only `typing`, because commands that send import it with the records.
"""

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class FieldMark(Enum):
    """How a field is displayed."""

    PRIVATE = "it is not shown"
    FLAT = "its fields are those of the record; all are null if it is None"
    TIME = "Unix seconds, shown as RFC 3339 in UTC with milliseconds"
    WRITTEN_TIME = "RFC 3339 already"
    NULL_IF_EMPTY = "the empty text is shown as null"


class Converted(NamedTuple):
    """A field that is displayed as another value, and the type of that value."""

    show: Callable[[Any], Any]
    type: Any


Private = Annotated[T, FieldMark.PRIVATE]
Flat = Annotated[T, FieldMark.FLAT]
Time = Annotated[float, FieldMark.TIME]
WrittenTime = Annotated[str, FieldMark.WRITTEN_TIME]
TextOrNull = Annotated[str, FieldMark.NULL_IF_EMPTY]


def after(name: str) -> Callable[[F], F]:
    """Make a property public, with its position after the field `name`; its docstring is the description."""

    def mark(getter: F) -> F:
        getter.__dict__["after"] = name
        return getter

    return mark
