"""The content of Markdown without its syntax: a sequence of blocks, each with styled runs or lines of code."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple


class Mark(NamedTuple):
    """A style of a run; only a link has a `url`."""

    kind: str
    url: str = ""


BOLD = Mark("bold")
ITALIC = Mark("italic")
STRIKE = Mark("strike")
CODE = Mark("code")
LINK = "link"  # each link is a mark with its own URL


class TextRun(NamedTuple):
    """Text in one style; `marks` from the outermost to the innermost, without duplicates."""

    text: str
    marks: tuple[Mark, ...] = ()


class Shown(NamedTuple):
    """Text in a provider's format, and entities that format its ranges if the text itself does not."""

    text: str
    markup: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading, or with `code` a code block or table; lists and quotes are attributes."""

    runs: tuple[TextRun, ...] = ()
    code: str | None = None  # lines without the final newline
    language: str = ""
    heading: int = 0  # 1 to 6
    quote: int = 0  # the number of its quote, counted from 1
    path: tuple[str, ...] = ()  # its list items: "3." or, for a bullet, an empty text
    starts: int = 0  # the number of inner list items that begin with this block
    tight: bool = False  # no blank line before it within its list

    def is_longer_than(self, room: int) -> bool:
        """Whether its text alone has more than `room` code points, without reading much more of it."""
        if self.code is not None:
            return len(self.code) > room
        for run in self.runs:
            room -= len(run.text)
            if room < 0:
                return True
        return False

    def beginning(self, size: int) -> tuple[TextRun, ...]:
        """Return the runs of its first `size` code points."""
        if self.code is not None:
            return (TextRun(self.code[:size]),)
        return _until(self.runs, size)

    def until(self, cut: int) -> "Block":
        """Return the part before `cut`."""
        if self.code is not None:
            return replace(self, code=self.code[:cut])
        return replace(self, runs=_until(self.runs, cut))

    def since(self, cut: int) -> "Block | None":
        """Return the part after `cut`, or `None`; its list items are marked as continued."""
        if self.code is not None:
            return replace(self, code=self.code[cut:], starts=0) if cut < len(self.code) else None
        runs = _since(self.runs, cut)
        return replace(self, runs=runs, starts=0) if runs else None


def plain_text(runs: tuple[TextRun, ...]) -> str:
    return "".join(run.text for run in runs)


def _until(runs: tuple[TextRun, ...], cut: int) -> tuple[TextRun, ...]:
    found = []
    for run in runs:
        if cut <= 0:
            break
        found.append(run if len(run.text) <= cut else run._replace(text=run.text[:cut]))
        cut -= len(run.text)
    return tuple(found)


def _since(runs: tuple[TextRun, ...], cut: int) -> tuple[TextRun, ...]:
    for index, run in enumerate(runs):
        if cut < len(run.text):
            return (run._replace(text=run.text[cut:]), *runs[index + 1 :])
        cut -= len(run.text)
    return ()
