"""The common start of most commands: settings, masking of secrets in output, and log output."""

import logging
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tocsin.assembly.program import App, Installed, audit_trail, direct_transport, load_settings, open_app
from tocsin.core.config.settings import Settings
from tocsin.core.config.variables import STORE
from tocsin.terminal.options import Options
from tocsin.terminal.output import Console

if TYPE_CHECKING:
    from tocsin.core.audit.trail import AuditTrail

T = TypeVar("T")

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


def with_app(
    options: Options, out: Console, work: Callable[[App], Coroutine[Any, Any, T]], *, writes: bool = False
) -> T:
    """Open the program, run `work` on it, and close it again; termination signals cancel `work`.

    With `writes`, for commands that need the database, raise ConfigError if this user cannot write to the data
    directory.
    """
    from tocsin.core.config.data_dir import require_usable
    from tocsin.terminal.signals import run_until_signal

    settings, installed = open_settings(options, out)
    if writes and settings[STORE] == "sqlite":
        require_usable(settings.data_dir)

    async def call() -> T:
        async with open_app(settings, installed, direct_transport) as app:
            return await work(app)

    return run_until_signal(call())


class OpenerForFeature:
    """Opens the program for the command of one feature."""

    def __init__(self, feature: str, options: Options, out: Console) -> None:
        self._feature = feature
        self._options = options
        self._out = out

    def settings(self, *, late: bool = True) -> Settings:
        """Read the settings without opening the program."""
        return open_settings(self._options, self._out, late=late)[0]

    def audit(self, settings: Settings) -> "AuditTrail":
        """Return the audit trail without opening the program."""
        return audit_trail(settings)

    def run(self, work: Callable[[Any], Coroutine[Any, Any, T]], *, writes: bool = False) -> T:
        """Open the program and run `work` with the service of the feature."""
        return with_app(self._options, self._out, lambda app: work(app.features.opened(self._feature)), writes=writes)


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
