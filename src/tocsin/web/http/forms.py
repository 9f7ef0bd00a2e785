"""Take a form with files from a request: the files are stored while they arrive."""

import json
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import aclosing
from typing import Any

from starlette.types import Receive, Scope

from tocsin.core.errors import ChannelError, TocsinError
from tocsin.core.http.forms import MAX_TEXT_BYTES, FormReader, FormTooLargeError, InvalidFormError, read_text
from tocsin.delivery.files.intake import FileIntake
from tocsin.rest.headers import FORM_DATA, JSON, header_values, media_type
from tocsin.rest.problems import HttpProblemError
from tocsin.web.http.clients import bucket_key


def is_form(scope: Scope) -> bool:
    """Whether the body of a request is a form that may have files."""
    kinds = header_values(scope, b"content-type")
    return len(kinds) == 1 and kinds[0].lower().startswith(FORM_DATA)


async def read_form(scope: Scope, receive: Receive, intake: FileIntake) -> tuple[bytes, list[Mapping[str, Any]]]:
    """Store the files of a form; return its other parts as a JSON object, and the items of `attach`.

    The object is the part `message` of the type `application/json`, or the only text part, if that is an object; else
    it has each text part as a text. An item of its `attach` with `part` describes the file of that part.
    """
    media_type(header_values(scope, b"content-encoding"), ())  # raises for a compressed one
    try:
        return await _read_parts(scope, receive, intake)
    except InvalidFormError as error:
        raise HttpProblemError("invalid-request", str(error), headers={"Connection": "close"}) from None
    except FormTooLargeError as error:
        raise HttpProblemError("payload-too-large", str(error), headers={"Connection": "close"}) from None


async def _read_parts(scope: Scope, receive: Receive, intake: FileIntake) -> tuple[bytes, list[Mapping[str, Any]]]:
    files, fields, left, document = list[Mapping[str, Any]](), dict[str, str](), MAX_TEXT_BYTES, b""
    names = list[str]()
    large_bodies = scope["tocsin.large_bodies"]
    async with (
        large_bodies.slot(bucket_key(scope["tocsin.client"])),
        aclosing(FormReader(header_values(scope, b"content-type")[0], _chunks(receive)).parts()) as parts,
    ):
        async for part in parts:
            if part.file is not None and not part.is_document:
                room = intake.max_bytes - sum(each["size"] for each in files)
                files.append(await stored(intake.add_part(part.file, part.type, part.blocks, room)))
                names.append(part.name)
                continue
            text = await read_text(part, left)
            left -= len(text)
            if part.type == JSON:
                document = text
            else:
                fields[part.name] = text.decode("utf-8", "replace")
    if not document and [*fields] == ["message"] and fields["message"].lstrip().startswith("{"):
        document = fields["message"].encode()
    if b'"part"' in document:
        document = _describe(document, names, files)
    return document or json.dumps(fields).encode(), files


def _describe(document: bytes, names: list[str], files: list[Mapping[str, Any]]) -> bytes:
    """Move the items of `attach` with `part` to the files of these parts; return the document without them."""
    try:
        read = json.loads(document)
    except (ValueError, RecursionError):
        return document  # refused later, with the position
    given = read.get("attach") if isinstance(read, dict) else None
    if not isinstance(given, list):
        return document
    described = set[int]()
    for item in (each for each in given if isinstance(each, dict) and "part" in each):
        found = (n for n, name in enumerate(names) if name == item["part"] and n not in described)
        if (number := next(found, None)) is None:
            detail = f"attach: the form has no further file in a part {str(item['part'])[:60]!r}."
            raise HttpProblemError("validation-failed", detail)
        described.add(number)
        changes = {name: value for name, value in item.items() if name != "part"}
        if unknown := set(changes) - {"name", "type", "mime", "alt"}:
            raise HttpProblemError("validation-failed", f"attach: unknown key {min(unknown)[:60]!r} beside `part`.")
        if wrong := [name for name, value in changes.items() if not isinstance(value, str)]:
            raise HttpProblemError("validation-failed", f"attach: `{wrong[0]}` must be text.")
        if "mime" in changes:
            changes = {"type": changes.pop("mime"), **changes}
        files[number] = {**files[number], **changes}
    rest = [each for each in given if not (isinstance(each, dict) and "part" in each)]
    return json.dumps({**read, "attach": rest} if rest else {k: v for k, v in read.items() if k != "attach"}).encode()


async def _chunks(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise InvalidFormError("The connection was closed before the whole body was received.")
        yield message.get("body", b"")
        if not message.get("more_body", False):
            return


async def stored(storing: Awaitable[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Wait until files are stored; raise the problem of those that cannot be."""
    try:
        return await storing
    except ChannelError as error:
        raise HttpProblemError("validation-failed", f"{error.sentence()}.", headers={"Connection": "close"}) from None
    except TocsinError as error:
        raise HttpProblemError("not-ready", f"{error.sentence()}.", headers={"Connection": "close"}) from None
