"""The JSON Schema of public records, for OpenAPI documents."""

from collections.abc import Mapping, Sequence
from enum import Enum
from inspect import cleandoc
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from tocsin.core.records.marks import Converted, FieldMark
from tocsin.core.records.reading import PublicField, is_record, public_fields

_TIME = {"type": "string", "format": "date-time"}
_WORDS: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
}


class RecordSchemas:
    """The schemas of records and of the types that they reference; `found` has them by name.

    Schemas that are not `closed` permit fields of later versions.
    """

    def __init__(self, *, closed: bool = True) -> None:
        self._ends = {"additionalProperties": False} if closed else {}
        self.found: dict[str, dict[str, Any]] = {}
        self._classes: dict[str, Any] = {}

    def of(self, type_: Any) -> dict[str, Any]:
        """Return the schema of a type; records and enumerations are references to those in `found`."""
        if type_ in _WORDS:
            return dict(_WORDS[type_])
        origin, arguments = get_origin(type_), get_args(type_)
        if origin is Annotated:
            return self._marked(arguments[0], type_.__metadata__)
        if origin in {Union, UnionType}:
            return self._of_choices(arguments)
        if origin is Literal:
            return _of_words(arguments)
        if is_record(type_) or is_typeddict(type_) or _is_enum(type_):
            return self._reference(type_)
        return self._of_many(origin or type_, arguments)

    def _marked(self, type_: Any, marks: Sequence[Any]) -> dict[str, Any]:
        for mark in marks:
            if mark in {FieldMark.TIME, FieldMark.WRITTEN_TIME}:
                return dict(_TIME)
            if mark is FieldMark.NULL_IF_EMPTY:
                return self.of(str | None)
            if isinstance(mark, Converted):
                return self.of(mark.type)
        return self.of(type_)

    def _of_choices(self, choices: Sequence[Any]) -> dict[str, Any]:
        """Return the schema of a union; nested unions are flattened."""
        found: list[dict[str, Any]] = []
        for schema in map(self.of, choices):
            found += [each for each in schema.get("anyOf", [schema]) if each not in found]
        found.sort(key=lambda schema: schema == _WORDS[type(None)])  # null last
        return {"anyOf": found} if len(found) > 1 else found[0]

    def _of_many(self, kind: Any, arguments: Sequence[Any]) -> dict[str, Any]:
        if not isinstance(kind, type):
            raise TypeError(f"{kind!r} is not a type that a public record can have")
        if issubclass(kind, PurePath):
            return {"type": "string"}
        if issubclass(kind, Mapping):
            return self._of_mapping(*(arguments or (str, Any)))
        if issubclass(kind, tuple) and arguments[-1:] != (...,):
            items = [self.of(each) for each in arguments]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        if not issubclass(kind, Sequence):
            raise TypeError(f"{kind!r} is not a type that a public record can have")
        return {"type": "array", "items": self.of(arguments[0])}

    def _of_mapping(self, key: Any, value: Any) -> dict[str, Any]:
        names = {} if key is str else {"propertyNames": self.of(key)}
        return {"type": "object", "additionalProperties": self.of(value) or True, **names}

    def _reference(self, type_: Any) -> dict[str, Any]:
        name = _name(type_)
        if self._classes.setdefault(name, type_) != type_:
            raise TypeError(f"two public records are called {name}")
        if name not in self.found:
            self.found[name] = {}  # a record may reference itself
            self.found[name] = _of_enum(type_) if _is_enum(type_) else self.object(type_)
        return {"$ref": f"#/components/schemas/{name}"}

    def object(self, type_: Any) -> dict[str, Any]:
        fields = _typed_dict(type_) if is_typeddict(type_) else public_fields(type_)
        return {
            "type": "object",
            "title": _title(type_),
            "description": cleandoc((get_origin(type_) or type_).__doc__),
            "properties": {name: self._property(field) for name, field in fields.items()},
            "required": list(fields),
            **self._ends,
        }

    def _property(self, field: PublicField) -> dict[str, Any]:
        return {**self.of(field.type), **({"description": field.doc} if field.doc else {})}


def _typed_dict(type_: Any) -> dict[str, PublicField]:
    return {name: PublicField(hint, dict) for name, hint in get_type_hints(type_, include_extras=True).items()}


def _is_enum(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, Enum)


def _of_enum(type_: type[Enum]) -> dict[str, Any]:
    described = {"description": cleandoc(type_.__doc__)} if type_.__doc__ else {}
    return {"title": type_.__name__, **described, **_of_words([each.value for each in type_])}


def _of_words(words: Sequence[Any]) -> dict[str, Any]:
    """Return the schema of an enumeration of these texts."""
    return {"type": "string", **({"const": words[0]} if len(words) == 1 else {"enum": list(words)})}


def _title(type_: Any) -> str:
    parameters = ", ".join(map(_title, get_args(type_)))
    cls = get_origin(type_) or type_
    name: str = vars(cls).get("schema_name") or cls.__name__
    return f"{name}[{parameters}]" if parameters else name


def _name(type_: Any) -> str:
    return _title(type_).replace("[", "_").replace("]", "_").replace(", ", "_")
