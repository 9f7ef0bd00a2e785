"""Texts with `${…}` placeholders: parsing them, and filling in values.

`$${` is a literal `${`. `${raw:…}` is filled in unchanged where values are otherwise quoted for a URL.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from tocsin.core.errors import TocsinError
from tocsin.core.text.shell import variable_name

VAULT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_MARK = re.compile(r"\$\$\{|\$\{")
_PATH = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+)*", re.ASCII)
# The content of `${…}` in our files, which no shell uses.
_OURS = re.compile(r"\$\{((?:vault|raw):|(?:params|steps|run|env)\.)([^}\s]*)\}")


class TemplateError(TocsinError):
    """A `${` is not closed, or its content is not a name."""

    code = "unknown-variable"


class Placeholder(NamedTuple):
    """The content of `${…}`: a name such as `params.host`, or a secret of the vault."""

    path: str
    raw: bool = False
    secret: bool = False  # whether `path` is the name of a secret

    def spelled(self) -> str:
        return f"${{{'raw:' if self.raw else 'vault:' if self.secret else ''}{self.path}}}"


Piece: TypeAlias = str | Placeholder


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed text."""

    text: str = ""
    pieces: tuple[Piece, ...] = ()

    def placeholders(self) -> Iterator[Placeholder]:
        yield from (piece for piece in self.pieces if isinstance(piece, Placeholder))

    def fill(self, value_of: Callable[[Placeholder], str]) -> str:
        """Return the text with all values filled in."""
        return "".join(piece if isinstance(piece, str) else value_of(piece) for piece in self.pieces)

    def literal(self) -> str | None:
        """Return the text if it has no placeholders, else `None`."""
        return None if any(self.placeholders()) else "".join(map(str, self.pieces))


EMPTY = Template()


def parse_template(text: str) -> Template:
    """Parse a text; raise TemplateError."""
    pieces: list[Piece] = []
    end = 0
    for mark in _MARK.finditer(text):
        if mark.start() < end:
            continue
        pieces.append(text[end : mark.start()])
        if mark[0] == "$${":
            pieces.append("${")
            end = mark.end()
            continue
        close = text.find("}", mark.end())
        if close < 0:
            raise TemplateError(f"'{text[mark.start() : mark.start() + 20]}' is not closed by '}}'")
        pieces.append(_placeholder(text[mark.end() : close]))
        end = close + 1
    pieces.append(text[end:])
    return Template(text, tuple(piece for piece in pieces if piece != ""))


def _placeholder(inside: str) -> Placeholder:
    kind, colon, rest = inside.partition(":")
    if colon and kind == "vault":
        if not VAULT_NAME.fullmatch(rest):
            raise TemplateError(f"{rest!r} is not a valid secret name: use letters, digits and '_'")
        return Placeholder(rest, secret=True)
    path = rest if colon and kind == "raw" else inside
    if not _PATH.fullmatch(path):
        raise TemplateError(f"unknown placeholder '${{{inside}}}'; write '$${{{inside}}}' for a variable of the shell")
    return Placeholder(path, raw=colon != "" and kind == "raw")


def placeholder_problem(script: str, *, has_env: bool = False) -> str:
    """Return why a command that accepts no placeholders cannot use the one in it, or an empty text.

    `has_env` is whether the values of its variables may be `${vault:NAME}`.
    """
    found = _OURS.search(script)
    if found is None:
        return ""
    placeholder, kind, name = found[0], found[1], found[2]
    remedy = "pass values as arguments or environment variables"
    if has_env and kind == "vault:":
        remedy = f'write "${name}" there, with env: {{{name}: "{placeholder}"}}'
    elif has_env and kind == "params.":
        remedy = f'write "${variable_name("PARAM", name)}" there'
    return f"{placeholder} cannot be used in shell text: {remedy}"
