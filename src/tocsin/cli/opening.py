"""The common start of most commands: settings, masking of secrets in output, and log output."""

import logging
from collections.abc import Iterator
from functools import partial

from tocsin.assembly.light import Installed, load_settings
from tocsin.core.config.settings import Settings
from tocsin.terminal.options import Options
from tocsin.terminal.output import Console

# The attributes of a log record without any `extra`.
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "taskName"}


def open_settings(options: Options, out: Console, *, late: bool = True) -> tuple[Settings, Installed]:
    """Read the settings; afterwards `out` masks their secrets and shows log records.

    A plug-in that cannot be loaded is reported and does not stop the command. An unreadable vault and misspelt
    settings are reported by `out` if the command fails. Without `late`, the settings layers of features are not
    called.
    """
    settings, installed = load_settings(data_dir=options.data_dir, env_file=options.env_file, late=late)
    out.redact = settings.redact
    out.doubts = partial(_doubts, settings)
    out.settings = settings
    show_log(out, verbose=options.verbose)
    for problem in installed.problems:
        out.note(f"tocsin: {problem}")
    return settings, installed


def _doubts(settings: Settings) -> Iterator[tuple[str, str]]:
    from tocsin.core.config.unknown_settings import unknown_settings

    yield from ((str(problem), problem.hint) for problem in settings.problems)
    yield from ((str(unknown), unknown.hint) for unknown in unknown_settings(settings))


def show_log(out: Console, *, verbose: bool) -> None:
    """Print logged errors to standard error; with `verbose`, all records including tracebacks."""
    root = logging.getLogger()
    root.handlers[:] = [_Shown(out, verbose=verbose)]
    root.setLevel(logging.DEBUG if verbose else logging.ERROR)


class _Shown(logging.Handler):
    """Writes each record as one line, through `Console`, which masks secrets."""

    def __init__(self, out: Console, *, verbose: bool) -> None:
        super().__init__()
        self._out = out
        self._verbose = verbose

    def emit(self, record: logging.LogRecord) -> None:
        fields = [f"{name}={value}" for name, value in vars(record).items() if name not in _USUAL]
        shown = f" ({', '.join(fields)})" if fields else ""
        self._out.error(f"{record.levelname.lower()}: {record.getMessage()}{shown}")
        if self._verbose and record.exc_info and record.exc_info[1]:
            from traceback import format_exception

            self._out.aside("".join(format_exception(record.exc_info[1])))
