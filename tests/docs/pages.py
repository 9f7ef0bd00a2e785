"""What the tests of the documentation share: the pages, and the commands in them."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "deploy").glob("*.md")])

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
# Where a command ends and another one may begin.
_OPERATORS = re.compile(r"[|&;(){}<>]+")


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(*languages: str) -> Iterator[Block]:
    """Yield the fenced blocks of all pages in these languages."""
    for page in PAGES:
        text = page.read_text("utf-8")
        for found in _FENCE.finditer(text):
            if found[2] in languages:
                indent = len(found[1])
                code = "".join(line[indent:] or "\n" for line in found[3].splitlines(keepends=True))
                yield Block(name_of(page), text.count("\n", 0, found.start()) + 1, found[2], code)


def commands(block: Block) -> Iterator[list[str]]:
    """Yield the words of every simple command in a block of shell."""
    for line in block.text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if not _OPERATORS.fullmatch(word):
                words.append(word)
                continue
            if words:
                yield without_assignments(words)
            words = []


def without_assignments(words: list[str]) -> list[str]:
    """Drop `NAME=value` in front of a command."""
    while words and re.match(r"[A-Z_]+=", words[0]):
        words = words[1:]
    return words


def as_pattern(path: str) -> str:
    """Return what an address of this route looks like: with an ID, a channel, a key, a token or the name of a file."""
    pattern = re.escape(path).replace(r"\{id\}", "[0-9a-f-]{36}").replace(r"\{channel\}", "[a-z]+")
    pattern = pattern.replace(r"\{token\}", "[A-Za-z0-9_.-]+")
    return pattern.replace(r"\{name\}", "[a-z.]+").replace(r"\{key\}", "[a-z0-9-]+")
