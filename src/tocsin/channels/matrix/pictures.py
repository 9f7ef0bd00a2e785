"""Width and height of pictures, from their first bytes: clients reserve the room before they load a picture."""


def picture_size(start: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, GIF or JPEG; `None` for others, and if they are not within `start`."""
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
