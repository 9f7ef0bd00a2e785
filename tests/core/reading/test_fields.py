"""One model of fields reads YAML files and JSON documents alike, and makes their schema."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tocsin.core.reading.fields import (
    DURATION,
    AnyType,
    BooleanType,
    ChoiceType,
    DurationType,
    Field,
    FieldType,
    IntegerType,
    ListType,
    MappingType,
    NumberType,
    OneOrManyType,
    RecordType,
    RecordValues,
    TextType,
    seconds_in,
)
from tocsin.core.reading.json_schema import record_schema
from tocsin.core.reading.json_value import MAX_ISSUES, decode_json, read_json, read_texts
from tocsin.core.reading.yaml_file import parse_yaml
from tocsin.core.reading.yaml_node import YamlError

STEP = RecordType((Field("run", TextType(), required=True), Field("timeout", DurationType(1, 3600), default=60.0)))
WATCH = RecordType(
    (
        Field("name", TextType(pattern="[a-z]+", rule="not a name: use small letters"), required=True, doc="Its name"),
        Field("mode", ChoiceType(("fast", "slow")), default="fast"),
        Field("retries", IntegerType(0, 5), default=1),
        Field("ratio", NumberType(0, 1)),
        Field("on", BooleanType(), default=True),
        Field("steps", ListType(STEP, allow_empty=False), required=True),
        Field("env", MappingType(TextType(), "[A-Z]+", "not a variable: use capitals"), default={}),
        Field("note", TextType(max_chars=5), nullable=True),
    ),
    "Watch",
)
GOOD = {"name": "a", "steps": [{"run": "x"}]}
FORMATS = ["yaml", "json"]


def plain(value: Any) -> Any:
    if isinstance(value, RecordValues):
        return {name: plain(each) for name, each in value.values.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def from_yaml(document: object) -> Any:
    # JSON is YAML 1.2.
    return plain(parse_yaml(json.dumps(document).encode(), Path("watch.yaml"), WATCH.read))


def from_json(document: object) -> Any:
    read, issues = read_json(WATCH, decode_json(json.dumps(document).encode()))
    if issues.count:
        raise AssertionError([f"{issue.pointer} {issue.code}: {issue.detail}" for issue in issues.shown])
    return plain(read)


def mistakes(format_: str, document: object) -> list[str]:
    if format_ == "json":
        return [f"{each.pointer} {each.detail}" for each in issues_of(document).shown]
    with pytest.raises(YamlError) as refused:
        from_yaml(document)
    return [f"{each.key} {each.detail}" for each in refused.value.problems]


def issues_of(document: object) -> Any:
    return read_json(WATCH, decode_json(json.dumps(document).encode()))[1]


@pytest.mark.parametrize("read", [from_yaml, from_json], ids=FORMATS)
def test_a_record_is_read_with_its_defaults_and_nested_records(read: Callable[[object], Any]):
    assert read(GOOD) == {
        "name": "a",
        "mode": "fast",
        "retries": 1,
        "on": True,
        "steps": [{"run": "x", "timeout": 60.0}],
        "env": {},
    }


@pytest.mark.parametrize("read", [from_yaml, from_json], ids=FORMATS)
def test_every_type_is_read(read: Callable[[object], Any]):
    full = {
        "name": "a",
        "mode": "slow",
        "retries": 5,
        "ratio": 0.5,
        "on": False,
        "steps": [{"run": "x", "timeout": "1m30s"}, {"run": "y", "timeout": 5}],
        "env": {"A": "b"},
        "note": None,
    }
    steps = [{"run": "x", "timeout": 90.0}, {"run": "y", "timeout": 5.0}]
    assert read(full) == {**{name: full[name] for name in full if name != "note"}, "steps": steps}


def test_a_number_of_json_is_whole_without_a_fraction_however_it_is_written():
    read = from_json({**GOOD, "retries": 5.0})
    assert (read["retries"], type(read["retries"])) == (5, int)
    assert [issue.pointer for issue in issues_of({**GOOD, "retries": 4.5}).shown] == ["#/retries"]
    assert [issue.pointer for issue in issues_of({**GOOD, "retries": 1e300}).shown] == ["#/retries"]


@pytest.mark.parametrize(
    ("change", "yaml", "json_"),
    [
        (
            {"name": "A!"},
            "name 'A!' is not a name: use small letters",
            "#/name this text is not a name: use small letters",
        ),
        (
            {"mode": "fats"},
            "mode 'fats' is not one of: fast, slow (did you mean 'fast'?)",
            "#/mode this text is not one of: fast, slow (did you mean 'fast'?)",
        ),
        (
            {"retries": 6},
            "retries expected a whole number from 0 to 5, found 6",
            "#/retries expected a whole number from 0 to 5, found 6",
        ),
        (
            {"retries": 1.5},
            "retries expected a whole number, found a number",
            "#/retries expected a whole number, found a number",
        ),
        (
            {"retries": True},
            "retries expected a whole number, found true (in quotes it would be text)",
            "#/retries expected a whole number, found true",
        ),
        (
            {"ratio": 2},
            "ratio expected a number from 0 to 1, found 2",
            "#/ratio expected a number from 0 to 1, found 2",
        ),
        ({"ratio": "x"}, "ratio expected a number, found text", "#/ratio expected a number, found text"),
        ({"on": "yes"}, "on expected true or false, found text", "#/on expected true or false, found text"),
        ({"steps": []}, "steps this list must not be empty", "#/steps this list must not be empty"),
        ({"steps": {}}, "steps expected a list, found a mapping", "#/steps expected an array, found an object"),
        (
            {"steps": [{"rum": "x"}]},
            "steps[0] key 'run' is missing|steps[0] unknown key 'rum' (did you mean 'run'?)",
            "#/steps/0/rum unknown key 'rum' (did you mean 'run'?)|#/steps/0/run key 'run' is missing",
        ),
        (
            {"steps": [{"run": "x", "timeout": "soon"}]},
            "steps[0].timeout 'soon' is not a duration such as 90s, 15m or 1h30m",
            "#/steps/0/timeout this text is not a duration such as 90s, 15m or 1h30m",
        ),
        (
            {"steps": [{"run": "x", "timeout": "2h"}]},
            "steps[0].timeout expected a duration from 1 to 3600 seconds, found 7200",
            "#/steps/0/timeout expected a duration from 1 to 3600 seconds, found 7200",
        ),
        (
            {"steps": [{"run": " "}]},
            "steps[0].run expected text, found only whitespace",
            "#/steps/0/run expected text, found only whitespace",
        ),
        (
            {"env": {"a/b": "c"}},
            "env 'a/b' is not a variable: use capitals",
            "#/env/a~1b this text is not a variable: use capitals",
        ),
        (
            {"note": "toolong"},
            "note expected at most 5 characters, found 7",
            "#/note expected at most 5 characters, found 7",
        ),
        ({"mode": None}, "mode expected text, found nothing", "#/mode expected text, found null"),
    ],
)
@pytest.mark.parametrize("format_", FORMATS)
def test_a_mistake_is_told_in_the_same_words_with_its_place(
    format_: str, change: dict[str, object], yaml: str, json_: str
):
    assert mistakes(format_, GOOD | change) == (yaml if format_ == "yaml" else json_).split("|")


def test_a_repeated_key_is_refused_at_every_depth():
    members = decode_json(b'{"name": "a", "name": "b", "steps": [{"run": "x", "run": "y"}]}')
    issues = read_json(WATCH, members)[1]
    assert [(each.pointer, each.code) for each in issues.shown] == [
        ("#/name", "duplicate-key"),
        ("#/steps/0/run", "duplicate-key"),
    ]


def test_all_mistakes_are_counted_and_the_first_are_described():
    issues = issues_of({f"name{number}": 1 for number in range(1_000)})
    assert (issues.count, len(issues.shown)) == (1_002, MAX_ISSUES)
    assert issues.shown[0].near == "name"


def test_an_error_about_a_document_of_a_stranger_never_repeats_a_value():
    secret = "hunter2"
    issues = issues_of(
        {"name": secret, "mode": secret, "steps": secret, "retries": secret, "on": secret, "env": secret}
    )
    assert issues.count == 6
    assert not any(secret in f"{each}{each.pointer}{each.detail}" for each in issues.shown)


TEXTS = RecordType(
    (
        Field("to", TextType(blank=True), required=True),
        Field("size", TextType(blank=True, parse=int)),
        Field("way", ChoiceType(("up", "down"))),
        Field("short", TextType(blank=True, max_chars=3)),
        Field("small", TextType(blank=True, max_bytes=3)),
    )
)


@pytest.mark.parametrize(
    "document",
    [{"to": "x"}, {"to": ""}, {"to": "x", "size": "7"}, {"to": "x", "way": "up", "size": "7"}],
)
def test_a_correct_record_of_texts_is_read_the_quick_way_with_the_same_values(document: dict[str, str]):
    members = tuple(document.items())
    read, issues = read_json(TEXTS, members)
    assert issues.count == 0
    assert read_texts(TEXTS, members) == read.values


@pytest.mark.parametrize(
    "members",
    [(), (("to", 1),), (("to", "x"), ("to", "y")), (("to", "x"), ("other", "y")), (("to", "x"), ("size", "many")),
     (("to", "x"), ("way", "left")), (("to", "x"), ("short", "abcd")), (("to", "x"), ("small", "éé")), (("to", None),)],
)  # fmt: skip
def test_the_quick_way_accepts_nothing_that_the_reader_refuses(members: tuple[tuple[str, Any], ...]):
    assert read_texts(TEXTS, members) is None
    assert read_json(TEXTS, members)[1].count


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("1.5s", 1.5), ("15m", 900), ("1h30m", 5400), ("2d", 172_800), ("1d1h1m1s", 90_061)],
)
def test_a_duration_is_read_in_seconds(text: str, seconds: float):
    assert seconds_in(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "1 h", "1m1h", "-5s", "1e3s", "5 minutes", "٣s"])
def test_other_texts_are_no_duration(text: str):
    assert seconds_in(text) is None


def test_a_schema_says_what_the_reader_checks():
    assert record_schema(WATCH) == {
        "type": "object",
        "required": ["name", "steps"],
        "properties": {
            "name": {"type": "string", "minLength": 1, "pattern": "^(?:[a-z]+)$", "description": "Its name"},
            "mode": {"enum": ["fast", "slow"], "default": "fast"},
            "retries": {"type": "integer", "minimum": 0, "maximum": 5, "default": 1},
            "ratio": {"type": "number", "minimum": 0, "maximum": 1},
            "on": {"type": "boolean", "default": True},
            "steps": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["run"],
                    "properties": {
                        "run": {"type": "string", "minLength": 1},
                        "timeout": {
                            "type": ["number", "string"],
                            "minimum": 1,
                            "maximum": 3600,
                            "pattern": rf"^\s*{DURATION}\s*$",
                            "patternErrorMessage": "This is not a duration such as 90s, 15m or 1h30m",
                            "default": 60.0,
                        },
                    },
                    "additionalProperties": False,
                },
            },
            "env": {
                "type": "object",
                "additionalProperties": {"type": "string", "minLength": 1},
                "propertyNames": {"pattern": "^(?:[A-Z]+)$"},
                "default": {},
            },
            "note": {"type": ["string", "null"], "minLength": 1, "maxLength": 5},
        },
        "additionalProperties": False,
    }


@pytest.mark.parametrize("type_", [IntegerType(), BooleanType(), ListType(TextType()), MappingType(TextType()), STEP])
def test_a_required_field_that_is_missing_is_told_and_read_as_something_harmless(type_: FieldType):
    record = RecordType((Field("it", type_, required=True),))
    read, issues = read_json(record, ())
    assert [each.detail for each in issues.shown] == ["key 'it' is missing"]
    assert not read["it"]


def test_one_value_stands_for_a_list_of_it():
    words = RecordType((Field("needs", OneOrManyType(TextType())),))

    def needs(text: str) -> Any:
        return parse_yaml(text.encode(), Path("x.yaml"), words.read)["needs"]

    assert needs("needs: a") == ["a"]
    assert needs("needs: [a, b]") == ["a", "b"]
    assert record_schema(words)["properties"]["needs"] == {
        "anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string", "minLength": 1}}]
    }


def test_any_value_is_returned_as_it_stands():
    given = parse_yaml(b"body: {a: [1]}", Path("x.yaml"), RecordType((Field("body", AnyType()),)).read)["body"]
    assert given.mapping()["a"].items()[0].as_whole() == 1


def test_a_mistake_has_a_code_its_way_and_what_was_probably_meant():
    with pytest.raises(YamlError) as caught:
        parse_yaml(b"name: a\nsteps:\n- runn: x\nmode: fats\n", Path("watch.yaml"), WATCH.read)
    found = [(issue.line, issue.code, issue.near, issue.steps) for issue in caught.value.problems]
    assert found == [
        (3, "unknown-key", "run", ("steps", 0, "runn")),
        (3, "missing-key", "", ("steps", 0, "run")),
        (4, "wrong-value", "fast", ("mode",)),
    ]


def test_a_text_that_is_not_a_duration_has_a_code_of_its_own():
    every = RecordType((Field("every", DurationType(1)),))
    with pytest.raises(YamlError) as caught:
        parse_yaml(b"every: 10 minutes\n", Path("x.yaml"), every.read)
    assert [issue.code for issue in caught.value.problems] == ["bad-duration"]
