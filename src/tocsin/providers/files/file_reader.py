"""Print the text of one untrusted file: `python -m tocsin.providers.files.file_reader <kind> <path>`.

It runs as a child process with limited memory and time, so that a malicious file can crash only this process. The
output is JSON: `{"text": …, "cut": …}`, or `{"refused": …}`.
"""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypedDict

from tocsin.core.process.limited import limit_this_process

MAX_CHARS = 10_000  # docs/bot.md, "Files"
MAX_PAGES = 20  # pages of a PDF, sheets of a workbook, slides of a presentation
MEMORY_BYTES = 768 * 1024 * 1024
CPU_S = 20


class ExtractedText(TypedDict, total=False):
    """The output of this program."""

    text: str
    cut: bool  # `text` is incomplete
    refused: str  # the reason why there is no text


def main() -> None:
    """Read the file given in the arguments, and print its text."""
    kind, path = sys.argv[1:3]
    limit_this_process(memory_bytes=MEMORY_BYTES, cpu_s=CPU_S)
    try:
        reading = READERS[kind](Path(path))
    except MemoryError:
        reading = {"refused": "it needs too much memory to open"}
    sys.stdout.write(json.dumps(reading))


def read_text(path: Path) -> ExtractedText:
    """Return the first characters of a text file; invalid UTF-8 is replaced."""
    content = path.read_bytes()
    encoding = "utf-16" if content[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    return _cut(content.decode(encoding, errors="replace"))


def read_pdf(path: Path) -> ExtractedText:
    """Return the text of the first pages."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import PdfReadError
    except ModuleNotFoundError:
        return {"refused": 'PDF files are not read here: the operator has not installed "tocsin[pdf]"'}
    text, cut = "", False
    try:
        with path.open("rb") as stream:
            document = PdfReader(stream)
            if document.is_encrypted and not document.decrypt(""):
                return {"refused": "it is password-protected"}
            for number, page in enumerate(document.pages):
                if number >= MAX_PAGES or len(text) > MAX_CHARS:
                    cut = True
                    break
                text += page.extract_text() + "\n"
    except PdfReadError as error:
        return {"refused": f"it is not a readable PDF ({' '.join(str(error).split())[:100]})"}
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, ArithmeticError, OSError):
        # The exceptions that the parser raises for damaged files are not documented completely.
        if not text.strip():
            return {"refused": "it is not a readable PDF"}
        cut = True
    if not text.strip():
        return {"refused": "it contains no text; send a scan as a picture"}
    reading = _cut(text)
    reading["cut"] = cut or reading["cut"]
    return reading


def _cut(text: str) -> ExtractedText:
    clean = text.replace("\0", "").encode("utf-8", "replace").decode().strip()
    if not clean:
        return {"refused": "the file is empty"}
    return {"text": clean[:MAX_CHARS], "cut": len(clean) > MAX_CHARS}


def read_office(kind: str, path: Path) -> ExtractedText:
    from tocsin.providers.files import office_reader
    from tocsin.providers.files.office_package import RefusedError

    try:
        text, more = office_reader.read_office(path, kind, MAX_CHARS, MAX_PAGES)
    except RefusedError as refusal:
        return {"refused": str(refusal)}
    reading = _cut(text)
    reading["cut"] = more or reading["cut"]
    return reading


READERS: dict[str, Callable[[Path], ExtractedText]] = {
    "text": read_text,
    "pdf": read_pdf,
    **{kind: partial(read_office, kind) for kind in ("docx", "odt", "xlsx", "pptx")},
}

if __name__ == "__main__":
    main()
