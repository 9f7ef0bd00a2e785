"""The `tocsin` command: it parses the arguments, runs one command, and reports every error as a sentence.

It uses argparse rather than click: all of `tocsin channels` takes less time than importing click
(docs/decisions/0002). A command's module is imported only if its name is among the arguments.
"""

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import NamedTuple, NoReturn, cast

from tocsin import __version__
from tocsin.core.errors import ConfigError, TocsinError
from tocsin.features.contract import Feature, FeatureCommand, load_commands
from tocsin.features.registry import find_features
from tocsin.terminal.command_table import AUTOMATION, GROUPS
from tocsin.terminal.options import Options, add_global_options, add_subcommand, read_options
from tocsin.terminal.output import DONE, FAILED, MISUSED, Console, close_outputs
from tocsin.terminal.parsing import Parser, UsageError, asks_for_json

# Collecting garbage during imports or while requests are in flight frees nothing: docs/decisions/0059.
_ALLOCATIONS = 10_000
_PROG = "tocsin"
INTERRUPTED = 130  # as a shell reports Ctrl-C


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command and end the process: 0 success, 1 the operation failed, 2 wrong usage or configuration."""
    gc.set_threshold(_ALLOCATIONS)
    codes: list[int] = []
    if not atexit._ncallbacks():  # noqa: SLF001  # else a profiler or a coverage report waits for the end
        atexit.register(_leave, codes)  # registered first, so it is called last
    try:
        codes.append(run(sys.argv[1:] if argv is None else argv))
    finally:
        close_outputs()
    sys.exit(codes[0])


def _leave(codes: Sequence[int]) -> None:
    """End the process without freeing its memory, which takes a tenth of the time of a short command.

    All threads and all other exit handlers have finished by then.
    """
    if codes:  # it did not end with an exception
        close_outputs()
        os._exit(codes[0])


def run(argv: Sequence[str]) -> int:
    """Run the command that `argv` names and return its exit code."""
    if not argv:
        build_parser(argv).print_help(sys.stderr)
        return MISUSED
    out = Console(as_json=asks_for_json(argv))  # until the options are parsed
    code = _run(argv, out)
    if code in {FAILED, MISUSED}:
        out.tell_doubts()
    return code


def _run(argv: Sequence[str], out: Console) -> int:
    options = Options()
    try:
        arguments = _parse_arguments(argv)
        options = read_options(arguments)
        out.as_json, out.quiet = options.json, options.quiet
        return int(_call(arguments, options, out) or DONE)
    except UsageError as error:
        out.failure(error, error.prog)
        return MISUSED
    except TocsinError as error:
        out.failure(error)
        return MISUSED if isinstance(error, ConfigError) or error.code == _MISTYPED else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001  # the outermost edge: a person gets a sentence, never a traceback
        if known := _explain(error):
            out.failure(known)
            return MISUSED if isinstance(known, ConfigError) else FAILED
        if options.verbose:
            from traceback import format_exception

            out.aside("".join(format_exception(error)))
        out.failure(TocsinError(f"unexpected {type(error).__name__}: {error}", hint=_BUG))
        return FAILED


def _call(arguments: argparse.Namespace, options: Options, out: Console) -> int | None:
    """Run a command; a command of a feature is passed the program opener, because it cannot import it."""
    if feature := getattr(arguments, "feature", ""):
        from tocsin.cli.feature_opening import OpenerForFeature

        return cast("int | None", arguments.run(arguments, out, OpenerForFeature(feature, options, out)))
    return cast("int | None", arguments.run(arguments, options, out))


def _explain(error: Exception) -> TocsinError | None:
    from tocsin.terminal.packages import explain

    return explain(error)


_MISTYPED = "validation-failed"  # the code that features use for input that can never be valid
_BUG = "this is a bug; run the command again with --verbose and report the output"


def _parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    # Creating the parsers of all commands takes 3 ms; only the help and a misspelt command need them.
    named = () if any(word[:1] == "-" and "h" in word for word in argv) else argv
    try:
        return build_parser(argv, listed=named).parse_args(argv)
    except UsageError as error:
        if error.prog != _PROG:
            raise
    return build_parser(argv).parse_args(argv)


def build_parser(
    argv: Sequence[str], *, listed: Sequence[str] = (), everything: bool = False
) -> argparse.ArgumentParser:
    """Return the parser; only commands named in `argv` get their arguments, unless `everything`.

    If one of `listed` is a command, the parser has no others.
    """
    commands = commands_by_name()
    chosen = [name for name in commands if name in listed]
    parser = Parser(
        prog=_PROG,
        usage=f"{_PROG} [options] COMMAND ...",
        description="Send and receive messages, and run automation from chat, schedules and events."
        + ("" if chosen else _listed(commands)),
        epilog='example: tocsin send email ops@example.org "Backup done"\n\n`tocsin COMMAND --help` shows its options.',
        formatter_class=_Formatter,
    )
    parser.add_argument("--version", action="version", version=f"tocsin {__version__}")
    add_global_options(parser)
    shown = parser.add_subparsers(
        prog=parser.prog,
        metavar="COMMAND",
        dest="command",
        required=True,
        parser_class=Parser,
        help=None if everything else argparse.SUPPRESS,  # the description lists them by group
    )
    for name in chosen or commands:
        entry = commands[name]
        summary = entry.help
        wanted = everything or name in argv
        command = shown.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=_Formatter,
            add_help=wanted,
        )
        if wanted:  # skip options of commands that are only listed: all together cost 5 ms
            add_global_options(command)
            entry.configure(command)
    return parser


def _listed(commands: Mapping[str, "CommandEntry"]) -> str:
    """Return the lines of all commands, by group."""
    from shutil import get_terminal_size
    from textwrap import wrap

    width, columns = max(map(len, commands)) + 4, max(get_terminal_size().columns - 2, 40)
    lines = [""]
    for group in GROUPS:
        lines += ["", f"{group}:"]
        for name, entry in commands.items():
            if entry.group == group:
                label = f"  {name}".ljust(width)
                lines += wrap(entry.help, columns, initial_indent=label, subsequent_indent=" " * width)
    return "\n".join(lines)


class CommandEntry(NamedTuple):
    """A command in `tocsin --help`; `configure` imports its module and adds its arguments."""

    group: str
    help: str
    configure: Callable[[argparse.ArgumentParser], None]


def commands_by_name() -> dict[str, CommandEntry]:
    """Return all commands in the order of the help: in each group, the commands of features come last."""
    found = {
        name: CommandEntry(group, summary, partial(_configure, module, name))
        for group, commands in GROUPS.items()
        for name, (module, summary) in commands.items()
    }
    for feature in find_features().features:
        for command in feature.commands:
            if not command.under:
                configure = partial(_configure_feature, feature, command)
                group = command.group if command.group in GROUPS else AUTOMATION  # a group of a newer version
                found[command.name] = CommandEntry(group, command.help, configure)
    order = list(GROUPS)
    return dict(sorted(found.items(), key=lambda item: order.index(item[1].group)))


def _configure(module: str, name: str, parser: argparse.ArgumentParser) -> None:
    getattr(import_module(f"tocsin.cli.{module}"), f"configure_{name}")(parser)


def _configure_feature(feature: Feature, command: FeatureCommand, parser: argparse.ArgumentParser) -> None:
    load_commands(feature)[command.words](parser)
    parser.set_defaults(feature=feature.name)
    for other in find_features().features:
        for below in other.commands:
            if below.under == command.name:
                _configure_feature(other, below, add_subcommand(parser, below.name, below.help))


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of examples."""


__all__ = ["Options", "build_parser", "commands_by_name", "main", "run"]
