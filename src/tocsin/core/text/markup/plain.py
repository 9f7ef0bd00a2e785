"""Markdown as plain text: for channels that format nothing."""

from tocsin.core.text.markup.dialect import Renderer
from tocsin.core.text.markup.model import Block, Shown, plain_text


class PlainText(Renderer):
    """Keeps structure by line breaks, bullets and indentation; addresses of links stand behind their text."""

    aligned_tables = False

    def show(self, block: Block) -> Shown:
        """Show code as it is, everything else as its text."""
        return Shown(self.laid_out(block, plain_text(block.runs)) if block.code is None else block.code)
