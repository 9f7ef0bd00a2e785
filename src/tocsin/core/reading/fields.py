"""Fields as data: what a record may hold, by name and type, with limits, defaults and a word for people.

    PROBE = RecordType(
        (
            Field("url", TextType(), required=True, doc="What to fetch"),
            Field("every", DurationType(lowest_s=1), default=60.0, doc="How often"),
        )
    )
    probes = load_yaml(path, ListType(PROBE).read)  # or read_json(PROBE, members) of a request

A type reads a value of any format (`tocsin.core.reading.value`) and reports what is wrong with it; `json_schema`
makes the schema of an OpenAPI document from it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeAlias

from tocsin.core.reading.value import WRONG_DURATION, WRONG_TYPE, WRONG_VALUE, InputValue, V

DURATION = r"(?=[0-9])(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,12}(?:\.[0-9]+)?)s?)?"
_DURATION = re.compile(DURATION)
MAX_WHOLE = 2**53  # what every JSON reader can hold
_UNITS_S = (86_400, 3_600, 60, 1)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TextType:
    """Text; a number in a YAML file counts, in its own spelling."""

    blank: bool = False  # whether it may be empty or blank
    max_chars: int = 0  # 0 is no limit
    pattern: str = ""  # a regular expression for the whole text
    rule: str = ""  # ends "… is" where the pattern does not match: `not a name: use letters`
    parse: Callable[[str], Any] | None = None  # converts the text; raises ValueError with the reason
    schema: Mapping[str, Any] = field(default_factory=dict, repr=False)  # what only a schema can say of `parse`
    max_bytes: int = 0  # in UTF-8; 0 is no limit

    @property
    def fallback(self) -> Any:
        """The fallback value for a missing or invalid text."""
        return "" if self.parse is None else None

    def read(self, value: InputValue) -> Any:
        """Return the text, or the result of `parse`."""
        text = value.text(blank=self.blank)
        if value.as_text() is None or not (self.blank or text.strip()):
            return self.fallback
        try:
            self._check(value, text)
            return self.parse(text) if self.parse is not None else text
        except ValueError as error:
            value.refuse(str(error))
            return self.fallback

    def _check(self, value: InputValue, text: str) -> None:
        if self.max_chars and len(text) > self.max_chars:
            raise ValueError(f"expected at most {self.max_chars:,} characters, found {len(text):,}")
        if self.max_bytes and (size := len(text.encode("utf-8", "surrogatepass"))) > self.max_bytes:
            raise ValueError(f"expected at most {self.max_bytes:,} bytes, found {size:,}")
        if self.pattern and not re.fullmatch(self.pattern, text):
            raise ValueError(f"{value.quote(text)} is {self.rule}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IntegerType:
    """An integer; both bounds are included."""

    lowest: int = 0
    highest: float = MAX_WHOLE
    words: Mapping[str, int] = field(default_factory=dict)  # names of some numbers, which are also accepted

    fallback: ClassVar[Any] = 0

    def read(self, value: InputValue) -> int:
        if self.words and value.as_whole() is None and (word := value.as_text()) is not None:
            if word not in self.words:
                value.refuse(f"{value.quote(word)} is not a number, nor one of: {', '.join(self.words)}")
            return self.words.get(word, self.lowest)
        return value.integer(self.lowest, self.lowest, self.highest)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NumberType:
    """A number; both bounds are included."""

    lowest: float = -inf
    highest: float = inf

    fallback: ClassVar[Any] = 0.0

    def read(self, value: InputValue) -> float:
        number = value.as_number()
        if number is None:
            value.expect("a number")
        elif self.lowest <= number <= self.highest:
            return number
        else:
            value.refuse(f"expected a number {_bounds(self.lowest, self.highest)}, found {number:g}")
        return 0.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BooleanType:
    """`true` or `false`."""

    fallback: ClassVar[Any] = False

    def read(self, value: InputValue) -> bool:
        return value.boolean(False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DurationType:
    """Seconds as a number, or a text such as `90s`, `15m`, `1h30m` or `2d`; both bounds are included."""

    lowest_s: float = 0.0
    highest_s: float = inf

    fallback: ClassVar[Any] = 0.0

    def read(self, value: InputValue) -> float:
        seconds = value.as_number()
        if seconds is None:
            seconds = seconds_in(value.as_text() or "")
        if seconds is None:
            if (text := value.as_text()) is not None:
                value.refuse(f"{value.quote(text)} is not a duration such as 90s, 15m or 1h30m", WRONG_DURATION)
            elif not value.absent:
                detail = f"expected a duration such as 90s, 15m or 1h30m, found {value.found()}"
                value.refuse(detail, WRONG_TYPE)
        elif self.lowest_s <= seconds <= self.highest_s:
            return seconds
        else:
            limits = _bounds(self.lowest_s, self.highest_s)
            value.refuse(f"expected a duration {limits} seconds, found {seconds:.15g}", WRONG_DURATION)
        return 0.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ChoiceType:
    """One of the given words."""

    words: tuple[str, ...]
    blank: bool = False  # whether an empty text is also accepted

    fallback: ClassVar[Any] = ""

    def parse(self, text: str) -> str:
        """Return the word; raise ValueError for another one."""
        if text in self.words or (self.blank and not text):
            return text
        raise ValueError("not one of the words")

    def read(self, value: InputValue) -> str:
        if self.blank and value.as_text() == "":
            return ""
        return value.choice("", self.words)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ListType:
    """A list of values of one type."""

    item: "FieldType"
    allow_empty: bool = True
    max_items: int = 0  # 0: no limit

    fallback: ClassVar[Any] = ()

    def read(self, value: InputValue) -> list[Any]:
        items = value.items(allow_empty=self.allow_empty)
        if self.max_items and len(items) > self.max_items:
            value.refuse(f"expected at most {self.max_items:,} entries, found {len(items):,}")
            return []
        return [self.item.read(item) for item in items]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MappingType:
    """A mapping whose keys are chosen by the author of the file."""

    item: "FieldType"
    key_pattern: str = ""  # a regular expression for the whole key
    key_rule: str = ""  # ends "… is" where the pattern does not match
    max_keys: int = 0  # 0: no limit

    fallback: ClassVar[Any] = MappingProxyType({})

    def read(self, value: InputValue) -> dict[str, Any]:
        """Return the values by name."""
        members = value.mapping()
        if self.max_keys and len(members) > self.max_keys:
            value.refuse(f"expected at most {self.max_keys:,} entries, found {len(members):,}")
            return {}
        for name, member in members.items():
            if self.key_pattern and not re.fullmatch(self.key_pattern, name):
                member.refuse_key(f"{member.quote(name)} is {self.key_rule}", WRONG_VALUE)
        return {name: self.item.read(member) for name, member in members.items()}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OneOrManyType:
    """A list, or a single entry instead of a list of one."""

    item: "FieldType"
    allow_empty: bool = True

    fallback: ClassVar[Any] = ()

    def read(self, value: InputValue) -> list[Any]:
        if value.as_items() is None:
            return [self.item.read(value)]
        return ListType(self.item, self.allow_empty).read(value)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ListOrRecordType:
    """A list, or a mapping with fixed keys that says more; a mapping without any of them is refused as no list."""

    items: ListType
    record: "RecordType"

    fallback: ClassVar[Any] = ()

    def read(self, value: InputValue) -> Any:
        """Return the values of the list, or the fields of the mapping."""
        known = {field.name for field in self.record.fields}
        is_record = any(name in known for name, _ in value.as_members() or ())
        return self.record.read(value) if is_record else self.items.read(value)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AnyType:
    """Any value, returned unchanged; other code validates it."""

    schema: Mapping[str, Any] = field(default_factory=dict, repr=False)  # what a schema says of it

    fallback: ClassVar[Any] = None

    def read(self, value: V) -> V:
        """Return the value unchanged."""
        return value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlainType:
    """A text, a number, a boolean, or a list of these, unchanged; numbers of YAML files are texts."""

    fallback: ClassVar[Any] = ""

    def read(self, value: InputValue) -> Any:
        items = value.as_items()
        if items is not None:
            return [self.read(item) for item in items]
        found = (value.as_text(), value.as_boolean(), value.as_whole(), value.as_number())
        plain = next((each for each in found if each is not None), None)
        if plain is None:
            value.expect("text, a number, true or false, or a list")
        return self.fallback if plain is None else plain


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Field:
    """One field of a record."""

    name: str
    type: "FieldType"
    required: bool = False
    default: Any = None  # if the field is absent
    nullable: bool = False  # whether `null` is accepted and means absent
    doc: str = ""
    examples: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class RecordType:
    """A mapping with fixed keys: unknown, missing and repeated ones are errors."""

    fields: tuple[Field, ...]
    name: str = ""  # in an OpenAPI document
    doc: str = ""
    closed: bool = True  # False for responses, which may get more fields; reading always rejects unknown ones
    short: str = ""  # the field that a text instead of a mapping sets

    fallback: ClassVar[Any] = None

    @cached_property
    def required(self) -> frozenset[str]:
        """The names of the required fields."""
        return frozenset(field.name for field in self.fields if field.required)

    @cached_property
    def quick(self) -> Mapping[str, Callable[[str], Any] | None]:
        """The fields whose values are texts: the parser of each, `None` if every text is accepted unchanged."""
        parsers: dict[str, Callable[[str], Any] | None] = {}
        for each in self.fields:
            match each.type:
                case TextType(blank=True, max_chars=0, max_bytes=0, pattern="", parse=parse):
                    parsers[each.name] = parse
                case ChoiceType() as choice:
                    parsers[each.name] = choice.parse
        return parsers

    def read(self, value: V) -> "RecordValues[V]":
        if self.short and value.as_text() is not None:
            [only] = [field for field in self.fields if field.name == self.short]
            others = {field.name: field.default for field in self.fields if field.default is not None}
            return RecordValues({**others, self.short: only.type.read(value)}, {self.short: value}, value)
        needed = [field.name for field in self.fields if field.required]
        given = value.fields(needed, [field.name for field in self.fields if not field.required])
        values = {field.name: _read(field, given[field.name]) for field in self.fields}
        return RecordValues({name: each for name, each in values.items() if each is not None}, given, value)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordValues(Generic[V]):
    """A record that was read."""

    values: Mapping[str, Any]  # without absent fields that have no default
    given: Mapping[str, V]  # the input value of each field, to report violations of other rules
    source: V

    def __getitem__(self, name: str) -> Any:
        """Return the value of a field; `None` if it is absent and has no default."""
        return self.values.get(name)


FieldType: TypeAlias = (
    TextType
    | IntegerType
    | NumberType
    | BooleanType
    | DurationType
    | ChoiceType
    | PlainType
    | ListType
    | OneOrManyType
    | ListOrRecordType
    | MappingType
    | RecordType
    | AnyType
)


def _read(field: Field, value: InputValue) -> Any:
    if value.absent:
        return field.type.fallback if field.required else field.default
    if field.nullable and value.is_null:
        return field.default
    return field.type.read(value)


def seconds_in(text: str) -> float | None:
    """Return the seconds of a duration such as `90s`, `15m`, `1h30m` or `2d`; `None` for any other text."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        return None
    return sum(float(count) * unit for count, unit in zip(found.groups(), _UNITS_S, strict=True) if count)


def _bounds(lowest: float, highest: float) -> str:
    """Return the end of a sentence about a number outside its bounds."""
    if lowest == -inf:
        return f"of at most {highest:.15g}"
    return f"from {lowest:.15g} to {highest:.15g}" if highest < inf else f"of at least {lowest:.15g}"
