"""Slack's markup as Markdown, or as text without markup."""

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

from tocsin.features.doors.protocols.protocol import objects_in, text_in

_MARK = re.compile(r"<(?:https?:|mailto:|[@#!])")
_CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)
_ANGLE = re.compile(r"<([^<>\n]+)>")
_BOLD = re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])")
_STRIKE = re.compile(r"(?<![\w~])~(?=\S)([^~\n]+?)(?<=\S)~(?![\w~])")
_MAX_RUNS = 1_000  # pieces of a rich text


def has_marks(text: str) -> bool:
    """Whether a text has links or mentions as only this markup writes them."""
    return _MARK.search(text) is not None


def to_markdown(text: str) -> str:
    """Return a text with this markup as Markdown; code is kept."""
    pieces = _CODE.split(text.replace("\r\n", "\n"))
    return "".join(_code(piece) if n % 2 else _prose(piece) for n, piece in enumerate(pieces))


def to_plain(text: str) -> str:
    """Return a text without links and escapes, such as a title."""
    return unescape(_ANGLE.sub(lambda found: _label(found[1]), text))


def rich_text(block: Mapping[str, Any]) -> str:
    """Return the text of a block `rich_text`, whose styles are left out, one line for each section or item."""
    lines: list[str] = []
    runs = 0
    level = [(each, "") for each in objects_in(block, "elements")]
    while level and runs < _MAX_RUNS:
        each, lead = level.pop(0)
        runs += 1
        if each.get("type") == "rich_text_list":
            level = [(item, "- ") for item in objects_in(each, "elements")] + level
            continue
        said = "".join(_run(piece) for piece in objects_in(each, "elements"))
        lines.append(lead + (f"```\n{said}\n```" if each.get("type") == "rich_text_preformatted" else said))
    return "\n".join(lines)


def _run(piece: Mapping[str, Any]) -> str:
    match piece.get("type"):
        case "link":
            label, url = text_in(piece, "text"), text_in(piece, "url")
            return f"[{label}](<{url}>)" if label and label != url else url
        case "emoji":
            return f":{text_in(piece, 'name')}:"
        case "user" | "usergroup" | "broadcast":
            return "@" + (text_in(piece, "range") or text_in(piece, "user_id") or text_in(piece, "usergroup_id"))
        case _:
            return str(piece.get("text") or "")  # with its blanks


def _code(piece: str) -> str:
    if not piece.startswith("```"):
        return unescape(piece)
    inner = unescape(piece[3:-3]).strip("\n")
    return f"\n```\n{inner}\n```\n" if "\n" in inner else f"`{inner}`"


def _prose(piece: str) -> str:
    # Links last: their addresses may have the other marks.
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(_linked(found[1]))
        return f"\x00{len(kept) - 1}\x00"

    styled = _STRIKE.sub(r"~~\1~~", _BOLD.sub(r"**\1**", _ANGLE.sub(keep, piece.replace("\x00", ""))))
    return re.sub("\x00(\\d+)\x00", lambda found: kept[int(found[1])], unescape(styled))


def _linked(inside: str) -> str:
    target, _, label = inside.partition("|")
    if not target.startswith(("http://", "https://", "mailto:")):
        return unescape(_label(inside))
    address = unescape(target)
    if not label or label == target:
        return address.removeprefix("mailto:")
    said = unescape(label).replace("[", "\\[").replace("]", "\\]")
    return f"[{said}](<{address}>)"


def _label(inside: str) -> str:
    """Return what stands for a link or a mention."""
    target, _, label = inside.partition("|")
    if target.startswith("!"):
        return label or "@" + target[1:].partition("^")[0]
    if target.startswith(("@", "#")):
        return target[0] + label.lstrip("@#") if label else target
    return label or target
