"""Read `multipart/form-data` while it arrives: a form with files of any size takes a constant memory. See RFC 7578."""

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from email.message import Message as Header

MAX_HEADER_BYTES = 8 * 1024  # of one part
MAX_TEXT_BYTES = 1024 * 1024  # of all parts without a file name


class InvalidFormError(ValueError):
    """A form that is not complete, or not a form."""


class FormTooLargeError(ValueError):
    """The parts of a form without a file name are too large."""


@dataclass(frozen=True, slots=True)
class FormPart:
    """A part of a form; what its reader leaves of `blocks` is skipped. `file` is the name of a file, if it is one."""

    name: str
    type: str
    file: str | None
    blocks: AsyncGenerator[bytes] = field(repr=False)

    @property
    def is_document(self) -> bool:
        """Whether it is the message itself; browsers give a part that has a type a file name, too."""
        return (self.name, self.type) == ("message", "application/json")


class FormReader:
    """Reads the parts of one request in their order."""

    def __init__(self, content_type: str, chunks: AsyncIterator[bytes]) -> None:
        """`chunks` is the body. Raises InvalidFormError for a Content-Type without a boundary."""
        self._chunks = chunks
        self._delimiter = b"\r\n--" + _boundary(content_type)
        self._buffer = bytearray(b"\r\n")  # so that the first delimiter is like the others

    async def parts(self) -> AsyncGenerator[FormPart]:
        """Yield the parts; raises InvalidFormError, and what `chunks` raises."""
        await self._skip()
        while True:
            line = await self._until(b"\r\n", MAX_HEADER_BYTES, at_end=True)
            if line.startswith(b"--"):
                return
            lines = bytes(await self._until(b"\r\n\r\n", MAX_HEADER_BYTES))
            blocks = self._content()
            yield _part(lines, blocks)
            async for _ in blocks:  # what the reader has left
                pass

    async def _skip(self) -> None:
        async for _ in self._content():
            pass

    async def _content(self) -> AsyncGenerator[bytes]:
        """Yield the bytes before the next delimiter, and consume it."""
        while (at := self._buffer.find(self._delimiter)) < 0:
            ready = len(self._buffer) - len(self._delimiter)
            if ready > 0:  # a delimiter may begin in the last bytes
                block = bytes(self._buffer[:ready])
                del self._buffer[:ready]
                yield block
            await self._read_more()
        block = bytes(self._buffer[:at])
        del self._buffer[: at + len(self._delimiter)]
        if block:
            yield block

    async def _until(self, mark: bytes, limit: int, *, at_end: bool = False) -> bytes:
        """Return the bytes before `mark`, and consume both; `at_end` accepts the final `--` without a mark."""
        while (at := self._buffer.find(mark)) < 0:
            if at_end and self._buffer.startswith(b"--"):
                return bytes(self._buffer)
            if len(self._buffer) > limit:
                raise InvalidFormError("The header of a part is too long.")
            await self._read_more()
        found = bytes(self._buffer[:at])
        del self._buffer[: at + len(mark)]
        return found

    async def _read_more(self) -> None:
        async for chunk in self._chunks:
            self._buffer += chunk
            return
        raise InvalidFormError("The form is not complete.")


def _part(lines: bytes, blocks: AsyncGenerator[bytes]) -> FormPart:
    header = Header()
    for line in lines.decode("utf-8", "replace").split("\r\n"):
        key, _, value = line.partition(":")
        header[key.strip()] = value.strip()
    name = header.get_param("name", header="content-disposition")
    if header.get_content_disposition() != "form-data" or not isinstance(name, str):
        raise InvalidFormError("A part has no name.")
    file = header.get_param("filename", header="content-disposition")
    given = isinstance(header.get("content-type"), str)
    return FormPart(name, header.get_content_type() if given else "", file if isinstance(file, str) else None, blocks)


async def read_text(part: FormPart, room: int) -> bytes:
    """Return the bytes of a part without a file, at most `room`; raises FormTooLargeError."""
    found = bytearray()
    async for block in part.blocks:
        found += block
        if len(found) > room:
            raise FormTooLargeError("The fields of the form are larger than 1 MiB.")
    return bytes(found)


def _boundary(content_type: str) -> bytes:
    header = Header()
    header["Content-Type"] = content_type
    boundary = header.get_boundary("")
    if not boundary or len(boundary) > 70 or not boundary.isascii():
        raise InvalidFormError("The Content-Type has no boundary.")
    return boundary.encode()
