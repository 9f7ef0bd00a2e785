"""Mails with files: these are encoded while they are sent, so that a file of any size takes a constant memory."""

from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from email.message import EmailMessage

    from tocsin.channels.attached import AttachedFile

_LINE = 57  # bytes that make a line of 76 characters: RFC 2045, 6.8
_ENCODED_AT_ONCE = _LINE * 1_024


@dataclass(frozen=True, slots=True)
class MailWithFiles:
    """A mail whose parts with files stand between `lead` and `tail`; all lines end with CRLF."""

    lead: bytes
    files: "tuple[tuple[bytes, AttachedFile], ...]"  # with the header of each part
    tail: bytes

    def __len__(self) -> int:
        inside = sum(len(head) + encoded_size(file.size) for head, file in self.files)
        return len(self.lead) + inside + len(self.tail)

    async def blocks(self) -> AsyncGenerator[bytes]:
        """Yield the mail after `lead`; no line begins with a dot."""
        for head, file in self.files:
            yield head
            pending = bytearray()
            async for block in file.blocks():
                pending += block
                while len(pending) >= _ENCODED_AT_ONCE:
                    yield _encoded(bytes(pending[:_ENCODED_AT_ONCE]))
                    del pending[:_ENCODED_AT_ONCE]
            if pending:
                yield _encoded(bytes(pending))
        yield self.tail


def with_files(message: "EmailMessage", files: "Sequence[AttachedFile]") -> MailWithFiles:
    """Return the mail with files; pictures are shown in it, others attached."""
    message.make_mixed()
    raw = message.as_bytes()
    boundary = f"--{message.get_boundary()}".encode()
    end = raw.rindex(boundary + b"--")
    return MailWithFiles(
        raw[:end], tuple((boundary + b"\r\n" + _head(message, file), file) for file in files), raw[end:]
    )


def encoded_size(size: int) -> int:
    """Return the bytes of a file of `size` bytes in Base64, with line ends."""
    return -(-size // 3) * 4 + -(-size // _LINE) * 2


def _head(message: "EmailMessage", file: "AttachedFile") -> bytes:
    from email.message import MIMEPart  # importing it takes 10 ms, which listing channels avoids

    part = MIMEPart(policy=message.policy)
    part["Content-Type"] = file.type
    part["Content-Transfer-Encoding"] = "base64"
    part.add_header("Content-Disposition", "inline" if file.is_image else "attachment", filename=file.name)
    if file.alt:
        part["Content-Description"] = " ".join(file.alt.split())
    return part.as_bytes()


def _encoded(data: bytes) -> bytes:
    text = b64encode(data)
    return b"".join(text[at : at + 76] + b"\r\n" for at in range(0, len(text), 76))
