"""Logging of services: readable lines on a terminal, JSON, logfmt or journal lines elsewhere, with secrets masked.

Modules use the standard library: a constant message and fields in `extra`. Only services call `configure`, so commands
do not import structlog.
"""

import logging
import os
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from io import StringIO, TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any, TextIO

from tocsin.core.errors import ConfigError
from tocsin.core.text.visible import one_line, visible
from tocsin.core.tracing.spans import trace_ids


@contextmanager
def _hidden(package: str) -> Iterator[None]:
    """Make imports of `package` fail within the block, unless it is already loaded."""
    was_loaded = package in sys.modules
    sys.modules.setdefault(package, None)  # type: ignore[arg-type]  # the import system takes None for "not found"
    try:
        yield
    finally:
        if not was_loaded:
            del sys.modules[package]


# structlog imports rich for tracebacks that are not used here: 5 MB, and 0.1 s of every start.
with _hidden("rich"):
    import structlog
    from structlog.stdlib import ExtraAdder, ProcessorFormatter

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


# sd-daemon(3): the priority of a line on standard error.
_PRIORITIES = {"critical": 2, "error": 3, "warning": 4, "info": 6, "debug": 7}


def configure(
    level: str, form: str, redact: Callable[[str], str], *, file: Path | None = None, journal: str = ""
) -> None:
    """Write all log records of the process to `file`, by default to standard error.

    `form` is text, json, logfmt, journal, or auto: text on a terminal, journal lines where `journal` (the value of
    `JOURNAL_STREAM`) says that standard error is the journal, else json. Raises ConfigError if `file` cannot be opened.
    """
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        _Fields(),
        _drop_coloured_twin,
        _add_trace,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if form == "auto":
        form = "json" if file else _suited_form(journal)
    formatter = ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            ProcessorFormatter.remove_processors_meta,
            *_renderers(form, redact, colours=not file and sys.stderr.isatty()),
            _Redaction(redact),
        ],
    )
    handler = _open_file(file) if file else logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for replaced in root.handlers:
        if isinstance(replaced, _LogFile):
            replaced.close()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS[level])
    # It logs every rule that it tries, dozens of lines per message.
    logging.getLogger("markdown_it").setLevel(logging.INFO)


def reopen() -> None:
    """Open the log file again if it was renamed or removed, as log rotation does."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler, _LogFile):
            handler.reopenIfNeeded()


def _suited_form(journal: str) -> str:
    """Return the form for standard error; `journal` is `<device>:<inode>` of the journal's stream."""
    if sys.stderr.isatty():
        return "text"
    if not journal:
        return "json"
    found = os.fstat(sys.stderr.fileno())
    return "journal" if journal == f"{found.st_dev}:{found.st_ino}" else "json"


def _renderers(form: str, redact: Callable[[str], str], *, colours: bool) -> list[Any]:
    format_exception = structlog.processors.format_exc_info
    match form:
        case "text":
            console = structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=_plain_traceback)
            return [_OneLine(redact), console]
        case "journal":
            return [_OneLine(redact), _JournalRenderer()]
        case "logfmt":
            order = ["timestamp", "level", "logger", "event"]
            logfmt = structlog.processors.LogfmtRenderer(key_order=order, bool_as_flag=False)
            return [_OneLine(redact), format_exception, logfmt, _visible_line]
        case _:
            as_json = structlog.processors.JSONRenderer(ensure_ascii=False, default=str)
            return [format_exception, as_json, _visible_line]


def _open_file(path: Path) -> logging.Handler:
    try:
        return _LogFile(path, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise ConfigError(
            f"cannot write the log to {path}: {error.strerror}",
            hint="correct LOG_FILE, or the permissions of its directory",
        ) from None


class _LogFile(WatchedFileHandler):
    """A file that only its owner may read; it is opened again after a rotation."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        file = os.fdopen(descriptor, "ab", buffering=0)  # a line that was not written is not written later
        return TextIOWrapper(file, encoding=self.encoding, errors=self.errors, write_through=True)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802  # the name of the standard library
        """Write the line to standard error, for example if the disk is full."""
        sys.stderr.write(self.format(record) + "\n")


class _JournalRenderer:
    """Formats records for the journal, which adds the time: each line begins with its priority."""

    def __init__(self) -> None:
        self._console = structlog.dev.ConsoleRenderer(
            pad_event_to=0, colors=False, exception_formatter=_plain_traceback
        )

    def __call__(self, logger: object, name: str, line: MutableMapping[str, Any]) -> str:
        priority = _PRIORITIES.get(line.pop("level"), _PRIORITIES["info"])
        del line["timestamp"]
        return "\n".join(f"<{priority}>{part}" for part in self._console(logger, name, line).split("\n"))


def _add_trace(logger: object, name: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the IDs of the current trace, while traces are recorded."""
    trace_id, span_id = trace_ids()
    if trace_id:
        line["trace_id"], line["span_id"] = trace_id, span_id
    return line


class _Fields:
    """Adds the fields of a record. A field named `event` becomes `event_id`, because `event` is the message."""

    def __init__(self) -> None:
        self._adder = ExtraAdder()

    def __call__(self, logger: Any, name: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        phrase = line["event"]
        line = self._adder(logger, name, line)
        if line["event"] is not phrase:
            line["event_id"], line["event"] = line["event"], phrase
        return line


def _drop_coloured_twin(logger: object, name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Remove the second, coloured message that uvicorn adds to its records."""
    event.pop("color_message", None)
    return event


class _OneLine:
    """Escapes line breaks, so that a record is one line whatever a provider puts into its fields."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact

    def __call__(self, logger: object, name: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        # Redact first: a secret of several lines would not be recognised in one line.
        return {key: one_line(self._redact(value)) if isinstance(value, str) else value for key, value in line.items()}


def _plain_traceback(stream: TextIO, exc_info: Any) -> None:
    """Write a traceback without local variables, which may be secrets."""
    lines = StringIO()
    structlog.dev.plain_traceback(lines, exc_info)
    stream.write(visible(lines.getvalue()))


def _visible_line(logger: object, name: str, line: str) -> str:
    """Escape characters that are valid in JSON or logfmt, but control characters for a terminal or a log viewer."""
    return visible(line)


class _Redaction:
    """Masks secrets in the formatted line, so that no field and no traceback can contain one."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact

    def __call__(self, logger: object, name: str, line: str | MutableMapping[str, Any]) -> str:
        return self._redact(str(line))
