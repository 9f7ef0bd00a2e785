"""The files of a message: as a message names them, and as adapters get them. See docs/messages.md, "Files".

Imported only for messages that have fields besides their text.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from tocsin.channels.model import FileLimits
from tocsin.core.errors import ChannelError
from tocsin.core.reading.fields import IntegerType, TextType
from tocsin.core.reading.records import Written
from tocsin.core.text.strings import byte_count, number_of

MAX_FILES = 10
MAX_NAME_BYTES = 200
UNKNOWN_TYPE = "application/octet-stream"
IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})  # what every product shows inline

# Slashes, control characters, and those that turn the direction of text, which hide the end of a name.
_BAD = r"\x00-\x1f\x7f/\\\u2028-\u202e\u2066-\u2069"
_NAME_RULE = "not the name of a file: use no slashes and no control characters"

ReadFile = Callable[[str], AsyncGenerator[bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFile:
    """A file of a message."""

    name: Annotated[
        str,
        Written(
            TextType(
                max_chars=MAX_NAME_BYTES,
                max_bytes=MAX_NAME_BYTES,
                pattern=rf"[^{_BAD}]*[^{_BAD}.\s][^{_BAD}]*",
                rule=_NAME_RULE,
            )
        ),
        "Name that the recipient sees, at most 200 bytes.",
    ]
    type: Annotated[
        str,
        Written(TextType(True, 100, r"(?:[\w.+-]+/[\w.+-]+)?", "not a media type: write one such as image/png")),
        "Media type; by default, that of the name.",
    ] = ""
    mime: Annotated[str, Written(TextType(True, 100)), "Alias of `type`; absent in responses."] = ""
    alt: Annotated[str, Written(TextType(True, 1_000)), "Description of an image."] = ""
    content: Annotated[str, Written(TextType(True)), "The bytes of a new file in Base64; absent in responses."] = ""
    hash: Annotated[
        str,
        Written(TextType(True, 64, "(?:[0-9a-f]{64})?", "not a SHA-256 in hexadecimal")),
        "SHA-256 of a stored file.",
    ] = ""
    size: Annotated[int, Written(IntegerType(0)), "Bytes of a stored file."] = 0

    def as_stored(self) -> dict[str, Any]:
        """Return the fields that are used as a JSON object."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file that an adapter sends; `blocks` opens it, once per attempt, and raises if its content is gone."""

    name: str
    type: str
    size: int  # bytes, at least 1
    blocks: Callable[[], AsyncGenerator[bytes]] = field(repr=False)
    alt: str = ""
    hash: str = ""  # SHA-256 of a stored file

    @property
    def is_image(self) -> bool:
        """Whether products show it in the message."""
        return self.type in IMAGES


def open_files(
    files: Sequence[MessageFile], limits: FileLimits, label: str, read: ReadFile | None
) -> tuple[AttachedFile, ...]:
    """Return the files as an adapter gets them; raise ChannelError if the channel does not take them."""
    if len(files) > limits.count:
        raise ChannelError(
            f"{label} takes {number_of(limits.count, 'file')} in a message, not {len(files)}",
            hint="send the others in a second message",
        )
    for file in files:
        if not file.hash:
            raise ChannelError(f"the file {file.name} is not stored", hint="attach it with `tocsin send` or in Python")
        if limits.each and file.size > limits.each:
            raise too_large(f"the file {file.name}", file.size, limits.each, f"the limit of {label}")
    if limits.together and (total := sum(file.size for file in files)) > limits.together:
        raise too_large("the files", total, limits.together, f"the limit of {label} for one message")
    return tuple(_attached(file, read) for file in files)


def _attached(file: MessageFile, read: ReadFile | None) -> AttachedFile:
    def blocks() -> AsyncGenerator[bytes]:
        if read is None:
            raise ChannelError("files cannot be read here", hint="send the message with `tocsin`")
        return read(file.hash)

    return AttachedFile(file.name, file.type or UNKNOWN_TYPE, file.size, blocks, file.alt, file.hash)


def text_file(name: str, text: str) -> AttachedFile:
    """Return a text as a file."""
    data = text.encode("utf-8", "replace")

    async def blocks() -> AsyncGenerator[bytes]:
        yield data

    return AttachedFile(name, "text/plain; charset=utf-8", len(data), blocks)


def too_large(what: str, size: int, limit: int, whose: str) -> ChannelError:
    """Return the error for files above a limit, both in bytes."""
    verb = "have" if what.endswith("s") else "has"
    return ChannelError(
        f"{what} {verb} {byte_count(size, ',.1f')}; {whose} is {byte_count(limit)}", hint="send a smaller file"
    )
