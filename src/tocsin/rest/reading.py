"""Strict JSON bodies: no duplicate keys, no text that cannot be stored, limited nesting."""

from collections.abc import Sequence
from typing import Any

from fastapi import Request

from tocsin.core.reading.json_value import Members, decode_json
from tocsin.rest.headers import header_values, media_type
from tocsin.rest.problems import HttpProblemError
from tocsin.rest.refusals import refuse

MAX_DEPTH = 64


class StrictRequest(Request):
    """A request whose body is read once, and parsed strictly."""

    async def body(self) -> bytes:
        """Return the body, which a middleware may have read before."""
        known: bytes | None = self.scope.get("tocsin.body")
        return await super().body() if known is None else known

    async def json(self) -> Any:
        """Return the parsed body; raise a problem if it is invalid."""
        if not hasattr(self, "_strict"):
            self._strict = read_json(await self.body())
        return self._strict


def read_media_type(request: Request) -> str:
    """Return the media type of the body in lower case; raise 415 if it is unsupported."""
    scope = request.scope
    return media_type(header_values(scope, b"content-encoding"), header_values(scope, b"content-type"))


def read_json(raw: bytes) -> Any:
    """Parse a JSON document; raise a problem if it is invalid or could not be stored."""
    try:
        value = decode_json(raw)
    except (ValueError, RecursionError):
        raise HttpProblemError("invalid-request", "The body is not valid JSON in UTF-8.") from None
    return _checked(value, ())


def _checked(value: Any, steps: tuple[str | int, ...]) -> Any:
    if isinstance(value, tuple | list):
        if len(steps) >= MAX_DEPTH:
            raise HttpProblemError("invalid-request", f"The body is nested deeper than {MAX_DEPTH} levels.")
        if isinstance(value, list):
            return [_checked(item, (*steps, index)) for index, item in enumerate(value)]
        return _object(value, steps)
    if isinstance(value, str):
        _check_text(value, steps)
    return value


def _object(members: Members, steps: tuple[str | int, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in members:
        if not _is_plain(key):
            _check_text(key, (*steps, "?"))
        if key in found:
            raise refuse((*steps, key), "duplicate-key", "This key is repeated")
        # The path to a value is built only for errors: most texts are short and valid.
        found[key] = value if isinstance(value, str) and _is_plain(value) else _checked(value, (*steps, key))
    return found


def _is_plain(text: str) -> bool:
    return text.isascii() and "\0" not in text


def _check_text(text: str, steps: Sequence[str | int]) -> None:
    if "\0" in text:
        raise refuse(steps, "bad-value", "Must not contain the character NUL")
    try:
        text.encode()
    except UnicodeEncodeError:  # an escape such as \ud800 without its other half
        raise refuse(steps, "bad-value", "Must not contain half of a surrogate pair") from None
