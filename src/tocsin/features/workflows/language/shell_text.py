"""Values in shell commands: each is a variable of the environment, so that it can never become code.

`${params.host}` becomes an expansion in double quotes of a variable that holds the value, whatever quotes it stands in.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tocsin.features.workflows.language.template import Placeholder, Template, TemplateError

PREFIX = "TOCSIN_VALUE_"
_HERE = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([\w.-]+))")
# They expand "${NAME}" as POSIX has it; fish, csh, Python and Perl do not.
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"})


def is_shell(words: Iterable[str]) -> bool:
    """Return whether a command line starts a shell that expands variables as `shell_text` writes them."""
    return any(PurePosixPath(word).name in _SHELLS for word in words)


@dataclass(slots=True)
class ShellText:
    """A script, and by variable what stands in it; pieces that are put in raw stay placeholders."""

    pieces: list[str | Placeholder] = field(default_factory=list)
    variables: dict[str, Placeholder] = field(default_factory=dict)


def shell_text(template: Template) -> ShellText:
    """Replace the placeholders of a script by variables; raises TemplateError where the shell would not expand one."""
    built, quotes = ShellText(), _Quotes()
    names: dict[Placeholder, str] = {}
    for piece in template.pieces:
        if isinstance(piece, str):
            quotes.read(piece)
            built.pieces.append(piece)
        elif piece.raw:
            built.pieces.append(piece)
        else:
            name = names.setdefault(piece, f"{PREFIX}{len(names) + 1}")
            built.variables[name] = piece
            built.pieces.append(quotes.around(f"${{{name}}}", piece))
    return built


class _Quotes:
    """Follows a script far enough to know in which quotes its next character stands."""

    def __init__(self) -> None:
        self._open: list[str] = []  # ', ", ( for $( and `
        self._here: list[tuple[str, bool, bool]] = []  # documents that begin at the next line: end, quoted, tabs
        self._in_here: tuple[str, bool, bool] | None = None
        self._line = ""  # of a here-document, as far as it is known
        self._comment = False
        self._before = "\n"

    def around(self, expansion: str, piece: Placeholder) -> str:
        """Return an expansion as it must stand here to be one word."""
        self._before = "x"
        if self._in_here:
            self._line += "x"
            if self._in_here[1]:
                raise TemplateError(f"{piece.spelled()} is in a quoted here-document, which the shell does not expand")
            return expansion
        match self._open[-1] if self._open else "":
            case "((":
                raise TemplateError(f"{piece.spelled()} is in $((…)), where shells may execute values: use $(expr …)")
            case '"':
                return expansion
            case "'":
                return f"'\"{expansion}\"'"
        return f'"{expansion}"'

    def read(self, text: str) -> None:
        """Go on to the end of a piece of the script."""
        at = 0
        while at < len(text):
            at = self._here_line(text, at) if self._in_here else self._step(text, at)

    def _here_line(self, text: str, at: int) -> int:
        newline = text.find("\n", at)
        self._line += text[at:] if newline < 0 else text[at:newline]
        if newline < 0:
            return len(text)
        assert self._in_here is not None  # noqa: S101  # its caller asked
        end, _, tabs = self._in_here
        if (self._line.lstrip("\t") if tabs else self._line) == end:
            self._in_here = self._here.pop(0) if self._here else None
        self._line = ""
        return newline + 1

    def _step(self, text: str, at: int) -> int:
        char, inside = text[at], self._open[-1] if self._open else ""
        before, self._before = self._before, char
        if char == "\n":
            self._comment = False
            if self._here and inside != "'":
                self._in_here = self._here.pop(0)
            return at + 1
        if self._comment:
            return at + 1
        if inside == "'":
            if char == "'":
                self._open.pop()
            return at + 1
        if char == "\\":
            return at + 2
        if inside == '"':
            return self._in_double(text, at)
        return self._plain(text, at, before)

    def _plain(self, text: str, at: int, before: str) -> int:
        """Go on where no quotes are open."""
        char = text[at]
        if char == "#" and before in " \t\n;|&(":
            self._comment = True
        elif found := _HERE.match(text, at) if before != "<" and self._open[-1:] != ["(("] else None:
            self._here.append((found[2] or found[3] or found[4], found[4] is None or "\\" in found[0], bool(found[1])))
            return found.end()
        elif char in "'\"":
            self._open.append(char)
        else:
            return self._substitution(text, at)
        return at + 1

    def _in_double(self, text: str, at: int) -> int:
        if text[at] == '"':
            self._open.pop()
            return at + 1
        return self._substitution(text, at)

    def _substitution(self, text: str, at: int) -> int:
        """Follow `$(…)`, `(…)` and backquotes, in which quotes begin anew."""
        inside = self._open[-1] if self._open else ""
        if text.startswith("$((", at):
            self._open.append("((")
            return at + 3
        if inside == "((" and text.startswith("))", at):
            self._open.pop()
            return at + 2
        if text.startswith("$(", at) or (text[at] == "(" and inside != '"'):
            self._open.append("(")
            self._before = "("
            return at + (2 if text[at] == "$" else 1)
        if text[at] == ")" and inside == "(":
            self._open.pop()
        elif text[at] == "`":
            if "`" in self._open:
                while self._open.pop() != "`":
                    pass
            else:
                self._open.append("`")
        return at + 1
