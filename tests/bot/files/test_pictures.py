"""Pictures: made small enough for chat models; hostile ones end nothing but their reader."""

import io
import struct
import zlib
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.facts import mentions

from tocsin.bot.contract import Prepared
from tocsin.bot.files.attachments import Attachments
from tocsin.channels.inbound import Attachment, InboundMessage, MessageKind
from tocsin.providers.files.picture_reader import MAX_BYTES, SCALED_BYTES, fit_picture
from tocsin.providers.files.pictures import fit
from tocsin.providers.files.reading import UnreadableFileError, read_in_child
from tocsin.providers.files.speech import Speech

pytest.importorskip("PIL")  # of the extra `chat`

from PIL import Image

MIB_20 = 20 * 1024 * 1024


async def prepared(data: bytes, kind: str = "document", mime: str = "image/png", name: str = "a.png") -> Prepared:
    async def fetch(attachment: Attachment) -> bytes:
        return data

    sent = (Attachment(kind, "f", mime=mime, name=name),)
    message = InboundMessage("botchat", MessageKind.MESSAGE, "1", ("k",), "7", attachments=sent)
    return await Attachments(fetch, Speech(Path("/nonexistent"), read_in_child)).prepare(message)


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    return Image.effect_noise((width, height), 90).convert(mode)


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP"])
async def test_a_small_picture_goes_as_it_is(kind: str):
    data = encoded(noise(40, 30), kind)
    found = await fit(data)
    assert (found.media_type, found.data) == (f"image/{kind.lower()}", data)


def dots(width: int, height: int) -> Image.Image:
    """Return a picture that no format can make smaller."""
    return Image.frombytes("RGB", (width, height), Random(1).randbytes(3 * width * height))


LARGE = {
    "JPEG": (lambda: dots(2000, 1500), {"quality": 100}),
    "PNG": (lambda: dots(1400, 1000), {"compress_level": 1}),
    "GIF": (lambda: dots(2200, 1500).convert("L"), {}),
    "WEBP": (lambda: dots(1400, 1000), {"lossless": True, "quality": 0, "method": 0}),
}


@pytest.mark.parametrize("kind", LARGE)
async def test_a_large_picture_is_scaled_down_whatever_its_format(kind: str):
    make, options = LARGE[kind]
    data = encoded(make(), kind, **options)
    assert MAX_BYTES < len(data) < MIB_20
    found = await prepared(data, mime=f"image/{kind.lower()}")
    assert found.notes == ()
    (image,) = found.images
    assert image.media_type == "image/jpeg"
    assert len(image.data) <= SCALED_BYTES
    assert 1000 <= max(opened(image.data).size) <= 2048


async def test_a_picture_with_too_long_a_side_is_scaled_down_however_small_its_file_is():
    found = await fit(encoded(Image.new("RGB", (9000, 300), "red"), "PNG"))
    assert opened(found.data).size == (2048, 68)


async def test_a_photograph_stays_upright():
    data = encoded(dots(2000, 1500), "JPEG", quality=100, exif=_turned())
    assert len(data) > MAX_BYTES
    width, height = opened((await fit(data)).data).size
    assert height > width


def _turned() -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    return exif


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
async def test_what_is_transparent_becomes_white(mode: str):
    image = Image.new("RGBA", (9000, 200), (255, 0, 0, 0)).convert(mode)
    options = {"transparency": 0} if mode == "P" else {}
    pixel = opened((await fit(encoded(image, "PNG", **options))).data).getpixel((5, 5))
    assert isinstance(pixel, tuple)
    assert min(pixel) > 240


async def test_of_an_animation_the_first_picture_is_scaled():
    frames = [Image.new("RGB", (9000, 100), color) for color in ("red", "blue")]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    pixel = opened((await fit(data)).data).getpixel((5, 5))
    assert isinstance(pixel, tuple)
    assert pixel[0] > 200


async def test_a_picture_of_unknown_type_is_known_by_its_name_and_its_bytes():
    data = encoded(noise(20, 20), "PNG")
    found = await prepared(data, mime="application/octet-stream", name="IMG.JPG")
    assert [image.media_type for image in found.images] == ["image/png"]


# What is hostile


def bomb(width: int, height: int) -> bytes:
    """Return a PNG of a few kilobytes that unpacks to as many pixels as it says."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 + width * 4)) for _ in range(min(height, 200))) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


async def test_a_picture_that_unpacks_to_gigabytes_is_refused_before_that():
    found = await prepared(bomb(50_000, 50_000))
    assert found.images == ()
    assert [mentions(note, "a.png", "50000 × 50000") for note in found.notes] == [True]


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP"])
def test_whatever_is_cut_off_or_changed_is_a_picture_or_a_sentence(tmp_path: Path, kind: str):
    whole = encoded(noise(60, 40), kind)
    path = tmp_path / "file"
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        for broken in (whole[:at], whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]):
            path.write_bytes(broken)
            result = fit_picture(path)
            assert result.get("fits") or result.get("jpeg") or result["refused"]


@pytest.mark.parametrize("data", [b"MZ not a picture", b"", b"RIFF1234WAVE", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"])
async def test_what_is_not_a_picture_is_told_as_such(data: bytes):
    with pytest.raises(UnreadableFileError):
        await fit(data)


async def test_other_formats_are_not_opened_whatever_they_claim_to_be():
    with pytest.raises(UnreadableFileError):
        await fit(encoded(noise(20, 20), "TIFF"))
