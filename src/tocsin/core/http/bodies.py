"""Bodies of requests that are read in blocks while they are sent: a file of any size takes a constant memory.

Their length is known, because no provider accepts chunked requests. A retry opens the blocks again.
"""

import os
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

Blocks = Callable[[], AsyncGenerator[bytes]]


class UploadedFile(Protocol):
    """A file of a request; its blocks have `size` bytes together."""

    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def blocks(self) -> Blocks: ...


@dataclass(frozen=True, slots=True)
class StreamedBody:
    """A body of `length` bytes."""

    length: int
    blocks: Blocks = field(repr=False)
    content_type: str = "application/octet-stream"

    def __len__(self) -> int:
        return self.length


def file_body(file: UploadedFile) -> StreamedBody:
    """Return the body that has only the bytes of a file."""
    return StreamedBody(file.size, file.blocks, file.type)


def multipart(
    fields: Mapping[str, str | None], files: Iterable[tuple[str, UploadedFile]], *, boundary: str = ""
) -> StreamedBody:
    """Return a body of `multipart/form-data`: the fields, then each file under its name.

    A field that is `None` is omitted. Source: RFC 7578.
    """
    boundary = boundary or f"tocsin-{os.urandom(16).hex()}"
    lead = b"".join(_field(boundary, name, value) for name, value in fields.items() if value is not None)
    parts: list[tuple[bytes, UploadedFile]] = []
    for name, file in files:
        disposition = f'form-data; name="{_quoted(name)}"; filename="{_quoted(file.name)}"'
        parts.append((_head(boundary, disposition, file.type), file))
    end = f"--{boundary}--\r\n".encode()
    length = len(lead) + sum(len(head) + file.size + 2 for head, file in parts) + len(end)

    async def blocks() -> AsyncGenerator[bytes]:
        yield lead
        for head, file in parts:
            yield head
            async for block in file.blocks():
                yield block
            yield b"\r\n"
        yield end

    return StreamedBody(length, blocks, f"multipart/form-data; boundary={boundary}")


def _field(boundary: str, name: str, value: str) -> bytes:
    return _head(boundary, f'form-data; name="{_quoted(name)}"', "") + value.encode() + b"\r\n"


def _head(boundary: str, disposition: str, kind: str) -> bytes:
    more = f"Content-Type: {kind}\r\n" if kind else ""
    return f"--{boundary}\r\nContent-Disposition: {disposition}\r\n{more}\r\n".encode()


def _quoted(text: str) -> str:
    # As browsers do: WHATWG HTML, "multipart form data".
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
