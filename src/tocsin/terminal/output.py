"""The output of commands; no other package prints.

Results go to standard output, messages about the run to standard error. Colours, tables and progress appear on a
terminal only; rich is imported only then.
"""

import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from tocsin.core.errors import ConfigError, TocsinError, UnknownChannelError
from tocsin.core.text.visible import coloured, one_line, visible

if TYPE_CHECKING:
    from tocsin.core.config.settings import Settings

T = TypeVar("T")

DONE, FAILED, MISUSED = 0, 1, 2
# Shorter waits are not noticeable.
_PATIENCE_S = 1.0
# A pipe without a writer must not hold up a script.
_UNATTENDED_S = 5.0
_YES = frozenset({"y", "yes"})


class OutputError(TocsinError):
    """Standard output cannot be written, for instance because a disk is full."""

    code = "output-failed"


class DeclinedError(TocsinError):
    """The question whether to go on was not answered with yes."""

    code = "declined"


class Console:
    """Writes results and messages as the global options request."""

    def __init__(self, *, as_json: bool = False, quiet: bool = False, redact: Callable[[str], str] = str) -> None:
        self.as_json = as_json
        self.quiet = quiet
        self.redact = redact
        self._done = ""
        # Yields possible causes of a failure, each with a hint; set later, because it needs the settings.
        self.doubts: Callable[[], Iterable[tuple[str, str]]] = tuple
        self.settings: Settings | None = None  # the settings of the command, once they are loaded

    def effect_done(self, what: str) -> None:
        """Mark the command as done: a later failure to print does not change its exit code."""
        self._done = what

    def document(self, value: object) -> None:
        """Print the one JSON document of a `--json` run."""
        import json

        document = json.dumps(value, indent=2, default=_plain, ensure_ascii=not _is_unicode(sys.stdout))
        self._write(sys.stdout, document, shown=visible)

    def answer(self, document: object, *lines: str, ok: bool = True, error: str = "", hint: str = "") -> int:
        """Print the JSON document with `--json`, else the lines, or the error if not `ok`; return the exit code."""
        if self.as_json:
            self.document(document)
        elif error and not ok:
            self.error(error, hint)
        else:
            for line in lines:
                self.line(line)
        return DONE if ok else FAILED

    def listing(
        self,
        document: object,
        columns: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        empty: str = "",
        ok: bool = True,
    ) -> int:
        """Print the JSON document with `--json`, else a table, or `empty` if there are no rows; return the exit code.

        With `--json`, `rows` is not read.
        """
        if self.as_json:
            self.document(document)
        elif (found := list(rows)) or not empty:
            self.table(columns, found)
        else:
            self.note(empty)
        return DONE if ok else FAILED

    def line(self, text: str) -> None:
        """Print one line of the result; line breaks in `text` are escaped."""
        if not self.as_json:
            self._write(sys.stdout, text)

    def text(self, text: str, end: str = "\n") -> None:
        """Print a text that may have several lines; with `end=""`, a piece of a text that is streamed."""
        if not self.as_json:
            self._write(sys.stdout, text, end, shown=visible)

    def secret(self, record: Mapping[str, object], key: str, *, only_here: bool = False) -> None:
        """Print the value of `key` in a record unmasked: the only such output, for a secret that the user requested.

        With `only_here`, for output that cannot be requested again, also raise OutputError if the pipe has no reader.
        """
        if only_here and sys.stdout is None:
            raise OutputError("standard output is closed")
        value = str(record[key])
        if self.as_json:
            import json

            value = json.dumps(record, indent=2, default=_plain)
        self._write(sys.stdout, value, "" if value.endswith("\n") else "\n", shown=str, redact=str, must=only_here)

    def coloured(self, text: str) -> None:
        """Print a line of the result with its colours."""
        if not self.as_json:
            self._write(sys.stdout, text, shown=coloured)

    def note(self, text: str) -> None:
        """Print a one-line note about the run on standard error, unless `--quiet` is set."""
        if not self.quiet:
            self._write(sys.stderr, text)

    def aside(self, text: str) -> None:
        """Print a text of several lines on standard error, unless `--quiet` is set."""
        if not self.quiet:
            self._write(sys.stderr, text, shown=visible)

    def error(self, sentence: str, hint: str = "", prog: str = "tocsin") -> None:
        """Print an error and its hint on standard error; `prog` is the command that reports it."""
        self._write(sys.stderr, f"{prog}: {sentence}")
        if hint:
            self._write(sys.stderr, f"  hint: {hint}")

    def failure(self, error: TocsinError, prog: str = "tocsin") -> None:
        """Report the error that ended the command; with `--json` also as the document."""
        sentence, hint = self.explained(error)
        self.error(sentence, hint, prog)
        if self.as_json and not isinstance(error, OutputError):
            try:
                said = error.in_result() if isinstance(error, UnknownChannelError) else sentence
                self.document({"ok": False, "code": error.code, "error": said, "hint": hint})
            except OutputError as unwritten:  # the exit code and the error above report the failure
                self.error(str(unwritten))

    def explained(self, error: TocsinError) -> tuple[str, str]:
        """Return sentence and hint of an error; for a missing setting, the hint names the files that were read."""
        if self.settings is None:
            return str(error), error.hint
        read = self.settings.read_from
        if isinstance(error, UnknownChannelError) and error.missing:
            sentence = f"{str(error).removesuffix(')')} in {self.settings.own_file})"
            return sentence, f"{error.hint}; {read}" if error.hint else read
        return str(error), f"{error.hint}; {read}" if error.lacks_setting else error.hint

    def tell_doubts(self) -> None:
        """Print possible causes of a failure, such as misspelt settings."""
        for sentence, hint in self.doubts():
            self.error(sentence, hint)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Print rows: a drawn table on a terminal, aligned columns elsewhere."""
        if self.as_json:
            return
        rows = self._shown(rows)
        if is_terminal(sys.stdout):
            _draw(columns, rows)
            return
        widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in [columns, *rows]
        )
        self._write(sys.stdout, "\n".join(lines), shown=visible)  # a call per line takes 20 ms for a thousand lines

    def _shown(self, rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return rows with secrets masked and each cell in one line; ordinary cells are masked all at once."""
        cells = [cell for row in rows for cell in row]
        masked = self.redact("\n".join(cells)).split("\n") if all(map(str.isprintable, cells)) else []
        if len(masked) != len(cells):
            masked = [self.redact(cell) for cell in cells]
        remaining = map(one_line, masked)
        return [[next(remaining) for _ in row] for row in rows]

    async def confirmed(self, question: str) -> bool:
        """Ask for confirmation at the terminal; without a terminal, return True."""
        with ExitStack() as stack:
            keyboard = _keyboard(stack)
            return keyboard is None or await self._answer(keyboard, question) in _YES

    async def agreed(self, question: str) -> bool:
        """Ask for confirmation before data is lost, at the terminal or on standard input, such as `echo y |`.

        Raises ConfigError if neither gives an answer.
        """
        import asyncio

        with ExitStack() as stack:
            if (keyboard := _keyboard(stack)) is not None:
                return await self._answer(keyboard, question) in _YES
        answer = ""
        if sys.stdin is not None and not is_terminal(sys.stdin):
            with suppress(TimeoutError):
                answer = await asyncio.wait_for(self._answer(sys.stdin, question), _UNATTENDED_S)
        if not answer:
            raise ConfigError("this command asks for confirmation, and there is no terminal", hint="add --yes")
        return answer in _YES

    async def confirm(self, question: str, *, yes: bool) -> None:
        """Ask as `agreed` does, unless `yes`; raises DeclinedError for any answer but yes."""
        if not yes and not await self.agreed(question):
            raise DeclinedError("no change was made")

    async def _answer(self, source: TextIO, question: str) -> str:
        self._write(sys.stderr, f"{question} [y/N]", end=" " if is_terminal(source) else "\n")
        await _readable(source)
        return source.readline().strip().lower()

    async def while_waiting(self, label: str, work: Awaitable[T]) -> T:
        """Await `work`; on a terminal, show progress after one second."""
        if self.quiet or not is_terminal(sys.stderr):
            return await work
        import asyncio

        with ExitStack() as shown:

            def show() -> None:
                from rich.console import Console

                shown.enter_context(Console(stderr=True).status(one_line(label)))

            timer = asyncio.get_running_loop().call_later(_PATIENCE_S, show)
            try:
                return await work
            finally:
                timer.cancel()

    def _write(
        self,
        stream: TextIO | None,
        text: str,
        end: str = "\n",
        *,
        shown: Callable[[str], str] = one_line,
        redact: Callable[[str], str] | None = None,
        must: bool = False,
    ) -> None:
        if stream is None:  # the parent process closed it
            return
        encoding = stream.encoding or "utf-8"
        safe = shown((redact or self.redact)(text)).encode(encoding, errors="backslashreplace").decode(encoding)
        try:
            stream.write(safe + end)
            stream.flush()
        except BrokenPipeError:
            _discard(stream)  # the reader, such as `head`, has ended: no failure of the command
            if must:
                raise OutputError("standard output has no reader") from None
        except OSError as error:
            _discard(stream)
            if stream is not sys.stdout:
                return
            sentence = f"cannot write to standard output: {error.strerror}"
            if must or not self._done:
                raise OutputError(sentence) from None
            self.error(f"{sentence}, although {self._done}")


