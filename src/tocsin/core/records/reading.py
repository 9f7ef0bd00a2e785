"""The public fields of a record class, with their types and descriptions."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from inspect import cleandoc
from operator import attrgetter
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from tocsin.core.records.marks import FieldMark


class PublicField(NamedTuple):
    """One public field; `get` returns its value from a record."""

    type: Any
    get: Callable[[Any], Any]
    doc: str = ""


def is_record(type_: Any) -> bool:
    """Whether a type is a record class, or one with parameters such as `Page[RunSummary]`."""
    found = get_origin(type_) or type_
    return isinstance(found, type) and (is_dataclass(found) or hasattr(found, "_fields"))


@cache
def public_fields(record: Any) -> Mapping[str, PublicField]:
    """Return the public fields of a record class by name, in display order.

    A field of the class itself replaces one of the same name from a flat field, and takes its position.
    """
    cls = get_origin(record) or record
    chosen = _parameters(cls, record)
    hints = {name: _chosen(type_, chosen) for name, type_ in get_type_hints(cls, include_extras=True).items()}
    found: dict[str, PublicField] = {}
    own = {name: _field(hints[name], attrgetter(name)) for name in _declared(cls) if not _is_marked(hints[name])}
    for name in _declared(cls):
        if name in own:
            found[name] = own[name]
        elif FieldMark.FLAT in hints[name].__metadata__:
            found |= {inner: own.get(inner, field) for inner, field in _flattened(hints[name], name).items()}
    return _with_properties(cls, found)


def _declared(cls: Any) -> list[str]:
    return [each.name for each in fields(cls)] if is_dataclass(cls) else list(cls._fields)


def _parameters(cls: Any, record: Any) -> dict[Any, Any]:
    """Return the types for the type variables of a class: the parameters of `record`, and of its bases."""
    named = [(get_origin(each), get_args(each)) for each in (*getattr(cls, "__orig_bases__", ()), record)]
    return {
        variable: type_
        for origin, types in named
        for variable, type_ in zip(getattr(origin, "__parameters__", ()), types, strict=False)
    }


def _chosen(type_: Any, chosen: Mapping[Any, Any]) -> Any:
    """Return a type with its type variables replaced."""
    if isinstance(type_, TypeVar):
        return chosen.get(type_, Any)
    variables = getattr(type_, "__parameters__", ())
    return type_[tuple(chosen[each] for each in variables)] if variables and chosen else type_


def _is_marked(type_: Any) -> bool:
    """Whether a field is private or flat."""
    return get_origin(type_) is Annotated and not {FieldMark.PRIVATE, FieldMark.FLAT}.isdisjoint(
        mark for mark in type_.__metadata__ if isinstance(mark, FieldMark)
    )


def _field(type_: Any, get: Callable[[Any], Any]) -> PublicField:
    """Return a field with the description from its annotation."""
    marks = type_.__metadata__ if get_origin(type_) is Annotated else ()
    return PublicField(type_, get, next((mark for mark in marks if isinstance(mark, str)), ""))


def _flattened(type_: Any, name: str) -> dict[str, PublicField]:
    """Return the fields of a flat field; they may be null if it may be `None`."""
    inner = get_args(type_)[0]
    choices = [each for each in get_args(inner) or (inner,) if each is not type(None)]
    may_be_none, outer = inner is not choices[0], attrgetter(name)
    return {
        key: PublicField(field.type | None if may_be_none else field.type, _through(outer, field.get), field.doc)
        for key, field in public_fields(choices[0]).items()
    }


def _through(outer: Callable[[Any], Any], inner: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def get(record: Any) -> Any:
        return None if (part := outer(record)) is None else inner(part)

    return get


def _with_properties(cls: type, found: Mapping[str, PublicField]) -> Mapping[str, PublicField]:
    """Return the fields with the public properties of the class at their positions."""
    placed: dict[str, dict[str, PublicField]] = {}
    for name, getter in _public_properties(cls).items():
        hints = get_type_hints(getter, include_extras=True)
        field = PublicField(hints["return"], attrgetter(name), cleandoc(getter.__doc__ or ""))
        placed.setdefault(getter.__dict__["after"], {})[name] = field
    shown: dict[str, PublicField] = {}
    for name, field in found.items():
        shown |= {name: field, **placed.get(name, {})}
    return shown


def _public_properties(cls: type) -> dict[str, Any]:
    members = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
    getters = {name: value.fget for name, value in members.items() if isinstance(value, property)}
    return {name: getter for name, getter in getters.items() if "after" in getattr(getter, "__dict__", ())}
