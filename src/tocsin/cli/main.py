"""The `tocsin` command: reads the arguments, runs one command, and turns every error into a sentence.

argparse and not click: the whole of `tocsin channels` takes less time than importing click alone
(docs/decisions/0002). A command's module is imported only when its name is among the arguments.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from tocsin import __version__
from tocsin.cli.options import Options, add_global_options, options_of
from tocsin.cli.output import DONE, FAILED, MISUSED, Output
from tocsin.core.errors import ConfigError, TocsinError

# name: the module that defines `configure(parser)`, and what `tocsin --help` says.
COMMANDS = {
    "init": ("setup", "write a .env with a random dashboard password and name the next steps"),
    "doctor": ("doctor", "check the installation and name cause and fix of every finding"),
    "config": ("setup", "show the effective settings and where each one comes from"),
    "channels": ("messaging", "list the channels and what each one still needs"),
    "test": ("messaging", "verify a channel's credentials without sending"),
    "send": ("messaging", "send a message to one target"),
    "profiles": ("messaging", "list the notification profiles"),
    "notify": ("messaging", "send a message to every target of a profile"),
    "audit": ("audit", "read, search and verify the audit log"),
    "up": ("serve", "run every service that is configured, in one process"),
    "gateway": ("serve", "run the HTTP gateway"),
    "demo": ("demo", "run everything against built-in stand-ins; needs no account"),
    "completion": ("setup", "print the completion script of a shell"),
}


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit: 0 done, 1 the operation failed, 2 wrong usage or configuration."""
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """Run the command that `argv` names and return its exit code."""
    arguments = build_parser(argv).parse_args(argv)
    options = options_of(arguments)
    out = Output(as_json=options.json, quiet=options.quiet)
    try:
        return int(arguments.run(arguments, options, out) or DONE)
    except TocsinError as error:
        out.error(str(error), error.hint)
        return MISUSED if isinstance(error, ConfigError) else FAILED
    except KeyboardInterrupt:
        return 130  # as a shell reports the signal
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough; nothing more may be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def build_parser(argv: Sequence[str], *, everything: bool = False) -> argparse.ArgumentParser:
    """Return the parser; where `argv` names commands, it knows only these, unless `everything`."""
    parser = _Parser(
        prog="tocsin",
        description="Send, receive, schedule and watch messages on every channel you have.",
        epilog='example: tocsin send email ops@example.org "Backup done"',
    )
    parser.add_argument("--version", action="version", version=f"tocsin {__version__}")
    add_global_options(parser)
    commands = parser.add_subparsers(
        metavar="COMMAND", dest="command", required=True, parser_class=_Parser, prog=parser.prog
    )
    named = [name for name in COMMANDS if name in argv]
    for name in COMMANDS if everything or not named else named:
        module, summary = COMMANDS[name]
        command = commands.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + ".", formatter_class=_Formatter
        )
        add_global_options(command)
        if everything or name in argv:
            getattr(import_module(f"tocsin.cli.{module}"), f"configure_{name}")(command)
    return parser


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of examples."""


class _Parser(argparse.ArgumentParser):
    """Names the likely meant word when a choice is misspelt, and takes `-100123/7` as a target."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._negative_number_matcher = re.compile(r"-\d[\d/.]*$")

    def error(self, message: str) -> NoReturn:
        word, _, choices = message.partition("invalid choice: ")[2].partition(" (choose from ")
        hint = ""
        if choices:
            from difflib import get_close_matches

            close = get_close_matches(word.strip("'"), [c.strip("') ") for c in choices.split(",")], n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            message = f"there is no {word}{hint}"
        self.print_usage(sys.stderr)
        self.exit(MISUSED, f"{self.prog}: {message}\n  hint: see {self.prog} --help\n")


__all__ = ["COMMANDS", "Options", "build_parser", "main", "run"]
