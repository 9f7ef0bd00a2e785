"""Request bodies, declared like the records of files; pydantic models made from them parse and describe them."""

import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field
from enum import Enum
from functools import cache
from math import isfinite
from typing import Annotated, Any, ClassVar, Self, TypeGuard

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    TypeAdapter,
    WithJsonSchema,
    create_model,
    field_validator,
)
from pydantic import Field as ModelField

from tocsin.core.reading.fields import (
    MAX_WHOLE,
    BooleanType,
    FieldType,
    IntegerType,
    ListType,
    NumberType,
    OneOrManyType,
    RecordType,
    TextType,
)
from tocsin.core.reading.json_schema import build_schema, without_names
from tocsin.core.reading.json_value import JsonIssues, JsonValue, plain_number, to_members
from tocsin.core.reading.records import DeclaredField, Written, declared_fields


@dataclass(frozen=True, kw_only=True)  # without slots, so that a body can also inherit the fields of a record
class RequestBody:
    """A parsed body: unknown keys are rejected, and no value is converted to another type.

    Subclasses are dataclasses whose fields are `Written`. If an operation also accepts bodies that are not JSON, the
    text of such a body becomes the value of `text_field`.
    """

    text_field: ClassVar[str] = ""
    given: frozenset[str] = field(default=frozenset(), repr=False, compare=False)  # the fields of the body

    @classmethod
    def read(cls, value: Any) -> Self:
        """Parse a JSON object; raise pydantic's ValidationError."""
        found: Self = _adapter(_class(cls)).validate_python(value)
        return found

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        return _adapter(_class(cls)).json_schema()

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the permitted keys of the body."""
        return tuple(each.name for each in declared_fields(cls))

    def values(self) -> dict[str, Any]:
        """Return the values of the fields, defaults included."""
        return {name: getattr(self, name) for name in self.names()}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> Any:
        """Return the schema with which pydantic parses the body: that of the generated model."""
        made: Any = Annotated[_build_model(_class(cls)), AfterValidator(cls._of_model)]
        return handler.generate_schema(Annotated[made, BeforeValidator(cls._of_text)] if cls.text_field else made)

    @classmethod
    def _of_model(cls, read: BaseModel) -> Self:
        given = frozenset(read.model_fields_set)
        return cls(**{name: getattr(read, name) for name in given}, given=given)

    @classmethod
    def _of_text(cls, value: Any) -> Any:
        if not isinstance(value, bytes):
            return value
        try:
            return {cls.text_field: value.decode()}
        except UnicodeDecodeError:
            raise ValueError("The text must be UTF-8") from None


class _StrictModel(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    # JSON Schema, 6.1.1: `integer` includes every number without a fraction, such as 5.0.
    _whole_numbers = field_validator("*", mode="before")(plain_number)


FLAG = Written(BooleanType())
MOMENT = Written(TextType(blank=True), nullable=True)  # a time, or null for none


def text(max_chars: int, *, nullable: bool = False, examples: tuple[str, ...] = ()) -> Written:
    """Return the type of a text field that may be empty."""
    return Written(TextType(blank=True, max_chars=max_chars), nullable, examples=examples)


def _class(body: Any) -> type:
    """Return `body` unchanged: mypy confuses the hash of the class with that of its instances."""
    found: type = body
    return found


@cache
def _build_model(body: type) -> type[BaseModel]:
    members: dict[str, Any] = {each.name: (_annotation(each), _model_field(each)) for each in declared_fields(body)}
    return create_model(body.__name__, __base__=_StrictModel, __doc__=body.__doc__, **members)


def _annotation(declared: DeclaredField) -> Any:
    """Return the type of a field of the model; types that pydantic does not know are read as those of files are."""
    type_ = declared.written.type
    if not _is_ours(type_):
        return (
            Annotated[declared.annotation, AfterValidator(_by_rule(type_))] if _has_rule(type_) else declared.annotation
        )
    schema = build_schema(without_names(type_))
    return Annotated[Any, BeforeValidator(lambda value: _read(type_, value)), WithJsonSchema(schema)]


def _is_ours(type_: FieldType) -> bool:
    """Whether only our own reader knows a type: named numbers, one or many, and records."""
    match type_:
        case IntegerType(words=words):
            return bool(words)
        case ListType(item=item):
            return isinstance(item, RecordType)
    return isinstance(type_, OneOrManyType | RecordType)


def _read(type_: FieldType, value: Any) -> Any:
    issues = JsonIssues()
    read = type_.read(JsonValue(to_members(value), issues))
    if issues.count:
        raise ValueError("; ".join(map(str, issues.shown)))
    return read


def _model_field(declared: DeclaredField) -> Any:
    written = declared.written
    return ModelField(
        ... if declared.default is MISSING else declared.default,
        description=declared.doc or None,
        examples=list(written.examples) or None,
        strict=False if _is_enum(declared.annotation) else None,
        json_schema_extra={"pattern": _pattern(written.type)} if _has_rule(written.type) else None,
        **_limits(written.type),
    )


def _has_rule(type_: FieldType) -> TypeGuard[TextType]:
    """Whether the type says in words what its pattern accepts."""
    return isinstance(type_, TextType) and bool(type_.rule) and type_.parse is None


def _by_rule(type_: TextType) -> Callable[[str | None], str | None]:
    """Return a validator that refuses a text with the rule instead of its pattern."""

    def check(text: str | None) -> str | None:
        if text is not None and not re.fullmatch(type_.pattern, text):
            raise ValueError(f"This is {type_.rule}")
        return text

    return check


def _pattern(type_: TextType) -> str:
    return f"^{type_.pattern}$" if type_.pattern else ""


def _is_enum(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Enum)


def _limits(type_: FieldType) -> dict[str, Any]:
    """Return the limits of a type under pydantic's names."""
    found: dict[str, Any] = {}
    match type_:
        case _ if _is_ours(type_):
            return found
        case TextType(parse=None):
            found = {
                "min_length": 0 if type_.blank or type_.pattern else 1,
                "max_length": type_.max_chars,
                "pattern": "" if type_.rule else _pattern(type_),
            }
        case ListType():
            found = {"min_length": 0 if type_.allow_empty else 1, "max_length": type_.max_items}
        case IntegerType(lowest, highest) | NumberType(lowest, highest):
            return {
                **({"ge": lowest} if isfinite(lowest) else {}),
                **({"le": highest} if highest < MAX_WHOLE else {}),
            }
    return {name: limit for name, limit in found.items() if limit}


@cache
def _adapter(body: type) -> TypeAdapter[Any]:
    return TypeAdapter(body)
