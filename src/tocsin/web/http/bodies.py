"""JSON bodies of requests and their fields."""

import json
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from starlette.types import Scope

from tocsin.web.http.asgi import header_values
from tocsin.web.http.problems import HttpProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

    Finding = Callable[[], dict[str, str]]
    Pairs = tuple[tuple[str, Any], ...]

MAX_ERRORS = 10  # that one answer lists: finding likely names costs time, and the body may hold 100,000 keys


def parse_fields(scope: Scope, raw: bytes, required: Collection[str], optional: Collection[str] = ()) -> dict[str, str]:
    """Return the text fields of a JSON body, or raise the problem it has."""
    pairs = parse_json_object(media_type(scope), raw)
    body = dict(pairs)
    known = (*required, *optional)
    errors = [*_unknown_or_doubled(pairs, known), *_missing_or_mistyped(body, required, optional)]
    if errors:
        count = "1 field needs" if len(errors) == 1 else f"{len(errors)} fields need"
        shown = f"; the first {MAX_ERRORS} are listed" if len(errors) > MAX_ERRORS else ""
        raise HttpProblemError(
            "validation-failed", f"{count} attention{shown}", [error() for error in errors[:MAX_ERRORS]]
        )
    return body


def refuse_field(key: str, code: str, detail: str) -> NoReturn:
    """Raise the problem of a body whose one field `key` is wrong."""
    raise HttpProblemError("validation-failed", "1 field needs attention", [field_error(key, code, detail)])


def field_error(key: str, code: str, detail: str) -> dict[str, str]:
    """Return the entry of a problem document that points at a field."""
    from urllib.parse import quote

    # RFC 6901, sections 3 and 6: escaped as a pointer, then as the fragment of a URL.
    pointer = quote(key[:100].replace("~", "~0").replace("/", "~1"), errors="surrogatepass")
    return {"pointer": f"#/{pointer}", "code": code, "detail": detail, "key": key[:100]}


def _unknown_or_doubled(pairs: "Pairs", known: Collection[str]) -> Iterator["Finding"]:
    seen = set()
    for key, _ in pairs:
        if key not in known:
            yield partial(_unknown, key, known)
        elif key in seen:
            yield partial(field_error, key, "duplicate-key", "The key is repeated")
        seen.add(key)


def _missing_or_mistyped(
    body: Mapping[str, object], required: Collection[str], optional: Collection[str]
) -> Iterator["Finding"]:
    for key in required:
        if key not in body:
            yield partial(field_error, key, "missing-key", "Required")
    for key in (*required, *optional):
        if key in body and not isinstance(body[key], str):
            yield partial(field_error, key, "wrong-type", "It must be a string")


def _unknown(key: str, known: Collection[str]) -> dict[str, str]:
    from difflib import get_close_matches

    close = get_close_matches(key[:100], list(known), n=1)
    suggestion = {"suggestion": close[0]} if close else {}
    return field_error(key, "unknown-key", "Unknown field") | suggestion


def parse_json_object(kind: str, raw: bytes) -> "Pairs":
    """Return the members of the JSON object in `raw`; raise 415, 400 or 422 when there is none."""
    if kind != "application/json":
        found = kind or "no Content-Type"
        raise HttpProblemError(
            "unsupported-media-type",
            f"The body must be JSON with `Content-Type: application/json`, not {found[:100]}.",
        )
    try:
        # RFC 8259, section 8.1: UTF-8 and nothing else; a byte order mark may be ignored.
        body = _decode(raw.removeprefix(BOM_UTF8).decode())
    except (ValueError, RecursionError):
        raise HttpProblemError("invalid-request", "The body is not valid JSON in UTF-8.") from None
    if not isinstance(body, tuple):
        raise HttpProblemError("validation-failed", "The body must be a JSON object.")
    return body


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"JSON has no {word}")


# Made once: json.loads with arguments makes a new one every time. An object becomes a
# tuple of its members, so that a key that stands there twice is seen; an array is a list.
_decode = json.JSONDecoder(object_pairs_hook=tuple, parse_constant=_no_number).decode


def media_type(scope: Scope) -> str:
    """Return the media type of the body in lower case; raise 415 for what cannot be read."""
    if [coding for coding in header_values(scope, b"content-encoding") if coding.strip().lower() != "identity"]:
        raise HttpProblemError("unsupported-media-type", "Compressed bodies are not accepted.")
    values = header_values(scope, b"content-type")
    if len(values) > 1:
        raise HttpProblemError("unsupported-media-type", "Content-Type is repeated.")
    return values[0].partition(";")[0].strip().lower() if values else ""
