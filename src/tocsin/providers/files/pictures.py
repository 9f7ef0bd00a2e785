"""Prepare pictures for chat models: check them and scale large ones down, in a child process."""

import base64

from tocsin.providers.contract import Image
from tocsin.providers.files.picture_reader import MAX_BYTES
from tocsin.providers.files.reading import UnreadableFileError, read_in_child

# The first bytes of each format; the media type given by a channel is not reliable.
PICTURE_TYPES = {
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
FIT_TIMEOUT_S = 30.0


async def fit(data: bytes, *, is_checked: bool = False) -> Image:
    """Return a picture that chat models accept; raises UnreadableFileError.

    A picture that `is_checked` is known to be readable, and to have no more pixels than models accept.
    """
    media_type = detect_type(data)
    if not media_type:
        raise UnreadableFileError("it is not a JPEG, PNG, GIF or WebP picture")
    if is_checked and len(data) <= MAX_BYTES:
        return Image(media_type, data)
    result = await read_in_child("tocsin.providers.files.picture_reader", [], data, FIT_TIMEOUT_S)
    if refused := result.get("refused"):
        raise UnreadableFileError(str(refused))
    scaled = result.get("jpeg")
    return Image("image/jpeg", base64.b64decode(scaled)) if scaled else Image(media_type, data)


def detect_type(data: bytes) -> str:
    """Return the media type according to the first bytes; empty if models do not accept it."""
    for media_type, beginnings in PICTURE_TYPES.items():
        if data.startswith(beginnings) and (media_type != "image/webp" or data[8:12] == b"WEBP"):
            return media_type
    return ""
