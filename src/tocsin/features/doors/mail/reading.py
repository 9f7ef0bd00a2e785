"""A mail as JSON values, whatever its charsets, encodings and mistakes."""

from collections.abc import Iterator, Mapping, Sequence
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.policy import Compat32
from typing import Any, NamedTuple

from tocsin.channels.layout.html import html_text
from tocsin.core.text.strings import storable, truncate
from tocsin.features.doors.model import DoorFile

MAX_TEXT = 10_000
MAX_BODY = 128 * 1024  # of one part
MAX_PARTS, MAX_MARKS, MAX_LINES = 200, 10_000, 500_000
MAX_LOOKS = 20_000_000  # the parser looks for each boundary in each line
_UNREADABLE = "the mail has too many parts or lines to be read"
_MAX_HEADERS, _MAX_HEADER, _MAX_HEADER_LINES, _MAX_ATTACHMENTS = 40, 500, 50, 50
_NOISE = ("received", "dkim-", "arc-", "authentication-results", "x-received")


class ReadMail(NamedTuple):
    """A mail: subject, from, to, date, message_id, text, attachments, headers; and a note if something is odd."""

    payload: Mapping[str, Any]
    files: Sequence[DoorFile] = ()
    note: str = ""


def read_mail(raw: bytes) -> ReadMail:
    """Read a mail; never raises."""
    try:
        message = _parsed(raw)
    except RecursionError:
        message = None
    text, files = ("", []) if message is None else _content(message)
    note = "" if message else _UNREADABLE
    if message is None:
        message = BytesParser(policy=_ShortHeaders()).parsebytes(raw[:MAX_BODY], headersonly=True)
        text = str(message.get_payload())[:MAX_TEXT]
    headers = _headers(message)
    payload = {
        **{name.replace("-", "_"): headers.get(name, "") for name in ("subject", "from", "to", "date", "message-id")},
        "text": truncate(storable(text).replace("\r\n", "\n").strip(), MAX_TEXT),
        "attachments": [
            {"name": each.name, "type": each.type, "size": len(each.content)} for each in files[:_MAX_ATTACHMENTS]
        ],
        "headers": {name: value for name, value in headers.items() if not name.startswith(_NOISE)},
    }
    return ReadMail(payload, files, note)


class _ShortHeaders(Compat32):
    """Cuts headers: reading parameters takes quadratic time."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines[:_MAX_HEADER_LINES])
        return name[:_MAX_HEADER], value[: 4 * _MAX_HEADER]


def _parsed(raw: bytes) -> Message | None:
    """Return a mail with its parts; `None` if that would take minutes. Raises RecursionError."""
    lines, boundaries = raw.count(b"\n"), raw.lower().count(b"boundary")
    if lines > MAX_LINES or boundaries > MAX_PARTS or lines * boundaries > MAX_LOOKS or raw.count(b"\n--") > MAX_MARKS:
        return None
    return BytesParser(policy=_ShortHeaders()).parsebytes(raw)


def _headers(message: Message) -> dict[str, str]:
    """Return the headers by lower-case name; of repeated ones, the first."""
    found: dict[str, str] = {}
    for name, value in list(message.raw_items())[:_MAX_HEADERS]:
        found.setdefault(storable(name.lower()), truncate(_decoded_words(str(value)), _MAX_HEADER))
    return found


def _decoded_words(value: str) -> str:
    """Return a header on one line, its encoded words decoded; bytes beyond ASCII are UTF-8, else Latin-1."""
    text = decoded(value.encode("utf-8", "surrogateescape"))
    try:
        words = decode_header(text)
    except (HeaderParseError, ValueError):
        words = [(text, None)]
    parts = (
        word if isinstance(word, str) else decoded(word, charset or "raw-unicode-escape") for word, charset in words
    )
    return " ".join(storable("".join(parts)).split())


def decoded(raw: bytes, charset: str = "utf-8") -> str:
    """Return bytes as text, in UTF-8 or Latin-1 if they are not in their charset."""
    for each in (charset, "utf-8"):
        try:
            return raw.decode(each)
        except (LookupError, ValueError):
            continue
    return raw.decode("latin-1")


def _content(message: Message) -> tuple[str, list[DoorFile]]:
    """Return the text and the attachments."""
    texts: dict[str, list[str]] = {"plain": [], "html": []}
    files: list[DoorFile] = []
    for part in _leaves(message):
        body = part.get_payload(decode=True)
        raw = body if isinstance(body, bytes) else b""
        kind, name = part.get_content_type(), part.get_filename()
        kind = "text/plain" if kind.startswith("multipart/") else kind  # one without parts
        is_text = kind in {"text/plain", "text/html"} and not name and part.get_content_disposition() != "attachment"
        if is_text:
            texts[kind.partition("/")[2]].append(decoded(raw[:MAX_BODY], part.get_content_charset("utf-8")))
        else:
            files.append(DoorFile(name=_decoded_words(name or kind), type=kind[:100], content=raw))
    text = "\n\n".join(texts["plain"]).strip() or "\n\n".join(html_text(each) for each in texts["html"][:5])
    return text, files


def _leaves(message: Message) -> Iterator[Message]:
    """Yield the parts that have no parts, in order; a mail within the mail is one."""
    waiting, seen = [message], 0
    while waiting and seen < MAX_PARTS:
        part, seen = waiting.pop(), seen + 1
        inner = part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(inner, list):
            waiting += [each for each in inner[::-1] if isinstance(each, Message)]
        else:
            yield part
