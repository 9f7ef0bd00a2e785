"""Markdown, parsed once and rendered for each channel: split into parts by its structure, never by its source.

`parsing` converts the source to blocks, a channel's `Renderer` renders one block, `fitting` packs them into parts.
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
    """Render normalised, non-blank Markdown in parts that fit; unparsed source if parsing would take too long."""
    return fit(parse(source, dialect), dialect) or literal(source, dialect)


def literal(text: str, dialect: Renderer) -> list[Shown]:
    """Render normalised, non-blank text in parts that fit, without interpreting any markup."""
    return fit([Block((TextRun(text.rstrip()),))], dialect)
