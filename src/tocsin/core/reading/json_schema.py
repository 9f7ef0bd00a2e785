"""JSON schemas of field types, for OpenAPI documents and for editors of files."""

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any, TypeVar, cast

from tocsin.core.reading.fields import (
    DURATION,
    MAX_WHOLE,
    AnyType,
    BooleanType,
    ChoiceType,
    DurationType,
    Field,
    FieldType,
    IntegerType,
    ListOrRecordType,
    ListType,
    MappingType,
    NumberType,
    OneOrManyType,
    PlainType,
    RecordType,
    TextType,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"

T = TypeVar("T", bound=FieldType)


def build_schema(type_: FieldType) -> dict[str, Any]:
    """Return the schema of a type; a named record becomes a reference."""
    match type_:
        case TextType():
            return _text(type_)
        case IntegerType(lowest, highest, words):
            number = {"type": "integer", **_bounds(lowest, highest)}
            return {"anyOf": [number, {"enum": list(words)}]} if words else number
        case NumberType(lowest, highest):
            return {"type": "number", **_bounds(lowest, highest)}
        case BooleanType():
            return {"type": "boolean"}
        case DurationType(lowest, highest):
            bounds = _bounds(lowest, highest)
            return {"type": ["number", "string"], **bounds, "pattern": rf"^\s*{DURATION}\s*$", **_said(_NO_DURATION)}
        case ChoiceType(words, blank):
            return {"enum": ["", *words] if blank else list(words)}
        case AnyType(schema):
            return dict(schema)
    return _of_many(type_)


def _of_many(
    type_: PlainType | ListType | OneOrManyType | ListOrRecordType | MappingType | RecordType,
) -> dict[str, Any]:
    match type_:
        case PlainType():
            return {"type": ["string", "number", "boolean", "array"], "items": {}}
        case OneOrManyType(item, allow_empty):
            return {"anyOf": [build_schema(item), build_schema(ListType(item, allow_empty))]}
        case ListType(item, allow_empty, max_items):
            most = {"maxItems": max_items} if max_items else {}
            return {"type": "array", "items": build_schema(item), **({} if allow_empty else {"minItems": 1}), **most}
        case ListOrRecordType(items, record):
            return {"if": {"type": "array"}, "then": build_schema(items), "else": build_schema(record)}
        case MappingType(item, pattern, _, max_keys):
            names = {"propertyNames": {"pattern": f"^(?:{pattern})$"}} if pattern else {}
            most = {"maxProperties": max_keys} if max_keys else {}
            return {"type": "object", "additionalProperties": build_schema(item), **names, **most}
        case RecordType():
            return reference(type_.name) if type_.name else record_schema(type_)


def record_schema(record: RecordType) -> dict[str, Any]:
    """Return the schema of a record, with its fields."""
    schema: dict[str, Any] = {
        "type": "object",
        "required": [field.name for field in record.fields if field.required],
        "properties": {field.name: field_schema(field) for field in record.fields},
    }
    described = {"description": record.doc} if record.doc else {}
    found = {**schema, **({"additionalProperties": False} if record.closed else {}), **described}
    return {"anyOf": [schema["properties"][record.short], found]} if record.short else found


def file_schema(title: str, type_: FieldType) -> dict[str, Any]:
    """Return the schema of a file whose root has this type."""
    return {"$schema": DIALECT, "title": title, **build_schema(written(type_))}


def either_schema(title: str, test: Mapping[str, Any], then: FieldType, otherwise: FieldType) -> dict[str, Any]:
    """Return the schema of a file whose root has the type `then` if it satisfies `test`, else `otherwise`."""
    chosen = {"if": test, "then": build_schema(written(then)), "else": build_schema(written(otherwise))}
    return {"$schema": DIALECT, "title": title, **chosen}


def written(type_: T) -> T:
    """Return a type as YAML files have it: without names, and a number where a text is expected is a text."""
    return _changed(without_names(type_), _as_in_yaml)


def without_names(type_: T) -> T:
    """Return a type whose records have no names: their schemas are inlined instead of referenced."""
    return _changed(type_, lambda each: replace(each, name="") if isinstance(each, RecordType) else each)


def _changed(type_: T, change: Callable[[FieldType], FieldType]) -> T:
    """Return a type with `change` applied to it and to all types inside it."""
    inner: FieldType = type_
    match inner:
        case RecordType(members):
            inner = replace(inner, fields=tuple(replace(each, type=_changed(each.type, change)) for each in members))
        case ListType(item) | OneOrManyType(item) | MappingType(item):
            inner = replace(inner, item=_changed(item, change))
        case ListOrRecordType(items, record):
            inner = replace(inner, items=_changed(items, change), record=_changed(record, change))
    return cast("T", change(inner))


def _as_in_yaml(type_: FieldType) -> FieldType:
    if not isinstance(type_, TextType) or "enum" in type_.schema:
        return type_
    shown = {} if type_.blank or type_.pattern else {"pattern": r"\S"}
    rule = _said(f"This is {type_.rule}") if type_.rule else {}
    return replace(type_, schema={"type": ["string", "number"], **shown, **rule, **type_.schema})


def _said(message: str) -> dict[str, str]:
    """Return what editors show if the pattern does not match; other programs ignore this keyword."""
    return {"patternErrorMessage": message}


_NO_DURATION = "This is not a duration such as 90s, 15m or 1h30m"


def patch_schema(record: RecordType, always: Container[str] = ()) -> dict[str, Any]:
    """Return the schema of a JSON Merge Patch of a record: no field is required, and null restores a default.

    The fields in `always` have no default; within a mapping, null removes an entry.
    """
    schema = record_schema(record)
    fixed = {field.name for field in record.fields if field.required or field.name in always}
    fields = {name: field if name in fixed else _patched(field) for name, field in schema["properties"].items()}
    return {**schema, "required": [], "properties": fields}


def _patched(schema: dict[str, Any]) -> dict[str, Any]:
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        schema = {**schema, "additionalProperties": _nullable(values)}
    return _nullable(schema)


def field_schema(field: Field) -> dict[str, Any]:
    schema = build_schema(field.type)
    if field.nullable:
        schema = _nullable(schema)
    if field.default is not None:
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        schema = {"default": default, **schema}  # a type with a parser gives the text of its default itself
    if field.examples:
        schema = {**schema, "examples": list(field.examples)}
    return {**schema, "description": field.doc} if field.doc else schema


def reference(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _text(type_: TextType) -> dict[str, Any]:
    limits: dict[str, Any] = {} if type_.blank else {"minLength": 1}
    if type_.max_chars:
        limits["maxLength"] = type_.max_chars
    if type_.pattern:
        limits["pattern"] = f"^(?:{type_.pattern})$"
    return {"type": "string", **limits, **type_.schema}


def _bounds(lowest: float, highest: float) -> dict[str, Any]:
    lower = {"minimum": lowest} if isfinite(lowest) else {}
    return {**lower, **({"maximum": highest} if highest < MAX_WHOLE else {})}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if types := schema.get("type"):
        return {**schema, "type": list(dict.fromkeys([*([types] if isinstance(types, str) else types), "null"]))}
    if {"type": "null"} in schema.get("anyOf", ()):
        return schema
    return {"anyOf": [schema, {"type": "null"}]}
