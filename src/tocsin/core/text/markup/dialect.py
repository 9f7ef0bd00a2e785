"""What one channel can show, and how: the base of every renderer."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from tocsin.core.text.markup.model import Block, Shown, plain_text
from tocsin.core.text.measures import Measure, code_points

SMALLEST_LIMIT = 10  # one character takes up to 5: &amp;
DEEPEST_INDENT = 10  # levels of lists; what is deeper stands below the tenth


class Renderer(ABC):
    """Shows single blocks; a part is some of them with gaps between. `limit` is of one part, in units of `measure`.

    Sizes must add up: the size of a text is the sum of the sizes of its code points, each at least 1.
    """

    aligned_tables: ClassVar[bool] = True  # tables are code blocks of aligned columns; else `name: value` lines
    names_images: ClassVar[bool] = True  # an image is a link on its description; else its address
    bullet: ClassVar[str] = "•"
    quote: ClassVar[str] = "> "  # before each line of a quote

    def __init__(self, limit: int | None, measure: Measure = code_points) -> None:
        if limit is not None and limit < SMALLEST_LIMIT:
            raise ValueError(f"a limit of {limit} cannot hold every single character")
        self.limit = limit
        self.measure = measure

    @abstractmethod
    def show(self, block: Block) -> Shown:
        """Show one block as if it stood alone."""

    def can_link(self, url: str, label: str) -> bool:
        """Tell whether `label` can be made a link to `url`; else the address is written behind it."""
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
        """Return what stands between two blocks."""
        if after.tight and before.path and after.path:
            return "\n"
        return f"\n{self.prefix(after)}\n" if before.quote == after.quote else "\n\n"

    def prefix(self, block: Block) -> str:
        """Return what stands before every line of a text because it is in a quote."""
        return self.quote if block.quote else ""

    def indents(self, block: Block) -> tuple[str, str]:
        """Return what stands before the first line and before the others because the block is in a list."""
        path = block.path[:DEEPEST_INDENT]
        begun = len(path) - block.starts if block.starts < len(path) else 0
        following = self.indent(path)
        if not block.starts:
            return following, following
        return self.indent(path[:begun]) + "".join(f"{item or self.bullet} " for item in path[begun:]), following

    def indent(self, path: Sequence[str]) -> str:
        """Return the blanks before a line that belongs to the last item of `path`."""
        return "  " * len(path)

    def laid_out(self, block: Block, text: str) -> str:
        """Put quote and list before every line of `text`."""
        prefix = self.prefix(block)
        first, following = self.indents(block)
        if not prefix and not following:
            return text
        return f"{prefix}{first}{text}".replace("\n", f"\n{prefix}{following}").rstrip()


class PlainText(Renderer):
    """Keeps structure by line breaks, bullets and indentation; addresses of links stand behind their text."""

    aligned_tables = False

    def show(self, block: Block) -> Shown:
        """Show code as it is, everything else as its text."""
        return Shown(self.laid_out(block, plain_text(block.runs)) if block.code is None else block.code)
