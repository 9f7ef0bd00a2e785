"""Public records: their JSON, their JSON Schema, and their rows in tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypedDict, TypeVar

import pytest
from jsonschema_rs import Draft202012Validator

from tocsin.core.records.as_json import to_json
from tocsin.core.records.marks import Converted, Flat, Private, TextOrNull, Time, after
from tocsin.core.records.schema import RecordSchemas
from tocsin.core.records.table import cell, field_rows, short_time

T = TypeVar("T")


class Colour(StrEnum):
    """What a bell is painted."""

    RED = "red"
    BLUE = "blue"


class Fault(TypedDict):
    """Why a bell is silent."""

    code: str


class Stroke(NamedTuple):
    """One stroke."""

    at: Time
    strength: Private[int] = 0


@dataclass(frozen=True, slots=True)
class Maker:
    """Who cast a bell."""

    name: str
    place: str = ""
    enabled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BellSummary:
    """A bell, as lists show it."""

    name: str
    made_at: Time | None = None
    note: Annotated[TextOrNull, "What people should know."] = ""

    @property
    @after("name")
    def loud(self) -> bool:
        """Whether it is heard far away."""
        return self.name.isupper()

    @property
    def hidden(self) -> str:
        return "it has no place"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bell(BellSummary):
    """A bell."""

    schema_name: ClassVar[str] = "BellRecord"

    secret: Private[str] = "a secret"
    maker: Flat[Maker | None] = None
    enabled: bool = False
    colour: Colour = Colour.RED
    strokes: tuple[Stroke, ...] = ()
    words: Annotated[Sequence[str], Converted(",".join, str)] = ("ding", "dong")
    where: Path | None = None
    fault: Annotated[Mapping[str, str], Converted(dict, Fault)] | None = None
    parts: "tuple[BellSummary, ...]" = ()
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Shelf(Generic[T]):
    """A shelf."""

    items: Sequence[T]


@dataclass(frozen=True)
class BellShelf(Shelf[BellSummary]):
    """A shelf of bells."""

    full: bool


BELL = Bell(name="TOM", made_at=0.5, maker=Maker("Ann"), strokes=(Stroke(1.0),), parts=(BellSummary(name="clapper"),))


def test_each_public_field_is_shown_in_the_order_of_its_declaration():
    assert to_json(BELL) == {
        "name": "TOM",
        "loud": True,
        "made_at": "1970-01-01T00:00:00.500Z",
        "note": None,
        "place": "",
        "enabled": False,
        "colour": "red",
        "strokes": [{"at": "1970-01-01T00:00:01.000Z"}],
        "words": "ding,dong",
        "where": None,
        "fault": None,
        "parts": [{"name": "clapper", "loud": False, "made_at": None, "note": None}],
        "sizes": {},
    }
    assert list(to_json(BELL))[:6] == ["name", "loud", "made_at", "note", "place", "enabled"]


def test_a_field_of_the_class_wins_over_a_flat_one_which_is_null_without_its_record():
    assert (to_json(BELL)["name"], to_json(Bell(name="x"))["place"], to_json(Bell(name="x"))["enabled"]) == (
        "TOM",
        None,
        False,
    )


def test_a_base_class_shows_a_record_by_its_own_fields_alone():
    assert list(to_json(BELL, BellSummary)) == ["name", "loud", "made_at", "note"]
    assert to_json(Shelf([BELL]), Shelf[BellSummary]) == {"items": [to_json(BELL, BellSummary)]}
    assert to_json(BellShelf([BELL], full=True)) == {"items": [to_json(BELL, BellSummary)], "full": True}


@pytest.mark.parametrize("bell", [BELL, Bell(name="x", fault={"code": "cracked"}, where=Path("/srv"))])
def test_what_is_shown_fits_the_schema(bell: Bell):
    schemas = RecordSchemas()
    reference = schemas.of(Bell)
    document = {**reference, "components": {"schemas": schemas.found}}
    assert list(Draft202012Validator(document).iter_errors(to_json(bell))) == []
    assert list(Draft202012Validator(document).iter_errors({**to_json(bell), "secret": "x"})) != []


def test_the_schema_has_descriptions_references_and_no_private_field():
    schemas = RecordSchemas()
    assert schemas.of(Bell) == {"$ref": "#/components/schemas/BellRecord"}
    bell = schemas.found["BellRecord"]
    assert bell["description"] == "A bell."
    assert bell["additionalProperties"] is False
    assert bell["required"] == list(bell["properties"]) == list(to_json(BELL))
    assert bell["properties"]["note"] == {
        "anyOf": [{"type": "string"}, {"type": "null"}],
        "description": "What people should know.",
    }
    assert bell["properties"]["loud"] == {"type": "boolean", "description": "Whether it is heard far away."}
    assert bell["properties"]["place"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert bell["properties"]["colour"] == {"$ref": "#/components/schemas/Colour"}
    assert schemas.found["Colour"]["enum"] == ["red", "blue"]
    assert schemas.found["Stroke"]["properties"] == {"at": {"type": "string", "format": "date-time"}}
    assert schemas.found["Fault"]["required"] == ["code"]


def test_a_page_of_records_is_a_schema_of_its_own():
    schemas = RecordSchemas()
    assert schemas.of(Shelf[Bell]) == {"$ref": "#/components/schemas/Shelf_BellRecord_"}
    assert schemas.found["Shelf_BellRecord_"]["title"] == "Shelf[BellRecord]"


def test_two_records_of_one_name_and_types_without_json_are_refused():
    schemas = RecordSchemas()
    schemas.of(Maker)
    other = dataclass(type("Maker", (), {"__annotations__": {"id": str}, "__doc__": "Another one."}))
    with pytest.raises(TypeError, match="Maker"):
        schemas.of(other)
    with pytest.raises(TypeError, match="set"):
        schemas.of(set[str])


def test_rows_of_a_table_leave_out_what_is_empty_or_hidden():
    rows: Any = dict(field_rows(BELL, {"strokes", "parts"}))
    assert rows["made_at"] == "1970-01-01T00:00:00.500Z"
    assert {"note", "where", "strokes", "sizes", "secret"}.isdisjoint(rows)
    assert (short_time(None), short_time(60.0), short_time(61.0, 19)) == (
        "",
        "1970-01-01 00:01",
        "1970-01-01 00:01:01",
    )


def test_a_switch_in_a_table_is_yes_or_no():
    assert [cell(value) for value in (True, False, [True, 1], {"a": False})] == ["yes", "no", "yes, 1", "a=no"]
