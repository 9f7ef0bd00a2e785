"""The files of requests and mails: in the store of messages before a request, or a message of it, is accepted."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from tocsin.channels.attached import MAX_FILES, MAX_NAME_BYTES
from tocsin.core.errors import ChannelError
from tocsin.core.http.forms import MAX_TEXT_BYTES, FormReader, FormTooLargeError, InvalidFormError, read_text
from tocsin.core.text.strings import storable
from tocsin.delivery.files.store import FilesFullError
from tocsin.features.abilities import Files
from tocsin.features.doors.model import DoorFile, DoorRequest
from tocsin.features.doors.protocols.protocol import Refusal, RefusalReason
from tocsin.features.doors.receiving.bodies import MAX_FIELDS, media_type
from tocsin.features.front_door import DISCARDED_BYTES

FORM = "multipart/form-data"
FORM_WITHOUT_FILES = "application/x-www-form-urlencoded"
_BLOCK = 64 * 1024
_KEPT_S = 7 * 86_400.0  # while the host of a request does not run
_TYPE = re.compile(r"[\w.+-]{1,49}/[\w.+-]{1,50}")


class _TakenFiles:
    """The files of one request or message, stored one after the other."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.items: list[Mapping[str, Any]] = []

    async def add(self, name: str, kind: str, blocks: AsyncGenerator[bytes], field: str = "") -> None:
        """Store a file; one that is empty, or one too many, is left out.

        Raises ChannelError if it is too large, StoreUnavailableError, and what `blocks` raises.
        """
        own = {"field": storable(field)} if field else {}
        first = b""
        async for first in blocks:
            if first:
                break
        if not first or len(self._stored()) >= MAX_FILES:
            self.items.append({**own, "name": safe_name(name)})
            return
        kind = kind if _TYPE.fullmatch(kind) and kind != "application/octet-stream" else ""
        left = self._files.max_bytes - sum(each["size"] for each in self._stored())
        stored = await self._files.add_part(safe_name(name), kind, _joined(first, blocks), left)
        self.items.append({**own, **stored})

    def _stored(self) -> list[Mapping[str, Any]]:
        return [each for each in self.items if "hash" in each]


async def take_body(
    body: AsyncGenerator[bytes], request: DoorRequest, name: str | None, files: Files
) -> DoorRequest | Refusal:
    """Store the files of a form, or a body that is a file with a name; return the request with what remains.

    Raises StoreUnavailableError and RequestCutOffError; files that were stored before are then pruned.
    """
    async with aclosing(body) as chunks:
        try:
            if name is None:
                return await _take_form(request, chunks, files)
            taken = _TakenFiles(files)
            kind = media_type(request)
            await taken.add(name, "" if kind == FORM_WITHOUT_FILES else kind, chunks)  # curl claims a form by default
            return replace(request, body=b"", files=taken.items)
        except InvalidFormError as error:
            return await _refused(RefusalReason.BAD_REQUEST, str(error), chunks)
        except (FormTooLargeError, ChannelError) as error:
            return await _refused(RefusalReason.TOO_LARGE, str(error), chunks)


async def store_files(inline: Sequence[DoorFile], files: Files) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Store files that were read of a body; return their items of `attach`, and why others are left out."""
    taken, notes = _TakenFiles(files), []
    for file in inline:
        try:
            await taken.add(file.name, file.type, in_blocks(file.content))
        except (ChannelError, FilesFullError) as error:
            notes.append(f"not sent: {error}")
    return attachable(taken.items), notes


def attachable(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the stored ones of files as `attach` has them."""
    return [{name: value for name, value in each.items() if name != "field"} for each in items if "hash" in each]


async def keep_files(request: DoorRequest, files: Files) -> None:
    """Keep the files of a request that will be stored: it is in the database of this host alone."""
    if taken := attachable(request.files):
        await files.keep([each["hash"] for each in taken], _KEPT_S)


async def in_blocks(content: bytes) -> AsyncGenerator[bytes]:
    """Yield a content in blocks."""
    for at in range(0, len(content), _BLOCK):
        yield content[at : at + _BLOCK]


def safe_name(text: str) -> str:
    """Return the name of a file as messages accept it: without folders, control and invisible characters."""
    last = re.split(r"[/\\]", storable(text))[-1]
    shown = "".join(each for each in last if each.isprintable()).encode()
    name = shown[-MAX_NAME_BYTES:].decode(errors="ignore").strip()
    return name if name.strip(". ") else "attachment"


async def _take_form(request: DoorRequest, chunks: AsyncGenerator[bytes], files: Files) -> DoorRequest:
    taken, fields, left = _TakenFiles(files), dict[str, str](), MAX_TEXT_BYTES
    async with aclosing(FormReader(request.headers.get("content-type", ""), chunks).parts()) as parts:
        async for part in parts:
            if len(fields) + len(taken.items) >= MAX_FIELDS:
                raise FormTooLargeError(f"The form has more than {MAX_FIELDS:,} parts.")
            if part.file is not None:
                await taken.add(part.file, part.type, part.blocks, part.name)
                continue
            text = await read_text(part, left)
            left -= len(text)
            fields[storable(part.name)] = storable(text.decode("utf-8", "replace"))
    headers = {**request.headers, "content-type": FORM_WITHOUT_FILES}
    return replace(request, body=urlencode(fields).encode(), headers=headers, files=taken.items)


async def _refused(reason: RefusalReason, said: str, chunks: AsyncIterator[bytes]) -> Refusal:
    """Return a refusal, after reading a bounded rest of the body: clients read no response before."""
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > DISCARDED_BYTES:
            break
    return Refusal(reason, said)


async def _joined(first: bytes, blocks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    yield first
    async for block in blocks:
        yield block
