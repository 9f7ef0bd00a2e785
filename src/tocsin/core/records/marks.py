"""How the fields of a public record are declared.

A record is a frozen dataclass or a named tuple, and each of its fields is public: it appears in `--json`, in answers of
the REST API, on the live topics and in the OpenAPI document, unless its type is `Private`. A text in `Annotated`
describes the field: `seq: Annotated[int, "The number of the last event that changed it."]`. Properties are public where
`@after` gives them a place. `schema_name` is the name in the OpenAPI document where that differs from the class's.

This module imports nothing but `typing`: commands that send load it with the records.
"""

from collections.abc import Callable
from enum import Enum
from typing import Annotated, Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class FieldMark(Enum):
    """How a field is shown."""

    PRIVATE = "it is not shown"
    FLAT = "its fields are those of the record; all are null if it is None"
    TIME = "Unix seconds, shown as RFC 3339 in UTC with milliseconds"
    NULL_IF_EMPTY = "the empty text is shown as null"


class Converted(NamedTuple):
    """A field that is shown as another value, and the type of that value."""

    show: Callable[[Any], Any]
    type: Any


Private = Annotated[T, FieldMark.PRIVATE]
Flat = Annotated[T, FieldMark.FLAT]
Time = Annotated[float, FieldMark.TIME]
TextOrNull = Annotated[str, FieldMark.NULL_IF_EMPTY]


def after(name: str) -> Callable[[F], F]:
    """Make a property public, at the place after the field `name`; its docstring describes it."""

    def mark(getter: F) -> F:
        getter.__dict__["after"] = name
        return getter

    return mark
