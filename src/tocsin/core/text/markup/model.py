"""What Markdown says, without its syntax: blocks one after the other, each with styled runs or lines of code."""

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
LINK = "link"  # the kind: each link is a mark of its own


class TextRun(NamedTuple):
    """Text in one style; `marks` from the outermost to the innermost, none twice."""

    text: str
    marks: tuple[Mark, ...] = ()


class Shown(NamedTuple):
    """Text as a provider wants it, and what formats its ranges where the text itself does not."""

    text: str
    markup: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading, or with `code` a code block or table; lists and quotes are what it is in."""

    runs: tuple[TextRun, ...] = ()
    code: str | None = None  # lines without the newline at the end
    language: str = ""
    heading: int = 0  # 1 to 6
    quote: int = 0  # which quote it is in, counted from 1
    path: tuple[str, ...] = ()  # the list items it is in: "3." or, for a bullet, nothing
    starts: int = 0  # the number of inner ones that begin with this block
    tight: bool = False  # no blank line to the block before it in the same list

    def is_longer_than(self, room: int) -> bool:
        """Tell whether its text alone has more than `room` code points, without reading much more of it."""
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
        """Return what stands before `cut`."""
        if self.code is not None:
            return replace(self, code=self.code[:cut])
        return replace(self, runs=_until(self.runs, cut))

    def since(self, cut: int) -> "Block | None":
        """Return what stands behind `cut`, or nothing; its list items have begun already."""
        if self.code is not None:
            return replace(self, code=self.code[cut:], starts=0) if cut < len(self.code) else None
        runs = _since(self.runs, cut)
        return replace(self, runs=runs, starts=0) if runs else None


def plain_text(runs: tuple[TextRun, ...]) -> str:
    """Return the text without its styles."""
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
