"""The man page tocsin(1), from the parsers of the command; `make docs` writes it."""

import argparse
import re
from collections.abc import Iterator
from itertools import groupby

from tocsin.cli.main import commands_by_name
from tocsin.features.file_schemas import written_files
from tocsin.features.registry import find_features

_SYNOPSIS = r"""\fBtocsin\fR [\fIoptions\fR] \fICOMMAND\fR [\fIarguments\fR]"""
_DESCRIPTION = (
    "Tocsin is a self-hosted message gateway, bot and operations dashboard. It sends messages to Slack, Telegram, "
    "Discord, e-mail and macOS Messages, receives and answers them, and runs cron jobs, workflows, commands on hosts "
    "and skills, with a record of each. tocsin COMMAND --help describes a command, with an example."
)
_EXIT = {
    "0": "done",
    "1": "the operation failed, for example a message was not sent",
    "2": "wrong usage or configuration",
    "130": "stopped by Ctrl-C",
}
_FILES = {
    ".env": "settings, in the working directory, else in the data directory; tocsin setup and tocsin init write it",
    "tocsin.db, audit.log": "records, in the data directory",
    **{
        file.place: f"{file.summary}, in the data directory"
        for file in written_files(find_features().features).values()
    },
}
_ENVIRONMENT = {
    "TOCSIN_DATA_DIR": "the data directory (default: the platform's per-user data directory)",
    "NAME, NAME_FILE": "each setting, or the path of a file with a secret; tocsin config show --all lists them",
}


def man_page(options: list[argparse.Action]) -> str:
    """Return the page; `options` are the global options."""
    return "\n".join([*_lines(options), ""])


def _lines(options: list[argparse.Action]) -> Iterator[str]:
    yield r".\" Made by `make docs` from the parsers of the command. Do not edit."
    yield '.TH TOCSIN 1 "" "Tocsin" "User Commands"'
    yield from (".SH NAME", r"tocsin \- send and receive messages, and run automation", ".SH SYNOPSIS", _SYNOPSIS)
    yield from (".SH DESCRIPTION", _escaped(_DESCRIPTION), ".SH COMMANDS")
    for title, commands in groupby(commands_by_name().items(), lambda item: item[1].group):
        yield f".SS {title}"
        for name, entry in commands:
            yield from _entry(name, entry.help)
    yield ".SH OPTIONS"
    for option in options:
        value = f" {option.metavar}" if option.metavar else ""
        yield from _entry(", ".join(f"{word}{value}" for word in option.option_strings), option.help or "")
    for title, entries in (("EXIT STATUS", _EXIT), ("ENVIRONMENT", _ENVIRONMENT), ("FILES", _FILES)):
        yield f".SH {title}"
        for name, text in entries.items():
            yield from _entry(name, text)
    yield from (".SH SEE ALSO", _escaped("The documentation is at /docs/ of the dashboard: tocsin up, then open it."))


def _entry(name: str, text: str) -> Iterator[str]:
    yield ".TP"
    yield rf"\fB{_escaped(name)}\fR"
    yield _escaped(text)


def _escaped(text: str) -> str:
    """Escape what troff would read as a request, an escape or a hyphenation point."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^([.'])", r"\\&\1", text)
