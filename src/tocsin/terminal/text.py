"""Texts from the shell: arguments, standard input, and the command itself."""

import argparse
import sys
from collections.abc import Callable

from tocsin.core.errors import ConfigError
from tocsin.core.time.timestamps import parse_timestamp
from tocsin.terminal.options import Options
from tocsin.terminal.output import Console, is_terminal

# A longer text is a file, not a message; reading all of it would only fill the memory.
MAX_STDIN_BYTES = 4 * 1024 * 1024


def read_message(argument: str, out: Console) -> str:
    """Return the message that an argument gives: the argument itself, or standard input for `-`."""
    if argument != "-":
        return readable(argument)
    if sys.stdin is None or sys.stdin.closed:
        raise ConfigError("standard input is closed", hint=_INSTEAD)
    if is_terminal(sys.stdin):
        out.note("tocsin: reading the message from standard input; press Ctrl-D on an empty line to end it")
    raw = _standard_input()
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:  # a message with an invalid byte must still be sent
        out.note(
            f"tocsin: standard input is not valid UTF-8 from byte {error.start + 1} on;"
            " invalid bytes were replaced with U+FFFD"
        )
        text = raw.decode(errors="replace")
    return text.removesuffix("\n").removesuffix("\r")  # the final line end is the shell's, not the message's


_INSTEAD = "pipe the text in, or pass it as an argument instead of `-`"


def _standard_input() -> bytes:
    try:
        raw: bytes | None = sys.stdin.buffer.read(MAX_STDIN_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot read standard input: {error.strerror}", hint=_INSTEAD) from None
    if raw is None:  # an empty non-blocking pipe
        raise ConfigError("cannot read standard input: no data is available yet", hint=_INSTEAD)
    if len(raw) > MAX_STDIN_BYTES:
        raise ConfigError("standard input is larger than 4 MiB", hint="send a shorter text")
    return raw


def readable(argument: str) -> str:
    """Return a command-line argument with U+FFFD in place of bytes that are not UTF-8."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """Return an argument type for integers; both bounds are included."""

    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 9 and lowest <= int(text) <= highest):
            raise argparse.ArgumentTypeError(f"must be a whole number from {lowest} to {highest}")
        return int(text)

    return parse


def add_limit(parser: argparse.ArgumentParser, usual: int, highest: int, records: str = "") -> None:
    """Add `--limit`, the highest number of `records` to show."""
    shown = f"maximum number of {records or 'results'} (default: {usual})"
    number = whole_number(1, highest)
    parser.add_argument("-n", "--limit", type=number, default=usual, metavar="N", help=shown)


def name_and_value(text: str) -> tuple[str, str]:
    """Parse an argument such as `NAME=VALUE`."""
    name, equals, value = readable(text).partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError("must be NAME=VALUE")
    return name, value


def add_pairs(parser: argparse.ArgumentParser, flag: str, help_text: str) -> None:
    """Add an option for names with their values, which may be repeated."""
    parser.add_argument(flag, action="append", default=[], type=name_and_value, metavar="NAME=VALUE", help=help_text)


def moment(text: str) -> float:
    """Parse an argument that is RFC 3339 or Unix seconds; return Unix seconds."""
    try:
        return parse_timestamp(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be {error}") from None


def own_command(options: Options | None = None) -> str:
    """Return the command that started this program, so that printed commands can be copied.

    With `options`, include the options that select settings and data.
    """
    import shlex
    from pathlib import Path
    from shutil import which

    here = Path(sys.argv[0]).absolute()
    found = which("tocsin")
    same = found is not None and here.exists() and here.samefile(found)
    words = ["tocsin" if same or here.name != "tocsin" else str(here)]
    if options and options.data_dir:
        words += ["--data-dir", str(options.data_dir)]
    if options and options.env_file:
        words += ["--env-file", str(options.env_file)]
    return shlex.join(words)
