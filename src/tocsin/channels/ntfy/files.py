"""The file of a message is the body, so that its text is in a header. Source: docs/facts/ntfy.md, "Files"."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from tocsin.channels.attached import AttachedFile
from tocsin.channels.model import FILES

_NAME = "name"  # the key of a reference with the name of the file


def file_headers(text: str, files: Sequence[AttachedFile], kept: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a message with a file: one that is sent, or the one that the server has already."""
    # In a header, the server reads a backslash with an n as a line end; an invisible character keeps it.
    shown = {"X-Message": header_text(text.replace("\\n", "\\\u2060n"))} if text.strip() else {}
    if files:
        return {**shown, "X-Filename": header_text(files[0].name), "Content-Type": files[0].type}
    return {**shown, "X-Attach": kept[FILES], "X-Filename": header_text(kept[_NAME])}


def kept_file(sent: Mapping[str, Any]) -> dict[str, str]:
    """Return what an edit needs that keeps the file: its address on the server, and its name."""
    file = sent.get("attachment")
    url, name = (file.get("url"), file.get("name")) if isinstance(file, dict) else (None, None)
    if not (isinstance(url, str) and isinstance(name, str) and len(url) <= 1_000 and url.isascii()):
        return {}
    return {FILES: url, _NAME: name}


def header_text(value: str) -> str:
    """Return a text for a header: an encoded word (RFC 2047) unless it is a line of plain ASCII."""
    if value.isascii() and value.isprintable() and "=?" not in value:
        return value
    return f"=?UTF-8?B?{b64encode(value.encode()).decode()}?="
