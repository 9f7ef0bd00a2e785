"""Entities as the Bot API takes them: what it cleans away in silence, and what nobody should send in the first place.

Written from the behaviour of the published server (tdlib, MessageEntity): it repairs crossing and nested
entities instead of refusing them, so that only a stricter reader than the product finds a client's mistakes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Entity = dict[str, Any]

MOST_ENTITIES = 100  # of one message take effect
VERBATIM = frozenset({"code", "pre"})
HOLD_CODE = frozenset({"pre", "blockquote"})
KINDS = VERBATIM | {"bold", "italic", "underline", "strikethrough", "spoiler", "text_link", "blockquote"}


def cleaned(text: str, entities: Iterable[Entity]) -> list[Entity]:
    """Take blanks out of the start of entities but blocks of code, drop those without anything else.

    That the product also makes a blank of every tab is left out: tests shall see what was sent.
    """
    kept = []
    for entity in entities:
        shown = shown_by(text, entity)
        blanks = 0 if entity["type"] in HOLD_CODE else len(shown) - len(shown.lstrip(" \n"))
        if shown.strip(" \n"):
            moved = {"offset": entity["offset"] + blanks, "length": entity["length"] - blanks}
            kept.append({**entity, **moved} if blanks else entity)
    return kept


def shown_by(text: str, entity: Entity) -> str:
    """Give the part of the text that an entity is about."""
    begin, end = entity["offset"] * 2, (entity["offset"] + entity["length"]) * 2
    return text.encode("utf-16-le", "surrogatepass")[begin:end].decode("utf-16-le", "surrogatepass")


def mistake(text: str, entities: Sequence[Entity]) -> str:
    """Say what the product would repair or ignore in these entities, or nothing."""
    if text != text.strip(" \n"):
        return "the text has blanks around it"
    if len(entities) > MOST_ENTITIES:
        return f"{len(entities)} entities"
    around: list[Entity] = []
    for entity in sorted(entities, key=lambda e: (e["offset"], -e["length"])):
        around = [outer for outer in around if end_of(outer) > entity["offset"]]
        if found := _mistake_of(entity, around, shown_by(text, entity)):
            return f"{found} ({entity})"
        around.append(entity)
    return ""


def _mistake_of(entity: Entity, around: Sequence[Entity], shown: str) -> str:
    kinds = {outer["type"] for outer in around}
    if entity["type"] not in KINDS:
        return "unknown type"
    if not shown.strip():
        return "blank"
    if entity["type"] == "text_link" and not str(entity.get("url", "")).startswith(("http://", "https://")):
        return "no web address"
    if any(end_of(outer) < end_of(entity) for outer in around):
        return "crosses another one"
    if entity["type"] in kinds:
        return "nested in its own kind"
    if kinds & VERBATIM or (entity["type"] in VERBATIM and kinds - {"blockquote"}):
        return "verbatim text with a style"
    return "a quote in a link" if entity["type"] == "blockquote" and "text_link" in kinds else ""


def end_of(entity: Entity) -> int:
    """Give the position behind an entity."""
    return int(entity["offset"] + entity["length"])
