"""Make a mail from Markdown: subject, plain text and HTML. Source: docs/facts/markdown.md."""

from collections.abc import Sequence
from typing import NamedTuple

from tocsin.channels.email.subject import GENERIC_SUBJECT, split_subject
from tocsin.core.text.markup import Block, PlainText, Shown, render
from tocsin.core.text.markup.html import render_html
from tocsin.core.text.markup.tables import display_width

PAGE = '<!doctype html>\n<html><head><meta charset="utf-8"></head><body>\n{}</body></html>\n'


class MarkdownMail(NamedTuple):
    """The contents of a mail made from Markdown."""

    subject: str
    text: str
    html: str


class MailText(PlainText):
    """Plain text in the usual form of mails."""

    aligned_tables = True
    bullet = "-"

    def indent(self, path: Sequence[str]) -> str:
        """Indent by the width of the markers."""
        return " " * sum(len(item or self.bullet) + 1 for item in path)

    def show(self, block: Block) -> Shown:
        """Underline headings and indent code."""
        if block.code is not None:
            return Shown("\n".join(f"    {line}".rstrip() for line in block.code.split("\n")))
        shown = super().show(block)
        if not block.heading:
            return shown
        width = max(map(display_width, shown.text.split("\n")))
        return Shown(f"{shown.text}\n{('=' if block.heading == 1 else '-') * width}")


def mail_from(source: str, title: str = "") -> MarkdownMail:
    """Return the mail that `source` makes: without a title, its first line is the subject unless code begins there."""
    if title:
        return MarkdownMail(title, _render_text(source), PAGE.format(render_html(source)))
    if source.lstrip(" ").startswith(("```", "~~~")):
        return MarkdownMail(GENERIC_SUBJECT, _render_text(source), PAGE.format(render_html(source)))
    line, body = split_subject(source)
    subject = " ".join(_render_text(line, PlainText(None)).split())
    return MarkdownMail(subject or line, _render_text(body), PAGE.format(render_html(body)))


def _render_text(source: str, dialect: PlainText | None = None) -> str:
    parts = render(source, dialect or MailText(None)) if source.strip() else []
    return "".join(part.text for part in parts)
