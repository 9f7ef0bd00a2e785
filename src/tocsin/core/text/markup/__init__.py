"""Markdown, parsed once and shown as each channel can: cut into parts by its structure, never by its source.

`parsing` makes blocks of the source, a channel's `Renderer` shows one block, `fitting` packs them into parts.
Source: docs/facts/markdown.md and docs/facts/splitting.md.
"""

from tocsin.core.text.markup.dialect import PlainText, Renderer
from tocsin.core.text.markup.fitting import fit
from tocsin.core.text.markup.model import BOLD, CODE, ITALIC, LINK, STRIKE, Block, Mark, Shown, TextRun
from tocsin.core.text.markup.parsing import parse
from tocsin.core.text.markup.unfinished import close_markup

__all__ = [
    "BOLD",
    "CODE",
    "ITALIC",
    "LINK",
    "STRIKE",
    "Block",
    "Mark",
    "PlainText",
    "Renderer",
    "Shown",
    "TextRun",
    "close_markup",
    "literal",
    "render",
]


def render(source: str, dialect: Renderer) -> list[Shown]:
    """Show normalised, non-blank Markdown in parts that fit; what costs too much to parse is shown as it is."""
    return fit(parse(source, dialect), dialect) or literal(source, dialect)


def literal(text: str, dialect: Renderer) -> list[Shown]:
    """Show normalised, non-blank text as it is, in parts that fit: no character of it is markup."""
    return fit([Block((TextRun(text.rstrip()),))], dialect)
