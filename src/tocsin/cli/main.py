"""The `tocsin` command: reads the arguments, runs one command, and turns every error into a sentence.

argparse and not click: the whole of `tocsin channels` takes less time than importing click alone
(docs/decisions/0002). A command's module is imported only when its name is among the arguments.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from tocsin import __version__
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.terminal.options import Options, add_global_options, options_of
from tocsin.terminal.output import DONE, FAILED, MISUSED, Console, close_outputs
from tocsin.terminal.parsing import Parser, UsageError, asks_for_json

INTERRUPTED = 130  # as a shell reports Ctrl-C

# name: the module that defines `configure_<name>(parser)`, and what `tocsin --help` says.
COMMANDS = {
    "init": ("commands.setup", "write a .env with a random dashboard password and name the next steps"),
    "doctor": ("doctor.command", "check the installation and name cause and fix of every finding"),
    "config": ("commands.setup", "show the effective settings and where each one comes from"),
    "channels": ("commands.channels", "list the channels and what each one still needs"),
    "test": ("commands.messaging", "verify a channel's credentials without sending"),
    "send": ("commands.messaging", "send a message to one target"),
    "profiles": ("commands.messaging", "list the notification profiles"),
    "notify": ("commands.messaging", "send a message to every target of a profile"),
    "deliveries": ("commands.deliveries", "list, show, replay, retry and cancel queued messages"),
    "publish": ("commands.deliveries", "put a message on the bus"),
    "triggers": ("commands.triggers", "list the trigger rules and tell which one a message would fire"),
    "skills": ("commands.skills", "list, check, show and run skills"),
    "bot": ("commands.bot", "run the bot, and decide who may talk to it"),
    "voice": ("commands.voice", "install the speech model for voice messages"),
    "ask": ("commands.ask", "ask the configured chat model a question"),
    "audit": ("commands.audit", "read, search and verify the audit log"),
    "up": ("commands.services", "run every service that is configured, in one process"),
    "gateway": ("commands.services", "run the HTTP gateway"),
    "worker": (
        "commands.services",
        "run a worker for the queue, received messages and the bus; any number of them may run",
    ),
    "demo": ("demo.command", "run everything against built-in stand-ins; needs no account"),
    "completion": ("commands.setup", "print the completion script of a shell"),
}


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit: 0 done, 1 the operation failed, 2 wrong usage or configuration."""
    try:
        code = run(sys.argv[1:] if argv is None else argv)
    finally:
        close_outputs()
    sys.exit(code)


def run(argv: Sequence[str]) -> int:
    """Run the command that `argv` names and return its exit code."""
    out = Console(as_json=asks_for_json(argv))  # until the options are read
    code = _run(argv, out)
    if code in {FAILED, MISUSED}:
        out.tell_doubts()
    return code


def _run(argv: Sequence[str], out: Console) -> int:
    options = Options()
    try:
        arguments = build_parser(argv).parse_args(argv)
        options = options_of(arguments)
        out.as_json, out.quiet = options.json, options.quiet
        return int(arguments.run(arguments, options, out) or DONE)
    except UsageError as error:
        out.failure(error, error.prog)
        return MISUSED
    except TocsinError as error:
        out.failure(error)
        return MISUSED if isinstance(error, ConfigError) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  # the outermost edge: a person gets a sentence, never a traceback
        if isinstance(error, ModuleNotFoundError) and (missing := _not_installed(error)):
            out.failure(missing)
            return MISUSED
        if options.verbose:
            from traceback import format_exception

            out.aside("".join(format_exception(error)))
        out.failure(TocsinError(f"unexpected {type(error).__name__}: {error}", hint=_BUG))
        return FAILED


def _not_installed(error: ModuleNotFoundError) -> ConfigError | None:
    from tocsin.terminal.packages import not_installed

    return not_installed(error)


_BUG = "this is a bug; run it again with --verbose and report what it shows"


def build_parser(argv: Sequence[str], *, everything: bool = False) -> argparse.ArgumentParser:
    """Return the parser; only commands named in `argv` get their arguments, unless `everything`."""
    parser = Parser(
        prog="tocsin",
        description="Send and receive messages on every channel you have.",
        epilog='example: tocsin send email ops@example.org "Backup done"',
    )
    parser.add_argument("--version", action="version", version=f"tocsin {__version__}")
    add_global_options(parser)
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True, parser_class=Parser)
    for name, (module, summary) in COMMANDS.items():
        wanted = everything or name in argv
        command = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=_Formatter,
            add_help=wanted,
        )
        if wanted:  # a command that is only listed needs no options: all of them together cost 5 ms
            add_global_options(command)
            getattr(import_module(f"tocsin.cli.{module}"), f"configure_{name}")(command)
    return parser


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of examples."""


__all__ = ["COMMANDS", "Options", "build_parser", "main", "run"]
