"""The files of messages: uploads, and the events that show them. Source: docs/facts/matrix.md, "Files"."""

from typing import TYPE_CHECKING, Any

from tocsin.channels.attached import too_large
from tocsin.channels.matrix.pictures import picture_size

if TYPE_CHECKING:
    from tocsin.channels.attached import AttachedFile
    from tocsin.channels.matrix.api import MatrixApi


class MatrixMedia:
    """Uploads files within the limit of the homeserver, which is looked up once."""

    def __init__(self, api: "MatrixApi") -> None:
        self._api = api
        self._limit: int | None = None

    async def content(self, file: "AttachedFile") -> dict[str, Any]:
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


async def _start(file: "AttachedFile") -> bytes:
    """Return the first block of a file."""
    blocks = file.blocks()
    try:
        return await anext(blocks, b"")
    finally:
        await blocks.aclose()
