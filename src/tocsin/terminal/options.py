"""The global options; they may precede or follow the command."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Options(NamedTuple):
    """The global options of a command."""

    data_dir: Path | None = None
    env_file: Path | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False


def add_global_options(parser: argparse.ArgumentParser) -> None:
    """Add the global options; an absent option must not overwrite one given earlier."""
    group = parser.add_argument_group("global options")
    group.add_argument(
        "--data-dir",
        type=_path,
        metavar="DIR",
        default=argparse.SUPPRESS,
        help="directory for database, audit log and other state",
    )
    group.add_argument(
        "--env-file",
        type=_path,
        metavar="FILE",
        default=argparse.SUPPRESS,
        help="read settings from this file instead of .env",
    )
    group.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help="print the result as one JSON document",
    )
    group.add_argument(
        "-q", "--quiet", action="store_true", default=argparse.SUPPRESS, help="print only results and errors, no notes"
    )
    group.add_argument("-v", "--verbose", action="store_true", default=argparse.SUPPRESS, help="print debug logs")


def _path(text: str) -> Path:
    if not text.strip():  # an unset shell variable; Path would read it as the working directory
        raise argparse.ArgumentTypeError("the value is empty")
    return Path(text)


def read_options(arguments: argparse.Namespace) -> Options:
    """Return the global options among `arguments`."""
    given = vars(arguments)
    return Options(**{name: given[name] for name in Options._fields if name in given})


def add_subcommands(
    parser: argparse.ArgumentParser, summaries: Mapping[str, str], *, required: bool = True
) -> dict[str, argparse.ArgumentParser]:
    """Add a parser for each subcommand, with the global options, and return them by name."""
    commands = parser.add_subparsers(prog=parser.prog, metavar="SUBCOMMAND", required=required)
    return {name: _add_parser(commands, name, summary) for name, summary in summaries.items()}


def add_subcommand(parser: argparse.ArgumentParser, name: str, summary: str) -> argparse.ArgumentParser:
    """Add a subcommand to a parser that has some, and return its parser."""
    commands = getattr(parser, "subcommands", None)
    if commands is None:
        raise AssertionError(f"{parser.prog} has no subcommands, {name} cannot be one of them")
    return _add_parser(commands, name, summary)


def _add_parser(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, summary: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_global_options(parser)
    return parser
