"""Prepare an untrusted picture for chat models: `python -m tocsin.providers.files.picture_reader <path>`.

It runs as a child process with limited memory and time, as `file_reader` does. The output is JSON: `{"fits": true}` for
a picture that can be used as it is, `{"jpeg": …}` in base64 for one that was scaled down, or `{"refused": …}`.
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

MAX_BYTES = 3_750_000  # in base64 just under the 5 MB that chat models accept
MAX_SIDE = 8_000  # larger ones are refused: https://docs.claude.com/en/docs/build-with-claude/vision
FORMATS = ("JPEG", "PNG", "GIF", "WEBP")
MAX_PIXELS = 100_000_000  # with four bytes per pixel, most of the available memory
MAX_JPEG_PIXELS = 400_000_000  # JPEGs are decoded at an eighth of their size
# Longer side and JPEG quality, tried in this order. Models do not use more than the first size.
SCALES = ((2_048, 85), (2_048, 70), (1_568, 65), (1_024, 60))
SCALED_BYTES = 750_000  # in base64 below the 1 MiB that a child may print
MEMORY_BYTES = 768 * 1024 * 1024
CPU_S = 20


def main() -> None:
    """Check the picture given in the argument, and print the result."""
    path = Path(sys.argv[1])
    limit_this_process(memory_bytes=MEMORY_BYTES, cpu_s=CPU_S)
    try:
        result = fit_picture(path)
    except MemoryError:
        result = {"refused": "it needs too much memory to open"}
    sys.stdout.write(json.dumps(result))


def fit_picture(path: Path) -> dict[str, Any]:
    """Check the picture, and scale it down if it is too large for chat models."""
    is_small = path.stat().st_size <= MAX_BYTES
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        # Pillow is installed with the chat models; a small picture needs it only for this check.
        return {"fits": True} if is_small else {"refused": 'Pillow: package not installed: pip install "tocsin[chat]"'}
    Image.MAX_IMAGE_PIXELS = None  # Pillow only warns up to twice this number; this module's limit is strict
    try:
        with Image.open(path, formats=FORMATS) as image:
            width, height = image.size
            if width * height > (MAX_JPEG_PIXELS if image.format in {"JPEG", "MPO"} else MAX_PIXELS):
                return {"refused": f"it has too many pixels ({width} × {height})"}
            if is_small and max(image.size) <= MAX_SIDE:
                image.load()
                return {"fits": True}
            return {"jpeg": base64.b64encode(_scale(image)).decode("ascii")}
    except UnidentifiedImageError:
        return {"refused": "it is not a JPEG, PNG, GIF or WebP picture"}
    except (OSError, SyntaxError, ValueError, EOFError, TypeError, KeyError, IndexError, ArithmeticError):
        # The exceptions that the decoders raise for damaged files are not documented completely.
        return {"refused": "the picture is damaged"}


def _scale(image: "Image") -> bytes:
    """Return the picture, or the first frame of an animation, as a JPEG of at most about `SCALED_BYTES`."""
    from PIL import ImageOps

    largest = SCALES[0][0]
    image.draft("RGB", (largest, largest))
    if image.mode not in {"RGB", "RGBA", "L", "LA", "CMYK"}:  # other modes cannot be scaled well
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    image.thumbnail((largest, largest))
    image = _flatten(ImageOps.exif_transpose(image))  # the orientation is lost in the next step
    encoded = b""
    for side, quality in SCALES:
        image.thumbnail((side, side))
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=quality)
        encoded = buffer.getvalue()
        if len(encoded) <= SCALED_BYTES:
            break
    return encoded


def _flatten(image: "Image") -> "Image":
    """Return the picture as RGB, on white where it is transparent."""
    from PIL import Image

    if not image.has_transparency_data:
        return image.convert("RGB")
    image = image.convert("RGBA")
    white = Image.new("RGB", image.size, "white")
    white.paste(image, mask=image.getchannel("A"))
    return white


if __name__ == "__main__":
    main()
