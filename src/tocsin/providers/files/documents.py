"""Detect the kind of a file, and extract the text of documents.

Each file is opened in its own child process (`file_reader`, `picture_reader`, `speech_reader`).
"""

from pathlib import Path
from typing import NamedTuple

from tocsin.providers.files.pictures import PICTURE_TYPES
from tocsin.providers.files.reading import UnreadableFileError, read_in_child

TEXT_TYPES = frozenset(
    {"text/plain", "text/csv", "text/html", "text/markdown", "application/json", "application/xml", "text/xml"}
)
PICTURE = "picture"
# The kind of each media type: a picture, or a kind of document that `file_reader` knows.
KINDS = {
    **dict.fromkeys(PICTURE_TYPES, PICTURE),
    **dict.fromkeys(TEXT_TYPES, "text"),
    "application/pdf": "pdf",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
    "application/vnd.oasis.opendocument.text": "odt",
}
# For these media types, the suffix of the file name decides.
UNKNOWN_TYPES = frozenset({"", "application/octet-stream", "application/zip", "application/x-zip-compressed"})
BY_SUFFIX = {
    **{f".{kind}": kind for kind in ("pdf", "docx", "xlsx", "pptx", "odt")},
    **dict.fromkeys((".txt", ".csv", ".html", ".md", ".json", ".xml"), "text"),
    **dict.fromkeys((".jpg", ".jpeg", ".png", ".gif", ".webp"), PICTURE),
}
READ_TIMEOUT_S = 30.0


class DocumentText(NamedTuple):
    """The text of a document; if `cut`, only its beginning."""

    text: str
    cut: bool

    def titled(self, name: str) -> str:
        """Return the text with the file name, for a chat model."""
        cut = "\n[The file is longer; only its beginning is shown.]" if self.cut else ""
        return f"[File {name}]\n{self.text}{cut}"


def detect_kind(name: str, mime: str) -> str:
    """Return the kind of a file by its media type, or by its name if that is unspecific; empty if unsupported."""
    kinds = BY_SUFFIX.get(Path(name).suffix.lower()) if mime in UNKNOWN_TYPES else KINDS.get(mime)
    return kinds or ""


async def read_document(kind: str, data: bytes) -> DocumentText:
    """Return the text of a document; raises UnreadableFileError."""
    reading = await read_in_child("tocsin.providers.files.file_reader", [kind], data, READ_TIMEOUT_S)
    if refused := reading.get("refused"):
        raise UnreadableFileError(str(refused))
    return DocumentText(str(reading.get("text", "")), bool(reading.get("cut")))
