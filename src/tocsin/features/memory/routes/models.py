"""The request and response models of the operations on memory."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Query
from pydantic import AfterValidator

from tocsin.core.reading.fields import ChoiceType, ListType, NumberType, TextType
from tocsin.core.reading.records import Written
from tocsin.features.memory.model import (
    FADED_BELOW,
    HALF_LIFE_DAYS,
    IMPORTANCE,
    MAX_TAGS,
    EntryDraft,
    EntryType,
    MemoryEntry,
    read_half_life,
    read_importance,
    read_key,
    read_scope,
    read_tag,
    read_value,
)
from tocsin.rest.bodies import FLAG, MOMENT, RequestBody
from tocsin.rest.models import GivenTime


def _sentence(read: Callable[[Any], Any]) -> AfterValidator:
    """Return a validator with the rules of memory; its error starts like those of other problems."""

    def check(value: Any) -> Any:
        try:
            return read(value)
        except ValueError as error:
            raise ValueError(f"{str(error)[:1].upper()}{str(error)[1:]}") from None

    return AfterValidator(check)


EntryKey = Annotated[str, _sentence(read_key)]
EntryTag = Annotated[str, _sentence(read_tag)]
EntryScope = Annotated[str, AfterValidator(lambda text: read_scope(text) if text else text)]
HalfLife = Annotated[float, _sentence(read_half_life)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry(RequestBody):
    """Entry to store."""

    key: Annotated[EntryKey, Written(TextType(blank=True), examples=("wifi.guest",))]
    value: Annotated[
        Annotated[str, _sentence(read_value)],
        Written(TextType(blank=True), examples=("The guest network",)),
        "Value, up to 64 KiB.",
    ]
    type: Annotated[EntryType, Written(ChoiceType(tuple(EntryType)))] = EntryType.FACT
    tags: Annotated[list[EntryTag], Written(ListType(TextType(), max_items=MAX_TAGS))] = field(default_factory=list)
    importance: Annotated[
        Annotated[float, _sentence(read_importance)],
        Written(NumberType()),
        "Importance from 0 to 1; important entries decay more slowly.",
    ] = IMPORTANCE
    pinned: Annotated[bool, FLAG, "Whether the entry is exempt from decay."] = False
    half_life_days: Annotated[
        HalfLife | None, Written(NumberType(), nullable=True), "Half-life in days; null disables decay."
    ] = HALF_LIFE_DAYS
    expires_at: Annotated[GivenTime | None, MOMENT] = None
    if_absent: Annotated[bool, FLAG, "Fail if the key already exists."] = False

    def draft(self) -> EntryDraft:
        return EntryDraft(
            key=self.key,
            value=self.value,
            type=self.type,
            tags=tuple(dict.fromkeys(self.tags)),
            importance=self.importance,
            pinned=self.pinned,
            half_life_days=self.half_life_days,
            expires_at=self.expires_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnEntry(RequestBody):
    """Entry that an agent stores for itself."""

    key: Annotated[
        EntryKey, Written(TextType(blank=True), examples=("deploy.order",)), "Key among the entries of this caller."
    ]
    value: Annotated[
        Annotated[str, _sentence(read_value)],
        Written(TextType(blank=True), examples=("Migrate the database first",)),
        "Value, up to 64 KiB.",
    ]
    tags: Annotated[list[EntryTag], Written(ListType(TextType(), max_items=MAX_TAGS))] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OwnEntries:
    """Entries of the caller."""

    items: tuple[MemoryEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decay(RequestBody):
    """Options for removing decayed entries."""

    dry_run: Annotated[bool, FLAG, "Only report what would be removed."] = False
    threshold: Annotated[float, Written(NumberType(0, 1)), "Strength below which entries are removed."] = FADED_BELOW
    half_life_days: Annotated[
        HalfLife | None, Written(NumberType(), nullable=True), "Half-life to use instead of that of each entry."
    ] = None


TypeOf = Annotated[EntryType | None, Query(description="Type of the entries.")]
TagOf = Annotated[str, Query(max_length=50, description="Tag of the entries.")]
