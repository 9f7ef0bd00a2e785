"""Extract the text of Word, OpenDocument, Excel and PowerPoint files, in the child process of `file_reader`."""

import zlib
from collections.abc import Callable
from pathlib import Path
from xml.parsers import expat  # DTDs are refused, so a hardened parser would add nothing
from zipfile import BadZipFile, ZipFile

from tocsin.providers.files import office_sheets, office_texts
from tocsin.providers.files.office_package import EnoughError, Package, RefusedError, Words

OLE = bytes.fromhex("d0cf11e0a1b11ae1")  # the signature of encrypted files, and of formats before 2007
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
NAMES = {
    "docx": "Word document",
    "odt": "OpenDocument text",
    "xlsx": "Excel workbook",
    "pptx": "PowerPoint presentation",
}
# The exceptions that the libraries raise for damaged files.
BROKEN = (
    BadZipFile, expat.ExpatError, zlib.error, KeyError, ValueError, EOFError, RuntimeError, OSError,
)  # fmt: skip


def read_office(path: Path, kind: str, max_chars: int, max_pages: int) -> tuple[str, bool]:
    """Return the beginning of the text, and whether there is more; raises RefusedError."""
    readers: dict[str, Callable[[Package, Words, int], None]] = {
        "docx": office_texts.read_docx,
        "odt": office_texts.read_odt,
        "pptx": office_texts.read_pptx,
        "xlsx": office_sheets.read_xlsx,
    }
    words = Words(max_chars)
    try:
        with ZipFile(path) as archive:
            readers[kind](Package(archive), words, max_pages)
    except EnoughError:
        words.more = True
    except RefusedError:
        if not words.text().strip():
            raise
        words.more = True
    except BROKEN:
        if not words.text().strip():
            raise RefusedError(_why(path, kind)) from None
        words.more = True
    if not words.text().strip():
        raise RefusedError("it contains no text")
    return words.text(), words.more


def _why(path: Path, kind: str) -> str:
    content = path.read_bytes()
    if content.startswith(OLE) and ENCRYPTED in content:
        return "it is password-protected"
    if content.startswith(OLE):
        return f"its format is outdated; save it as .{kind}"
    return f"it is not a readable {NAMES[kind]}"
