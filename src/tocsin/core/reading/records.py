"""Records declared once, as dataclasses: the value, what files and bodies may say of it, and its schemas.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Probe:
        url: Annotated[str, Written(TextType()), "What to fetch"]
        every_s: Annotated[float, Written(DurationType(lowest_s=1)), "How often"] = 60.0

    PROBE = record_type(Probe)

A text in `Annotated` describes the field, as in public records (`tocsin.core.records`). `record_type` returns the type
that reads files and the members of JSON objects, `tocsin.core.reading.json_schema` builds its schemas, and
`tocsin.rest.bodies` the models of requests.
"""

from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, NamedTuple, get_type_hints

from tocsin.core.reading.fields import Field, FieldType, RecordType


@dataclass(frozen=True, slots=True, eq=False)  # types are hashed with the content of their `Annotated`
class Written:
    """How a dataclass field is written in files and bodies; fields without it are not written."""

    type: FieldType
    nullable: bool = False  # whether `null` is accepted, and means absent
    inferred: bool = False  # whether the reader of the record computes the value of an absent field
    examples: tuple[Any, ...] = ()


class DeclaredField(NamedTuple):
    """A written field of a dataclass: its Python type without `Written`, and its default."""

    name: str
    annotation: Any
    written: Written
    doc: str
    default: Any  # MISSING if it is required


def declared_fields(record: type) -> Iterator[DeclaredField]:
    """Yield the written fields of a dataclass."""
    hints = get_type_hints(record, include_extras=True)
    for each in fields(record):
        notes = getattr(hints[each.name], "__metadata__", ())
        written = next((note for note in notes if isinstance(note, Written)), None)
        if written is not None:
            kind: Any = hints[each.name].__origin__
            doc = next((note for note in notes if isinstance(note, str)), "")
            for note in notes:
                kind = kind if note is written or note is doc else Annotated[kind, note]
            default = each.default if each.default_factory is MISSING else each.default_factory()
            yield DeclaredField(each.name, kind, written, doc, default)


def record_type(record: type, name: str = "") -> RecordType:
    """Return the type that reads a record; `name` is the name of its schema in an OpenAPI document."""
    return RecordType(tuple(map(_field, declared_fields(record))), name)


def _field(declared: DeclaredField) -> Field:
    written, default = declared.written, declared.default
    is_required = default is MISSING and not written.inferred
    return Field(
        declared.name,
        written.type,
        required=is_required,
        default=None if default is MISSING or written.inferred else default,
        nullable=written.nullable,
        doc=declared.doc,
        examples=written.examples,
    )
