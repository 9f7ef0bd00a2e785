"""The base class of renderers: what a channel can display, and how."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from tocsin.core.text.markup.model import Block, Shown, plain_text
from tocsin.core.text.measures import Measure, code_points

SMALLEST_LIMIT = 10  # one character takes up to 5: &amp;
DEEPEST_INDENT = 10  # list levels; deeper ones are displayed at the tenth


class Renderer(ABC):
    """Renders single blocks, which are joined to parts. `limit` applies to a part, in units of `measure`.

    Sizes must add up: the size of a text is the sum of the sizes of its code points, each at least 1.
    """

    aligned_tables: ClassVar[bool] = True  # tables become aligned code blocks; else `name: value` lines
    names_images: ClassVar[bool] = True  # an image becomes a link on its description; else its address
    bullet: ClassVar[str] = "•"
    quote: ClassVar[str] = "> "  # before each line of a quote

    def __init__(self, limit: int | None, measure: Measure = code_points) -> None:
        if limit is not None and limit < SMALLEST_LIMIT:
            raise ValueError(f"a limit of {limit} cannot hold every single character")
        self.limit = limit
        self.measure = measure

    @abstractmethod
    def show(self, block: Block) -> Shown:
        """Render one block as if it were alone."""

    def can_link(self, url: str, label: str) -> bool:
        """Whether `label` can become a link to `url`; else the address is written after it."""
        return False

    def finish(self, blocks: Sequence[tuple[Block, Shown]]) -> Shown:
        """Join the blocks of a part."""
        texts, before = [], None
        for block, shown in blocks:
            if before:
                texts.append(self.gap(before, block))
            texts.append(shown.text)
            before = block
        return Shown("".join(texts))

    def gap(self, before: Block, after: Block) -> str:
        """Return the gap between two blocks."""
        if after.tight and before.path and after.path:
            return "\n"
        return f"\n{self.prefix(after)}\n" if before.quote == after.quote else "\n\n"

    def prefix(self, block: Block) -> str:
        """Return the prefix of every line of a text in a quote."""
        return self.quote if block.quote else ""

    def indents(self, block: Block) -> tuple[str, str]:
        """Return the list prefixes of the first line and of the others."""
        path = block.path[:DEEPEST_INDENT]
        begun = len(path) - block.starts if block.starts < len(path) else 0
        following = self.indent(path)
        if not block.starts:
            return following, following
        return self.indent(path[:begun]) + "".join(f"{item or self.bullet} " for item in path[begun:]), following

    def indent(self, path: Sequence[str]) -> str:
        """Return the indentation of a line that belongs to the last item of `path`."""
        return "  " * len(path)

    def laid_out(self, block: Block, text: str) -> str:
        """Put the prefixes of quote and list before the lines of `text`."""
        prefix = self.prefix(block)
        first, following = self.indents(block)
        if not prefix and not following:
            return text
        return f"{prefix}{first}{text}".replace("\n", f"\n{prefix}{following}").rstrip()


class PlainText(Renderer):
    """Keeps structure by line breaks, bullets and indentation; link addresses follow their text."""

    aligned_tables = False

    def show(self, block: Block) -> Shown:
        """Render code unchanged, and every other block as its text."""
        return Shown(self.laid_out(block, plain_text(block.runs)) if block.code is None else block.code)
