"""Bodies of requests are declared like records of files; pydantic reads and describes them."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, get_args

import pytest
from pydantic import ValidationError

from tocsin.core.reading.fields import ChoiceType, IntegerType, ListType, TextType
from tocsin.core.reading.records import Written
from tocsin.rest.bodies import FLAG, MOMENT, RequestBody, text
from tocsin.rest.models import GivenTime

Word = Literal["low", "high"]


class Mode(StrEnum):
    """How it is done."""

    SLOW = "slow"
    FAST = "fast"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(RequestBody):
    """What to do."""

    title: Annotated[str, Written(TextType(max_chars=5), examples=("Tea",))]
    note: Annotated[str, text(10), "Shown with it."] = ""
    count: Annotated[int | None, Written(IntegerType(1, 9), nullable=True)] = None
    word: Annotated[Word, Written(ChoiceType(get_args(Word)))] = "low"
    mode: Annotated[Mode, Written(ChoiceType(tuple(Mode)))] = Mode.SLOW
    tags: Annotated[list[str], Written(ListType(TextType(), allow_empty=False, max_items=2))] = field(
        default_factory=lambda: ["none"]
    )
    until: Annotated[GivenTime | None, MOMENT] = None
    dry_run: Annotated[bool, FLAG, "Only tell."] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(RequestBody):
    """A text, which may be the body itself."""

    text_field: ClassVar[str] = "content"
    content: Annotated[str, Written(TextType())]


def refusal(value: Any) -> tuple[tuple[int | str, ...], str]:
    with pytest.raises(ValidationError) as caught:
        Order.read(value)
    [error] = caught.value.errors()
    return error["loc"], error["type"]


def test_a_body_is_the_dataclass_with_its_defaults_and_the_names_that_were_given():
    body = Order.read({"title": "Tea", "count": 5.0, "mode": "fast", "until": "2026-12-01T09:00:00Z"})
    assert body == Order(title="Tea", count=5, mode=Mode.FAST, until=1796115600.0)
    assert body.given == {"title", "count", "mode", "until"}
    assert body.values() | {"title": "Tea", "tags": ["none"]} == body.values()
    assert Order.names() == ("title", "note", "count", "word", "mode", "tags", "until", "dry_run")


@pytest.mark.parametrize(
    ("value", "place", "kind"),
    [
        ({}, ("title",), "missing"),
        ({"title": "Tea", "given": ["title"]}, ("given",), "extra_forbidden"),
        ({"title": ""}, ("title",), "string_too_short"),
        ({"title": "Coffee"}, ("title",), "string_too_long"),
        ({"title": 5}, ("title",), "string_type"),
        ({"title": "Tea", "count": 10}, ("count",), "less_than_equal"),
        ({"title": "Tea", "word": "medium"}, ("word",), "literal_error"),
        ({"title": "Tea", "tags": []}, ("tags",), "too_short"),
        ({"title": "Tea", "tags": ["a", "b", "c"]}, ("tags",), "too_long"),
        ({"title": "Tea", "dry_run": "yes"}, ("dry_run",), "bool_type"),
    ],
)
def test_a_wrong_value_is_refused_at_its_place(value: Any, place: tuple[str, ...], kind: str):
    assert refusal(value) == (place, kind)


def test_a_body_that_is_not_json_is_the_text_of_one_field():
    assert Page.read(b"name: x\n").content == Page.read({"content": "name: x\n"}).content == "name: x\n"
    with pytest.raises(ValidationError, match="The text must be UTF-8"):
        Page.read(b"\xff")


def test_the_schema_has_the_limits_and_the_words_of_the_declaration():
    schema = Order.json_schema()
    assert (schema["title"], schema["description"], schema["required"]) == ("Order", "What to do.", ["title"])
    assert schema["additionalProperties"] is False
    properties = schema["properties"]
    assert properties["title"] == {
        "type": "string", "minLength": 1, "maxLength": 5, "examples": ["Tea"], "title": "Title",
    }  # fmt: skip
    assert properties["word"]["enum"] == ["low", "high"]
    assert properties["note"]["description"] == "Shown with it."
    assert "given" not in properties
