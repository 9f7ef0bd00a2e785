"""Logging of services: readable lines on a terminal, JSON lines elsewhere, with secrets masked.

Modules use the standard library: a constant message and fields in `extra`. Only services call `configure`, so commands
do not import structlog.
"""

import logging
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from io import StringIO
from typing import Any, TextIO

from tocsin.core.text.visible import one_line, visible


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


def configure(level: str, form: str, redact: Callable[[str], str]) -> None:
    """Write all log records of the process to standard error; `form` is auto, text or json."""
    as_text = form == "text" or (form == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        _Fields(),
        _drop_coloured_twin,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: list[Any] = (
        [
            _OneLine(redact),
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=_plain_traceback),
        ]
        if as_text
        else [
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
            _visible_json,
        ]
    )
    formatter = ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[ProcessorFormatter.remove_processors_meta, *last, _Redaction(redact)],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(LEVELS[level])
    # It logs every rule that it tries, dozens of lines per message.
    logging.getLogger("markdown_it").setLevel(logging.INFO)


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


def _visible_json(logger: object, name: str, line: str) -> str:
    """Escape characters that are valid in JSON, but control characters for a terminal or a log viewer."""
    return visible(line)


class _Redaction:
    """Masks secrets in the formatted line, so that no field and no traceback can contain one."""

    def __init__(self, redact: Callable[[str], str]) -> None:
        self._redact = redact

    def __call__(self, logger: object, name: str, line: str | MutableMapping[str, Any]) -> str:
        return self._redact(str(line))
