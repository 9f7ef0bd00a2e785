"""Render Markdown for the product. Source: docs/facts/guildchat.md, "Formatting"."""

import re
from collections.abc import Iterable, Sequence

from tocsin.core.text.markup import BOLD, CODE, ITALIC, LINK, STRIKE, Block, Renderer, Shown, TextRun
from tocsin.core.text.markup.inline import BORDER, Piece, Role, settle, weave, with_mark

FENCE = "```"
LARGEST_HEADING = 3  # deeper ones become bold
_MARKS = {BOLD.kind: "**", ITALIC.kind: "*", STRIKE.kind: "~~"}
_LANGUAGE = re.compile(r"[A-Za-z0-9_+.#-]{1,30}")  # anything else would be shown as the first line of the code
_URL = re.compile(r"(https?://[^\s<>]+)")
# An underscore between letters has no effect, nor has a single tilde or bar.
_ACTING = re.compile(
    r"[\\*`\[\]]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|~(?=~)|(?<=~)~|\|(?=\|)|(?<=\|)\||<(?=[@#:/A-Za-z])"
)
_ACTING_AT_LINE_START = re.compile(r"^([^\S\n]*)(#{1,3}(?=\s)|-#|>{1,3}(?=\s)|[-+](?=\s)|\d+(?=\.\s))", re.MULTILINE)
# In an address, these would end a style around it, or the address.
_IN_URL = str.maketrans({"*": "%2A", "`": "%60", "|": "%7C", "\\": "%5C", "(": "%28", ")": "%29"})
_IN_BARE_URL = str.maketrans({"*": "%2A", "`": "%60", "|": "%7C", "\\": "%5C"})


class GuildMarkdown(Renderer):
    """The product's Markdown; characters that would act as markup unintentionally are escaped."""

    names_images = False
    bullet = "-"

    def can_link(self, url: str, label: str) -> bool:
        """Accept web addresses that leave room for a label; the product does not link a label that looks like one."""
        return (
            url[:4].lower() == "http"
            and len(_address(url)) <= (self.limit or 0) // 4
            and "://" not in label
            and _is_balanced(label)
        )

    def indent(self, path: Sequence[str]) -> str:
        """Indent by the width of the markers."""
        return " " * sum(len(item or self.bullet) + 1 for item in path)

    def show(self, block: Block) -> Shown:
        """Return text with its marks."""
        if block.code is not None:
            language = block.language if _LANGUAGE.fullmatch(block.language) else ""
            # Code cannot contain escapes, so a border separates marks that would end it.
            code = block.code.replace(FENCE, f"``{BORDER}`")
            return Shown(f"{FENCE}{language}\n{code}\n{FENCE}")
        if 1 <= block.heading <= LARGEST_HEADING:
            return Shown(f"{'#' * block.heading} {_join(block.runs)}".replace("\n", " "))
        runs = with_mark(block.runs, BOLD) if block.heading else block.runs
        return Shown(self.laid_out(block, _join(runs)))


def escape(text: str) -> str:
    """Escape characters that would act as markup, except in addresses."""
    pieces = _URL.split(text)
    for index, piece in enumerate(pieces):
        if index % 2:
            pieces[index] = piece.translate(_IN_BARE_URL).replace("~~", "%7E%7E")
        else:
            pieces[index] = _ACTING.sub(r"\\\g<0>", piece)
    return "".join(pieces)


def _join(runs: Iterable[TextRun]) -> str:
    out: list[str] = []
    closed = False  # a style has just ended: its marks must not touch those of the next one
    for piece in weave(settle(runs, by_line=True)):
        if not (text := _render_piece(piece)):
            continue
        is_code = piece.role is Role.TEXT and CODE in piece.run.marks
        if closed and (is_code or piece.role is Role.OPEN):
            out.append(BORDER)
        out.append(text)
        closed = is_code or piece.role is Role.CLOSE
    # Escaped last, when it is known which characters begin a line.
    return _ACTING_AT_LINE_START.sub(_escaped_line_start, "".join(out))


def _escaped_line_start(found: re.Match[str]) -> str:
    blanks, marks = found.groups()
    return f"{blanks}{marks}\\" if marks.isdigit() else f"{blanks}\\{marks}"


def _render_piece(piece: Piece) -> str:
    mark = piece.mark
    if mark == CODE:
        return ""  # its marks depend on its text
    if mark is not None and mark.kind == LINK:
        return "[" if piece.role is Role.OPEN else f"]({_address(mark.url)})"
    if mark is not None:
        return _MARKS[mark.kind]
    if CODE in piece.run.marks:
        return _code(piece.run.text)
    return escape(piece.run.text)


def _code(text: str) -> str:
    """Return code between marks that it does not contain."""
    runs = {len(run) for run in re.findall("`+", text)}
    if {1, 2} <= runs or max(runs, default=0) > 2:
        text, runs = re.sub("`(?=`)", f"`{BORDER}", text), {1}
    marks = "``" if 1 in runs else "`"
    pad = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{marks}{pad}{text}{pad}{marks}"


def _address(url: str) -> str:
    return url.translate(_IN_URL).replace("~~", "%7E%7E").replace(" ", "%20").replace("<", "%3C").replace(">", "%3E")


def _is_balanced(label: str) -> bool:
    """Whether the brackets of a label are balanced: the product ignores escapes there."""
    return re.fullmatch(r"(?:[^\[\]]|\[[^\[\]]*\])*", label) is not None
