"""Encode an audit entry as JSON: safe to print, with secrets masked, and of limited length."""

import math
import re
from collections.abc import Callable, Mapping

from tocsin.core.text.compact_json import make_encoder

MAX_CHARACTERS = 80_000  # per line; at most 12 bytes each, so it stays below `audit_reader.MAX_LINE`
KEPT_CHARACTERS = 10_000  # of an overlong detail
MAX_DEPTH = 20

# Characters that break or disguise a line on a terminal: C1 controls, line and paragraph separators, directions. A lone
# surrogate cannot be encoded as UTF-8. Such a line is written with \u escapes.
_UNSAFE = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def unchanged(text: str) -> str:
    """Return `text`: the redaction that masks nothing."""
    return text


def encode_fields(
    action: str, detail: str, source: str, metadata: Mapping[str, object], redact: Callable[[str], str]
) -> str:
    """Return the part of the line between its time and its link."""
    if "chain" in metadata:
        raise ValueError("the metadata key 'chain' is reserved for the audit log")
    fields: dict[str, object] = {"action": action, "detail": detail, "source": source}
    fields["metadata"] = metadata
    try:
        text = _json(fields)
    except (TypeError, ValueError, RecursionError):  # a key, a number or a depth that JSON does not support
        fields["metadata"] = _plain_fields(metadata, unchanged)
        text = _json(fields)
    if redact(text) != text:  # rare: most lines have no secrets and are not decomposed
        fields.update(detail=redact(detail), metadata=_plain_fields(metadata, redact))
        text = _json(fields)
    if len(text) > MAX_CHARACTERS:
        fields = _shortened(fields, len(text))
        text = _json(fields)
    if not text.isascii() and _UNSAFE.search(text):
        text = _ascii_json(fields)
    return f"{text[1:-2]}," if fields["metadata"] else text[1:-2]


def _shortened(fields: Mapping[str, object], characters: int) -> dict[str, object]:
    """Return the shortened form of an entry that is too long for one line."""
    detail = f"{str(fields['detail'])[:KEPT_CHARACTERS]}… (shortened: the entry had {characters} characters)"
    names = {name: str(fields[name])[:200] for name in ("action", "source")}
    return {"action": names["action"], "detail": detail, "source": names["source"], "metadata": {}}


def _plain_fields(fields: Mapping[str, object], redact: Callable[[str], str], depth: int = 0) -> dict[str, object]:
    """Return the fields with plain values; keys become text."""
    return {str(key): _plain(value, redact, depth) for key, value in fields.items()}


def _plain(value: object, redact: Callable[[str], str], depth: int = 0) -> object:
    """Return `value` as a JSON value with every text redacted; other types become text."""
    if isinstance(value, str):
        return redact(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= 1024 else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth > MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return _plain_fields(value, redact, depth + 1)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item, redact, depth + 1) for item in value]
    return redact(str(value))


_json = make_encoder(ascii_only=False, default=lambda value: _plain(value, unchanged))
_ascii_json = make_encoder(ascii_only=True, default=lambda value: _plain(value, unchanged))
