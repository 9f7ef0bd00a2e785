"""Memory entries: their fields and limits, and how they fade."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import log2
from typing import Annotated, ClassVar

from tocsin.core.errors import ConflictError, NotFoundError, TocsinError
from tocsin.core.records.marks import Private, Time, after
from tocsin.core.text.strings import normalise

DAY_S = 86_400.0
GLOBAL = "global"
CHAT_SCOPE = "chat:"
AGENT_SCOPE = "agent:"
MAX_VALUE_BYTES = 64 * 1024
MAX_TAGS = 20
HALF_LIFE_DAYS = 30.0
LONGEST_HALF_LIFE_DAYS = 36_500.0
IMPORTANCE = 0.5
FADING_BELOW = 0.5
FADED_BELOW = 0.05
UNDO_DAYS = 30
# Words of the HTTP interface in the place of keys.
RESERVED = frozenset({"stats", "search", "decay"})

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_CHAT_ID = r"[A-Za-z0-9_-]{1,64}"
_AGENT_NAME = r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}"  # of a token
_OWNER = rf"(?:{CHAT_SCOPE}{_CHAT_ID}|{AGENT_SCOPE}{_AGENT_NAME})"
_SCOPE = re.compile(rf"{GLOBAL}|{_OWNER}")
_OWNED_KEY = re.compile(rf"({_OWNER}):.+")
_TAG = re.compile(r"[^\W_][\w.:-]{0,49}")


class InvalidEntryError(TocsinError):
    """An entry, or a query for entries, is invalid."""

    code = "validation-failed"


class UnknownEntryError(NotFoundError):
    """No entry has this key."""


class EntryExistsError(ConflictError):
    """An entry has this key already."""


class EntryChangedError(TocsinError):
    """The entry was changed since it was read."""

    code = "precondition-failed"


class EntryType(StrEnum):
    """The kind of information in an entry."""

    FACT = "fact"
    PREFERENCE = "preference"
    NOTE = "note"
    EVENT = "event"


class EntrySource(StrEnum):
    """The origin of an entry."""

    CLI = "cli"
    BOT = "bot"  # a person, through the bot
    DASHBOARD = "dashboard"
    CHAT = "chat"  # a chat model
    SKILL = "skill"
    AGENT = "agent"  # by its token


class EntryState(StrEnum):
    """The degree to which an entry has faded."""

    ACTIVE = "active"
    FADING = "fading"
    FADED = "faded"  # the next decay removes it


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDraft:
    """A request for an entry; an empty `scope` is derived from the key."""

    key: str
    value: str
    type: EntryType = EntryType.FACT
    tags: tuple[str, ...] = ()
    scope: str = ""
    importance: float = IMPORTANCE
    pinned: bool = False
    half_life_days: float | None = HALF_LIFE_DAYS
    expires_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """An entry."""

    schema_name: ClassVar[str] = "EntryRecord"

    key: str
    value: str
    type: EntryType
    tags: tuple[str, ...]
    scope: Annotated[str, "`global`, `chat:` and the ID of a chat, or `agent:` and the name of a token."]
    source: Annotated[EntrySource, "Author of the entry."]
    importance: float
    pinned: bool
    half_life_days: Annotated[float | None, "Half-life in days; null disables decay."]
    access_count: int
    last_accessed_at: Time  # storing counts as access
    created_at: Time
    updated_at: Time
    expires_at: Time | None
    read_at: Private[float] = field(compare=False)

    @property
    @after("half_life_days")
    def strength(self) -> float:
        """Strength from 1 down to 0."""
        silent_s = self.read_at - self.last_accessed_at
        return round(compute_strength(self.pinned, self.half_life_days, self.importance, silent_s), 6)


def make_entry(draft: EntryDraft, source: EntrySource, now: float) -> MemoryEntry:
    """Return the entry of a valid draft."""
    return MemoryEntry(
        key=draft.key,
        value=draft.value,
        type=draft.type,
        tags=draft.tags,
        scope=draft.scope,
        source=source,
        importance=draft.importance,
        pinned=draft.pinned,
        half_life_days=draft.half_life_days,
        access_count=0,
        last_accessed_at=now,
        created_at=now,
        updated_at=now,
        expires_at=draft.expires_at,
        read_at=now,
    )


def compute_strength(pinned: bool, half_life_days: float | None, importance: float, silent_s: float) -> float:
    """Return `0.5 ^ (days since last access / (half-life x (0.5 + importance)))`; 1 if it does not fade."""
    if pinned or half_life_days is None:
        return 1.0
    return float(0.5 ** (max(silent_s, 0.0) / DAY_S / (half_life_days * (0.5 + importance))))


def half_lives_until(strength: float) -> float:
    """Return the number of half-lives after which an entry has this strength."""
    return -log2(strength) if strength > 0 else float("inf")


def classify_strength(strength: float) -> EntryState:
    """Return the state of an entry."""
    if strength < FADED_BELOW:
        return EntryState.FADED
    return EntryState.FADING if strength < FADING_BELOW else EntryState.ACTIVE


def read_key(text: str) -> str:
    """Validate the key of a new entry; raises ValueError with the rule."""
    if not _KEY.fullmatch(text):
        raise ValueError("a key has 1 to 128 letters, digits, `.`, `_`, `:` and `-`, and starts with a letter or digit")
    if text in RESERVED:
        raise ValueError(f"the key {text!r} is reserved")
    return text


def read_value(text: str) -> str:
    """Validate a value and return it as it is stored; raises ValueError with the rule."""
    value = normalise(text)
    if not value.strip():
        raise ValueError("the value is empty")
    if (size := len(value.encode())) > MAX_VALUE_BYTES:
        raise ValueError(f"a value can have at most {MAX_VALUE_BYTES:,} bytes, this one has {size:,}")
    return value


def read_tag(text: str) -> str:
    """Validate a tag; raises ValueError with the rule."""
    if not _TAG.fullmatch(text):
        raise ValueError("a tag has 1 to 50 letters, digits, `.`, `_`, `:` and `-`, and starts with a letter or digit")
    return text


def read_tags(texts: Sequence[str]) -> tuple[str, ...]:
    """Validate tags and drop duplicates; raises ValueError with the rule."""
    tags = tuple(dict.fromkeys(read_tag(text) for text in texts))
    if len(tags) > MAX_TAGS:
        raise ValueError(f"an entry can have at most {MAX_TAGS} tags")
    return tags


def read_scope(text: str) -> str:
    """Validate a scope; raises ValueError with the rule."""
    if not _SCOPE.fullmatch(text):
        raise ValueError(
            f"not a scope: use `{GLOBAL}`, `{CHAT_SCOPE}` and a chat's ID, or `{AGENT_SCOPE}` and a token's name"
        )
    return text


def read_importance(number: float) -> float:
    """Validate an importance; raises ValueError with the rule."""
    if not 0 <= number <= 1:
        raise ValueError("the importance is a number from 0 to 1")
    return number


def read_half_life(days: float) -> float:
    """Validate a half-life in days; raises ValueError with the rule."""
    if not 0 < days <= LONGEST_HALF_LIFE_DAYS:
        raise ValueError(f"a half-life is more than 0 and at most {LONGEST_HALF_LIFE_DAYS:,.0f} days")
    return days


def scope_for_key(key: str, wanted: str) -> str:
    """Return the scope of a key: a key with the prefix of a chat or an agent belongs to it."""
    found = _OWNED_KEY.fullmatch(key)
    if found and wanted not in {"", found[1]}:
        raise ValueError(f"the key {key} belongs to the scope {found[1]}")
    return found[1] if found else wanted or GLOBAL


def validate_draft(draft: EntryDraft) -> EntryDraft:
    """Validate a draft and return it as it is stored; raises InvalidEntryError."""
    try:
        return replace(
            draft,
            key=read_key(draft.key),
            value=read_value(draft.value),
            tags=read_tags(draft.tags),
            scope=read_scope(scope_for_key(draft.key, draft.scope)),
            importance=read_importance(draft.importance),
            half_life_days=None if draft.half_life_days is None else read_half_life(draft.half_life_days),
        )
    except ValueError as error:
        raise InvalidEntryError(str(error)) from None
