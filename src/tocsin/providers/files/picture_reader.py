"""Make a picture of a stranger fit for chat models: `python -m tocsin.providers.files.picture_reader <path>`.

It runs as a child with limited memory and time, as `file_reader` does. What it prints is JSON: `{"fits": true}` for a
picture that can go as it is, `{"jpeg": …}` in base64 for one that was scaled down, or `{"refused": …}`.
"""

import base64
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tocsin.core.process.limited import limit_this_process

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_BYTES = 3_750_000  # in base64 just under the 5 MB that the chat models take
MAX_SIDE = 8_000  # larger ones are refused: https://docs.claude.com/en/docs/build-with-claude/vision
FORMATS = ("JPEG", "PNG", "GIF", "WEBP")
MAX_PIXELS = 100_000_000  # with four bytes for each, most of the memory that there is
MAX_JPEG_PIXELS = 400_000_000  # these are decoded at an eighth of their size
# What is tried in turn: the longer side, and the quality of the JPEG. The models look at no more than the first.
SCALES = ((2_048, 85), (2_048, 70), (1_568, 65), (1_024, 60))
SCALED_BYTES = 750_000  # in base64 below the 1 MiB that a child may print
MEMORY_BYTES = 768 * 1024 * 1024
CPU_S = 20


def main() -> None:
    """Read the picture that the argument names."""
    path = Path(sys.argv[1])
    limit_this_process(memory_bytes=MEMORY_BYTES, cpu_s=CPU_S)
    try:
        result = fitted(path)
    except MemoryError:
        result = {"refused": "it needs too much memory to open"}
    sys.stdout.write(json.dumps(result))


def fitted(path: Path) -> dict[str, Any]:
    """Check the picture, and scale it down where it is too large for chat models."""
    is_small = path.stat().st_size <= MAX_BYTES
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        # It comes with the chat models; what is small enough needs it for its check alone.
        return {"fits": True} if is_small else {"refused": 'Pillow: package not installed: pip install "tocsin[chat]"'}
    Image.MAX_IMAGE_PIXELS = None  # it only warns up to twice the number; ours is strict
    try:
        with Image.open(path, formats=FORMATS) as image:
            width, height = image.size
            if width * height > (MAX_JPEG_PIXELS if image.format in {"JPEG", "MPO"} else MAX_PIXELS):
                return {"refused": f"it has too many pixels ({width} × {height})"}
            if is_small and max(image.size) <= MAX_SIDE:
                image.load()
                return {"fits": True}
            return {"jpeg": base64.b64encode(_scaled(image)).decode("ascii")}
    except UnidentifiedImageError:
        return {"refused": "it is not a JPEG, PNG, GIF or WebP picture"}
    except (OSError, SyntaxError, ValueError, EOFError, TypeError, KeyError, IndexError, ArithmeticError):
        # What the decoders raise for broken files is not a closed list.
        return {"refused": "the picture is damaged"}


def _scaled(image: "Image") -> bytes:
    """Return the picture, of an animation its first one, as a JPEG of at most about `SCALED_BYTES`."""
    from PIL import ImageOps

    largest = SCALES[0][0]
    image.draft("RGB", (largest, largest))
    if image.mode not in {"RGB", "RGBA", "L", "LA", "CMYK"}:  # others cannot be scaled well
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    image.thumbnail((largest, largest))
    image = _opaque(ImageOps.exif_transpose(image))  # what says how to turn it is lost with the next step
    encoded = b""
    for side, quality in SCALES:
        image.thumbnail((side, side))
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=quality)
        encoded = buffer.getvalue()
        if len(encoded) <= SCALED_BYTES:
            break
    return encoded


def _opaque(image: "Image") -> "Image":
    """Return the picture in red, green and blue, on white where it is transparent."""
    from PIL import Image

    if not image.has_transparency_data:
        return image.convert("RGB")
    image = image.convert("RGBA")
    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white


if __name__ == "__main__":
    main()
