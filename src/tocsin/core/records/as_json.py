"""The JSON of public records: for `--json`, for responses of the REST API, and for the live topics."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from tocsin.core.records.marks import Converted, FieldMark
from tocsin.core.records.reading import is_record, public_fields
from tocsin.core.time.timestamps import timestamp

Convert = Callable[[Any], Any]


def to_json(value: Any, type_: Any = None) -> Any:
    """Return a record, or a container of records, as plain dictionaries, lists, texts and numbers.

    `type_` is the displayed type, by default the class of `value`. If it is a base class, only its own fields are
    included, as in lists.
    """
    shown: Any = type(value) if type_ is None else type_
    convert = _converter(shown)
    return convert(value) if convert else value


@cache
def _converter(type_: Any) -> Convert | None:
    """Return the converter for values of a type, or `None` if they are JSON already."""
    origin, arguments = get_origin(type_), get_args(type_)
    if origin is Annotated:
        return _marked(arguments[0], type_.__metadata__)
    if origin in {Union, UnionType}:
        return _of_choices(arguments)
    if is_record(type_):
        return _of_record(type_)
    kind = origin or type_
    if not isinstance(kind, type):
        return None
    if issubclass(kind, PurePath):
        return str
    if issubclass(kind, Mapping):
        return _of_mapping(arguments)
    return _of_items(arguments) if issubclass(kind, Sequence) and not issubclass(kind, str) else None


def _marked(type_: Any, marks: Sequence[Any]) -> Convert | None:
    for mark in marks:
        if mark is FieldMark.TIME:
            return timestamp
        if mark is FieldMark.NULL_IF_EMPTY:
            return lambda text: text or None
        if isinstance(mark, Converted):
            return _shown(mark)
    return _converter(type_)


def _shown(mark: Converted) -> Convert:
    convert = _converter(mark.type)
    return (lambda value: convert(mark.show(value))) if convert else mark.show


def _of_choices(choices: Sequence[Any]) -> Convert | None:
    """Return the converter for a union; records are distinguished by their classes."""
    converters = {each: convert for each in choices if (convert := _converter(each))}
    if not converters:
        return None
    if len(converters) == 1:
        [convert] = converters.values()
        if len(choices) == 2 and type(None) in choices:
            return lambda value: None if value is None else convert(value)
    classes = {each: convert for each, convert in converters.items() if isinstance(each, type)}
    return lambda value: classes[type(value)](value) if type(value) in classes else value


def _of_record(type_: Any) -> Convert:
    steps: list[tuple[str, Convert, Convert | None]] = []  # filled below: a record may contain records of its class

    def convert(record: Any) -> dict[str, Any]:
        if isinstance(record, dict):
            return record
        return {name: show(get(record)) if show else get(record) for name, get, show in steps}

    steps += [(name, field.get, _converter(field.type)) for name, field in public_fields(type_).items()]
    return convert


def _of_mapping(arguments: Sequence[Any]) -> Convert:
    convert = _converter(arguments[1]) if len(arguments) == 2 else None
    if convert is None:
        return dict
    return lambda mapping: {key: convert(value) for key, value in mapping.items()}


def _of_items(arguments: Sequence[Any]) -> Convert:
    converters = {_converter(each) for each in arguments if each is not ...}
    if converters in (set(), {None}):
        return list
    [convert] = converters
    return lambda items: [convert(item) for item in items]  # type: ignore[misc]  # not None, as it is no element above
