"""A dataclass declares a record once: its values, what files may say of it, and its schema."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pytest
from jsonschema_rs import validator_for

from tocsin.core.reading.fields import (
    ChoiceType,
    DurationType,
    IntegerType,
    ListType,
    MappingType,
    RecordValues,
    TextType,
)
from tocsin.core.reading.json_schema import build_schema, file_schema
from tocsin.core.reading.records import Written, record_type
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import Node, YamlError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a probe is content with."""

    most: Annotated[int, Written(IntegerType(1, 9)), "At most"] = 3


LIMITS = record_type(Limits, "Limits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What is fetched, and how often."""

    url: Annotated[str, Written(TextType()), "What to fetch"]
    zone: Annotated[str, Written(TextType(), nullable=True, inferred=True)]
    every_s: Annotated[float, Written(DurationType(lowest_s=1)), "How often"] = 60.0
    method: Annotated[str, Written(ChoiceType(("GET", "HEAD")))] = "GET"
    tags: Annotated[tuple[str, ...], Written(ListType(TextType(), max_items=2))] = ()
    headers: Annotated[Mapping[str, str], Written(MappingType(TextType()))] = field(default_factory=dict)
    limits: Annotated[Limits, Written(LIMITS, inferred=True)] = field(default_factory=Limits)
    line: int = 0


PROBE = record_type(Probe)


def read(text: str) -> Mapping[str, Any]:
    def root(node: Node) -> Mapping[str, Any]:
        found: RecordValues[Node] = PROBE.read(node)
        return found.values

    return parse_yaml(text.encode(), Path("probe.yaml"), root)


def problems(text: str) -> list[tuple[int, int, str, str]]:
    with pytest.raises(YamlError) as caught:
        read(text)
    return [(each.line, each.column, each.code, each.near) for each in caught.value.problems]


def test_absent_fields_have_the_defaults_of_the_dataclass():
    assert read("url: https://x.org") == {
        "url": "https://x.org",
        "every_s": 60.0,
        "method": "GET",
        "tags": (),
        "headers": {},
    }


def test_mistakes_have_their_place_and_what_was_meant():
    text = "ulr: x\nmethod: GETT\ntags: [a, b, c]\nlimits: {most: 10}\nline: 5\n"
    assert problems(text) == [
        (1, 1, "unknown-key", "url"),
        (1, 1, "missing-key", ""),
        (2, 9, "wrong-value", "GET"),
        (3, 7, "wrong-value", ""),
        (4, 16, "wrong-value", ""),
        (5, 1, "unknown-key", ""),
    ]


def test_null_means_absent_only_where_the_declaration_says_so():
    assert "zone" not in read("url: x\nzone: null\n")
    assert problems("url: null\n") == [(1, 6, "wrong-type", "")]


def test_the_schema_of_a_file_refers_to_no_other_document_and_accepts_what_is_read():
    assert build_schema(LIMITS) == {"$ref": "#/components/schemas/Limits"}
    schema = file_schema("Probe of Tocsin", ListType(PROBE))
    validator = validator_for(schema)
    assert "$ref" not in str(schema)
    assert validator.is_valid([{"url": "x", "zone": None, "every_s": "5m", "limits": {"most": 9}}])
    for wrong in ({}, {"url": "x", "line": 1}, {"url": "x", "limits": {"most": 10}}, {"url": "x", "tags": ["a"] * 3}):
        assert not validator.is_valid([wrong])
