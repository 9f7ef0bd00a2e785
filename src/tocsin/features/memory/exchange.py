"""Entries as lines of JSON: written by `export`, read by `import`."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tocsin.core.reading.fields import (
    BooleanType,
    ChoiceType,
    Field,
    IntegerType,
    ListType,
    NumberType,
    RecordType,
    TextType,
)
from tocsin.core.reading.json_value import decode_json, read_json
from tocsin.core.records.as_json import to_json
from tocsin.core.time.timestamps import read_timestamp
from tocsin.features.memory.model import (
    HALF_LIFE_DAYS,
    IMPORTANCE,
    LONGEST_HALF_LIFE_DAYS,
    EntryDraft,
    EntrySource,
    EntryType,
    InvalidEntryError,
    MemoryEntry,
    make_entry,
    read_key,
    read_scope,
    read_tag,
    read_value,
    validate_draft,
)

MAX_ACCESSES = 2**53


# The fields of an exported entry; only key and value are required.
ENTRY = RecordType(
    (
        Field("key", TextType(parse=read_key), required=True),
        Field("value", TextType(blank=True, parse=read_value), required=True),
        Field("type", ChoiceType(tuple(EntryType)), default=EntryType.FACT),
        Field("tags", ListType(TextType(parse=read_tag)), default=()),
        Field("scope", TextType(parse=read_scope), default=""),
        Field("source", ChoiceType(tuple(EntrySource)), default=EntrySource.CLI),
        Field("importance", NumberType(0, 1), default=IMPORTANCE),
        Field("pinned", BooleanType(), default=False),
        Field("half_life_days", NumberType(0, LONGEST_HALF_LIFE_DAYS), nullable=True),
        Field("strength", NumberType(0, 1), doc="computed, ignored in files"),
        Field("access_count", IntegerType(0, MAX_ACCESSES), default=0),
        Field("last_accessed_at", TextType(parse=read_timestamp)),
        Field("created_at", TextType(parse=read_timestamp)),
        Field("updated_at", TextType(parse=read_timestamp)),
        Field("expires_at", TextType(parse=read_timestamp), nullable=True),
    )
)


def format_line(entry: MemoryEntry) -> str:
    """Return an entry as one line of ASCII, which no terminal or mail program changes."""
    return json.dumps(to_json(entry), separators=(",", ":"))


def read_entries(text: str, now: float) -> list[MemoryEntry]:
    """Parse an exported file, or an array of entries; raises InvalidEntryError with the line."""
    if text.lstrip().startswith("["):
        items = _decoded(text, "the file")
        documents = [(f"entry {number}", item) for number, item in enumerate(items, 1)]
    else:
        lines = [(f"line {number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        documents = [(place, _decoded(line, place)) for place, line in lines]
    entries = [_entry(document, place, now) for place, document in documents]
    seen: dict[str, str] = {}
    for entry, (place, _) in zip(entries, documents, strict=True):
        if entry.key in seen:
            raise InvalidEntryError(f"{place}: duplicate key {entry.key}, first in {seen[entry.key]}")
        seen[entry.key] = place
    return entries


def _decoded(text: str, place: str) -> Any:
    try:
        return decode_json(text.encode(errors="surrogatepass"))
    except (ValueError, RecursionError):
        raise InvalidEntryError(
            f"{place} is not valid JSON", hint="use a file written by `tocsin memory export`"
        ) from None


def _entry(document: Any, place: str, now: float) -> MemoryEntry:
    if not isinstance(document, tuple):
        raise InvalidEntryError(f"{place} is not an object", hint="use a file written by `tocsin memory export`")
    read, issues = read_json(ENTRY, document)
    if issues.count:
        raise InvalidEntryError(f"{place}: {issues.shown[0]}", hint="correct it; no entry was imported")
    try:
        return _made(read.__getitem__, fades=read.given["half_life_days"].absent, now=now)
    except InvalidEntryError as error:
        raise InvalidEntryError(f"{place}: {error}", hint="correct it; no entry was imported") from None


def _made(value: Callable[[str], Any], *, fades: bool, now: float) -> MemoryEntry:
    draft = validate_draft(
        EntryDraft(
            key=value("key"),
            value=value("value"),
            type=EntryType(value("type")),
            tags=tuple(value("tags")),
            scope=value("scope"),
            importance=value("importance"),
            pinned=value("pinned"),
            half_life_days=HALF_LIFE_DAYS if fades else value("half_life_days"),
            expires_at=value("expires_at"),
        )
    )
    created_at = now if value("created_at") is None else value("created_at")
    return replace(
        make_entry(draft, EntrySource(value("source")), now),
        access_count=value("access_count"),
        last_accessed_at=now if value("last_accessed_at") is None else value("last_accessed_at"),
        created_at=created_at,
        updated_at=created_at if value("updated_at") is None else value("updated_at"),
    )
