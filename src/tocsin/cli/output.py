"""What a command shows: the only room that prints.

Results go to standard output, everything about the run to standard error. Colours, tables and
progress appear on a terminal only; rich is loaded only then.
"""

import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, TextIO, TypeVar

T = TypeVar("T")

DONE, FAILED, MISUSED = 0, 1, 2
# Before that a person does not feel that something takes time.
_PATIENCE_S = 1.0


class Output:
    """Writes results and messages in the form that the global options ask for."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False, redact: Callable[[str], str] = str) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.redact = redact

    def document(self, value: object) -> None:
        """Print the one JSON document of a `--json` run."""
        import json

        self._write(sys.stdout, json.dumps(value, indent=2, default=_plain, ensure_ascii=not _is_unicode(sys.stdout)))

    def line(self, text: str) -> None:
        """Print one line of the result."""
        if not self.as_json:
            self._write(sys.stdout, text)

    def note(self, text: str) -> None:
        """Tell something about the run, on standard error; `--quiet` leaves it out."""
        if not self.quiet:
            self._write(sys.stderr, text)

    def error(self, sentence: str, hint: str = "") -> None:
        """Tell what went wrong and what to do, on standard error."""
        self._write(sys.stderr, f"tocsin: {sentence}")
        if hint:
            self._write(sys.stderr, f"  hint: {hint}")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print rows: a drawn table on a terminal, aligned plain columns elsewhere."""
        if self.as_json:
            return
        rows = [[self.redact(cell) for cell in row] for row in rows]
        if sys.stdout.isatty():
            _draw(columns, rows)
            return
        widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
        for row in [columns, *rows]:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self._write(sys.stdout, "  ".join(cells).rstrip())

    async def while_waiting(self, label: str, work: Awaitable[T]) -> T:
        """Await `work`; on a terminal, show that it goes on once it takes over a second."""
        import asyncio

        task = asyncio.ensure_future(work)
        if sys.stderr.isatty() and not self.quiet:
            await asyncio.wait([task], timeout=_PATIENCE_S)
            if not task.done():
                from rich.console import Console

                with Console(stderr=True).status(label):
                    return await task
        return await task

    def _write(self, stream: TextIO, text: str) -> None:
        encoding = stream.encoding or "utf-8"
        safe = self.redact(text).encode(encoding, errors="backslashreplace").decode(encoding)
        stream.write(safe + "\n")
        stream.flush()


def _draw(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=box.SIMPLE_HEAD, header_style="bold")
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell.partition(" ")[0], "")) for cell in row))
    Console().print(table)


# The first word of a cell says how it stands; people see that at a glance.
_STYLES = {
    "ok": "green", "configured": "green", "sent": "green", "yes": "green",
    "warning": "yellow", "missing": "yellow", "unavailable": "dim", "off": "dim", "default": "dim",
    "failed": "red", "error": "red", "no": "red",
}  # fmt: skip


def _is_unicode(stream: TextIO) -> bool:
    return (stream.encoding or "").lower().replace("-", "") == "utf8"


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(value)