def _keyboard(stack: ExitStack) -> TextIO | None:
    """Return the terminal's input, even if standard input is redirected; `None` without a terminal."""
    if not is_terminal(sys.stderr):
        return None
    if is_terminal(sys.stdin):
        return sys.stdin
    try:
        return stack.enter_context(Path("/dev/tty").open(encoding="utf-8"))
    except OSError:
        return None


async def _readable(source: TextIO) -> None:
    """Wait until a line is available; unlike a blocking read, this can be interrupted by a signal."""
    import asyncio

    loop, there = asyncio.get_running_loop(), asyncio.Event()
    try:
        loop.add_reader(source, there.set)
    except (OSError, ValueError):  # a file, which is always readable; macOS cannot wait for /dev/tty
        return
    try:
        await there.wait()
    finally:
        loop.remove_reader(source)


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def close_outputs() -> None:
    """Flush the output; if its reader has ended, discard it instead of failing at exit."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            try:
                stream.flush()
            except OSError:
                _discard(stream)


def _discard(stream: TextIO) -> None:
    """Discard everything written to `stream` from now on, including at exit."""
    with suppress(OSError, ValueError):  # not a file of the system, as in a test
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _draw(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for number, column in enumerate(columns):
        # IDs, names and numbers are never broken in a narrow terminal; longer texts are wrapped, and nothing is cut.
        short = all(len(row[number]) <= _SHORT and " " not in row[number] for row in rows)
        longest = max((len(word) for row in rows for word in row[number].split()), default=0)
        table.add_column(column, no_wrap=short, overflow="fold", min_width=min(longest, _LEAST))
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell.partition(" ")[0].rstrip(":"), "")) for cell in row))
    Console().print(table)


_SHORT, _LEAST = 12, 8  # characters: texts that are never broken, and the least width of a column of longer texts


# The first word of a cell is its state, which colours highlight.
_STYLES = {
    "ok": "green", "configured": "green", "sent": "green", "yes": "green",
    "warning": "yellow", "missing": "yellow", "unavailable": "dim", "off": "dim", "default": "dim",
    "failed": "red", "error": "red", "no": "red",
    "succeeded": "green", "delivered": "green", "running": "cyan", "waiting": "cyan", "pending": "cyan",
    "partially_succeeded": "yellow", "partial": "yellow", "cancelling": "yellow", "interrupted": "yellow",
    "missed": "yellow", "timed_out": "red", "cancelled": "dim", "skipped": "dim",
}  # fmt: skip


def _is_unicode(stream: TextIO | None) -> bool:
    return stream is not None and (stream.encoding or "").lower().replace("-", "") == "utf8"


def _plain(value: object) -> Any:
    from tocsin.core.records.as_json import to_json  # takes 6 ms, and most commands print no records

    shown = to_json(value)
    return str(value) if shown is value else shown
