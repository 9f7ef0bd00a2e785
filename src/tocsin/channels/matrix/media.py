"""The files of messages: uploads, and the events that show them. Source: docs/facts/matrix.md, "Files"."""

from typing import Any

from tocsin.channels.attached import AttachedFile, too_large
from tocsin.channels.matrix.api import MatrixApi


class MatrixMedia:
    """Uploads files within the limit of the homeserver, which is looked up once."""

    def __init__(self, api: MatrixApi) -> None:
        self._api = api
        self._limit: int | None = None

    async def content(self, file: AttachedFile) -> dict[str, Any]:
        """Upload a file and return the content of the event that shows it. Raises RemoteError."""
        if self._limit is None:
            self._limit = await self._api.largest_upload()
        if self._limit and file.size > self._limit:
            raise too_large(f"the file {file.name}", file.size, self._limit, "the limit of the homeserver")
        info: dict[str, Any] = {"mimetype": file.type, "size": file.size}
        if file.is_image and all(found := picture_size(await _start(file)) or (0, 0)):
            info |= {"w": found[0], "h": found[1]}
        return {
            "msgtype": "m.image" if file.is_image else "m.file",
            "body": file.alt or file.name,
            "filename": file.name,
            "url": await self._api.upload(file),
            "info": info,
            "m.mentions": {},
        }


async def _start(file: AttachedFile) -> bytes:
    """Return the first block of a file."""
    blocks = file.blocks()
    try:
        return await anext(blocks, b"")
    finally:
        await blocks.aclose()


def picture_size(start: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, GIF or JPEG, so that clients reserve the room before they load it.

    `None` for others, and if they are not within `start`, the first bytes.
    """
    if start.startswith(b"\x89PNG\r\n\x1a\n") and len(start) >= 24:
        return _number(start[16:20]), _number(start[20:24])
    if start.startswith((b"GIF87a", b"GIF89a")) and len(start) >= 10:
        return int.from_bytes(start[6:8], "little"), int.from_bytes(start[8:10], "little")
    return _jpeg_size(start) if start.startswith(b"\xff\xd8") else None


def _jpeg_size(start: bytes) -> tuple[int, int] | None:
    """Return the size in the first frame header (ITU T.81, B.2.2); the segments before it are skipped."""
    at = 2
    while at + 9 <= len(start) and start[at] == 0xFF:
        marker = start[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:  # tables have these numbers, too
            return _number(start[at + 7 : at + 9]), _number(start[at + 5 : at + 7])
        at += 2 + _number(start[at + 2 : at + 4])
    return None


def _number(data: bytes) -> int:
    return int.from_bytes(data, "big")
