"""Check entities more strictly than the Bot API, which repairs crossing and nested ones silently.

Written from the behaviour of the published server (tdlib, MessageEntity).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Entity = dict[str, Any]

MOST_ENTITIES = 100  # entities of one message that take effect
VERBATIM = frozenset({"code", "pre"})
HOLD_CODE = frozenset({"pre", "blockquote"})
KINDS = VERBATIM | {"bold", "italic", "underline", "strikethrough", "spoiler", "text_link", "blockquote"}


def cleaned(text: str, entities: Iterable[Entity]) -> list[Entity]:
    """Strip blanks at the start of entities other than `pre`, and drop entities that are blank.

    Unlike the product, it keeps tabs, so that tests see what was sent.
    """
    kept = []
    for entity in entities:
        shown = covered_text(text, entity)
        blanks = 0 if entity["type"] in HOLD_CODE else len(shown) - len(shown.lstrip(" \n"))
        if shown.strip(" \n"):
            moved = {"offset": entity["offset"] + blanks, "length": entity["length"] - blanks}
            kept.append({**entity, **moved} if blanks else entity)
    return kept


def covered_text(text: str, entity: Entity) -> str:
    begin, end = entity["offset"] * 2, (entity["offset"] + entity["length"]) * 2
    return text.encode("utf-16-le", "surrogatepass")[begin:end].decode("utf-16-le", "surrogatepass")


def mistake(text: str, entities: Sequence[Entity]) -> str:
    """Return what the product would repair or ignore in these entities, or `""`."""
    if text != text.strip(" \n"):
        return "the text has leading or trailing blanks"
    if len(entities) > MOST_ENTITIES:
        return f"{len(entities)} entities"
    around: list[Entity] = []
    for entity in sorted(entities, key=lambda e: (e["offset"], -e["length"])):
        around = [outer for outer in around if entity_end(outer) > entity["offset"]]
        if found := _find_mistake(entity, around, covered_text(text, entity)):
            return f"{found} ({entity})"
        around.append(entity)
    return ""


def _find_mistake(entity: Entity, around: Sequence[Entity], shown: str) -> str:
    kinds = {outer["type"] for outer in around}
    if entity["type"] not in KINDS:
        return "unknown type"
    if not shown.strip():
        return "blank"
    if entity["type"] == "text_link" and not str(entity.get("url", "")).startswith(("http://", "https://")):
        return "not a web address"
    if any(entity_end(outer) < entity_end(entity) for outer in around):
        return "crosses another one"
    if entity["type"] in kinds:
        return "nested in its own kind"
    if kinds & VERBATIM or (entity["type"] in VERBATIM and kinds - {"blockquote"}):
        return "verbatim text with a style"
    return "a quote in a link" if entity["type"] == "blockquote" and "text_link" in kinds else ""


def entity_end(entity: Entity) -> int:
    """Return the position after an entity."""
    return int(entity["offset"] + entity["length"])
