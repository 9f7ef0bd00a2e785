"""Headers that both HTTP interfaces read; this module imports no web framework."""

from collections.abc import MutableMapping, Sequence
from typing import Any

from tocsin.rest.problems import HttpProblemError

MAX_IDEMPOTENCY_KEY = 255
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"  # RFC 7396
FORM_DATA = "multipart/form-data"


def header_values(scope: MutableMapping[str, Any], name: bytes) -> Sequence[str]:
    """Return all values of a header, in order; ASGI header names are lower-case.

    The headers of a request are parsed once and cached in its scope, because about ten of them are read per request.
    """
    known: dict[bytes, list[str]] | None = scope.get("tocsin.headers")
    if known is None:
        known = scope["tocsin.headers"] = {}
        for key, value in scope["headers"]:
            known.setdefault(key, []).append(value.decode("latin-1"))
    return known.get(name, ())


def require_target(scope: MutableMapping[str, Any], profile: str = "") -> None:
    """Raise a 403 problem if the token of the caller is limited to other profiles; without one, to any."""
    allowed: tuple[str, ...] = scope.get("tocsin.profiles", ())
    if allowed and profile not in allowed:
        detail = f"This token may send to these profiles only: {', '.join(allowed)}."
        raise HttpProblemError("forbidden", detail)


def prefers_async(scope: MutableMapping[str, Any]) -> bool:
    """Whether the caller prefers a response before the work is done; RFC 7240, section 4.1."""
    if not (values := header_values(scope, b"prefer")):
        return False
    preferences = (part for value in values for part in value.split(","))
    return any(part.partition(";")[0].strip().lower() == "respond-async" for part in preferences)


def idempotency_key(values: Sequence[str]) -> str:
    """Return the key among the values of `Idempotency-Key`, or an empty text; raise 400 if it is invalid."""
    if not values:
        return ""
    key = values[0].strip().removeprefix('"').removesuffix('"')
    # Quotes count towards the limit, as documented.
    if len(values) > 1 or not key or len(values[0]) > MAX_IDEMPOTENCY_KEY or not key.isprintable():
        raise HttpProblemError(
            "invalid-request",
            f"Idempotency-Key must be 1 to {MAX_IDEMPOTENCY_KEY} printable characters, sent once.",
        )
    return key


def media_type(codings: Sequence[str], types: Sequence[str]) -> str:
    """Return the media type of a body in lower case; raise 415 if it is unsupported.

    `codings` are the values of `Content-Encoding`, `types` those of `Content-Type`.
    """
    if [coding for coding in codings if coding.strip().lower() != "identity"]:
        raise HttpProblemError("unsupported-media-type", "Compressed bodies are not accepted.")
    if len(types) > 1:
        raise HttpProblemError("unsupported-media-type", "Content-Type is repeated.")
    return types[0].partition(";")[0].strip().lower() if types else ""
